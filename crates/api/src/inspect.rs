//! Looking at runs: `loop runs`, `show`, `audit` and `receipt show`.

use std::ffi::OsString;
use std::path::PathBuf;

use names::{Digest, MicroUsd, Port, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AnsweredAsk, ChangeCounts, Denial, Enforcement, IgnoredKey, LimitHit, Outcome,
    VerificationView, text,
};

/// Names a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// A run id, or the beginning of one or of its part after the dash; `None` is the project's
    /// newest; for its changes, the newest that did not only check another's again.
    pub run: Option<String>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// Asks for runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsRequest {
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// The runs of every project.
    pub all: bool,
    /// At most this many, newest first; `None` is all.
    pub limit: Option<usize>,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Its sandbox does not stand yet.
    Preparing,
    /// A command or an agent is at work in it.
    Working,
    /// At least one thing in it waits for a person's answer.
    Waiting,
    /// Its checks run.
    Checking,
    /// Its work is over; what it left is read and signed.
    Sealing,
    /// It ended, and its change set waits.
    Ready,
    /// It ended and changed nothing.
    Unchanged,
    /// It ended, and what it changed went into the project as it happened.
    Direct,
    /// Its change set was applied.
    Applied,
    /// Its change set was applied and taken back.
    Undone,
    /// Its change set was dropped.
    Discarded,
    /// Its change set is being applied.
    Applying,
    /// What was applied is being taken back.
    Undoing,
    /// Its change set is being dropped.
    Discarding,
    /// The control plane died before it could seal it.
    Interrupted,
    /// The control plane died while it applied the change set: the project may hold a part of it.
    HalfApplied,
    /// The same, while it took it back.
    HalfUndone,
    /// The same, while it dropped it.
    HalfDiscarded,
    /// Its files don't hold, or tell what can't be.
    Broken,
}

impl RunState {
    /// Whether a process is at it.
    #[must_use]
    pub const fn is_live(self) -> bool {
        match self {
            Self::Preparing
            | Self::Working
            | Self::Waiting
            | Self::Checking
            | Self::Sealing
            | Self::Applying
            | Self::Undoing
            | Self::Discarding => true,
            Self::Ready
            | Self::Unchanged
            | Self::Direct
            | Self::Applied
            | Self::Undone
            | Self::Discarded
            | Self::Interrupted
            | Self::HalfApplied
            | Self::HalfUndone
            | Self::HalfDiscarded
            | Self::Broken => false,
        }
    }
}

/// One run, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// When it started.
    pub started: Timestamp,
    /// How long it took, in milliseconds; `None` while it runs.
    pub duration_ms: Option<u64>,
    /// The project.
    #[serde(with = "text")]
    pub project: PathBuf,
    /// The profile's name.
    pub profile: String,
    /// The command; the first one of a warm sandbox.
    #[serde(with = "text::many")]
    pub command: Vec<OsString>,
    /// Where it stands.
    pub state: RunState,
    /// The exit code; `None` while it runs.
    pub exit_code: Option<u8>,
    /// What is claimed about it.
    pub outcome: Option<Outcome>,
    /// What it changed, by number; nothing if it only checked again what another run changed.
    pub changes: ChangeCounts,
    /// The warm sandbox's name.
    pub session: Option<String>,
}

/// One run, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDetail {
    /// The run in a line.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Who it ran for.
    pub subject: String,
    /// The digest of its authority.
    pub authority: Digest,
    /// The digest of its change set, once it has one.
    pub change_set: Option<Digest>,
    /// How many commits it has checked out that its project does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// The run whose changes it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continued>,
    /// The run whose checks it re-executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<Continued>,
    /// What the checks of its contract came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationView>,
    /// Why they came to nothing, if it has a contract and was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// The limit that ended it.
    pub limit: Option<LimitHit>,
    /// What Loop's own agent did, if it was at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentView>,
    /// What a person answered, in order.
    #[serde(default)]
    pub approvals: Vec<AnsweredAsk>,
    /// What was reached outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<Reached>,
    /// What is published, and who came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Entered>,
    /// What was refused.
    pub denials: Vec<Denial>,
    /// Of a learning run: what the policy doesn't allow and was let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Vec<Denial>>,
    /// What an untrusted project configuration asked for and did not get.
    pub ignored_project_keys: Vec<IgnoredKey>,
    /// What the sandbox measured about itself; `None` if it never stood.
    pub enforcement: Option<Enforcement>,
    /// Of a broken run: what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    /// The chain of its ledger.
    pub chain: Chain,
    /// The run's directory.
    #[serde(with = "text")]
    pub directory: PathBuf,
    /// The receipt; `None` until it is sealed.
    #[serde(with = "text::maybe")]
    pub receipt: Option<PathBuf>,
}

