//! Directories by descriptor. This is the only file of the crate that looks a name up.
//!
//! No lookup here follows a link, leaves the directory it starts in, or needs a path that fits
//! into `PATH_MAX`: trees may be as deep as the disk allows.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use names::WorkspacePath;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat,
};
use rustix::io::Errno;

use crate::failpoint;

/// Longest relative path handed to one `openat2`, in bytes. `PATH_MAX` is 4,096 with the NUL.
const LOOKUP_MAX: usize = 3_840;

/// How often a lookup is repeated that the kernel could not finish safely because of a rename.
const RETRIES: usize = 128;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir(OwnedFd);

/// Which file or directory it is: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(u64, u64);

impl Id {
    /// That of what was looked at.
    pub(crate) fn of(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

impl Dir {
    /// Opens the directory that everything else is looked up beneath. `path` comes from the
    /// trusted side and must not itself be a link.
    pub(crate) fn root(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens the directory `name` in this one.
    pub(crate) fn child(&self, name: &[u8]) -> io::Result<Self> {
        self.open(name, OFlags::RDONLY | OFlags::DIRECTORY).map(Self)
    }

    /// Opens the directory `path` beneath this one, or this one again if `path` is empty.
    pub(crate) fn beneath(&self, path: &[u8]) -> io::Result<Self> {
        let mut dir = self.child(b".")?;
        for piece in pieces(path) {
            dir = dir.child(piece)?;
        }
        Ok(dir)
    }

    /// Opens the directory that holds this one, if that is still `expected`.
    pub(crate) fn parent(&self, expected: Id) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = Self(rustix::fs::openat(&self.0, "..", flags, Mode::empty())?);
        if parent.id()? == expected { Ok(parent) } else { Err(Errno::STALE.into()) }
    }

    /// Opens a regular file for reading; `EINVAL` if it is something else.
    pub(crate) fn file(&self, name: &[u8]) -> io::Result<File> {
        let fd = self.open(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(File::from(fd)),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn open(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let mode = Mode::empty();
        for _ in 0..RETRIES {
            match rustix::fs::openat2(&self.0, path, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// What `name` is, or none if there is no such name.
    pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// Where the link `name` points.
    pub(crate) fn target(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Every name in this directory, sorted, without `.` and `..`.
    pub(crate) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Which directory this is.
    pub(crate) fn id(&self) -> io::Result<Id> {
        Ok(Id::of(&rustix::fs::fstat(&self.0)?))
    }
}

/// Changes. Each is one system call on a name in an open directory.
impl Dir {
    /// Makes a file that was not there and opens it for writing and reading.
    pub(crate) fn create(&self, name: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let file =
            File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o600))?);
        failpoint::pass();
        Ok(file)
    }

    /// Makes a directory that only its owner may enter.
    pub(crate) fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?;
        failpoint::pass();
        Ok(())
    }

    /// Makes a link.
    pub(crate) fn make_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        rustix::fs::symlinkat(target, &self.0, name)?;
        failpoint::pass();
        Ok(())
    }

    /// Removes what is not a directory.
    pub(crate) fn unlink(&self, name: &[u8]) -> io::Result<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?;
        failpoint::pass();
        Ok(())
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?;
        failpoint::pass();
        Ok(())
    }

    /// Moves `name` to another directory, over a file or link that may be there.
    pub(crate) fn replace(&self, name: &[u8], to: &Self, new: &[u8]) -> io::Result<()> {
        rustix::fs::renameat(&self.0, name, &to.0, new)?;
        failpoint::pass();
        Ok(())
    }

    /// Moves `name` to another directory, where nothing may be.
    pub(crate) fn place(&self, name: &[u8], to: &Self, new: &[u8]) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.0, name, &to.0, new, flags) {
            // Not every file system can; then look first.
            Err(Errno::INVAL | Errno::NOSYS) => match to.stat(new)? {
                Some(_) => return Err(Errno::EXIST.into()),
                None => rustix::fs::renameat(&self.0, name, &to.0, new)?,
            },
            done => done?,
        }
        failpoint::pass();
        Ok(())
    }

    /// Sets the permission bits of a file or directory, which must not be a link.
    ///
    /// fchmodat(2) would follow a link put in its place. So the name is opened without any right
    /// first, and the mode set through /proc on exactly that file.
    pub(crate) fn set_mode(&self, name: &[u8], bits: u32) -> io::Result<()> {
        let handle = self.open(name, OFlags::PATH)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
        if !matches!(kind, FileType::Directory | FileType::RegularFile) {
            return Err(Errno::INVAL.into());
        }
        let place = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmodat(CWD, place, Mode::from_raw_mode(bits), AtFlags::empty())?;
        failpoint::pass();
        Ok(())
    }

