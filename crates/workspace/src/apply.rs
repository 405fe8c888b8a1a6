//! Apply, undo, discard: the only code that writes to the base.
//!
//! All or nothing, across errors and crashes: [`Journal`] says what both ends of every path are,
//! the bytes of the end that is left are kept in the run's directory first, and its [`state`] says
//! whether somebody was at it. What may follow what is [`State`]'s table to say. [`recover`] takes half done work back to where it began.

pub(crate) mod copy;
mod earlier;
mod journal;
pub(crate) mod place;
mod select;
mod store;
mod swap;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use broker::Permit;
use lifecycle::{Event, Illegal, State};
use names::{Digest, WorkspacePath};
use serde::Serialize;

use crate::change::{Change, ChangeSet, ChangeSetError};
use crate::node::{Mode, Node};
use crate::shown;
use crate::tree::{Cursor, Dir, Lock, open_lifting};
use earlier::{Earlier, Ends};
use journal::{End, Held, Journal, Step};
use place::{Base, Print};
use store::{Store, content_name};
use swap::{Manner, Swap, Todo, strangers, survey_broken, survey_whole};

pub use select::{ApplyPlan, Left, SelectError, Selection, Why, plan};
pub(crate) use store::KeptContents;
pub use store::state;

/// What an apply did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The paths of the entries that are in the base now.
    pub paths: Vec<WorkspacePath>,
    /// The selected entries that are not, and why.
    pub left: Vec<Left>,
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// The paths that hold again what they held before.
    pub paths: Vec<WorkspacePath>,
}

/// What recovery found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What had been interrupted: [`State::Applying`] or [`State::Undoing`]; none if nothing.
    pub interrupted: Option<State>,
    /// The state now.
    pub state: State,
    /// Paths that somebody changed after the crash. They stay as they are.
    pub kept: Vec<WorkspacePath>,
}

