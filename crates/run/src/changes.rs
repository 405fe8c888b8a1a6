//! `loop diff`, `apply`, `discard` and `undo`: what becomes of a run's change set.
//!
//! What touches the project is done by the workspace, holding a permit of the run's own broker: it
//! is decided by the run's frozen authority and recorded in the run's ledger first. Nothing is
//! applied that the receipt does not vouch for.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use api::{
    ApplyReport, ApplyRequest, Continued, DiffReport, DiffRequest, DiscardReport, FileDiff,
    HeldChange, Outcome, Problem, RunRequest, UndoReport, exit,
};
use broker::{Act, Broker, Permit};
use ledger::{CheckedReceipt, Ledger, Verdict};
use names::Digest;
use policy::{Apply, Authority, Discard, Kind, Mode, Undo};
use rustix::process::Signal;
use sandbox::Layout;
use serde::Serialize;
use sys::signal::SignalFd;
use workspace::{ApplyError, ApplyPlan, Change, ChangeSet, DiffOptions, Protected, Selection, Why};

use crate::change_view::{change, held};
use crate::evidence::Evidence;
use crate::inspect::{authority, find, no_receipt};
use crate::policy_commands::mode;
use crate::problem::{IntoProblem, OrProblem as _, unsafe_because};
use crate::records::{counts, outcome};
use crate::settings::Settings;
use crate::state::{Event, Position, State, recover};
use crate::store::{self, RunDirectory, RunLock, Start, Store, StoreError};
use crate::story::{Story, Verified};
use crate::{keys, rescue};

/// How long to wait for a process that only looks at the run.
const PATIENCE: Duration = Duration::from_millis(20);
const TRIES: u32 = 10;

/// `loop diff`.
pub(crate) fn diff(settings: &Settings, request: &DiffRequest) -> Result<DiffReport, Problem> {
    let run = find_changed(settings, &request.run)?;
    let start = run.start().or_problem()?;
    let state = Position::read(&run, run.is_busy())?.sound(&run)?;
    if matches!(state, State::Discarded | State::HalfDiscarded(_)) {
        return Err(ApplyError::State(state).into_problem());
    }
    let upper = Layout::of(run.path()).upper();
    let set = match run.receipt().exists() {
        true => sealed(settings, &run, Trust::InSubjects)?,
        false => unsealed(&run, &start, &upper)?,
    };
    let entries: Vec<_> = set.entries().iter().map(change).collect();
    let files = if request.texts { texts(&set, &run, &start, &upper)? } else { Vec::new() };
    Ok(DiffReport {
        mode: mode(authority(&run)?.mode),
        change_set: set.digest().or_problem()?,
        counts: counts(set.counts()),
        run: run.id,
        entries,
        files,
    })
}

/// The texts. Where the change set was applied, the run's directory has what was there before.
fn texts(
    set: &ChangeSet,
    run: &RunDirectory,
    start: &Start,
    upper: &Path,
) -> Result<Vec<FileDiff>, Problem> {
    if set.is_empty() {
        // Then the run may have left no directory to read from.
        return Ok(Vec::new());
    }
    let options = DiffOptions { store: Some(run.path().to_owned()), ..DiffOptions::default() };
    let files = workspace::unified_diff(set, upper, &start.project, &options).or_problem()?;
    let file = |file: workspace::FileDiff| FileDiff { text: file.to_string(), path: file.path };
    Ok(files.into_iter().map(file).collect())
}

/// What a run left that was interrupted before its change set was made; nothing writes to it any
/// longer.
fn unsealed(run: &RunDirectory, start: &Start, upper: &Path) -> Result<ChangeSet, Problem> {
    let _lock = lock(run)?;
    workspace::read_changes(upper, &start.project, &Protected::default()).or_problem()
}

/// The run whose changes a request means: the newest of the project that has any of its own, where
/// none is named.
fn find_changed(settings: &Settings, request: &RunRequest) -> Result<RunDirectory, Problem> {
    if request.run.is_some() {
        return find(settings, request);
    }
    let project = settings.project(request.dir.as_deref())?.root;
    Store::new(settings.runs()).newest_changed(&project).or_problem()
}

/// The same, which must be of the project that it is made in: nobody expects
/// a command in one project to write to another.
pub(crate) fn find_here(
    settings: &Settings,
    request: &RunRequest,
) -> Result<RunDirectory, Problem> {
    let run = find_changed(settings, request)?;
    let (of, here) = (run.start().or_problem()?.project, settings.project(request.dir.as_deref())?);
    if of == here.root {
        return Ok(run);
    }
    let what = format!("run {} is of another project: {}", run.id, of.display());
    Err(Problem::new(exit::UNSAFE, what).with_next("do it there"))
}

