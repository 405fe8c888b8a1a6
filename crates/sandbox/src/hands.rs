//! Speaks to the program inside that carries out the tools of Loop's own agent: `hands`.
//!
//! It runs in a sandbox that stands, as one of its commands, with the permit of one. What it
//! answers is outside data: held to what was asked for, in bounded memory and in bounded time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use broker::Permit;
use confine::exact::Exact;
use confine::protocol::{Command, Ending, Order, Report, Stage, WatchedLimit};
use hands::proposal::{JobAct, Outcome, Proposal};
use hands::wire::{Conversation, Heard, WireError};
use names::Span;
use policy::{Exec, Tool};
use rustix::event::{PollFd, PollFlags};
use rustix::net::Shutdown;
use rustix::pipe::PipeFlags;
use rustix::process::Signal;
use thiserror::Error;

use crate::disk::DiskWatch;
use crate::environment::Environment;
use crate::launch::Sandbox;
use crate::relay::{ExecError, Limit, Seat, poll};

/// The number of the program's command, another one each time that it is started: reports about one
/// that has ended may still come.
static NEXT_COMMAND: AtomicU32 = AtomicU32::new(1 << 16);
/// How often this side looks whether it is still wanted, and whether a limit was reached.
const TICK: Duration = Duration::from_millis(50);
/// How long the program may take to start, to give up, and for what has no time of its own.
const START: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(600);

/// How the program is started, besides what the permit says.
#[derive(Debug)]
pub struct HandsRequest {
    /// The whole environment of it, and of every line of shell.
    pub environment: Environment,
    /// The project inside, where relative paths count from and lines of shell start.
    pub directory: PathBuf,
    /// File mode creation mask.
    pub umask: u32,
    /// When the run is over.
    pub wall: Option<Instant>,
    /// How many bytes may be written, and where they land.
    pub disk: Option<(u64, Vec<PathBuf>)>,
}

