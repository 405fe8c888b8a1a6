//! Asks of runs that go on, and answers to them: `loop approvals`, `loop approve`, `loop deny`.
//!
//! A process that can hold an ask serves a socket in its run's directory ([`serve`]), where nothing
//! of the sandbox can come. Whoever answers there says what was shown to them, and the broker
//! compares. At the terminal of a command, [`attend`] does the same.

pub(crate) mod attend;
pub(crate) mod serve;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use api::{
    AnswerReport, AnswerRequest, ApprovalsRequest, AskCap, AskView, AskedCommand, Choice, Problem,
    exit,
};
use broker::{Answer, Ask};
use names::{AskId, Digest};
use policy::Action;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sandbox::protocol::Channel;
use serde::{Deserialize, Serialize};

use crate::problem::{OrProblem as _, rule_ref};
use crate::settings::Settings;
use crate::store::{RunDirectory, Start, Store};

/// What is said to a process that holds asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Say {
    /// Show what waits, once.
    List,
    /// Show what waits, now and at every change.
    Attend,
    /// A person's answer.
    Answer {
        /// To which ask.
        id: AskId,
        /// What was shown.
        binding: Digest,
        /// What was chosen.
        choice: Choice,
    },
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Tell {
    /// One ask that was not shown before.
    Ask(Box<AskView>),
    /// Everything that waits was shown.
    Waiting(Waiting),
    /// The answer counts.
    Counted {
        /// The ask.
        id: AskId,
        /// The record of the answer.
        record: u64,
    },
    /// The answer does not count.
    Refused {
        /// The ask.
        id: AskId,
        /// Why.
        why: String,
    },
}

/// What waits, and what else has to be known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Waiting {
    /// The asks, the oldest first.
    asks: Vec<AskId>,
    /// The cap that last cut asks off, and which time that was.
    capped: Option<(u64, AskCap)>,
    /// The run is to end.
    stop: bool,
}

/// `loop approvals`.
///
/// # Errors
/// When the run that is named is not there, or does not go on.
pub(crate) fn approvals(
    settings: &Settings,
    request: &ApprovalsRequest,
) -> Result<Vec<AskView>, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let store = Store::new(settings.runs());
    if let Some(named) = &request.run {
        let run = store.find(Some(named), &project.root).or_problem()?;
        return match Holder::reach(&run).and_then(|holder| holder.list()) {
            Ok(asks) => Ok(asks),
            Err(_) if run.is_busy() => Ok(Vec::new()),
            Err(_) => Err(not_going_on(&run)),
        };
    }
    let all = store.all().or_problem()?.into_iter().filter(|run| run.approvals_socket().exists());
    let mut runs: Vec<_> = all.filter_map(|run| run.start().ok().map(|it| (run, it))).collect();
    let elsewhere = |start: &Start| start.project != project.root;
    runs.sort_by_key(|(_, start)| (elsewhere(start), std::cmp::Reverse(start.started)));
    // One whose process is gone, or ends just now, holds nothing.
    let asks =
        runs.into_iter().filter_map(|(run, _)| Holder::reach(&run).and_then(|it| it.list()).ok());
    Ok(asks.flatten().collect())
}

/// `loop approve` and `loop deny`.
///
/// # Errors
/// When the answer does not count.
pub(crate) fn answer(
    settings: &Settings,
    request: &AnswerRequest,
) -> Result<AnswerReport, Problem> {
    let AnswerRequest { run, id, binding, choice } = request.clone();
    let directory =
        Store::new(settings.runs()).find(Some(run.as_str()), Path::new("/")).or_problem()?;
    let holder = Holder::reach(&directory).map_err(|_| not_going_on(&directory))?;
    let counted = holder.answer(&id, binding, &choice).map_err(|error| {
        Problem::new(exit::UNSAFE, format!("run {run} does not answer: {error}"))
            .with_next("`loop approvals` shows what waits")
    })?;
    match counted {
        Ok(record) => Ok(AnswerReport { run, id, choice, record }),
        Err(why) => Err(Problem::new(exit::NO, why).with_next("`loop approvals` shows what waits")),
    }
}

