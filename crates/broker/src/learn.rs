//! Learning: what is not allowed is let through where it stays inside the sandbox, and recorded.
//!
//! It must never let through what leaves the sandbox, nor what is pinned. Everything it lets through
//! has a `learned` record before its intent, and the intent names it; without one, a verifier takes
//! the intent for a violation.

use ledger::LedgerError;
use policy::{Action, Layer, Outcome, Verdict};

use crate::act::Act;
use crate::broker::{Broker, kinds, write};
use crate::permit::Permit;
use crate::refusal::Refusal;

/// What a broker does about what its authority does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// It asks or refuses.
    Enforcing,
    /// It learns what stays inside, and refuses the rest.
    Learning,
}

impl Broker {
    /// The broker of a learning run. Its receipt has to say so.
    #[must_use]
    pub fn learning(mut self) -> Self {
        self.conduct = Conduct::Learning;
        self
    }

    /// Whether it is the broker of a learning run.
    #[must_use]
    pub fn is_learning(&self) -> bool {
        self.conduct == Conduct::Learning
    }

    /// Whether an act that is not allowed happens all the same, because this run learns.
    pub(crate) fn lets_through(&self, action: &Action, verdict: &Verdict) -> bool {
        let pinned = verdict.decided_by.iter().any(|cause| cause.layer == Layer::Pinned);
        self.is_learning()
            && verdict.outcome != Outcome::Allow
            && self.authority().keeps_inside(action)
            && !pinned
    }

    /// Records that a learning run lets an action through, which happens along with another that a
    /// permit is requested for: the interpreter of a script. Otherwise this does nothing.
    ///
    /// # Errors
    /// When it can't be recorded; then the other must not happen.
    pub fn learn_along(&self, action: &Action) -> Result<(), LedgerError> {
        let verdict = self.authority().decide(action);
        if self.lets_through(action, &verdict) {
            self.ledger.journal(ledger::kind::LEARNED, &self.decision(action, &verdict))?;
        }
        Ok(())
    }

    /// Records what is let through and its intent, which tells its true verdict, and mints a permit.
    pub(crate) fn learn<A: Act>(
        &self,
        act: A,
        action: &Action,
        verdict: &Verdict,
    ) -> Result<Permit<A>, Refusal> {
        let mut decision = self.decision(action, verdict);
        let learned = self.ledger.journal(ledger::kind::LEARNED, &decision)?;
        decision.learned = Some(learned.seq);
        let record = write::<A>(&self.ledger, kinds(A::KIND).0, &decision)?;
        Ok(Permit::mint(act, record, self.ledger.clone()))
    }
}
