//! Is this receipt true, as far as keys, a ledger and a change set can tell?
//!
//! Each aspect has its own verdict; the caller's requirements say which of them have to hold. What
//! could not be looked at is never reported as holding.

use std::collections::BTreeSet;
use std::str::FromStr;

use names::{Digest, RunId, Timestamp, canonical};
use serde::Serialize;

use crate::dsse;
use crate::facts::{Facts, Gathering, Stated, Unreadable};
use crate::flaw::Flaw;
use crate::heads::vouched_heads;
use crate::kind;
use crate::line::Head;
use crate::receipt::{CHANGES, CheckedReceipt, Outcome, Predicate, RESULT, Statement};
use crate::substantiate::{recorded, substantiated};
use crate::touched;
use crate::tree::{self, Tree};
use crate::trust::TrustedKey;
use crate::verify::{Expect, Note, verify_each};

/// What a caller is content without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allow {
    /// No key is given, so nobody vouches for the receipt. A signature that is missing or wrong
    /// although keys are given is never allowed.
    Unsigned,
    /// The outcome is `unverified`.
    Unverified,
    /// No ledger is given: chain, policy and completeness are the receipt's own word.
    NoLedger,
    /// No change set is given: the subjects are not compared with one.
    NoChanges,
    /// It was a learning run: its policy was not in force.
    Learning,
}

impl Allow {
    /// Every word, as written on a command line.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("unsigned", Self::Unsigned),
        ("unverified", Self::Unverified),
        ("no-ledger", Self::NoLedger),
        ("no-changes", Self::NoChanges),
        ("learning", Self::Learning),
    ];
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::WORDS.into_iter().find(|(name, _)| *name == word);
        known.map(|(_, allow)| allow).ok_or_else(|| {
            let words = Self::WORDS.map(|(name, _)| name).join(", ");
            format!("\"{}\" can't be allowed; only {words}", names::printable(word.as_bytes()))
        })
    }
}

/// What a receipt is measured by.
#[derive(Debug, Clone, Default)]
pub struct Requirements<'a> {
    /// The keys that are trusted, and for what.
    pub keys: Vec<TrustedKey>,
    /// The bytes of the run's ledger.
    pub ledger: Option<&'a [u8]>,
    /// The bytes of the run's `changes.json`.
    pub change_set: Option<&'a [u8]>,
    /// Signed heads that lay beside the ledger.
    pub heads: Option<&'a [u8]>,
    /// Signed heads that were kept elsewhere: one of them must be of this run.
    pub witness: Option<&'a [u8]>,
    /// Where the touched paths must be as the run left them.
    pub tree: Option<&'a dyn Tree>,
    /// Commits, one a line: the run must have started from one of them.
    pub history: Option<&'a [u8]>,
    /// What may be missing.
    pub allow: BTreeSet<Allow>,
    /// The reader's time; without it, no receipt is from the future.
    pub now: Option<Timestamp>,
}

/// How far the clock of whoever signed may be ahead of the reader's, in milliseconds.
const CLOCKS_APART: i64 = 5 * 60 * 1000;

/// What is known about one aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "why")]
pub enum Verdict {
    /// It is right.
    Holds,
    /// It is wrong.
    Fails(Flaw),
    /// There was nothing to check it with.
    NotChecked(&'static str),
}

impl Verdict {
    fn of(checked: Result<(), Flaw>) -> Self {
        checked.map_or_else(Self::Fails, |()| Self::Holds)
    }

    /// It was checked and is right.
    #[must_use]
    pub fn holds(&self) -> bool {
        *self == Self::Holds
    }
}

/// The verdicts on a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReceiptVerdict {
    /// Is it a receipt of a known schema?
    pub form: Verdict,
    /// Did a trusted key sign it, and is every signature of a trusted key right?
    pub signature: Verdict,
    /// Is the ledger intact, of this run, and does it contain the receipt's head?
    pub chain: Verdict,
    /// Are the subjects the change set and its result, and are they those of the ledger?
    pub subjects: Verdict,
    /// Was the run under the stated authority and enforcement, and every intent allowed?
    pub policy: Verdict,
    /// Does it leave nothing out, and has every intent its result?
    pub completeness: Verdict,
    /// Is the outcome verified, with evidence, and the one of the ledger?
    pub outcome: Verdict,
    /// Are the signed heads right? There only if some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<Verdict>,
    /// Does the witness vouch for a head? There only if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Verdict>,
    /// Does the tree hold what the run left? There only if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Verdict>,
    /// Did the run start from a commit of the history? There only if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Verdict>,
    /// Records of the ledger after the receipt's head, which it says nothing about.
    pub after: Option<u64>,
    /// What is odd, but not wrong.
    pub notes: Vec<Note>,
    /// The aspects that do not satisfy the caller's requirements.
    pub unmet: Vec<&'static str>,
}

