//! Appending to the ledger of a run.
//!
//! Three strengths: [`Ledger::commit`] returns when the record is on disk, [`Ledger::begin`] lets
//! the caller do something else meanwhile, [`Ledger::journal`] does not wait. After the first
//! failed write nothing is ever acknowledged again.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use names::{Clock, Digest, RunId, canonical};
use serde::Serialize;

use crate::disk::{Disk, FileDisk};
use crate::fault::LedgerError;
use crate::keys::SigningKey;
use crate::kind;
use crate::line::{self, Genesis, Head, MAX_BODY, SCHEMA};
use crate::queue::{Queue, Strength, TORN_MAX};
use crate::signer::Signer;
use crate::verify::Broken;
use crate::walk::Walk;

/// An open ledger. Clones append to the same chain; the last one dropped syncs and releases it.
#[derive(Clone)]
pub struct Ledger(Arc<Open>);

struct Open {
    queue: Arc<Queue>,
    writer: Mutex<Option<JoinHandle<()>>>,
    signer: Mutex<Option<JoinHandle<()>>>,
    run: RunId,
    clock: Clock,
    cut: Option<Cut>,
}

/// The place of a record in the chain. Only a ledger makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its number; the genesis has 0.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

/// A record that is on its way to the disk.
#[must_use = "a record is not durable before it was waited for"]
pub struct Pending {
    queue: Arc<Queue>,
    head: Head,
}

/// What [`Ledger::reopen`] cut off: lines that were never acknowledged, damaged by a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// Number of bytes.
    pub bytes: u64,
    /// Their digest.
    pub digest: Digest,
}

impl Ledger {
    /// Makes the ledger of `run` at `path`, which must not exist, and begins it with its genesis,
    /// which is durable with the first record that is waited for.
    /// The file is locked against other processes (flock(2)) while the ledger is open. After a
    /// crash before that record, [`Ledger::reopen`] finds it empty or torn at record 0: then
    /// nothing in it was ever acknowledged.
    pub fn create(path: &Path, run: &RunId, clock: Clock) -> Result<Self, LedgerError> {
        Self::over(Box::new(FileDisk::create(path)?), run, clock)
    }

    /// Starts the ledger of `run` on an empty medium with its genesis.
    pub fn over(disk: Box<dyn Disk>, run: &RunId, clock: Clock) -> Result<Self, LedgerError> {
        let ledger = Self::start(disk, Head::origin(), run, clock, None)?;
        let genesis = canonical::to_vec(&Genesis { run: run.clone(), schema: SCHEMA })?;
        ledger.0.queue.append(kind::GENESIS, &genesis, Strength::Journal)?;
        Ok(ledger)
    }

    /// Continues the ledger of `run`. Everything in it is verified. A tail that a crash left
    /// behind is cut off, and a `recovered` record says so; any other damage is an error.
    pub fn reopen(path: &Path, run: &RunId, clock: Clock) -> Result<Self, LedgerError> {
        let mut disk = FileDisk::open(path)?;
        let bytes = disk.read_all(path)?;
        let (head, torn) = whole(&bytes, run)?;
        let cut =
            (!torn.is_empty()).then(|| Cut { bytes: torn.len() as u64, digest: Digest::of(torn) });
        if cut.is_some() {
            disk.cut((bytes.len() - torn.len()) as u64, path)?;
        }
        let ledger = Self::start(Box::new(disk), head, run, clock, cut)?;
        if let Some(cut) = &ledger.0.cut {
            ledger.commit(kind::RECOVERED, &Recovered { ledger_cut: cut })?;
        }
        Ok(ledger)
    }

