//! Everything that the agent has of the outside, as small traits: what carries its proposals, a
//! person, a journal. A model is a [`models::Model`], and time is a function that is passed in.

use api::event::{Event, Question};
use hands::proposal::{Outcome, Proposal};
use models::{Cancel, Model};
use names::Timestamp;
use serde::{Deserialize, Serialize};

use crate::session::Entry;

/// What a conversation is given of the outside.
pub struct Outside<'a> {
    /// Whom it asks for the next step.
    pub model: &'a dyn Model,
    /// What carries its proposals into the sandbox.
    pub hands: &'a mut dyn Hands,
    /// Who answers its questions.
    pub person: &'a mut dyn Person,
    /// What keeps the session.
    pub journal: &'a mut dyn Journal,
    /// What time it is.
    pub clock: &'a dyn Fn() -> Timestamp,
    /// Who watches.
    pub watch: &'a mut dyn FnMut(&Event),
}

/// Carries proposals into the sandbox, if they are permitted.
pub trait Hands {
    /// Carries one out and blocks until it has an outcome. `call` is the model's id of it, unique
    /// in the session; `progress` sees what a command prints meanwhile; `cancel` ends it early.
    fn carry_out(
        &mut self,
        call: &CallId,
        proposal: &Proposal,
        progress: &mut dyn FnMut(String),
        cancel: &Cancel,
    ) -> Carried;
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// It was let through; what came of it.
    Outcome(Outcome),
    /// It was not let through.
    Denied {
        /// Why.
        reason: String,
        /// The rule that decided.
        rule: Option<String>,
        /// What could be done about it.
        next: Option<String>,
    },
    /// It was let through, and nobody knows what came of it.
    Lost(String),
}

/// The id of a tool call, unique in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl std::fmt::Display for CallId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&names::printable(self.0.as_bytes()))
    }
}

/// Who answers the agent's questions.
pub trait Person {
    /// Asks, and blocks until there is a reply. `cancel` ends the wait.
    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Reply;
}

/// What a person said to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
    Answer(String),
    /// Someone is there and does not want to answer.
    Declined,
    /// Nobody is there.
    Nobody,
}

/// Nobody: every question goes unanswered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn ask(&mut self, _: &Question, _: &Cancel) -> Reply {
        Reply::Nobody
    }
}

/// What keeps a session: an append-only list of entries.
pub trait Journal {
    /// Appends an entry. When this returns, a crash of the agent can't lose it.
    ///
    /// # Errors
    /// It could not be kept. The conversation then ends.
    fn append(&mut self, entry: &Entry) -> Result<(), JournalError>;
}

/// Why an entry could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);
