//! A run's receipt and what lies beside it, in the run's own directory or in one that it was
//! exported to, judged by the keys that this person trusts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use api::Problem;
use ledger::{Allow, ReceiptVerdict, Requirements, TrustedKey, verify_receipt};
use names::Timestamp;

use crate::problem::OrProblem as _;
use crate::store::{self, CHANGES, HEADS, LEDGER, RECEIPT};

/// The files, as they are read once.
pub(crate) struct Evidence {
    /// The receipt's file.
    pub(crate) path: PathBuf,
    pub(crate) receipt: Vec<u8>,
    pub(crate) changes: Vec<u8>,
    ledger: Vec<u8>,
    heads: Option<Vec<u8>>,
}

impl Evidence {
    /// Reads it.
    ///
    /// # Errors
    /// When a file is missing or can't be read; signed heads may be missing.
    pub(crate) fn read(directory: &Path) -> Result<Self, Problem> {
        let read = |name: &str| {
            let path = directory.join(name);
            store::read(&path).map_err(store::at(&path)).or_problem()
        };
        Ok(Self {
            path: directory.join(RECEIPT),
            receipt: read(RECEIPT)?,
            changes: read(CHANGES)?,
            ledger: read(LEDGER)?,
            heads: directory.join(HEADS).exists().then(|| read(HEADS)).transpose()?,
        })
    }

    /// The verdict on it. Without `now`, no receipt is from the future.
    pub(crate) fn judge(
        &self,
        keys: Vec<TrustedKey>,
        allow: BTreeSet<Allow>,
        now: Option<Timestamp>,
    ) -> ReceiptVerdict {
        let requirements = Requirements {
            keys,
            ledger: Some(&self.ledger),
            change_set: Some(&self.changes),
            heads: self.heads.as_deref(),
            allow,
            now,
            ..Requirements::default()
        };
        verify_receipt(&self.receipt, &requirements)
    }
}