const UNREADABLE: &str = "the receipt can't be read";
const NO_LEDGER: &str = "no ledger was given";
const NO_CHANGES: &str = "no change set was given";
const NO_KEY: &str = "no trusted key was given";
const NO_CHAIN: &str = "the ledger does not hold";

/// Judges the content of a receipt file.
#[must_use]
pub fn verify_receipt(bytes: &[u8], requirements: &Requirements<'_>) -> ReceiptVerdict {
    match CheckedReceipt::parse(bytes) {
        Ok(receipt) => receipt.verify(requirements),
        Err(error) => ReceiptVerdict::unreadable(error.into()),
    }
}

impl ReceiptVerdict {
    pub(crate) fn unreadable(flaw: Flaw) -> Self {
        let not = || Verdict::NotChecked(UNREADABLE);
        Self {
            form: Verdict::Fails(flaw),
            signature: not(),
            chain: not(),
            subjects: not(),
            policy: not(),
            completeness: not(),
            outcome: not(),
            heads: None,
            witness: None,
            tree: None,
            base: None,
            after: None,
            notes: Vec::new(),
            unmet: vec!["form"],
        }
    }

    /// Does everything hold that the caller requires?
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.unmet.is_empty()
    }

    /// Every aspect with its name, in the order in which they are shown.
    #[must_use]
    pub fn aspects(&self) -> Vec<(&'static str, &Verdict)> {
        let always = [
            ("form", &self.form),
            ("signature", &self.signature),
            ("chain", &self.chain),
            ("subjects", &self.subjects),
            ("policy", &self.policy),
            ("completeness", &self.completeness),
            ("outcome", &self.outcome),
        ];
        let asked_for = [
            ("heads", &self.heads),
            ("witness", &self.witness),
            ("tree", &self.tree),
            ("base", &self.base),
        ];
        let asked_for = asked_for.into_iter().filter_map(|(name, it)| Some((name, it.as_ref()?)));
        always.into_iter().chain(asked_for).collect()
    }
}

/// Is `verdict` on `aspect` good enough for a caller who allows `allow`?
fn suffices(aspect: &str, verdict: &Verdict, allow: &BTreeSet<Allow>) -> bool {
    let allowed = |what| allow.contains(&what);
    match verdict {
        Verdict::Holds => true,
        Verdict::Fails(Flaw::Outcome { outcome: Outcome::Unverified }) => {
            allowed(Allow::Unverified)
        }
        Verdict::Fails(Flaw::Learning { .. }) => allowed(Allow::Learning),
        Verdict::Fails(_) => false,
        Verdict::NotChecked(_) => match aspect {
            "signature" | "heads" | "witness" => allowed(Allow::Unsigned),
            "chain" | "policy" | "completeness" => allowed(Allow::NoLedger),
            "subjects" => allowed(Allow::NoChanges),
            _ => false,
        },
    }
}

