//! One question to a person, the answer to it, and what ties the two together.

use std::fmt;

use ledger::LedgerError;
use names::{AskId, Digest, RunId, Timestamp};
use policy::{Action, Cause, Kind};
use serde::{Deserialize, Serialize};

/// What a person is shown of an action besides the action. All of it may come from the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The commands that led to it, the nearest first.
    pub started_by: Vec<String>,
    /// What would be written, as a unified diff.
    pub diff: Option<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

impl Context {
    fn digest(&self) -> Digest {
        let diff = self.diff.as_ref().map_or(&b""[..], |diff| diff.as_bytes());
        let mut parts = vec![if self.diff.is_some() { &b"diff"[..] } else { b"" }, diff];
        parts.extend(self.started_by.iter().map(String::as_bytes));
        parts.push(b"notes");
        parts.extend(self.notes.iter().map(String::as_bytes));
        Digest::of_parts("loop-ask-context-v1", &parts)
    }

    /// How many bytes a person would have to be shown.
    pub(crate) fn size(&self) -> usize {
        let texts = self.started_by.iter().chain(&self.notes).chain(&self.diff);
        texts.map(String::len).sum()
    }
}

/// An action that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its id, unique in its run.
    pub id: AskId,
    /// The run.
    pub run: RunId,
    /// What would be done.
    pub action: Action,
    /// The digest of `action`.
    pub action_digest: Digest,
    /// The digest of the authority that asks.
    pub authority: Digest,
    /// The rules that ask.
    pub decided_by: Vec<Cause>,
    /// Why they do.
    pub reason: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it will be denied.
    pub expires_at: Timestamp,
    /// What else a person is shown.
    pub context: Context,
}

impl Ask {
    /// What an answer to exactly this ask carries.
    #[must_use]
    pub fn binding(&self) -> Binding {
        Binding(Digest::of_parts(
            "loop-ask-v1",
            &[
                self.id.as_str().as_bytes(),
                self.run.as_str().as_bytes(),
                self.kind().word().as_bytes(),
                self.action_digest.bytes(),
                self.authority.bytes(),
                &self.expires_at.as_millis().to_be_bytes(),
                self.context.digest().bytes(),
            ],
        ))
    }

    /// The kind of the action.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.action.kind()
    }

    pub(crate) fn subject(&self) -> Subject {
        let diff = self.context.diff.as_ref().map(|diff| Digest::of(diff.as_bytes()));
        Subject { kind: self.kind(), action: self.action_digest, authority: self.authority, diff }
    }
}

/// What an answer for the whole run is about: this kind, this action, this authority, these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    kind: Kind,
    action: Digest,
    authority: Digest,
    diff: Option<Digest>,
}

/// Proof of what a person was shown: a digest over id, run, kind, action, authority, expiry and
/// context of an ask. An answer with another one is for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binding(Digest);

impl Binding {
    /// The binding that somebody sent back.
    #[must_use]
    pub fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// This action may happen, this time.
    Once,
    /// It may happen, now and whenever this run wants exactly the same again.
    ForRun,
    /// It may not.
    Deny {
        /// What to tell whoever wanted it.
        reason: Option<String>,
    },
    /// It may not, nor anything else: the run ends.
    DenyAndStop {
        /// What to tell whoever wanted it.
        reason: Option<String>,
    },
}

impl Answer {
    /// The word for it in records.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::ForRun => "run",
            Self::Deny { .. } => "deny",
            Self::DenyAndStop { .. } => "stop",
        }
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Once | Self::ForRun => None,
            Self::Deny { reason } | Self::DenyAndStop { reason } => reason.as_deref(),
        }
    }
}

/// How a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// With a key at the terminal of the command.
    Terminal,
    /// With `loop approve` or `loop deny`.
    Command,
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answerer {
    /// The name of the user.
    pub user: String,
    /// Where.
    pub via: Via,
}

/// As a receipt says it: `ann (terminal)`.
impl fmt::Display for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let via = match self.via {
            Via::Terminal => "terminal",
            Via::Command => "command",
        };
        write!(f, "{} ({via})", self.user)
    }
}

/// Why an answer doesn't count. Whatever waits goes on waiting.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No ask of this run has that id.
    #[error("no ask {0} waits in this run")]
    NoSuchAsk(AskId),
    /// Somebody was faster; an answer is used once.
    #[error("ask {0} was answered already")]
    Answered(AskId),
    /// It came too late.
    #[error("ask {0} has expired")]
    Expired(AskId),
    /// It is an answer to something else.
    #[error("the answer is for something else than what ask {0} is about")]
    OtherBinding(AskId),
    /// The run is being stopped.
    #[error("the run is being stopped")]
    Stopped,
    /// It could not be recorded, so it does not count.
    #[error("the answer could not be recorded")]
    Unrecorded(#[from] LedgerError),
}

impl AnswerError {
    /// The word for it in records.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::NoSuchAsk(_) => "no-such-ask",
            Self::Answered(_) => "answered",
            Self::Expired(_) => "expired",
            Self::OtherBinding(_) => "other-binding",
            Self::Stopped => "stopped",
            Self::Unrecorded(_) => "unrecorded",
        }
    }
}
