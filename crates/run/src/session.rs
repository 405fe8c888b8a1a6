//! Warm sandboxes: `loop exec --session NAME` and `loop stop NAME`.
//!
//! A [keeper](crate::keeper) process holds the sandbox, its ledger and its permits. Whoever runs a
//! command connects to it, asks, and then speaks the exec protocol through it; the command's bytes
//! go between the sandbox and the asking process and never touch the keeper.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::{
    Enforcement, ExecReport, ExecRequest, IgnoredKey, Person, Problem, StopReport, StopRequest,
    exit,
};
use ledger::kind;
use names::{Digest, RunId, SessionName, Span};
use policy::{Authority, Exec, Flags, Layer, LayerDigest};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FlockOperation;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sandbox::protocol::{Channel, Order};
use sandbox::{Attendant, CommandRequest, Environment, Limit, Seat, Signals, Streams, run_at};
use serde::{Deserialize, Serialize};

use crate::approvals::attend::Attending;
use crate::authority::resolve;
use crate::exec::{action, exit_code, limit_hit, own_streams, result, say_published, umask};
use crate::keeper;
use crate::lease::Withheld;
use crate::network::{self, Network};
use crate::policy_commands::mode as mode_view;
use crate::prepare::{mode, publications};
use crate::preset;
use crate::problem::OrProblem as _;
use crate::project::Project;
use crate::records::{self, ExecResult};
use crate::settings::Settings;
use crate::store::{RunDirectory, Store, StoreError, at, open_regular, private};
use crate::story;

/// What a process asks of a keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// May this run? The answer is [`Answer::Permitted`] or [`Answer::Refused`].
    Run(Box<Exec>),
    /// It ran, and this is what came of it.
    Done(ExecResult),
    /// End the sandbox and seal its run.
    Stop,
}

/// What a keeper answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The exec protocol may begin.
    Permitted(Box<Welcome>),
    /// It may not, or could not be recorded.
    Refused(Box<Problem>),
    /// The run is sealed.
    Stopped(Box<StopReport>),
}

/// What the asking process needs to know of the sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) run: RunId,
    /// The number of the record of the command that may run.
    pub(crate) intent: u64,
    pub(crate) user: String,
    pub(crate) enforcement: Enforcement,
    pub(crate) ignored: Vec<IgnoredKey>,
    pub(crate) notes: Vec<String>,
    /// How the environment of commands differs for leases.
    pub(crate) withheld: Withheld,
}

/// Runs a command in the warm sandbox of that name, starting it when there is none.
///
/// # Errors
/// When the sandbox can't be reached or started, or the command never ran.
pub(crate) fn exec(
    settings: &Settings,
    project: Project,
    request: &ExecRequest,
    signals: &Signals,
    person: &dyn Person,
) -> Result<ExecReport, Problem> {
    let session = Session::named(settings, request.session.as_deref(), &project.root)?;
    let (run, channel) = session.connect_or_start(settings, &project, request)?;
    // Not before: a keeper that is started here must not hold on to copies of our streams.
    let streams = own_streams()?;
    let authority = authority_of(&run)?;
    refuse_other_authority(settings, &project, &authority, request)?;
    if !request.publish.is_empty() {
        say_published(&authority, person);
    }
    let directory = project.directory;
    let mut seat = Warm { channel };
    let mut command = command(settings, &authority, request, directory)?;
    let asked = action(&command.args, &command.environment, &command.directory);
    let recorded = recorded(&run)?;
    let attending = authority.may_ask().then(|| Attending::there(&run, person));
    let mut attending = attending.transpose().map_err(lost)?;
    let mut attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
    let welcome = seat.ask(Ask::Run(Box::new(asked)), &streams, signals, &mut attendant)?;
    welcome.withheld.apply(&mut command.environment);
    let ran = run_at(&mut seat, &command, &streams, signals, attendant);
    // Somebody who was asked ended the session.
    let stopped = attending.as_ref().is_some_and(Attendant::wants_stop);
    drop(attending);
    // A keeper that is gone has recorded that the outcome is unknown.
    let _ = seat.channel.send(&Ask::Done(result(&ran)), &[]);
    let finished = ran.or_problem()?;
    Ok(ExecReport {
        schema: 1,
        run: run.id.clone(),
        session: request.session.clone().filter(|_| !stopped),
        exit_code: exit_code(&finished),
        signal: result(&Ok(finished.clone())).signal,
        outcome: records::outcome(ledger::Outcome::Unverified),
        limit: finished.limit.map(|limit| limit_hit(limit, &authority)),
        duration_ms: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
        mode: mode_view(authority.mode),
        changes: None,
        denials: denials_since(&run, recorded, welcome.intent, &authority)?,
        learned: None,
        verification: None,
        ignored_project_keys: welcome.ignored,
        receipt: None,
        directory: run.path().to_owned(),
        enforcement: welcome.enforcement,
        notes: welcome.notes,
    })
}

