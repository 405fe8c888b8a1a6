//! Where a run stands: the records of its ledger, folded through the one table of its life.
//!
//! The ledger says how far a run came. Whether a process is still at it, and what an apply, undo or
//! discard left that was cut short, its directory says; both are events of the same table. Records
//! that the table does not allow, and a directory that says something else, are named and never
//! shown as a state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use api::Problem;
use ledger::{Ledger, Record, kind};
use lifecycle::Illegal;
use names::{AskId, Digest};
use serde::Deserialize;

use crate::carried::read;
use crate::problem::{OrProblem as _, unsafe_because};
use crate::records::{self, LIMIT};
use crate::store::{RunDirectory, StoreError};
use crate::story::{Story, Verified};
use crate::work::journal::TURN_START;

pub(crate) use lifecycle::{Event, State};

/// The work claims to be done, and its checks begin. Written before the first of them; its body
/// names the round.
pub(crate) const CHECKING: &str = "verification.start";
/// A person is asked.
pub(crate) const ASKED: &str = "approval.asked";

impl crate::problem::IntoProblem for Illegal {
    fn into_problem(self) -> Problem {
        unsafe_because(self).with_next("`loop audit` shows what is on record")
    }
}

/// How far a run came, by its records.
#[derive(Debug)]
pub(crate) struct Course {
    state: State,
    /// What waits for a person: the action, by the record that asks.
    asks: BTreeMap<u64, Waits>,
    /// What a person allowed for the rest of the run.
    allowed: BTreeSet<Digest>,
    flaw: Option<String>,
}

#[derive(Debug)]
struct Waits {
    ask: AskId,
    action: Digest,
}

impl Default for Course {
    fn default() -> Self {
        let (asks, allowed) = (BTreeMap::new(), BTreeSet::new());
        Self { state: State::New, asks, allowed, flaw: None }
    }
}

#[derive(Deserialize)]
struct Asked {
    ask: AskId,
    action_digest: Digest,
}

#[derive(Deserialize)]
struct Answered {
    ask: AskId,
    action_digest: Digest,
    answer: String,
}

#[derive(Deserialize)]
struct Denied {
    /// The record of an ask that nobody answered.
    asked: Option<u64>,
}

#[derive(Deserialize)]
struct Completed {
    result: Failure,
}

#[derive(Deserialize)]
struct Failure {
    error: Option<String>,
}

