//! Paths of the base, looked up beneath its root, one open directory at a time.

use std::fs::File;
use std::io;

use names::WorkspacePath;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::content::scan;
use crate::node::{LinkTarget, Mode, Node, Special};
use crate::tree::{Dir, beside_lifting, file_lifting};

/// The base, for looking many paths up. Sorted paths cost little more than their number.
#[derive(Debug)]
pub(crate) struct Base {
    root: Dir,
    /// The directory looked up last, and its path.
    last: Option<(Vec<u8>, Dir)>,
}

/// What a path holds, and the marks by which a later change of it shows.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) node: Option<Node>,
    pub(crate) print: Option<Print>,
}

/// Marks of a file that change when somebody writes or replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    device: u64,
    inode: u64,
    kind: u32,
    size: i64,
    written: (i64, u64),
}

impl Print {
    fn of(stat: &Stat) -> Self {
        let written = (stat.st_mtime, stat.st_mtime_nsec);
        let (device, inode, kind) = (stat.st_dev, stat.st_ino, stat.st_mode & 0o170_000);
        // What is in a directory has marks of its own, and changes those of the directory.
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let (size, written) = if is_dir { (0, (0, 0)) } else { (stat.st_size, written) };
        Self { device, inode, kind, size, written }
    }
}

impl Base {
    pub(crate) fn new(root: Dir) -> Self {
        Self { root, last: None }
    }

    /// Opens the directory that holds `path`. `ENOENT` if it is not there; `ENOTDIR` or `ELOOP`
    /// if a file or link is in its place.
    pub(crate) fn parent(&mut self, path: &WorkspacePath) -> io::Result<&Dir> {
        let bytes = path.as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.dir(bytes.get(..slash).unwrap_or_default())
    }

    /// Opens a directory of the base; the root if `path` is empty.
    pub(crate) fn dir(&mut self, path: &[u8]) -> io::Result<&Dir> {
        let below = |(known, _): &(Vec<u8>, Dir)| {
            let rest = path.strip_prefix(known.as_slice())?;
            if known.is_empty() || rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
        };
        let dir = match self.last.take() {
            Some(last) if last.0 == path => last.1,
            Some(last) => match below(&last) {
                Some(rest) => last.1.beneath(rest)?,
                None => self.root.beneath(path)?,
            },
            None => self.root.beneath(path)?,
        };
        Ok(&self.last.insert((path.to_vec(), dir)).1)
    }

    /// Forgets the directory looked up last, because it may have been moved or replaced.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// What is at `path`, without reading it.
    pub(crate) fn stat(&mut self, path: &WorkspacePath) -> io::Result<Option<Stat>> {
        let name = path.file_name();
        match self.parent(path) {
            Err(error) if is_no_way(&error) => Ok(None),
            parent => parent?.stat(name),
        }
    }

    /// What `path` holds. A directory above it that is missing, or is none, holds nothing.
    pub(crate) fn look(&mut self, path: &WorkspacePath) -> io::Result<Look> {
        let name = path.file_name();
        match self.parent(path) {
            Err(error) if is_no_way(&error) => Ok(Look { node: None, print: None }),
            Err(error) => Err(error),
            Ok(dir) => look_at(dir, name, &Dir::file),
        }
    }

    /// The marks of what is at `path` now.
    pub(crate) fn print(&mut self, path: &WorkspacePath) -> io::Result<Option<Print>> {
        Ok(self.stat(path)?.as_ref().map(Print::of))
    }
}

/// Does the error say that no such directory is there, rather than that something broke?
pub(crate) fn is_no_way(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// What `path` holds beneath the root of a run's own tree, whatever rights the run took away.
pub(crate) fn look_in_upper(root: &Dir, path: &WorkspacePath) -> io::Result<Option<Node>> {
    let open = |dir: &Dir, name: &[u8]| Ok(file_lifting(dir, name, |_| Ok(()))?.0);
    match beside_lifting(root, path, &|dir| look_at(dir, path.file_name(), &open)) {
        Err(error) if is_no_way(&error) => Ok(None),
        look => Ok(look?.node),
    }
}

/// How a regular file is opened.
type Open<'a> = &'a dyn Fn(&Dir, &[u8]) -> io::Result<File>;

fn look_at(dir: &Dir, name: &[u8], open: Open<'_>) -> io::Result<Look> {
    let Some(stat) = dir.stat(name)? else { return Ok(Look { node: None, print: None }) };
    let special = |what| Node::Special { what };
    let node = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => file_at(dir, name, &stat, open)?,
        FileType::Directory => Node::Dir { mode: Mode::of(stat.st_mode) },
        FileType::Symlink => {
            let target = LinkTarget::from_bytes(&dir.target(name)?);
            Node::Link { target: target.ok_or(Errno::NAMETOOLONG)? }
        }
        FileType::Fifo => special(Special::Fifo),
        FileType::Socket => special(Special::Socket),
        _ => special(Special::Device),
    };
    Ok(Look { node: Some(node), print: Some(Print::of(&stat)) })
}

fn file_at(dir: &Dir, name: &[u8], stat: &Stat, open: Open<'_>) -> io::Result<Node> {
    let file = match open(dir, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(Node::Special { what: Special::Unreadable });
        }
        file => file?,
    };
    let content = scan(&file, u64::MAX)?.ok_or(Errno::FBIG)?;
    let (size, digest) = (content.size, content.digest);
    Ok(Node::File { mode: Mode::of(stat.st_mode), size, digest })
}
