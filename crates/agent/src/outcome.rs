//! How a turn ended, as data.

use models::ModelError;
use serde::{Deserialize, Serialize};

use crate::budget::{BudgetKind, Spent};

/// How a turn ended, and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How.
    pub end: End,
    /// What this turn used.
    pub spent: Spent,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The model says that it is done; its last message. A claim, not a fact.
    Finished(String),
    /// It was stopped.
    Stopped(Reason),
    /// It failed.
    Failed(Fault),
}

/// Why a turn was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The next call would have crossed a budget.
    #[error("the budget of {0} is used up")]
    Budget(BudgetKind),
    /// It went round in circles.
    #[error("no progress: {0}")]
    NoProgress(String),
    /// A person ended the turn.
    #[error("interrupted")]
    Interrupted,
    /// A person ended the run.
    #[error("the run was ended")]
    Ended,
}

/// Whose fault it is that a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The model's provider.
    #[error("{model}: {said}")]
    Model {
        /// Which model.
        model: String,
        /// What went wrong, by kind.
        kind: ModelFault,
        /// What was said.
        said: String,
    },
    /// The model: its last message does not fit the schema, and did not when asked again.
    #[error("the last message does not fit the schema: {}", .0.join("; "))]
    Schema(Vec<String>),
    /// The conversation can't be made to fit the model's context window.
    #[error(
        "the task, the instructions and the tools do not fit the model's context window of {window} tokens"
    )]
    Window {
        /// The window, in tokens.
        window: u64,
    },
    /// Ours: the session can't be kept.
    #[error("the session could not be stored: {0}")]
    Journal(String),
    /// Ours: proposals don't come back from the sandbox.
    #[error("the sandbox does not answer: {0}")]
    Hands(String),
}

/// What went wrong between us and a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// The key is not taken.
    Unauthorized,
    /// The account has no credit.
    Exhausted,
    /// There is no such model.
    NotFound,
    /// Too many requests.
    RateLimited,
    /// The provider is overloaded.
    Overloaded,
    /// No connection.
    Unreachable,
    /// The answer broke off.
    Interrupted,
    /// The provider answers nonsense.
    Malformed,
    /// The conversation is too long for it.
    TooLong,
    /// It does not take the request, or does not want to answer.
    Refused,
    /// A scripted model's script does not match.
    Script,
}

impl ModelFault {
    /// By the error; `None`: nobody's fault, it was cancelled.
    #[must_use]
    pub fn of(error: &ModelError) -> Option<Self> {
        Some(match error {
            ModelError::Cancelled => return None,
            ModelError::Unauthorized(_) => Self::Unauthorized,
            ModelError::Exhausted(_) => Self::Exhausted,
            ModelError::NotFound(_) => Self::NotFound,
            ModelError::RateLimited { .. } => Self::RateLimited,
            ModelError::Overloaded(_) => Self::Overloaded,
            ModelError::Unreachable(_) => Self::Unreachable,
            ModelError::Interrupted(_) => Self::Interrupted,
            ModelError::Malformed(_) => Self::Malformed,
            ModelError::TooLong(_) => Self::TooLong,
            ModelError::Refused(_) => Self::Refused,
            ModelError::Script(_) => Self::Script,
        })
    }
}