impl Course {
    /// Takes a record into account.
    ///
    /// # Errors
    /// What does not read. A record that can't follow is no error here, but [what it is](Self::flaw).
    pub(crate) fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        if self.flaw.is_some() {
            return Ok(());
        }
        let told = match record.kind {
            kind::RUN_START => self.step(Event::Start),
            kind::ENFORCEMENT => self.step(Event::Stand),
            kind::CHANGES => self.step(Event::Seal),
            kind::RUN_END => self.step(Event::End),
            kind::RECOVERED => self.recover(read(record)?),
            LIMIT => self.step(Event::Limit),
            TURN_START => self.step(Event::Turn),
            CHECKING => self.step(Event::Check),
            kind::VERIFICATION => self.step(Event::Judge),
            ASKED => self.ask(record.seq, read(record)?),
            kind::ANSWERED => self.answer(&read(record)?),
            kind::DENIED => self.unanswered(read::<Denied>(record)?.asked),
            "apply.intent" => self.step(Event::Apply),
            "undo.intent" => self.step(Event::Undo),
            "discard.intent" => self.step(Event::Discard),
            "branch.intent" => self.step(Event::Branch),
            "apply.result" | "undo.result" | "discard.result" => {
                let failed = read::<Completed>(record)?.result.error.is_some();
                self.step(if failed { Event::Fail } else { Event::Succeed })
            }
            "branch.result" => self.step(Event::Branched),
            kind if kind.ends_with(kind::INTENT) => self.step(Event::Do),
            kind if kind.ends_with(kind::RESULT) => self.step(Event::Done),
            _ => Ok(()),
        };
        if let Err(why) = told {
            let kind = names::printable(record.kind.as_bytes());
            self.flaw = Some(format!("record {} ({kind}): {why}", record.seq));
        }
        Ok(())
    }

    /// The receipt was signed over the records so far.
    pub(crate) fn sign(&mut self) {
        if self.flaw.is_none()
            && let Err(why) = self.step(Event::Sign)
        {
            self.flaw = Some(format!("the receipt: {why}"));
        }
    }

    /// How far the records lead that follow from each other.
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// The record that can't follow, and why.
    pub(crate) fn flaw(&self) -> Option<&str> {
        self.flaw.as_deref()
    }

    fn step(&mut self, event: Event) -> Result<(), String> {
        self.state = self.state.after(event).map_err(|illegal| illegal.to_string())?;
        Ok(())
    }

    fn ask(&mut self, record: u64, asked: Asked) -> Result<(), String> {
        let Asked { ask, action_digest: action } = asked;
        if self.allowed.contains(&action) {
            // The answer for the run came while this was being recorded.
            return Ok(());
        }
        self.asks.insert(record, Waits { ask, action });
        self.step(Event::Ask)
    }

    fn answer(&mut self, answered: &Answered) -> Result<(), String> {
        let for_run = answered.answer == "run";
        if for_run {
            self.allowed.insert(answered.action_digest);
        }
        let same = |waits: &Waits| for_run && waits.action == answered.action_digest;
        self.settle(|_, waits| waits.ask == answered.ask || same(waits))
    }

    fn unanswered(&mut self, asked: Option<u64>) -> Result<(), String> {
        self.settle(|record, _| Some(record) == asked)
    }

    /// Takes out whatever waits no more.
    fn settle(&mut self, over: impl Fn(u64, &Waits) -> bool) -> Result<(), String> {
        let waited = self.asks.len();
        self.asks.retain(|record, waits| !over(*record, waits));
        match (waited - self.asks.len(), self.asks.is_empty()) {
            (0, _) => Ok(()),
            (_, true) => self.step(Event::SettleLast),
            (_, false) => self.step(Event::Settle),
        }
    }

    /// Somebody found what a crash had left. A line that was cut off is nothing of the run's.
    fn recover(&mut self, found: Recovered) -> Result<(), String> {
        let (Some(interrupted), Some(state)) = (found.interrupted, found.state) else {
            return Ok(());
        };
        if interrupted != self.state.word() {
            return Err(format!("it was {}, not {interrupted}", self.state));
        }
        self.asks.clear();
        self.step(Event::Crash)?;
        if self.state.is_half_done() {
            let taken_back = self.state.after(Event::TakeBack).is_ok_and(|it| it.word() == state);
            self.step(if taken_back { Event::TakeBack } else { Event::FindDone })?;
        }
        if self.state.word() == state {
            Ok(())
        } else {
            Err(format!("that leaves it {}", self.state))
        }
    }
}

#[derive(Deserialize)]
struct Recovered {
    interrupted: Option<String>,
    state: Option<String>,
}

/// Where a run stands, as far as this process moves it on. Its threads share it.
#[derive(Debug)]
pub(crate) struct Life(Mutex<State>);

impl Default for Life {
    fn default() -> Self {
        Self::at(State::New)
    }
}

impl Life {
    /// Of a run that stands here.
    pub(crate) fn at(state: State) -> Self {
        Self(Mutex::new(state))
    }

    /// Moves it on.
    ///
    /// # Errors
    /// When that can't happen where it stands.
    pub(crate) fn step(&self, event: Event) -> Result<(), Problem> {
        // One assignment leaves nothing half changed.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.after(event).or_problem()?;
        Ok(())
    }
}

/// Where a run stands, by its ledger and its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) state: State,
    /// What can't be, if what says so contradicts itself.
    pub(crate) flaw: Option<String>,
}

impl Position {
    /// From the records, and what the directory says of its change set. While a process is at the
    /// run, nothing is concluded from what it has not yet recorded.
    pub(crate) fn of(course: &Course, is_busy: bool, directory: State) -> Self {
        let (state, flaw) = (course.state(), course.flaw().map(ToOwned::to_owned));
        if flaw.is_some() || is_busy {
            return Self { state, flaw };
        }
        let state = settled(state.after(Event::Crash).unwrap_or(state), directory);
        Self { state, flaw: mismatch(state, directory) }
    }

    /// By the run's files.
    ///
    /// # Errors
    /// When they can't be read. That they contradict each other is no error here.
    pub(crate) fn read(run: &RunDirectory, is_busy: bool) -> Result<Self, Problem> {
        let ledger = Verified::read(run, is_busy)?;
        let course = Story::read(run, &ledger)?.course;
        let position = Self::of(&course, is_busy, directory(run)?);
        let flaw = ledger.flaw().map(ToOwned::to_owned);
        Ok(Self { flaw: flaw.or(position.flaw), ..position })
    }

