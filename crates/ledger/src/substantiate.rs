//! Does what a receipt states amount to a verified outcome?
//!
//! Only evidence does: checks of a contract that passed on the very change set that the receipt is
//! about, for every criterion, with nothing among the changes that steers them, and no veto.

use names::{Digest, canonical};
use serde::Serialize;

use crate::facts::Facts;
use crate::flaw::Flaw;
use crate::kind;
use crate::receipt::{CHANGES, Predicate, Statement};
use crate::verification::{Check, Criterion, Verification};

/// Is what the receipt states of checks what the ledger's last `verification` says?
pub(crate) fn recorded(predicate: &Predicate, facts: &Facts) -> Result<(), Flaw> {
    let fact = "the verification";
    match (&predicate.verification, &facts.verification) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(Flaw::RecordMissing { kind: kind::VERIFICATION }),
        (Some(stated), Some(found)) if found.value == digest(predicate, stated) => Ok(()),
        (_, Some(found)) => Err(Flaw::FactDiffers { fact, record: found.record }),
    }
}

/// Digest of the record's body, as the receipt has it.
fn digest(predicate: &Predicate, verification: &Verification) -> Digest {
    #[derive(Serialize)]
    struct Body<'a> {
        checks: &'a [Check],
        verification: &'a Verification,
    }
    let body = Body { checks: &predicate.checks, verification };
    Digest::of(&canonical::to_vec(&body).unwrap_or_default())
}

/// Does it amount to the outcome `verified`?
pub(crate) fn substantiated(statement: &Statement) -> Result<(), Flaw> {
    let predicate = &statement.predicate;
    let checks = &predicate.checks;
    let Some(verification) = predicate.verification.as_ref().filter(|_| !checks.is_empty()) else {
        return Err(Flaw::NoEvidence);
    };
    if let Some(check) = checks.iter().find(|check| !check.passed && !failed_before(check)) {
        return Err(Flaw::CheckFailed { name: names::printable(check.name.as_bytes()) });
    }
    about(statement, verification)?;
    criteria(checks, &verification.criteria)?;
    if let Some(flag) = verification.flags.first() {
        return Err(Flaw::Flagged { path: names::printable(flag.path.as_bytes()) });
    }
    match &verification.review {
        Some(review) if review.veto => Err(Flaw::Vetoed),
        _ => Ok(()),
    }
}

/// A failure that the base has too is nobody's new one. No criterion is met by it.
fn failed_before(check: &Check) -> bool {
    check.pre_existing && check.base.as_ref().is_some_and(|base| !base.passed)
}

/// Is the change set that was checked the one that the receipt is about? A receipt that is about
/// none fails by its subjects.
fn about(statement: &Statement, verification: &Verification) -> Result<(), Flaw> {
    let checked = verification.changes;
    let mut subjects = statement.subject.iter().filter(|subject| subject.name == CHANGES);
    match subjects.all(|subject| subject.digest == checked) {
        true => Ok(()),
        false => Err(Flaw::OthersChecked { checked }),
    }
}

fn criteria(checks: &[Check], criteria: &[Criterion]) -> Result<(), Flaw> {
    if criteria.is_empty() {
        return Err(Flaw::NoEvidence);
    }
    let passed = |name: &String| checks.iter().any(|check| check.name == *name && check.passed);
    let met = |criterion: &&Criterion| {
        criterion.met && !criterion.checks.is_empty() && criterion.checks.iter().all(passed)
    };
    match criteria.iter().find(|criterion| !met(criterion)) {
        Some(unmet) => Err(Flaw::CriterionUnmet { id: names::printable(unmet.id.as_bytes()) }),
        None => Ok(()),
    }
}
