//! Proof that an action was decided and recorded.
//!
//! INVARIANT: a permit exists only for an action whose intent is in the ledger and that the
//! authority allows, or that a learning run let through. [`Permit::mint`] is the one place that
//! makes one, and [`Broker::request`] the only way to it.
//!
//! [`Broker::request`]: crate::Broker::request

use std::fmt;

use ledger::{Ledger, Recorded};

use crate::act::Act;

/// Permission for one act, once. It can't be copied, and completing the act takes it away.
#[must_use = "a permit that is not completed leaves an intent with an unknown outcome"]
pub struct Permit<A: Act> {
    act: A,
    record: Recorded,
    ledger: Ledger,
}

impl<A: Act> Permit<A> {
    /// Vouches that `ledger` holds the intent of `act` at `record`, with a verdict of allow or the
    /// record that let it through.
    pub(crate) fn mint(act: A, record: Recorded, ledger: Ledger) -> Self {
        Self { act, record, ledger }
    }

    /// What may be done, exactly.
    #[must_use]
    pub fn act(&self) -> &A {
        &self.act
    }

    /// The record of the intent.
    #[must_use]
    pub fn record(&self) -> &Recorded {
        &self.record
    }

    /// Ends the permission; what remains is the intent and the ledger that its result belongs in.
    pub(crate) fn spend(self) -> (Recorded, Ledger) {
        (self.record, self.ledger)
    }
}

impl<A: Act + fmt::Debug> fmt::Debug for Permit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Permit");
        debug.field("act", &self.act).field("record", &self.record).finish_non_exhaustive()
    }
}