    /// The state, or what is wrong with the run's files.
    pub(crate) fn sound(self, run: &RunDirectory) -> Result<State, Problem> {
        match self.flaw {
            None => Ok(self.state),
            Some(problem) => {
                Err(StoreError::Malformed { path: run.ledger(), problem }).or_problem()
            }
        }
    }
}

/// What the run's directory says of its change set.
///
/// # Errors
/// When it can't be read.
pub(crate) fn directory(run: &RunDirectory) -> Result<State, Problem> {
    let state = workspace::state(run.path()).map_err(|error| StoreError::Malformed {
        path: run.path().join("apply/state.json"),
        problem: error.to_string(),
    });
    state.or_problem()
}

/// What a run is whose apply, undo or discard was cut short: half done, unless its directory says
/// that it is not.
fn settled(state: State, directory: State) -> State {
    let half_done = matches!(directory, State::Applying(_) | State::Undoing);
    if !state.is_half_done() || half_done {
        return state;
    }
    let found = |event| state.after(event).unwrap_or(state);
    let (done, taken_back) = (found(Event::FindDone), found(Event::TakeBack));
    if in_directory(done) == directory { done } else { taken_back }
}

/// What the directory of a run in this state says of its change set.
fn in_directory(state: State) -> State {
    match state {
        State::Applied | State::Undone | State::Discarded => state,
        State::HalfApplied(waits) => State::Applying(waits),
        State::HalfUndone => State::Undoing,
        _ => State::Ready,
    }
}

fn mismatch(state: State, directory: State) -> Option<String> {
    (in_directory(state) != directory).then(|| {
        format!("the records lead to \"{state}\", but apply/state.json says \"{directory}\"")
    })
}

