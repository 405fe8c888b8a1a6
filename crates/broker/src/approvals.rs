//! The asks of one run: who waits, what was answered, what holds for the rest of the run.
//!
//! An ask is recorded before it can be seen, and an answer before it counts; both are synced. The
//! lock is never held while a record is written, so one ask never stalls another. Nothing here
//! talks to a person: it is asked and answered by those who do.

mod pace;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ledger::{Ledger, LedgerError, Recorded};
use names::{AskId, Clock, Digest, RunId, Timestamp};
use policy::{Action, AskLimits, Cause, Verdict};
use serde::Serialize;

use crate::ask::{Answer, AnswerError, Answerer, Ask, Binding, Context, Subject};
use crate::cut;

pub use pace::Capped;
use pace::Pace;
pub use watch::Watch;
use watch::Watchers;

/// Kinds of record.
const ASKED: &str = "approval.asked";
const ANSWERED: &str = "approval.answered";
const REFUSED: &str = "approval.refused";
const CAPPED: &str = "approval.capped";

/// What a person can be shown of one ask, in bytes.
const SHOWN_MAX: usize = 1 << 20;
/// How often an ask that waits looks up: whether it is still wanted, and at the clock, because a
/// machine that slept has not counted.
const LOOK: Duration = Duration::from_secs(1);

/// The asks of one run. Clones share them.
#[derive(Clone)]
pub struct Approvals(Arc<Shared>);

struct Shared {
    run: RunId,
    limits: AskLimits,
    ledger: Ledger,
    clock: Clock,
    stopped: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked.
    asks: BTreeMap<u64, Waiting>,
    /// How many were asked.
    asked: u64,
    /// What became of those that wait no more.
    past: HashMap<AskId, Past>,
    /// What holds for the rest of the run, and the record of the answer.
    remembered: HashMap<Subject, Approved>,
    pace: Pace,
    /// How often a cap was said aloud, and the last one.
    capped: (u64, Option<Capped>),
    watchers: Watchers,
    revision: u64,
}

struct Waiting {
    ask: Arc<Ask>,
    stage: Stage,
}

/// How far an ask has come.
enum Stage {
    /// It is being recorded; nobody has seen it.
    Recording,
    /// Anybody may answer.
    Open,
    /// An answer is being recorded.
    Answering,
    /// This came of it.
    Settled(Result<Approved, Declined>),
}

#[derive(Clone, Copy)]
enum Past {
    Answered,
    Expired,
}

/// The record of the answer that allows an action.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Approved {
    pub(crate) record: u64,
}

/// Why an action was not approved.
#[derive(Debug)]
pub(crate) enum Declined {
    /// Nobody answered in time.
    Timeout { asked: u64 },
    /// Too many asks.
    Capped(Capped),
    /// A person said no; the record of the answer.
    Person { by: Answerer, reason: Option<String>, record: u64 },
    /// The run is being stopped.
    Stopped,
    /// Whoever wanted it is gone.
    Withdrawn { asked: u64 },
    /// Nobody could be shown all of it.
    TooLarge { bytes: usize },
    /// It could not be recorded.
    Unrecorded(LedgerError),
}

/// An action that the authority asks about.
pub(crate) struct Question<'a> {
    pub(crate) action: &'a Action,
    pub(crate) action_digest: Digest,
    pub(crate) authority: Digest,
    pub(crate) verdict: &'a Verdict,
    pub(crate) context: Context,
}

