//! Sealing a run whose control plane died before it could: nothing that it did is lost, and nothing
//! is claimed of it but that it was stopped.

use std::sync::Arc;
use std::time::Duration;

use api::Problem;
use ledger::{Ledger, Outcome};
use names::Timestamp;
use sandbox::Limit;

use crate::changes::{frozen, is_nothing, lock, never_stood};
use crate::keys;
use crate::lease::Lending;
use crate::prepare::{Evidence, NewRun, deciding};
use crate::problem::OrProblem as _;
use crate::records::RunStart;
use crate::seal::{Contracted, Ended, seal_evidence};
use crate::settings::Settings;
use crate::state::{Life, recover};
use crate::store::RunDirectory;
use crate::story::Story;
use crate::verify::Came;

/// Seals the run if it has no receipt and nobody works on it.
///
/// # Errors
/// When somebody does, when its files don't fit together, or when no sandbox of it ever stood.
pub(crate) fn seal_interrupted(settings: &Settings, run: &RunDirectory) -> Result<(), Problem> {
    if run.receipt().exists() {
        return Ok(());
    }
    if is_nothing(run)? {
        return Err(never_stood(run));
    }
    let lock = lock(run)?;
    if run.receipt().exists() {
        // Another process was faster.
        return Ok(());
    }
    let start = run.start().or_problem()?;
    let ledger = Ledger::reopen(&run.ledger(), &run.id, settings.clock).or_problem()?;
    let (authority, mut story) = frozen(run)?;
    let state = recover(run, &start.project, &story.course, &ledger)?;
    let (Some(began), Some(enforcement)) = (story.start.take(), story.enforcement.take()) else {
        return Err(never_stood(run));
    };
    let (key, _) = keys::signing_key(settings)?;
    let contracted = contracted(run, &story, &began)?;
    let authority = Arc::new(authority);
    let evidence = Evidence {
        run: NewRun::resumed(run.clone(), lock),
        started: start.started,
        broker: deciding(Arc::clone(&authority), ledger, began.learning),
        authority,
        ignored: began.ignored,
        base: began.base,
        continues: began.continues,
        verifies: began.verifies,
        key,
        lending: Lending::default(),
        life: Life::at(state),
        notes: Vec::new(),
    };
    let ended = ended(&story, start.started, contracted);
    seal_evidence(settings, evidence, &enforcement, ended).map(drop)
}

/// What is known of the end: what the ledger says, if it says it, or else that there was none.
fn ended(story: &Story, started: Timestamp, contract: Contracted) -> Ended {
    let end = story.end.as_ref().map(|(_, end)| end);
    let millis = story.until.map(|until| until.as_millis().saturating_sub(started.as_millis()));
    Ended {
        outcome: end.map_or(Outcome::Stopped, |end| end.outcome),
        exit: end.and_then(|end| u8::try_from(end.exit?).ok()),
        limit: story.limit.as_ref().and_then(|reached| limit(&reached.limit)),
        took: Duration::from_millis(millis.and_then(|took| u64::try_from(took).ok()).unwrap_or(0)),
        printed: story.last.as_ref().map_or(0, |last| last.printed),
        agent: None,
        contract,
        left: None,
    }
}

/// What is known of its contract. Checks that were run don't make an end that there was none.
fn contracted(run: &RunDirectory, story: &Story, began: &RunStart) -> Result<Contracted, Problem> {
    let Some(view) = story.verification(run)? else {
        let unchecked = began.contract.map(|_| Contracted::Unchecked);
        return Ok(unchecked.unwrap_or_default());
    };
    let end = story.end.as_ref().map(|(_, end)| end);
    let stated = story.verified.clone().map(|(stated, _)| stated);
    let came = stated.map(|stated| Came {
        outcome: end.map_or(Outcome::Stopped, |end| end.outcome),
        stated,
        view,
        report: String::new(),
        tokens: 0,
    });
    Ok(came.map_or(Contracted::Unchecked, |came| Contracted::Checked(Box::new(came))))
}

fn limit(key: &str) -> Option<Limit> {
    use Limit::{Disk, Memory, Output, Processes, Wall};
    [Memory, Processes, Disk, Output, Wall].into_iter().find(|limit| limit.key() == key)
}
