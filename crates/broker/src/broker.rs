//! Decide, record, mint: the order is the guarantee.

use std::sync::Arc;

use ledger::{Ledger, LedgerError, Recorded};
use names::Digest;
use policy::{Action, Authority, Cause, Outcome, Verdict};
use serde::Serialize;

use crate::act::Act;
use crate::act::private::Strength;
use crate::learn::Conduct;
use crate::permit::Permit;
use crate::refusal::Refusal;

/// Kind of the record of every refused action.
const DENIED: &str = ledger::kind::DENIED;

/// The only maker of permits, for one run under one authority. Clones share both.
#[derive(Debug, Clone)]
pub struct Broker {
    authority: Arc<Authority>,
    digest: Digest,
    pub(crate) ledger: Ledger,
    pub(crate) conduct: Conduct,
}

impl Broker {
    /// A broker that decides by `authority` and records in `ledger`.
    #[must_use]
    pub fn new(authority: Arc<Authority>, ledger: Ledger) -> Self {
        Self { digest: authority.digest(), authority, ledger, conduct: Conduct::Enforcing }
    }

    /// Decides about `act`, records the intent or the denial, and mints a permit if it is allowed.
    pub fn request<A: Act>(&self, act: A) -> Result<Permit<A>, Refusal> {
        let action = act.action();
        let verdict = self.authority.decide(&action);
        if self.lets_through::<A>(&action, &verdict) {
            return self.learn(act, &action, &verdict);
        }
        match verdict.outcome {
            Outcome::Allow => {
                let record = self.intend::<A>(&action, &verdict)?;
                Ok(Permit::mint(act, record, self.ledger.clone()))
            }
            Outcome::Ask => {
                let record = self.deny(&action, &verdict, Because::Unanswered)?;
                Err(Refusal::Unanswered { verdict: Box::new(verdict), record })
            }
            Outcome::Deny => {
                let record = self.deny(&action, &verdict, Because::Verdict)?;
                Err(Refusal::Denied { verdict: Box::new(verdict), record })
            }
        }
    }

    /// Records the result of what `permit` was for, in the ledger of its intent. Without this the
    /// intent reads "outcome unknown" for ever.
    pub fn complete<A: Act>(
        &self,
        permit: Permit<A>,
        result: &impl Serialize,
    ) -> Result<(), LedgerError> {
        let (record, ledger) = permit.spend();
        let kind = format!("{}{}", A::KIND, ledger::kind::RESULT);
        write::<A>(&ledger, &kind, &Completed { intent: record.seq, result })?;
        Ok(())
    }

    /// The authority that decides.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The ledger that records.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn intend<A: Act>(&self, action: &Action, verdict: &Verdict) -> Result<Recorded, LedgerError> {
        let kind = format!("{}{}", A::KIND, ledger::kind::INTENT);
        write::<A>(&self.ledger, &kind, &self.decision(action, verdict, None))
    }

    fn deny(
        &self,
        action: &Action,
        verdict: &Verdict,
        because: Because,
    ) -> Result<Recorded, LedgerError> {
        self.ledger.commit(DENIED, &self.decision(action, verdict, Some(because)))
    }

    pub(crate) fn decision<'a>(
        &self,
        action: &'a Action,
        verdict: &'a Verdict,
        because: Option<Because>,
    ) -> Decision<'a> {
        Decision {
            action,
            action_digest: action.digest(),
            authority: self.digest,
            outcome: verdict.outcome,
            decided_by: &verdict.decided_by,
            reason: &verdict.reason,
            because,
            learned: None,
        }
    }
}

/// Writes as strongly as the act demands.
pub(crate) fn write<A: Act>(
    ledger: &Ledger,
    kind: &str,
    body: &impl Serialize,
) -> Result<Recorded, LedgerError> {
    match A::STRENGTH {
        Strength::Synced => ledger.commit(kind, body),
        Strength::Journaled => ledger.journal(kind, body),
    }
}

/// Body of an intent or a denial.
#[derive(Serialize)]
pub(crate) struct Decision<'a> {
    action: &'a Action,
    action_digest: Digest,
    authority: Digest,
    outcome: Outcome,
    decided_by: &'a [Cause],
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<Because>,
    /// The record by which a learning run lets it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) learned: Option<u64>,
}

/// What turned an action into a denial.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Because {
    /// The verdict is deny.
    Verdict,
    /// The verdict is ask, and nobody is attached to answer.
    Unanswered,
}

/// Body of a result.
#[derive(Serialize)]
struct Completed<'a, T> {
    intent: u64,
    result: &'a T,
}