    /// Waits until the names in this directory are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        rustix::fs::fsync(&self.0)?;
        Ok(())
    }

    /// Takes the lock of this directory; none if somebody else has it.
    pub(crate) fn try_lock(&self) -> io::Result<Option<Lock>> {
        let lock = Lock(self.child(b".")?);
        match rustix::fs::flock(&lock.0, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            done => Ok(done.map(|()| Some(lock))?),
        }
    }
}

/// The lock of a directory, until it is dropped or the process ends: flock(2).
#[derive(Debug)]
pub(crate) struct Lock(Dir);

impl Drop for Lock {
    /// Unlocks by name: closing is not enough while a child between fork and exec has a copy.
    fn drop(&mut self) {
        // It can't fail on a descriptor that is open; and if it did, closing comes next.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

impl From<Dir> for File {
    fn from(dir: Dir) -> Self {
        Self::from(dir.0)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Splits a path at slashes into pieces that each fit into one lookup.
fn pieces(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = path;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = match rest.get(..LOOKUP_MAX) {
            // A name has at most 255 bytes, so there is a slash; without one the kernel refuses.
            Some(head) => head.iter().rposition(|byte| *byte == b'/').unwrap_or(rest.len()),
            None => rest.len(),
        };
        let (piece, tail) = rest.split_at_checked(cut)?;
        rest = tail.strip_prefix(b"/").unwrap_or(tail);
        Some(piece)
    })
}

/// A place in a tree. It holds one descriptor, however deep it is, and goes up through `..`,
/// checked against the directory it came down from.
#[derive(Debug)]
pub(crate) struct Cursor {
    here: Dir,
    trail: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    parent: Id,
    /// The permission bits to restore when leaving.
    lifted: Option<u32>,
}

impl Cursor {
    pub(crate) fn new(root: Dir) -> Self {
        Self { here: root, trail: Vec::new() }
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.here
    }

    /// Enters the directory `name`.
    pub(crate) fn down(&mut self, name: &[u8]) -> io::Result<()> {
        let parent = self.here.id()?;
        self.here = self.here.child(name)?;
        self.trail.push(Level { parent, lifted: None });
        Ok(())
    }

    /// Enters the directory `name` of a tree that is ours, although its owner took the right to
    /// read it away. The bits are restored when the cursor leaves.
    pub(crate) fn down_lifting(&mut self, name: &[u8]) -> io::Result<()> {
        let parent = self.here.id()?;
        let lifted = lift(&self.here, name, 0o500)?;
        match self.here.child(name) {
            Ok(child) => self.here = child,
            Err(error) => {
                if let Some(mode) = lifted {
                    self.here.set_mode(name, mode)?;
                }
                return Err(error);
            }
        }
        self.trail.push(Level { parent, lifted });
        Ok(())
    }

    /// Enters the directory `name` of a tree that is ours and going to be removed.
    fn down_opening(&mut self, name: &[u8]) -> io::Result<()> {
        lift(&self.here, name, 0o700)?;
        self.down(name)
    }

    /// Returns to the directory above. At the root nothing happens.
    pub(crate) fn up(&mut self) -> io::Result<()> {
        let Some(level) = self.trail.pop() else { return Ok(()) };
        let parent = self.here.parent(level.parent)?;
        let left = std::mem::replace(&mut self.here, parent);
        if let Some(mode) = level.lifted {
            rustix::fs::fchmod(&left.0, Mode::from_raw_mode(mode))?;
        }
        Ok(())
    }
}

impl Drop for Cursor {
    /// Restores the bits that were lifted, also after an error.
    fn drop(&mut self) {
        while self.trail.iter().any(|level| level.lifted.is_some()) {
            if self.up().is_err() {
                return;
            }
        }
    }
}

/// Removes everything beneath the cursor's directory, which must be its root. Links are removed,
/// not followed; depth costs no stack.
pub(crate) fn empty(cursor: &mut Cursor) -> io::Result<()> {
    let mut pending = vec![cursor.dir().names()?];
    let mut entered: Vec<Vec<u8>> = Vec::new();
    while let Some(names) = pending.last_mut() {
        let Some(name) = names.pop() else {
            pending.pop();
            if let Some(done) = entered.pop() {
                cursor.up()?;
                cursor.dir().remove_dir(&done)?;
            }
            continue;
        };
        let stat = cursor.dir().stat(&name)?;
        let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            None => {}
            Some(FileType::Directory) => {
                cursor.down_opening(&name)?;
                pending.push(cursor.dir().names()?);
                entered.push(name);
            }
            Some(_) => cursor.dir().unlink(&name)?,
        }
    }
    Ok(())
}

/// Opens a regular file of a tree that is ours, although its owner took the right to read it
/// away, and looks at it while the right is lent: extended attributes need it again.
pub(crate) fn file_lifting<T>(
    dir: &Dir,
    name: &[u8],
    look: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<(File, T)> {
    let lifted = lift(dir, name, 0o400)?;
    let looked = dir.file(name).and_then(|file| look(&file).map(|seen| (file, seen)));
    if let Some(mode) = lifted {
        dir.set_mode(name, mode)?;
    }
    looked
}

/// Opens a regular file beneath the root of a tree that is ours, although its owner took rights
/// away, also from directories above it.
pub(crate) fn open_lifting(root: &Dir, path: &WorkspacePath) -> io::Result<File> {
    beside_lifting(root, path, &|dir| Ok(file_lifting(dir, path.file_name(), |_| Ok(()))?.0))
}

/// Looks into the directory that holds `path`, beneath the root of a tree that is ours, although
/// its owner took rights away from directories on the way.
pub(crate) fn beside_lifting<T>(
    root: &Dir,
    path: &WorkspacePath,
    look: &dyn Fn(&Dir) -> io::Result<T>,
) -> io::Result<T> {
    let parent = path.parent();
    let parent = parent.as_ref().map(WorkspacePath::as_bytes).unwrap_or_default();
    let near = root.beneath(parent).and_then(|dir| look(&dir));
    match near {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        near => return near,
    }
    let mut cursor = Cursor::new(root.child(b".")?);
    for component in parent.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
        cursor.down_lifting(component)?;
    }
    look(cursor.dir())
}

/// Does the error say that no such file or directory is there, but nothing or something else,
/// rather than that something broke?
pub(crate) fn is_elsewhere(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::NXIO))
}

