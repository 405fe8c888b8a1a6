//! What became of the changes that a session's earlier run made, and whether the next begins with
//! them: its memory says that they are there.

use std::path::PathBuf;

use api::Problem;
use names::{Digest, RunId};
use policy::Mode;

use crate::changes::{Trust, frozen, lock, sealed};
use crate::prepare::CarriedOver;
use crate::problem::OrProblem as _;
use crate::project::Project;
use crate::rescue;
use crate::settings::Settings;
use crate::state::{Position, State};
use crate::store::{self, RunDirectory, RunLock, Store, StoreError};

use super::sessions::Begun;

/// What the agent has to know of its earlier changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// There are none.
    None,
    /// Nobody decided on them yet; they can be carried over.
    Waiting(RunId),
    /// They are in the project.
    Applied,
    /// They are gone.
    Discarded,
    /// They were made in the project itself.
    Direct,
    /// A run that has not ended works with them.
    InUse(RunId),
    /// They were made in another project.
    Elsewhere,
    /// The session goes on from an earlier turn, whose files nobody kept.
    Turn(u32),
}

/// The earlier run of a session.
pub(super) struct Earlier {
    fate: Fate,
}

impl Earlier {
    /// Finds out what became of the changes of the run before the one that begins, and takes hold
    /// of those that can be carried over.
    ///
    /// # Errors
    /// When that run still works on the session, or its files don't say what they should.
    pub(super) fn find(
        settings: &Settings,
        project: &Project,
        begun: &Begun,
    ) -> Result<(Self, Option<CarriedOver>), Problem> {
        let none = |fate| Ok((Self { fate }, None));
        let (session, forks) = match begun {
            Begun::New => return none(Fate::None),
            Begun::Resume(session) => (session, false),
            Begun::Fork(session, turn) => match earlier_turn(settings, session, *turn)? {
                Some(turn) => return none(Fate::Turn(turn)),
                None => (session, true),
            },
        };
        let last = match last_run(settings, session) {
            Err(Lost::Busy(run)) if forks => return none(Fate::InUse(run)),
            Err(Lost::Busy(run)) => return Err(StoreError::Busy(run)).or_problem(),
            Err(Lost::Problem(problem)) => return Err(*problem),
            Ok(last) => last,
        };
        let Some(Last { run, project: its, mode, lock }) = last else {
            return none(Fate::None);
        };
        if its != project.root {
            return none(Fate::Elsewhere);
        }
        if mode == Mode::Direct {
            return none(Fate::Direct);
        }
        let lock = sealed_for_sure(settings, &run, lock)?;
        match Position::read(&run, false)?.sound(&run)? {
            State::Applied | State::HalfApplied(_) | State::HalfUndone => none(Fate::Applied),
            State::Discarded | State::HalfDiscarded(_) => none(Fate::Discarded),
            _ => {
                if sealed(settings, &run, Trust::InSubjects)?.is_empty() {
                    return none(Fate::None);
                }
                let receipt = receipt(&run)?;
                let fate = Fate::Waiting(run.id.clone());
                Ok((Self { fate }, Some(CarriedOver::new(run, receipt, lock))))
            }
        }
    }

    /// The line of the agent's context that says so.
    pub(super) fn line(&self, carried: bool) -> Option<String> {
        Some(match &self.fate {
            Fate::None => return None,
            Fate::Waiting(_) if carried => {
                "Your earlier changes were carried over: they are here as you left them.".to_owned()
            }
            Fate::Waiting(run) => format!(
                "Your earlier changes are not here: they wait in run {run}, and the project is as \
                 it was before them."
            ),
            Fate::Applied => "Your earlier changes were applied to the project, all or some of \
                              them: look before you rely on one."
                .to_owned(),
            Fate::Discarded => "Your earlier changes were discarded: the project is as it was \
                                before them."
                .to_owned(),
            Fate::Direct => "Your earlier changes are in the project, where you made them; it may \
                             have changed since."
                .to_owned(),
            Fate::InUse(run) => format!(
                "Your earlier changes are not here: run {run}, which this forks from, still works \
                 with them."
            ),
            Fate::Elsewhere => {
                "Your earlier changes are not here: they were made in another project.".to_owned()
            }
            Fate::Turn(turn) => format!(
                "This goes on from turn {turn}. The files of that turn were not kept: the project \
                 is here as the person has it, without your changes."
            ),
        })
    }
}

/// The turn to go on from, if it is not the session's last.
fn earlier_turn(
    settings: &Settings,
    session: &RunId,
    turn: Option<u32>,
) -> Result<Option<u32>, Problem> {
    let Some(turn) = turn else { return Ok(None) };
    let read = super::sessions::read(settings, session)?;
    Ok(Some(turn).filter(|turn| *turn != read.turns()))
}

/// The session's newest run that had a sandbox in which something could be changed.
struct Last {
    run: RunDirectory,
    project: PathBuf,
    mode: Mode,
    lock: RunLock,
}

/// Why nobody can tell which that is.
enum Lost {
    /// This run has not ended.
    Busy(RunId),
    Problem(Box<Problem>),
}

impl From<Problem> for Lost {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

fn last_run(settings: &Settings, session: &RunId) -> Result<Option<Last>, Lost> {
    let runs = Store::new(settings.runs()).started().or_problem()?.into_iter();
    for (run, start) in runs.filter(|(_, start)| start.agent.as_ref() == Some(session)) {
        // First, so that nobody writes to what is read.
        let Ok(lock) = lock(&run) else { return Err(Lost::Busy(run.id)) };
        let (authority, story) = frozen(&run)?;
        if story.enforcement.is_some() && authority.mode != Mode::ReadOnly {
            let (project, mode) = (start.project, authority.mode);
            return Ok(Some(Last { run, project, mode, lock }));
        }
    }
    Ok(None)
}

/// A run that was interrupted is sealed first, which takes it by itself.
fn sealed_for_sure(
    settings: &Settings,
    run: &RunDirectory,
    held: RunLock,
) -> Result<RunLock, Problem> {
    if run.receipt().exists() {
        return Ok(held);
    }
    drop(held);
    rescue::seal_interrupted(settings, run)?;
    lock(run)
}

fn receipt(run: &RunDirectory) -> Result<Digest, Problem> {
    let path = run.receipt();
    store::read(&path).map(|bytes| Digest::of(&bytes)).map_err(store::at(&path)).or_problem()
}
