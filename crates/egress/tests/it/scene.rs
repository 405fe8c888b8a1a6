//! A gate on loopback, a ledger that can be looked into and can fail, and clients.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use broker::Broker;
use egress::{Boxed, Config, Egress, Limits, Listeners, Resolver, SyntheticRange};
use ledger::{Disk, Ledger, records};
use names::{Host, RunId, system_clock};
use policy::{Authority, Flags, Layer, Request, Source};
use serde_json::Value;

/// Longer than anything here takes, shorter than anybody waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn authority(owner: &str) -> Authority {
    let text = owner.to_owned();
    let owner = Source { layer: Layer::Owner, name: "config.toml".to_owned(), text };
    let request = Request {
        profile: None,
        profile_name: "offline".to_owned(),
        owner: Some(owner),
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/site"),
        subject: "ann".to_owned(),
        library: &crate::intercept::scene::Purse,
    };
    policy::resolve(request).unwrap().authority
}

/// A medium in memory that remembers how much was synced, and can fail.
#[derive(Clone, Default)]
pub(crate) struct Medium(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    synced: usize,
    fails: bool,
}

impl Medium {
    pub(crate) fn fail(&self) {
        self.0.0.lock().unwrap().fails = true;
    }

    /// The durable records, as kinds and bodies.
    pub(crate) fn records(&self) -> Vec<(String, Value)> {
        let state = self.0.0.lock().unwrap();
        let synced = &state.bytes[..state.synced];
        records(synced).map(|one| (one.kind.to_owned(), one.parse().unwrap())).collect()
    }

    pub(crate) fn of_kind(&self, kind: &str) -> Vec<Value> {
        let all = self.records().into_iter();
        all.filter(|(one, _)| one == kind).map(|(_, body)| body).collect()
    }

    /// The first record of this kind, as soon as there is one.
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        self.wait_for_many(kind, 1).remove(0)
    }

    pub(crate) fn wait_for_many(&self, kind: &str, count: usize) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.of_kind(kind);
            if found.len() >= count {
                return found;
            }
            assert!(Instant::now() < until, "{count} × {kind} in {:#?}", self.records());
            let state = self.0.0.lock().unwrap();
            drop(self.0.1.wait_timeout(state, Duration::from_millis(50)).unwrap());
        }
    }
}

impl Disk for Medium {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.0.lock().unwrap();
        if state.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.0.0.lock().unwrap();
        if state.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.synced = state.bytes.len();
        self.0.1.notify_all();
        Ok(())
    }
}

/// Answers from a list, and remembers what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) answer: Vec<IpAddr>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Resolver for Told {
    fn resolve(&self, host: &Host) -> Boxed<'static, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(host.to_string());
        let answer = self.answer.clone();
        Box::pin(async move {
            if answer.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(answer) }
        })
    }
}

pub(crate) struct Scene {
    egress: Option<Egress>,
    pub(crate) medium: Medium,
    pub(crate) resolver: Told,
    pub(crate) proxy: SocketAddr,
    pub(crate) names: SocketAddr,
    pub(crate) names_tcp: SocketAddr,
    /// The one port that is reached transparently.
    pub(crate) port: u16,
}

/// What a scene is made of besides the grants.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) limits: Limits,
    pub(crate) answer: Vec<IpAddr>,
    pub(crate) intercept: Option<Arc<dyn egress::Intercept>>,
}

impl Scene {
    /// `PORT` in the owner's text is the port that is reached transparently.
    pub(crate) fn new(owner: &str) -> Self {
        Self::with(owner, Setting::default())
    }

    pub(crate) fn with(owner: &str, setting: Setting) -> Self {
        let transparent = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = transparent.local_addr().unwrap().port();
        let names_udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let names_tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let medium = Medium::default();
        let run = RunId::parse("261129-k7m2qd").unwrap();
        let ledger = Ledger::over(Box::new(medium.clone()), &run, system_clock).unwrap();
        let authority = authority(&owner.replace("PORT", &port.to_string()));
        let resolver = Told { answer: setting.answer, asked: Arc::default() };
        let places = [
            proxy.local_addr().unwrap(),
            names_udp.local_addr().unwrap(),
            names_tcp.local_addr().unwrap(),
        ];
        let listeners = Listeners {
            transparent: vec![transparent],
            names_udp: Some(names_udp),
            names_tcp: Some(names_tcp),
            proxy: vec![proxy],
        };
        let config = Config {
            limits: setting.limits,
            range: SyntheticRange::new(Ipv4Addr::new(127, 18, 0, 0), 15),
            resolver: Arc::new(resolver.clone()),
            intercept: setting.intercept,
            ..Config::new(Broker::new(Arc::new(authority), ledger), listeners)
        };
        let egress = Some(Egress::start(config).unwrap());
        let [proxy, names, names_tcp] = places;
        Self { egress, medium, resolver, proxy, names, names_tcp, port }
    }

