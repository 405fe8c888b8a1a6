//! What a receipt says of a run's contract: which checks were re-executed, on what, and what they
//! came to. Output is there as a digest, never as text.

use names::{Digest, RunId};
use serde::{Deserialize, Serialize};

/// One check of the contract, re-executed on the base and on the base plus the change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Its name in the contract.
    pub name: String,
    /// Its command, as a line of shell.
    pub command: String,
    /// Did it come out as the contract demands?
    pub passed: bool,
    /// Its exit code; none if it was ended, or never began.
    pub exit: Option<i32>,
    /// Digest of its standard output.
    pub output: Digest,
    /// How it came out on the base alone.
    pub base: Option<OnBase>,
    /// It failed, and in the same way on the base alone.
    pub pre_existing: bool,
}

/// A check on the base alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnBase {
    /// Did it come out as the contract demands?
    pub passed: bool,
    /// Its exit code; none if it was ended, or never began.
    pub exit: Option<i32>,
    /// Digest of its standard output.
    pub output: Digest,
}

/// What became of a run's contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verification {
    /// Digest of the contract.
    pub contract: Digest,
    /// Digest of the change set that was checked.
    pub changes: Digest,
    /// The round in which it was, from 1.
    pub round: u32,
    /// The criteria of the contract.
    pub criteria: Vec<Criterion>,
    /// Changed paths that the checks had from the base, because the oracle holds them.
    pub held: Vec<String>,
    /// Changed paths that the checks had from the base, because they are never applied or Git
    /// ignores them.
    pub left_out: Vec<String>,
    /// Changed paths that the checks had although Git ignores them.
    pub used_ignored: Vec<String>,
    /// Changes that steer how checks run.
    pub flags: Vec<FlaggedChange>,
    /// What a reviewing model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

/// One criterion, and the checks that it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Its id in the contract.
    pub id: String,
    /// Names of checks.
    pub checks: Vec<String>,
    /// Did they all pass?
    pub met: bool,
}

/// A change that steers how checks run, so that what they say of it is no evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlaggedChange {
    /// The path.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why.
    pub why: String,
}

/// The opinion of a model, which can veto and not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Who serves the model.
    pub provider: String,
    /// What it is called there.
    pub name: String,
    /// Does it object?
    pub veto: bool,
    /// Why.
    pub reason: String,
}

/// Another run whose receipt a run rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follows {
    /// How.
    pub relation: Relation,
    /// The other run.
    pub run: RunId,
    /// Digest of its receipt file.
    pub receipt: Digest,
}

/// How a run rests on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// It began with the other's changes, which are among its own.
    Continues,
    /// It re-executed the other's checks on the other's changes.
    Verifies,
}

/// Body of the record `verification`: exactly what the receipt states of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// The checks.
    pub checks: Vec<Check>,
    /// The rest.
    pub verification: Verification,
}