/// `loop apply`.
pub(crate) fn apply(settings: &Settings, request: &ApplyRequest) -> Result<ApplyReport, Problem> {
    let run = find_here(settings, &request.run)?;
    if request.dry_run {
        let set = sealed(settings, &run, Trust::InSigner)?;
        let plan = plan(&set, request)?;
        return report(run, &set, &plan, true);
    }
    rescue::seal_interrupted(settings, &run)?;
    let mut opened = Opened::to_the_end(settings, run)?;
    opened.refuse_what_is_anothers()?;
    opened.may(Event::Apply)?;
    let set = sealed(settings, &opened.run, Trust::InSigner)?;
    let selection = selection(&set, request)?;
    let plan = workspace::plan(&set, &selection).or_problem()?;
    if plan.paths.is_empty() {
        return Err(nothing(opened.broker.authority().mode, &set, plan));
    }
    let act = Apply {
        run: opened.run.id.clone(),
        change_set: set.digest().or_problem()?,
        paths: plan.paths.len() as u64,
        flagged: plan.flagged.iter().map(ToString::to_string).collect(),
    };
    let upper = Layout::of(opened.run.path()).upper();
    let (base, store) = (opened.start.project.clone(), opened.run.path().to_owned());
    let earlier = earlier(settings, opened.continues.clone());
    opened.carry_out(act, |permit| {
        let applied = workspace::apply(permit, &set, &earlier, &upper, &base, &store, &selection)?;
        let (paths, held) = (applied.paths.len() as u64, applied.left.len() as u64);
        Ok::<_, ApplyError>(Numbers { paths, held })
    })?;
    report(opened.run, &set, &plan, false)
}

/// The change sets of the runs whose changes this one began with, newest first. One that is gone,
/// or whose receipt is not the one that the later run's ledger names, vouches for nothing: then the
/// project has to hold what it held before it.
fn earlier(settings: &Settings, mut continues: Option<Continued>) -> Vec<ChangeSet> {
    let mut sets = Vec::new();
    while let Some(Continued { run, receipt }) = continues.take() {
        let found = Store::new(settings.runs()).named(&run);
        let vouched =
            store::read(&found.receipt()).is_ok_and(|bytes| Digest::of(&bytes) == receipt);
        let Some(set) = vouched.then(|| sealed(settings, &found, Trust::InSigner).ok()).flatten()
        else {
            break;
        };
        sets.push(set);
        // Each names the receipt before it by its digest, so there is no circle, and an end.
        continues = frozen(&found).ok().and_then(|(_, story)| story.start?.continues);
    }
    sets
}

fn plan(set: &ChangeSet, request: &ApplyRequest) -> Result<ApplyPlan, Problem> {
    workspace::plan(set, &selection(set, request)?).or_problem()
}

/// What the person named. Naming a flagged path asks for it too; a name that means nothing is an
/// error, not a smaller selection.
fn selection(set: &ChangeSet, request: &ApplyRequest) -> Result<Selection, Problem> {
    let known = |path: &&names::WorkspacePath| {
        set.entries().iter().any(|entry| entry.path.starts_with(path))
    };
    if let Some(stray) = request.flagged.iter().find(|path| !known(path)) {
        return Err(
            ApplyError::from(workspace::SelectError::NoSuchPath(stray.clone())).into_problem()
        );
    }
    let selection = if request.paths.is_empty() {
        Selection::all()
    } else {
        Selection::only(request.paths.iter().chain(&request.flagged).cloned().collect())
    };
    Ok(selection.with_flagged(request.flagged.clone()))
}

fn nothing(mode: Mode, set: &ChangeSet, plan: ApplyPlan) -> Problem {
    if mode == Mode::Direct {
        let what = "nothing to apply: what the run changed is in the project already";
        return Problem::new(exit::NO, what);
    }
    if set.is_empty() {
        return Problem::new(exit::NO, "the run changed nothing, so there is nothing to apply");
    }
    if set.entries().iter().all(Change::is_git_metadata) {
        let what = "nothing to apply: only Git's own files changed, and they stay in the run";
        return Problem::new(exit::NO, what).with_next("`loop diff --git` shows them");
    }
    ApplyError::Nothing { left: plan.left }.into_problem()
}

fn report(
    run: RunDirectory,
    set: &ChangeSet,
    plan: &ApplyPlan,
    dry_run: bool,
) -> Result<ApplyReport, Problem> {
    let entry = |path: &names::WorkspacePath| {
        let at = set.entries().binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        set.entries().get(at)
    };
    let applied: Vec<_> = plan.paths.iter().filter_map(entry).map(change).collect();
    let held: Vec<_> = plan
        .left
        .iter()
        .filter_map(|left| {
            let approvable = matches!(left.why, Why::NeedsApproval(_));
            Some(HeldChange { change: held(entry(&left.path)?, &left.why), approvable })
        })
        .collect();
    let seen = applied.iter().chain(held.iter().map(|held| &held.change));
    let seen = seen.filter(|change| !change.directory && !change.is_git_metadata()).count() as u64;
    Ok(ApplyReport {
        outcome: claimed(&run),
        run: run.id,
        change_set: set.digest().or_problem()?,
        left_out: counts(set.counts()).total().saturating_sub(seen),
        applied,
        held,
        dry_run,
    })
}

/// What the run's receipt claims.
fn claimed(run: &RunDirectory) -> Option<Outcome> {
    let receipt = CheckedReceipt::parse(&store::read(&run.receipt()).ok()?).ok()?;
    Some(outcome(receipt.statement().predicate.outcome))
}