/// Why a proposal has no outcome. After any but the first two the program is gone and can be
/// started again, unless the sandbox is gone too.
#[derive(Debug, Error)]
pub enum HandsError {
    /// The permit is for something else.
    #[error("the permit is not for this proposal")]
    OtherPermit,
    /// It can't be sent.
    #[error("the proposal can't be sent: {0}")]
    NotSent(#[source] WireError),
    /// The program does not run: it was not started, or has ended since.
    #[error("what carries out tools does not run in the sandbox")]
    Gone,
    /// The program could not be started.
    #[error(transparent)]
    NotStarted(#[from] ExecError),
    /// The program ended, for instance because a command inside killed it.
    #[error("what carries out tools ended in the sandbox: {0:?}")]
    Ended(Ending),
    /// The program said what it may not say.
    #[error("what carries out tools misspoke: {0}")]
    Misspoke(#[source] WireError),
    /// The program did not answer in time.
    #[error("what carries out tools did not answer within {0}")]
    Overdue(Span),
    /// A limit of the run was reached, and everything in the sandbox has ended.
    #[error("the limit `{}` was reached", .0.key())]
    Limit(Limit),
    /// The sandbox is gone or misspoke.
    #[error("the sandbox does not answer: {0}")]
    Lost(#[source] io::Error),
}

/// The file that is the program, and where it is shown inside: for [`Subject::shown_as`].
///
/// [`Subject::shown_as`]: crate::Subject::shown_as
///
/// # Errors
/// When the file of this process can't be told.
pub fn hands_file() -> io::Result<(PathBuf, PathBuf)> {
    Ok((std::env::current_exe()?, hands::PROGRAM.into()))
}

/// The action that starting the program is.
#[must_use]
pub fn hands_action(directory: impl Into<PathBuf>) -> Exec {
    Exec::new(PathBuf::from(hands::PROGRAM), Vec::new(), directory.into())
}

/// The action that a proposal is.
#[must_use]
pub fn tool_action(proposal: &Proposal) -> Tool {
    Tool {
        name: proposal.tool().to_owned(),
        words: proposal.words(),
        proposal: Some(proposal.digest()),
    }
}

/// The program, at work in a sandbox that stands. When this is dropped, it ends, with everything
/// that it started.
#[derive(Debug)]
pub struct Hands<'a> {
    sandbox: &'a mut Sandbox,
    guard: Guard,
    request: HandsRequest,
    command: u32,
    talk: Option<Talk>,
}

/// The streams of a program that runs.
#[derive(Debug)]
struct Talk {
    to: OwnedFd,
    from: OwnedFd,
    conversation: Conversation,
    /// What is yet to be written.
    unsent: Vec<u8>,
}

impl<'a> Hands<'a> {
    /// Starts the program in `sandbox`, whose plan shows [`hands_file`].
    ///
    /// # Errors
    /// When it does not run, or is not the program that this one speaks to.
    pub fn start(
        sandbox: &'a mut Sandbox,
        permit: &Permit<Exec>,
        request: HandsRequest,
    ) -> Result<Self, HandsError> {
        let guard = Guard::start(sandbox, &request).map_err(HandsError::Lost)?;
        let mut hands = Self { sandbox, guard, request, command: 0, talk: None };
        hands.restart(permit)?;
        Ok(hands)
    }

    /// Starts it again, after it has ended.
    ///
    /// # Errors
    /// As [`Hands::start`].
    pub fn restart(&mut self, permit: &Permit<Exec>) -> Result<(), HandsError> {
        let expected = hands_action(self.request.directory.clone());
        if permit.act().program != expected.program || !permit.act().args.is_empty() {
            return Err(HandsError::OtherPermit);
        }
        self.stop();
        self.command = NEXT_COMMAND.fetch_add(1, Ordering::Relaxed);
        self.sandbox.announce(permit);
        let talk = self.order().map_err(HandsError::Lost)?;
        self.await_start()?;
        self.talk = Some(talk);
        let outcome = self.converse(Instant::now() + START, START, None, &|| false, &mut |_| {});
        outcome.map(drop)
    }

    /// Carries out what is permitted. What a command prints meanwhile is `shown`, as far as it is
    /// worth it; once it is `cancelled`, it is given up, and the outcome says so.
    ///
    /// # Errors
    /// When there is no outcome.
    pub fn carry_out(
        &mut self,
        permit: &Permit<Tool>,
        id: u64,
        proposal: &Proposal,
        cancelled: &dyn Fn() -> bool,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Outcome, HandsError> {
        if *permit.act() != tool_action(proposal) {
            return Err(HandsError::OtherPermit);
        }
        let talk = self.talk.as_mut().ok_or(HandsError::Gone)?;
        let frame = talk.conversation.carry(id, proposal).map_err(HandsError::NotSent)?;
        talk.unsent.extend(frame);
        let patience = patience(proposal);
        let deadline = Instant::now() + patience;
        let outcome = self.converse(deadline, patience, Some(id), cancelled, shown)?;
        outcome.ok_or(HandsError::Gone)
    }

    /// The limit that ended the sandbox, if one did: also between two proposals.
    #[must_use]
    pub fn limit_reached(&self) -> Option<Limit> {
        self.guard.reached().or_else(|| self.sandbox.limit_reached())
    }

    fn order(&self) -> io::Result<Talk> {
        let (theirs_in, to) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (from, theirs_out) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&to, true)?;
        rustix::io::ioctl_fionbio(&from, true)?;
        let order = Order::Start(Command {
            id: self.command,
            args: vec![Exact::new(hands::PROGRAM)],
            environment: self.request.environment.assignments(),
            directory: Exact::from(self.request.directory.as_os_str()),
            umask: self.request.umask,
            terminal: None,
        });
        self.sandbox.channel().order(&order, &[theirs_in.as_fd(), theirs_out.as_fd()])?;
        Ok(Talk { to, from, conversation: Conversation::default(), unsent: Vec::new() })
    }

    fn await_start(&mut self) -> Result<(), HandsError> {
        loop {
            let (report, _) =
                self.sandbox.channel().next_report().map_err(|error| self.lost(error))?;
            match report {
                Report::Started { command } if command == self.command => return Ok(()),
                Report::NotStarted { command, during, errno } if command == self.command => {
                    return Err(self.not_started(during, errno).into());
                }
                Report::Ended { command, .. } if command != self.command => {}
                report => return Err(self.unexpected(&report)),
            }
        }
    }

    fn not_started(&self, during: Stage, errno: i32) -> ExecError {
        let directory = self.request.directory.display().to_string();
        let subject = match during {
            Stage::Directory => directory,
            Stage::Prepare | Stage::Execute => hands::PROGRAM.to_owned(),
        };
        ExecError::NotStarted { subject, during, errno }
    }

    /// Carries bytes until the proposal is done; without one, until the program is ready. An error
    /// ends the program.
    fn converse(
        &mut self,
        deadline: Instant,
        patience: Duration,
        id: Option<u64>,
        cancelled: &dyn Fn() -> bool,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Option<Outcome>, HandsError> {
        let (mut deadline, mut patience, mut given_up) = (deadline, patience, false);
        let outcome = loop {
            if !given_up && cancelled() {
                given_up = true;
                (deadline, patience) = (Instant::now() + GRACE, GRACE);
                self.give_up(id);
            }
            match self.turn(deadline, patience, shown) {
                Ok(None) => {}
                Ok(Some(Heard::Ready)) if id.is_none() => break Ok(None),
                Ok(Some(Heard::Done(done, outcome))) if Some(done) == id => {
                    break Ok(Some(outcome));
                }
                // Of one that was given up before.
                Ok(Some(_)) => {}
                Err(error) => break Err(error),
            }
        };
        if outcome.is_err() {
            self.stop();
        }
        outcome
    }

    fn give_up(&mut self, id: Option<u64>) {
        if let (Some(talk), Some(id)) = (&mut self.talk, id)
            && let Ok(frame) = talk.conversation.cancel(id)
        {
            talk.unsent.extend(frame);
        }
    }

    /// What is heard next, if something is within a tick.
    fn turn(
        &mut self,
        deadline: Instant,
        patience: Duration,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Option<Heard>, HandsError> {
        let talk = self.talk.as_mut().ok_or(HandsError::Gone)?;
        match talk.conversation.hear().map_err(HandsError::Misspoke)? {
            Some(Heard::Progress(_, text)) => {
                shown(&text);
                return Ok(None);
            }
            Some(heard) => return Ok(Some(heard)),
            None => {}
        }
        let now = Instant::now();
        if now >= deadline {
            let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
            return Err(HandsError::Overdue(Span::from_millis(millis)));
        }
        let said = talk.wait(self.sandbox, TICK.min(deadline - now)).map_err(HandsError::Lost)?;
        // What it still said counts, even if it has ended since.
        if said == 0 {
            self.look()?;
        }
        Ok(None)
    }

    /// Whether the program still runs, and the run may go on.
    fn look(&mut self) -> Result<(), HandsError> {
        if let Some(limit) = self.limit_reached() {
            self.sandbox.end();
            return Err(HandsError::Limit(limit));
        }
        let mut channel = [PollFd::from_borrowed_fd(self.sandbox.channel().as_fd(), PollFlags::IN)];
        poll(&mut channel, Some(Duration::ZERO)).map_err(HandsError::Lost)?;
        if channel[0].revents().is_empty() {
            return Ok(());
        }
        match self.sandbox.channel().next_report() {
            Ok((Report::Ended { command, ending }, _)) if command == self.command => {
                Err(HandsError::Ended(ending))
            }
            Ok((Report::Ended { .. }, _)) => Ok(()),
            Ok((report, _)) => Err(self.unexpected(&report)),
            Err(error) => Err(self.lost(error)),
        }
    }

    fn unexpected(&mut self, report: &Report) -> HandsError {
        match report {
            Report::LimitReached(limit) => {
                self.sandbox.end();
                HandsError::Limit(match limit {
                    WatchedLimit::Memory => Limit::Memory,
                    WatchedLimit::Processes => Limit::Processes,
                })
            }
            _ => HandsError::Lost(io::ErrorKind::InvalidData.into()),
        }
    }

    /// A sandbox is also gone because a limit ended it.
    fn lost(&self, error: io::Error) -> HandsError {
        self.limit_reached().map_or(HandsError::Lost(error), HandsError::Limit)
    }

    /// Ends the program. What it started ends when it is gone.
    fn stop(&mut self) {
        let Some(talk) = self.talk.take() else { return };
        drop(talk);
        let order = Order::Signal { command: self.command, signal: Signal::KILL.as_raw() };
        // A sandbox that is gone needs no order.
        let _ = self.sandbox.channel().order(&order, &[]);
    }
}

impl Drop for Hands<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Talk {
    /// Waits until something can be moved, and moves it; returns how many bytes were read.
    fn wait(&mut self, sandbox: &Sandbox, timeout: Duration) -> io::Result<usize> {
        let flags = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        {
            let mut sources = [
                PollFd::new(&self.from, PollFlags::IN),
                PollFd::from_borrowed_fd(sandbox.channel().as_fd(), PollFlags::IN),
                PollFd::new(&self.to, flags),
            ];
            poll(&mut sources, Some(timeout))?;
        }
        self.send()?;
        self.receive()
    }

    fn send(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        match rustix::io::write(&self.to, &self.unsent) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // It has ended, which init reports.
            Err(rustix::io::Errno::PIPE) => self.unsent.clear(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 32 << 10];
        match rustix::io::read(&self.from, &mut buffer) {
            Ok(count) => {
                self.conversation.push(buffer.get(..count).unwrap_or_default());
                Ok(count)
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

/// How long the program may take: what it says itself, and some more.
fn patience(proposal: &Proposal) -> Duration {
    let own = match proposal {
        Proposal::Bash { timeout, background: false, .. } => {
            timeout.unwrap_or(hands::TIMEOUT).min(hands::LONGEST)
        }
        Proposal::Job { act: JobAct::Wait { timeout }, .. } => {
            timeout.unwrap_or(hands::WAIT).min(hands::LONGEST)
        }
        _ => return PATIENCE,
    };
    own.as_duration() + GRACE
}

/// Watches what a run may not exceed while nobody speaks to the program: its jobs go on.
#[derive(Debug)]
struct Guard {
    reached: Arc<Mutex<Option<Limit>>>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    fn start(sandbox: &Sandbox, request: &HandsRequest) -> io::Result<Self> {
        let reached = Arc::default();
        let disk = request.disk.as_ref();
        let disk = disk.map(|(limit, places)| DiskWatch::new(places.clone(), *limit));
        let (mut disk, wall) = (disk.transpose()?, request.wall);
        if disk.is_none() && wall.is_none() {
            return Ok(Self { reached, stop: None, thread: None });
        }
        let socket = sandbox.channel().as_fd().try_clone_to_owned()?;
        let (stopped, stop) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let found = Arc::clone(&reached);
        let thread = std::thread::Builder::new().name("limits".to_owned()).spawn(move || {
            if let Some(limit) = watch(&mut disk, wall, &stopped) {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
                // Init ends when its socket does, and everything with it.
                let _ = rustix::net::shutdown(&socket, Shutdown::Both);
            }
        })?;
        Ok(Self { reached, stop: Some(stop), thread: Some(thread) })
    }

    fn reached(&self) -> Option<Limit> {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first limit that is reached before somebody says stop.
fn watch(disk: &mut Option<DiskWatch>, wall: Option<Instant>, stopped: &OwnedFd) -> Option<Limit> {
    loop {
        let mut sources = [PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut sources, Some(TICK)).is_err() || !sources[0].revents().is_empty() {
            return None;
        }
        if wall.is_some_and(|wall| Instant::now() >= wall) {
            return Some(Limit::Wall);
        }
        if disk.as_mut().is_some_and(DiskWatch::reached) {
            return Some(Limit::Disk);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A thread that panicked watches no more; what it watched ends with the sandbox.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl HandsRequest {
    /// A request without limits.
    #[must_use]
    pub fn new(environment: Environment, directory: impl Into<PathBuf>, umask: u32) -> Self {
        Self { environment, directory: directory.into(), umask, wall: None, disk: None }
    }
}
