//! `loop exec`: the story of one run.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use api::{Enforcement, ExecReport, ExecRequest, LimitHit, Person, Problem, exit};
use broker::{Broker, Permit, Refusal};
use contract::Contract;
use ledger::Outcome;
use names::Span;
use policy::{Action, Authority, Exec};
use rustix::fs::Mode as FileMode;
use sandbox::protocol::Ending;
use sandbox::{
    Attendant, CommandRequest, Environment, ExecError, Finished, Layout, Limit, Signals, Streams,
};

use crate::approvals::attend::Attending;
use crate::policy_commands::{limit_texts, mode};
use crate::prepare::{Besides, Evidence, Prepared, Standing};
use crate::problem::{IntoProblem as _, OrProblem as _};
use crate::project::Project;
use crate::records::{self, ExecResult};
use crate::seal::{Contracted, Ended, Rested, Sealed};
use crate::session;
use crate::settings::Settings;
use crate::state::Event;
use crate::story;
use crate::unchecked;
use crate::verify::{self, Opinion, Reviewer, Round, Subject, Verifier, Witness};

/// Runs a command in a sandbox: prepare, confine, drive, seal.
///
/// # Errors
/// When the command never ran, or its evidence could not be kept.
pub(crate) fn exec(
    settings: &Settings,
    request: ExecRequest,
    person: &dyn Person,
) -> Result<ExecReport, Problem> {
    let signals = Signals::take().map_err(stream_problem)?;
    let project = settings.project(request.dir.as_deref())?;
    let Held { contract, own, untrusted } = Held::asked(settings, &project, &request)?;
    let reviewer = Reviewer::find(settings, contract.as_ref())?;
    // What a learning run may not be, nor one with a contract, it is told where it is prepared.
    if request.session.is_some() && !request.learn && contract.is_none() {
        return session::exec(settings, project, &request, &signals, person);
    }
    let streams = own_streams()?;
    let directory = project.directory.clone();
    let besides = Besides { contract: contract.as_ref(), ..Besides::default() };
    let prepared = Prepared::with(settings, project, &request, besides)?;
    is_still_wanted(&signals)?;
    let mut standing = prepared.confine(&settings.environment)?;
    let times = Times::of(&standing, contract.as_ref());
    let command = command(&standing, &request, directory, times.work)?;
    say_published(&standing.evidence.authority, person);
    say_held_to(own, &mut standing.evidence, person);
    standing.evidence.notes.extend(untrusted);
    let mut attending = attending(&standing, settings, person)?;
    let attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
    let (driven, standing) = drive(standing, &command, &streams, &signals, attendant);
    if let Ok(finished) = &driven {
        stopped(&standing.evidence, finished.limit, finished.interrupted)?;
    }
    let view = enforcement_view(&standing);
    let (rested, ended) = (standing.rest(), ended(&driven));
    let Some(contract) = &contract else {
        drop(attending);
        let sealed = rested.seal(settings, ended.clone())?;
        return Ok(report(&ended, killed(&driven?), sealed, view));
    };
    let reviewer = reviewer.as_ref();
    let checks =
        Checks { contract, reviewer, settings, streams: &streams, signals: &signals, person };
    let (rested, ended, checked) = checks.after(rested, ended, times.end, &mut attending);
    drop(attending);
    let sealed = rested.seal(settings, ended.clone())?;
    checked?;
    Ok(report(&ended, killed(&driven?), sealed, view))
}

/// Where nothing runs yet, whoever wants it ended is spared the beginning.
///
/// # Errors
/// When somebody does: then what was prepared goes away again.
pub(crate) fn is_still_wanted(signals: &Signals) -> Result<(), Problem> {
    if signals.want_an_end().map_err(stream_problem)? {
        return Err(Problem::new(exit::INTERRUPTED, "interrupted before anything ran"));
    }
    Ok(())
}

/// Takes note of what ended the work from outside: nothing begins any more.
///
/// # Errors
/// None, where something was at work.
pub(crate) fn stopped(
    evidence: &Evidence,
    limit: Option<Limit>,
    interrupted: bool,
) -> Result<(), Problem> {
    if limit.is_some() {
        evidence.step(Event::Limit)?;
    }
    if interrupted {
        evidence.step(Event::Cancel)?;
    }
    Ok(())
}

/// When the work of a run is to end, and when the run is: between the two its checks have time.
struct Times {
    work: Option<Duration>,
    end: Option<Instant>,
}

