//! The files that join a linked working directory to its repository: gitrepository-layout(5).
//!
//! Git writes them in place, which nobody can be shown; and by another content they would lead git
//! to a repository that the sandbox made up. But what `git worktree add` writes there is known
//! beforehand: so just that is written, whatever the caller has in mind.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};

use super::Tree;

/// Where a repository keeps what belongs to its linked working directories.
const PLACE: &str = ".git/worktrees";
/// The most linked working directories that are looked at.
const MOST: usize = 1_000;
/// The longest path that one says it is at, in bytes.
const LONGEST: u64 = 4_096;

/// What a new file at `path` can only hold, if it is one of these.
pub(super) fn only_content(tree: &Tree, path: &Path) -> Option<Vec<u8>> {
    let below = path.strip_prefix(&tree.path).ok()?;
    let names: Vec<&[u8]> = below.iter().map(OsStr::as_bytes).collect();
    match names.as_slice() {
        [b".git", b"worktrees", _, b"commondir"] => Some(b"../..\n".to_vec()),
        [_, .., b".git"] => pointer(tree, path),
        _ => None,
    }
}

/// What the `.git` of a working directory says that the repository has registered already.
fn pointer(tree: &Tree, path: &Path) -> Option<Vec<u8>> {
    let linked = open(&tree.root, Path::new(PLACE), OFlags::DIRECTORY)?;
    let names = Dir::read_from(&linked).ok()?.flatten().take(MOST);
    let names = names.map(|entry| entry.file_name().to_bytes().to_vec());
    let mut names = names.filter(|name| !name.starts_with(b".") && !name.contains(&b'\n'));
    let name = names.find(|name| {
        let gitdir = Path::new(OsStr::from_bytes(name)).join("gitdir");
        says(&linked, &gitdir).is_some_and(|said| said == path.as_os_str().as_bytes())
    })?;
    let repository = tree.path.join(PLACE).join(OsStr::from_bytes(&name));
    Some([b"gitdir: ", repository.as_os_str().as_bytes(), b"\n"].concat())
}

fn says(linked: &OwnedFd, gitdir: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::from(open(linked, gitdir, OFlags::NONBLOCK)?)
        .take(LONGEST)
        .read_to_end(&mut text)
        .ok()?;
    Some(text.strip_suffix(b"\n").unwrap_or(&text).to_vec())
}

fn open(from: &OwnedFd, path: &Path, flags: OFlags) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC | flags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(from, path, flags, Mode::empty(), resolve).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_git_registered_is_known() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        let registered = root.join(".git/worktrees/second");
        fs::create_dir_all(&registered).unwrap();
        let pointer = root.join("second/.git");
        fs::write(registered.join("gitdir"), format!("{}\n", pointer.display())).unwrap();
        let tree = Tree { root: File::open(&root).unwrap().into(), path: root.clone() };
        let content = |path: &str| {
            only_content(&tree, &root.join(path)).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let expected = format!("gitdir: {}\n", registered.display());
        assert_eq!(content("second/.git").unwrap(), expected);
        assert_eq!(content(".git/worktrees/second/commondir").unwrap(), "../..\n");
        for path in ["other/.git", ".git", ".git/commondir", "x/.git/worktrees/a/commondir", "a"] {
            assert_eq!(content(path), None, "{path}");
        }
    }
}