/// `loop discard`.
pub(crate) fn discard(settings: &Settings, request: &RunRequest) -> Result<DiscardReport, Problem> {
    let run = find_changed(settings, request)?;
    if is_nothing(&run)? {
        sandbox::remove_tree(run.path()).map_err(store::at(run.path())).or_problem()?;
        return Ok(DiscardReport { run: run.id, entries: 0, git: 0 });
    }
    let mut opened = Opened::to_the_end(settings, run)?;
    let layout = Layout::of(opened.run.path());
    if opened.broker.authority().mode == Mode::Direct {
        clear_away(&layout, opened.start.git.len())?;
        let what = "nothing to drop: what the run changed is in the project already";
        return Err(Problem::new(exit::NO, what));
    }
    let set = dropped(&opened)?;
    let (act, store) = (Discard { run: opened.run.id.clone() }, opened.run.path().to_owned());
    opened.carry_out(act, |permit| {
        workspace::discard(permit, &layout.upper(), &store)?;
        Ok::<_, ApplyError>(Numbers { paths: set.entries().len() as u64, held: 0 })
    })?;
    clear_away(&layout, opened.start.git.len())?;
    let counts = counts(set.counts());
    Ok(DiscardReport { run: opened.run.id, entries: counts.total(), git: counts.git })
}

/// Whether a run died before anything of it was on record. Its start is durable before anything runs,
/// so it is no more than a directory then.
pub(crate) fn is_nothing(run: &RunDirectory) -> Result<bool, Problem> {
    let _lock = lock(run)?;
    if run.receipt().exists() {
        return Ok(false);
    }
    let ledger = Verified::read(run, false)?;
    Ok(ledger.chain.count == 0 && ledger.flaw().is_none())
}

/// Only a discard can do something with a run that never stood.
pub(crate) fn never_stood(run: &RunDirectory) -> Problem {
    let what = format!("run {} was interrupted before its sandbox stood", run.id);
    Problem::new(exit::UNSAFE, what).with_next("`loop discard` drops it")
}

/// What a dead control plane could not clear away.
fn clear_away(layout: &Layout, git: usize) -> Result<(), Problem> {
    let git = (0..git).map(|number| layout.git_upper(number));
    [layout.scratch(), layout.work()]
        .into_iter()
        .chain(git)
        .try_for_each(|rest| sandbox::remove_tree(&rest).map_err(store::at(&rest)).or_problem())
}

/// The change set that a discard drops. One that is malformed, or was never made, can be dropped
/// too, and counts as empty.
fn dropped(opened: &Opened) -> Result<ChangeSet, Problem> {
    let path = opened.run.changes();
    if !path.exists() {
        return Ok(ChangeSet::empty());
    }
    let bytes = store::read(&path).map_err(store::at(&path)).or_problem()?;
    Ok(ChangeSet::parse(&bytes).unwrap_or_else(|_| ChangeSet::empty()))
}

/// `loop undo`.
pub(crate) fn undo(settings: &Settings, request: &RunRequest) -> Result<UndoReport, Problem> {
    let mut opened = Opened::to_the_end(settings, find_here(settings, request)?)?;
    let (base, store) = (opened.start.project.clone(), opened.run.path().to_owned());
    let mut restored = Vec::new();
    opened.carry_out(Undo { run: opened.run.id.clone() }, |permit| {
        restored = workspace::undo(permit, &base, &store)?.paths;
        Ok::<_, ApplyError>(Numbers { paths: restored.len() as u64, held: 0 })
    })?;
    Ok(UndoReport { run: opened.run.id, restored })
}

/// The result of an act, as it is recorded. Paths could be too many for a record; the change set
/// and the journal have them.
#[derive(Debug, Serialize)]
struct Numbers {
    /// Paths that were carried out.
    paths: u64,
    /// Selected entries that were held.
    held: u64,
}

#[derive(Debug, Serialize)]
struct Failed {
    error: String,
}

/// A run whose change set this process may do something with.
pub(crate) struct Opened {
    pub(crate) run: RunDirectory,
    pub(crate) start: Start,
    /// The run whose changes it began with.
    continues: Option<Continued>,
    /// The run whose checks it re-executed.
    verifies: Option<Continued>,
    state: State,
    broker: Broker,
    /// Signals that wait, if what is done can't be left half done.
    held: Option<SignalFd>,
    _lock: RunLock,
}

impl Opened {
    /// Takes the run, reopens its ledger under its frozen authority, and takes back what a crash
    /// left half done.
    ///
    /// # Errors
    /// When somebody else has it, or its files don't hold or don't fit together.
    pub(crate) fn open(settings: &Settings, run: RunDirectory) -> Result<Self, Problem> {
        if is_nothing(&run)? {
            return Err(never_stood(&run));
        }
        let lock = lock(&run)?;
        let start = run.start().or_problem()?;
        // First of all a line that a crash tore is cut off.
        let ledger = Ledger::reopen(&run.ledger(), &run.id, settings.clock).or_problem()?;
        let (key, _) = keys::signing_key(settings)?;
        ledger.sign_heads(&run.heads(), key).or_problem()?;
        let (authority, story) = frozen(&run)?;
        let state = recover(&run, &start.project, &story.course, &ledger)?;
        let (continues, verifies) =
            story.start.map(|start| (start.continues, start.verifies)).unwrap_or_default();
        let broker = Broker::new(Arc::new(authority), ledger);
        Ok(Self { run, start, continues, verifies, state, broker, held: None, _lock: lock })
    }

