//! An upper directory made of a change set: over the same base it shows what the run left.
//!
//! Nothing of the run's own upper directory is taken over but the bytes of files, and those only
//! if they are the ones that the change set names. Marks, owners, times and hard links are not
//! looked at; what is written is written by name, through descriptors, and no link is followed.
//!
//! Not every entry need be kept. What is left out holds what the base holds, and that is stronger:
//! a kept entry that would take it away is held back. A rename is two changes here, one of each
//! path, so that whoever chooses by path chooses both. Devices, Git metadata and whatever else can
//! never be applied are left out whoever keeps them.

mod contents;
mod parts;

use std::io;
use std::path::Path;

use names::{Digest, WorkspacePath};
use rustix::fs::{FileType, Mode as Bits, Stat};

use crate::apply::copy::copy;
use crate::apply::place::Base;
use crate::change::{Change, ChangeSet};
use crate::node::{Mode, Node};
use crate::shown;
use crate::tree::{Cursor, Dir, is_elsewhere};

pub use contents::{ContentFiles, Contents, UpperContents};
use parts::Parts;

/// Why a change set can't be laid. What was laid until then is no whole.
#[derive(Debug, thiserror::Error)]
pub enum LayError {
    /// The system refused.
    #[error("can't lay {path}: {source}")]
    Lay {
        /// Which path, made printable.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Its bytes are not there, or are others.
    #[error("what {path} holds is not what the change set says it holds")]
    Content {
        /// Which path.
        path: WorkspacePath,
    },
    /// The base is not the one that the change set was made of.
    #[error("what the base holds at {path} is not what the change set says it held")]
    Base {
        /// Which path.
        path: WorkspacePath,
    },
    /// The change set can't be true.
    #[error("the change set says of {path} what it denies of a directory above it")]
    Contradiction {
        /// Which path.
        path: WorkspacePath,
    },
    /// The upper directory has something in it.
    #[error("the upper directory is not empty")]
    NotEmpty,
}

/// What came of laying a change set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// Paths of entries that were to be kept, and would have taken away what an entry that was left
    /// out holds in the base; sorted.
    pub held_back: Vec<WorkspacePath>,
}

/// Fills the empty directory `upper`, so that an overlay of it over `base` shows the entries of
/// `changes` that `keep` says, and the base everywhere else. Of the base no content is read: its
/// kinds, sizes and links must be what the entries say.
///
/// # Errors
/// See [`LayError`].
pub fn lay(
    changes: &ChangeSet,
    contents: &dyn Contents,
    upper: &Path,
    base: &Path,
    keep: &dyn Fn(&Change) -> bool,
) -> Result<Laid, LayError> {
    let parts = Parts::choose(changes, keep)?;
    let failed = |source| LayError::Lay { path: shown(b"."), source };
    let to = Dir::root(upper).map_err(failed)?;
    if !to.names().map_err(failed)?.is_empty() {
        return Err(LayError::NotEmpty);
    }
    let mut layer = Layer {
        to: Cursor::new(to),
        path: Vec::new(),
        levels: Vec::new(),
        base: Base::new(Dir::root(base).map_err(failed)?),
        contents,
    };
    parts.laid().try_for_each(|part| layer.lay(part))?;
    layer.leave_all()?;
    Ok(Laid { held_back: parts.held_back() })
}

/// Writes parts in an order in which everything below a directory follows it at once.
struct Layer<'a> {
    to: Cursor,
    /// The directory in which the cursor is.
    path: Vec<u8>,
    levels: Vec<Level>,
    base: Base,
    contents: &'a dyn Contents,
}

/// A directory that was made and entered.
struct Level {
    /// Length of the path without it.
    parent: usize,
    name: Vec<u8>,
    /// What its mode is to be when it is full.
    mode: Mode,
}