impl Times {
    fn of(standing: &Standing, contract: Option<&Contract>) -> Self {
        let wall = standing.evidence.authority.limits.wall.map(Span::as_duration);
        let aside = contract.and_then(|contract| contract.reserve.wall).map(Span::as_duration);
        let work = wall.map(|wall| wall.saturating_sub(aside.unwrap_or_default()));
        Self { work, end: wall.map(|wall| Instant::now() + wall) }
    }
}

/// What a command is held to. It has a contract only where one was asked for.
#[derive(Default)]
struct Held {
    contract: Option<Contract>,
    /// The project's own file, if it is from there.
    own: Option<PathBuf>,
    /// That the project's own does not count.
    untrusted: Option<String>,
}

impl Held {
    fn asked(
        settings: &Settings,
        project: &Project,
        request: &ExecRequest,
    ) -> Result<Self, Problem> {
        let (file, checks) = (request.contract.as_deref(), request.checks.as_slice());
        if file.is_none() && checks.is_empty() {
            return Ok(Self::default());
        }
        let found = crate::contract::of_request(settings, project, file, checks)?;
        let (contract, own) = found.map(|found| (found.contract, found.own)).unzip();
        let untrusted = crate::contract::not_counted(settings, project, file)?;
        Ok(Self { contract, own: own.flatten(), untrusted })
    }
}

/// The checks that follow a command.
struct Checks<'a> {
    contract: &'a Contract,
    reviewer: Option<&'a Reviewer>,
    settings: &'a Settings,
    streams: &'a Streams,
    signals: &'a Signals,
    person: &'a dyn Person,
}

impl Checks<'_> {
    /// Runs them, if the command ended well. What could not be done is told once the run is sealed.
    fn after(
        &self,
        mut rested: Rested,
        ended: Ended,
        deadline: Option<Instant>,
        attending: &mut Option<Attending<'_>>,
    ) -> (Rested, Ended, Result<(), Problem>) {
        let unchecked = Ended { contract: Contracted::Unchecked, ..ended };
        if unchecked.outcome != Outcome::Unverified {
            let exit = unchecked.exit.map(i32::from);
            rested.evidence.notes.extend(unchecked::why(unchecked.outcome, exit));
            return (rested, unchecked, Ok(()));
        }
        let attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
        match self.round(&rested, deadline, attendant) {
            Ok(round) => (rested, unchecked.after(round), Ok(())),
            Err(problem) => (rested, unchecked, Err(problem)),
        }
    }

    fn round(
        &self,
        rested: &Rested,
        deadline: Option<Instant>,
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Round, Problem> {
        let fresh = rested.fresh(self.settings, self.streams, self.signals, deadline);
        let (changes, contents) = verify::left(&rested.evidence)?;
        let subject = Subject { changes: &changes, contents: &contents };
        let mut say = |check: &api::CheckProgress| {
            // Whoever has closed their standard error is not told.
            let _ = io::stderr().write_all(self.person.checking(check).as_bytes());
        };
        let mut witness = Witness { say: &mut say, attendant };
        let verifier = Verifier::new(self.contract, fresh, Opinion::Of(self.reviewer));
        verifier.round(1, &subject, &mut witness)
    }
}

/// The standard streams of this process.
pub(crate) fn own_streams() -> Result<Streams, Problem> {
    let copy = |stream: BorrowedFd<'_>| stream.try_clone_to_owned().map_err(stream_problem);
    Ok(Streams {
        input: copy(io::stdin().as_fd())?,
        output: copy(io::stdout().as_fd())?,
        error: copy(io::stderr().as_fd())?,
    })
}

/// Says where the sandbox can be reached. Whoever has closed their standard error is not told.
pub(crate) fn say_published(authority: &Authority, person: &dyn Person) {
    let publish: Vec<_> = authority.publish.iter().map(publication).collect();
    if !publish.is_empty() {
        let _ = io::stderr().write_all(person.published(&publish).as_bytes());
    }
}

/// Says and notes that a run is held to the project's own contract, which nobody has named.
pub(crate) fn say_held_to(own: Option<PathBuf>, evidence: &mut Evidence, person: &dyn Person) {
    let Some(file) = own else { return };
    // Whoever has closed their standard error is not told.
    let _ = io::stderr().write_all(person.held_to(&file).as_bytes());
    evidence.notes.push(format!("it was held to {}, which you trust", file.display()));
}

fn publication(it: &policy::Publication) -> api::Publication {
    api::Publication { outside: it.outside, port: it.port }
}

/// Who asks the person while the command runs, if anything may have to be asked.
pub(crate) fn attending<'a>(
    standing: &Standing,
    settings: &Settings,
    person: &'a dyn Person,
) -> Result<Option<Attending<'a>>, Problem> {
    let approvals = standing.evidence.broker.approvals();
    let attending = approvals.map(|it| Attending::here(it, &settings.user, person));
    attending.transpose().map_err(stream_problem)
}

