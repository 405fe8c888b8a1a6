//! fetch, by the curl of this machine, from servers on the loopback: nothing that lies in a home
//! steers it, and no answer leads it away from the web.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hands::proposal::Proposal;

use crate::client::{Hands, bash};

crate::tests!(
    fetching_takes_the_web_only,
    a_curlrc_does_not_steer_it,
    a_redirection_to_a_file_is_refused,
    a_redirection_to_another_protocol_is_refused,
);

fn fetch(url: &str) -> Proposal {
    Proposal::Fetch { url: url.to_owned(), offset: None, most: None }
}

/// Serves whoever connects, one after another, as long as the test runs.
struct Server {
    address: SocketAddr,
    served: Arc<AtomicUsize>,
}

impl Server {
    fn start(serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&served);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                serve(stream.unwrap());
            }
        });
        Self { address, served }
    }

    /// Answers with the request itself.
    fn echo() -> Self {
        Self::start(|stream| {
            let head = head(&stream);
            let length = head.len();
            answer(
                &stream,
                &format!("200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}"),
                &head,
            );
        })
    }

    /// Sends everybody there.
    fn redirecting(location: &str) -> Self {
        let head = format!("302 Found\r\nlocation: {location}\r\ncontent-length: 0");
        Self::start(move |stream| {
            self::head(&stream);
            answer(&stream, &head, "");
        })
    }

    /// Greets as FTP does, and hangs up: RFC 959, section 5.4.
    fn ftp() -> Self {
        Self::start(|mut stream| stream.write_all(b"220 ready\r\n").unwrap())
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/page", self.address)
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

fn head(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn answer(mut stream: &TcpStream, head: &str, body: &str) {
    let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).unwrap();
}

fn fetching_takes_the_web_only() {
    let mut hands = Hands::start();
    for url in ["file:///etc/passwd", "ftp://example.com", "-o x", "http://a\n--config"] {
        let why = hands.fails(&fetch(url));
        assert_eq!(why, "only addresses that start with http:// or https:// are fetched");
    }
}

fn a_curlrc_does_not_steer_it() {
    let mut hands = Hands::start();
    let url = Server::echo().url("http");
    hands.put("home/.curlrc", "header = \"x-planted: yes\"\n");
    // Another curl obeys it, so it is one.
    let other = hands.works(&bash(&format!("curl --silent {url}"))).text();
    assert!(other.contains("x-planted: yes"), "{other}");
    let fetched = hands.works(&fetch(&url)).text();
    assert!(fetched.contains("GET /page") && fetched.contains("User-Agent: loop"), "{fetched}");
    assert!(!fetched.contains("x-planted"), "{fetched}");
}

/// Where `location` leads a curl that may go anywhere, and what comes of fetching it.
fn led_to(hands: &mut Hands, location: &str) -> (String, String) {
    let url = Server::redirecting(location).url("http");
    let anywhere = "curl --silent --location --proto-redir =all";
    let other = hands.carry(&bash(&format!("{anywhere} {url}"))).text();
    (other, hands.fails(&fetch(&url)))
}

fn a_redirection_to_a_file_is_refused() {
    let mut hands = Hands::start();
    hands.put("secret", "the secret");
    let file = format!("file://{}/secret", hands.root().display());
    let (other, why) = led_to(&mut hands, &file);
    assert!(other.contains("the secret"), "{other}");
    assert!(why.contains("curl: (1) ") && !why.contains("the secret"), "{why}");
}

fn a_redirection_to_another_protocol_is_refused() {
    let mut hands = Hands::start();
    let ftp = Server::ftp();
    let (_, why) = led_to(&mut hands, &ftp.url("ftp"));
    assert!(why.contains("curl: (1) "), "{why}");
    // The other curl was there, and nobody else.
    assert_eq!(ftp.served(), 1);
}
