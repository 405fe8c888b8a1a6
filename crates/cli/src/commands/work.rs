//! `loop run` and `loop sessions`.

mod story;

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use api::event::{End, Event, Fault, ModelFault};
use api::{
    Begin, BudgetRequest, Engine, Problem, SessionView, SessionsRequest, TaskReport, TaskRequest,
    exit,
};

use super::exec::show_summary;
use super::{Done, answer};
use crate::Failure;
use crate::args::{Run, Sessions};
use crate::console::{Cell, Console, Table, age, counted, shortened, shown, write_json_line};
use crate::person::AtTerminal;
use story::Story;

/// Longest text that is read from standard input or a schema's file, in bytes.
const LONGEST: u64 = 8 << 20;
/// How long the first byte of standard input is waited for, where it is no terminal.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of a task a list shows.
const TASK: usize = 60;

pub(super) fn work(args: Run, console: &mut Console, engine: &dyn Engine) -> Done {
    let (json, quiet) = (args.json, args.quiet);
    let last_line = std::cell::Cell::default();
    let person = AtTerminal {
        last_line: &last_line,
        prompts: console.prompts,
        quiet: quiet || json,
        questions: console.answers && !json,
        columns: console.columns,
        paint: console.err.paint,
    };
    let request = request(args, console)?;
    let mut written = Ok(());
    let mut story = Story::new(console, &last_line);
    let report = {
        let (out, err) = (&mut console.out, &mut console.err);
        let mut watch = |event: &Event| {
            if written.is_ok() {
                written = match (json, quiet) {
                    (true, _) => write_json_line(out, event),
                    (false, true) => Ok(()),
                    (false, false) => story.tell(event, err),
                };
            }
        };
        engine.work(request, &person, &mut watch)
    };
    written?;
    let report = report?;
    if json {
        write_json_line(&mut console.out, &Reported { kind: "run.completed", report: &report })?;
    } else {
        conclude(&report, quiet, console)?;
    }
    Ok(report.run.exit_code)
}

/// Has the agent do it while nobody answers, and tells what it does as it happens.
pub(crate) fn watch_agent(
    request: TaskRequest,
    console: &mut Console,
    engine: &dyn Engine,
) -> Result<TaskReport, Failure> {
    let last_line = std::cell::Cell::default();
    let mut story = Story::new(console, &last_line);
    let mut written = Ok(());
    let report = engine.work(request, &api::Nobody, &mut |event| {
        if written.is_ok() {
            written = story.tell(event, &mut console.err);
        }
    });
    written?;
    Ok(report?)
}

/// The last line of `--json`.
#[derive(serde::Serialize)]
struct Reported<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    report: &'a TaskReport,
}

/// The last message where somebody else reads it, and the summary.
fn conclude(report: &TaskReport, quiet: bool, console: &mut Console) -> io::Result<()> {
    if let End::Finished(message) = &report.end
        && (quiet || !console.out.terminal || !console.err.terminal)
    {
        let text = match console.out.terminal {
            true => names::printable_lines(message.as_bytes()),
            false => message.clone(),
        };
        writeln!(console.out, "{}", text.trim_end())?;
        console.out.flush()?;
    }
    if quiet {
        return Ok(());
    }
    let paint = console.err.paint;
    writeln!(console.err)?;
    let prefix = paint.dim("loop:");
    let how = match &report.end {
        End::Finished(_) => paint.green("the agent says it is done"),
        End::Stopped(reason) => paint.yellow(&format!("stopped: {}", shown(reason.to_string()))),
        End::Failed(fault) => paint.red(&format!("failed: {}", shown(fault.to_string()))),
    };
    let cost = report.cost_micro_usd.map(|cost| format!(", {cost}")).unwrap_or_default();
    let tokens = report.usage.input_tokens.saturating_add(report.usage.output_tokens);
    let used = format!("{}, {}{cost}", counted(report.steps, "step"), counted(tokens, "token"));
    writeln!(console.err, "{prefix} {how}  {}", paint.dim(&used))?;
    if let Some(next) = next(&report.end) {
        writeln!(console.err, "  next  {}", shown(next))?;
    }
    let session = shown(&report.session);
    writeln!(console.err, "{prefix} session {session}; go on with `loop run --resume {session}`")?;
    show_summary(&report.run, console)
}

