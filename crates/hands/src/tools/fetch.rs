//! Fetching a page through the network of the sandbox, by curl(1): whether that may be, and from
//! where, the network gate decides, for each redirection anew, and says why not.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::{Pid, PidfdFlags};

use super::Done;
use super::command::processes::{Ended, end_all, reap};
use super::command::spawn::{Streams, find, start};
use super::command::wait_for;
use super::html;
use super::place::kernel;
use super::plain::{self, size};
use super::read::{Kind, kind_of};
use crate::proposal::{Outcome, Piece, Truncated, Unit};

/// Where the proxy of a sandbox with a network is.
const PROXY: SocketAddr =
    SocketAddr::V4(std::net::SocketAddrV4::new(std::net::Ipv4Addr::new(127, 0, 0, 53), 3128));
/// What is inside, as a server that the agent started.
const INSIDE: &str = "localhost,127.0.0.1,::1";
/// The most that is fetched, in bytes.
const MOST: usize = 5 << 20;
/// The most text that is shown at once, in bytes, and the least where there is more.
const MOST_TEXT: usize = 40 << 10;
const LEAST_TEXT: usize = 256;
/// How long it may take, in seconds.
const PATIENCE: &str = "60";
/// After this long, curl is ended: it should have given up itself.
const OVERDUE: Duration = Duration::from_secs(70);
/// What curl tells at the end, on its standard error.
const TELL: &str = "%{stderr}\n%{http_connect} %{http_code} %{url_effective}\n%{content_type}";
/// Where curl writes the heads of all answers: its standard input, which is a file of ours.
const HEADS: &str = "/proc/self/fd/0";
/// The code with which curl ends where a name leads nowhere: curl(1).
const NO_SUCH_NAME: Ended = Ended::Exited(6);

/// Fetches the page at `url`, and shows its text from the byte `offset` on, as far as `most`.
pub(crate) fn fetch(url: &str, offset: Option<u64>, most: Option<u64>) -> Done {
    let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || url.chars().any(char::is_control) {
        return Err("only addresses that start with http:// or https:// are fetched".to_owned());
    }
    let curl = find("curl").ok_or("there is no curl here, and nothing else that fetches")?;
    let page = bring(&curl, url).map_err(|error| format!("curl: {}", kernel(&error)))?;
    let [offset, most] = [offset.unwrap_or(0), most.unwrap_or(u64::MAX)]
        .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    page.outcome(offset, most)
}

/// What curl brought.
struct Page {
    body: Vec<u8>,
    /// There is more of it than is fetched.
    cut: bool,
    /// How curl ended.
    ended: Option<Ended>,
    /// Whether there is a network at all.
    gate: bool,
    told: Told,
}

/// What curl said of it.
#[derive(Debug, Default)]
struct Told {
    /// What the proxy answered to CONNECT.
    connect: u16,
    /// What the server answered; 0: nothing.
    status: u16,
    /// The address that was asked last.
    url: String,
    media_type: String,
    /// What went wrong.
    error: Option<String>,
    /// The last head of an answer.
    head: String,
}

fn bring(curl: &Path, url: &str) -> io::Result<Page> {
    // --disable counts only as the first option: curl(1).
    let mut args = vec!["curl", "--disable", "--silent", "--show-error", "--location"];
    args.extend(["--compressed", "--globoff", "--user-agent", "loop", "--max-redirs", "10"]);
    args.extend(["--proto", "=http,https", "--proto-redir", "=http,https"]);
    args.extend(["--max-time", PATIENCE]);
    args.extend(["--dump-header", HEADS, "--write-out", TELL]);
    let proxy = format!("http://{PROXY}");
    let gate = TcpStream::connect_timeout(&PROXY, Duration::from_millis(200)).is_ok();
    if gate {
        args.extend(["--proxy", &proxy, "--noproxy", INSIDE]);
    }
    args.extend(["--", url]);
    let (mut heads, mut said) = (unnamed_file()?, unnamed_file()?);
    let streams = Streams::apart(heads.try_clone()?.into(), said.try_clone()?.into())?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let started = start(curl, &args, &variables, Path::new("/"), streams)?;
    let deadline = Instant::now() + OVERDUE;
    let (body, cut) = read_body(&started.printed, deadline)?;
    // Without a reader it gives up, and still tells what there is to tell.
    drop(started.printed);
    let ended = wait(started.process, deadline)?;
    let mut told = Told::read(&written(&mut said)?, &written(&mut heads)?);
    if told.url.is_empty() {
        url.clone_into(&mut told.url);
    }
    Ok(Page { body, cut, ended, gate, told })
}