/// The ledger as evidence: intact, and what it says; or why it is none.
enum Evidence {
    Facts(Box<Facts>),
    None(&'static str),
    Unreadable(u64),
}

impl CheckedReceipt {
    /// Judges this receipt.
    #[must_use]
    pub fn verify(&self, requirements: &Requirements<'_>) -> ReceiptVerdict {
        let statement = self.statement();
        let predicate = &statement.predicate;
        let run = &predicate.run;
        let heads = Vouched::of(run, requirements.heads, &requirements.keys);
        let witness = Vouched::of(run, requirements.witness, &requirements.keys);
        let known = heads.heads.into_iter().chain(witness.heads).collect();
        let Chain { verdict: chain, evidence, after, notes } =
            chain(predicate, requirements.ledger, known);
        let verdict = ReceiptVerdict {
            form: Verdict::of(is_of_the_past(predicate, requirements.now)),
            signature: self.signature(&requirements.keys),
            subjects: subjects(statement, requirements.change_set, &evidence),
            policy: in_force(predicate, evidence.judge(|facts| policy(predicate, facts))),
            completeness: completeness(predicate, &evidence),
            outcome: Verdict::of(outcome(statement, &evidence)),
            heads: heads.verdict,
            witness: witness.verdict,
            tree: requirements.tree.map(|tree| holds(tree, predicate, requirements.change_set)),
            base: requirements.history.map(|all| Verdict::of(starts_in(all, predicate))),
            chain,
            after,
            notes,
            unmet: Vec::new(),
        };
        let lacks = |(name, one): &(&str, &Verdict)| !suffices(name, one, &requirements.allow);
        let unmet = verdict.aspects().into_iter().filter(lacks).map(|(name, _)| name).collect();
        ReceiptVerdict { unmet, ..verdict }
    }

    fn signature(&self, keys: &[TrustedKey]) -> Verdict {
        if keys.is_empty() {
            return Verdict::NotChecked(NO_KEY);
        }
        Verdict::of(self.check_signatures(keys))
    }

    /// One signature at least of a key that is trusted for this, and none that claims a trusted key
    /// wrongly. Signatures of other keys say nothing, and are not looked at.
    fn check_signatures(&self, keys: &[TrustedKey]) -> Result<(), Flaw> {
        let envelope = self.envelope();
        let message = dsse::encoding(&envelope.payload_type, self.payload());
        let (mut vouched, mut objection) = (false, None);
        for signature in &envelope.signatures {
            let named = keys.iter().find(|trusted| trusted.key.id() == signature.keyid);
            let Some(trusted) = named else { continue };
            let right = signature.decode().is_some_and(|sig| trusted.key.verifies(&message, &sig));
            if !right {
                return Err(Flaw::BadSignature { key: trusted.key.id() });
            }
            match trusted.objects_to(&self.statement().predicate) {
                None => vouched = true,
                Some(flaw) => objection = objection.or(Some(flaw)),
            }
        }
        match (objection, envelope.signatures.as_slice()) {
            _ if vouched => Ok(()),
            (Some(flaw), _) => Err(flaw),
            (None, []) => Err(Flaw::Unsigned),
            (None, some) => {
                let named: Vec<_> = some.iter().map(|one| one.keyid.to_string()).collect();
                Err(Flaw::UnknownKey { named: named.join(", ") })
            }
        }
    }
}

/// The heads of a file that count, and the verdict on the file; none if there is none.
pub(crate) struct Vouched {
    pub(crate) heads: Vec<Head>,
    pub(crate) verdict: Option<Verdict>,
}

impl Vouched {
    /// The heads of the ledger of `run`. Where no key is given, those of anybody are compared with
    /// the ledger, but nobody vouches for them.
    pub(crate) fn of(run: &RunId, bytes: Option<&[u8]>, keys: &[TrustedKey]) -> Self {
        let Some(bytes) = bytes else { return Self { heads: Vec::new(), verdict: None } };
        let (heads, verdict) = match vouched_heads(bytes, run, keys) {
            Ok(heads) if keys.is_empty() => (heads, Verdict::NotChecked(NO_KEY)),
            Ok(heads) => (heads, Verdict::Holds),
            Err(flaw) => (Vec::new(), Verdict::Fails(flaw)),
        };
        Self { heads, verdict: Some(verdict) }
    }
}

/// A run that did not end yet has no receipt.
fn is_of_the_past(predicate: &Predicate, now: Option<Timestamp>) -> Result<(), Flaw> {
    let ended = predicate.ended;
    match now {
        Some(now) if ended.as_millis().saturating_sub(now.as_millis()) > CLOCKS_APART => {
            Err(Flaw::FromTheFuture { ended, now })
        }
        _ => Ok(()),
    }
}

fn holds(tree: &dyn Tree, predicate: &Predicate, change_set: Option<&[u8]>) -> Verdict {
    match change_set {
        None => Verdict::NotChecked(NO_CHANGES),
        Some(changes) => Verdict::of(tree::compare(changes, predicate.verification.as_ref(), tree)),
    }
}

/// Does the run start from one of these commits?
fn starts_in(history: &[u8], predicate: &Predicate) -> Result<(), Flaw> {
    let Some(commit) = predicate.base.commit.as_deref() else { return Err(Flaw::NoBase) };
    let known = |line: &[u8]| line.trim_ascii() == commit.as_bytes();
    match history.split(|byte| *byte == b'\n').any(known) {
        true => Ok(()),
        false => Err(Flaw::ForeignBase { commit: names::printable(commit.as_bytes()) }),
    }
}

/// What a ledger is worth for a receipt.
struct Chain {
    verdict: Verdict,
    evidence: Evidence,
    after: Option<u64>,
    notes: Vec<Note>,
}

/// Walks the ledger once: whether it holds, and what it says.
fn chain(predicate: &Predicate, ledger: Option<&[u8]>, heads: Vec<Head>) -> Chain {
    let Some(ledger) = ledger else {
        let (verdict, evidence) = (Verdict::NotChecked(NO_LEDGER), Evidence::None(NO_LEDGER));
        return Chain { verdict, evidence, after: None, notes: Vec::new() };
    };
    let covered = predicate.ledger;
    let expect = Expect { run: Some(predicate.run.clone()), head: Some(covered), heads };
    let mut gathering = Gathering::of(covered.count);
    let found = verify_each(ledger, expect, &mut |record, body| gathering.take(record, body));
    let after = found.holds().then(|| found.head.count.saturating_sub(covered.count));
    let evidence = match (found.holds(), gathering.end()) {
        (false, _) => Evidence::None(NO_CHAIN),
        (true, Ok(facts)) => Evidence::Facts(Box::new(facts)),
        (true, Err(Unreadable(record))) => Evidence::Unreadable(record),
    };
    let verdict = Verdict::of(found.broken.map_or(Ok(()), |broken| Err(broken.into())));
    Chain { verdict, evidence, after, notes: found.notes }
}

impl Evidence {
    fn judge(&self, check: impl FnOnce(&Facts) -> Result<(), Flaw>) -> Verdict {
        match self {
            Self::Facts(facts) => Verdict::of(check(facts)),
            Self::None(why) => Verdict::NotChecked(why),
            Self::Unreadable(record) => Verdict::Fails(Unreadable(*record).into()),
        }
    }