/// What the person could do about a fault of the provider's.
fn next(end: &End) -> Option<String> {
    let End::Failed(Fault::Model { model, kind, .. }) = end else { return None };
    let provider = model.split(':').next().unwrap_or(model);
    match kind {
        ModelFault::Unauthorized => Some(format!(
            "the key is not taken: set another, or store one with `loop login {provider}`"
        )),
        ModelFault::NotFound => Some("`loop models` lists what is usable".to_owned()),
        _ => None,
    }
}

fn request(args: Run, console: &mut Console) -> Result<TaskRequest, Failure> {
    Ok(TaskRequest {
        words: args.task.join(" "),
        input: piped(console)?,
        model: args.model,
        effort: args.effort,
        schema: args.output_schema.as_deref().map(schema).transpose()?,
        begin: begin(args.resume, args.fork)?,
        budget: BudgetRequest { steps: args.steps, tokens: args.tokens, money: args.money },
        profile: args.profile,
        mode: args.mode.map(Into::into),
        dir: args.project.dir,
        environment: args.environment,
        timeout: args.timeout,
        leases: args.leases,
        checks: args.contract.checks,
        contract: args.contract.contract,
    })
}

/// What is piped in. A terminal is where a person answers, and not read.
fn piped(console: &mut Console) -> Result<Option<String>, Problem> {
    if console.typed {
        return Ok(None);
    }
    if !(console.comes)(PATIENCE) {
        // Somebody's pipe that nobody writes to, as editors and build servers hand down.
        let told = "nothing comes on standard input, so the agent begins without it; to leave it \
                    out at once, < /dev/null";
        // Who has closed their standard error is not told.
        let _ = writeln!(console.err, "{} {told}", console.err.paint.dim("loop:"));
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = console.input.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Problem::new(exit::UNSAFE, format!("standard input can't be read: {error}"))
    })?;
    if bytes.len() as u64 > LONGEST {
        let what = format!("standard input is longer than {LONGEST} bytes");
        return Err(Problem::new(exit::USAGE, what).with_next("put it into a file of the project"));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.is_empty()))
}

fn schema(path: &Path) -> Result<serde_json::Value, Problem> {
    let wrong = |error: &dyn std::fmt::Display| {
        Problem::new(exit::USAGE, format!("the schema {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

fn begin(resume: Option<String>, fork: Option<String>) -> Result<Begin, Problem> {
    match (resume, fork) {
        (Some(words), _) if words.contains(char::is_whitespace) => {
            let what = "a session's id has no white space";
            Err(Problem::new(exit::USAGE, what)
                .with_next("put the task first: loop run \"TASK\" --resume"))
        }
        (Some(session), _) => {
            Ok(Begin::Resume { session: Some(session).filter(|session| !session.is_empty()) })
        }
        (None, Some(fork)) => match fork.split_once('@') {
            None => Ok(Begin::Fork { session: fork, turn: None }),
            Some((session, turn)) => match turn.parse() {
                Ok(turn) => Ok(Begin::Fork { session: session.to_owned(), turn: Some(turn) }),
                Err(_) => Err(Problem::new(exit::USAGE, "the turn is not a number")
                    .with_next("write --fork ID@TURN, as k7m2@3")),
            },
        },
        (None, None) => Ok(Begin::New),
    }
}

pub(super) fn sessions(args: Sessions, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = SessionsRequest { all: args.all, dir: args.project.dir };
    let views = engine.sessions(request)?;
    answer(&views, args.json, console, |views, console| show(views, args.all, console))?;
    Ok(0)
}

fn show(views: &[SessionView], all: bool, console: &mut Console) -> io::Result<()> {
    if views.is_empty() {
        return writeln!(console.out, "no sessions; `loop run \"…\"` begins one");
    }
    let mut table = Table::default();
    for view in views {
        let task = match &view.broken {
            Some(why) => format!("can't be read: {why}"),
            None => view.task.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let mut cells = vec![
            Cell::plain(shown(&view.session)),
            Cell::plain(age(console.now, view.last)),
            Cell::plain(counted(view.turns.into(), "turn")),
            Cell::plain(shown(&view.model)),
            Cell::plain(shortened(&shown(task), TASK)),
        ];
        if all {
            cells.push(Cell::plain(shown(&view.project)));
        }
        table.row(cells);
    }
    table.write(&mut console.out, 0)
}