/// Ends a warm sandbox and seals its run.
///
/// # Errors
/// When there is no such session, or its run could not be sealed.
pub(crate) fn stop(settings: &Settings, request: StopRequest) -> Result<StopReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let session = Session::named(settings, Some(&request.session), &project.root)?;
    let Some((_, channel)) = session.connect(settings)? else {
        return Err(Problem::new(exit::NOT_FOUND, format!("no session {} here", request.session))
            .with_next("`loop runs` lists what ran in this project"));
    };
    channel.send(&Ask::Stop, &[]).map_err(lost)?;
    match channel.receive().map_err(lost)?.0 {
        Answer::Stopped(report) => Ok(*report),
        Answer::Refused(problem) => Err(*problem),
        Answer::Permitted(_) => Err(lost(io::ErrorKind::InvalidData.into())),
    }
}

fn lost(error: io::Error) -> Problem {
    Problem::new(exit::UNSAFE, format!("the session's keeper does not answer: {error}"))
        .with_next("run the command again to start a new session")
}

/// The seat of a command in a warm sandbox: its keeper.
struct Warm {
    channel: Channel,
}

impl Warm {
    /// Asks for a command. Until the keeper answers, the person may have to.
    fn ask(
        &mut self,
        ask: Ask,
        streams: &Streams,
        signals: &Signals,
        attendant: &mut Option<&mut dyn Attendant>,
    ) -> Result<Welcome, Problem> {
        self.channel.send(&ask, &[]).map_err(lost)?;
        if let Some(attendant) = attendant
            && !sandbox::attend(*attendant, streams, signals, self.channel.as_fd()).map_err(lost)?
            && !self.answers_soon().map_err(lost)?
        {
            return Err(Problem::new(exit::INTERRUPTED, "interrupted before it was allowed"));
        }
        match self.channel.receive().map_err(lost)?.0 {
            Answer::Permitted(welcome) => Ok(*welcome),
            Answer::Refused(problem) => Err(*problem),
            Answer::Stopped(_) => Err(lost(io::ErrorKind::InvalidData.into())),
        }
    }
}