    fn start(
        mut disk: Box<dyn Disk>,
        head: Head,
        run: &RunId,
        clock: Clock,
        cut: Option<Cut>,
    ) -> Result<Self, LedgerError> {
        let queue = Arc::new(Queue::new(head, clock));
        let theirs = Arc::clone(&queue);
        let writer = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || theirs.drain(&mut *disk))
            .map_err(|source| LedgerError::Thread(Arc::new(source)))?;
        let (writer, signer) = (Mutex::new(Some(writer)), Mutex::new(None));
        Ok(Self(Arc::new(Open { queue, writer, signer, run: run.clone(), clock, cut })))
    }

    /// From here on, heads are signed with `key` and appended to the file at `path`: after records
    /// that matter to others, after many of them, and at the end. No record waits for that. A head
    /// that can't be written ends the signing, which [`Ledger::signing_fault`] then tells.
    ///
    /// # Errors
    /// When the thread that signs could not be started.
    pub fn sign_heads(&self, path: &Path, key: SigningKey) -> Result<(), LedgerError> {
        let Open { queue, signer, run, clock, .. } = &*self.0;
        let mut signer = signer.lock().unwrap_or_else(PoisonError::into_inner);
        if signer.is_some() {
            return Ok(());
        }
        queue.begin_signing();
        let theirs = Arc::clone(queue);
        let of = Signer { run: run.clone(), key, path: path.to_owned(), clock: *clock };
        let thread = std::thread::Builder::new()
            .name("heads".to_owned())
            .spawn(move || of.sign_all(&theirs))
            .map_err(|source| LedgerError::Thread(Arc::new(source)))?;
        *signer = Some(thread);
        Ok(())
    }

    /// Why heads are not signed any more, if that failed.
    #[must_use]
    pub fn signing_fault(&self) -> Option<Arc<io::Error>> {
        self.0.queue.signing_fault()
    }

    /// Appends a record and returns when it is on disk.
    pub fn commit(&self, kind: &str, body: &impl Serialize) -> Result<Recorded, LedgerError> {
        self.begin(kind, body)?.wait()
    }

    /// Appends a record without waiting; the next sync makes it durable, at the latest
    /// [`Ledger::finish`].
    pub fn journal(&self, kind: &str, body: &impl Serialize) -> Result<Recorded, LedgerError> {
        self.append(kind, body, Strength::Journal).map(Recorded::last)
    }

    /// Appends a record and starts its way to the disk; [`Pending::wait`] acknowledges it.
    pub fn begin(&self, kind: &str, body: &impl Serialize) -> Result<Pending, LedgerError> {
        let head = self.append(kind, body, Strength::Commit)?;
        Ok(Pending { queue: Arc::clone(&self.0.queue), head })
    }

    fn append(
        &self,
        kind: &str,
        body: &impl Serialize,
        strength: Strength,
    ) -> Result<Head, LedgerError> {
        if !line::is_kind(kind.as_bytes()) || kind == kind::GENESIS {
            return Err(LedgerError::Kind(names::printable(kind.as_bytes())));
        }
        let body = canonical::to_vec(body)?;
        if body.len() > MAX_BODY {
            return Err(LedgerError::TooLarge { bytes: body.len(), limit: MAX_BODY });
        }
        self.0.queue.append(kind, &body, strength)
    }

    /// Makes everything appended so far durable, and returns the head of it.
    pub fn sync(&self) -> Result<Head, LedgerError> {
        self.0.queue.sync()
    }

    /// Head of the chain, including records that are not durable yet.
    #[must_use]
    pub fn head(&self) -> Head {
        self.0.queue.head()
    }

    /// What [`Ledger::reopen`] had to cut off.
    #[must_use]
    pub fn cut(&self) -> Option<&Cut> {
        self.0.cut.as_ref()
    }

    /// Syncs, releases the file, and returns the durable head. Clones can't append any more.
    pub fn finish(self) -> Result<Head, LedgerError> {
        self.0.end();
        let head = self.0.queue.head();
        self.0.queue.wait(head.count)?;
        Ok(head)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ledger").field(&self.head()).finish()
    }
}

impl Open {
    /// Ends the writer, then whoever signs, and waits for them; the file is closed and unlocked then. A writer that
    /// panicked left its queue poisoned, which the callers see.
    fn end(&self) {
        self.queue.end();
        for thread in [&self.writer, &self.signer] {
            let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = thread.take() {
                drop(thread.join());
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.end();
    }
}

impl Recorded {
    fn last(head: Head) -> Self {
        Self { seq: head.count.saturating_sub(1), hash: head.hash }
    }
}

impl Pending {
    /// Returns when the record is on disk.
    pub fn wait(self) -> Result<Recorded, LedgerError> {
        self.queue.wait(self.head.count)?;
        Ok(Recorded::last(self.head))
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.head).finish()
    }
}

#[derive(Serialize)]
struct Recovered<'a> {
    ledger_cut: &'a Cut,
}

/// The head of the intact part of `bytes`, and the tail that a crash tore.
fn whole<'a>(bytes: &'a [u8], run: &RunId) -> Result<(Head, &'a [u8]), Broken> {
    let mut walk = Walk::new(bytes, Some(run.clone()));
    let broken = loop {
        match walk.step() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok((walk.head(), &[])),
            Err(broken) => break broken,
        }
    };
    let tail = walk.rest();
    if walk.head().count > 0 && is_torn(tail) { Ok((walk.head(), tail)) } else { Err(broken) }
}

/// Could a crash have left `tail`? Only what was not yet synced is ever damaged: the last line is
/// incomplete, or a block in the middle was not written and reads as NUL.
fn is_torn(tail: &[u8]) -> bool {
    let mut lines = tail.splitn(2, |byte| *byte == b'\n');
    let (first, more) = (lines.next().unwrap_or_default(), lines.next());
    tail.len() <= TORN_MAX && (more.is_none() || first.contains(&0))
}