/// Adds `needed` to the permission bits of `name` where they lack, and returns those before.
fn lift(dir: &Dir, name: &[u8], needed: u32) -> io::Result<Option<u32>> {
    let Some(stat) = dir.stat(name)? else { return Err(Errno::NOENT.into()) };
    let bits = stat.st_mode & 0o7777;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let ours = matches!(kind, FileType::Directory | FileType::RegularFile);
    if !ours || bits & needed == needed {
        return Ok(None);
    }
    dir.set_mode(name, bits | needed)?;
    Ok(Some(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_path() {
        let name = [b'x'; 255];
        let path = [name.as_slice(); 40].join(&b'/');
        let found: Vec<_> = pieces(&path).collect();
        assert!(found.iter().all(|piece| piece.len() <= LOOKUP_MAX));
        assert_eq!(found.join(&b'/'), path);
        assert_eq!(pieces(b"").count(), 0);
        assert_eq!(pieces(b"a/b").collect::<Vec<_>>(), [b"a/b"]);
    }

    #[test]
    fn a_link_is_not_entered() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("real")).unwrap();
        std::fs::write(temp.path().join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
        let root = Dir::root(temp.path()).unwrap();
        assert!(root.child(b"link").is_err());
        assert!(root.beneath(b"link").is_err());
        assert!(root.file(b"link/file").is_err());
        assert!(root.child(b"real/../..").is_err());
        assert!(root.beneath(b"real").is_ok());
        assert!(Dir::root(&temp.path().join("link")).is_err());
    }

    #[test]
    fn lifted_bits_are_restored() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
        let temp = tempfile::tempdir().unwrap();
        let closed = temp.path().join("closed");
        std::fs::create_dir_all(closed.join("inner")).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
        let mode = || closed.metadata().unwrap().mode() & 0o7777;
        let mut cursor = Cursor::new(Dir::root(temp.path()).unwrap());
        cursor.down_lifting(b"closed").unwrap();
        cursor.down_lifting(b"inner").unwrap();
        assert_eq!(mode(), 0o500);
        drop(cursor);
        assert_eq!(mode(), 0);
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    }
}
