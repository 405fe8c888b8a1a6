//! What a client sees of a conversation, as data with a stable JSON form.
//!
//! One event a line is what `loop run --json` prints. An item is seen as started, perhaps as
//! updated, and as completed; a completed item is in the session already, unless it is an error that
//! the turn survives. Members may be added, and kinds of items; what is there keeps its meaning, and
//! `docs/agent.md` says what it is. Texts come from the model and the sandbox:
//! a terminal shows them through [`names::printable_lines`].

use models::{MicroUsd, Usage};
use serde::{Deserialize, Serialize};

use crate::outcome::{Fault, Reason};
use crate::tools::Task;

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// A conversation began or goes on.
    #[serde(rename = "thread.started")]
    ThreadStarted {
        /// The session's id.
        thread_id: String,
        /// The model, `provider:name`.
        model: String,
        /// Entries of the session that were there before.
        resumed: u64,
    },
    /// The agent begins to work on what the person said.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// Counts from 1.
        turn: u32,
    },
    /// An item began.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item as far as it is known.
        item: Item,
    },
    /// More of an item.
    #[serde(rename = "item.updated")]
    ItemUpdated {
        /// What came.
        item: Update,
    },
    /// An item is whole, and kept.
    #[serde(rename = "item.completed")]
    ItemCompleted {
        /// All of it.
        item: Item,
    },
    /// The turn ended as it should.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// Counts from 1.
        turn: u32,
        /// What the turn used.
        usage: Tokens,
        /// What it cost in millionths of a US dollar, as far as prices are known.
        cost_micro_usd: MicroUsd,
        /// Calls of the model.
        steps: u64,
    },
    /// The turn ended otherwise.
    #[serde(rename = "turn.failed")]
    TurnFailed {
        /// Counts from 1.
        turn: u32,
        /// Why.
        error: Failure,
        /// What the turn used.
        usage: Tokens,
        /// What it cost in millionths of a US dollar, as far as prices are known.
        cost_micro_usd: MicroUsd,
        /// Calls of the model.
        steps: u64,
    },
}

/// Why a turn did not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Failure {
    /// It was stopped.
    Stopped(Reason),
    /// It failed.
    Failed(Fault),
}

/// Something that a person can look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Unique in the run.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub what: Shown,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Shown {
    /// What the model says.
    Message {
        /// The text.
        text: String,
    },
    /// What the model thinks, as far as it may be shown.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A tool that looks at something, or whose call could not be understood.
    ToolCall {
        /// Its name, as the model wrote it.
        tool: String,
        /// Its arguments, as the model wrote them, shortened.
        arguments: String,
        /// What came of it; empty until then.
        output: String,
        /// How far it is.
        status: Status,
    },
    /// A command and its output.
    Command {
        /// The line of shell.
        command: String,
        /// What it printed; empty until it ended.
        output: String,
        /// How it ended, as a shell says it.
        exit_code: Option<i32>,
        /// How far it is.
        status: Status,
    },
    /// A change of files.
    FileChange {
        /// Which tool changes.
        tool: String,
        /// The file; `None`: a patch names its files itself.
        path: Option<String>,
        /// What came of it; empty until then.
        output: String,
        /// How far it is.
        status: Status,
    },
    /// The list of what is to do.
    Todo {
        /// All of it.
        items: Vec<Task>,
    },
    /// Older parts of the conversation made room for newer ones.
    Compaction {
        /// What takes their place, if the model wrote a summary.
        summary: Option<String>,
        /// Tokens of the context before, estimated.
        before: u64,
        /// And after.
        after: u64,
    },
    /// Something went wrong, and the turn goes on.
    Error {
        /// What.
        message: String,
    },
}

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on.
    InProgress,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// The authority does not allow it.
    Denied,
    /// Nobody knows how it ended.
    Unknown,
}

/// More of an item's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// Which item.
    pub id: String,
    /// What follows the text so far.
    pub delta: String,
}

/// Tokens that were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input, all of it.
    pub input_tokens: u64,
    /// Input that came from the provider's cache.
    pub cached_input_tokens: u64,
    /// Output, all of it.
    pub output_tokens: u64,
    /// Output that was reasoning.
    pub reasoning_output_tokens: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        Self {
            input_tokens: input,
            cached_input_tokens: usage.cache_read,
            output_tokens: usage.output,
            reasoning_output_tokens: usage.reasoning,
        }
    }
}
