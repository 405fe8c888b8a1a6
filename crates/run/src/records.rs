//! The bodies of the records that this crate writes to a run's ledger, as they are written and as
//! they are read back. Those of actions are the broker's.

use std::ffi::OsString;
use std::path::PathBuf;

use names::{Digest, RunId};
use serde::{Deserialize, Serialize};

/// The limit that ended a run: limit and what was allowed, in a profile's words.
pub(crate) const LIMIT: &str = "limit";

/// Body of `run.start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunStart {
    /// The run.
    pub run: RunId,
    /// Who it is for.
    pub subject: String,
    /// The project's root.
    #[serde(with = "api::text")]
    pub project: PathBuf,
    /// The profile's name.
    pub profile: String,
    /// The digest of the frozen authority.
    pub authority: Digest,
    /// How the workspace is treated.
    pub mode: policy::Mode,
    /// What it starts from.
    pub base: ledger::Base,
    /// The command, exactly.
    #[serde(with = "api::text::many")]
    pub command: Vec<OsString>,
    /// The warm sandbox it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent that it is equipped for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equipped: Option<api::Agent>,
    /// The session of Loop's own agent that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<RunId>,
    /// The run whose changes it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<api::Continued>,
    /// The run whose checks it re-executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<api::Continued>,
    /// The digest of the contract that its result is measured by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Digest>,
    /// Whether what is not allowed is let through where it stays inside, and recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learning: bool,
    /// What of the project's configuration does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<api::IgnoredKey>,
}

/// The result in an `exec.result`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExecResult {
    /// The command's own exit code.
    pub exit: Option<i32>,
    /// The signal that ended it, by number.
    pub signal: Option<i32>,
    /// The limit that ended the run.
    pub limit: Option<String>,
    /// Whether the person ended it.
    pub interrupted: bool,
    /// Bytes it printed.
    pub printed: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Body of `limit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LimitReached {
    /// Its key.
    pub limit: String,
    /// What was allowed.
    pub allowed: String,
}

/// Body of `changes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The digest of `changes.json`.
    pub digest: Digest,
    /// The digest of what the touched paths hold afterwards.
    pub result: Digest,
    /// The entries by number.
    pub counts: api::ChangeCounts,
}

/// Body of `run.end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunEnd {
    /// What is claimed.
    pub outcome: ledger::Outcome,
    /// The exit code that Loop gave.
    pub exit: Option<i32>,
    /// The limit that ended it.
    pub limit: Option<String>,
    /// Why it is not verified, if there was a contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Body of `check`: one re-execution of a check. The last of a name and a place counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checked {
    /// The round, from 1. On the base alone a check runs in the first only.
    pub round: u32,
    /// The check's name.
    pub name: String,
    /// Where it ran.
    pub on: api::CheckOn,
    /// Its exit code, if it ended by itself.
    pub exit: Option<i32>,
    /// The signal that ended it, by number.
    pub signal: Option<i32>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// The digest of its standard output.
    pub output: Digest,
    /// Whether it came out as the contract demands.
    pub passed: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The tests that its output tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<api::TestCounts>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Body of `verification.start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checking {
    /// Which round of checks begins, from 1.
    pub round: u32,
}

/// Body of `recovered`, by whoever finds a run that a crash cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recovered {
    /// The state in which the run was found, as `working` or `applying`.
    pub interrupted: String,
    /// The one that it is in now.
    pub state: String,
    /// How many paths of the project stay as they are, because somebody changed them after the crash.
    pub kept: u64,
}

/// The counts of a change set, for records and clients. A change of mode is an edit; directories
/// are counted nowhere.
pub(crate) fn counts(counts: workspace::Counts) -> api::ChangeCounts {
    api::ChangeCounts {
        added: counts.added,
        edited: counts.edited.saturating_add(counts.modes),
        deleted: counts.deleted,
        renamed: counts.renamed,
        flagged: counts.flagged,
        git: counts.git,
    }
}

/// An outcome, for a client.
pub(crate) fn outcome(outcome: ledger::Outcome) -> api::Outcome {
    match outcome {
        ledger::Outcome::Verified => api::Outcome::Verified,
        ledger::Outcome::Unverified => api::Outcome::Unverified,
        ledger::Outcome::Failed => api::Outcome::Failed,
        ledger::Outcome::Stopped => api::Outcome::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_gits_own_files_still_reads() {
        let nothing = Digest::of(b"");
        let body = serde_json::json!({
            "counts": {"added": 1, "edited": 0, "deleted": 0, "renamed": 0, "flagged": 0},
            "digest": nothing,
            "result": nothing,
        });
        let changes: Changes = serde_json::from_value(body).unwrap();
        assert_eq!((changes.counts.added, changes.counts.git), (1, 0));
    }
}