fn stream_problem(error: io::Error) -> Problem {
    ExecError::Streams(error).into_problem()
}

fn command(
    standing: &Standing,
    request: &ExecRequest,
    directory: PathBuf,
    wall: Option<Duration>,
) -> Result<CommandRequest, Problem> {
    let authority = &standing.evidence.authority;
    let layout = Layout::of(standing.evidence.run.directory.path());
    let disk = authority.limits.disk.map(|limit| (limit.0, written_to(authority, &layout)));
    if request.command.is_empty() {
        return Err(Problem::new(exit::USAGE, "no command was given"));
    }
    Ok(CommandRequest {
        args: request.command.clone(),
        environment: standing.environment.clone(),
        directory,
        umask: umask(),
        wall,
        output: authority.limits.output.map(|limit| limit.0),
        disk,
    })
}

/// Where what a run writes comes to lie.
pub(crate) fn written_to(authority: &Authority, layout: &Layout) -> Vec<PathBuf> {
    let changes = match authority.mode {
        policy::Mode::Direct => authority.project.clone(),
        policy::Mode::Overlay | policy::Mode::ReadOnly => layout.upper(),
    };
    vec![changes, layout.scratch()]
}

/// The mask of this process. It can only be read by setting it: umask(2).
pub(crate) fn umask() -> u32 {
    let mask = rustix::process::umask(FileMode::from_bits_truncate(0o077));
    rustix::process::umask(mask);
    mask.bits()
}

/// The action that a command is: its program as the search path resolves it.
pub(crate) fn action(args: &[OsString], environment: &Environment, directory: &Path) -> Exec {
    let mut args = args.iter();
    let name = args.next().map(OsString::as_os_str).unwrap_or_default();
    let args = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    program(name, environment.value("PATH"), directory, args)
}

/// Starting the program of this name, with the links on the way to its file.
pub(crate) fn program(
    name: &OsStr,
    path: Option<&OsStr>,
    directory: &Path,
    args: Vec<String>,
) -> Exec {
    let found = find_program(name, path, directory);
    let file = std::fs::canonicalize(&found).unwrap_or_else(|_| without_dots(&found));
    Exec { called: links(found, &file), ..Exec::new(file, args, directory) }
}

/// The paths that lead to `file` from `found` on, each by its last link.
fn links(found: PathBuf, file: &Path) -> Vec<PathBuf> {
    // What the kernel follows at most: path_resolution(7).
    const MOST: usize = 40;
    let next = |path: &PathBuf| {
        let target = std::fs::read_link(path).ok()?;
        Some(without_dots(&path.parent()?.join(target)))
    };
    let way = std::iter::successors(Some(without_dots(&found)), next);
    way.take(MOST).filter(|path| path != file).collect()
}

fn find_program(name: &OsStr, path: Option<&OsStr>, directory: &Path) -> PathBuf {
    let named = Path::new(name);
    let found = if named.components().count() > 1 {
        Some(directory.join(named))
    } else {
        std::env::split_paths(path.unwrap_or_default())
            .map(|place| place.join(named))
            .find(|file| file.is_file())
    };
    found.unwrap_or_else(|| directory.join(named))
}

/// The path of a program that is not there, or only inside, as it reads.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// A command that ran, or why it did not.
pub(crate) type Driven = Result<Finished, Problem>;

fn drive(
    mut standing: Standing,
    command: &CommandRequest,
    streams: &Streams,
    signals: &Signals,
    mut attendant: Option<&mut dyn Attendant>,
) -> (Driven, Standing) {
    let action = action(&command.args, &command.environment, &command.directory);
    let broker = &standing.evidence.broker;
    let driven = match permit(broker, action, streams, signals, &mut attendant) {
        Ok(permit) => {
            let finished = standing.sandbox.run(&permit, command, streams, signals, attendant);
            let result = result(&finished);
            let completed = standing.evidence.broker.complete(permit, &result).or_problem();
            finished.or_problem().and_then(|finished| completed.map(|()| finished))
        }
        Err(refusal) => Err(refusal.into_problem()),
    };
    (driven, standing)
}

