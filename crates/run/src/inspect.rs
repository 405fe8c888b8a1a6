//! `loop runs`, `show`, `audit` and `receipt show`: a run, told from its files.
//!
//! Nothing here changes anything, and nothing in a file can make it fail but with a problem that
//! names the file.

use std::os::unix::fs::MetadataExt as _;

use api::{
    AgentView, AuditReport, ChangeCounts, LimitHit, Problem, ReceiptView, RunDetail, RunRequest,
    RunState, RunSummary, RunsRequest, exit,
};
use ledger::CheckedReceipt;
use names::canonical;
use policy::Authority;

use crate::branch::new_commits;
use crate::problem::OrProblem as _;
use crate::records;
use crate::settings::Settings;
use crate::state::{Position, State, directory};
use crate::store::{self, RunDirectory, Start, Store, StoreError};
use crate::story::{self, Story, Verified};
use crate::unchecked;

/// `loop runs`: newest first. A run whose files can't be told is listed as broken, and a directory
/// without a readable start is no run; naming either says what is wrong with it.
pub(crate) fn runs(settings: &Settings, request: &RunsRequest) -> Result<Vec<RunSummary>, Problem> {
    let store = Store::new(settings.runs());
    let mut runs = if request.all {
        store.started().or_problem()?
    } else {
        let project = settings.project(request.dir.as_deref())?;
        store.of_project(&project.root).or_problem()?
    };
    runs.truncate(request.limit.unwrap_or(usize::MAX));
    Ok(runs.into_iter().map(|(run, start)| listed(run, start)).collect())
}

fn listed(run: RunDirectory, start: Start) -> RunSummary {
    match Told::of(&run) {
        Ok(told) => summary(run, start, &told.story, told.state),
        Err(_) => summary(run, start, &Story::default(), RunState::Broken),
    }
}

/// The run that a request means.
///
/// # Errors
/// When none or more than one matches.
pub(crate) fn find(settings: &Settings, request: &RunRequest) -> Result<RunDirectory, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    Store::new(settings.runs()).find(request.run.as_deref(), &project.root).or_problem()
}

/// What the files of a run tell, besides its start.
struct Told {
    ledger: Verified,
    story: Story,
    state: RunState,
    /// What is wrong with what tells the state.
    flaw: Option<String>,
}

impl Told {
    fn of(run: &RunDirectory) -> Result<Self, Problem> {
        let busy = run.is_busy();
        let ledger = Verified::read(run, busy)?;
        let story = Story::read(run, &ledger)?;
        let Position { state, flaw } = Position::of(&story.course, busy, directory(run)?);
        let flaw = ledger.flaw().map(ToOwned::to_owned).or(flaw);
        let state = if flaw.is_some() { RunState::Broken } else { view(state, &story) };
        Ok(Self { ledger, story, state, flaw })
    }
}

fn summary(run: RunDirectory, start: Start, story: &Story, state: RunState) -> RunSummary {
    let end = story.end.as_ref();
    RunSummary {
        run: run.id,
        started: start.started,
        duration_ms: end.map(|(at, _)| {
            // A clock that was set back makes it 0, and a note says so.
            let took = at.as_millis().saturating_sub(start.started.as_millis());
            u64::try_from(took).unwrap_or(0)
        }),
        project: start.project,
        profile: start.profile,
        command: start.command,
        state,
        exit_code: end.and_then(|(_, end)| u8::try_from(end.exit?).ok()),
        outcome: end.map(|(_, end)| records::outcome(end.outcome)),
        // What a run only checked is another's.
        changes: match &story.changes {
            Some(changes) if !is_anothers(story) => changes.counts,
            _ => ChangeCounts::default(),
        },
        session: start.session,
    }
}

fn limit(story: &Story) -> Option<LimitHit> {
    let reached = story.limit.as_ref()?;
    Some(LimitHit { limit: reached.limit.clone(), allowed: reached.allowed.clone(), origin: None })
}

