//! Verified completion: what the checks of a run's contract came to, `loop verify` and
//! `loop receipt export`.

use std::path::PathBuf;

use names::{Digest, RunId};
use serde::{Deserialize, Serialize};

use crate::{ExecReport, Outcome, text};

/// What the checks of a contract came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationView {
    /// The digest of the contract.
    pub contract: Digest,
    /// The round that counts, from 1.
    pub round: u32,
    /// The criteria, in the contract's order.
    pub criteria: Vec<CriterionView>,
    /// The checks, in the contract's order.
    pub checks: Vec<CheckView>,
    /// Changed paths that the checks had from the base, because the oracle holds them.
    pub held: Vec<String>,
    /// Changed paths that the checks had from the base, because Git ignores them or they are never
    /// applied.
    pub left_out: Vec<String>,
    /// Changed paths that the checks had although Git ignores them.
    pub used_ignored: Vec<String>,
    /// Changes that steer how checks run.
    pub flags: Vec<SteeringView>,
    /// What the reviewing model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewView>,
    /// Why it is not verified; empty if it is.
    pub reasons: Vec<String>,
}

/// One criterion of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionView {
    /// Its id.
    pub id: String,
    /// What it says; empty if it has no words.
    pub text: String,
    /// The checks that it takes, by name.
    pub checks: Vec<String>,
    /// Whether they all passed.
    pub met: bool,
}

/// One check of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckView {
    /// Its name.
    pub name: String,
    /// Its command, as a line of shell.
    pub command: String,
    /// On the base plus the change set.
    pub result: CheckedView,
    /// On the base alone.
    pub base: CheckedView,
    /// It failed, and on the base too, in the same way.
    pub pre_existing: bool,
    /// Why it did not pass.
    pub reasons: Vec<String>,
    /// The last lines that it printed on the base plus the change set, if it failed. Known only
    /// right after it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_printed: Vec<String>,
}

/// One re-execution of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedView {
    /// Whether it came out as the contract demands.
    pub passed: bool,
    /// Its exit code; `None` if it was ended, or never began.
    pub exit_code: Option<i32>,
    /// The signal that ended it, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it ran out of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The tests that its output tells of, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The digest of its standard output.
    pub output: Digest,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Tests that a check ran, by number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were skipped.
    pub skipped: u64,
}

/// A change that steers how checks run: it makes a run unverified until a person allows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringView {
    /// The path.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why.
    pub why: String,
}

/// The opinion of a reviewing model, which can object and not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewView {
    /// The model: `provider:name`.
    pub model: String,
    /// Whether it objects.
    pub veto: bool,
    /// Why.
    pub reason: String,
}

/// Where a check is to run, or ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckOn {
    /// On the base alone.
    Base,
    /// On the base plus the change set.
    Result,
}

/// What is told while checks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckProgress {
    /// The round, from 1.
    pub round: u32,
    /// The check.
    pub name: String,
    /// Its command, as a line of shell.
    pub command: String,
    /// Where it runs.
    pub on: CheckOn,
}

/// Re-executes the checks of a run, later or elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyRequest {
    /// What was run: a run, as in [`crate::RunRequest`], or a directory that
    /// `loop receipt export` wrote; `None` is the project's newest.
    #[serde(with = "text::maybe")]
    pub what: Option<PathBuf>,
    /// The project directory with the base; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// The profile that the checks run under; `None` is that of the run.
    pub profile: Option<String>,
    /// How long it may take, as `90s` or `1h30m`.
    pub timeout: Option<String>,
}

/// Whether the outcome of a run could be reproduced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// The version of this report's form: 1.
    pub schema: u32,
    /// The run whose checks were re-executed.
    pub of: RunId,
    /// What its receipt claims.
    pub claimed: Outcome,
    /// The ids of the keys that signed its receipt and that this machine trusts.
    pub trusted: Vec<String>,
    /// Whether outcome and checks came out as the receipt says.
    pub reproduced: bool,
    /// What came out differently.
    pub differences: Vec<String>,
    /// The run that re-executed them.
    pub run: ExecReport,
}

/// Writes what somebody else needs to re-execute a run's checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRequest {
    /// The run.
    pub run: crate::RunRequest,
    /// The directory; made if it is not there, and otherwise empty.
    #[serde(with = "text")]
    pub to: PathBuf,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportReport {
    /// The run.
    pub run: RunId,
    /// The directory.
    #[serde(with = "text")]
    pub directory: PathBuf,
    /// How many files of the change set it holds.
    pub files: u64,
    /// Their bytes, together.
    pub bytes: u64,
}
