//! The process that keeps a warm sandbox: one thread, one poll loop, one run.
//!
//! It decides and records every command, passes the exec protocol on between whoever asked and the
//! sandbox's init, watches the limits, and seals the run when it is told to, when a limit is
//! reached, or when nobody has asked for anything for a long time.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use api::{ExecRequest, Problem, StopReport};
use broker::{Context, Permit, Refusal};
use ledger::Outcome;
use policy::{Action, Exec};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::Signal;
use sandbox::protocol::{Channel, Ending, Order, Report, WatchedLimit};
use sandbox::{Layout, Limit, Seat};

use crate::exec::{enforcement_view, written_to};
use crate::policy_commands::mode;
use crate::prepare::{Prepared, Standing};
use crate::problem::{IntoProblem as _, OrProblem as _};
use crate::project::Project;
use crate::records::{self, ExecResult};
use crate::seal::{Contracted, Ended, seal};
use crate::session::{Answer, Ask, Welcome, address};
use crate::settings::Settings;
use crate::state::Event;
use crate::store::{RunDirectory, at, write_atomically};

/// How often limits are looked at.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a sandbox stays warm when nobody uses it.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How many may ask at once; more wait in the socket's queue.
const GUESTS: usize = 64;

/// Prepares and confines a run, says that it is ready, and serves until its end.
///
/// # Errors
/// Before it is ready: what is missing. Afterwards: that the run could not be sealed.
pub(crate) fn keep(
    settings: &Settings,
    project: Project,
    request: &ExecRequest,
    file: &Path,
    ready: impl FnOnce(),
) -> Result<(), Problem> {
    let standing = Prepared::new(settings, project, request)?.confine(&settings.environment)?;
    let run = standing.evidence.run.directory.clone();
    let listener = listen(&run).map_err(at(&run.socket())).or_problem()?;
    write_atomically(file, run.id.as_str().as_bytes()).or_problem()?;
    let mut keeper = Keeper::new(standing, listener, request, &settings.user)?;
    ready();
    let end = keeper.serve();
    // Nobody finds it any more; a new session of that name may begin.
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_file(run.socket());
    keeper.seal(settings, end)
}

fn listen(run: &RunDirectory) -> io::Result<OwnedFd> {
    let (_directory, address) = address(run)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 16)?;
    Ok(socket)
}

/// Somebody who runs a command.
struct Guest {
    channel: Channel,
    permit: Option<Permit<Exec>>,
    /// Set to false when the answer to what it asked is of no more use.
    asking: Option<Arc<AtomicBool>>,
    running: bool,
    ended: Option<Ending>,
    since: Instant,
}

/// Why a session ends.
enum End {
    /// Somebody waits for the report.
    Asked(Channel),
    Limit(Limit),
    /// A person who was asked wanted it.
    Stopped,
    /// Nobody used it, or the system ends.
    Unused,
    /// The sandbox is gone.
    Lost,
}

struct Keeper {
    standing: Standing,
    listener: OwnedFd,
    signals: sys::signal::SignalFd,
    welcome: Welcome,
    session: String,
    guests: BTreeMap<u32, Guest>,
    decisions: Decisions,
    next: u32,
    commands: u64,
    last: Option<ExecResult>,
    disk: Option<sandbox::DiskWatch>,
    used: Instant,
}

impl Keeper {
    fn new(
        standing: Standing,
        listener: OwnedFd,
        request: &ExecRequest,
        user: &str,
    ) -> Result<Self, Problem> {
        let evidence = &standing.evidence;
        let layout = Layout::of(evidence.run.directory.path());
        let disk = evidence.authority.limits.disk.map(|limit| {
            sandbox::DiskWatch::new(written_to(&evidence.authority, &layout), limit.0)
        });
        let disk = disk.transpose().map_err(at(&layout.upper())).or_problem()?;
        let signals = sys::signal::SignalFd::block(&[Signal::TERM, Signal::INT, Signal::HUP])
            .map_err(at(Path::new("signalfd")))
            .or_problem()?;
        let welcome = Welcome {
            run: evidence.run.directory.id.clone(),
            intent: 0,
            user: user.to_owned(),
            enforcement: enforcement_view(&standing),
            ignored: evidence.ignored.clone(),
            notes: evidence.notes.clone(),
            withheld: evidence.lending.withheld().clone(),
        };
        Ok(Self {
            listener,
            signals,
            welcome,
            session: request.session.clone().unwrap_or_default(),
            guests: BTreeMap::new(),
            decisions: Decisions::new().map_err(at(Path::new("socket pair"))).or_problem()?,
            next: 1,
            commands: 0,
            last: None,
            disk,
            used: Instant::now(),
            standing,
        })
    }

