//! Why there is no permit.

use ledger::{LedgerError, Recorded};
use names::{Span, printable};
use policy::Verdict;

use crate::approvals::Capped;
use crate::ask::Answerer;

/// Why an action must not happen. Whatever the variant, no permit exists. The text is what whoever
/// wanted it is told.
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
    /// The authority asks, and nobody answered in time.
    #[error("denied: {}, and nobody answered within {timeout}", verdict.reason)]
    TimedOut {
        /// The verdict, with the rules that decided.
        verdict: Box<Verdict>,
        /// How long it waited.
        timeout: Span,
        /// The record of the denial.
        record: Recorded,
    },
    /// The authority asks, and too much was asked already.
    #[error("denied: too much waits for a person: {} is {}", capped.key, capped.limit)]
    Capped {
        /// The verdict, with the rules that decided.
        verdict: Box<Verdict>,
        /// The setting of the owner that says how much is too much.
        capped: Capped,
        /// The record of the denial.
        record: Recorded,
    },
    /// A person said no.
    #[error("denied by {}{}", printable(by.user.as_bytes()), said(reason.as_deref()))]
    ByPerson {
        /// The verdict, with the rules that asked.
        verdict: Box<Verdict>,
        /// Who.
        by: Answerer,
        /// What they said.
        reason: Option<String>,
        /// The record of the denial.
        record: Recorded,
    },
    /// The authority asks, and no person could read all of it.
    #[error("denied: {bytes} bytes are more than a person can be asked about")]
    TooLarge {
        /// The verdict, with the rules that asked.
        verdict: Box<Verdict>,
        /// How much it is.
        bytes: usize,
        /// The record of the denial.
        record: Recorded,
    },
    /// Whoever wanted it was gone before anybody answered.
    #[error("denied: whoever wanted it is gone")]
    Withdrawn {
        /// The verdict, with the rules that asked.
        verdict: Box<Verdict>,
        /// The record of the denial.
        record: Recorded,
    },
    /// The run is being stopped.
    #[error("denied: the run is being stopped")]
    Stopped {
        /// What would have been decided.
        verdict: Box<Verdict>,
        /// The record of the denial.
        record: Recorded,
    },
    /// It could not be recorded, so it must not happen, whatever the verdict.
    #[error("denied: it could not be recorded")]
    Unrecorded(#[from] LedgerError),
}

fn said(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", printable(reason.as_bytes()))).unwrap_or_default()
}

impl Refusal {
    /// The verdict that refused, unless it is the ledger that did.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Denied { verdict, .. }
            | Self::Unanswered { verdict, .. }
            | Self::TimedOut { verdict, .. }
            | Self::Capped { verdict, .. }
            | Self::ByPerson { verdict, .. }
            | Self::TooLarge { verdict, .. }
            | Self::Withdrawn { verdict, .. }
            | Self::Stopped { verdict, .. } => Some(verdict),
            Self::Unrecorded(_) => None,
        }
    }
}
