//! For the tests of this crate that have a kernel.

use api::{ExecRequest, Problem};
use contract::{Check, Ran};
use sandbox::{Layout, Limit, Signals};
use workspace::{Change, Protected, UpperContents, lay, read_changes};

use super::{Fresh, Tried};
use crate::exec::{command, drive, ended, own_streams};
use crate::prepare::{Prepared, Standing};
use crate::problem::{OrProblem as _, unsafe_because};
use crate::seal::seal_evidence;
use crate::settings::Settings;

/// How a check ran, the key of the limit that ended it, and whether the person did.
pub type Told = (Ran, Option<&'static str>, bool);

/// Runs a command, then each check on the base and on the base with what the command left, where
/// `tests/` comes from the base, and seals the run.
#[doc(hidden)]
pub fn try_checks(
    settings: &Settings,
    request: &ExecRequest,
    checks: &[Check],
) -> Result<Vec<[Told; 2]>, Problem> {
    let signals = Signals::take().map_err(unsafe_because)?;
    let streams = own_streams()?;
    let project = settings.project(None)?;
    let directory = project.directory.clone();
    let standing = Prepared::new(settings, project, request)?.confine(&settings.environment)?;
    let command = command(&standing, request, directory, None)?;
    let (driven, standing) = drive(standing, &command, &streams, &signals, None);
    let ended = ended(&driven);
    driven?;
    let Standing { egress, evidence, grounds, sandbox, enforcement, .. } = standing;
    drop((sandbox, egress));
    let upper = Layout::of(evidence.run.directory.path()).upper();
    let base = &grounds.project.root;
    let changes = read_changes(&upper, base, &Protected::default()).or_problem()?;
    let in_tests = |path: &[u8]| path.starts_with(b"tests/");
    let keep = |change: &Change| !in_tests(change.path.as_bytes());
    let contents = UpperContents::of(&upper).map_err(unsafe_because)?;
    let fill =
        |to: &std::path::Path| lay(&changes, &contents, to, base, &keep).or_problem().map(drop);
    let fresh = Fresh {
        evidence: &evidence,
        grounds: &grounds,
        enforcement: &enforcement,
        variables: &settings.environment,
        streams: &streams,
        signals: &signals,
        deadline: None,
    };
    let guarded = |path: &[u8], _: bool| in_tests(path);
    let mut number = 0..;
    let mut one = |lay: &dyn Fn(&std::path::Path) -> Result<(), Problem>, check: &Check| {
        let number = number.next().unwrap_or_default();
        let Tried { ran, limit, interrupted } = fresh.run(number, lay, check, &guarded, None)?;
        Ok::<Told, Problem>((ran, limit.map(Limit::key), interrupted))
    };
    let pairs = checks.iter().map(|check| Ok([one(&|_| Ok(()), check)?, one(&fill, check)?]));
    let pairs = pairs.collect::<Result<_, Problem>>()?;
    seal_evidence(settings, evidence, &enforcement, ended)?;
    Ok(pairs)
}
