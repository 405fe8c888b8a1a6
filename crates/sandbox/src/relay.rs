//! Runs one command in a sandbox and carries its bytes: one thread, one poll loop.
//!
//! The sandbox never holds a descriptor of the person's. It writes into pipes or into a terminal
//! of its own, and what comes out is counted and copied here.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use broker::Permit;
use confine::exact::Exact;
use confine::protocol::{Channel, Command, Ending, Order, Report, Stage, Terminal, WatchedLimit};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::PipeFlags;
use rustix::process::Signal;
use rustix::termios::Winsize;
use sys::signal::SignalFd;
use thiserror::Error;

use crate::attend::{Attendant, Desk, attend};
use crate::disk::DiskWatch;
use crate::environment::Environment;
use crate::launch::Sandbox;
use crate::terminal::{self, RawTerminal};

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(50);
/// How much is moved at once. A pipe that is ready takes at least this much without blocking.
const CHUNK: usize = 4096;
/// How much may wait to be written to one stream.
const BACKLOG: usize = 16 * CHUNK;
/// How long a command may take to obey a request to end.
const GRACE: Duration = Duration::from_secs(10);
/// A keyboard interrupt that is sent this often ends the run, whatever the command does with it.
const INTERRUPTS: u32 = 3;

/// Signals that are passed on to the command.
const FORWARDED: [Signal; 6] =
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// What to run, besides what the permit says.
#[derive(Debug)]
pub struct CommandRequest {
    /// Program and arguments as they were given.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub environment: Environment,
    /// Working directory inside.
    pub directory: PathBuf,
    /// File mode creation mask.
    pub umask: u32,
    /// How long it may take.
    pub wall: Option<Duration>,
    /// How many bytes it may print.
    pub output: Option<u64>,
    /// How many bytes it may write, and where they land.
    pub disk: Option<(u64, Vec<PathBuf>)>,
}

/// The person's standard input, output and error.
#[derive(Debug)]
pub struct Streams {
    /// Where the command's input comes from.
    pub input: OwnedFd,
    /// Where its output goes.
    pub output: OwnedFd,
    /// Where its errors go.
    pub error: OwnedFd,
}

/// A limit that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Memory of all processes.
    Memory,
    /// Number of processes.
    Processes,
    /// Bytes written.
    Disk,
    /// Bytes printed.
    Output,
    /// Time.
    Wall,
}

impl Limit {
    /// Its key in a profile.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Wall => "wall",
        }
    }
}

/// How a command came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its own ending; `None` when the run was ended from outside.
    pub ending: Option<Ending>,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// The person ended it.
    pub interrupted: bool,
    /// Bytes it printed.
    pub printed: u64,
    /// How long it took.
    pub took: Duration,
}