    /// The same, for what is all or nothing: from now on a signal can end this process no more. One
    /// that comes before the act begins keeps it from beginning.
    ///
    /// # Errors
    /// As there.
    fn to_the_end(settings: &Settings, run: RunDirectory) -> Result<Self, Problem> {
        // Before the ledger has a thread, which would still be ended by them.
        let held = SignalFd::block(&[Signal::INT, Signal::TERM, Signal::HUP]);
        let held = Some(held.map_err(unsafe_because)?);
        Ok(Self { held, ..Self::open(settings, run)? })
    }

    /// A run that checked another's changes again has none of its own.
    fn refuse_what_is_anothers(&self) -> Result<(), Problem> {
        let Some(Continued { run, .. }) = &self.verifies else { return Ok(()) };
        let what = format!("run {} only checked run {run} again", self.run.id);
        Err(Problem::new(exit::NO, what).with_next(format!("`loop apply {run}`")))
    }

    /// Whether that can happen to the run.
    ///
    /// # Errors
    /// When it can't, with what can.
    pub(crate) fn may(&self, event: Event) -> Result<(), Problem> {
        self.state.after(event).map(drop).map_err(ApplyError::from).or_problem()
    }

    /// Decides, records, carries out, records.
    ///
    /// # Errors
    /// When the run's state or the authority don't allow it, when it could not be done, or when it
    /// can't be recorded.
    pub(crate) fn carry_out<A: Act, R: Serialize, E: Display + IntoProblem>(
        &mut self,
        act: A,
        effect: impl FnOnce(&Permit<A>) -> Result<R, E>,
    ) -> Result<(), Problem> {
        let (begins, succeeds, fails) = events(A::KIND);
        let during = self.state.after(begins).map_err(ApplyError::from).or_problem()?;
        self.is_still_wanted()?;
        let before = workspace::state(self.run.path()).or_problem()?;
        let permit = self.broker.request(act).or_problem()?;
        let (event, told, recorded) = match effect(&permit) {
            Ok(done) => (succeeds, None, self.broker.complete(permit, &done)),
            // Half done, and not taken back: nobody can say yet what came of it. Whoever opens the
            // run next finds out.
            Err(error) if workspace::state(self.run.path()).ok() != Some(before) => {
                return Err(error.into_problem());
            }
            Err(error) => {
                let recorded = self.broker.complete(permit, &Failed { error: error.to_string() });
                (fails, Some(error.into_problem()), recorded)
            }
        };
        self.state = during.after(event).map_err(ApplyError::from).or_problem()?;
        match (told, recorded.or_problem()) {
            (None, Ok(())) => Ok(()),
            (None, Err(ledger)) => {
                let what = format!("it was done, but could not be recorded: {}", ledger.what);
                Err(Problem { what, ..ledger })
            }
            (Some(problem), Ok(())) => Err(problem),
            (Some(problem), Err(ledger)) => {
                let what = format!("{}; besides, {}", problem.what, ledger.what);
                Err(Problem { what, ..problem })
            }
        }
    }

    fn is_still_wanted(&self) -> Result<(), Problem> {
        match self.held.as_ref().map(SignalFd::next).transpose().map_err(unsafe_because)?.flatten()
        {
            None => Ok(()),
            Some(_) => Err(Problem::new(exit::INTERRUPTED, "interrupted before it began")),
        }
    }
}

/// What an act on a change set is to its run: that it begins, that it succeeded, that it failed.
fn events(kind: Kind) -> (Event, Event, Event) {
    match kind {
        Kind::Apply => (Event::Apply, Event::Succeed, Event::Fail),
        Kind::Undo => (Event::Undo, Event::Succeed, Event::Fail),
        Kind::Discard => (Event::Discard, Event::Succeed, Event::Fail),
        Kind::Branch => (Event::Branch, Event::Branched, Event::Branched),
        _ => (Event::Do, Event::Done, Event::Done),
    }
}

/// Waits a moment for a process that only looks; one that works on the run is told.
pub(crate) fn lock(run: &RunDirectory) -> Result<RunLock, Problem> {
    for _ in 1..TRIES {
        match run.lock() {
            Err(StoreError::Busy(_)) => thread::sleep(PATIENCE),
            other => return other.or_problem(),
        }
    }
    run.lock().or_problem()
}

/// The authority of the run, if it is the one that the ledger names, and what the ledger tells.
pub(crate) fn frozen(run: &RunDirectory) -> Result<(Authority, Story), Problem> {
    let authority = authority(run)?;
    let ledger = Verified::read(run, false)?;
    if let Some(problem) = &ledger.chain.problem {
        return Err(StoreError::Malformed { path: run.ledger(), problem: problem.clone() })
            .or_problem();
    }
    let story = Story::read(run, &ledger)?;
    // Of a run that died before it was on record, nothing ran under any.
    let named = story.start.as_ref().map(|start| start.authority);
    if named.is_none_or(|named| named == authority.digest()) {
        return Ok((authority, story));
    }
    let problem = "it is not the authority that the run's ledger names".to_owned();
    Err(StoreError::Malformed { path: run.authority(), problem }).or_problem()
}