/// An apply, undo or discard that did not happen. The base is as it was, but for
/// [`ApplyError::Stuck`].
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another process applies, undoes or discards.
    #[error("another process is at this change set or this project")]
    Busy,
    /// The change set is not in a state for that.
    #[error("the change set is {0}")]
    State(State),
    /// The change set is not the one that was approved and recorded.
    #[error("the change set is {found}, approved was {approved}")]
    NotApproved {
        /// The digest in the permit.
        approved: Digest,
        /// The digest of what was given.
        found: Digest,
    },
    /// The selection is not the one that was approved.
    #[error("the selection is not the one that was approved")]
    NotSelected,
    /// The selection can't be meant.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Nothing is left to apply.
    #[error("nothing to apply")]
    Nothing {
        /// Why each selected entry is left.
        left: Vec<Left>,
    },
    /// The base no longer holds what the run saw.
    #[error("the project changed since the run at {}", list(.paths))]
    Moved {
        /// Where.
        paths: Vec<WorkspacePath>,
    },
    /// The base holds what an earlier run left, which this one began with and took back.
    #[error("the run took back what an earlier one left in the project: {}", list(.paths))]
    TakenBack {
        /// Where.
        paths: Vec<WorkspacePath>,
    },
    /// What was applied was edited since.
    #[error("edited since it was applied: {}", list(.paths))]
    Edited {
        /// Where.
        paths: Vec<WorkspacePath>,
    },
    /// The run's file no longer has the digest that the change set says.
    #[error("the content of {path} is not what the change set says")]
    Altered {
        /// Which path, made printable.
        path: String,
    },
    /// The content to put in place can't be read.
    #[error("can't read the content of {path}: {source}")]
    Content {
        /// Which path, made printable.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The base can't be read or written.
    #[error("can't change {path}: {source}")]
    Base {
        /// Which path, made printable.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The run's directory can't be read or written.
    #[error("run directory {what}: {source}")]
    Store {
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The change set can't be digested.
    #[error(transparent)]
    ChangeSet(#[from] ChangeSetError),
    /// It failed half way and could not be taken back either. [`recover`] can, once the second
    /// error's cause is gone.
    #[error("{first}; then, while taking it back: {second}")]
    Stuck {
        /// Why it failed.
        first: Box<ApplyError>,
        /// Why it could not be taken back.
        second: Box<ApplyError>,
    },
}

impl From<Illegal> for ApplyError {
    fn from(illegal: Illegal) -> Self {
        Self::State(illegal.state)
    }
}

impl ApplyError {
    fn base(path: &WorkspacePath, source: io::Error) -> Self {
        Self::Base { path: shown(path.as_bytes()), source }
    }

    fn content(path: &WorkspacePath, source: io::Error) -> Self {
        Self::Content { path: shown(path.as_bytes()), source }
    }
}

/// Some paths for a message, and how many more.
fn list(paths: &[WorkspacePath]) -> String {
    const SOME: usize = 5;
    let some: Vec<String> = paths.iter().take(SOME).map(|path| shown(path.as_bytes())).collect();
    match paths.len().saturating_sub(SOME) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

/// Applies the selected entries of a change set: exactly those that the permit is for.
///
/// `upper` and `base` are those that the change set was read from, `store` is the run's directory.
/// `earlier` are the change sets of the runs whose changes this one [began with](crate::carry_over):
/// where the base holds what one of them left, it is as the run saw it, too.
///
/// # Errors
/// See [`ApplyError`]; then the base is as it was.
pub fn apply(
    permit: &Permit<policy::Apply>,
    set: &ChangeSet,
    earlier: &[ChangeSet],
    upper: &Path,
    base: &Path,
    store: &Path,
    selection: &Selection,
) -> Result<Applied, ApplyError> {
    let approved = permit.act();
    let found = set.digest()?;
    if found != approved.change_set {
        return Err(ApplyError::NotApproved { approved: approved.change_set, found });
    }
    let plan = plan(set, selection)?;
    let flagged = plan.flagged.iter().map(ToString::to_string);
    if plan.paths.len() as u64 != approved.paths || !flagged.eq(approved.flagged.iter().cloned()) {
        return Err(ApplyError::NotSelected);
    }
    let earlier = Earlier::new(earlier);
    let mut work = Work::open(store, base)?;
    work.expect(Event::Apply)?;
    let paths = earlier.taken_back(set, selection, upper, &mut work.base)?;
    if !paths.is_empty() {
        return Err(ApplyError::TakenBack { paths });
    }
    apply_planned(work, set, found, &earlier, plan, upper)
}

fn apply_planned(
    mut work: Work,
    set: &ChangeSet,
    digest: Digest,
    earlier: &Earlier<'_>,
    plan: ApplyPlan,
    upper: &Path,
) -> Result<Applied, ApplyError> {
    if plan.paths.is_empty() {
        return Err(ApplyError::Nothing { left: plan.left });
    }
    let (steps, todo) = steps(set, &plan, earlier, &mut work.base)?;
    let journal = Journal::new(digest, steps);
    let upper =
        Dir::root(upper).map_err(|source| ApplyError::Content { path: shown(b"."), source })?;
    let mut source = |_: usize, step: &Step| open_lifting(&upper, &step.path);
    work.carry_out(&journal, todo, End::After, &mut source)?;
    Ok(Applied { paths: plan.paths, left: plan.left })
}

/// Takes an apply back: every path holds again what it held, with its exact mode.
///
/// # Errors
/// [`ApplyError::Edited`] if somebody changed any of the paths since; see [`ApplyError`] for the
/// rest. Then the base is as it was, and the change set stays applied.
pub fn undo(
    _permit: &Permit<policy::Undo>,
    base: &Path,
    store: &Path,
) -> Result<Undone, ApplyError> {
    undo_permitted(base, store)
}

fn undo_permitted(base: &Path, store: &Path) -> Result<Undone, ApplyError> {
    let mut work = Work::open(store, base)?;
    work.expect(Event::Undo)?;
    let journal = work.store.journal()?;
    let todo = survey_whole(&mut work.base, &journal.steps, End::Before)?
        .map_err(|paths| ApplyError::Edited { paths })?;
    let kept = work.store.contents(End::Before)?;
    let mut source = |index: usize, _: &Step| kept.file(&content_name(index));
    let done = work.carry_out(&journal, todo, End::Before, &mut source);
    done.map_err(|error| match error {
        ApplyError::Moved { paths } => ApplyError::Edited { paths },
        error => error,
    })?;
    Ok(Undone { paths: journal.steps.into_iter().map(|step| step.path).collect() })
}

/// Throws a change set away: first its state, then everything that the run wrote to `upper`. If
/// that was interrupted, it can be called again.
///
/// # Errors
/// [`ApplyError::State`] unless it is ready, undone or discarded; see [`ApplyError`] for the rest.
pub fn discard(
    _permit: &Permit<policy::Discard>,
    upper: &Path,
    store: &Path,
) -> Result<(), ApplyError> {
    discard_permitted(upper, store)
}

fn discard_permitted(upper: &Path, store: &Path) -> Result<(), ApplyError> {
    let store = Store::open(store)?;
    let before = store.state()?;
    let after = before.after(Event::Discard)?.after(Event::Succeed)?;
    if before != after {
        store.set(after, None)?;
    }
    match Dir::root(upper).and_then(|dir| crate::tree::empty(&mut Cursor::new(dir))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        emptied => emptied.map_err(|source| ApplyError::Content { path: shown(b"."), source }),
    }
}

/// Takes an apply or undo that was interrupted back to where it began. Call it before anything
/// else is done with a run; it does nothing if nothing was interrupted.
///
/// # Errors
/// [`ApplyError::Busy`] while another process is at it, [`ApplyError::Base`] and
/// [`ApplyError::Store`] if the disk refuses. Then it can be called again.
pub fn recover(store: &Path, base: &Path) -> Result<Recovered, ApplyError> {
    let nothing = |state| Recovered { interrupted: None, state, kept: Vec::new() };
    let found = state(store)?;
    if !found.is_live() {
        return Ok(nothing(found));
    }
    let mut work = Work::open(store, base)?;
    let interrupted = work.store.state()?;
    let goal = match interrupted {
        State::Applying(_) => End::Before,
        State::Undoing => End::After,
        state => return Ok(nothing(state)),
    };
    let state = interrupted.after(Event::Crash)?.after(Event::TakeBack)?;
    let journal = work.store.journal()?;
    let kept = work.take_back(&journal, goal, state)?;
    Ok(Recovered { interrupted: Some(interrupted), state, kept })
}

/// One operation: the run's directory and the base, both locked.
struct Work {
    store: Store,
    base: Base,
    _lock: Lock,
}

impl Work {
    fn open(store: &Path, base: &Path) -> Result<Self, ApplyError> {
        let store = Store::open(store)?;
        let failed = |source| ApplyError::Base { path: shown(b"."), source };
        let root = Dir::root(base).map_err(failed)?;
        let lock = root.try_lock().map_err(failed)?.ok_or(ApplyError::Busy)?;
        Ok(Self { store, base: Base::new(root), _lock: lock })
    }

    fn expect(&self, event: Event) -> Result<(), ApplyError> {
        Ok(self.store.state()?.after(event).map(drop)?)
    }

    /// Takes every step to `goal`, or leaves everything as it was.
    fn carry_out(
        &mut self,
        journal: &Journal,
        todo: Vec<Todo>,
        goal: End,
        source: swap::Source<'_>,
    ) -> Result<(), ApplyError> {
        let event = match goal {
            End::After => Event::Apply,
            End::Before => Event::Undo,
        };
        let during = self.store.state()?.after(event)?;
        let (done, undone) = (during.after(Event::Succeed)?, during.after(Event::Fail)?);
        let kept = self.store.empty_contents(goal.other())?;
        let mut swap = Swap::new(&mut self.base, journal, goal, todo, Manner::Strict);
        // From the moment that the state says so, all that taking it back needs is on the disk.
        swap.keep(&kept)?;
        self.store.set_journal(journal)?;
        self.store.set(during, Some(journal.change_set))?;
        let tried = swap.unstage().and_then(|()| swap.stage(source)).and_then(|()| swap.swap());
        match tried {
            Ok(()) => self.store.set(done, Some(journal.change_set)),
            Err(first) => match self.take_back(journal, goal.other(), undone) {
                Ok(_) => Err(first),
                Err(second) => {
                    Err(ApplyError::Stuck { first: Box::new(first), second: Box::new(second) })
                }
            },
        }
    }

    /// Takes every step that is half done back to `goal`, and records `state`. Returns what
    /// somebody else changed meanwhile.
    fn take_back(
        &mut self,
        journal: &Journal,
        goal: End,
        state: State,
    ) -> Result<Vec<WorkspacePath>, ApplyError> {
        self.base.forget();
        let kept = self.store.contents(goal)?;
        let todo = survey_broken(&mut self.base, &journal.steps, goal)?;
        let mut swap = Swap::new(&mut self.base, journal, goal, todo, Manner::Lenient);
        swap.unstage()?;
        swap.stage(&mut |index, _| kept.file(&content_name(index)))?;
        swap.swap()?;
        let kept = swap.kept();
        self.store.set(state, Some(journal.change_set))?;
        Ok(kept)
    }
}

/// A step, and the marks of what its path holds now.
type Marked = (Step, Option<Print>);

/// The steps that a plan needs, if the base still holds what the run saw.
fn steps(
    set: &ChangeSet,
    plan: &ApplyPlan,
    earlier: &Earlier<'_>,
    base: &mut Base,
) -> Result<(Vec<Step>, Vec<Todo>), ApplyError> {
    let mut steps: Vec<Marked> = Vec::new();
    let mut moved = Vec::new();
    for entry in plan.entries.iter().filter_map(|index| set.entries().get(*index)) {
        if !steps_of(entry, earlier, base, &mut steps)? {
            moved.extend(entry.paths().next().cloned());
        }
    }
    if !moved.is_empty() {
        return Err(ApplyError::Moved { paths: moved });
    }
    steps.sort_unstable_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let (steps, prints): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    let strangers = strangers(base, &steps, End::After)?;
    if !strangers.is_empty() {
        return Err(ApplyError::Moved { paths: strangers });
    }
    Ok((steps, prints.into_iter().map(Todo::Act).collect()))
}

/// Adds the steps of one entry; false if the base no longer holds what the run saw.
fn steps_of(
    entry: &Change,
    earlier: &Earlier<'_>,
    base: &mut Base,
    steps: &mut Vec<Marked>,
) -> Result<bool, ApplyError> {
    // What a rename takes away, whose mode its other end gets.
    let mut taken = Held::Nothing;
    for ends in Ends::of(entry) {
        let found = base.look(ends.path).map_err(|error| ApplyError::base(ends.path, error))?;
        let node = found.node.as_ref();
        let as_before = ends.begin_with(node);
        if !as_before && !earlier.left(ends.path, node) {
            return Ok(false);
        }
        let Some(before) = Held::of(node) else { return Ok(false) };
        let model = if before.is_nothing() { &taken } else { &before };
        let Some(after) = wanted(ends.after, model) else { return Ok(false) };
        if as_before || !after.is(node) {
            let step = Step { path: ends.path.clone(), before: before.clone(), after };
            steps.push((step, found.print));
        }
        taken = before;
    }
    Ok(true)
}

/// What the base will hold, with the mode that is carried over.
fn wanted(after: Option<&Node>, before: &Held) -> Option<Held> {
    let mut wanted = Held::of(after)?;
    match (&mut wanted, before) {
        (Held::File { mode, .. }, Held::File { mode: old, .. }) => *mode = old.carry(*mode),
        (Held::File { mode, .. }, _) => *mode = Mode::for_new_file(*mode),
        (Held::Dir { mode }, _) => *mode = Mode::for_new_dir(*mode),
        (Held::Nothing | Held::Link { .. }, _) => {}
    }
    Some(wanted)
}
