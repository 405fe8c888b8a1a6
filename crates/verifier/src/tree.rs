//! A directory as a tree to compare a change set with. No link in it is followed.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use ledger::{Held, Tree};
use names::{Digest, WorkspacePath};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, openat, readlinkat, statat};
use rustix::io::Errno;

/// A directory that was opened.
#[derive(Debug)]
pub struct Directory(OwnedFd);

impl Directory {
    /// Opens the root of the tree, which may be reached through a link.
    ///
    /// # Errors
    /// When it is no directory that can be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// The directory that holds the last name of `path`; none if there is no such directory.
    fn above(&self, path: &WorkspacePath) -> io::Result<Option<OwnedFd>> {
        let mut directory = self.0.try_clone()?;
        let Some(parent) = path.parent() else { return Ok(Some(directory)) };
        for name in parent.components() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            directory = match openat(&directory, name, flags, Mode::empty()) {
                Ok(below) => below,
                Err(error) if is_absent(error) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(Some(directory))
    }
}

/// There is no such name, or what has it is no directory; a link is none: open(2).
fn is_absent(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

impl Tree for Directory {
    fn held(&self, path: &WorkspacePath) -> io::Result<Option<Held>> {
        let Some(directory) = self.above(path)? else { return Ok(None) };
        let name = path.file_name();
        let found = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(error) if is_absent(error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let held = match FileType::from_raw_mode(found.st_mode as RawMode) {
            FileType::RegularFile => file(directory.as_fd(), name)?,
            FileType::Symlink => Held::Link(readlinkat(&directory, name, Vec::new())?.into_bytes()),
            FileType::Directory => Held::Directory,
            _ => Held::Other,
        };
        Ok(Some(held))
    }
}

fn file(directory: std::os::fd::BorrowedFd<'_>, name: &[u8]) -> io::Result<Held> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, name, flags, Mode::empty())?);
    let found = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode as RawMode) != FileType::RegularFile {
        return Ok(Held::Other);
    }
    let mut digest = Digest::hasher();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(buffer.get(..read).unwrap_or_default());
    }
    Ok(Held::File { executable: found.st_mode & 0o100 != 0, digest: digest.finish() })
}