/// Says in the ledger what a crash had left, and returns what the run is now. Whatever was in
/// flight is not done again.
///
/// # Errors
/// When records and directory don't fit together, or it can't be recorded.
pub(crate) fn recover(
    run: &RunDirectory,
    project: &Path,
    course: &Course,
    ledger: &Ledger,
) -> Result<State, Problem> {
    // Nothing is taken back for records that can't be.
    Position::of(course, false, directory(run)?).sound(run)?;
    let recovered = workspace::recover(run.path(), project).or_problem()?;
    let state = Position::of(course, false, recovered.state).sound(run)?;
    let before = course.state();
    if before.is_live() {
        let (interrupted, now) = (before.word().to_owned(), state.word().to_owned());
        let kept = recovered.kept.len() as u64;
        let body = records::Recovered { interrupted, state: now, kept };
        ledger.commit(kind::RECOVERED, &body).or_problem()?;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifecycle::{Dropped, Phase, Waits as Again};
    use serde_json::{Value, json};

    /// The fold of records of these kinds and bodies.
    fn fold(records: &[(&str, Value)]) -> Course {
        let mut course = Course::default();
        for (seq, (kind, body)) in (1..).zip(records) {
            let body = names::canonical::to_vec(body).unwrap();
            let (time, hash) = (names::Timestamp::from_millis(0), Digest::of(b""));
            course.add(&Record { seq, time, kind, body: &body, hash }).unwrap();
        }
        course
    }

    fn began() -> Vec<(&'static str, Value)> {
        vec![("genesis", json!({})), ("run.start", json!({})), ("enforcement", json!({}))]
    }

    fn asked(ask: &str, action: &[u8]) -> (&'static str, Value) {
        ("approval.asked", json!({"ask": ask, "action_digest": Digest::of(action)}))
    }

    fn answered(ask: &str, action: &[u8], answer: &str) -> (&'static str, Value) {
        let action_digest = Digest::of(action);
        ("approval.answered", json!({"ask": ask, "action_digest": action_digest, "answer": answer}))
    }

    fn states(records: &[(&'static str, Value)]) -> Vec<State> {
        (1..=records.len()).map(|count| fold(&records[..count]).state()).collect()
    }

    #[test]
    fn a_life_by_its_records() {
        let mut records = began();
        records.extend([
            ("turn.start", json!({})),
            ("exec.intent", json!({})),
            ("exec.result", json!({"intent": 5, "result": {}})),
            (CHECKING, json!({"round": 1})),
            (kind::VERIFICATION, json!({})),
            ("turn.start", json!({})),
            ("limit", json!({})),
            ("changes", json!({})),
            ("run.end", json!({})),
        ]);
        use State::{Checking, Ended, New, Preparing, Sealing, Stopping, Working};
        let expected = [
            New, Preparing, Working, Working, Working, Working, Checking, Checking, Working,
            Stopping, Sealing, Ended,
        ];
        assert_eq!(states(&records), expected);
        let mut course = fold(&records);
        course.sign();
        assert_eq!((course.state(), course.flaw()), (State::Ready, None));
        course.sign();
        assert!(course.flaw().unwrap().starts_with("the receipt: "));
    }

    #[test]
    fn it_waits_as_long_as_anybody_is_asked() {
        let waiting = State::Waiting(Phase::Work);
        let mut records = began();
        records.extend([
            asked("k7m2", b"a"),
            asked("k7m3", b"b"),
            asked("k7m4", b"a"),
            answered("k7m3", b"b", "once"),
            // For the run: whoever waits with the same waits no more.
            answered("k7m2", b"a", "run"),
            asked("k7m5", b"a"),
            asked("k7m6", b"e"),
            ("denied", json!({"asked": 10})),
        ]);
        let expected = [
            waiting,
            waiting,
            waiting,
            waiting,
            State::Working,
            State::Working,
            waiting,
            State::Working,
        ];
        assert_eq!(states(&records)[3..], expected);
    }

    #[test]
    fn each_kind_of_record_is_held_to_the_table() {
        let kinds = [
            ("run.start", Event::Start),
            ("enforcement", Event::Stand),
            ("exec.intent", Event::Do),
            ("git-push.result", Event::Done),
            ("turn.start", Event::Turn),
            (CHECKING, Event::Check),
            (kind::VERIFICATION, Event::Judge),
            ("limit", Event::Limit),
            ("changes", Event::Seal),
            ("run.end", Event::End),
            ("apply.intent", Event::Apply),
            ("undo.intent", Event::Undo),
            ("discard.intent", Event::Discard),
            ("branch.intent", Event::Branch),
            ("branch.result", Event::Branched),
        ];
        for state in State::ALL {
            for (kind, event) in kinds {
                let mut course = Course { state, ..Course::default() };
                let (time, hash) = (names::Timestamp::from_millis(0), Digest::of(b""));
                course.add(&Record { seq: 3, time, kind, body: b"{}", hash }).unwrap();
                match state.after(event) {
                    Ok(next) => assert_eq!((course.state(), course.flaw()), (next, None)),
                    Err(illegal) => {
                        assert_eq!(course.state(), state);
                        let flaw = format!("record 3 ({kind}): {illegal}");
                        assert_eq!(course.flaw(), Some(flaw.as_str()));
                    }
                }
            }
        }
    }

    #[test]
    fn a_recovery_says_what_the_table_says() {
        let recovered = |interrupted: &str, state: &str| {
            let mut records = began();
            records.push(("recovered", json!({"interrupted": interrupted, "state": state})));
            fold(&records)
        };
        let right = recovered("working", "interrupted");
        assert_eq!((right.state(), right.flaw()), (State::Interrupted, None));
        for (interrupted, state) in [("applying", "ready"), ("working", "ready")] {
            assert!(recovered(interrupted, state).flaw().is_some(), "{interrupted} {state}");
        }
    }

    fn position(state: State, is_busy: bool, directory: State) -> Position {
        Position::of(&Course { state, ..Course::default() }, is_busy, directory)
    }

    #[test]
    fn whether_it_crashed_and_what_came_of_it_its_directory_says() {
        let (ready, undone) = (State::Ready, State::Undone);
        let applying = State::Applying(Again::Undone);
        let discarding = State::Discarding(Dropped::Undone);
        let cases = [
            (State::Preparing, ready, State::NeverStood),
            (State::Waiting(Phase::Checks), ready, State::Interrupted),
            (State::Ended, ready, State::Interrupted),
            (applying, applying, State::HalfApplied(Again::Undone)),
            (applying, State::Applied, State::Applied),
            (applying, undone, undone),
            (State::Undoing, State::Undoing, State::HalfUndone),
            (State::Undoing, undone, undone),
            (State::Undoing, State::Applied, State::Applied),
            (discarding, undone, undone),
            (discarding, State::Discarded, State::Discarded),
        ];
        for (state, directory, expected) in cases {
            assert_eq!(position(state, true, directory), Position { state, flaw: None });
            let expected = Position { state: expected, flaw: None };
            assert_eq!(position(state, false, directory), expected, "{state:?} {directory:?}");
        }
        for state in [ready, State::Interrupted, undone, State::Undoing, State::Discarded] {
            let applying = State::Applying(Again::Ready);
            assert!(position(state, false, applying).flaw.is_some(), "{state}");
        }
    }
}
