//! `loop exec` and `loop stop`.

use std::ffi::OsString;
use std::path::PathBuf;

use names::{Port, RunId};
use serde::{Deserialize, Serialize};

use crate::{ChangeCounts, RuleRef, VerificationView, text};

/// Runs a command in a sandbox. Its standard streams and its terminal are the caller's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecRequest {
    /// A profile's name, or the path of a file (anything with a `/` or ending in `.toml`).
    pub profile: Option<String>,
    /// The agent that the command is; it gets what it needs to work, and no credential.
    #[serde(default)]
    pub agent: Option<Agent>,
    /// How the workspace is treated; `None` is what the profile says.
    pub mode: Option<Mode>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// Variables set for the command, over what the profile passes.
    pub environment: Vec<(String, String)>,
    /// How long the command may take, as `90s` or `1h30m`.
    pub timeout: Option<String>,
    /// Leases, by name, that the run is lent besides what the profile asks for.
    #[serde(default)]
    pub leases: Vec<String>,
    /// Ports of the sandbox that this machine's programs can connect to.
    #[serde(default)]
    pub publish: Vec<Publication>,
    /// Use, or start, the warm sandbox of this name; its run ends with [`StopRequest`].
    pub session: Option<String>,
    /// Commands that have to end with 0 on the base plus the change set, for the run to be verified.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The contract whose checks have to pass, as a file; none is looked for.
    #[serde(default, with = "text::maybe")]
    pub contract: Option<PathBuf>,
    /// Let through what the policy doesn't allow, where it stays inside the sandbox, and record it.
    #[serde(default)]
    pub learn: bool,
    /// The program and its arguments; never empty.
    #[serde(with = "text::many")]
    pub command: Vec<OsString>,
}

/// An agent of somebody else's that Loop knows how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Code, of Anthropic.
    Claude,
    /// Codex, of OpenAI.
    Codex,
    /// opencode.
    Opencode,
}

/// A port of the sandbox, and the port of this machine's loopback addresses that leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Publication {
    /// The port on this machine.
    pub outside: Port,
    /// The port inside.
    pub port: Port,
}

/// How a run treats the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Writes stay in the run and become a change set.
    Overlay,
    /// Nothing can be written.
    ReadOnly,
    /// Writes reach the project; guarded paths are asked about.
    Direct,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecReport {
    /// The version of this report's form: 1.
    pub schema: u32,
    /// The run.
    pub run: RunId,
    /// The warm sandbox it ran in; the run then goes on, and has no receipt yet.
    pub session: Option<String>,
    /// The exit code Loop gives: the command's own, 128 + its signal, or one of [`crate::exit`].
    pub exit_code: u8,
    /// The signal that ended the command, by number.
    pub signal: Option<i32>,
    /// What is claimed about the run.
    pub outcome: Outcome,
    /// The limit that ended the run, if one did.
    pub limit: Option<LimitHit>,
    /// From start to end of the command, in milliseconds.
    pub duration_ms: u64,
    /// How the workspace was treated.
    pub mode: Mode,
    /// What changed in the workspace, by number; nothing is counted in direct mode, nor while a warm
    /// sandbox goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeCounts>,
    /// What was refused.
    pub denials: Vec<Denial>,
    /// Of a learning run: what the policy doesn't allow and was let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Vec<Denial>>,
    /// What the checks of its contract came to; `None` if it has no contract, or none were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationView>,
    /// What an untrusted project configuration asked for and did not get.
    pub ignored_project_keys: Vec<IgnoredKey>,
    /// The receipt; `None` while a warm sandbox goes on.
    #[serde(with = "text::maybe")]
    pub receipt: Option<PathBuf>,
    /// The run's directory: ledger, authority, change set, receipt.
    #[serde(with = "text")]
    pub directory: PathBuf,
    /// What the sandbox measured about itself.
    pub enforcement: Enforcement,
    /// What the person should know besides: a fallback, a clock set back.
    pub notes: Vec<String>,
}

/// What is claimed about a run. Only evidence makes `verified`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every check of its contract passed on the pristine base plus the change set.
    Verified,
    /// It ended by itself, and no evidence says more.
    Unverified,
    /// It ended by itself with a failure, a check that passed on the base failed, or its evidence
    /// couldn't be written.
    Failed,
    /// A limit, a signal or the person ended it.
    Stopped,
}

/// The limit that ended a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Its key: `memory`, `processes`, `disk`, `wall`, `output`.
    pub limit: String,
    /// What was allowed, as the profile writes it: `512`, `4GiB`, `1h`.
    pub allowed: String,
    /// Where it comes from.
    pub origin: Option<RuleRef>,
}

/// Something that was refused, or that a learning run let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The kind of action: `exec`, `connect`, `apply`.
    pub action: String,
    /// What was attempted, in the language of `policy explain`.
    pub what: String,
    /// The rule that decided.
    pub rule: Option<RuleRef>,
    /// Why.
    pub reason: String,
    /// The smallest change that would allow it.
    pub next: Option<String>,
    /// How often it was attempted.
    pub count: u64,
}

/// A key of an untrusted project configuration that does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredKey {
    /// The key, as `limits.memory`.
    pub key: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// What the sandbox measured about itself, from the inside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// The executor: `local`.
    pub backend: String,
    /// The kernel's release.
    pub kernel: String,
    /// The version of Landlock's interface; 0 is none.
    pub landlock_abi: u32,
    /// Whether the system call filter is in force.
    pub syscall_filter: bool,
    /// The user the command runs as, inside.
    pub uid: u32,
    /// What holds each limit.
    pub limits: Vec<EnforcedLimit>,
    /// What was attempted from the inside, and whether it was refused.
    pub self_test: Vec<SelfTest>,
}

/// One limit and what holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnforcedLimit {
    /// Its key, as in the profile.
    pub limit: String,
    /// What is allowed.
    pub allowed: String,
    /// What holds it: `cgroup v2`, `cgroup v1`, `watchdog`, `rlimit`, `timer`, `quota`.
    pub held_by: String,
}

/// One attempt of the self-test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// What was attempted.
    pub attempt: String,
    /// Whether it was refused.
    pub held: bool,
    /// How: the errno's name, or what was seen instead.
    pub detail: String,
}

/// Ends a warm sandbox and seals its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    /// The session's name.
    pub session: String,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// The sealed run of a warm sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// The session's name.
    pub session: String,
    /// Its run.
    pub run: RunId,
    /// How many commands it served.
    pub commands: u64,
    /// How the workspace was treated.
    pub mode: Mode,
    /// What changed in the workspace, by number; nothing is counted in direct mode.
    pub changes: ChangeCounts,
    /// What was refused.
    pub denials: Vec<Denial>,
    /// The receipt.
    #[serde(with = "text")]
    pub receipt: PathBuf,
    /// What is claimed about the run.
    pub outcome: Outcome,
}
