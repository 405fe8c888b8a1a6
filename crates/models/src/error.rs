//! Why there is no answer.

use std::time::Duration;

/// Why there is no answer. The text says who is at fault in what way, in words that can be shown:
/// credentials are masked and nothing in it can steer a terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The caller's [`crate::Cancel`].
    #[error("cancelled")]
    Cancelled,
    /// 401, 403: the provider does not take the key, or the key may not use this model.
    #[error("{0}")]
    Unauthorized(String),
    /// The account has no credit left.
    #[error("{0}")]
    Exhausted(String),
    /// 404: there is no such model, or the address is wrong.
    #[error("{0}")]
    NotFound(String),
    /// 429, and it stayed so.
    #[error("{said}")]
    RateLimited {
        /// What the provider said.
        said: String,
        /// When it may be tried again, if the provider said so.
        after: Option<Duration>,
    },
    /// 5xx, and it stayed so.
    #[error("{0}")]
    Overloaded(String),
    /// No connection, no TLS: nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, and nothing came in time, or the connection broke.
    #[error("{0}")]
    Unanswered(String),
    /// The answer broke off after something of it was seen. What was seen is all there is.
    #[error("{0}")]
    Interrupted(String),
    /// The provider answered something that its protocol does not know.
    #[error("{0}")]
    Malformed(String),
    /// The conversation is longer than the model's context window.
    #[error("{0}")]
    TooLong(String),
    /// The provider does not take the request as it is.
    #[error("{0}")]
    Refused(String),
    /// An expectation of a scripted model did not hold, or its script is at its end.
    #[error("{0}")]
    Script(String),
}

impl ModelError {
    /// The same with another text.
    pub(crate) fn map(self, with: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Cancelled => Self::Cancelled,
            Self::Unauthorized(text) => Self::Unauthorized(with(text)),
            Self::Exhausted(text) => Self::Exhausted(with(text)),
            Self::NotFound(text) => Self::NotFound(with(text)),
            Self::RateLimited { said, after } => Self::RateLimited { said: with(said), after },
            Self::Overloaded(text) => Self::Overloaded(with(text)),
            Self::Unreachable(text) => Self::Unreachable(with(text)),
            Self::Unanswered(text) => Self::Unanswered(with(text)),
            Self::Interrupted(text) => Self::Interrupted(with(text)),
            Self::Malformed(text) => Self::Malformed(with(text)),
            Self::TooLong(text) => Self::TooLong(with(text)),
            Self::Refused(text) => Self::Refused(with(text)),
            Self::Script(text) => Self::Script(with(text)),
        }
    }

    /// Whether the same request may succeed later: nothing is wrong with it or with the key.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded(_)
                | Self::Unreachable(_)
                | Self::Unanswered(_)
                | Self::Interrupted(_)
                | Self::Malformed(_)
        )
    }

    /// Whether the provider may have worked on the request, and may charge for it.
    #[must_use]
    pub fn may_cost(&self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::Overloaded(_)
                | Self::Unanswered(_)
                | Self::Interrupted(_)
                | Self::Malformed(_)
        )
    }
}
