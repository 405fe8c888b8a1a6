//! What an apply is about to do, written down before it does it.

use names::canonical::{self, CanonicalError};
use names::{Digest, WorkspacePath};
use serde::{Deserialize, Serialize};

use crate::node::{LinkTarget, Mode, Node};

const SCHEMA: u32 = 1;

/// All steps of one apply. Undo takes the same steps the other way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    schema: u32,
    /// The change set that is applied.
    pub(crate) change_set: Digest,
    /// Sorted by path, each path once.
    pub(crate) steps: Vec<Step>,
}

/// What one path of the base holds before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) path: WorkspacePath,
    pub(crate) before: Held,
    pub(crate) after: Held,
}

/// What a path of the base holds, with the exact mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Held {
    Nothing,
    File { mode: Mode, size: u64, digest: Digest },
    Link { target: LinkTarget },
    Dir { mode: Mode },
}

/// One of the two ends of every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Before,
    After,
}

impl End {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

impl Step {
    pub(crate) fn at(&self, end: End) -> &Held {
        match end {
            End::Before => &self.before,
            End::After => &self.after,
        }
    }
}

impl Held {
    /// Takes what a path holds; none if that is nothing that apply may touch.
    pub(crate) fn of(node: Option<&Node>) -> Option<Self> {
        Some(match node {
            None => Self::Nothing,
            Some(Node::File { mode, size, digest }) => {
                Self::File { mode: *mode, size: *size, digest: *digest }
            }
            Some(Node::Link { target }) => Self::Link { target: target.clone() },
            Some(Node::Dir { mode }) => Self::Dir { mode: *mode },
            Some(Node::Special { .. }) => return None,
        })
    }

    /// Does a look at the path show this? As in a change set, only the executable bit counts.
    pub(crate) fn is(&self, seen: Option<&Node>) -> bool {
        match (self, seen) {
            (Self::Nothing, None) | (Self::Dir { .. }, Some(Node::Dir { .. })) => true,
            (
                Self::File { mode, size, digest },
                Some(Node::File { mode: found, size: length, digest: content }),
            ) => {
                mode.is_executable() == found.is_executable() && size == length && digest == content
            }
            (Self::Link { target }, Some(Node::Link { target: found })) => target == found,
            _ => false,
        }
    }

    pub(crate) fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// A journal that can't be one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error(transparent)]
    Form(#[from] CanonicalError),
    #[error("schema {0} is not known")]
    Schema(u32),
    #[error("steps are not sorted")]
    Order,
}

impl Journal {
    /// Takes steps that are sorted by path.
    pub(crate) fn new(change_set: Digest, steps: Vec<Step>) -> Self {
        Self { schema: SCHEMA, change_set, steps }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        let journal: Self = canonical::parse(bytes)?;
        if journal.schema != SCHEMA {
            return Err(JournalError::Schema(journal.schema));
        }
        if !journal.steps.is_sorted_by(|a, b| a.path < b.path) {
            return Err(JournalError::Order);
        }
        Ok(journal)
    }
}