fn not_going_on(run: &RunDirectory) -> Problem {
    Problem::new(exit::NOT_FOUND, format!("run {} has ended, so nothing waits in it", run.id))
        .with_next("`loop audit` shows what was asked and answered")
}

/// A process that holds the asks of a run, seen from another one.
struct Holder(Channel);

impl Holder {
    fn reach(run: &RunDirectory) -> io::Result<Self> {
        let (_directory, address) = address(run)?;
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        limit_waiting(&socket)?;
        rustix::net::connect(&socket, &address)?;
        Ok(Self(Channel::over(socket)))
    }

    fn list(&self) -> io::Result<Vec<AskView>> {
        self.0.send(&Say::List, &[])?;
        let mut asks = Vec::new();
        loop {
            match self.0.receive()?.0 {
                Tell::Ask(ask) => asks.push(*ask),
                Tell::Waiting(_) => return Ok(asks),
                Tell::Counted { .. } | Tell::Refused { .. } => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
    }

    fn answer(
        &self,
        id: &AskId,
        binding: Digest,
        choice: &Choice,
    ) -> io::Result<Result<u64, String>> {
        let say = Say::Answer { id: id.clone(), binding, choice: choice.clone() };
        self.0.send(&say, &[])?;
        match self.0.receive()?.0 {
            Tell::Counted { record, .. } => Ok(Ok(record)),
            Tell::Refused { why, .. } => Ok(Err(why)),
            Tell::Ask(_) | Tell::Waiting(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Neither side waits long for one that has stopped speaking in the middle of a word.
fn limit_waiting(socket: &OwnedFd) -> io::Result<()> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
    set_socket_timeout(socket, Timeout::Recv, Some(PATIENCE))?;
    Ok(set_socket_timeout(socket, Timeout::Send, Some(PATIENCE))?)
}

/// A socket's name is at most 107 bytes long, so it is reached through its directory: unix(7).
fn address(run: &RunDirectory) -> io::Result<(File, SocketAddrUnix)> {
    let directory = File::open(run.path())?;
    let name = run.approvals_socket().file_name().unwrap_or_default().to_owned();
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((directory, SocketAddrUnix::new(path)?))
}

/// An ask, for a client.
fn view(ask: &Ask) -> AskView {
    let kind = ask.kind().to_string();
    let text = ask.action.to_string();
    let what = text.strip_prefix(&kind).map_or(text.as_str(), str::trim_start).to_owned();
    let command = match &ask.action {
        Action::Exec(exec) => Some(AskedCommand {
            program: exec.program.clone(),
            called: exec.called.iter().map(|name| name.clone().into_os_string()).collect(),
            args: exec.args.clone(),
            directory: exec.cwd.clone(),
        }),
        _ => None,
    };
    AskView {
        id: ask.id.clone(),
        run: ask.run.clone(),
        action: kind,
        what,
        command,
        started_by: ask.context.started_by.clone(),
        diff: ask.context.diff.clone(),
        notes: ask.context.notes.clone(),
        rules: ask.decided_by.iter().map(rule_ref).collect(),
        reason: ask.reason.clone(),
        asked: ask.asked_at,
        expires: ask.expires_at,
        action_digest: ask.action_digest,
        authority: ask.authority,
        binding: *ask.binding().digest(),
    }
}

fn answer_of(choice: Choice) -> Answer {
    match choice {
        Choice::Once => Answer::Once,
        Choice::Run => Answer::ForRun,
        Choice::Deny { reason } => Answer::Deny { reason },
        Choice::Stop { reason } => Answer::DenyAndStop { reason },
    }
}

fn capped(approvals: &broker::Approvals) -> Option<(u64, AskCap)> {
    let (number, capped) = approvals.capped()?;
    Some((number, AskCap { key: capped.key.to_owned(), limit: capped.limit }))
}
