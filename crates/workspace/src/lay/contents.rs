//! Where the bytes of a change set's files come from. Whoever reads them compares digests.

use std::fs::File;
use std::io;
use std::path::Path;

use names::{Digest, WorkspacePath};

use crate::tree::{Dir, open_lifting};

/// A source of contents.
pub trait Contents {
    /// Opens what the run left at `path`, whose bytes should have this digest. It may be anything
    /// else: that is for the caller to find out.
    ///
    /// # Errors
    /// `ENOENT` when it is not there.
    fn open(&self, path: &WorkspacePath, digest: &Digest) -> io::Result<File>;
}

/// Contents as a run left them: its upper directory, whatever that has become.
#[derive(Debug)]
pub struct UpperContents(Dir);

impl UpperContents {
    /// Of the upper directory at `path`.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn of(path: &Path) -> io::Result<Self> {
        Dir::root(path).map(Self)
    }
}

impl Contents for UpperContents {
    fn open(&self, path: &WorkspacePath, _: &Digest) -> io::Result<File> {
        open_lifting(&self.0, path)
    }
}

/// Contents as they were exported: files that bear their digests, in hexadecimal, as names.
#[derive(Debug)]
pub struct ContentFiles(Dir);

impl ContentFiles {
    /// Of the directory at `path`.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn of(path: &Path) -> io::Result<Self> {
        Dir::root(path).map(Self)
    }
}

impl Contents for ContentFiles {
    fn open(&self, _: &WorkspacePath, digest: &Digest) -> io::Result<File> {
        self.0.file(digest.hex().as_bytes())
    }
}
