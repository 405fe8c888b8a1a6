//! Why a record could not be made durable, or a ledger not opened.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use names::canonical::CanonicalError;

use crate::verify::Broken;

/// What was being done to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Appending lines.
    Write,
    /// Waiting for them to be on the disk.
    Sync,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "written",
            Self::Sync => "synced",
        })
    }
}

/// The failure that ended a ledger. Whoever appends later is told the same one.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the ledger could not be {operation}: {source}")]
pub struct DiskFault {
    /// What failed.
    pub operation: Operation,
    /// Why.
    pub source: Arc<io::Error>,
}

/// Why a ledger could not be opened, or a record not be acknowledged.
///
/// Whatever the variant: the record is not known to be on disk, and its effect must not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The file can't be made, opened or read.
    #[error("the ledger {path} could not be {what}: {source}")]
    File {
        /// The ledger's file.
        path: PathBuf,
        /// The operation, as a participle.
        what: &'static str,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// Another process holds the ledger.
    #[error("the ledger {0:?} is in use by another process")]
    Busy(PathBuf),
    /// The file that should be continued is not an intact ledger.
    #[error("the ledger can't be continued: {0}")]
    Broken(#[from] Broken),
    /// This and every later append fails, because a write failed.
    #[error(transparent)]
    Poisoned(#[from] DiskFault),
    /// The ledger was finished before.
    #[error("the ledger is finished")]
    Finished,
    /// The kind is not made of lower-case letters, digits, dots and hyphens, or is `genesis`, which
    /// a ledger writes itself.
    #[error("\"{0}\" is not a kind of record that can be appended")]
    Kind(String),
    /// The body has no canonical form.
    #[error("the body of a record has no canonical form: {0}")]
    Body(#[from] CanonicalError),
    /// The body is larger than [`MAX_BODY`](crate::MAX_BODY).
    #[error("the body of a record has {bytes} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Size of the canonical body.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The writer's thread could not be started.
    #[error("the writer of the ledger could not be started: {0}")]
    Thread(Arc<io::Error>),
}