/// A file that nobody else can open.
fn unnamed_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create("told", flags)?.into())
}

/// What is in such a file, as far as it is worth reading.
fn written(file: &mut File) -> io::Result<String> {
    const MOST_TOLD: u64 = 256 << 10;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST_TOLD).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What is printed until its end, the cap, or the deadline; and whether that cut it off.
fn read_body(printed: &OwnedFd, deadline: Instant) -> io::Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || body.len() > MOST {
            body.truncate(MOST);
            return Ok((body, true));
        }
        wait_for([(Some(printed), PollFlags::IN)], Some(left))?;
        match rustix::io::read(printed, &mut buffer) {
            Ok(0) => return Ok((body, false)),
            Ok(count) => body.extend(buffer.iter().take(count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for its end, which is near, and ends it if it does not come.
fn wait(process: Pid, deadline: Instant) -> io::Result<Option<Ended>> {
    let alive = rustix::process::pidfd_open(process, PidfdFlags::empty())?;
    let left = deadline.saturating_duration_since(Instant::now());
    wait_for([(Some(&alive), PollFlags::IN)], Some(left))?;
    Ok(reap(process).or_else(|| end_all(process)))
}

impl Told {
    /// Reads what curl wrote to its standard error, and the heads of all answers.
    fn read(said: &str, heads: &str) -> Self {
        let mut lines = said.rsplit('\n');
        let (media_type, line) =
            (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let (connect, status) = (number(), number());
        // What follows such a line says where to read more.
        let error = said.lines().find(|line| line.starts_with("curl: ("));
        Self {
            connect,
            status,
            url: words.next().unwrap_or_default().trim().to_owned(),
            media_type: media_type.trim().to_owned(),
            error: error.map(str::to_owned),
            head: last_head(heads).to_owned(),
        }
    }

    /// A field of the last head.
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// Why the gate made no connection: nobody else answers to CONNECT.
    fn refusal(&self) -> Option<String> {
        if matches!(self.connect, 0 | 200..=299) {
            return None;
        }
        let why = self.field("x-loop-denied").unwrap_or("the network gate refused it");
        let next = self.field("x-loop-next");
        let next = next.map(|next| format!(". What would change it: {next}")).unwrap_or_default();
        Some(format!("{why}{next}"))
    }
}

/// The last head, which begins with its status line; fields may also follow a body.
fn last_head(heads: &str) -> &str {
    let start = heads.rmatch_indices("HTTP/").map(|(at, _)| at);
    let mut start =
        start.filter(|at| heads.get(..*at).is_some_and(|it| it.is_empty() || it.ends_with('\n')));
    start.next().and_then(|at| heads.get(at..)).unwrap_or_default()
}

impl Page {
    fn outcome(self, offset: usize, most: usize) -> Done {
        if let Some(why) = self.told.refusal().or_else(|| self.nothing()) {
            let why = format!("{} was not fetched: {why}", self.told.url);
            return Err(names::printable(why.as_bytes()));
        }
        let Told { status, url, media_type, .. } = &self.told;
        let head = names::printable(format!("{status} {url} {media_type}").trim().as_bytes());
        let outcome = self.shown(&head, offset, most)?;
        let is_whole = self.cut || self.ended == Some(Ended::Exited(0));
        Ok(Outcome { ok: outcome.ok && (200..300).contains(status) && is_whole, ..outcome })
    }

    /// Why nothing came.
    fn nothing(&self) -> Option<String> {
        if self.told.status != 0 {
            return None;
        }
        if !self.gate && self.ended == Some(NO_SUCH_NAME) {
            let next = "a [[network]] grant for the host in the profile or in ~/.loop/config.toml";
            return Some(format!(
                "there is no network in this sandbox. What would change it: {next}"
            ));
        }
        Some(self.told.error.clone().unwrap_or_else(|| "nothing came".to_owned()))
    }

    fn shown(&self, head: &str, offset: usize, most: usize) -> Done {
        match kind_of(&self.body) {
            Kind::Image(media_type) if !self.cut => Ok(Outcome {
                ok: true,
                parts: vec![
                    Piece::text(head),
                    Piece::Image { media_type: media_type.to_owned(), data: self.body.clone() },
                ],
                ..Outcome::default()
            }),
            Kind::Image(kind) | Kind::Binary(kind) => {
                let least = if self.cut { "at least " } else { "" };
                let length = size(self.body.len() as u64);
                Err(format!(
                    "{head}\n{kind}, {least}{length}: not text; bash with curl can save it"
                ))
            }
            Kind::Text => self.text(head, offset, most),
        }
    }

    fn text(&self, head: &str, offset: usize, most: usize) -> Done {
        let text = plain::text(&self.body);
        let is_page = self.told.media_type.contains("html");
        let text = if is_page { html::to_text(&text) } else { text };
        let from = text.floor_char_boundary(offset);
        if offset > 0 && from >= text.len() {
            return Err(format!("{head}\nthere are only {} bytes of text", text.len()));
        }
        let room = most.saturating_sub(head.len()).clamp(LEAST_TEXT, MOST_TEXT);
        let to = text.floor_char_boundary(from.saturating_add(room));
        let shown = text.get(from..to).unwrap_or_default();
        let truncated = (shown.len() < text.len() || self.cut).then_some(Truncated {
            shown: shown.len() as u64,
            total: (!self.cut).then_some(text.len() as u64),
            unit: Unit::Bytes,
            next_offset: (to < text.len()).then_some(to as u64),
        });
        let note = self.note().map(|note| format!("\n[{note}]")).unwrap_or_default();
        Ok(Outcome { truncated, ..Outcome::done(format!("{head}\n\n{shown}{note}")) })
    }

    /// Why it may not be all.
    fn note(&self) -> Option<String> {
        if self.cut {
            return Some(format!("only the first {} are fetched", size(MOST as u64)));
        }
        self.told.error.as_deref().map(|error| names::printable(error.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "HTTP/1.1 200 established\r\n\r\nHTTP/1.1 302 Found\r\nlocation: https://b.example/\r\n\r\n\
        HTTP/1.1 403 denied by Loop\r\nX-Loop-Denied: denied by Loop: no rule allows it (default connect)\r\n\
        x-loop-next: extend profile p with HTTP/2\r\n\r\n";

    #[test]
    fn the_gate_says_why_and_nobody_else() {
        let said = "curl: (56) CONNECT tunnel failed, response 403\n\n403 000 https://b.example/\n";
        let told = Told::read(said, REFUSED);
        assert_eq!(
            told.refusal().unwrap(),
            "denied by Loop: no rule allows it (default connect). \
             What would change it: extend profile p with HTTP/2"
        );
        // A server that was reached says what it likes.
        let said = "\n200 403 https://b.example/\ntext/plain";
        assert!(Told::read(said, REFUSED).refusal().is_none());
        assert!(Told::read("\n000 403 http://b.example/\n", REFUSED).refusal().is_none());
        assert!(Told::read("", "").refusal().is_none());
    }

    #[test]
    fn what_went_wrong_is_one_line() {
        let said = "curl: (60) SSL certificate problem: expired\nMore details here: https://x\n\nTo \
                    learn more visit the page above.\n\n200 000 https://a.example/\n";
        let told = Told::read(said, "");
        assert_eq!(told.error.as_deref(), Some("curl: (60) SSL certificate problem: expired"));
        assert_eq!((told.connect, told.status), (200, 0));
    }

    fn page(body: &str, code: i32, said: &str) -> Page {
        let (told, ended) = (Told::read(said, ""), Some(Ended::Exited(code)));
        Page { body: body.into(), cut: false, ended, gate: true, told }
    }

    #[test]
    fn what_broke_off_is_shown_as_far_as_it_came() {
        let said = "curl: (28) Operation timed out after 60001 milliseconds with 6 bytes received\n\n\
                    200 200 https://a.example/\ntext/plain";
        let outcome = page("so far", 28, said).outcome(0, MOST_TEXT).unwrap();
        assert!(!outcome.ok);
        assert_eq!(
            outcome.text(),
            "200 https://a.example/ text/plain\n\nso far\n[curl: (28) Operation timed out after \
             60001 milliseconds with 6 bytes received]"
        );
    }

    #[test]
    fn nothing_is_explained() {
        let said = "curl: (6) Could not resolve host: a.example\n\n000 000 https://a.example/\n";
        let why = page("", 6, said).outcome(0, MOST_TEXT).unwrap_err();
        let told =
            "https://a.example/ was not fetched: curl: (6) Could not resolve host: a.example";
        assert_eq!(why, told);
        let why = Page { gate: false, ..page("", 6, said) }.outcome(0, MOST_TEXT).unwrap_err();
        assert!(why.contains("was not fetched: there is no network in this sandbox"), "{why}");
    }
}
