//! What a client sees of a conversation, as data with a stable JSON form.
//!
//! One event a line is what `loop run --json` prints. An item is seen as started, perhaps as
//! updated, and as completed; a completed item is in the session already, unless it is an error that
//! the turn survives. Members may be added, and kinds of items; what is there keeps its meaning, and
//! `docs/agent.md` says what it is. Texts come from the model and the sandbox:
//! a terminal shows them through [`names::printable_lines`].

use names::MicroUsd;
use serde::{Deserialize, Serialize};

use crate::{CheckProgress, Outcome, VerificationView};

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
    /// The agent says that it is done, and a check of the contract begins.
    #[serde(rename = "check.started")]
    CheckStarted {
        /// Which, and where.
        check: CheckProgress,
    },
    /// The checks of a round have run. Where they are not passed and there are rounds left, the
    /// next turn follows.
    #[serde(rename = "verification.completed")]
    VerificationCompleted {
        /// What they came to.
        verification: VerificationView,
        /// What that amounts to.
        outcome: Outcome,
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
        /// What it is about, in a line.
        #[serde(default)]
        words: String,
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
        /// What it is about, in a line.
        #[serde(default)]
        words: String,
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

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
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
    /// No connection, or no answer.
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

/// One of the four budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Calls of a model.
    Steps,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Wall,
}

impl std::fmt::Display for BudgetKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Wall => "time",
        })
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What.
    pub text: String,
    /// How far it is.
    pub state: TaskState,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Not begun.
    Open,
    /// Begun.
    Doing,
    /// Done.
    Done,
}

/// What Loop's own agent wants to know of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question, in the model's words: show it through [`names::printable_lines`].
    pub text: String,
    /// Answers to choose from; empty: any.
    pub options: Vec<String>,
}
