//! Files that a sandbox may have written, read as data: a directory, or several laid over each other
//! as an overlay lays them.
//!
//! No lookup follows a link, and nothing but directories and regular files is opened. The marks of
//! an overlay are those of the kernel's overlayfs with `userxattr`
//! (Documentation/filesystems/overlayfs.rst): a character device 0:0, or an empty file with
//! `user.overlay.whiteout`, hides a name; `user.overlay.opaque` hides what lies below.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A directory; the uppermost layer is the first.
#[derive(Debug)]
pub(super) struct Tree(Vec<OwnedFd>);

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Entry {
    /// A directory.
    Tree(Tree),
    /// A regular file.
    File(File),
    /// Anything else, which is not opened.
    Other,
}

impl Tree {
    /// Opens a directory by a path of the trusted side. Its last name must not be a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(vec![directory(CWD, path)?]))
    }

    /// Lays this tree over `below`.
    pub(super) fn over(mut self, below: Self) -> Self {
        self.0.extend(below.0);
        self
    }

    /// What `name` is, or none.
    pub(super) fn entry(&self, name: &[u8]) -> io::Result<Option<Entry>> {
        let mut merged = Vec::new();
        for layer in &self.0 {
            match look(layer, name)? {
                Look::Absent => {}
                Look::Hidden => break,
                Look::Directory { fd, opaque } => {
                    merged.push(fd);
                    if opaque {
                        break;
                    }
                }
                Look::File(_) | Look::Other if !merged.is_empty() => break,
                Look::File(file) => return Ok(Some(Entry::File(file))),
                Look::Other => return Ok(Some(Entry::Other)),
            }
        }
        Ok((!merged.is_empty()).then_some(Entry::Tree(Self(merged))))
    }

    /// What a path with slashes stands for, or none.
    pub(super) fn at(&self, path: &str) -> io::Result<Option<Entry>> {
        let (parents, name) = path.rsplit_once('/').map_or((None, path), |(p, n)| (Some(p), n));
        match parents {
            None => self.entry(name.as_bytes()),
            Some(parents) => match self.at(parents)? {
                Some(Entry::Tree(tree)) => tree.entry(name.as_bytes()),
                _ => Ok(None),
            },
        }
    }

    /// The directory at a path, if it is one.
    pub(super) fn tree(&self, path: &str) -> io::Result<Option<Self>> {
        Ok(match self.at(path)? {
            Some(Entry::Tree(tree)) => Some(tree),
            _ => None,
        })
    }

    /// The content of the regular file at a path, if it is one.
    ///
    /// # Errors
    /// `EFBIG` when it is longer than `most` bytes.
    pub(super) fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(Entry::File(file)) = self.at(path)? else { return Ok(None) };
        read(&file, most).map(Some)
    }

    /// The first line of a small file.
    pub(super) fn line(&self, path: &str) -> io::Result<Option<String>> {
        let text = match self.read(path, 64 << 10) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::FBIG) => return Ok(None),
            text => text?.and_then(|bytes| String::from_utf8(bytes).ok()),
        };
        Ok(text.and_then(|text| text.lines().next().map(|line| line.trim_end().to_owned())))
    }

    /// Every name of any layer, also of what is hidden: [`Tree::entry`] decides.
    pub(super) fn names(&self) -> io::Result<BTreeSet<Vec<u8>>> {
        let mut names = BTreeSet::new();
        for layer in &self.0 {
            for entry in Dir::read_from(layer)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if !matches!(name, b"." | b"..") {
                    names.insert(name.to_owned());
                }
            }
        }
        Ok(names)
    }
}

/// Reads a file of at most `most` bytes.
pub(super) fn read(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Errno::FBIG.into());
    }
    Ok(bytes)
}

/// What one layer has under a name.
enum Look {
    Absent,
    /// A mark that hides the layers below.
    Hidden,
    Directory {
        fd: OwnedFd,
        opaque: bool,
    },
    File(File),
    Other,
}

fn look(layer: &OwnedFd, name: &[u8]) -> io::Result<Look> {
    if name.is_empty() || name.contains(&b'/') || matches!(name, b"." | b"..") {
        return Ok(Look::Absent);
    }
    let stat = match rustix::fs::statat(layer, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL) => {
            return Ok(Look::Absent);
        }
        found => found?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice if stat.st_rdev == 0 => Ok(Look::Hidden),
        FileType::Directory => {
            let fd = directory(layer, name)?;
            let opaque = has_mark(&fd, c"user.overlay.opaque", b"y")?;
            Ok(Look::Directory { fd, opaque })
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY
                | OFlags::NOFOLLOW
                | OFlags::NONBLOCK
                | OFlags::NOCTTY
                | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(layer, name, flags, Mode::empty())?;
            if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) != FileType::RegularFile {
                return Ok(Look::Other);
            }
            let hides = stat.st_size == 0 && has_mark(&fd, c"user.overlay.whiteout", b"")?;
            Ok(if hides { Look::Hidden } else { Look::File(File::from(fd)) })
        }
        _ => Ok(Look::Other),
    }
}

fn directory<P: rustix::path::Arg>(at: impl AsFd, path: P) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}

/// Whether an extended attribute is there and begins so.
fn has_mark(of: &OwnedFd, name: &CStr, start: &[u8]) -> io::Result<bool> {
    let mut value = [0_u8; 8];
    match rustix::fs::fgetxattr(of, name, &mut value) {
        Ok(length) => Ok(value.get(..length).is_some_and(|value| value.starts_with(start))),
        Err(Errno::RANGE) => Ok(start.is_empty()),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn text(tree: &Tree, path: &str) -> Option<String> {
        tree.read(path, 100).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn layers_show_what_an_overlay_would() {
        let place = tempfile::tempdir().unwrap();
        let (upper, base) = (place.path().join("upper"), place.path().join("base"));
        for (path, content) in [
            (base.join("a/one"), "base"),
            (base.join("a/two"), "base"),
            (base.join("gone"), "base"),
            (base.join("opaque/below"), "base"),
            (base.join("was-file"), "base"),
            (upper.join("a/one"), "upper"),
            (upper.join("opaque/new"), "upper"),
            (upper.join("was-file/x"), "upper"),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::write(upper.join("gone"), "").unwrap();
        let mark = |path: &str, name: &str| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(upper.join(path), name, b"y", flags).unwrap();
        };
        mark("gone", "user.overlay.whiteout");
        mark("opaque", "user.overlay.opaque");
        let tree = Tree::open(&upper).unwrap().over(Tree::open(&base).unwrap());
        assert_eq!(text(&tree, "a/one").as_deref(), Some("upper"));
        assert_eq!(text(&tree, "a/two").as_deref(), Some("base"));
        assert_eq!(text(&tree, "gone"), None);
        assert_eq!(text(&tree, "opaque/below"), None);
        assert_eq!(text(&tree, "opaque/new").as_deref(), Some("upper"));
        assert_eq!(text(&tree, "was-file/x").as_deref(), Some("upper"));
        assert_eq!(tree.tree("a").unwrap().unwrap().names().unwrap().len(), 2);
    }

    #[test]
    fn nothing_leads_out() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        symlink("../secret", root.join("link")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let tree = Tree::open(&root).unwrap();
        for path in ["link", "up/secret", "../secret", "./link", "", "/etc/passwd"] {
            assert_eq!(text(&tree, path), None, "{path}");
        }
        assert!(Tree::open(&root.join("up")).is_err());
        fs::write(root.join("long"), [b'x'; 200]).unwrap();
        assert!(tree.read("long", 100).is_err());
    }
}
