//! `loop approvals`, `loop approve` and `loop deny`.

use std::io::{self, Write as _};

use api::{AnswerReport, AnswerRequest, ApprovalsRequest, AskView, Choice, Engine, Problem, exit};

use super::{Done, answer};
use crate::Failure;
use crate::args::{Approvals, Approve, Deny, OneAsk, Scope};
use crate::ask::{self, Room};
use crate::console::{Console, age, counted, duration};
use crate::person::chosen;

/// Lines of one ask in a list.
const LISTED: usize = 24;

pub(super) fn list(args: Approvals, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = ApprovalsRequest { run: args.run, dir: args.project.dir };
    answer(&engine.approvals(request)?, args.json, console, |asks, console| show(asks, console))?;
    Ok(0)
}

fn show(asks: &[AskView], console: &mut Console) -> io::Result<()> {
    if asks.is_empty() {
        return writeln!(console.out, "nothing waits for you");
    }
    for ask in asks {
        show_ask(ask, console)?;
        writeln!(console.out)?;
    }
    let waits = counted(asks.len().try_into().unwrap_or(u64::MAX), "ask");
    writeln!(console.out, "{waits}; answer with `loop approve ID` or `loop deny ID`")
}

fn show_ask(ask: &AskView, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let left = ask.expires.as_millis().saturating_sub(console.now.as_millis());
    let left = duration(u64::try_from(left).unwrap_or(0));
    let when = format!("asked {}, denied in {left}", age(console.now, ask.asked));
    let id = paint.bold(ask.id.as_str());
    writeln!(console.out, "{id}  {}  {}", ask::title(ask), paint.dim(&when))?;
    let room = Room { rows: LISTED, columns: console.columns };
    for line in ask::lines(ask, room, paint) {
        writeln!(console.out, "{line}")?;
    }
    Ok(())
}

pub(super) fn approve(args: Approve, console: &mut Console, engine: &dyn Engine) -> Done {
    let choice = match args.scope {
        Scope::Once => Choice::Once,
        Scope::Run => Choice::Run,
    };
    decide(args.ask, choice, console, engine)
}

pub(super) fn deny(args: Deny, console: &mut Console, engine: &dyn Engine) -> Done {
    let reason = args.reason;
    let choice = match args.stop {
        true => Choice::Stop { reason },
        false => Choice::Deny { reason },
    };
    decide(args.ask, choice, console, engine)
}

/// Shows the ask, and answers exactly what was shown.
fn decide(args: OneAsk, choice: Choice, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = ApprovalsRequest { run: args.run.clone(), dir: args.project.dir.clone() };
    let ask = the_one(engine.approvals(request)?, &args)?;
    if !args.json {
        show_ask(&ask, console)?;
        console.out.flush()?;
    }
    let request = AnswerRequest { run: ask.run, id: ask.id, binding: ask.binding, choice };
    answer(&engine.answer(request)?, args.json, console, show_answer)?;
    Ok(0)
}

/// The ask that is meant. Two runs may have one of the same id.
fn the_one(asks: Vec<AskView>, args: &OneAsk) -> Result<AskView, Failure> {
    let typed = ask::quoted(&args.id);
    let mut meant: Vec<_> = asks.into_iter().filter(|ask| ask.id.as_str() == args.id).collect();
    match (meant.pop(), meant.len()) {
        (Some(ask), 0) => Ok(ask),
        (Some(last), _) => {
            let runs = meant.iter().chain([&last]).map(|ask| ask.run.as_str());
            let what =
                format!("{typed} waits in several runs: {}", runs.collect::<Vec<_>>().join(", "));
            Err(Problem::new(exit::USAGE, what).with_next("name one with --run").into())
        }
        (None, _) => Err(Problem::new(exit::NOT_FOUND, format!("no ask {typed} waits"))
            .with_next("`loop approvals` shows what waits")
            .into()),
    }
}

fn show_answer(report: &AnswerReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let (id, record) = (&report.id, report.record);
    writeln!(console.out, "{}  ask {id}, record {record}", chosen(&report.choice, paint))
}
