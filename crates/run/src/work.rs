//! `loop run`: a run whose command is Loop's own agent.
//!
//! The agent and the model it follows are trusted with nothing: what they want done is a proposal,
//! which the broker decides and records, and which the hands inside the sandbox carry out. The
//! model's key and the connection to its provider stay on this side.

mod brief;
mod carry;
mod drive;
mod earlier;
mod instructions;
pub(crate) mod journal;
mod session_file;
mod sessions;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use agent::{Conversation, Interrupt, Outside, Said};
use api::event::{BudgetKind, End, Event, Reason};
use api::{ExecRequest, Person, Problem, TaskReport, TaskRequest, exit};
use ledger::Outcome;
use models::{FindError, Model};
use sandbox::{Attendant, Hands, HandsRequest, Limit, Signals, Watch, hands_file};

use crate::exec::{attending, own_streams, report, umask, written_to};
use crate::login::Keys;
use crate::prepare::{AgentRun, Prepared, Standing};
use crate::problem::{IntoProblem, OrProblem as _, unsafe_because};
use crate::records::ExecResult;
use crate::seal::{Agent, Ended, seal};
use crate::settings::Settings;
use crate::{exec, lease};

use carry::Permitted;
use drive::{Line, drive};
use earlier::Earlier;
use journal::Recorder;
use sessions::Begun;

pub(crate) use sessions::sessions;

/// The profile of a run that names none.
const PROFILE: &str = "agent";

/// Has the agent work on a task: prepare, confine, drive, seal.
///
/// # Errors
/// When nothing was started, or its evidence could not be kept.
pub(crate) fn work(
    settings: &Settings,
    request: &TaskRequest,
    person: &dyn Person,
    watch: &mut dyn FnMut(&Event),
) -> Result<TaskReport, Problem> {
    let signals = Signals::take().map_err(unsafe_because)?;
    let project = settings.project(request.dir.as_deref())?;
    let asked = brief::Asked::read(request)?;
    let begun = Begun::find(settings, &project, &request.begin)?;
    let said = said(request, &begun)?;
    let model = find_model(settings, request)?;
    let streams = own_streams()?;
    let found = instructions::instructions(&project);
    let command = as_command(request, &begun);
    let (earlier, carried) = Earlier::find(settings, &project, &begun)?;
    let agent = AgentRun { session: begun.session(), carried };
    let prepared = Prepared::for_agent(settings, project, &command, agent)?;
    let shown = hands_file().map_err(unsafe_because)?;
    let mut standing = prepared.showing(shown).confine(&settings.environment)?;
    let mut session = begun.open(settings, &standing)?;
    let news = earlier.line(standing.evidence.continues.is_some());
    let brief = asked.brief(&mut standing, &session.id, found, news);

    let mut attending = attending(&standing, settings, person)?;
    let interrupt = Interrupt::new();
    let (line, here) = Line::new().map_err(unsafe_because)?;
    let times = Times::of(&standing);
    let talk = Talk { model: &*model, session: &mut session, said, brief, times };
    let worked = std::thread::scope(|scope| {
        let (there, ends) = (line, interrupt.clone());
        let works = scope.spawn(move || talk.hold(standing, there, &ends));
        let attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
        let desk = Watch::new(attendant, &streams, &signals).until(times.deadline);
        let driven = drive(here, desk, &streams, &interrupt, person, watch);
        if driven.is_err() {
            interrupt.end_run();
        }
        // Whoever waits for a person waits no more.
        let worked = works.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        driven.map_err(unsafe_because).map(|()| worked)
    });
    drop(attending);
    let (standing, worked) = worked?;
    told(settings, standing, worked?, &*model, session.id)
}

/// The conversation, which has a thread of its own.
struct Talk<'a> {
    model: &'a dyn Model,
    session: &'a mut sessions::Open,
    said: Said,
    brief: agent::Brief,
    times: Times,
}

/// When it began, and when its time is up.
#[derive(Clone, Copy)]
struct Times {
    started: Instant,
    deadline: Option<Instant>,
}

impl Times {
    fn of(standing: &Standing) -> Self {
        let started = Instant::now();
        let wall = standing.evidence.authority.limits.wall;
        Self { started, deadline: wall.map(|wall| started + wall.as_duration()) }
    }
}

/// What came of it.
struct Worked {
    outcome: agent::Outcome,
    limit: Option<Limit>,
    took: Duration,
}

impl Talk<'_> {
    /// Holds it, and gives the sandbox back. When the line goes, it is over.
    fn hold(
        self,
        mut standing: Standing,
        line: Line,
        interrupt: &Interrupt,
    ) -> (Standing, Result<Worked, Problem>) {
        let worked = self.within(&mut standing, &line, interrupt);
        (standing, worked)
    }

    fn within(
        self,
        standing: &mut Standing,
        line: &Line,
        interrupt: &Interrupt,
    ) -> Result<Worked, Problem> {
        let Self { model, session, said, brief, times } = self;
        let broker = &standing.evidence.broker;
        let request = hands_request(standing, times);
        let action = sandbox::hands_action(request.directory.clone());
        let directory = request.directory.clone();
        let permit = broker.request(action).map_err(IntoProblem::into_problem)?;
        let hands =
            Hands::start(&mut standing.sandbox, &permit, request).map_err(unsafe_because)?;
        let mut hands = Permitted::new(hands, broker.clone(), directory, interrupt.clone());
        let mut person = line;
        let mut journal = Recorder::new(&mut session.file, broker.ledger());
        let outside = Outside {
            model,
            hands: &mut hands,
            person: &mut person,
            journal: &mut journal,
            clock: &names::system_clock,
            watch: &mut |event| line.show(event),
        };
        let talked = match &session.before {
            Some(before) => Conversation::resume(outside, brief, before),
            None => Conversation::begin(outside, brief),
        };
        let outcome = match talked {
            Ok(mut conversation) => conversation.turn(said, interrupt),
            Err(fault) => {
                agent::Outcome { end: End::Failed(fault), spent: agent::Spent::default() }
            }
        };
        let limit = hands.limit_reached().or(out_of_time(&outcome.end));
        drop(hands);
        let took = times.started.elapsed();
        let result = ExecResult {
            limit: limit.map(|limit| limit.key().to_owned()),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            ..ExecResult::default()
        };
        broker.complete(permit, &result).or_problem()?;
        Ok(Worked { outcome, limit, took })
    }
}

