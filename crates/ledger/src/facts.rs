//! What the records of an intact ledger say about the run, for comparison with a receipt.

use std::collections::{BTreeMap, BTreeSet};

use names::{Digest, RunId, canonical};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::kind;
use crate::line::Line;
use crate::receipt::{Approval, Outcome};
use crate::verification::{Follows, Relation};

/// A fact and the record that states it.
#[derive(Debug, Clone)]
pub(crate) struct Stated<T> {
    pub(crate) record: u64,
    pub(crate) value: T,
}

/// The facts of the first records of a ledger.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The authority that `run.start` and each intent names.
    pub(crate) authorities: Vec<Stated<Digest>>,
    /// The verdict that each intent names, but for what a learning run let through; that of one
    /// which an approval allows is `allow`.
    pub(crate) verdicts: Vec<Stated<String>>,
    /// Whether `run.start` says that it is a learning run.
    pub(crate) learning: Option<Stated<bool>>,
    /// The run whose receipt this one rests on, as `run.start` says.
    pub(crate) follows: Option<Stated<Option<Follows>>>,
    /// Number of `learned` records by the kind of what was let through.
    pub(crate) learned: BTreeMap<String, u64>,
    /// Those that no intent has named yet.
    let_through: BTreeMap<u64, (String, Digest)>,
    /// The answers that allow something.
    pub(crate) approvals: Vec<Approval>,
    /// Which of them were used up.
    used: BTreeSet<u64>,
    /// Digest of the body of the last `enforcement`.
    pub(crate) enforcement: Option<Stated<Digest>>,
    /// The subjects that the last `changes` names: the change set and its result.
    pub(crate) subjects: Option<Stated<(Digest, Digest)>>,
    /// Digest of the body of the last `verification`.
    pub(crate) verification: Option<Stated<Digest>>,
    /// The outcome that the last `run.end` names.
    pub(crate) outcome: Option<Stated<Outcome>>,
    /// Number of `denied` records by the kind of what was refused.
    pub(crate) denials: BTreeMap<String, u64>,
    /// Intents that have no result.
    pub(crate) open: BTreeMap<u64, String>,
    /// A result that belongs to no intent of its kind, or comes a second time.
    pub(crate) stray: Option<u64>,
    /// Did it start?
    pub(crate) started: bool,
}

/// The answers that allow an action: this time, and for the rest of the run.
const ONCE: &str = "once";
const RUN: &str = "run";

/// A record does not say what its kind has to say.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) u64);

#[derive(Deserialize)]
struct Start {
    authority: Digest,
    learning: Option<bool>,
    continues: Option<Other>,
    verifies: Option<Other>,
}

/// Another run and its receipt.
#[derive(Deserialize)]
struct Other {
    run: RunId,
    receipt: Digest,
}

#[derive(Deserialize)]
struct Intent {
    authority: Digest,
    outcome: String,
    action_digest: Option<Digest>,
    learned: Option<u64>,
    approval: Option<u64>,
}

#[derive(Deserialize)]
struct Learned {
    action: Tagged,
    action_digest: Digest,
}

#[derive(Deserialize)]
struct Answered {
    authority: Digest,
    action_digest: Digest,
    answer: String,
    by: By,
}

#[derive(Deserialize)]
struct By {
    user: String,
    via: String,
}

#[derive(Deserialize)]
struct Done {
    intent: u64,
}

#[derive(Deserialize)]
struct Denied {
    action: Tagged,
}

#[derive(Deserialize)]
struct Tagged {
    action: String,
}

#[derive(Deserialize)]
struct Changes {
    digest: Digest,
    result: Digest,
}

#[derive(Deserialize)]
struct End {
    outcome: Outcome,
}

/// Gathers the facts of the first records of a ledger while it is verified. They count only if it
/// is intact.
pub(crate) struct Gathering {
    facts: Facts,
    count: u64,
    unreadable: Option<Unreadable>,
}

impl Gathering {
    /// Of the first `count` records.
    pub(crate) fn of(count: u64) -> Self {
        Self { facts: Facts::default(), count, unreadable: None }
    }

    /// Takes the next record, whose body was checked.
    pub(crate) fn take(&mut self, record: &Line<'_>) {
        if record.seq < self.count && self.unreadable.is_none() {
            self.unreadable = self.facts.add(record).err();
        }
    }

    /// What was gathered.
    ///
    /// # Errors
    /// The first record that does not say what its kind has to say.
    pub(crate) fn end(self) -> Result<Facts, Unreadable> {
        self.unreadable.map_or(Ok(self.facts), Err)
    }
}