impl Warm {
    /// Whether the keeper has an answer in a moment: when the run is to end, it says so to whoever
    /// asks a person before it says so here.
    fn answers_soon(&self) -> io::Result<bool> {
        const MOMENT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
        let mut channel = [PollFd::from_borrowed_fd(self.channel.as_fd(), PollFlags::IN)];
        loop {
            match rustix::event::poll(&mut channel, Some(&MOMENT)) {
                Err(rustix::io::Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
    }
}

impl Seat for Warm {
    fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The keeper looks itself.
    fn limit_reached(&self) -> Option<Limit> {
        None
    }

    /// The keeper hears it first.
    fn answered(&mut self) {}

    /// Ends this command; the sandbox and what else runs in it stay.
    fn end(&mut self) {
        let kill = Order::Signal { command: 0, signal: rustix::process::Signal::KILL.as_raw() };
        if self.channel.order(&kill, &[]).is_ok() {
            // Its end, or that of the keeper.
            let _ = self.channel.next_report();
        }
    }
}

/// A name for a warm sandbox of one project.
pub(crate) struct Session {
    directory: PathBuf,
    key: String,
}

impl Session {
    fn named(settings: &Settings, name: Option<&str>, project: &Path) -> Result<Self, Problem> {
        let name = SessionName::parse(name.unwrap_or_default()).or_problem()?;
        let project = Digest::of(project.as_os_str().as_encoded_bytes()).hex();
        let directory = settings.homes.state.join("session");
        private(&directory).or_problem()?;
        let project = project.get(..16).unwrap_or_default();
        Ok(Self { directory, key: format!("{project}-{}", name.as_str()) })
    }

    /// The file that names the run.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join(&self.key)
    }

    fn connect_or_start(
        &self,
        settings: &Settings,
        project: &Project,
        request: &ExecRequest,
    ) -> Result<(RunDirectory, Channel), Problem> {
        if let Some(found) = self.connect(settings)? {
            return Ok(found);
        }
        let starting = self.lock().or_problem()?;
        // Another process may have started it meanwhile.
        if let Some(found) = self.connect(settings)? {
            return Ok(found);
        }
        start_keeper(settings, project.clone(), request, &self.file(), starting)?;
        self.connect(settings)?.ok_or_else(|| lost(io::ErrorKind::NotConnected.into()))
    }

    fn connect(&self, settings: &Settings) -> Result<Option<(RunDirectory, Channel)>, Problem> {
        let Ok(run) = fs::read_to_string(self.file()) else { return Ok(None) };
        let Ok(run) = Store::new(settings.runs()).find(Some(run.trim()), &self.directory) else {
            return Ok(None);
        };
        Ok(connect(&run).ok().map(|socket| (run, Channel::over(socket))))
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.directory.join(format!("{}.lock", self.key));
        let open = File::options().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(at(&path))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| at(&path)(error.into()))?;
        Ok(file)
    }
}

/// A socket's name is at most 107 bytes long, so it is reached through its directory: unix(7).
pub(crate) fn address(run: &RunDirectory) -> io::Result<(File, SocketAddrUnix)> {
    let directory = File::open(run.path())?;
    let name = run.socket().file_name().unwrap_or_default().to_owned();
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((directory, SocketAddrUnix::new(path)?))
}

fn connect(run: &RunDirectory) -> io::Result<OwnedFd> {
    let (_directory, address) = address(run)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

/// Starts the keeper as a process of its own that outlives this one, and waits until it is ready
/// or says why it is not. `starting` is held until then, and not by the keeper.
fn start_keeper(
    settings: &Settings,
    project: Project,
    request: &ExecRequest,
    file: &Path,
    starting: File,
) -> Result<(), Problem> {
    use sys::process::{Fork, exit_now, fork};
    let cannot = |error: io::Error| Problem::new(exit::UNSAFE, format!("start a session: {error}"));
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| cannot(error.into()))?;
    if let Fork::Parent(child) = fork().map_err(cannot)? {
        drop(theirs);
        // The child ends at once; the keeper is its child.
        let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
        return read_readiness(ours);
    }
    drop((ours, starting));
    let detached = rustix::process::setsid().map_err(io::Error::from).and_then(|_| fork());
    if !matches!(detached, Ok(Fork::Child)) {
        exit_now(0);
    }
    let kept = leave_streams().map_err(cannot).and_then(|()| {
        keeper::keep(settings, project, request, file, || tell_ready(&theirs, None))
    });
    if let Err(problem) = kept {
        tell_ready(&theirs, Some(&problem));
    }
    exit_now(0)
}

/// The keeper holds nothing of the terminal or the pipes of whoever started it.
fn leave_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

fn tell_ready(to: &OwnedFd, problem: Option<&Problem>) {
    let Ok(mut file) = to.as_fd().try_clone_to_owned().map(File::from) else { return };
    // Whoever waited may be gone; the session is there all the same.
    let _ = serde_json::to_writer(&mut file, &problem).map(|()| file.write_all(b"\n"));
}

fn read_readiness(from: OwnedFd) -> Result<(), Problem> {
    let mut line = String::new();
    let mut reader = io::BufReader::new(File::from(from));
    io::BufRead::read_line(&mut reader, &mut line).map_err(lost)?;
    match serde_json::from_str::<Option<Problem>>(&line) {
        Ok(None) => Ok(()),
        Ok(Some(problem)) => Err(problem),
        Err(_) => Err(lost(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The frozen authority of a run.
pub(crate) fn authority_of(run: &RunDirectory) -> Result<Authority, Problem> {
    const LARGEST: u64 = 64 << 20;
    let path = run.authority();
    let mut bytes = Vec::new();
    let read = open_regular(&path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(at(&path)).or_problem()?;
    names::canonical::parse(&bytes)
        .map_err(|error| StoreError::Malformed { path, problem: error.to_string() })
        .or_problem()
}

/// A session has one authority; a command can't ask for another.
fn refuse_other_authority(
    settings: &Settings,
    project: &Project,
    authority: &Authority,
    request: &ExecRequest,
) -> Result<(), Problem> {
    let mode = request.mode.map(mode);
    let agent = request.agent.map(|agent| preset::name(agent).to_owned());
    let same_profile = match request.profile.as_deref().or(agent.as_deref()) {
        Some(profile) => {
            let flags = Flags { agent: agent.clone(), ..Flags::default() };
            let asked = resolve(settings, project, Some(profile), flags)?;
            asked.authority.profile == authority.profile
                && layers_of_files(&asked.authority).eq(layers_of_files(authority))
        }
        None => true,
    };
    let lent = |name: &String| authority.leases.iter().any(|lease| lease.name == *name);
    refuse_to_publish_later(authority, request)?;
    let same_mode = mode.is_none_or(|mode| mode == authority.mode);
    if same_profile && same_mode && request.leases.iter().all(lent) {
        return Ok(());
    }
    let what = format!("this session runs under another authority: profile {}", authority.profile);
    Err(Problem::new(exit::UNSAFE, what)
        .with_next("stop it with `loop stop`, or give the new one another name"))
}

/// The ports of a session are published when it starts: its authority is frozen.
fn refuse_to_publish_later(authority: &Authority, request: &ExecRequest) -> Result<(), Problem> {
    let asked = publications(&request.publish)?;
    let Some(other) = asked.iter().find(|it| !authority.publish.contains(it)) else {
        return Ok(());
    };
    let what = format!("this session has started without publishing port {}", other.port);
    Err(Problem::new(exit::UNSAFE, what)
        .with_next("stop it with `loop stop`, and start it with --publish"))
}

fn layers_of_files(authority: &Authority) -> impl Iterator<Item = &LayerDigest> {
    authority.layers.iter().filter(|layer| layer.layer != Layer::Flags)
}

fn command(
    settings: &Settings,
    authority: &Authority,
    request: &ExecRequest,
    directory: PathBuf,
) -> Result<CommandRequest, Problem> {
    let asked = request.timeout.as_deref().map(Span::parse).transpose().or_problem()?;
    let wall = [asked, authority.limits.wall].into_iter().flatten().map(Span::as_millis).min();
    Ok(CommandRequest {
        args: request.command.clone(),
        environment: environment(settings, authority, request),
        directory,
        umask: umask(),
        wall: wall.map(Duration::from_millis),
        output: authority.limits.output.map(|limit| limit.0),
        disk: None,
    })
}

fn environment(settings: &Settings, authority: &Authority, request: &ExecRequest) -> Environment {
    let root = rustix::process::geteuid().is_root();
    let user = sandbox::user_inside(root, &settings.user);
    let home =
        fs::canonicalize(&settings.homes.home).unwrap_or_else(|_| settings.homes.home.clone());
    let mut environment =
        sandbox::environment(&authority.environment, &home, user, &settings.environment);
    for (name, value) in &request.environment {
        environment.set(name, value);
    }
    if network::is_wanted(authority) {
        Network::tell(&mut environment);
    }
    environment
}

/// A file from this byte on.
fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map(|_| bytes)
}

/// How long the ledger is, in bytes.
fn recorded(run: &RunDirectory) -> Result<u64, Problem> {
    let path = run.ledger();
    Ok(fs::symlink_metadata(&path).map_err(at(&path)).or_problem()?.len())
}

/// What was refused in the sandbox since the command of record `intent` began. The first `before`
/// bytes of the ledger are older, and are not read.
fn denials_since(
    run: &RunDirectory,
    before: u64,
    intent: u64,
    authority: &Authority,
) -> Result<Vec<api::Denial>, Problem> {
    let path = run.ledger();
    let ledger = read_from(&path, before.saturating_sub(1)).map_err(at(&path)).or_problem()?;
    // What begins in the middle of a record is that record's.
    let begin = ledger.iter().position(|byte| *byte == b'\n').map_or(ledger.len(), |at| at + 1);
    let ledger = ledger.get(begin..).unwrap_or_default();
    let denied: Vec<_> = story::not_allowed(ledger, kind::DENIED, intent).flatten().collect();
    Ok(story::denials(&denied, authority))
}