/// The limit that ended the conversation, where it ended itself in time.
fn out_of_time(end: &End) -> Option<Limit> {
    let wall = Reason::Budget(BudgetKind::Wall);
    matches!(end, End::Stopped(reason) if *reason == wall).then_some(Limit::Wall)
}

fn hands_request(standing: &Standing, times: Times) -> HandsRequest {
    let authority = &standing.evidence.authority;
    let layout = sandbox::Layout::of(standing.evidence.run.directory.path());
    let disk = authority.limits.disk.map(|limit| (limit.0, written_to(authority, &layout)));
    let (environment, directory) =
        (standing.environment.clone(), standing.grounds.project.directory.clone());
    HandsRequest { environment, directory, umask: umask(), wall: times.deadline, disk }
}

fn find_model(settings: &Settings, request: &TaskRequest) -> Result<Box<dyn Model>, Problem> {
    // From here on this process holds the provider's key.
    lease::leave_no_dump()?;
    let keys = Keys::read(settings)?;
    let found = models::find(request.model.as_deref(), &|name| keys.lookup(name));
    found.map_err(|error: FindError| {
        let help = error.help();
        unsafe_because(error).with_next(format!("{help}; `loop models` lists them"))
    })
}

fn said(request: &TaskRequest, begun: &Begun) -> Result<Said, Problem> {
    let words = match (request.words.trim(), begun.goes_on()) {
        ("", true) => "Go on.",
        ("", false) => {
            let problem = Problem::new(exit::USAGE, "there is nothing to do");
            return Err(problem.with_next("say what, as in: loop run \"make the tests pass\""));
        }
        (words, _) => words,
    };
    let input = request.input.clone().filter(|input| !input.trim().is_empty());
    Ok(Said { words: words.to_owned(), input, images: Vec::new() })
}

/// The run as a command: what the person typed, as far as it is worth telling again.
fn as_command(request: &TaskRequest, begun: &Begun) -> ExecRequest {
    let mut command: Vec<OsString> = ["loop", "run"].map(Into::into).into();
    command.extend(begun.flags().into_iter().map(OsString::from));
    command.extend(Some(request.words.clone()).filter(|words| !words.is_empty()).map(Into::into));
    ExecRequest {
        profile: Some(request.profile.clone().unwrap_or_else(|| PROFILE.to_owned())),
        mode: request.mode,
        dir: request.dir.clone(),
        environment: request.environment.clone(),
        timeout: request.timeout.clone(),
        leases: request.leases.clone(),
        command,
        ..ExecRequest::default()
    }
}

fn told(
    settings: &Settings,
    standing: Standing,
    worked: Worked,
    model: &dyn Model,
    session: String,
) -> Result<TaskReport, Problem> {
    let Worked { outcome, limit, took } = worked;
    let view = exec::enforcement_view(&standing);
    let spent = outcome.spent;
    let exit = exit_code(&outcome.end, limit);
    let used = Agent {
        steps: spent.steps,
        tokens: spent.usage.total(),
        provider: model.id().provider().to_owned(),
        name: model.id().name().to_owned(),
    };
    let ended = Ended {
        outcome: claim(&outcome.end, limit),
        exit: Some(exit),
        limit,
        took,
        printed: 0,
        agent: Some(used),
    };
    let sealed = seal(settings, standing, &ended)?;
    Ok(TaskReport {
        schema: 1,
        session,
        model: model.id().to_string(),
        steps: spent.steps,
        usage: spent.tokens(),
        cost_micro_usd: model.abilities().price.is_some().then_some(spent.cost),
        end: outcome.end,
        run: report(&ended, None, sealed, view),
    })
}

/// What is claimed of a run. That the model is done is no evidence.
fn claim(end: &End, limit: Option<Limit>) -> Outcome {
    match end {
        _ if limit.is_some() => Outcome::Stopped,
        End::Finished(_) => Outcome::Unverified,
        End::Stopped(_) => Outcome::Stopped,
        End::Failed(_) => Outcome::Failed,
    }
}

fn exit_code(end: &End, limit: Option<Limit>) -> u8 {
    match (end, limit) {
        (_, Some(Limit::Wall)) => exit::TIMEOUT,
        (End::Finished(_), None) => 0,
        (End::Stopped(Reason::Interrupted | Reason::Ended), None) => exit::INTERRUPTED,
        (_, Some(_)) | (End::Stopped(_) | End::Failed(_), None) => exit::NO,
    }
}