/// Where a run stands, for a client. What waits is told by whether there is anything.
fn view(state: State, story: &Story) -> RunState {
    match state {
        State::New | State::Preparing => RunState::Preparing,
        State::Working => RunState::Working,
        State::Waiting(_) => RunState::Waiting,
        State::Checking => RunState::Checking,
        State::Stopping | State::Sealing | State::Ended => RunState::Sealing,
        State::NeverStood | State::Interrupted | State::Gone => RunState::Interrupted,
        State::Ready if is_direct(story) => RunState::Direct,
        State::Ready if is_unchanged(story) => RunState::Unchanged,
        State::Ready => RunState::Ready,
        State::Applying(_) => RunState::Applying,
        State::Applied => RunState::Applied,
        State::Undoing => RunState::Undoing,
        State::Undone => RunState::Undone,
        State::Discarding(_) => RunState::Discarding,
        State::Discarded => RunState::Discarded,
        State::HalfApplied(_) => RunState::HalfApplied,
        State::HalfUndone => RunState::HalfUndone,
        State::HalfDiscarded(_) => RunState::HalfDiscarded,
    }
}

fn is_unchanged(story: &Story) -> bool {
    is_anothers(story)
        || story.changes.as_ref().is_none_or(|changes| {
            let counts = changes.counts;
            counts.total() == 0 && counts.git == 0
        })
}

/// Whether it only checked again what another run left.
fn is_anothers(story: &Story) -> bool {
    story.start.as_ref().is_some_and(|start| start.verifies.is_some())
}

fn is_direct(story: &Story) -> bool {
    story.start.as_ref().is_some_and(|start| start.mode == policy::Mode::Direct)
}

/// `loop show`.
pub(crate) fn show(settings: &Settings, request: &RunRequest) -> Result<RunDetail, Problem> {
    let run = find(settings, request)?;
    let start = run.start().or_problem()?;
    let authority = authority(&run)?;
    let Told { ledger, story, state, flaw } = Told::of(&run)?;
    let uid = uid_inside(&run)?;
    let measured = story.enforcement.as_ref();
    let commits = (!state.is_live()).then(|| new_commits(settings, &run, &start));
    Ok(RunDetail {
        commits: commits.flatten(),
        subject: start.subject.clone(),
        authority: story.start.as_ref().map_or_else(|| authority.digest(), |start| start.authority),
        change_set: story.changes.as_ref().map(|changes| changes.digest),
        continues: story.start.as_ref().and_then(|start| start.continues.clone()),
        verifies: story.start.as_ref().and_then(|start| start.verifies.clone()),
        verification: story.verification(&run)?,
        unchecked: unchecked::told(&start, &story),
        limit: limit(&story),
        agent: agent(&start, &story),
        approvals: story.answered.clone(),
        reached: story.connections.reached(),
        published: story.entries.published(&authority),
        denials: story.denials(&authority),
        learned: story.learned(&authority),
        ignored_project_keys: story.start.iter().flat_map(|start| start.ignored.clone()).collect(),
        enforcement: measured.map(|measured| story::enforcement(measured, &authority, uid)),
        flaw,
        chain: ledger.chain,
        directory: run.path().to_owned(),
        receipt: Some(run.receipt()).filter(|path| path.exists()),
        summary: summary(run, start, &story, state),
    })
}

/// What Loop's own agent did, if it was at work.
fn agent(start: &Start, story: &Story) -> Option<AgentView> {
    let session = start.agent.as_ref()?.to_string();
    Some(AgentView { session, ..story.agent.clone().unwrap_or_default() })
}

/// The frozen authority of a run.
///
/// # Errors
/// When the file is missing or malformed.
pub(crate) fn authority(run: &RunDirectory) -> Result<Authority, Problem> {
    let path = run.authority();
    let bytes = store::read(&path).map_err(store::at(&path)).or_problem()?;
    canonical::parse(&bytes)
        .map_err(|error| StoreError::Malformed { path, problem: error.to_string() })
        .or_problem()
}

/// The user that a run's commands had inside: that of the owner of its directory.
fn uid_inside(run: &RunDirectory) -> Result<u32, Problem> {
    let path = run.path();
    let owner = path.metadata().map_err(store::at(path)).or_problem()?.uid();
    Ok(sandbox::id_inside(owner))
}

/// `loop audit`.
pub(crate) fn audit(settings: &Settings, request: &RunRequest) -> Result<AuditReport, Problem> {
    let run = find(settings, request)?;
    let busy = run.is_busy();
    let ledger = Verified::read(&run, busy)?;
    let records = story::trace(&run, &ledger, busy)?;
    Ok(AuditReport { ledger: run.ledger(), run: run.id, chain: ledger.chain, records })
}

