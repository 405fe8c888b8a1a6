//! Why the checks of a run's contract came to nothing: told at its end, and whenever it is shown.

use ledger::Outcome;

use crate::records::{ExecResult, RunEnd};
use crate::store::Start;
use crate::story::Story;

/// Of Loop's own agent.
pub(crate) const NOT_DONE: &str =
    "its checks were not run, because the agent did not say that it is done";

/// Of a command that ended so.
pub(crate) fn why(outcome: Outcome, exit: Option<i32>) -> Option<String> {
    let why = match (outcome, exit) {
        (Outcome::Failed, Some(code)) => format!("the command ended with {code}"),
        (Outcome::Stopped, _) => "the run was stopped".to_owned(),
        _ => return None,
    };
    Some(format!("its checks were not run, because {why}"))
}

/// Of a run as its ledger tells it; `None` if it has no contract, goes on, or was checked.
pub(crate) fn told(start: &Start, story: &Story) -> Option<String> {
    story.start.as_ref()?.contract?;
    let (_, RunEnd { outcome, .. }) = story.end.as_ref()?;
    if story.verified.is_some() {
        return None;
    }
    if story.checking {
        return Some("its checks did not come to an end".to_owned());
    }
    let of_command = || why(*outcome, story.last.as_ref().and_then(exit));
    let told = if start.agent.is_some() { Some(NOT_DONE.to_owned()) } else { of_command() };
    told.or_else(|| Some("its checks were not run".to_owned()))
}

/// As a shell has it: of a signal, 128 and its number.
fn exit(result: &ExecResult) -> Option<i32> {
    result.exit.or(result.signal.map(|signal| signal.saturating_add(128)))
}