    pub(crate) fn stop(&mut self) -> egress::Totals {
        self.egress.take().unwrap().stop()
    }

    pub(crate) fn to_proxy(&self) -> TcpStream {
        connect(self.proxy)
    }

    /// A connection to the synthetic address of a name.
    pub(crate) fn to(&self, name: &str) -> TcpStream {
        let address = self.look_up(name).unwrap_or_else(|| panic!("{name} is refused"));
        connect((address, self.port).into())
    }

    /// The address that the name server gives a name.
    pub(crate) fn look_up(&self, name: &str) -> Option<Ipv4Addr> {
        let answer = self.query(&query(name, 1));
        let octets: [u8; 4] = answer[answer.len() - 4..].try_into().unwrap();
        (answer[3] & 15 == 0 && answer[7] == 1).then(|| octets.into())
    }

    pub(crate) fn query(&self, bytes: &[u8]) -> Vec<u8> {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send_to(bytes, self.names).unwrap();
        let mut answer = vec![0; 4096];
        let length = socket.recv(&mut answer).unwrap();
        answer.truncate(length);
        answer
    }

    /// What the proxy answers to these bytes, until it closes.
    pub(crate) fn ask_proxy(&self, bytes: &[u8]) -> String {
        exchange(self.to_proxy(), bytes)
    }

    /// A tunnel, and what the proxy said when it was asked for it.
    pub(crate) fn tunnel(&self, place: &str) -> (TcpStream, String) {
        let mut stream = self.to_proxy();
        write!(stream, "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        (stream, head)
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads until the end, whichever way it comes.
pub(crate) fn exchange(mut stream: TcpStream, bytes: &[u8]) -> String {
    // The gate may have closed already, at an earlier byte.
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&answer)),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads up to the empty line.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A query for a name.
pub(crate) fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

/// An origin on loopback: each connection is served by `serve`, on a thread of its own. It also
/// counts them.
pub(crate) struct Origin {
    pub(crate) place: SocketAddr,
    reached: Arc<Mutex<usize>>,
}

impl Origin {
    pub(crate) fn new(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let (serve, reached) = (Arc::new(serve), Arc::new(Mutex::new(0)));
        let counted = reached.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *counted.lock().unwrap() += 1;
                let serve = serve.clone();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { place, reached }
    }

    /// Sends everything back.
    pub(crate) fn echo() -> Self {
        Self::new(|mut stream| {
            let mut other = stream.try_clone().unwrap();
            let _ = io::copy(&mut stream, &mut other);
            let _ = other.shutdown(std::net::Shutdown::Write);
        })
    }

    /// Answers every request with `response`, and remembers what it got.
    pub(crate) fn http(response: &str) -> (Self, Arc<Mutex<Vec<String>>>) {
        let (heads, response) = (Arc::new(Mutex::new(Vec::new())), response.to_owned());
        let seen = heads.clone();
        let origin = Self::new(move |mut stream| {
            loop {
                let head = read_head(&mut stream);
                if head.is_empty() {
                    return;
                }
                let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                let length = length.map_or(0, |length| length.parse().unwrap());
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                seen.lock().unwrap().push(head + &String::from_utf8_lossy(&body));
                if stream.write_all(response.as_bytes()).is_err() {
                    return;
                }
            }
        });
        (origin, heads)
    }

    pub(crate) fn reached(&self) -> usize {
        *self.reached.lock().unwrap()
    }
}

/// A grant for a host on some ports, dialled at an origin.
pub(crate) fn grant(host: &str, ports: &str, origin: &Origin, more: &str) -> String {
    format!(
        "[[network]]\nhost = \"{host}\"\nports = [{ports}]\ndial = \"{}\"\n{more}\n",
        origin.place
    )
}

/// A TLS client hello.
pub(crate) fn hello(name: Option<&str>) -> Vec<u8> {
    hello_with(name, &[])
}

pub(crate) fn hello_with(name: Option<&str>, more: &[(u16, &[u8])]) -> Vec<u8> {
    let two = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
    let mut extensions = Vec::new();
    let mut add = |kind: u16, content: &[u8]| {
        extensions.extend(kind.to_be_bytes());
        extensions.extend(two(content.len()));
        extensions.extend(content);
    };
    if let Some(name) = name {
        let length = name.len();
        let content = [&two(length + 3)[..], &[0], &two(length), name.as_bytes()].concat();
        add(0, &content);
    }
    add(16, b"\x00\x0c\x02h2\x08http/1.1");
    for (kind, content) in more {
        add(*kind, content);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(two(extensions.len()));
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(two(body.len()));
    message.extend(body);
    [&[22, 3, 1][..], &two(message.len()), &message].concat()
}