/// A run that another rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continued {
    /// The run.
    pub run: RunId,
    /// The digest of its receipt.
    pub receipt: Digest,
}

/// Loop's own agent in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// The session that it wrote.
    pub session: String,
    /// The model: `provider:name`; empty before the first turn.
    pub model: String,
    /// Turns that began.
    pub turns: u32,
    /// Calls of the model.
    pub steps: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// What they cost, in millionths of a US dollar, as far as prices are known.
    pub cost_micro_usd: MicroUsd,
}

/// A destination outside that a run was connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The addresses that were dialled, sorted.
    pub addresses: Vec<String>,
    /// Number of connections.
    pub connections: u64,
    /// Those that came to nothing.
    pub failed: u64,
    /// Bytes that left.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
    /// Time of all connections together, in milliseconds.
    pub took_ms: u64,
    /// Why the last that failed did.
    pub why: Option<String>,
}

/// A published port of a sandbox, and the connections to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// The port inside.
    pub port: Port,
    /// The ports on this machine that lead to it, sorted.
    pub outside: Vec<Port>,
    /// Number of connections.
    pub connections: u64,
    /// Those that came to nothing.
    pub failed: u64,
    /// Bytes that left the sandbox.
    pub sent: u64,
    /// Bytes that came into it.
    pub received: u64,
    /// Time of all connections together, in milliseconds.
    pub took_ms: u64,
    /// Why the last that failed did.
    pub why: Option<String>,
}

/// What the verifier says of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Whether every record follows from the one before.
    pub intact: bool,
    /// How many records hold.
    pub count: u64,
    /// The hash of the last one that holds.
    pub head: Option<Digest>,
    /// What broke, and where.
    pub problem: Option<String>,
    /// What is odd but no failure: a clock set back, a length nobody vouches for.
    pub notes: Vec<String>,
}

/// A run's ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The run.
    pub run: RunId,
    /// The ledger's file.
    #[serde(with = "text")]
    pub ledger: PathBuf,
    /// The chain.
    pub chain: Chain,
    /// The records that hold, in order.
    pub records: Vec<AuditRecord>,
}

/// One record of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Its place, from 0.
    pub seq: u64,
    /// When it was written.
    pub time: Timestamp,
    /// Its kind, as `exec.intent`.
    pub kind: String,
    /// Its body.
    pub body: Value,
    /// Its hash.
    pub hash: Digest,
    /// It is an intent, and no result was ever recorded.
    pub outcome_unknown: bool,
}

/// A run's receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptView {
    /// The run.
    pub run: RunId,
    /// The receipt's file.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// The run's ledger.
    #[serde(with = "text")]
    pub ledger: PathBuf,
    /// The run's change set.
    #[serde(with = "text")]
    pub change_set: PathBuf,
    /// The ids of the keys that signed it.
    pub keys: Vec<String>,
    /// The in-toto statement inside.
    pub statement: Value,
}

/// Keeps a signed head of a run's ledger in a file elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessRequest {
    /// Whose ledger.
    pub run: RunRequest,
    /// The file, to which it is appended.
    #[serde(with = "text")]
    pub to: PathBuf,
    /// The file of the secret key that signs; `None` is the key of this machine.
    #[serde(with = "text::maybe")]
    pub key: Option<PathBuf>,
}

/// A head that a file vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessView {
    /// The run.
    pub run: RunId,
    /// How many records its ledger has.
    pub count: u64,
    /// The hash of the last of them.
    pub hash: Digest,
    /// The id of the key that signed.
    pub key: String,
    /// The file.
    #[serde(with = "text")]
    pub file: PathBuf,
    /// Whether it was not there already.
    pub added: bool,
}