    /// Checks that need the ledger; without one there is nothing to object.
    fn object(&self, check: impl FnOnce(&Facts) -> Result<(), Flaw>) -> Result<(), Flaw> {
        match self {
            Self::Facts(facts) => check(facts),
            Self::None(_) => Ok(()),
            Self::Unreadable(record) => Err(Unreadable(*record).into()),
        }
    }
}

fn subjects(statement: &Statement, change_set: Option<&[u8]>, evidence: &Evidence) -> Verdict {
    let checked = named_subjects(statement).and_then(|stated| {
        change_set.map_or(Ok(()), |bytes| leads_to(bytes, stated))?;
        evidence.object(|facts| same("the subjects", kind::CHANGES, &facts.subjects, &stated))
    });
    match checked {
        Ok(()) if change_set.is_none() => Verdict::NotChecked(NO_CHANGES),
        checked => Verdict::of(checked),
    }
}

/// The digests of the change set and its result: exactly one subject of each name.
fn named_subjects(statement: &Statement) -> Result<(Digest, Digest), Flaw> {
    let (mut changes, mut result) = (None, None);
    for subject in &statement.subject {
        let before = match subject.name.as_str() {
            CHANGES => changes.replace(subject.digest),
            RESULT => result.replace(subject.digest),
            _ => Some(subject.digest),
        };
        if before.is_some() {
            return Err(Flaw::SubjectExtra { name: names::printable(subject.name.as_bytes()) });
        }
    }
    let changes = changes.ok_or(Flaw::SubjectMissing { name: CHANGES })?;
    let result = result.ok_or(Flaw::SubjectMissing { name: RESULT })?;
    Ok((changes, result))
}

/// Are these bytes the stated change set, and does it lead to the stated result?
fn leads_to(bytes: &[u8], (changes, result): (Digest, Digest)) -> Result<(), Flaw> {
    let found = Digest::of(bytes);
    if found != changes {
        return Err(Flaw::ChangesDiffer { stated: changes, found });
    }
    match touched::result_of(bytes) {
        Ok(found) if found == result => Ok(()),
        Ok(found) => Err(Flaw::ResultDiffers { stated: result, found }),
        Err(error) => Err(Flaw::ChangesUnreadable { problem: error.to_string() }),
    }
}

fn policy(predicate: &Predicate, facts: &Facts) -> Result<(), Flaw> {
    if !facts.started {
        return Err(Flaw::RecordMissing { kind: kind::RUN_START });
    }
    let other = facts.authorities.iter().find(|stated| stated.value != predicate.authority);
    if let Some(Stated { record, .. }) = other {
        return Err(Flaw::FactDiffers { fact: "the authority", record: *record });
    }
    learning(predicate, facts)?;
    let refused = facts.verdicts.iter().find(|stated| stated.value != "allow");
    if let Some(Stated { record, .. }) = refused {
        return Err(Flaw::NotAllowed { record: *record });
    }
    let enforcement = canonical::to_vec(&predicate.enforcement).unwrap_or_default();
    let enforcement = Digest::of(&enforcement);
    same("the enforcement", kind::ENFORCEMENT, &facts.enforcement, &enforcement)
}

/// The receipt says of a learning run that it was one, and nothing else lets anything through.
fn learning(predicate: &Predicate, facts: &Facts) -> Result<(), Flaw> {
    let stated = predicate.learned.is_some();
    match &facts.learning {
        Some(found) if found.value != stated => {
            Err(Flaw::FactDiffers { fact: "whether it was a learning run", record: found.record })
        }
        _ if !stated && !facts.learned.is_empty() => Err(Flaw::LearnedDiffer),
        _ => Ok(()),
    }
}

/// A policy that a learning run doesn't violate is still not one that was in force, which the
/// receipt says with or without its ledger.
fn in_force(predicate: &Predicate, verdict: Verdict) -> Verdict {
    match (&predicate.learned, verdict) {
        (Some(learned), Verdict::Holds | Verdict::NotChecked(_)) => {
            let actions = learned.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
            Verdict::Fails(Flaw::Learning { actions })
        }
        (_, verdict) => verdict,
    }
}

fn completeness(predicate: &Predicate, evidence: &Evidence) -> Verdict {
    match predicate.omissions.first() {
        Some(what) => Verdict::Fails(Flaw::Omission { what: names::printable(what.as_bytes()) }),
        None => evidence.judge(|facts| complete(predicate, facts)),
    }
}

fn complete(predicate: &Predicate, facts: &Facts) -> Result<(), Flaw> {
    if facts.outcome.is_none() {
        return Err(Flaw::RecordMissing { kind: kind::RUN_END });
    }
    if let Some(record) = facts.stray {
        return Err(Flaw::StrayResult { record });
    }
    if let Some(record) = facts.open.keys().next() {
        return Err(Flaw::OutcomeUnknown { record: *record });
    }
    if facts.denials != predicate.denials {
        return Err(Flaw::DenialsDiffer);
    }
    if predicate.learned.as_ref().is_some_and(|learned| *learned != facts.learned) {
        return Err(Flaw::LearnedDiffer);
    }
    if facts.approvals != predicate.approvals {
        return Err(Flaw::ApprovalsDiffer);
    }
    match &facts.follows {
        Some(found) if found.value != predicate.follows => {
            let fact = "which run it rests on";
            Err(Flaw::FactDiffers { fact, record: found.record })
        }
        _ => Ok(()),
    }
}

fn outcome(statement: &Statement, evidence: &Evidence) -> Result<(), Flaw> {
    let predicate = &statement.predicate;
    let stated = predicate.outcome;
    evidence.object(|facts| match &facts.outcome {
        Some(found) if found.value != stated => {
            Err(Flaw::FactDiffers { fact: "the outcome", record: found.record })
        }
        _ => recorded(predicate, facts),
    })?;
    match stated {
        Outcome::Verified => substantiated(statement),
        outcome => Err(Flaw::Outcome { outcome }),
    }
}

/// Does the ledger state `value`?
fn same<T: PartialEq>(
    fact: &'static str,
    kind: &'static str,
    found: &Option<Stated<T>>,
    value: &T,
) -> Result<(), Flaw> {
    match found {
        Some(found) if found.value == *value => Ok(()),
        Some(found) => Err(Flaw::FactDiffers { fact, record: found.record }),
        None => Err(Flaw::RecordMissing { kind }),
    }
}
