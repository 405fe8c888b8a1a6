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
mod rounds;
mod session_file;
mod sessions;

use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use agent::{Conversation, Interrupt, Outside, Said};
use api::event::{BudgetKind, End, Event, Reason};
use api::{ExecRequest, Person, Problem, TaskReport, TaskRequest, exit};
use broker::Broker;
use contract::Reserve;
use ledger::Outcome;
use models::{FindError, Model};
use names::Span;
use sandbox::{
    Attendant, Hands, HandsRequest, Limit, Sandbox, Signals, Streams, Watch, hands_file,
};

use crate::approvals::attend::Attending;
use crate::checks::Fresh;
use crate::exec::{attending, own_streams, report, umask, written_to};
use crate::login::Keys;
use crate::prepare::{AgentRun, Besides, Prepared, Standing};
use crate::problem::{IntoProblem, OrProblem as _, unsafe_because};
use crate::records::ExecResult;
use crate::seal::{Agent, Contracted, Ended, seal};
use crate::settings::Settings;
use crate::verify::{Opinion, Reviewer};
use crate::{exec, lease};

use carry::Permitted;
use drive::{Driven, Here, Line, Next, drive};
use earlier::Earlier;
use journal::Recorder;
use rounds::Rounds;
use sessions::Begun;

pub(crate) use sessions::sessions;

/// The profile of a run that names none.
const PROFILE: &str = "agent";

/// Has the agent work on a task: prepare, confine, drive, seal. Where there is a contract, it is
/// measured by that when it says that it is done, and goes on while there are rounds.
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
    let file = request.contract.as_deref();
    let found = crate::contract::of_request(settings, &project, file, &request.checks)?;
    let (contract, own) = found.map(|found| (found.contract, found.own)).unzip();
    let untrusted = crate::contract::not_counted(settings, &project, file)?;
    let reviewer = Reviewer::find(settings, contract.as_ref())?;
    let model = find_model(settings, request)?;
    let streams = own_streams()?;
    let found = instructions::instructions(&project);
    let command = as_command(request, &begun);
    let (earlier, carried) = Earlier::find(settings, &project, &begun)?;
    let agent = Some(AgentRun { session: begun.session(), carried });
    let besides = Besides { agent, contract: contract.as_ref(), verifies: None };
    let prepared = Prepared::with(settings, project, &command, besides)?;
    let shown = hands_file().map_err(unsafe_because)?;
    exec::is_still_wanted(&signals)?;
    let mut standing = prepared.showing(shown).confine(&settings.environment)?;
    standing.evidence.notes.extend(untrusted);
    exec::say_held_to(own.flatten(), &mut standing.evidence, person);
    let mut session = begun.open(settings, &standing)?;
    let news = earlier.line(standing.evidence.continues.is_some());
    let reserve = contract.as_ref().map(|contract| contract.reserve.clone()).unwrap_or_default();
    let brief = asked.brief(&mut standing, &session.id, found, news, &reserve);

    let mut attending = attending(&standing, settings, person)?;
    let interrupt = Interrupt::new();
    let (line, here) = Line::new().map_err(unsafe_because)?;
    let times = Times::of(&standing, &reserve);
    let hands = hands_request(&standing, times);
    let Standing { sandbox, evidence, grounds, enforcement, .. } = &mut standing;
    let broker = evidence.broker.clone();
    let talk = Talk { model: &*model, session: &mut session, said, brief, times, hands, broker };
    let fresh = Fresh {
        evidence,
        grounds,
        enforcement,
        variables: &settings.environment,
        streams: &streams,
        signals: &signals,
        deadline: times.end,
    };
    let opinion = Opinion::Of(reviewer.as_ref());
    let mut rounds = contract.as_ref().map(|contract| Rounds::new(contract, fresh, opinion));
    let worked = std::thread::scope(|scope| {
        let ends = interrupt.clone();
        let is_checked = rounds.is_some();
        let works = scope.spawn(move || talk.hold(sandbox, line, is_checked, &ends));
        let front = Front { streams: &streams, signals: &signals, until: times.work, person };
        let driven = front.attend(here, &interrupt, &mut attending, &mut rounds, watch);
        if driven.is_err() {
            interrupt.end_run();
        }
        // Whoever waits for a person waits no more.
        let worked = works.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        driven.map_err(unsafe_because).map(|()| worked)
    });
    let checked = rounds.map(Rounds::came).unwrap_or_default();
    drop(attending);
    told(settings, standing, (worked??, checked), &*model, session.id)
}

/// Where the person is while the conversation goes on.
struct Front<'a> {
    streams: &'a Streams,
    signals: &'a Signals,
    /// When the agent's time is up.
    until: Option<Instant>,
    person: &'a dyn Person,
}

