//! The change set: `loop diff`, `apply`, `discard` and `undo`.

use names::{Digest, RunId, WorkspacePath};
use serde::{Deserialize, Serialize};

use crate::{Mode, Outcome, RunRequest};

/// How many changes a change set has, by kind. Directories are counted nowhere; Git's own files only
/// as such.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCounts {
    /// New paths.
    pub added: u64,
    /// Paths whose content or mode differs.
    pub edited: u64,
    /// Paths that are gone.
    pub deleted: u64,
    /// Paths that moved.
    pub renamed: u64,
    /// Those of them that wait for the person's word.
    pub flagged: u64,
    /// Git's own files, whatever happened to them. They are never applied.
    #[serde(default)]
    pub git: u64,
}

impl ChangeCounts {
    /// All changes, without Git's own files.
    pub fn total(&self) -> u64 {
        [self.added, self.edited, self.deleted, self.renamed]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Add,
    /// Its content differs.
    Edit,
    /// It is gone.
    Delete,
    /// Only its mode differs.
    Mode,
    /// It was called otherwise before.
    Rename,
}

/// One entry of a change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    /// The path, beneath the project.
    pub path: WorkspacePath,
    /// What happened to it.
    pub kind: ChangeKind,
    /// What a renamed path was called.
    pub from: Option<WorkspacePath>,
    /// What was there, in words: `file 644`, `link to ../x`, `directory`.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
    /// Whether it is no more than a directory that is made or removed.
    pub directory: bool,
    /// Why it needs an approval of its own.
    pub flags: Vec<ChangeFlag>,
    /// Lines added and removed; `None` is a binary file, or no file.
    pub lines: Option<LineStat>,
}

impl ChangeView {
    /// The name of the flag of what belongs to a repository's metadata.
    pub const GIT_METADATA: &'static str = "git-metadata";

    /// Whether it is one of Git's own files.
    pub fn is_git_metadata(&self) -> bool {
        self.flags.iter().any(|flag| flag.flag == Self::GIT_METADATA)
    }
}

/// Lines added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineStat {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Why an entry isn't applied like any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFlag {
    /// Its name: `protected`, `leaves-root`, `set-id`, `git-metadata`.
    pub flag: String,
    /// What it means for this entry.
    pub why: String,
    /// Whether a person may approve it; if not, it is never applied.
    pub approvable: bool,
}

/// Asks for a run's change set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffRequest {
    /// Which run.
    pub run: RunRequest,
    /// Whether the texts are wanted, or the entries alone.
    pub texts: bool,
}

/// A run's change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReport {
    /// The run.
    pub run: RunId,
    /// How the run treated the workspace: in direct mode its change set is empty.
    pub mode: Mode,
    /// The digest of the change set, as in the receipt.
    pub change_set: Digest,
    /// The entries by number.
    pub counts: ChangeCounts,
    /// The entries, sorted by path.
    pub entries: Vec<ChangeView>,
    /// The texts, in the same order; empty unless they were asked for.
    pub files: Vec<FileDiff>,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The path.
    pub path: WorkspacePath,
    /// A unified diff with its two header lines, or one line that says why there is none (a binary
    /// file, a link, a mode). Bytes that aren't UTF-8 are replaced: this is for reading.
    pub text: String,
}

/// Carries a change set into the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyRequest {
    /// Which run.
    pub run: RunRequest,
    /// Only these paths and what lies beneath them; empty is all.
    pub paths: Vec<WorkspacePath>,
    /// Flagged paths that the person approves, each by its own name.
    pub flagged: Vec<WorkspacePath>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What was carried into the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyReport {
    /// The run.
    pub run: RunId,
    /// What is claimed about it, whatever of it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The digest of its change set.
    pub change_set: Digest,
    /// What was applied, or would be.
    pub applied: Vec<ChangeView>,
    /// What was selected and held, because of its flags.
    pub held: Vec<HeldChange>,
    /// How many changes the selection left out, counted as in [`ChangeCounts`].
    pub left_out: u64,
    /// Whether this only says what would be done.
    pub dry_run: bool,
}

/// An entry that was not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldChange {
    /// The entry.
    pub change: ChangeView,
    /// Whether naming it among the flagged paths would apply it.
    pub approvable: bool,
}

/// A change set that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardReport {
    /// The run.
    pub run: RunId,
    /// How many changes were dropped, counted as in [`ChangeCounts`].
    pub entries: u64,
    /// How many of Git's own files went with them.
    pub git: u64,
}

/// An apply that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoReport {
    /// The run.
    pub run: RunId,
    /// The paths that are as they were before.
    pub restored: Vec<WorkspacePath>,
}
