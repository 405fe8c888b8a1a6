//! What a person is shown of a file before it is written.

use std::fmt;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::place::Place;
use crate::gate::memory::errno;

/// The most bytes of a file that a person can be expected to read.
const LONGEST: u64 = 256 << 10;

/// Makes a unified diff of two texts; `None` if either is none that can be shown.
pub trait Differ: Send + Sync + fmt::Debug {
    /// The diff of the file at `path`.
    fn unified(&self, path: &Path, before: &[u8], after: &[u8]) -> Option<String>;
}

/// The content of a file, and which file it is.
#[derive(Debug)]
pub(in crate::gate) struct Content {
    pub(in crate::gate) bytes: Vec<u8>,
    pub(in crate::gate) mode: u32,
    device: u64,
    inode: u64,
}

/// Why content can't be shown.
#[derive(Debug)]
pub(in crate::gate) enum Unshown {
    Kernel(Errno),
    NotAFile,
    TooLong,
}

impl Content {
    /// Reads the file at a place, itself; `None` if there is nothing.
    pub(in crate::gate) fn at(place: &Place) -> Result<Option<Self>, Unshown> {
        match place.kind() {
            None => return Ok(None),
            Some(FileType::RegularFile) => {}
            Some(_) => return Err(Unshown::NotAFile),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.directory, &*place.name, flags, Mode::empty())?;
        Self::read(file).map(Some)
    }

    fn read(file: OwnedFd) -> Result<Self, Unshown> {
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Unshown::NotAFile);
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::from(file);
        let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
        read.map_err(|error| Unshown::Kernel(errno(&error)))?;
        if bytes.len() as u64 > LONGEST {
            return Err(Unshown::TooLong);
        }
        Ok(Self { bytes, mode: stat.st_mode, device: stat.st_dev, inode: stat.st_ino })
    }

    /// Whether `other` is the same file with the same bytes.
    pub(in crate::gate) fn is(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode) && self.bytes == other.bytes
    }
}

impl From<Errno> for Unshown {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}