impl Approvals {
    /// For a run whose records go to `ledger`.
    #[must_use]
    pub fn new(run: RunId, limits: AskLimits, ledger: Ledger, clock: Clock) -> Self {
        Self(Arc::new(Shared {
            run,
            limits,
            ledger,
            clock,
            stopped: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The asks that wait for an answer, the oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<Arc<Ask>> {
        let now = (self.0.clock)();
        let state = self.lock();
        let open = state.asks.values().filter(|waiting| matches!(waiting.stage, Stage::Open));
        let open = open.filter(|waiting| now < waiting.ask.expires_at);
        open.map(|waiting| Arc::clone(&waiting.ask)).collect()
    }

    /// Takes a person's answer to the ask that `binding` says they were shown. When this returns,
    /// the answer is on record; it counts once.
    ///
    /// # Errors
    /// When it does not count. That is on record, too.
    pub fn answer(
        &self,
        id: &AskId,
        answer: Answer,
        by: &Answerer,
        binding: &Binding,
    ) -> Result<Recorded, AnswerError> {
        match self.claim(id, binding) {
            Ok((number, ask)) => self.settle(number, &ask, &answer, by),
            Err(error) => {
                let body = RefusedAnswer { ask: id, because: error.word(), by, binding };
                self.0.ledger.commit(REFUSED, &body)?;
                Err(error)
            }
        }
    }

    /// Denies whatever waits and whatever will be requested: the run ends.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.change(&mut self.lock());
    }

    /// Whether the run is to end.
    #[must_use]
    pub fn wants_stop(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// A descriptor for a poll loop that is readable now and after every change.
    ///
    /// # Errors
    /// `EMFILE`.
    pub fn watch(&self) -> io::Result<Watch> {
        self.lock().watchers.add()
    }

    /// Waits until something changed after `revision`, at most for `patience`. Returns the
    /// revision now; the first is 0.
    #[must_use]
    pub fn wait(&self, revision: u64, patience: Duration) -> u64 {
        let unchanged = |state: &mut State| state.revision == revision;
        let waited = self.0.changed.wait_timeout_while(self.lock(), patience, unchanged);
        waited.unwrap_or_else(PoisonError::into_inner).0.revision
    }

    /// The cap that last cut asks off, and a number that tells whether that was said before.
    #[must_use]
    pub fn capped(&self) -> Option<(u64, Capped)> {
        let (number, capped) = self.lock().capped;
        capped.map(|capped| (number, capped))
    }

    /// Asks, and blocks until there is an answer, there will be none, or it is no more `wanted`.
    pub(crate) fn ask(
        &self,
        question: Question<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Approved, Declined> {
        let (number, ask) = match self.admit(question)? {
            Admitted::Approved(approved) => return Ok(approved),
            Admitted::Waits(number, ask) => (number, ask),
        };
        let expires = Instant::now() + self.0.limits.timeout.as_duration();
        match self.0.ledger.commit(ASKED, &Asked::of(&ask)) {
            Ok(asked) => {
                self.open(number);
                self.await_answer(number, asked.seq, expires, wanted)
            }
            Err(error) => {
                self.lock().asks.remove(&number);
                Err(Declined::Unrecorded(error))
            }
        }
    }

    /// Lets a question in, if its answer isn't known already.
    fn admit(&self, question: Question<'_>) -> Result<Admitted, Declined> {
        let bytes = cut::size(question.action).saturating_add(question.context.size());
        if bytes > SHOWN_MAX {
            return Err(Declined::TooLarge { bytes });
        }
        let mut state = self.lock();
        if self.wants_stop() {
            return Err(Declined::Stopped);
        }
        let now = (self.0.clock)();
        let number = state.asked;
        let ask = Arc::new(self.ask_of(question, &state, now));
        if let Some(approved) = state.remembered.get(&ask.subject()) {
            return Ok(Admitted::Approved(*approved));
        }
        let waiting = state.asks.len();
        if let Err(capped) = state.pace.admit(&self.0.limits, waiting, now) {
            return Err(self.cap(state, capped, now));
        }
        state.asked = number.saturating_add(1);
        let entry = Waiting { ask: Arc::clone(&ask), stage: Stage::Recording };
        state.asks.insert(number, entry);
        Ok(Admitted::Waits(number, ask))
    }

    fn ask_of(&self, question: Question<'_>, state: &State, now: Timestamp) -> Ask {
        let Question { action, action_digest, authority, verdict, context } = question;
        let timeout = i64::try_from(self.0.limits.timeout.as_millis()).unwrap_or(i64::MAX);
        Ask {
            id: self.free_id(state),
            run: self.0.run.clone(),
            action: action.clone(),
            action_digest,
            authority,
            decided_by: verdict.decided_by.clone(),
            reason: verdict.reason.clone(),
            asked_at: now,
            expires_at: Timestamp::from_millis(now.as_millis().saturating_add(timeout)),
            context,
        }
    }

    /// An id that no ask of this run has had. There are a million; the caps leave time for years.
    fn free_id(&self, state: &State) -> AskId {
        let of = |number: u64, attempt: u64| {
            let (number, attempt) = (number.to_be_bytes(), attempt.to_be_bytes());
            let parts: [&[u8]; 3] = [self.0.run.as_str().as_bytes(), &number, &attempt];
            AskId::from_digest(&Digest::of_parts("loop-ask-id-v1", &parts))
        };
        let taken = |id: &AskId| {
            state.past.contains_key(id) || state.asks.values().any(|other| other.ask.id == *id)
        };
        let mut attempts = (0..1_000_000).map(|attempt| of(state.asked, attempt));
        attempts.find(|id| !taken(id)).unwrap_or_else(|| of(state.asked, 0))
    }

    /// Says, once a minute, that asks are cut off.
    fn cap(&self, mut state: MutexGuard<'_, State>, capped: Capped, now: Timestamp) -> Declined {
        if !state.pace.is_news(capped, now) {
            return Declined::Capped(capped);
        }
        state.capped = (state.capped.0.saturating_add(1), Some(capped));
        self.change(&mut state);
        drop(state);
        let body = CappedBy { key: capped.key, limit: capped.limit };
        match self.0.ledger.commit(CAPPED, &body) {
            Ok(_) => Declined::Capped(capped),
            Err(error) => Declined::Unrecorded(error),
        }
    }

    fn open(&self, number: u64) {
        let mut state = self.lock();
        if let Some(waiting) = state.asks.get_mut(&number) {
            // An answer for the run that came meanwhile may have settled it.
            if matches!(waiting.stage, Stage::Recording) {
                waiting.stage = Stage::Open;
            }
        }
        self.change(&mut state);
    }

    fn await_answer(
        &self,
        number: u64,
        asked: u64,
        end: Instant,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Approved, Declined> {
        let mut state = self.lock();
        loop {
            let Some(waiting) = state.asks.get(&number) else { return Err(Declined::Stopped) };
            let over = (self.0.clock)() >= waiting.ask.expires_at || Instant::now() >= end;
            let ended = match waiting.stage {
                Stage::Settled(_) => true,
                Stage::Answering => false,
                Stage::Recording | Stage::Open => over || self.wants_stop(),
            };
            if ended {
                return self.leave(&mut state, number, Declined::Timeout { asked });
            }
            if matches!(waiting.stage, Stage::Open) && !wanted() {
                return self.leave(&mut state, number, Declined::Withdrawn { asked });
            }
            let patience = end.saturating_duration_since(Instant::now()).min(LOOK);
            // While an answer is being recorded, it is that which ends the wait.
            let patience = patience.max(Duration::from_millis(1));
            let waited = self.0.changed.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What came of an ask, which waits no more.
    fn leave(
        &self,
        state: &mut State,
        number: u64,
        unanswered: Declined,
    ) -> Result<Approved, Declined> {
        let Some(Waiting { ask, stage }) = state.asks.remove(&number) else {
            return Err(Declined::Stopped);
        };
        let (past, left) = match stage {
            Stage::Settled(settled) => (Past::Answered, settled),
            _ if self.wants_stop() => (Past::Expired, Err(Declined::Stopped)),
            _ => (Past::Expired, Err(unanswered)),
        };
        state.past.insert(ask.id.clone(), past);
        self.change(state);
        left
    }

    /// Takes an ask so that nobody else can answer it.
    fn claim(&self, id: &AskId, binding: &Binding) -> Result<(u64, Arc<Ask>), AnswerError> {
        let now = (self.0.clock)();
        let mut state = self.lock();
        let Some((number, waiting)) =
            state.asks.iter_mut().find(|(_, waiting)| waiting.ask.id == *id)
        else {
            return Err(match state.past.get(id) {
                Some(Past::Answered) => AnswerError::Answered(id.clone()),
                Some(Past::Expired) => AnswerError::Expired(id.clone()),
                None => AnswerError::NoSuchAsk(id.clone()),
            });
        };
        match waiting.stage {
            Stage::Recording => Err(AnswerError::NoSuchAsk(id.clone())),
            Stage::Answering | Stage::Settled(_) => Err(AnswerError::Answered(id.clone())),
            Stage::Open if waiting.ask.binding() != *binding => {
                Err(AnswerError::OtherBinding(id.clone()))
            }
            Stage::Open if self.wants_stop() => Err(AnswerError::Stopped),
            Stage::Open if now >= waiting.ask.expires_at => Err(AnswerError::Expired(id.clone())),
            Stage::Open => {
                waiting.stage = Stage::Answering;
                Ok((*number, Arc::clone(&waiting.ask)))
            }
        }
    }

    /// Records the answer to a claimed ask, and lets it count.
    fn settle(
        &self,
        number: u64,
        ask: &Ask,
        answer: &Answer,
        by: &Answerer,
    ) -> Result<Recorded, AnswerError> {
        let recorded = self.0.ledger.commit(ANSWERED, &Answered::of(ask, answer, by));
        if matches!(answer, Answer::DenyAndStop { .. }) {
            self.0.stopped.store(true, Ordering::SeqCst);
        }
        let mut state = self.lock();
        match (&recorded, answer) {
            (Ok(record), Answer::ForRun) => state.approve_for_run(ask, record.seq),
            _ => state.settle(number, settlement(&recorded, answer, by)),
        }
        self.change(&mut state);
        drop(state);
        Ok(recorded?)
    }

    fn change(&self, state: &mut State) {
        state.revision = state.revision.wrapping_add(1);
        state.watchers.wake();
        self.0.changed.notify_all();
    }

    /// A thread that panicked while it held the lock left a state that is whole: every change of
    /// it is one assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvals").field("run", &self.0.run).finish_non_exhaustive()
    }
}

impl State {
    fn settle(&mut self, number: u64, settled: Result<Approved, Declined>) {
        if let Some(waiting) = self.asks.get_mut(&number) {
            waiting.stage = Stage::Settled(settled);
        }
    }

    /// Remembers the answer, and gives it to everybody who waits with the same.
    fn approve_for_run(&mut self, ask: &Ask, record: u64) {
        let (subject, approved) = (ask.subject(), Approved { record });
        self.remembered.insert(subject, approved);
        for waiting in self.asks.values_mut().filter(|other| other.ask.subject() == subject) {
            let own = waiting.ask.id == ask.id;
            if own || matches!(waiting.stage, Stage::Recording | Stage::Open) {
                waiting.stage = Stage::Settled(Ok(approved));
            }
        }
    }
}

enum Admitted {
    /// A person has said so for the whole run.
    Approved(Approved),
    Waits(u64, Arc<Ask>),
}

fn settlement(
    recorded: &Result<Recorded, LedgerError>,
    answer: &Answer,
    by: &Answerer,
) -> Result<Approved, Declined> {
    let record = match recorded {
        Ok(recorded) => recorded.seq,
        Err(error) => return Err(Declined::Unrecorded(error.clone())),
    };
    match answer {
        Answer::Once | Answer::ForRun => Ok(Approved { record }),
        Answer::Deny { reason } | Answer::DenyAndStop { reason } => {
            Err(Declined::Person { by: by.clone(), reason: reason.clone(), record })
        }
    }
}

/// Body of [`ASKED`].
#[derive(Serialize)]
struct Asked<'a> {
    ask: &'a AskId,
    action: &'a Action,
    action_digest: Digest,
    authority: Digest,
    binding: Binding,
    decided_by: &'a [Cause],
    reason: &'a str,
    expires: Timestamp,
}

impl<'a> Asked<'a> {
    fn of(ask: &'a Ask) -> Self {
        Self {
            ask: &ask.id,
            action: &ask.action,
            action_digest: ask.action_digest,
            authority: ask.authority,
            binding: ask.binding(),
            decided_by: &ask.decided_by,
            reason: &ask.reason,
            expires: ask.expires_at,
        }
    }
}

/// Body of [`ANSWERED`].
#[derive(Serialize)]
struct Answered<'a> {
    ask: &'a AskId,
    kind: &'static str,
    action_digest: Digest,
    authority: Digest,
    binding: Binding,
    answer: &'static str,
    by: &'a Answerer,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Answered<'a> {
    fn of(ask: &'a Ask, answer: &'a Answer, by: &'a Answerer) -> Self {
        Self {
            ask: &ask.id,
            kind: ask.kind().word(),
            action_digest: ask.action_digest,
            authority: ask.authority,
            binding: ask.binding(),
            answer: answer.word(),
            by,
            reason: answer.reason(),
        }
    }
}

/// Body of [`REFUSED`].
#[derive(Serialize)]
struct RefusedAnswer<'a> {
    ask: &'a AskId,
    because: &'static str,
    by: &'a Answerer,
    binding: &'a Binding,
}

/// Body of [`CAPPED`].
#[derive(Serialize)]
struct CappedBy {
    key: &'static str,
    limit: u32,
}