impl Facts {
    fn add(&mut self, record: &Line<'_>) -> Result<(), Unreadable> {
        match record.kind {
            kind::RUN_START => self.start(record),
            kind::DENIED => self.denied(record),
            kind::LEARNED => self.learned(record),
            kind::ANSWERED => self.answered(record),
            kind::ENFORCEMENT => {
                self.enforcement = Some(state(record, Digest::of(record.body)));
                Ok(())
            }
            kind::VERIFICATION => {
                self.verification = Some(state(record, Digest::of(record.body)));
                Ok(())
            }
            kind::CHANGES => {
                let Changes { digest, result } = read(record)?;
                self.subjects = Some(state(record, (digest, result)));
                Ok(())
            }
            kind::RUN_END => {
                let End { outcome } = read(record)?;
                self.outcome = Some(state(record, outcome));
                Ok(())
            }
            kind => match (kind.strip_suffix(kind::INTENT), kind.strip_suffix(kind::RESULT)) {
                (Some(action), _) => self.intent(record, action),
                (_, Some(action)) => self.result(record, action),
                _ => Ok(()),
            },
        }
    }

    fn start(&mut self, record: &Line<'_>) -> Result<(), Unreadable> {
        let Start { authority, learning, continues, verifies } = read(record)?;
        let continues = continues.map(|other| other.named(Relation::Continues));
        let verifies = verifies.map(|other| other.named(Relation::Verifies));
        self.follows = Some(state(record, continues.or(verifies)));
        self.started = true;
        self.learning = Some(state(record, learning.unwrap_or(false)));
        self.authorities.push(state(record, authority));
        Ok(())
    }

    fn denied(&mut self, record: &Line<'_>) -> Result<(), Unreadable> {
        let Denied { action: Tagged { action } } = read(record)?;
        *self.denials.entry(action).or_default() += 1;
        Ok(())
    }

    fn learned(&mut self, record: &Line<'_>) -> Result<(), Unreadable> {
        let Learned { action: Tagged { action }, action_digest } = read(record)?;
        *self.learned.entry(action.clone()).or_default() += 1;
        self.let_through.insert(record.seq, (action, action_digest));
        Ok(())
    }

    fn intent(&mut self, record: &Line<'_>, action: &str) -> Result<(), Unreadable> {
        let intent: Intent = read(record)?;
        let approved = intent.outcome == "ask" && self.is_approved(&intent);
        let let_through = self.was_let_through(intent.learned, action, intent.action_digest);
        self.authorities.push(state(record, intent.authority));
        if !let_through {
            let verdict = if approved { "allow".to_owned() } else { intent.outcome };
            self.verdicts.push(state(record, verdict));
        }
        self.open.insert(record.seq, action.to_owned());
        Ok(())
    }

    /// Whether a `learned` record about this very action comes before its intent, which names it.
    /// Each excuses one intent.
    fn was_let_through(&mut self, by: Option<u64>, kind: &str, digest: Option<Digest>) -> bool {
        let Some((known, action)) = by.and_then(|record| self.let_through.remove(&record)) else {
            return false;
        };
        known == kind && Some(action) == digest
    }

    fn answered(&mut self, record: &Line<'_>) -> Result<(), Unreadable> {
        let Answered { authority, action_digest, answer, by } = read(record)?;
        self.authorities.push(state(record, authority));
        if answer == ONCE || answer == RUN {
            self.approvals.push(Approval {
                record: record.seq,
                action: action_digest,
                scope: answer,
                by: format!("{} ({})", by.user, by.via),
            });
        }
        Ok(())
    }

    /// Does an earlier answer allow exactly this, and wasn't it used up?
    fn is_approved(&mut self, intent: &Intent) -> bool {
        let named = self.approvals.iter().find(|approval| Some(approval.record) == intent.approval);
        let Some(approval) = named.filter(|it| Some(it.action) == intent.action_digest) else {
            return false;
        };
        approval.scope == RUN || self.used.insert(approval.record)
    }

    fn result(&mut self, record: &Line<'_>, action: &str) -> Result<(), Unreadable> {
        let Done { intent } = read(record)?;
        if self.open.remove(&intent).as_deref() != Some(action) {
            self.stray.get_or_insert(record.seq);
        }
        Ok(())
    }
}

impl Other {
    fn named(self, relation: Relation) -> Follows {
        Follows { relation, run: self.run, receipt: self.receipt }
    }
}

fn read<T: DeserializeOwned>(record: &Line<'_>) -> Result<T, Unreadable> {
    canonical::parse_checked(record.body).map_err(|_| Unreadable(record.seq))
}

fn state<T>(record: &Line<'_>, value: T) -> Stated<T> {
    Stated { record: record.seq, value }
}
