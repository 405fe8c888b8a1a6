//! What the records of an intact ledger say about the run, for comparison with a receipt.

use std::collections::{BTreeMap, BTreeSet};

use names::canonical::{self, Member};
use names::{Digest, RunId};
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
    /// The authority that `run.start` and each intent names, once for records in a row.
    pub(crate) authorities: Vec<Stated<Digest>>,
    /// The verdict that each intent names, once for records in a row, but for what a learning run
    /// let through; that of one which an approval allows is `allow`.
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

/// Another run and its receipt.
#[derive(Deserialize)]
struct Other {
    run: RunId,
    receipt: Digest,
}

#[derive(Debug, PartialEq, Deserialize)]
struct By {
    user: String,
    via: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Tagged {
    action: String,
}

/// A record whose body was checked, and the members that were found on the way.
struct Told<'a> {
    record: &'a Line<'a>,
    body: &'a [Member<'a>],
}

impl Told<'_> {
    /// What the body has under `key`; where it has nothing, that is read as null.
    fn read<T: DeserializeOwned>(&self, key: &str) -> Result<T, Unreadable> {
        let found = self.body.iter().find(|member| member.key == key.as_bytes());
        let value = found.map_or(b"null".as_slice(), |member| member.value);
        canonical::parse_checked(value).map_err(|_| Unreadable(self.record.seq))
    }

    fn states<T>(&self, value: T) -> Stated<T> {
        Stated { record: self.record.seq, value }
    }
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

    /// Takes the next record, and the members of its body, which was checked.
    pub(crate) fn take(&mut self, record: &Line<'_>, body: &[Member<'_>]) {
        if record.seq < self.count && self.unreadable.is_none() {
            self.unreadable = self.facts.add(&Told { record, body }).err();
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
    fn add(&mut self, told: &Told<'_>) -> Result<(), Unreadable> {
        match told.record.kind {
            kind::RUN_START => self.start(told)?,
            kind::DENIED => self.denied(told)?,
            kind::LEARNED => self.learned(told)?,
            kind::ANSWERED => self.answered(told)?,
            kind::ENFORCEMENT => self.enforcement = Some(told.states(Digest::of(told.record.body))),
            kind::VERIFICATION => {
                self.verification = Some(told.states(Digest::of(told.record.body)));
            }
            kind::CHANGES => {
                self.subjects = Some(told.states((told.read("digest")?, told.read("result")?)));
            }
            kind::RUN_END => self.outcome = Some(told.states(told.read("outcome")?)),
            kind => match (kind.strip_suffix(kind::INTENT), kind.strip_suffix(kind::RESULT)) {
                (Some(action), _) => self.intent(told, action)?,
                (_, Some(action)) => self.result(told, action)?,
                _ => {}
            },
        }
        Ok(())
    }

    fn start(&mut self, told: &Told<'_>) -> Result<(), Unreadable> {
        let learning: Option<bool> = told.read("learning")?;
        let continues: Option<Other> = told.read("continues")?;
        let verifies: Option<Other> = told.read("verifies")?;
        let continues = continues.map(|other| other.named(Relation::Continues));
        let verifies = verifies.map(|other| other.named(Relation::Verifies));
        self.follows = Some(told.states(continues.or(verifies)));
        self.started = true;
        self.learning = Some(told.states(learning.unwrap_or(false)));
        change(&mut self.authorities, told.states(told.read("authority")?));
        Ok(())
    }

    fn denied(&mut self, told: &Told<'_>) -> Result<(), Unreadable> {
        let Tagged { action } = told.read("action")?;
        *self.denials.entry(action).or_default() += 1;
        Ok(())
    }

    fn learned(&mut self, told: &Told<'_>) -> Result<(), Unreadable> {
        let Tagged { action } = told.read("action")?;
        let digest = told.read("action_digest")?;
        *self.learned.entry(action.clone()).or_default() += 1;
        self.let_through.insert(told.record.seq, (action, digest));
        Ok(())
    }

    fn intent(&mut self, told: &Told<'_>, action: &str) -> Result<(), Unreadable> {
        let outcome: String = told.read("outcome")?;
        let digest: Option<Digest> = told.read("action_digest")?;
        let (learned, approval) = (told.read("learned")?, told.read("approval")?);
        let approved = outcome == "ask" && self.is_approved(approval, digest);
        let let_through = self.was_let_through(learned, action, digest);
        change(&mut self.authorities, told.states(told.read("authority")?));
        if !let_through {
            let verdict = if approved { "allow".to_owned() } else { outcome };
            change(&mut self.verdicts, told.states(verdict));
        }
        self.open.insert(told.record.seq, action.to_owned());
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

    fn answered(&mut self, told: &Told<'_>) -> Result<(), Unreadable> {
        let (action, scope): (_, String) = (told.read("action_digest")?, told.read("answer")?);
        let By { user, via } = told.read("by")?;
        change(&mut self.authorities, told.states(told.read("authority")?));
        if scope == ONCE || scope == RUN {
            let (record, by) = (told.record.seq, format!("{user} ({via})"));
            self.approvals.push(Approval { record, action, scope, by });
        }
        Ok(())
    }

    /// Does the earlier answer that an intent names allow exactly this, and wasn't it used up?
    fn is_approved(&mut self, by: Option<u64>, action: Option<Digest>) -> bool {
        let named = self.approvals.iter().find(|approval| Some(approval.record) == by);
        let Some(approval) = named.filter(|it| Some(it.action) == action) else {
            return false;
        };
        approval.scope == RUN || self.used.insert(approval.record)
    }

    fn result(&mut self, told: &Told<'_>, action: &str) -> Result<(), Unreadable> {
        let intent: u64 = told.read("intent")?;
        if self.open.remove(&intent).as_deref() != Some(action) {
            self.stray.get_or_insert(told.record.seq);
        }
        Ok(())
    }
}

/// Adds what a record states, unless the one before it stated the same.
fn change<T: PartialEq>(all: &mut Vec<Stated<T>>, stated: Stated<T>) {
    if all.last().is_none_or(|last| last.value != stated.value) {
        all.push(stated);
    }
}

impl Other {
    fn named(self, relation: Relation) -> Follows {
        Follows { relation, run: self.run, receipt: self.receipt }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use names::Timestamp;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::line::{Head, compose};

    #[derive(Deserialize)]
    struct Whole<T> {
        it: T,
    }

    /// What is read of one member is what serde reads of the whole body.
    fn agrees<T: DeserializeOwned + PartialEq + Debug>(body: &[u8]) -> Result<(), TestCaseError> {
        let mut line = Vec::new();
        compose(&mut line, Head::origin(), Timestamp::from_millis(0), "kind", body);
        let record = Line::split(line.strip_suffix(b"\n").unwrap()).unwrap();
        let mut members = Vec::new();
        canonical::check_members(record.body, |member| members.push(member)).unwrap();
        let told = Told { record: &record, body: &members };
        let whole = serde_json::from_slice(body).ok().map(|Whole::<T> { it }| it);
        prop_assert_eq!(told.read::<T>("it").ok(), whole);
        Ok(())
    }

    fn value() -> impl Strategy<Value = Value> {
        let fit = prop::sample::select(vec![
            Value::Null,
            json!(true),
            json!(7),
            json!(-7),
            json!(0.5),
            json!("a \" quote"),
            json!("stopped"),
            json!(Digest::of(b"")),
            json!({"action": "exec", "more": [{"it": 1}]}),
            json!({"user": "ada", "via": "a terminal"}),
            json!({"user": "ada", "via": null}),
            json!(["exec"]),
            json!({"it": 3}),
        ]);
        prop_oneof![8 => fit, 1 => any::<String>().prop_map(Value::from)]
    }

    proptest! {
        #[test]
        fn a_member_is_read_as_of_the_whole(
            it in prop::option::of(value()),
            others in prop::collection::btree_map("[a-z\"\n\u{e000}\u{10000}]{0,3}", value(), 0..5),
        ) {
            let it = it.map(|it| ("it".to_owned(), it));
            let body: Map<String, Value> = others.into_iter().chain(it).collect();
            let body = canonical::to_vec(&body).unwrap();
            agrees::<Digest>(&body)?;
            agrees::<Option<Digest>>(&body)?;
            agrees::<String>(&body)?;
            agrees::<u64>(&body)?;
            agrees::<Option<u64>>(&body)?;
            agrees::<Option<bool>>(&body)?;
            agrees::<Outcome>(&body)?;
            agrees::<Tagged>(&body)?;
            agrees::<By>(&body)?;
            agrees::<Option<By>>(&body)?;
        }
    }
}