/// How much of a receipt has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// To show a change set: it is the one that the receipt is about.
    InSubjects,
    /// To apply it: besides, a trusted key signed, over an intact ledger.
    InSigner,
}

/// The change set that the run's receipt vouches for.
///
/// # Errors
/// When there is no receipt, or it does not vouch for what is there; then the receipt is named.
pub(crate) fn sealed(
    settings: &Settings,
    run: &RunDirectory,
    trust: Trust,
) -> Result<ChangeSet, Problem> {
    let receipt = run.receipt();
    if !receipt.exists() {
        return Err(no_receipt(run));
    }
    let evidence = Evidence::read(run.path())?;
    // What only is shown may be of a clock that was ahead.
    let now = (trust == Trust::InSigner).then(|| (settings.clock)());
    let verdict = evidence.judge(keys::trusted_by_verifier(settings)?, BTreeSet::new(), now);
    let mut required = vec![&verdict.form, &verdict.subjects];
    if trust == Trust::InSigner {
        required.extend([&verdict.signature, &verdict.chain]);
        required.extend(&verdict.heads);
    }
    required.into_iter().try_for_each(|verdict| vouches(&receipt, verdict))?;
    ChangeSet::parse(&evidence.changes)
        .map_err(|error| StoreError::Malformed { path: run.changes(), problem: error.to_string() })
        .or_problem()
}