    fn serve(&mut self) -> End {
        loop {
            let Ok(ready) = self.wait() else { return End::Lost };
            let mut end = None;
            if ready.sandbox {
                end = self.hear_sandbox();
            }
            for guest in ready.guests {
                end = end.or_else(|| self.hear_guest(guest));
            }
            if ready.listener {
                self.let_in();
            }
            for (guest, decided) in self.decisions.made() {
                self.answer(guest, decided);
            }
            let told = self.signals.next().ok().flatten().map(|_| End::Unused);
            if let Some(end) = end.or(told).or_else(|| self.look()) {
                return end;
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let fixed = [self.listener.as_fd(), self.standing.sandbox.channel().as_fd()];
        let mut sources: Vec<_> = fixed
            .into_iter()
            .chain([self.signals.as_fd(), self.decisions.news()])
            .chain(self.guests.values().map(|guest| guest.channel.as_fd()))
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match rustix::event::poll(&mut sources, Some(&TICK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = sources.iter().map(|source| !source.revents().is_empty());
        let listener = ready.next().unwrap_or(false);
        let sandbox = ready.next().unwrap_or(false);
        let guests = self.guests.keys().zip(ready.skip(2)).filter(|(_, ready)| *ready);
        Ok(Ready { listener, sandbox, guests: guests.map(|(id, _)| *id).collect() })
    }

    fn let_in(&mut self) {
        if self.guests.len() >= GUESTS {
            return;
        }
        // Whoever gave up meanwhile is no guest.
        if let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC) {
            let channel = Channel::over(socket);
            let guest = Guest {
                channel,
                permit: None,
                asking: None,
                running: false,
                ended: None,
                since: Instant::now(),
            };
            self.guests.insert(self.next, guest);
            self.next = self.next.wrapping_add(1).max(1);
            self.used = Instant::now();
        }
    }

    fn hear_guest(&mut self, id: u32) -> Option<End> {
        let guest = self.guests.get(&id)?;
        if guest.permit.is_some() && guest.ended.is_none() {
            self.pass_order_on(id);
            return None;
        }
        match guest.channel.receive::<Ask>() {
            // Whoever waits for an answer has nothing to say.
            Ok(_) if guest.asking.is_some() => self.leave(id),
            Ok((Ask::Run(act), _)) => self.decide(id, *act),
            Ok((Ask::Done(result), _)) => self.complete(id, result),
            Ok((Ask::Stop, _)) => {
                return self.guests.remove(&id).map(|guest| End::Asked(guest.channel));
            }
            Err(_) => self.leave(id),
        }
        None
    }

    fn decide(&mut self, id: u32, act: Exec) {
        let broker = &self.standing.evidence.broker;
        let verdict = broker.authority().decide(&Action::from(act.clone()));
        if verdict.outcome != policy::Outcome::Ask {
            let decided = broker.request(act);
            return self.answer(id, decided);
        }
        // A person takes their time; everybody else goes on.
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.asking = Some(self.decisions.ask(id, broker.clone(), act));
        }
    }

    fn answer(&mut self, id: u32, decided: Result<Permit<Exec>, Refusal>) {
        let Some(guest) = self.guests.get_mut(&id) else {
            return self.give_back(decided);
        };
        guest.asking = None;
        let answer = match decided {
            Ok(permit) => {
                let intent = permit.record().seq;
                guest.permit = Some(permit);
                guest.since = Instant::now();
                let welcome = Welcome { intent, ..self.welcome.clone() };
                self.welcome.notes.clear(); // told once
                Answer::Permitted(Box::new(welcome))
            }
            Err(refusal) => Answer::Refused(Box::new(refusal.into_problem())),
        };
        // A guest that is gone is noticed at its end.
        let _ = guest.channel.send(&answer, &[]);
    }

    /// What was allowed to somebody who is gone does not happen.
    fn give_back(&self, decided: Result<Permit<Exec>, Refusal>) {
        if let Ok(permit) = decided {
            let nothing = ExecResult {
                exit: None,
                signal: None,
                limit: None,
                interrupted: true,
                printed: 0,
                took_ms: 0,
            };
            // A ledger that fails refuses the next command.
            let _ = self.standing.evidence.broker.complete(permit, &nothing);
        }
    }

    fn pass_order_on(&mut self, id: u32) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        let order = match guest.channel.next_order() {
            Ok((Order::Start(command), descriptors)) if !guest.running => {
                guest.running = true;
                // What was decided here, the gate need not ask about again.
                guest.permit.iter().for_each(|permit| self.standing.sandbox.announce(permit));
                Some((Order::Start(sandbox::protocol::Command { id, ..command }), descriptors))
            }
            Ok((Order::Signal { signal, .. }, _)) => {
                Some((Order::Signal { command: id, signal }, Vec::new()))
            }
            _ => None,
        };
        let Some((order, descriptors)) = order else { return self.leave(id) };
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        // A sandbox that is gone is noticed at its socket.
        let _ = self.standing.sandbox.channel().order(&order, &descriptors);
    }

    /// A guest that goes takes its command along.
    fn leave(&mut self, id: u32) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        if let Some(asking) = &guest.asking {
            asking.store(false, Ordering::SeqCst);
        }
        if guest.running && guest.ended.is_none() {
            let kill = Order::Signal { command: id, signal: Signal::KILL.as_raw() };
            let _ = self.standing.sandbox.channel().order(&kill, &[]);
        }
        let result = guest.result();
        self.complete(id, result);
    }