/// `loop receipt show`.
pub(crate) fn receipt(settings: &Settings, request: &RunRequest) -> Result<ReceiptView, Problem> {
    let run = find(settings, request)?;
    let path = run.receipt();
    if !path.exists() {
        return Err(no_receipt(&run));
    }
    let bytes = store::read(&path).map_err(store::at(&path)).or_problem()?;
    let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
    let receipt =
        CheckedReceipt::parse(&bytes).map_err(|error| malformed(error.to_string())).or_problem()?;
    let statement = serde_json::to_value(receipt.statement())
        .map_err(|error| malformed(error.to_string()))
        .or_problem()?;
    let keys = receipt.envelope().signatures.iter().map(|signature| signature.keyid.to_string());
    Ok(ReceiptView {
        keys: keys.collect(),
        statement,
        ledger: run.ledger(),
        change_set: run.changes(),
        run: run.id,
        path,
    })
}

/// There is no receipt, and why.
pub(crate) fn no_receipt(run: &RunDirectory) -> Problem {
    let (why, next) = if run.is_busy() {
        ("is still going on", "`loop stop NAME` ends a warm sandbox")
    } else {
        ("was interrupted before it could be sealed", "`loop audit` shows what is known of it")
    };
    Problem::new(exit::NOT_FOUND, format!("run {} {why}, so it has no receipt", run.id))
        .with_next(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::fixture::World;
    use api::Outcome;

    fn summary(world: &World) -> RunSummary {
        runs(&world.settings, &RunsRequest::default()).unwrap().remove(0)
    }

    fn named(run: &RunDirectory) -> RunRequest {
        RunRequest { run: Some(run.id.to_string()), dir: None }
    }

    #[test]
    fn a_run_is_told_from_its_files() {
        let world = World::new();
        assert_eq!(runs(&world.settings, &RunsRequest::default()).unwrap(), []);
        world.file("a.txt", "one\n");
        let run = world.run(&[("a.txt", "two\n"), ("b.txt", "new\n"), ("AGENTS.md", "obey\n")]);
        let told = show(&world.settings, &world.newest()).unwrap();
        let summary = &told.summary;
        assert_eq!((summary.run.clone(), summary.state), (run.id.clone(), RunState::Ready));
        assert_eq!((summary.exit_code, summary.outcome), (Some(0), Some(Outcome::Unverified)));
        let counts = summary.changes;
        assert_eq!((counts.added, counts.edited, counts.flagged), (2, 1, 1));
        assert_eq!(summary.command, ["make", "all"]);
        let enforcement = told.enforcement.unwrap();
        assert_eq!(enforcement.limits[0].allowed, "8GiB");
        assert_ne!(enforcement.uid, 0);
        assert!(told.chain.intact && told.chain.notes.is_empty(), "{:?}", told.chain);
        assert_eq!(told.receipt, Some(run.receipt()));
    }

    #[test]
    fn a_trace_marks_what_never_came_to_an_end() {
        let world = World::new();
        let run = world.run(&[]);
        let report = audit(&world.settings, &world.newest()).unwrap();
        let kinds: Vec<_> = report.records.iter().map(|record| record.kind.as_str()).collect();
        let expected = [
            "genesis",
            "run.start",
            "enforcement",
            "exec.intent",
            "exec.result",
            "changes",
            "run.end",
        ];
        assert_eq!(kinds, expected);
        assert!(report.records.iter().all(|record| !record.outcome_unknown));

        let bytes = fs::read(run.ledger()).unwrap();
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        fs::write(run.ledger(), lines[..4].concat()).unwrap();
        fs::remove_file(run.receipt()).unwrap();
        let report = audit(&world.settings, &world.newest()).unwrap();
        assert!(report.chain.intact);
        assert!(report.chain.notes[0].starts_with("length unknown"));
        assert!(report.records[3].outcome_unknown);
    }

    #[test]
    fn a_cut_ledger_is_caught_by_the_receipt() {
        let world = World::new();
        let run = world.run(&[]);
        let bytes = fs::read(run.ledger()).unwrap();
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        fs::write(run.ledger(), lines[..5].concat()).unwrap();
        let chain = audit(&world.settings, &world.newest()).unwrap().chain;
        assert!(!chain.intact);
        assert!(chain.problem.unwrap().contains("cut short"));
    }

    #[test]
    fn where_a_run_stands() {
        let world = World::new();
        world.run(&[]);
        assert_eq!(summary(&world).state, RunState::Unchanged);
        let run = world.interrupted(&[("a", "1")]);
        let told = summary(&world);
        assert_eq!((told.state, told.exit_code, told.outcome), (RunState::Interrupted, None, None));
        let lock = run.lock().unwrap();
        assert_eq!(summary(&world).state, RunState::Working);
        drop(lock);
        let problem = receipt(&world.settings, &world.newest()).unwrap_err();
        assert_eq!(problem.code, exit::NOT_FOUND);
        assert!(problem.what.contains("interrupted"), "{}", problem.what);
    }

    /// As `docs/states.md` has it.
    #[test]
    fn a_state_is_called_what_the_table_calls_it() {
        let mut story = Story::default();
        story.changes = Some(crate::records::Changes {
            digest: names::Digest::of(b""),
            result: names::Digest::of(b""),
            counts: ChangeCounts { added: 1, ..ChangeCounts::default() },
        });
        for state in State::ALL {
            let word = match state {
                State::New => "preparing",
                State::Stopping | State::Ended => "sealing",
                State::Gone | State::NeverStood => "interrupted",
                other => other.word(),
            };
            let viewed = serde_json::to_value(view(state, &story)).unwrap();
            assert_eq!(viewed, word.replace(' ', "-"), "{state:?}");
        }
    }

    #[test]
    fn newest_first_and_only_this_projects() {
        let world = World::new();
        let (first, second) = (world.run(&[]), world.run(&[]));
        let ids = |request: &RunsRequest| -> Vec<_> {
            runs(&world.settings, request).unwrap().into_iter().map(|run| run.run).collect()
        };
        let mut all = ids(&RunsRequest::default());
        all.sort();
        let mut both = [first.id, second.id];
        both.sort();
        assert_eq!(all, both);
        assert_eq!(ids(&RunsRequest { limit: Some(1), ..RunsRequest::default() }).len(), 1);
        let elsewhere = Some(world.settings.homes.home.clone());
        assert_eq!(ids(&RunsRequest { dir: elsewhere.clone(), ..RunsRequest::default() }), []);
        assert_eq!(ids(&RunsRequest { dir: elsewhere, all: true, limit: None }).len(), 2);
    }

    #[test]
    fn nothing_in_a_file_makes_it_fail_without_naming_the_file() {
        let world = World::new();
        let run = world.run(&[("a", "1")]);
        let files = [run.start_file(), run.authority(), run.ledger(), run.changes(), run.receipt()];
        let garbage: [&[u8]; 6] =
            [b"", b"{", b"null", b"\xff\xfe\n", b"{\"a\":1}\n", b"{\"schema\":99}"];
        for file in files {
            let right = fs::read(&file).unwrap();
            for bytes in garbage {
                fs::write(&file, bytes).unwrap();
                tell(&world, &run, &file);
            }
            fs::remove_file(&file).unwrap();
            tell(&world, &run, &file);
            for end in (0..right.len()).step_by(251) {
                fs::write(&file, &right[..end]).unwrap();
                tell(&world, &run, &file);
            }
            fs::write(&file, &right).unwrap();
        }
        assert_eq!(show(&world.settings, &named(&run)).unwrap().summary.state, RunState::Ready);
    }

    /// Every answer is one, or a problem that names the file, or says that there is no receipt.
    fn tell(world: &World, run: &RunDirectory, file: &std::path::Path) {
        let settings = &world.settings;
        let diff = api::DiffRequest { run: named(run), texts: true };
        let problems = [
            show(settings, &named(run)).err(),
            audit(settings, &named(run)).err(),
            receipt(settings, &named(run)).err(),
            crate::changes::diff(settings, &diff).err(),
        ];
        let listed = runs(settings, &RunsRequest::default()).unwrap().len();
        assert_eq!(listed, usize::from(run.start().is_ok()));
        let name = file.file_name().unwrap().to_str().unwrap();
        for problem in problems.into_iter().flatten() {
            let told = problem.what.contains(name) || problem.what.contains("receipt");
            assert!(told, "{name}: {}", problem.what);
        }
    }
}