/// The permit for the command itself. Where that has to be asked, another thread waits for the
/// answer, so that this one can ask.
pub(crate) fn permit(
    broker: &Broker,
    action: Exec,
    streams: &Streams,
    signals: &Signals,
    attendant: &mut Option<&mut dyn Attendant>,
) -> Result<Permit<Exec>, Refusal> {
    let asks = broker.authority().decide(&Action::from(action.clone())).outcome;
    let (policy::Outcome::Ask, Some(attendant)) = (asks, attendant) else {
        return broker.request(action);
    };
    let Ok((answered, waiting)) = UnixStream::pair() else { return broker.request(action) };
    std::thread::scope(|scope| {
        let requested = scope.spawn(move || {
            let decided = broker.request(action);
            drop(answered);
            decided
        });
        // Where the person can't be asked here, they are asked elsewhere, or the time runs out.
        let _ = sandbox::attend(*attendant, streams, signals, waiting.as_fd());
        match requested.join() {
            Ok(decided) => decided,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// What the ledger says of a command.
pub(crate) fn result(finished: &Result<Finished, ExecError>) -> ExecResult {
    let Ok(finished) = finished else {
        return ExecResult {
            exit: None,
            signal: None,
            limit: None,
            interrupted: false,
            printed: 0,
            took_ms: 0,
        };
    };
    let (exit, signal) = match finished.ending {
        Some(Ending::Exited(code)) => (Some(code), None),
        Some(Ending::Killed(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    ExecResult {
        exit,
        signal,
        limit: finished.limit.map(|limit| limit.key().to_owned()),
        interrupted: finished.interrupted,
        printed: finished.printed,
        took_ms: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
    }
}

/// What is claimed of a run, from its last command.
pub(crate) fn ended(driven: &Driven) -> Ended {
    match driven {
        Ok(finished) => Ended {
            outcome: outcome(finished),
            exit: Some(exit_code(finished)),
            limit: finished.limit,
            took: finished.took,
            printed: finished.printed,
            agent: None,
            contract: Contracted::None,
            left: None,
        },
        Err(problem) => Ended {
            outcome: Outcome::Failed,
            exit: Some(problem.code),
            limit: None,
            took: Duration::ZERO,
            printed: 0,
            agent: None,
            contract: Contracted::None,
            left: None,
        },
    }
}

fn outcome(finished: &Finished) -> Outcome {
    match finished {
        Finished { limit: Some(_), .. } | Finished { interrupted: true, .. } => Outcome::Stopped,
        Finished { ending: Some(Ending::Exited(0)), .. } => Outcome::Unverified,
        Finished { ending: Some(Ending::Exited(_)), .. } => Outcome::Failed,
        _ => Outcome::Stopped,
    }
}

/// The exit code that Loop gives for a command.
pub(crate) fn exit_code(finished: &Finished) -> u8 {
    const KILLED: u8 = 128 + 9;
    match (finished.limit, finished.interrupted, finished.ending) {
        (Some(Limit::Wall), ..) => exit::TIMEOUT,
        (Some(_), ..) => KILLED,
        (None, true, _) => exit::INTERRUPTED,
        (None, false, Some(Ending::Exited(code))) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, false, Some(Ending::Killed(signal))) => {
            u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128))
        }
        (None, false, None) => exit::UNSAFE,
    }
}

/// The limit that ended a run, for the person.
pub(crate) fn limit_hit(limit: Limit, authority: &Authority) -> LimitHit {
    let allowed = limit_texts(&authority.limits).remove(limit.key()).unwrap_or_default();
    LimitHit { limit: limit.key().to_owned(), allowed, origin: None }
}

pub(crate) fn enforcement_view(standing: &Standing) -> Enforcement {
    story::enforcement(&standing.enforcement, &standing.evidence.authority, standing.uid)
}

/// The signal that ended a command, by number.
fn killed(finished: &Finished) -> Option<i32> {
    match finished.ending {
        Some(Ending::Killed(signal)) => Some(signal),
        _ => None,
    }
}

/// What a client is told of a run that was sealed.
pub(crate) fn report(
    ended: &Ended,
    signal: Option<i32>,
    sealed: Sealed,
    enforcement: Enforcement,
) -> ExecReport {
    ExecReport {
        schema: 1,
        run: sealed.run,
        session: None,
        exit_code: sealed.exit.unwrap_or(exit::UNSAFE),
        signal,
        outcome: records::outcome(sealed.outcome),
        limit: ended.limit.map(|limit| limit_hit(limit, &sealed.authority)),
        duration_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
        mode: mode(sealed.authority.mode),
        changes: Some(sealed.changes),
        denials: sealed.denials,
        learned: sealed.learned,
        verification: sealed.verification,
        ignored_project_keys: sealed.ignored,
        receipt: Some(sealed.receipt),
        directory: sealed.directory,
        enforcement,
        notes: sealed.notes,
    }
}