    fn complete(&mut self, id: u32, result: ExecResult) {
        let Some(permit) = self.guests.remove(&id).and_then(|guest| guest.permit) else { return };
        // A ledger that fails refuses the next command.
        let _ = self.standing.evidence.broker.complete(permit, &result);
        self.commands += 1;
        self.last = Some(result);
        self.used = Instant::now();
    }

    fn hear_sandbox(&mut self) -> Option<End> {
        let Ok((report, descriptors)) = self.standing.sandbox.channel().next_report() else {
            return Some(End::Lost);
        };
        let (id, ending) = match &report {
            Report::Started { command } => (*command, None),
            Report::NotStarted { command, .. } => (*command, Some(Ending::Exited(127))),
            Report::Ended { command, ending } => (*command, Some(*ending)),
            Report::LimitReached(limit) => return Some(End::Limit(watched(*limit))),
            Report::Confined(_) | Report::Failed(_) => return Some(End::Lost),
        };
        if let Some(guest) = self.guests.get_mut(&id) {
            // Ordered for this command alone.
            guest.permit.iter().for_each(|permit| {
                self.standing.sandbox.answered(permit.record().seq);
            });
            guest.ended = ending;
            let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
            // A guest that is gone is noticed at its end.
            let _ = guest.channel.report(&report, &descriptors);
        }
        None
    }

    fn look(&mut self) -> Option<End> {
        let disk = self.disk.as_mut().is_some_and(sandbox::DiskWatch::reached);
        let limit = disk.then_some(Limit::Disk).or_else(|| self.standing.sandbox.limit_reached());
        if !self.standing.evidence.run.directory.path().exists() {
            return Some(End::Lost); // its evidence is gone, and with it its reason to be
        }
        let approvals = self.standing.evidence.broker.approvals();
        if approvals.is_some_and(broker::Approvals::wants_stop) {
            return Some(End::Stopped);
        }
        let unused = self.guests.is_empty() && self.used.elapsed() > IDLE;
        limit.map(End::Limit).or_else(|| unused.then_some(End::Unused))
    }

    fn seal(mut self, settings: &Settings, end: End) -> Result<(), Problem> {
        if let End::Limit(limit) = &end {
            self.tell_limit(*limit);
        }
        if matches!(end, End::Stopped) {
            self.standing.evidence.step(Event::Cancel)?;
            self.tell_stopped();
        }
        // Whoever waits for a person is told that there will be no answer.
        self.decisions.finish(self.standing.evidence.broker.approvals());
        for (guest, decided) in self.decisions.made() {
            self.answer(guest, decided);
        }
        for id in self.guests.keys().copied().collect::<Vec<_>>() {
            self.leave(id);
        }
        let ended = self.ended(&end);
        let sealed = seal(settings, self.standing, ended);
        let End::Asked(channel) = end else { return sealed.map(drop) };
        let answer = match sealed {
            Ok(sealed) => Answer::Stopped(Box::new(StopReport {
                session: self.session,
                run: sealed.run,
                commands: self.commands,
                mode: mode(sealed.authority.mode),
                changes: sealed.changes,
                denials: sealed.denials,
                receipt: sealed.receipt,
                outcome: records::outcome(sealed.outcome),
            })),
            Err(problem) => Answer::Refused(Box::new(problem)),
        };
        channel.send(&answer, &[]).map_err(at(Path::new("session"))).or_problem()
    }

