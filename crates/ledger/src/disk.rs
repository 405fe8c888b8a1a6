//! Where the lines of a ledger go, and the only file of this crate that writes any.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::fault::LedgerError;

/// An append-only medium. A failed call ends the ledger that uses it; it is not called again.
pub trait Disk: Send {
    /// Appends all of `bytes`. After an error any part of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when everything appended survives a loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that is held alone: other processes get [`LedgerError::Busy`] while this lives.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    /// The directory of a file that was just made: its name becomes durable with its first sync.
    named_in: Option<File>,
}

impl FileDisk {
    /// Makes the file: it must not exist, is readable by its owner only, and its name is
    /// durable with the first sync.
    pub(crate) fn create(path: &Path) -> Result<Self, LedgerError> {
        let file = options()
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| fault(path, "created", source))?;
        let named_in = parent(path).map_err(|source| fault(path, "created", source))?;
        Ok(Self { named_in: Some(named_in), ..Self::lock(file, path)? })
    }

    /// Opens an existing file, which must be a regular one and not a link.
    pub(crate) fn open(path: &Path) -> Result<Self, LedgerError> {
        let file =
            options().read(true).open(path).map_err(|source| fault(path, "opened", source))?;
        let meta = file.metadata().map_err(|source| fault(path, "opened", source))?;
        if !meta.is_file() {
            let other = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
            return Err(fault(path, "opened", other));
        }
        Self::lock(file, path)
    }

    fn lock(file: File, path: &Path) -> Result<Self, LedgerError> {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { file, named_in: None }),
            Err(Errno::WOULDBLOCK) => Err(LedgerError::Busy(path.to_owned())),
            Err(errno) => Err(fault(path, "locked", errno.into())),
        }
    }

    pub(crate) fn read_all(&mut self, path: &Path) -> Result<Vec<u8>, LedgerError> {
        let mut bytes = Vec::new();
        let read = self.file.read_to_end(&mut bytes);
        read.map_err(|source| fault(path, "read", source))?;
        Ok(bytes)
    }

    /// Cuts the file to its first `len` bytes, durably.
    pub(crate) fn cut(&mut self, len: u64, path: &Path) -> Result<(), LedgerError> {
        let cut = self.file.set_len(len).and_then(|()| self.file.sync_all());
        cut.map_err(|source| fault(path, "cut", source))
    }
}

impl Disk for FileDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        if let Some(directory) = &self.named_in {
            directory.sync_all()?;
            self.named_in = None;
        }
        Ok(())
    }
}

/// `O_NONBLOCK` keeps a fifo under the ledger's name from stalling the open; files ignore it.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.append(true).custom_flags(flags.bits().cast_signed());
    options
}

/// A new name survives a loss of power only when its directory is synced: fsync(2).
fn parent(path: &Path) -> io::Result<File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))
}

pub(crate) fn fault(path: &Path, what: &'static str, source: io::Error) -> LedgerError {
    LedgerError::File { path: path.to_owned(), what, source: Arc::new(source) }
}