fn vouches(receipt: &Path, verdict: &Verdict) -> Result<(), Problem> {
    let why = match verdict {
        Verdict::Holds => return Ok(()),
        Verdict::Fails(flaw) => flaw.to_string(),
        Verdict::NotChecked(why) => (*why).to_owned(),
    };
    let receipt = receipt.display();
    let what = format!("the receipt {receipt} does not vouch for this change set: {why}");
    Err(Problem::new(exit::UNSAFE, what).with_next(format!("see `loop receipt verify {receipt}`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::fixture::World;
    use crate::inspect;
    use crate::witness::witness;
    use api::{ChangeKind, RunState, WitnessRequest};
    use names::{Timestamp, WorkspacePath};
    use serde_json::json;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    fn world() -> World {
        let world = World::new();
        world.file("a.txt", "one\n");
        world.run(&[("a.txt", "two\n"), ("src/new.rs", "fn f() {}\n"), ("AGENTS.md", "obey\n")]);
        world
    }

    fn applied(world: &World, request: &ApplyRequest) -> Vec<String> {
        let report = apply(&world.settings, request).unwrap();
        report.applied.iter().map(|change| change.path.to_string()).collect()
    }

    fn state(world: &World) -> RunState {
        inspect::show(&world.settings, &world.newest()).unwrap().summary.state
    }

    fn kinds(world: &World) -> Vec<String> {
        let report = inspect::audit(&world.settings, &world.newest()).unwrap();
        assert!(report.chain.intact, "{:?}", report.chain);
        assert!(report.records.iter().all(|record| !record.outcome_unknown));
        report.records.into_iter().skip(7).map(|record| record.kind).collect()
    }

    #[test]
    fn a_diff_shows_entries_and_texts() {
        let world = world();
        let report =
            diff(&world.settings, &DiffRequest { run: world.newest(), texts: true }).unwrap();
        let kinds: Vec<_> =
            report.entries.iter().map(|entry| (entry.path.to_string(), entry.kind)).collect();
        let add = ChangeKind::Add;
        let expected =
            [("AGENTS.md", add), ("a.txt", ChangeKind::Edit), ("src", add), ("src/new.rs", add)];
        assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));
        assert_eq!(report.entries[0].flags[0].flag, "instruction-file");
        let text = &report.files.iter().find(|file| file.path == path("a.txt")).unwrap().text;
        assert!(text.contains("-one") && text.contains("+two"), "{text}");
    }

    #[test]
    fn apply_undo_apply_discard() {
        let world = world();
        let all = || applied(&world, &ApplyRequest::default());
        assert_eq!(all(), ["a.txt", "src", "src/new.rs"]);
        assert_eq!(world.text("a.txt"), "two\n");
        assert!(!world.project.join("AGENTS.md").exists());
        assert_eq!(state(&world), RunState::Applied);
        let twice = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(twice.what.contains("applied"), "{}", twice.what);

        undo(&world.settings, &world.newest()).unwrap();
        assert_eq!(world.text("a.txt"), "one\n");
        assert_eq!(state(&world), RunState::Undone);
        assert_eq!(all().len(), 3);
        undo(&world.settings, &world.newest()).unwrap();
        assert_eq!(discard(&world.settings, &world.newest()).unwrap().entries, 3);
        assert_eq!(state(&world), RunState::Discarded);
        let gone = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(gone.what.contains("discarded"), "{}", gone.what);
        assert!(diff(&world.settings, &DiffRequest::default()).is_err());
        // What can't happen is not even intended.
        let expected = [
            "apply.intent",
            "apply.result",
            "undo.intent",
            "undo.result",
            "apply.intent",
            "apply.result",
            "undo.intent",
            "undo.result",
            "discard.intent",
            "discard.result",
        ];
        assert_eq!(kinds(&world), expected);
    }

    #[test]
    fn a_receipt_of_the_future_is_shown_and_not_applied() {
        let mut world = world();
        world.settings.clock = || Timestamp::parse("2001-01-01T00:00:00.000Z").unwrap();
        assert_eq!(diff(&world.settings, &DiffRequest::default()).unwrap().entries.len(), 4);
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("does not vouch"), "{}", problem.what);
        assert!(problem.what.contains("2001-01-01"), "{}", problem.what);
        assert_eq!(world.text("a.txt"), "one\n");
    }

    #[test]
    fn what_signed_heads_know_of_is_not_cut_away() {
        let world = world();
        applied(&world, &ApplyRequest::default());
        undo(&world.settings, &world.newest()).unwrap();
        let run = find(&world.settings, &world.newest()).unwrap();
        let to = world.settings.homes.home.join("kept");
        let request = WitnessRequest { run: world.newest(), to, key: None };
        assert!(witness(&world.settings, &request).unwrap().added);
        fs::copy(&request.to, run.heads()).unwrap();
        let dry = ApplyRequest { dry_run: true, ..ApplyRequest::default() };
        apply(&world.settings, &dry).unwrap();
        let bytes = fs::read(run.ledger()).unwrap();
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        fs::write(run.ledger(), lines[..lines.len() - 4].concat()).unwrap();
        let problem = apply(&world.settings, &dry).unwrap_err();
        assert!(problem.what.contains("cut short"), "{}", problem.what);
        assert!(apply(&world.settings, &ApplyRequest::default()).is_err());
        assert_eq!(world.text("a.txt"), "one\n");
    }

    #[test]
    fn nothing_is_applied_beside_heads_that_are_forged() {
        let world = world();
        let run = find(&world.settings, &world.newest()).unwrap();
        let to = world.settings.homes.home.join("kept");
        let request = WitnessRequest { run: world.newest(), to, key: None };
        assert!(witness(&world.settings, &request).unwrap().added);
        let right = fs::read_to_string(&request.to).unwrap();
        let dry = || {
            let dry = ApplyRequest { dry_run: true, ..ApplyRequest::default() };
            apply(&world.settings, &dry)
        };
        fs::write(run.heads(), &right).unwrap();
        dry().unwrap();
        fs::write(run.heads(), right.replace("\"count\":7,", "\"count\":6,")).unwrap();
        let problem = dry().unwrap_err();
        assert!(problem.what.contains("does not vouch"), "{}", problem.what);
    }

    #[test]
    fn flagged_entries_are_held_unless_they_are_named() {
        let world = world();
        let report =
            apply(&world.settings, &ApplyRequest { dry_run: true, ..ApplyRequest::default() });
        let report = report.unwrap();
        assert_eq!(report.held[0].change.path, path("AGENTS.md"));
        assert!(report.held[0].approvable && report.dry_run);
        assert_eq!(world.text("a.txt"), "one\n");
        let stray = ApplyRequest { flagged: vec![path("AGENT.md")], ..ApplyRequest::default() };
        assert_eq!(apply(&world.settings, &stray).unwrap_err().code, exit::NOT_FOUND);
        let unapproved = ApplyRequest { paths: vec![path("AGENTS.md")], ..ApplyRequest::default() };
        assert_eq!(apply(&world.settings, &unapproved).unwrap_err().code, exit::DENIED);
        let some = ApplyRequest {
            paths: vec![path("a.txt")],
            flagged: vec![path("AGENTS.md")],
            ..ApplyRequest::default()
        };
        assert_eq!(applied(&world, &some), ["AGENTS.md", "a.txt"]);
        assert_eq!(world.text("AGENTS.md"), "obey\n");
        assert!(!world.project.join("src").exists());
    }

    #[test]
    fn a_flagged_file_brings_its_directory() {
        let world = World::new();
        world.run(&[(".vscode/tasks.json", "{}\n"), ("a.txt", "two\n")]);
        let tasks = path(".vscode/tasks.json");
        let request = ApplyRequest { flagged: vec![tasks.clone()], ..ApplyRequest::default() };
        assert_eq!(applied(&world, &request), [".vscode", ".vscode/tasks.json", "a.txt"]);
        undo(&world.settings, &world.newest()).unwrap();
        assert!(!world.project.join(".vscode").exists());
        let only = ApplyRequest { paths: vec![tasks], ..request };
        assert_eq!(applied(&world, &only), [".vscode", ".vscode/tasks.json"]);
    }

    #[test]
    fn only_what_a_person_decides_on_is_counted() {
        let world = World::new();
        world.run(&[
            (".git/objects/ab/cd", "blob"),
            (".git/index", "index"),
            (".vscode/tasks.json", "{}\n"),
            ("src/a.rs", "fn a() {}\n"),
            ("src/b.rs", "fn b() {}\n"),
        ]);
        let counts = diff(&world.settings, &DiffRequest::default()).unwrap().counts;
        assert_eq!((counts.total(), counts.flagged, counts.git), (3, 1, 2));
        let one = ApplyRequest { paths: vec![path("src/a.rs")], ..ApplyRequest::default() };
        let report = apply(&world.settings, &one).unwrap();
        assert_eq!((report.applied.len(), report.left_out), (2, 2));
        assert!(report.applied[0].directory && !report.applied[1].directory);
        undo(&world.settings, &world.newest()).unwrap();
        let dropped = discard(&world.settings, &world.newest()).unwrap();
        assert_eq!((dropped.entries, dropped.git), (3, 2));
    }

    #[test]
    fn gits_own_files_alone_are_nothing_to_apply() {
        let world = World::new();
        world.run(&[(".git/refs/heads/main", "0\n")]);
        assert_eq!(state(&world), RunState::Ready);
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert_eq!(problem.code, exit::NO);
        assert!(problem.what.contains("Git's own files"), "{}", problem.what);
    }

    #[test]
    fn a_base_that_moved_is_not_written() {
        let world = world();
        world.file("a.txt", "mine\n");
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("a.txt"), "{}", problem.what);
        assert_eq!(world.text("a.txt"), "mine\n");
        assert!(!world.project.join("src").exists());
        assert_eq!(kinds(&world), ["apply.intent", "apply.result"]);
    }

    #[test]
    fn an_edit_after_apply_stops_undo() {
        let world = world();
        applied(&world, &ApplyRequest::default());
        world.file("a.txt", "mine\n");
        assert!(undo(&world.settings, &world.newest()).unwrap_err().what.contains("a.txt"));
        assert_eq!(world.text("a.txt"), "mine\n");
        assert_eq!(state(&world), RunState::Applied);
    }

    #[test]
    fn what_the_receipt_does_not_vouch_for_is_not_applied() {
        let world = World::new();
        world.file("a.txt", "one\n");
        let run = world.run(&[("a.txt", "two\n")]);
        let other = world.run(&[("a.txt", "evil\n")]);
        let request = ApplyRequest {
            run: RunRequest { run: Some(run.id.to_string()), dir: None },
            ..ApplyRequest::default()
        };
        let original = |file: &Path| fs::read(file).unwrap();
        for (file, from) in [
            (run.changes(), other.changes()),
            (run.receipt(), other.receipt()),
            (run.ledger(), other.ledger()),
        ] {
            let right = original(&file);
            fs::copy(from, &file).unwrap();
            assert!(apply(&world.settings, &request).is_err(), "{}", file.display());
            fs::write(&file, right).unwrap();
        }
        let upper = Layout::of(run.path()).upper().join("a.txt");
        fs::write(&upper, "evil\n").unwrap();
        assert!(apply(&world.settings, &request).unwrap_err().what.contains("a.txt"));
        fs::write(&upper, "two\n").unwrap();
        assert_eq!(world.text("a.txt"), "one\n");
        fs::remove_file(world.settings.key_file()).unwrap();
        let problem = apply(&world.settings, &request).unwrap_err();
        assert!(problem.what.contains(&run.receipt().display().to_string()), "{}", problem.what);
    }

    #[test]
    fn the_authority_must_be_the_one_that_the_ledger_names() {
        let world = World::new();
        let run = world.run(&[("a.txt", "two\n")]);
        let text = fs::read_to_string(run.authority()).unwrap();
        fs::write(run.authority(), text.replace("\"ada\"", "\"eve\"")).unwrap();
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("authority.json"), "{}", problem.what);
    }

    #[test]
    fn a_rule_of_the_owner_can_deny_it() {
        let world = World::new();
        let rule = "[[rule]]\nid = \"no-apply\"\naction = \"apply\"\nverdict = \"deny\"\n";
        world.write(&world.settings.owner_file(), rule);
        world.run(&[("a.txt", "two\n")]);
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert_eq!(problem.code, exit::DENIED);
        let rule = problem.rule.unwrap();
        assert_eq!((rule.id.as_str(), rule.line), ("no-apply", 1));
        assert!(!world.project.join("a.txt").exists());
        let told = inspect::show(&world.settings, &world.newest()).unwrap();
        assert_eq!(told.denials[0].action, "apply");
    }

    #[test]
    fn a_run_that_is_in_use_is_left_alone() {
        let world = World::new();
        let run = world.run(&[("a.txt", "two\n")]);
        let lock = run.lock().unwrap();
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("in use"), "{}", problem.what);
        drop(lock);
        assert_eq!(applied(&world, &ApplyRequest::default()), ["a.txt"]);
    }

    #[test]
    fn what_an_interrupted_run_left_can_be_shown_and_applied() {
        let world = World::new();
        let run = world.interrupted(&[("a.txt", "half\n")]);
        let mut ledger = fs::read(run.ledger()).unwrap();
        ledger.extend_from_slice(b"{\"body\":{\"torn");
        fs::write(run.ledger(), ledger).unwrap();
        let report = diff(&world.settings, &DiffRequest { texts: true, ..DiffRequest::default() });
        assert_eq!(report.unwrap().entries.len(), 1);
        assert_eq!(state(&world), RunState::Interrupted);

        assert_eq!(applied(&world, &ApplyRequest::default()), ["a.txt"]);
        assert_eq!(world.text("a.txt"), "half\n");
        let told = inspect::show(&world.settings, &world.newest()).unwrap();
        assert_eq!(told.summary.outcome, Some(api::Outcome::Stopped));
        assert_eq!((told.summary.exit_code, told.summary.state), (None, RunState::Applied));
        let expected = ["changes", "run.end", "apply.intent", "apply.result"];
        assert_eq!(kinds(&world), expected);
        let report = inspect::audit(&world.settings, &world.newest()).unwrap();
        let mut found = report.records.iter().filter(|record| record.kind == "recovered");
        assert!(found.next().unwrap().body.get("ledger_cut").is_some());
        let body = &found.next().unwrap().body;
        assert_eq!(*body, json!({"interrupted": "working", "state": "interrupted", "kept": 0}));
    }

    /// The effect came, and no result: as after a crash.
    fn without_a_result(world: &World, kind: &'static str) {
        let run = find(&world.settings, &world.newest()).unwrap();
        let bytes = fs::read(run.ledger()).unwrap();
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let (last, rest) = lines.split_last().unwrap();
        assert!(String::from_utf8_lossy(last).contains(kind));
        fs::write(run.ledger(), rest.concat()).unwrap();
        // Nothing signs a head that is not on disk, so a crash leaves none of the last record.
        if run.heads().exists() {
            fs::remove_file(run.heads()).unwrap();
        }
    }

    #[test]
    fn an_effect_without_a_result_is_found_out_and_not_done_again() {
        let world = world();
        applied(&world, &ApplyRequest::default());
        without_a_result(&world, "apply.result");
        assert_eq!(state(&world), RunState::Applied);
        let twice = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(twice.what.contains("the change set is applied"), "{}", twice.what);
        let report = inspect::audit(&world.settings, &world.newest()).unwrap();
        let [.., intent, found] = report.records.as_slice() else { panic!("{report:?}") };
        assert!(intent.kind == "apply.intent" && intent.outcome_unknown);
        assert_eq!(found.body, json!({"interrupted": "applying", "state": "applied", "kept": 0}));

        undo(&world.settings, &world.newest()).unwrap();
        without_a_result(&world, "undo.result");
        assert_eq!(state(&world), RunState::Undone);
        discard(&world.settings, &world.newest()).unwrap();
        without_a_result(&world, "discard.result");
        assert_eq!(state(&world), RunState::Discarded);
        discard(&world.settings, &world.newest()).unwrap();
        assert_eq!(state(&world), RunState::Discarded);
    }

    #[test]
    fn records_that_cannot_follow_are_named_and_nothing_is_done() {
        let world = world();
        let run = find(&world.settings, &world.newest()).unwrap();
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        ledger.commit("undo.intent", &json!({})).unwrap();
        drop(ledger);
        let told = inspect::show(&world.settings, &world.newest()).unwrap();
        assert_eq!(told.summary.state, RunState::Broken);
        let flaw = told.flaw.unwrap();
        assert_eq!(
            flaw,
            "record 7 (undo.intent): a run that is ready can't take the step \"undo\""
        );
        let problems = [
            apply(&world.settings, &ApplyRequest::default()).unwrap_err(),
            undo(&world.settings, &world.newest()).unwrap_err(),
            discard(&world.settings, &world.newest()).unwrap_err(),
            diff(&world.settings, &DiffRequest::default()).unwrap_err(),
        ];
        for problem in problems {
            assert!(problem.what.contains(&flaw), "{}", problem.what);
        }
        assert_eq!(world.text("a.txt"), "one\n");
    }

    #[test]
    fn a_directory_that_says_something_else_is_named() {
        let world = world();
        applied(&world, &ApplyRequest::default());
        without_a_result(&world, "apply.result");
        without_a_result(&world, "apply.intent");
        let told = inspect::show(&world.settings, &world.newest()).unwrap();
        assert_eq!(told.summary.state, RunState::Broken);
        assert!(told.flaw.unwrap().contains("apply/state.json says \"applied\""));
        assert!(undo(&world.settings, &world.newest()).is_err());
        assert_eq!(world.text("a.txt"), "two\n");
    }

    #[test]
    fn a_run_that_died_before_anything_was_on_record_can_be_dropped() {
        let world = World::new();
        let run = world.interrupted(&[]);
        fs::remove_dir(Layout::of(run.path()).upper()).unwrap();
        fs::write(run.ledger(), b"").unwrap();
        assert_eq!(state(&world), RunState::Interrupted);
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("before its sandbox stood"), "{}", problem.what);
        discard(&world.settings, &world.newest()).unwrap();
        assert!(!run.path().exists());

        let run = world.interrupted(&[]);
        let bytes = fs::read(run.ledger()).unwrap();
        let genesis = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap();
        fs::write(run.ledger(), genesis).unwrap();
        assert_eq!(state(&world), RunState::Interrupted);
        let problem = apply(&world.settings, &ApplyRequest::default()).unwrap_err();
        assert!(problem.what.contains("before its sandbox stood"), "{}", problem.what);
        discard(&world.settings, &world.newest()).unwrap();
        assert_eq!(state(&world), RunState::Discarded);
    }

    #[test]
    fn an_interrupted_run_can_be_dropped() {
        let world = World::new();
        world.interrupted(&[("a.txt", "half\n")]);
        discard(&world.settings, &world.newest()).unwrap();
        assert_eq!(state(&world), RunState::Discarded);
        let report = inspect::audit(&world.settings, &world.newest()).unwrap();
        assert_eq!(report.records.last().unwrap().kind, "discard.result");
    }
}
