//! What one run left, copied so that another can go on from there.
//!
//! The upper directory that is copied belongs to whoever ran inside, as for [`crate::read`]: it is
//! read through descriptors, no link in it is followed, and what overlayfs marked in it is marked
//! in the copy. The original stays as it is.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, SeekFrom, Stat, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;

use crate::shown;
use crate::tree::{Cursor, Dir, Id, file_lifting};

/// Longest list of extended attributes, and longest value of one, in bytes: xattr(7).
const ATTRIBUTES_MAX: usize = 64 << 10;

/// Marks of a kind of overlay that Loop does not mount.
const FOREIGN: [&CStr; 2] = [c"user.overlay.redirect", c"user.overlay.metacopy"];

/// Why a run can't begin with what another left. What was copied until then is no whole.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The system refused.
    #[error("can't carry {path} over: {source}")]
    Copy {
        /// Which path, made printable.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is nothing that an ordinary user could have made.
    #[error("can't carry {path} over: it is a device")]
    Device {
        /// Which path, made printable.
        path: String,
    },
    /// It has a mark of a kind of overlay that Loop does not mount.
    #[error("can't carry {path} over: it has the overlay mark {mark}, which no run leaves")]
    Mark {
        /// Which path, made printable.
        path: String,
        /// Its attribute.
        mark: String,
    },
}

/// Copies an overlay's upper directory into another, which must be empty and of the same user:
/// contents, modes, times, links, whiteouts, attributes of users. Holes stay holes. Nothing may
/// write to either meanwhile.
///
/// # Errors
/// See [`CarryError`].
pub fn carry_over(upper: &Path, to: &Path) -> Result<(), CarryError> {
    let open = |path: &Path| {
        Dir::root(path).map_err(|source| CarryError::Copy { path: shown(b"."), source })
    };
    let mut carrier = Carrier {
        from: Cursor::new(open(upper)?),
        to: Cursor::new(open(to)?),
        root: open(to)?,
        path: Vec::new(),
        linked: HashMap::new(),
        attributes: Attributes::default(),
    };
    carrier.walk()
}

struct Carrier {
    from: Cursor,
    to: Cursor,
    /// That of the copy.
    root: Dir,
    /// The directory in which both cursors are.
    path: Vec<u8>,
    /// Where files with several names were copied to.
    linked: HashMap<Id, Vec<u8>>,
    attributes: Attributes,
}

/// A directory that was entered.
struct Level {
    name: Vec<u8>,
    stat: Stat,
    /// What is still to copy in it.
    names: Vec<Vec<u8>>,
}

