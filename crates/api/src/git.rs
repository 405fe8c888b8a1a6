//! A run's commits, and git on repositories that are not trusted: `loop branch` and `loop git`.

use std::ffi::OsString;

use names::{RunId, WorkspacePath};
use serde::{Deserialize, Serialize};

use crate::{LineStat, RunRequest};

/// Puts a run's commits on a branch of the project's repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRequest {
    /// Which run.
    pub run: RunRequest,
    /// The branch's name.
    pub name: String,
    /// What to take: a branch, tag, full ref or commit of the run; what it has checked out if none.
    pub from: Option<String>,
    /// Flagged paths that the person approves, each by its own name or that of what holds it.
    pub flagged: Vec<WorkspacePath>,
    /// Whether a branch that exists is moved.
    pub force: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// Commits on a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchReport {
    /// The run.
    pub run: RunId,
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The commit it is at.
    pub commit: String,
    /// The commit it was at, if it was moved.
    pub before: Option<String>,
    /// The branch that is checked out in the project.
    pub against: Option<String>,
    /// The commits that are new to the repository, newest first.
    pub commits: Vec<CommitView>,
    /// What differs from the last commit that both have.
    pub files: Vec<FileStat>,
    /// Flagged paths that the commits change.
    pub flagged: Vec<FlaggedPath>,
    /// Submodules whose commit they set. Those commits are not taken.
    pub submodules: Vec<String>,
    /// Whether this only says what would be done.
    pub dry_run: bool,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitView {
    /// Its name.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// Its path; bytes that aren't UTF-8 are replaced.
    pub path: String,
    /// Lines added and removed; none of a binary file.
    pub lines: Option<LineStat>,
}

/// A path that means more than its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlaggedPath {
    /// The path.
    pub path: String,
    /// What it is.
    pub why: String,
}

/// Runs git to look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitRequest {
    /// The words after `git`.
    #[serde(with = "crate::text::many")]
    pub words: Vec<OsString>,
}

/// How that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitReport {
    /// Git's exit code; 128 and the number of the signal that ended it.
    pub code: u8,
    /// Files among the refs that are no refs, and so are not shown.
    pub ignored_refs: u64,
}
