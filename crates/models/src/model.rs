//! The one way to ask a model.

use std::fmt;

use crate::{Abilities, Answer, Cancel, Event, ModelError, Request};

/// A model of some provider.
pub trait Model: Send + Sync {
    /// Who it is.
    fn id(&self) -> &ModelId;

    /// What is known of it.
    fn abilities(&self) -> &Abilities;

    /// Streams one answer and blocks until it is whole. `sink` sees its events as they come;
    /// `cancel` ends it at once.
    ///
    /// # Errors
    /// Everything that kept the answer from being whole; see [`ModelError`].
    fn answer(
        &self,
        request: &Request,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, ModelError>;
}

/// A model's provider and name. Its text is `provider:name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    provider: String,
    name: String,
}

impl ModelId {
    /// Joins the two.
    #[must_use]
    pub fn new(provider: impl Into<String>, name: impl Into<String>) -> Self {
        Self { provider: provider.into(), name: name.into() }
    }

    /// Who provides it: `anthropic`, `openai`, `openai-compatible`, `ollama`, `scripted`.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What its provider calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a file is played and nothing is thought.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        self.provider == "scripted"
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, names::printable(self.name.as_bytes()))
    }
}