impl Carrier {
    /// Copies every name, without recursion.
    fn walk(&mut self) -> Result<(), CarryError> {
        let stat = rustix::fs::fstat(self.from.dir()).map_err(|error| self.failed(b"", error))?;
        self.carry_attributes(b"")?;
        let names = self.from.dir().names().map_err(|error| self.failed(b"", error))?;
        let mut levels = vec![Level { name: Vec::new(), stat, names }];
        while let Some(level) = levels.last_mut() {
            match level.names.pop() {
                Some(name) => levels.extend(self.carry(&name)?),
                None => {
                    if let Some(done) = levels.pop() {
                        self.leave(&done)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies one name. A directory is entered, to be copied next.
    fn carry(&mut self, name: &[u8]) -> Result<Option<Level>, CarryError> {
        let stat = self.from.dir().stat(name).and_then(|stat| stat.ok_or(Errno::NOENT.into()));
        let stat = stat.map_err(|error| self.failed(name, error))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let done = match kind {
            FileType::Directory => return self.enter(name, stat).map(Some),
            FileType::RegularFile => return self.carry_file(name, &stat).map(|()| None),
            FileType::Symlink => self.carry_link(name, &stat),
            FileType::CharacterDevice if stat.st_rdev == 0 => self.make(name, kind, &stat),
            FileType::Fifo | FileType::Socket => self.make(name, kind, &stat),
            _ => return Err(CarryError::Device { path: shown(&self.at(name)) }),
        };
        done.map(|()| None).map_err(|error| self.failed(name, error))
    }

    fn enter(&mut self, name: &[u8], stat: Stat) -> Result<Level, CarryError> {
        let made = self.to.dir().make_dir(name);
        let entered = made
            .and_then(|()| self.from.down_lifting(name))
            .and_then(|()| self.to.down(name))
            .and_then(|()| self.from.dir().names());
        let names = entered.map_err(|error| self.failed(name, error))?;
        self.path = self.at(name);
        self.carry_attributes(b"")?;
        Ok(Level { name: name.to_owned(), stat, names })
    }

    /// Gives a directory that is whole its mode and times, and goes up.
    fn leave(&mut self, level: &Level) -> Result<(), CarryError> {
        let Level { name, stat, .. } = level;
        let parent = self.path.len().saturating_sub(name.len());
        if name.is_empty() {
            let done = rustix::fs::fchmod(self.to.dir(), mode(stat))
                .and_then(|()| rustix::fs::futimens(self.to.dir(), &times(stat)));
            return done.map_err(|error| self.failed(b"", error));
        }
        let gone = self.from.up().and_then(|()| self.to.up());
        self.path.truncate(parent.saturating_sub(usize::from(parent > 0)));
        let done = gone
            .and_then(|()| self.to.dir().set_mode(name, stat.st_mode & 0o7777))
            .and_then(|()| self.set_times(name, stat));
        done.map_err(|error| self.failed(name, error))
    }

    fn carry_file(&mut self, name: &[u8], stat: &Stat) -> Result<(), CarryError> {
        if stat.st_nlink > 1 {
            if let Some(first) = self.linked.get(&Id::of(stat)) {
                let linked = link(&self.root, first, self.to.dir(), name);
                return linked.map_err(|error| self.failed(name, error));
            }
            let path = self.at(name);
            self.linked.insert(Id::of(stat), path);
        }
        let attributes = &mut self.attributes;
        let opened = file_lifting(self.from.dir(), name, |file| attributes.read(file));
        let (from, ()) = opened.map_err(|error| self.failed(name, error))?;
        self.refuse_foreign(name)?;
        let copied = self.to.dir().create(name).and_then(|to| {
            copy(&from, &to)?;
            self.attributes.write(&to)?;
            rustix::fs::fchmod(&to, mode(stat))?;
            Ok(rustix::fs::futimens(&to, &times(stat))?)
        });
        copied.map_err(|error| self.failed(name, error))
    }

    fn carry_link(&self, name: &[u8], stat: &Stat) -> io::Result<()> {
        self.to.dir().make_link(name, &self.from.dir().target(name)?)?;
        self.set_times(name, stat)
    }

    /// Makes what has no content: a whiteout, a pipe, a socket.
    fn make(&self, name: &[u8], kind: FileType, stat: &Stat) -> io::Result<()> {
        rustix::fs::mknodat(self.to.dir(), name, kind, mode(stat), 0)?;
        self.set_times(name, stat)
    }

    fn set_times(&self, name: &[u8], stat: &Stat) -> io::Result<()> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(self.to.dir(), name, &times(stat), flags)?)
    }

    /// Those of the directory that both cursors are in.
    fn carry_attributes(&mut self, name: &[u8]) -> Result<(), CarryError> {
        let read = self.attributes.read(self.from.dir());
        read.map_err(|error| self.failed(name, error))?;
        self.refuse_foreign(name)?;
        let written = self.attributes.write(self.to.dir());
        written.map_err(|error| self.failed(name, error))
    }

    fn refuse_foreign(&self, name: &[u8]) -> Result<(), CarryError> {
        let foreign = FOREIGN.into_iter().find(|mark| self.attributes.has(mark.to_bytes()));
        foreign.map_or(Ok(()), |mark| {
            let mark = mark.to_string_lossy().into_owned();
            Err(CarryError::Mark { path: shown(&self.at(name)), mark })
        })
    }

    fn at(&self, name: &[u8]) -> Vec<u8> {
        match (self.path.is_empty(), name.is_empty()) {
            (true, _) => name.to_vec(),
            (false, true) => self.path.clone(),
            (false, false) => [&self.path, b"/".as_slice(), name].concat(),
        }
    }

    fn failed(&self, name: &[u8], source: impl Into<io::Error>) -> CarryError {
        let path = self.at(name);
        let path = if path.is_empty() { b".".to_vec() } else { path };
        CarryError::Copy { path: shown(&path), source: source.into() }
    }
}

/// The attributes of one file that a user may set, those of overlayfs among them.
#[derive(Default)]
struct Attributes(Vec<(Vec<u8>, Vec<u8>)>);

impl Attributes {
    fn read(&mut self, of: impl AsFd) -> io::Result<()> {
        self.0.clear();
        // Most files have none, and asking how long the list is needs no buffer.
        match rustix::fs::flistxattr_query(&of) {
            Ok(0) | Err(Errno::NOTSUP) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut list = vec![0; ATTRIBUTES_MAX];
        let length = rustix::fs::flistxattr(&of, &mut list)?;
        let names = list.get(..length).unwrap_or_default().split_inclusive(|byte| *byte == 0);
        for name in names.filter(|name| name.starts_with(b"user.")) {
            let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
            let mut value = vec![0; ATTRIBUTES_MAX];
            let length = rustix::fs::fgetxattr(&of, name, &mut value)?;
            value.truncate(length);
            self.0.push((name.to_bytes().to_vec(), value));
        }
        Ok(())
    }

    fn write(&self, to: impl AsFd) -> io::Result<()> {
        self.0.iter().try_for_each(|(name, value)| {
            Ok(rustix::fs::fsetxattr(&to, name.as_slice(), value, XattrFlags::empty())?)
        })
    }

    fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }
}

fn mode(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o7777)
}

/// When it was read and written.
fn times(stat: &Stat) -> Timestamps {
    let at = |seconds, nanos: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanos).unwrap_or(0),
    };
    Timestamps {
        last_access: at(stat.st_atime, stat.st_atime_nsec),
        last_modification: at(stat.st_mtime, stat.st_mtime_nsec),
    }
}

/// Gives the file at `path` beneath `root` another name.
fn link(root: &Dir, path: &[u8], dir: &Dir, name: &[u8]) -> io::Result<()> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (parent, first) = match slash.and_then(|at| path.split_at_checked(at)) {
        Some((parent, name)) => (parent, name.get(1..).unwrap_or_default()),
        None => (b"".as_slice(), path),
    };
    let parent = root.beneath(parent)?;
    Ok(rustix::fs::linkat(&parent, first, dir, name, AtFlags::empty())?)
}

/// Copies the data of a file into an empty one, and leaves its holes.
fn copy(mut from: &File, mut to: &File) -> io::Result<()> {
    // A clone shares the blocks; not every file system can.
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let size = from.metadata()?.len();
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break,
            data => data?,
        };
        let hole = rustix::fs::seek(from, SeekFrom::Hole(data))?;
        from.seek(io::SeekFrom::Start(data))?;
        to.seek(io::SeekFrom::Start(data))?;
        let copied = io::copy(&mut from.take(hole.saturating_sub(data)), &mut to)?;
        if copied == 0 {
            break;
        }
        at = data.saturating_add(copied);
    }
    to.set_len(size)
}