/// Why a command did not run.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The program is not there, can't be executed, or its directory can't be entered.
    #[error("{}: {}", names::printable(subject.as_bytes()), io::Error::from_raw_os_error(*errno))]
    NotStarted {
        /// The program or the directory.
        subject: String,
        /// What was being done.
        during: Stage,
        /// The kernel's error number.
        errno: i32,
    },
    /// The sandbox is gone or misspoke.
    #[error("the sandbox does not answer: {0}")]
    Lost(#[source] io::Error),
    /// The person's streams or terminal can't be used.
    #[error("standard streams: {0}")]
    Streams(#[source] io::Error),
}

/// Where a command is started and heard of: a sandbox, or the process that keeps a warm one.
pub trait Seat {
    /// The exec protocol.
    fn channel(&self) -> &Channel;
    /// A limit that only this side can see, if it has been reached.
    fn limit_reached(&self) -> Option<Limit>;
    /// Init has answered whether the command was started.
    fn answered(&mut self);
    /// Ends the command and whatever the limit or the person's wish covers, and waits for it.
    fn end(&mut self);
}

impl Sandbox {
    /// Runs the permitted command to its end, with these streams. Meanwhile `attendant` may ask
    /// the person something.
    ///
    /// A limit ends the whole sandbox; so does a person who insists.
    ///
    /// # Errors
    /// When the command never ran. The sandbox can be used again unless it is lost.
    pub fn run(
        &mut self,
        permit: &Permit<policy::Exec>,
        request: &CommandRequest,
        streams: &Streams,
        signals: &Signals,
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Finished, ExecError> {
        self.expect(permit);
        run_at(self, request, streams, signals, attendant)
    }

    /// The same for what the command prints alone, which goes to `printed`; the person, who may be
    /// asked, is at `person`. A signal of theirs that asks for an end is one, of the whole sandbox.
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    pub fn run_apart(
        &mut self,
        permit: &Permit<policy::Exec>,
        request: &CommandRequest,
        printed: &Streams,
        person: &Streams,
        signals: &Signals,
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Finished, ExecError> {
        self.expect(permit);
        let beside = Beside { person, signals, attendant, patience: Patience::None };
        run_beside(self, request, printed, beside)
    }

    fn expect(&mut self, permit: &Permit<policy::Exec>) {
        self.announce(permit);
        self.announced = Some(permit.record().seq);
    }
}

/// Who is there while a command runs.
struct Beside<'a, 'p> {
    /// Where the person is.
    person: &'a Streams,
    signals: &'a Signals,
    attendant: Option<&'p mut dyn Attendant>,
    patience: Patience,
}

/// What becomes of a signal that asks for an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// It is the command's to obey, for a while.
    Some,
    /// It is the end.
    None,
}

/// Runs a command at a seat whose keeper has the permit.
///
/// # Errors
/// When the command never ran.
pub fn run_at(
    seat: &mut dyn Seat,
    request: &CommandRequest,
    streams: &Streams,
    signals: &Signals,
    attendant: Option<&mut dyn Attendant>,
) -> Result<Finished, ExecError> {
    let beside = Beside { person: streams, signals, attendant, patience: Patience::Some };
    run_beside(seat, request, streams, beside)
}

fn run_beside(
    seat: &mut dyn Seat,
    request: &CommandRequest,
    streams: &Streams,
    beside: Beside<'_, '_>,
) -> Result<Finished, ExecError> {
    let Beside { person, signals, mut attendant, patience } = beside;
    let wanted = terminal_for(streams);
    let (mut relay, given) = Relay::connect(wanted, streams).map_err(ExecError::Streams)?;
    let started = Instant::now();
    order(seat.channel(), request, wanted, &given)?;
    drop(given);
    // A script's interpreter may have to be asked about before the command has started.
    if let Some(attendant) = &mut attendant
        && !attend(*attendant, person, signals, seat.channel().as_fd()).map_err(ExecError::Lost)?
    {
        seat.end();
        let took = started.elapsed();
        return Ok(Finished { ending: None, limit: None, interrupted: true, printed: 0, took });
    }
    let answered = answer(seat.channel(), request);
    seat.answered();
    let controller = answered?;
    if let Some(controller) = controller {
        relay.add_terminal(controller, wanted, streams).map_err(ExecError::Streams)?;
    }
    let raw = wanted
        .filter(|terminal| terminal.streams[0])
        .map(|_| RawTerminal::enter(&streams.input))
        .transpose()
        .map_err(ExecError::Streams)?;
    let desk = Desk::new(attendant, person);
    let driver = Driver::new(seat, relay, signals, desk, request, started)?;
    let finished = Driver { patience, ..driver }.drive(streams);
    drop(raw);
    finished
}

fn order(
    channel: &Channel,
    request: &CommandRequest,
    terminal: Option<Terminal>,
    given: &[OwnedFd],
) -> Result<(), ExecError> {
    let order = Order::Start(Command {
        id: 0,
        args: request.args.iter().map(|arg| Exact::from(arg.as_os_str())).collect(),
        environment: request.environment.assignments(),
        directory: Exact::from(request.directory.as_os_str()),
        umask: request.umask,
        terminal,
    });
    let given: Vec<_> = given.iter().map(AsFd::as_fd).collect();
    channel.order(&order, &given).map_err(ExecError::Lost)
}

/// Whether it started, and the terminal it has.
fn answer(channel: &Channel, request: &CommandRequest) -> Result<Option<OwnedFd>, ExecError> {
    match channel.next_report().map_err(ExecError::Lost)? {
        (Report::Started { .. }, descriptors) => Ok(descriptors.into_iter().next()),
        (Report::NotStarted { during, errno, .. }, _) => {
            Err(ExecError::NotStarted { subject: subject(request, during), during, errno })
        }
        _ => Err(ExecError::Lost(io::ErrorKind::InvalidData.into())),
    }
}

fn subject(request: &CommandRequest, during: Stage) -> String {
    let program = request.args.first().map(OsString::as_os_str).unwrap_or_default();
    match during {
        Stage::Directory => request.directory.display().to_string(),
        Stage::Prepare | Stage::Execute => program.to_string_lossy().into_owned(),
    }
}

/// A command gets a terminal when its output would go to one.
fn terminal_for(streams: &Streams) -> Option<Terminal> {
    let output = streams.output.is_terminal();
    let size = terminal::size(streams.output.as_fd());
    output.then(|| Terminal {
        rows: size.ws_row,
        columns: size.ws_col,
        streams: [streams.input.is_terminal(), true, streams.error.is_terminal()],
    })
}

/// The person's signals, held back from this process so that they reach the command instead.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Takes the signals over. Must come before this process starts a thread, or that thread would
    /// still be ended by them. One that this process was told to ignore stays ignored: it is not
    /// for the command either.
    ///
    /// # Errors
    /// `EMFILE`, `ENOMEM`.
    pub fn take() -> io::Result<Self> {
        let mut taken = vec![Signal::WINCH];
        for signal in FORWARDED {
            if !sys::signal::is_ignored(signal)? {
                taken.push(signal);
            }
        }
        SignalFd::block(&taken).map(Self)
    }

    /// Whether somebody has asked this process to end, by the keyboard or otherwise. What has come
    /// is still there for the command.
    ///
    /// # Errors
    /// None that the kernel is known to give.
    pub fn want_an_end(&self) -> io::Result<bool> {
        sys::signal::is_pending(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT])
    }

    /// The next one that has come.
    pub(crate) fn next(&self) -> io::Result<Option<Signal>> {
        self.0.next()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits for everything at once: reports, signals, bytes, time, and the person.
struct Driver<'a, 'p> {
    seat: &'a mut dyn Seat,
    relay: Relay,
    signals: &'a Signals,
    desk: Desk<'p>,
    disk: Option<DiskWatch>,
    output: Option<u64>,
    started: Instant,
    wall: Option<Instant>,
    give_up_at: Option<Instant>,
    interrupts: u32,
    patience: Patience,
}

impl<'a, 'p> Driver<'a, 'p> {
    fn new(
        seat: &'a mut dyn Seat,
        relay: Relay,
        signals: &'a Signals,
        desk: Desk<'p>,
        request: &CommandRequest,
        started: Instant,
    ) -> Result<Self, ExecError> {
        let disk = request.disk.as_ref();
        let disk = disk.map(|(limit, directories)| DiskWatch::new(directories.clone(), *limit));
        Ok(Self {
            seat,
            relay,
            signals,
            desk,
            disk: disk.transpose().map_err(ExecError::Streams)?,
            output: request.output,
            started,
            wall: request.wall.map(|wall| started + wall),
            give_up_at: None,
            interrupts: 0,
            patience: Patience::Some,
        })
    }

    fn drive(&mut self, streams: &Streams) -> Result<Finished, ExecError> {
        let mut next_tick = self.started + TICK;
        loop {
            let until = [Some(next_tick), self.wall, self.give_up_at].into_iter().flatten().min();
            let ready = self.wait(until).map_err(ExecError::Lost)?;
            if ready.signals {
                self.pass_signals_on(streams)?;
            }
            if self.desk.turn(ready.desk) {
                self.relay.repaint();
            }
            if ready.report
                && let Some(finished) = self.hear()?
            {
                return Ok(finished);
            }
            if self.is_over_time() {
                return Ok(self.end(None, Some(Limit::Wall), false));
            }
            if self.give_up_at.is_some_and(|at| Instant::now() >= at)
                || self.interrupts >= INTERRUPTS
                || self.desk.wants_stop()
            {
                return Ok(self.end(None, None, true));
            }
            if self.output.is_some_and(|limit| self.relay.printed > limit) {
                return Ok(self.end(None, Some(Limit::Output), false));
            }
            if Instant::now() >= next_tick {
                next_tick = Instant::now() + TICK;
                if let Some(limit) = self.look() {
                    return Ok(self.end(None, Some(limit), false));
                }
            }
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<Ready> {
        let timeout = until.map(|at| at.saturating_duration_since(Instant::now()));
        let held = self.desk.holds_terminal();
        let (ready, pumps) = {
            let mut sources = vec![
                PollFd::from_borrowed_fd(self.seat.channel().as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            self.desk.register(&mut sources);
            let wanted = self.relay.register(held, &mut sources);
            poll(&mut sources, timeout)?;
            let mut events = sources.iter().map(|source| !source.revents().is_empty());
            let report = events.next().unwrap_or(false);
            let signals = events.next().unwrap_or(false);
            let desk = self.desk.ready(events.by_ref().take(self.desk.sources()));
            let pumps: Vec<_> = wanted
                .into_iter()
                .zip(events)
                .filter(|(_, ready)| *ready)
                .map(|(w, _)| w)
                .collect();
            (Ready { report, signals, desk }, pumps)
        };
        self.relay.move_bytes(held, &pumps);
        Ok(ready)
    }

    fn pass_signals_on(&mut self, streams: &Streams) -> Result<(), ExecError> {
        while let Some(signal) = self.signals.next().map_err(ExecError::Streams)? {
            match signal {
                Signal::WINCH => self.relay.resize(terminal::size(streams.output.as_fd())),
                Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT
                    if self.patience == Patience::None =>
                {
                    self.interrupts = INTERRUPTS;
                }
                Signal::INT => self.interrupts += 1,
                Signal::TERM | Signal::HUP => {
                    self.give_up_at.get_or_insert(Instant::now() + GRACE);
                }
                _ => {}
            }
            if signal != Signal::WINCH {
                let order = Order::Signal { command: 0, signal: signal.as_raw() };
                // A sandbox that is gone is noticed when its report does not come.
                let _ = self.seat.channel().order(&order, &[]);
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<Option<Finished>, ExecError> {
        match self.seat.channel().next_report() {
            Ok((Report::Ended { ending, .. }, _)) => {
                let limit = self.look();
                Ok(Some(self.end(Some(ending), limit, false)))
            }
            Ok((Report::LimitReached(limit), _)) => {
                let limit = match limit {
                    WatchedLimit::Memory => Limit::Memory,
                    WatchedLimit::Processes => Limit::Processes,
                };
                Ok(Some(self.end(None, Some(limit), false)))
            }
            Ok(_) => Err(ExecError::Lost(io::ErrorKind::InvalidData.into())),
            Err(error) => Err(ExecError::Lost(error)),
        }
    }

    fn is_over_time(&self) -> bool {
        self.wall.is_some_and(|at| Instant::now() >= at)
    }

    fn look(&mut self) -> Option<Limit> {
        let disk = self.disk.as_mut().is_some_and(DiskWatch::reached);
        disk.then_some(Limit::Disk).or_else(|| self.seat.limit_reached())
    }

    /// What the command still had in its pipes belongs to it; what others go on writing does not.
    fn end(&mut self, ending: Option<Ending>, limit: Option<Limit>, interrupted: bool) -> Finished {
        let took = self.started.elapsed();
        if limit.is_some() || interrupted {
            self.seat.end();
        }
        // The person has their terminal back before the last words of the command appear.
        self.desk.close();
        self.relay.drain(self.output);
        Finished { ending, limit, interrupted, printed: self.relay.printed, took }
    }
}

struct Ready {
    report: bool,
    signals: bool,
    desk: crate::attend::Ready,
}

/// Waits until one of them is ready or the time is over: poll(2).
pub(crate) fn poll(sources: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match rustix::event::poll(sources, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// All the streams of one command.
#[derive(Debug, Default)]
struct Relay {
    pumps: Vec<Pump>,
    controller: Option<OwnedFd>,
    printed: u64,
}

impl Relay {
    /// Makes a pipe for each stream that is not the terminal. The second value is the command's
    /// side of them, in order.
    fn connect(terminal: Option<Terminal>, streams: &Streams) -> io::Result<(Self, Vec<OwnedFd>)> {
        let on_terminal = terminal.map_or([false; 3], |terminal| terminal.streams);
        let [input, output, error] = on_terminal;
        let mut relay = Self::default();
        let mut given = Vec::new();
        if !input {
            let (theirs, ours) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            set_nonblocking(&ours)?;
            relay.pumps.push(Pump::new(Direction::In, streams.input.try_clone()?, ours));
            given.push(theirs);
        }
        for (to, is_terminal) in [(&streams.output, output), (&streams.error, error)] {
            if !is_terminal {
                let (ours, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                set_nonblocking(&ours)?;
                relay.pumps.push(Pump::new(Direction::Out, ours, to.try_clone()?));
                given.push(theirs);
            }
        }
        Ok((relay, given))
    }

    fn add_terminal(
        &mut self,
        controller: OwnedFd,
        terminal: Option<Terminal>,
        streams: &Streams,
    ) -> io::Result<()> {
        set_nonblocking(&controller)?;
        if terminal.is_some_and(|terminal| terminal.streams[0]) {
            let keys = streams.input.try_clone()?;
            self.pumps.push(Pump::new(Direction::In, keys, controller.try_clone()?));
        }
        let screen = streams.output.try_clone()?;
        self.pumps.push(Pump::new(Direction::Out, controller.try_clone()?, screen));
        self.controller = Some(controller);
        Ok(())
    }

    fn resize(&self, size: Winsize) {
        if let Some(controller) = &self.controller {
            // A terminal that nobody holds any more need not be resized.
            let _ = rustix::termios::tcsetwinsize(controller, size);
        }
    }

    /// Makes what draws on its own terminal draw again, because the screen was somebody else's: a
    /// window that changes its size and changes it back.
    fn repaint(&self) {
        let Some(controller) = &self.controller else { return };
        let canonical = rustix::termios::tcgetattr(controller)
            .is_ok_and(|modes| modes.local_modes.contains(rustix::termios::LocalModes::ICANON));
        if !canonical {
            let size = terminal::size(controller.as_fd());
            self.resize(Winsize { ws_row: size.ws_row.saturating_sub(1).max(1), ..size });
            self.resize(size);
        }
    }

    /// Adds what each pump waits for; returns which pump each added source belongs to. While the
    /// person's terminal is `held`, nothing is read from or written to one.
    fn register<'a>(&'a self, held: bool, sources: &mut Vec<PollFd<'a>>) -> Vec<usize> {
        let mut wanted = Vec::new();
        for (number, pump) in self.pumps.iter().enumerate() {
            for (fd, flags) in pump.waits_for(held) {
                sources.push(PollFd::from_borrowed_fd(fd, flags));
                wanted.push(number);
            }
        }
        wanted
    }

    fn move_bytes(&mut self, held: bool, ready: &[usize]) {
        for &number in ready {
            if let Some(pump) = self.pumps.get_mut(number) {
                self.printed += pump.turn(held);
            }
        }
        self.pumps.retain(|pump| !pump.is_done());
    }

    /// Copies what is already there, without waiting for more than a terminal may hold back.
    fn drain(&mut self, limit: Option<u64>) {
        self.pumps.retain(|pump| pump.direction == Direction::Out);
        for pump in &mut self.pumps {
            loop {
                pump.settle();
                let moved = pump.fill();
                self.printed += moved;
                pump.flush_all();
                if moved == 0 || limit.is_some_and(|limit| self.printed > limit) {
                    break;
                }
            }
        }
    }
}

/// Which way a pump carries bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// Carries bytes from one descriptor to another.
#[derive(Debug)]
struct Pump {
    direction: Direction,
    from: Option<OwnedFd>,
    to: Option<OwnedFd>,
    waiting: VecDeque<u8>,
    /// The person's side of it is a terminal.
    on_terminal: bool,
}

impl Pump {
    fn new(direction: Direction, from: OwnedFd, to: OwnedFd) -> Self {
        let on_terminal = match direction {
            Direction::In => from.is_terminal(),
            Direction::Out => to.is_terminal(),
        };
        let waiting = VecDeque::new();
        Self { direction, from: Some(from), to: Some(to), waiting, on_terminal }
    }

    /// Whether its reading, or its writing, is held back. What the command prints meanwhile waits
    /// here, and when this is full, the command does.
    fn is_held(&self, held: bool, doing: Direction) -> bool {
        held && self.on_terminal && self.direction == doing
    }

    fn waits_for(&self, held: bool) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let reads = self.waiting.len() < BACKLOG && !self.is_held(held, Direction::In);
        let writes = !self.waiting.is_empty() && !self.is_held(held, Direction::Out);
        let from = self.from.as_ref().filter(|_| reads);
        let to = self.to.as_ref().filter(|_| writes);
        let from = from.map(|fd| (fd.as_fd(), PollFlags::IN));
        let to = to.map(|fd| (fd.as_fd(), PollFlags::OUT));
        from.into_iter().chain(to)
    }

    /// Reads and writes once where something is ready; returns how much the command printed.
    fn turn(&mut self, held: bool) -> u64 {
        let reads = self.waiting.len() < BACKLOG && !self.is_held(held, Direction::In);
        let readable = reads && self.from.as_ref().is_some_and(|fd| is_ready(fd, PollFlags::IN));
        let moved = if readable { self.fill() } else { 0 };
        let writes = !self.waiting.is_empty() && !self.is_held(held, Direction::Out);
        if writes && self.to.as_ref().is_some_and(|fd| is_ready(fd, PollFlags::OUT)) {
            self.flush();
        }
        if self.direction == Direction::Out { moved } else { 0 }
    }

    /// A terminal passes on what was written to it a moment later: give it that moment.
    fn settle(&self) {
        if let Some(from) = self.from.as_ref().filter(|from| from.is_terminal()) {
            let mut sources = [PollFd::new(from, PollFlags::IN)];
            // Nothing within that time is an answer too.
            let _ = poll(&mut sources, Some(TICK));
        }
    }

    fn fill(&mut self) -> u64 {
        let Some(from) = &self.from else { return 0 };
        let mut buffer = [0_u8; BACKLOG];
        match rustix::io::read(from, &mut buffer) {
            // A terminal whose last user is gone answers EIO: pty(7).
            Ok(0) | Err(rustix::io::Errno::IO) => self.from = None,
            Ok(count) => {
                self.waiting.extend(buffer.iter().take(count));
                return u64::try_from(count).unwrap_or(0);
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.from = None,
        }
        0
    }

    fn flush(&mut self) {
        let Some(to) = &self.to else { return };
        let (first, _) = self.waiting.as_slices();
        let chunk = first.get(..CHUNK).unwrap_or(first);
        match rustix::io::write(to, chunk) {
            Ok(count) => drop(self.waiting.drain(..count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // The reader is gone: so is the point of reading more.
            Err(_) => {
                self.waiting.clear();
                self.to = None;
                self.from = None;
            }
        }
    }

    fn flush_all(&mut self) {
        while self.to.is_some() && !self.waiting.is_empty() {
            let Some(to) = &self.to else { return };
            let mut sources = [PollFd::new(to, PollFlags::OUT)];
            if poll(&mut sources, None).is_err() {
                return;
            }
            self.flush();
        }
    }

    /// Whether nothing can move any more. Dropping the pump then closes both ends, which is how
    /// the other side learns of it.
    fn is_done(&self) -> bool {
        self.to.is_none() || (self.from.is_none() && self.waiting.is_empty())
    }
}

fn is_ready(fd: &OwnedFd, flags: PollFlags) -> bool {
    let mut sources = [PollFd::new(fd, flags)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut sources, Some(&now)).is_ok_and(|count| count > 0)
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}