impl Layer<'_> {
    fn lay(&mut self, part: &Change) -> Result<(), LayError> {
        let (path, name) = (&part.path, part.path.file_name());
        self.expect(path, part.before.as_ref())?;
        self.go_above(path)?;
        let dir = self.to.dir();
        let done = match &part.after {
            None => whiteout(dir, name),
            Some(Node::Link { target }) => dir.make_link(name, target.as_bytes()),
            Some(Node::Dir { mode }) => self.enter(name, *mode),
            Some(Node::File { mode, size, digest }) => {
                return self.lay_file(path, *mode, *size, digest);
            }
            // Its flag is final, so it is left out.
            Some(Node::Special { .. }) => Err(io::ErrorKind::InvalidInput.into()),
        };
        done.map_err(|source| failed(path, source))
    }

    fn lay_file(
        &self,
        path: &WorkspacePath,
        mode: Mode,
        size: u64,
        digest: &Digest,
    ) -> Result<(), LayError> {
        let other = || LayError::Content { path: path.clone() };
        let failed = |source| failed(path, source);
        let from = match self.contents.open(path, digest) {
            Err(error) if is_elsewhere(&error) => return Err(other()),
            from => from.map_err(failed)?,
        };
        let to = self.to.dir().create(path.file_name()).map_err(failed)?;
        if !copy(&from, &to, size, digest).map_err(failed)? {
            return Err(other());
        }
        let bits = Bits::from_raw_mode(mode.bits());
        rustix::fs::fchmod(&to, bits).map_err(|error| failed(error.into()))
    }

    /// Goes to the directory that holds `path`. One that was not made yet is one of the base's,
    /// which shows through.
    fn go_above(&mut self, path: &WorkspacePath) -> Result<(), LayError> {
        while !is_below(path.as_bytes(), &self.path) {
            self.leave()?;
        }
        let here = self.path.len();
        let missing = path.ancestors().take_while(|dir| dir.as_bytes().len() > here);
        let missing: Vec<_> = missing.collect();
        for dir in missing.iter().rev() {
            let mode = self.mode_in_base(dir)?;
            self.enter(dir.file_name(), mode).map_err(|source| failed(dir, source))?;
        }
        Ok(())
    }

    fn mode_in_base(&mut self, path: &WorkspacePath) -> Result<Mode, LayError> {
        match self.in_base(path)? {
            Some(stat) if kind(&stat) == FileType::Directory => Ok(Mode::of(stat.st_mode)),
            _ => Err(LayError::Base { path: path.clone() }),
        }
    }

    /// Makes a directory and enters it.
    fn enter(&mut self, name: &[u8], mode: Mode) -> io::Result<()> {
        self.to.dir().make_dir(name)?;
        self.to.down(name)?;
        let (parent, path) = (self.path.len(), self.at(name));
        self.levels.push(Level { parent, name: name.to_owned(), mode });
        self.path = path;
        Ok(())
    }

    /// Gives the directory its mode, which may close it, and goes up.
    fn leave(&mut self) -> Result<(), LayError> {
        let Some(Level { parent, name, mode }) = self.levels.pop() else { return Ok(()) };
        let left = self.to.up().and_then(|()| self.to.dir().set_mode(&name, mode.bits()));
        left.map_err(|source| LayError::Lay { path: shown(&self.path), source })?;
        self.path.truncate(parent);
        Ok(())
    }

    fn leave_all(&mut self) -> Result<(), LayError> {
        while !self.levels.is_empty() {
            self.leave()?;
        }
        Ok(())
    }

    /// The base holds what the entry says, as far as that shows without reading it.
    fn expect(&mut self, path: &WorkspacePath, before: Option<&Node>) -> Result<(), LayError> {
        let found = self.in_base(path)?;
        let same = match (&found, before) {
            (None, None) => true,
            (Some(stat), Some(Node::Dir { .. })) => kind(stat) == FileType::Directory,
            (Some(stat), Some(Node::File { size, .. })) => {
                kind(stat) == FileType::RegularFile && u64::try_from(stat.st_size) == Ok(*size)
            }
            (Some(stat), Some(Node::Link { target })) => {
                kind(stat) == FileType::Symlink && self.target_in_base(path)? == target.as_bytes()
            }
            _ => false,
        };
        if same { Ok(()) } else { Err(LayError::Base { path: path.clone() }) }
    }

    fn in_base(&mut self, path: &WorkspacePath) -> Result<Option<Stat>, LayError> {
        self.base.stat(path).map_err(|source| failed(path, source))
    }

    fn target_in_base(&mut self, path: &WorkspacePath) -> Result<Vec<u8>, LayError> {
        let target = self.base.parent(path).and_then(|dir| dir.target(path.file_name()));
        target.map_err(|source| failed(path, source))
    }

    fn at(&self, name: &[u8]) -> Vec<u8> {
        if self.path.is_empty() {
            name.to_vec()
        } else {
            [&self.path, b"/".as_slice(), name].concat()
        }
    }
}

/// Hides a name of the base: overlayfs.rst of the kernel, "whiteouts and opaque directories".
fn whiteout(dir: &Dir, name: &[u8]) -> io::Result<()> {
    let (kind, bits) = (FileType::CharacterDevice, Bits::empty());
    Ok(rustix::fs::mknodat(dir, name, kind, bits, 0)?)
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with(b"/"))
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn failed(path: &WorkspacePath, source: io::Error) -> LayError {
    LayError::Lay { path: shown(path.as_bytes()), source }
}
