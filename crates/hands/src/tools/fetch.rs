//! Fetching a page through the network of the sandbox, by curl(1): whether that may be, and from
//! where, the network gate decides, for each redirection anew.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::Done;
use super::command::processes::{Ended, end_all};
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
/// The most that is fetched, in bytes.
const MOST: usize = 5 << 20;
/// The most text that is shown, in bytes.
const MOST_TEXT: usize = 48 << 10;
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What curl tells at the end, on its standard error.
const TELL: &str = "%{stderr}\n%{http_code} %{url_effective}\n%{content_type}";

/// Fetches the page at `url`.
pub(crate) fn fetch(url: &str) -> Done {
    let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || url.chars().any(char::is_control) {
        return Err("only addresses that start with http:// or https:// are fetched".to_owned());
    }
    let curl = find("curl").ok_or("there is no curl here, and nothing else that fetches")?;
    let page = run(&curl, url).map_err(|error| format!("curl: {}", kernel(&error)))?;
    page.outcome()
}

/// What curl brought.
struct Page {
    body: Vec<u8>,
    cut: bool,
    ended: Option<Ended>,
    /// What it said of it, or why there is nothing.
    told: String,
}

fn run(curl: &Path, url: &str) -> io::Result<Page> {
    let mut args = vec!["curl", "--silent", "--show-error", "--location", "--compressed"];
    args.extend(["--max-redirs", "10", "--proto", "=http,https", "--proto-redir", "=http,https"]);
    args.extend(["--globoff", "--disable", "--user-agent", "loop", "--write-out", TELL]);
    let proxy = format!("http://{PROXY}");
    if TcpStream::connect_timeout(&PROXY, Duration::from_millis(200)).is_ok() {
        args.extend(["--proxy", &proxy]);
    }
    // --disable counts only as the first option: curl(1).
    args.retain(|arg| *arg != "--disable");
    args.insert(1, "--disable");
    args.extend(["--", url]);
    let mut told = unnamed_file()?;
    let streams = Streams::apart(OwnedFd::from(told.try_clone()?))?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let started = start(curl, &args, &variables, Path::new("/"), streams)?;
    let (body, cut) = read_body(&started.printed)?;
    let ended = if cut { end_all(started.process) } else { wait(started.process) };
    told.rewind()?;
    let mut text = Vec::new();
    told.take(MOST_TEXT as u64).read_to_end(&mut text)?;
    Ok(Page { body, cut, ended, told: String::from_utf8_lossy(&text).into_owned() })
}

/// A file for what curl says, which nobody else can open.
fn unnamed_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create("told", flags)?.into())
}

/// What is printed until its end, the cap, or the end of patience; and whether that cut it off.
fn read_body(printed: &OwnedFd) -> io::Result<(Vec<u8>, bool)> {
    let deadline = Instant::now() + PATIENCE;
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

/// It has closed its output, so it is about to end.
fn wait(process: rustix::process::Pid) -> Option<Ended> {
    let options = rustix::process::WaitOptions::empty();
    let waited = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(process), options));
    let (_, status) = waited.ok()??;
    status.exit_status().map(Ended::Exited).or(Some(Ended::Killed(0)))
}

impl Page {
    fn outcome(self) -> Done {
        let mut told = self.told.rsplit('\n');
        let (media_type, status) = (told.next().unwrap_or_default(), told.next().unwrap_or("000"));
        let why = told.rfind(|line| !line.trim().is_empty());
        if status.starts_with("000") || (self.body.is_empty() && why.is_some()) {
            let gave_up = if self.cut { "it took too long" } else { "nothing came" };
            return Err(names::printable(why.unwrap_or(gave_up).as_bytes()));
        }
        let head = format!("{} {}", status.trim(), media_type.trim());
        let head = names::printable(head.as_bytes());
        let is_ok = status.starts_with('2') && (self.cut || self.ended == Some(Ended::Exited(0)));
        Ok(Outcome { ok: is_ok, ..self.shown(&head, media_type) })
    }

    fn shown(&self, head: &str, media_type: &str) -> Outcome {
        match kind_of(&self.body) {
            Kind::Image(media_type) if !self.cut => Outcome {
                parts: vec![
                    Piece::text(head),
                    Piece::Image { media_type: media_type.to_owned(), data: self.body.clone() },
                ],
                ..Outcome::default()
            },
            Kind::Image(kind) | Kind::Binary(kind) => {
                let length = size(self.body.len() as u64);
                Outcome::failed(format!("{head}\n{kind}, {length}: fetch it with curl"))
            }
            Kind::Text => self.text(head, media_type),
        }
    }

    fn text(&self, head: &str, media_type: &str) -> Outcome {
        let text = plain::text(&self.body);
        let is_page = media_type.contains("html");
        let text = if is_page { html::to_text(&text) } else { text };
        let (shown, total) = (beginning(&text), text.len());
        let is_cut = self.cut || shown.len() < total;
        let truncated = is_cut.then_some(Truncated {
            shown: shown.len() as u64,
            total: (!self.cut).then_some(total as u64),
            unit: Unit::Bytes,
            next_offset: None,
        });
        Outcome { truncated, ..Outcome::failed(format!("{head}\n\n{shown}")) }
    }
}

/// As much as is shown.
fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(MOST_TEXT);
    text.get(..end).unwrap_or(text)
}