impl Front<'_> {
    /// Shows and asks until the conversation is over; what the agent says is done is checked here.
    fn attend(
        &self,
        mut here: Here,
        interrupt: &Interrupt,
        attending: &mut Option<Attending<'_>>,
        rounds: &mut Option<Rounds<'_>>,
        watch: &mut dyn FnMut(&Event),
    ) -> io::Result<()> {
        loop {
            let attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
            let desk = Watch::new(attendant, self.streams, self.signals).until(self.until);
            match drive(&mut here, desk, self.streams, interrupt, self.person, watch)? {
                Driven::Over => return Ok(()),
                Driven::Done { reply, left } => {
                    let attendant = attending.as_mut().map(|it| it as &mut dyn Attendant);
                    let next = rounds.as_mut().map(|rounds| rounds.next(left, watch, attendant));
                    // Who asked waits for nothing else.
                    let _ = reply.send(next.unwrap_or(Next::Over));
                }
            }
        }
    }
}

/// The conversation, which has a thread of its own.
struct Talk<'a> {
    model: &'a dyn Model,
    session: &'a mut sessions::Open,
    said: Said,
    brief: agent::Brief,
    times: Times,
    hands: HandsRequest,
    broker: Broker,
}

/// When it began, when the agent's time is up, and when the run's is: between the two its checks
/// have time.
#[derive(Clone, Copy)]
struct Times {
    started: Instant,
    work: Option<Instant>,
    end: Option<Instant>,
}

impl Times {
    fn of(standing: &Standing, reserve: &Reserve) -> Self {
        let started = Instant::now();
        let wall = standing.evidence.authority.limits.wall.map(Span::as_duration);
        let aside = reserve.wall.map(Span::as_duration).unwrap_or_default();
        let work = wall.map(|wall| started + wall.saturating_sub(aside));
        Self { started, work, end: wall.map(|wall| started + wall) }
    }
}

/// What came of it.
struct Worked {
    outcome: agent::Outcome,
    limit: Option<Limit>,
    took: Duration,
}

impl Talk<'_> {
    /// Holds it. When the line goes, it is over.
    fn hold(
        self,
        sandbox: &mut Sandbox,
        line: Line,
        is_checked: bool,
        interrupt: &Interrupt,
    ) -> Result<Worked, Problem> {
        let Self { model, session, said, brief, times, hands, broker } = self;
        let directory = hands.directory.clone();
        let permit = broker
            .request(sandbox::hands_action(directory.clone()))
            .map_err(IntoProblem::into_problem)?;
        let hands = Hands::start(sandbox, &permit, hands).map_err(unsafe_because)?;
        let mut hands = Permitted::new(hands, broker.clone(), directory, interrupt.clone());
        let mut person = &line;
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
            Ok(conversation) => turns(conversation, said, is_checked.then_some(&line), interrupt),
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

/// A turn of the agent; and where its work is checked, another one while that isn't enough.
fn turns(
    mut conversation: Conversation<'_>,
    said: Said,
    checked: Option<&Line>,
    interrupt: &Interrupt,
) -> agent::Outcome {
    let mut outcome = conversation.turn(said, interrupt);
    while let (End::Finished(_), Some(line)) = (&outcome.end, checked) {
        let left = conversation.budget().left_for_checks().tokens;
        let Next::Again(report) = line.done(left) else { break };
        conversation.budget_mut().tick_checks(names::system_clock());
        let said = Said { words: report, input: None, images: Vec::new() };
        let turn = conversation.turn(said, interrupt);
        outcome = agent::Outcome { end: turn.end, spent: outcome.spent + turn.spent };
    }
    outcome
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
    let directory = standing.grounds.project.directory.clone();
    let environment = standing.environment.clone();
    HandsRequest { environment, directory, umask: umask(), wall: times.work, disk }
}

fn find_model(settings: &Settings, request: &TaskRequest) -> Result<Box<dyn Model>, Problem> {
    // From here on this process holds the provider's key.
    lease::leave_no_dump()?;
    let keys = Keys::read(settings)?;
    let found = models::find(request.model.as_deref(), &|name| keys.lookup(name));
    found.map_err(|error: FindError| {
        let help = error.help();
        unsafe_because(error).with_next(help)
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
    mut standing: Standing,
    (worked, checked): (Worked, rounds::Checked),
    model: &dyn Model,
    session: String,
) -> Result<TaskReport, Problem> {
    let Worked { outcome, limit, took } = worked;
    let ended = matches!(outcome.end, End::Stopped(Reason::Interrupted | Reason::Ended));
    exec::stopped(&standing.evidence, limit, ended)?;
    let view = exec::enforcement_view(&standing);
    let spent = outcome.spent;
    let used = Agent {
        steps: spent.steps,
        tokens: spent.usage.total(),
        provider: model.id().provider().to_owned(),
        name: model.id().name().to_owned(),
    };
    let ended = Ended {
        outcome: claim(&outcome.end, limit),
        exit: Some(exit_code(&outcome.end, limit)),
        limit,
        took,
        printed: 0,
        agent: Some(used),
        contract: Contracted::None,
        left: None,
    };
    let (ended, checked) = checked.end(ended, &mut standing.evidence.notes);
    let sealed = seal(settings, standing, ended.clone())?;
    checked?;
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