    fn tell_limit(&self, limit: Limit) {
        let watched = match limit {
            Limit::Memory => WatchedLimit::Memory,
            Limit::Processes => WatchedLimit::Processes,
            Limit::Disk | Limit::Output | Limit::Wall => return,
        };
        for guest in self.guests.values().filter(|guest| guest.running) {
            let _ = guest.channel.report(&Report::LimitReached(watched), &[]);
        }
    }

    fn tell_stopped(&self) {
        let ending = Ending::Killed(Signal::KILL.as_raw());
        for guest in self.guests.values().filter(|guest| guest.running) {
            // A guest that is gone needs no telling.
            let _ = guest.channel.report(&Report::Ended { command: 0, ending }, &[]);
        }
    }

    fn ended(&self, end: &End) -> Ended {
        let limit = match end {
            End::Limit(limit) => Some(*limit),
            End::Asked(_) | End::Stopped | End::Unused | End::Lost => None,
        };
        let outcome = match (end, &self.last) {
            (End::Limit(_) | End::Stopped, _) => Outcome::Stopped,
            (End::Lost, _) => Outcome::Failed,
            (_, Some(ExecResult { exit: Some(0), .. }) | None) => Outcome::Unverified,
            _ => Outcome::Failed,
        };
        let exit = self.last.as_ref().and_then(|last| last.exit);
        Ended {
            outcome,
            exit: exit.and_then(|code| u8::try_from(code).ok()),
            limit,
            took: Duration::from_millis(self.last.as_ref().map_or(0, |last| last.took_ms)),
            printed: self.last.as_ref().map_or(0, |last| last.printed),
            agent: None,
            contract: Contracted::None,
            left: None,
        }
    }
}

/// Decisions that a person has to make, each on a thread of its own until then.
struct Decisions {
    made: Receiver<(u32, Result<Permit<Exec>, Refusal>)>,
    make: SyncSender<(u32, Result<Permit<Exec>, Refusal>)>,
    /// Readable when one was made, and its other side.
    news: (UnixStream, Arc<UnixStream>),
    threads: Vec<JoinHandle<()>>,
}

impl Decisions {
    fn new() -> io::Result<Self> {
        let (make, made) = sync_channel(GUESTS);
        let (news, wake) = UnixStream::pair()?;
        news.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        Ok(Self { made, make, news: (news, Arc::new(wake)), threads: Vec::new() })
    }

    fn news(&self) -> BorrowedFd<'_> {
        self.news.0.as_fd()
    }

    /// Has it decided whether `guest` may run this. The value tells whether that is still wanted.
    fn ask(&mut self, guest: u32, broker: broker::Broker, act: Exec) -> Arc<AtomicBool> {
        let wanted = Arc::new(AtomicBool::new(true));
        let (still, make, wake) =
            (Arc::clone(&wanted), self.make.clone(), Arc::clone(&self.news.1));
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(std::thread::spawn(move || {
            let still = || still.load(Ordering::SeqCst);
            let decided = broker.request_while(act, Context::default(), &still);
            // There is room for every guest; who has ended the session has no more use for it.
            let _ = make.try_send((guest, decided));
            let _ = io::Write::write(&mut &*wake, b"!");
        }));
        wanted
    }

    fn made(&mut self) -> Vec<(u32, Result<Permit<Exec>, Refusal>)> {
        let mut buffer = [0; GUESTS];
        // Nothing to read is the usual case.
        let _ = io::Read::read(&mut &self.news.0, &mut buffer);
        self.made.try_iter().collect()
    }

    /// Nothing is decided any more when this returns.
    fn finish(&mut self, approvals: Option<&broker::Approvals>) {
        if let Some(approvals) = approvals {
            approvals.stop();
        }
        for thread in self.threads.drain(..) {
            // One that panicked has decided nothing.
            let _ = thread.join();
        }
    }
}

impl Guest {
    /// What is known of a command whose guest did not say.
    fn result(&self) -> ExecResult {
        let (exit, signal) = match self.ended {
            Some(Ending::Exited(code)) => (Some(code), None),
            Some(Ending::Killed(signal)) => (None, Some(signal)),
            None => (None, Some(Signal::KILL.as_raw())),
        };
        ExecResult {
            exit,
            signal,
            limit: None,
            interrupted: self.ended.is_none(),
            printed: 0,
            took_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn watched(limit: WatchedLimit) -> Limit {
    match limit {
        WatchedLimit::Memory => Limit::Memory,
        WatchedLimit::Processes => Limit::Processes,
    }
}

struct Ready {
    listener: bool,
    sandbox: bool,
    guests: Vec<u32>,
}
