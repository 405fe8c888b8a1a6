//! Removes what a sandbox left: trees of any depth, with any modes, without following a link.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Removes `root` and everything below it. Nobody else may be writing there.
///
/// Directories that are not empty are first moved up to `root`, so that no path gets longer than
/// one name, however deep the tree is.
///
/// # Errors
/// The first thing that can't be removed. A `root` that does not exist is no error.
pub fn remove_tree(root: &Path) -> io::Result<()> {
    let top = match open_directory(rustix::fs::CWD, root) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut moved = Moved::default();
    empty(&top, &top, &mut moved)?;
    while let Some(name) = moved.pending.pop() {
        let directory = open_directory(&top, name.as_c_str())?;
        empty(&directory, &top, &mut moved)?;
        rustix::fs::unlinkat(&top, name, AtFlags::REMOVEDIR)?;
    }
    fs::remove_dir(root)
}

/// Directories that were moved up and wait to be emptied.
#[derive(Default)]
struct Moved {
    pending: Vec<CString>,
    count: u64,
}

impl Moved {
    fn move_up(&mut self, directory: &OwnedFd, name: &CString, top: &OwnedFd) -> io::Result<()> {
        loop {
            self.count += 1;
            let to = CString::new(format!(".loop-removing-{}", self.count))?;
            match rustix::fs::renameat_with(directory, name, top, &to, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.pending.push(to);
                    return Ok(());
                }
                Err(Errno::EXIST) => {} // something of the tree has that name
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn empty(directory: &OwnedFd, top: &OwnedFd, moved: &mut Moved) -> io::Result<()> {
    let names: Vec<_> = Dir::read_from(directory)?
        .map(|entry| entry.map(|entry| (entry.file_name().to_owned(), entry.file_type())))
        .collect::<Result<_, _>>()?;
    for (name, kind) in names {
        let is_moved = moved.pending.contains(&name);
        if name.as_c_str() != c"." && name.as_c_str() != c".." && !is_moved {
            remove_entry(directory, name, kind, top, moved)?;
        }
    }
    Ok(())
}

fn remove_entry(
    directory: &OwnedFd,
    name: CString,
    kind: FileType,
    top: &OwnedFd,
    moved: &mut Moved,
) -> io::Result<()> {
    if !is_directory(directory, &name, kind)? {
        return Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?);
    }
    match rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {}
        other => return Ok(other?),
    }
    // Its own mode decides whether it can be moved and read.
    rustix::fs::chmodat(directory, &name, Mode::RWXU, AtFlags::empty())?;
    moved.move_up(directory, &name, top)
}

fn is_directory(directory: &OwnedFd, name: &CString, kind: FileType) -> io::Result<bool> {
    if kind != FileType::Unknown {
        return Ok(kind == FileType::Directory);
    }
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

fn open_directory(
    at: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg + Copy,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(at.as_fd(), path, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(at.as_fd(), path, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(at, path, flags, Mode::empty())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn deep_closed_and_linked_trees_go() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        let root = place.path().join("root");
        fs::create_dir(&root).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        fs::create_dir_all(root.join(".loop-removing-1/x")).unwrap();
        let mut at = open_directory(rustix::fs::CWD, root.as_path()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = open_directory(&at, "d").unwrap();
        }
        rustix::fs::symlinkat("/", &at, "l").unwrap();
        let closed = root.join("closed");
        fs::create_dir_all(closed.join("inner/most")).unwrap();
        fs::write(closed.join("inner/file"), "x").unwrap();
        fs::set_permissions(closed.join("inner"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&root).unwrap();
        assert!(!root.exists());
        assert!(outside.join("kept").exists());
        remove_tree(&root).unwrap();
    }
}
