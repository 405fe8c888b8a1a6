//! The socket of a run through which other processes of the same user answer its asks: one thread,
//! one poll loop, for as long as the run can ask.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use api::Choice;
use broker::{Answerer, Approvals, Binding, Via, Watch};
use names::{AskId, Digest};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use sandbox::protocol::Channel;

use super::{Say, Tell, Waiting, address, answer_of, capped, limit_waiting, view};
use crate::store::RunDirectory;

/// How many may be connected at once; more wait in the socket's queue.
const GUESTS: usize = 16;

/// The socket, while it is served. Dropping it ends the service.
pub(crate) struct Service {
    socket: PathBuf,
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Serves the asks of a run on the socket in its directory. `user` is who answers there: only
    /// this user can.
    ///
    /// # Errors
    /// When the socket can't be made.
    pub(crate) fn start(run: &RunDirectory, approvals: Approvals, user: &str) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let server = Server {
            listener: listen(run)?,
            watch: approvals.watch()?,
            ended,
            approvals,
            by: Answerer { user: user.to_owned(), via: Via::Command },
            guests: BTreeMap::new(),
            next: 0,
        };
        let thread = std::thread::Builder::new().name("approvals".to_owned());
        let thread = thread.spawn(move || server.serve())?;
        Ok(Self { socket: run.approvals_socket(), end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.end.take());
        // One that panicked serves nobody any more, which is what is wanted.
        let _ = self.thread.take().map(JoinHandle::join);
        // The run ends; a name that is left over leads nowhere.
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn listen(run: &RunDirectory) -> io::Result<OwnedFd> {
    let (_directory, address) = address(run)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &address)?;
    // Its directory lets nobody else in; this says the same once more.
    rustix::fs::chmod(run.approvals_socket(), Mode::RUSR | Mode::WUSR)?;
    rustix::net::listen(&socket, 16)?;
    Ok(socket)
}

struct Server {
    listener: OwnedFd,
    watch: Watch,
    ended: UnixStream,
    approvals: Approvals,
    by: Answerer,
    guests: BTreeMap<u32, Guest>,
    next: u32,
}

/// Somebody who is connected.
struct Guest {
    channel: Channel,
    attends: bool,
    shown: BTreeSet<AskId>,
}

impl Server {
    fn serve(mut self) {
        while let Ok(ready) = self.wait() {
            if ready.ended {
                return;
            }
            for guest in ready.guests {
                if self.hear(guest).is_err() {
                    self.guests.remove(&guest);
                }
            }
            if ready.listener {
                self.let_in();
            }
            if ready.news {
                self.watch.clear();
                self.tell_everybody();
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let listener = match self.guests.len() < GUESTS {
            true => PollFlags::IN,
            false => PollFlags::empty(),
        };
        let mut sources = vec![
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::new(&self.listener, listener),
            PollFd::new(&self.watch, PollFlags::IN),
        ];
        let guests = self.guests.values().map(|guest| guest.channel.as_fd());
        sources.extend(guests.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match rustix::event::poll(&mut sources, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = sources.iter().map(|source| !source.revents().is_empty());
        let mut next = || ready.next().unwrap_or(false);
        let (ended, listener, news) = (next(), next(), next());
        let guests = self.guests.keys().zip(ready).filter(|(_, ready)| *ready);
        Ok(Ready { ended, listener, news, guests: guests.map(|(id, _)| *id).collect() })
    }

    fn let_in(&mut self) {
        // Whoever gave up meanwhile, or is somebody else, is no guest.
        let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC) else {
            return;
        };
        if !is_same_user(&socket) || limit_waiting(&socket).is_err() {
            return;
        }
        let channel = Channel::over(socket);
        self.guests.insert(self.next, Guest { channel, attends: false, shown: BTreeSet::new() });
        self.next = self.next.wrapping_add(1);
    }

    fn hear(&mut self, id: u32) -> io::Result<()> {
        let Some(guest) = self.guests.get_mut(&id) else { return Ok(()) };
        match guest.channel.receive()?.0 {
            Say::List => guest.tell(&self.approvals),
            Say::Attend => {
                guest.attends = true;
                guest.tell(&self.approvals)
            }
            Say::Answer { id, binding, choice } => {
                let via = if guest.attends { Via::Terminal } else { Via::Command };
                let by = Answerer { via, ..self.by.clone() };
                let told = count(&self.approvals, id, binding, choice, &by);
                guest.channel.send(&told, &[])
            }
        }
    }

    fn tell_everybody(&mut self) {
        let approvals = &self.approvals;
        self.guests.retain(|_, guest| !guest.attends || guest.tell(approvals).is_ok());
    }
}

impl Guest {
    fn tell(&mut self, approvals: &Approvals) -> io::Result<()> {
        let pending = approvals.pending();
        for ask in pending.iter().filter(|ask| !self.shown.contains(&ask.id)) {
            self.channel.send(&Tell::Ask(Box::new(view(ask))), &[])?;
        }
        let asks: Vec<_> = pending.iter().map(|ask| ask.id.clone()).collect();
        if self.attends {
            self.shown = asks.iter().cloned().collect();
        }
        let waiting = Waiting { asks, capped: capped(approvals), stop: approvals.wants_stop() };
        self.channel.send(&Tell::Waiting(waiting), &[])
    }
}

fn count(approvals: &Approvals, id: AskId, binding: Digest, choice: Choice, by: &Answerer) -> Tell {
    match approvals.answer(&id, answer_of(choice), by, &Binding::from_digest(binding)) {
        Ok(recorded) => Tell::Counted { id, record: recorded.seq },
        Err(error) => Tell::Refused { id, why: error.to_string() },
    }
}

/// Whether the other side is a process of the user that runs this: unix(7), SO_PEERCRED.
fn is_same_user(socket: &OwnedFd) -> bool {
    let ours = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == ours)
}

struct Ready {
    ended: bool,
    listener: bool,
    news: bool,
    guests: Vec<u32>,
}
