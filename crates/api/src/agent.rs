//! `loop run`: what Loop's own agent is asked for, and how it ended; its models and sessions.

use std::path::PathBuf;

use names::{MicroUsd, RunId, Secret, Timestamp};
use serde::{Deserialize, Serialize};

use crate::event::{End, Tokens};
use crate::{ExecReport, Mode, text};

/// A task for Loop's own agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRequest {
    /// The task, in the person's words; empty only where a session goes on.
    pub words: String,
    /// What was piped in with it.
    pub input: Option<String>,
    /// The model: `anthropic:NAME`, `scripted:FILE`, …; `None` is the first that there is a key for.
    pub model: Option<String>,
    /// How much it should think: `low`, `medium`, `high`, …
    pub effort: Option<String>,
    /// The JSON schema that its last message has to fit.
    pub schema: Option<serde_json::Value>,
    /// Whether a session goes on.
    pub begin: Begin,
    /// What may be used; the profile may give less.
    pub budget: BudgetRequest,
    /// A profile's name, or the path of a file.
    pub profile: Option<String>,
    /// How the workspace is treated; `None` is what the profile says.
    pub mode: Option<Mode>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// Variables set for commands inside, over what the profile passes.
    pub environment: Vec<(String, String)>,
    /// How long the run may take, as `90s` or `1h30m`.
    pub timeout: Option<String>,
    /// Leases, by name, that the run is lent besides what the profile asks for.
    pub leases: Vec<String>,
    /// Commands that have to end with 0 on the base plus the change set, for the run to be verified.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The contract whose checks have to pass, as a file; `None` is the project's own, if it has one
    /// that is trusted.
    #[serde(default, with = "text::maybe")]
    pub contract: Option<PathBuf>,
}

/// What a task begins from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "begin", rename_all = "kebab-case")]
pub enum Begin {
    /// From nothing.
    #[default]
    New,
    /// From the end of a session.
    Resume {
        /// A session's id, or the beginning of one; `None` is the newest of the project.
        session: Option<String>,
    },
    /// From somewhere in a session, which itself stays as it is.
    Fork {
        /// A session's id, or the beginning of one.
        session: String,
        /// The last turn that both have; `None` is all of them.
        turn: Option<u32>,
    },
}

/// What a task may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetRequest {
    /// Calls of the model.
    pub steps: Option<u64>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Dollars, as `2.50`.
    pub money: Option<String>,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The version of this report's form: 1.
    pub schema: u32,
    /// The session, which `loop run --resume` goes on with.
    pub session: String,
    /// The model: `provider:name`.
    pub model: String,
    /// How the conversation ended.
    pub end: End,
    /// Calls of the model.
    pub steps: u64,
    /// What they used.
    pub usage: Tokens,
    /// What it cost, in millionths of a US dollar; `None` where prices aren't known.
    pub cost_micro_usd: Option<MicroUsd>,
    /// The run: its exit code, change set, denials and receipt.
    pub run: ExecReport,
}

/// A session of Loop's own agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its id.
    pub session: String,
    /// When it was last worked on.
    pub last: Timestamp,
    /// The project's root.
    #[serde(with = "text")]
    pub project: PathBuf,
    /// The first words of the person.
    pub task: String,
    /// The model of its last turn.
    pub model: String,
    /// How many turns it has.
    pub turns: u32,
    /// Calls of models, in all its runs.
    pub steps: u64,
    /// What they cost, in millionths of a US dollar, as far as prices are known.
    pub cost_micro_usd: MicroUsd,
    /// Its runs, the oldest first.
    pub runs: Vec<RunId>,
    /// Why it can't be read, if it can't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Asks for sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionsRequest {
    /// Those of every project, and not only of this one.
    pub all: bool,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// A model that there is, or that something is missing for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelView {
    /// `provider:name`, as `--model` takes it.
    pub model: String,
    /// Whether it can be used.
    pub available: bool,
    /// Whether it is what `loop run` takes where none is named.
    pub default: bool,
    /// Why it can't be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Keeps a provider's key. It has no JSON form: a secret has none.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The provider: `anthropic`, `openai`, …
    pub provider: String,
    /// The key.
    pub key: Secret<String>,
    /// Keep it in the desktop's keyring and not in a file.
    pub keyring: bool,
}

/// A key that is kept, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginView {
    /// The provider.
    pub provider: String,
    /// The variable of the environment that is taken before it.
    pub variable: String,
    /// Where it is kept: a file's path, or `keyring`.
    pub kept: String,
}
