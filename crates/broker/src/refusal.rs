//! Why there is no permit.

use ledger::{LedgerError, Recorded};
use policy::Verdict;

/// Why an action must not happen. Whatever the variant, no permit exists.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The authority denies it.
    #[error("denied: {}", verdict.reason)]
    Denied {
        /// The verdict, with the rules that decided.
        verdict: Box<Verdict>,
        /// The record of the denial.
        record: Recorded,
    },
    /// The authority asks, and nobody is there to answer.
    #[error("denied: {}, and nobody is there to ask", verdict.reason)]
    Unanswered {
        /// The verdict, with the rules that decided.
        verdict: Box<Verdict>,
        /// The record of the denial.
        record: Recorded,
    },
    /// It could not be recorded, so it must not happen, whatever the verdict.
    #[error("denied: it could not be recorded")]
    Unrecorded(#[from] LedgerError),
}

impl Refusal {
    /// The verdict that refused, unless it is the ledger that did.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Denied { verdict, .. } | Self::Unanswered { verdict, .. } => Some(verdict),
            Self::Unrecorded(_) => None,
        }
    }
}
