//! How a turn ended, as data.

use api::event::{End, ModelFault};
use models::ModelError;

use crate::budget::Spent;

/// How a turn ended, and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How.
    pub end: End,
    /// What this turn used.
    pub spent: Spent,
}

/// Whose fault an error is, by kind; `None`: nobody's, it was cancelled.
pub(crate) fn model_fault(error: &ModelError) -> Option<ModelFault> {
    Some(match error {
        ModelError::Cancelled => return None,
        ModelError::Unauthorized(_) => ModelFault::Unauthorized,
        ModelError::Exhausted(_) => ModelFault::Exhausted,
        ModelError::NotFound(_) => ModelFault::NotFound,
        ModelError::RateLimited { .. } => ModelFault::RateLimited,
        ModelError::Overloaded(_) => ModelFault::Overloaded,
        ModelError::Unreachable(_) | ModelError::Unanswered(_) => ModelFault::Unreachable,
        ModelError::Interrupted(_) => ModelFault::Interrupted,
        ModelError::Malformed(_) => ModelFault::Malformed,
        ModelError::TooLong(_) => ModelFault::TooLong,
        ModelError::Refused(_) => ModelFault::Refused,
        ModelError::Script(_) => ModelFault::Script,
    })
}
