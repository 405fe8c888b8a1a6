//! Trees as tests see them: made by operations, and taken down by a plain walk of `std::fs` that
//! shares no code with the crate.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use names::Digest;
use serde::{Deserialize, Serialize};

/// One change to a tree. What the system refuses is left undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Op {
    Write(String, String),
    Append(String, String),
    Mkdir(String),
    Remove(String),
    RemoveAll(String),
    Rename(String, String),
    Symlink(String, String),
    HardLink(String, String),
    Chmod(String, u32),
    /// As `Chmod`, but its owner may still read it.
    Tame(String, u32),
    Touch(String),
    Fifo(String),
    Socket(String),
    Truncate(String, u64),
}

pub(crate) fn perform(root: &Path, ops: &[Op]) {
    for op in ops {
        // Refusals are part of the game: "remove what is not there".
        let _refused = perform_one(root, op);
    }
}

fn perform_one(root: &Path, op: &Op) -> io::Result<()> {
    use io::Write as _;
    let at = |name: &str| inside(root, name);
    match op {
        Op::Write(name, text) => fs::write(beneath(root, name)?, text),
        Op::Append(name, text) => fs::OpenOptions::new()
            .append(true)
            .open(beneath(root, name)?)?
            .write_all(text.as_bytes()),
        Op::Mkdir(name) => fs::create_dir(at(name)?),
        Op::Remove(name) => fs::remove_file(at(name)?).or_else(|_| fs::remove_dir(at(name)?)),
        Op::RemoveAll(name) => fs::remove_dir_all(at(name)?),
        Op::Rename(from, to) => fs::rename(at(from)?, at(to)?),
        Op::Symlink(target, name) => symlink(target, at(name)?),
        Op::HardLink(from, to) => fs::hard_link(at(from)?, at(to)?),
        Op::Chmod(name, mode) => {
            fs::set_permissions(beneath(root, name)?, fs::Permissions::from_mode(*mode))
        }
        Op::Tame(name, mode) => {
            let path = beneath(root, name)?;
            let least = if path.is_dir() { 0o700 } else { 0o600 };
            fs::set_permissions(path, fs::Permissions::from_mode(mode | least))
        }
        Op::Touch(name) => {
            let file = fs::OpenOptions::new().append(true).open(beneath(root, name)?)?;
            file.set_modified(std::time::UNIX_EPOCH)
        }
        Op::Fifo(name) => mknod(&at(name)?, rustix::fs::FileType::Fifo),
        Op::Socket(name) => mknod(&at(name)?, rustix::fs::FileType::Socket),
        Op::Truncate(name, size) => {
            fs::OpenOptions::new().write(true).open(beneath(root, name)?)?.set_len(*size)
        }
    }
}

/// The path, unless a link among its directories leads out of `root`: the operations are bold, but
/// they are a test's.
fn inside(root: &Path, name: &str) -> io::Result<PathBuf> {
    let path = root.join(OsStr::from_bytes(name.as_bytes()));
    let parent = fs::canonicalize(path.parent().unwrap_or(root))?;
    match parent.starts_with(fs::canonicalize(root)?) {
        true => Ok(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The same, unless an operation on it would follow a link or wait for a pipe.
fn beneath(root: &Path, name: &str) -> io::Result<PathBuf> {
    let path = inside(root, name)?;
    let plain = match fs::symlink_metadata(&path) {
        Ok(found) => found.is_file() || found.is_dir(),
        Err(_) => true,
    };
    if plain { Ok(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn mknod(path: &Path, kind: rustix::fs::FileType) -> io::Result<()> {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    Ok(rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?)
}

/// What a path holds, as far as a change set is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Held {
    File { executable: bool, set_id: bool, content: Digest },
    Link(Vec<u8>),
    Dir,
    Special(String),
}

/// A tree as a plain walk sees it.
pub(crate) type Tree = BTreeMap<Vec<u8>, Held>;

pub(crate) fn take_down(root: &Path) -> Tree {
    let mut tree = Tree::new();
    walk(root, &mut OsString::new(), &mut tree);
    tree
}

fn walk(dir: &Path, prefix: &mut OsString, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let length = prefix.len();
        if length > 0 {
            prefix.push("/");
        }
        prefix.push(entry.file_name());
        let held = held(&entry.path());
        let is_dir = held == Held::Dir;
        tree.insert(prefix.as_bytes().to_vec(), held);
        if is_dir {
            walk(&entry.path(), prefix, tree);
        }
        let mut bytes = std::mem::take(prefix).into_vec();
        bytes.truncate(length);
        *prefix = OsString::from_vec(bytes);
    }
}

fn held(path: &Path) -> Held {
    let found = fs::symlink_metadata(path).unwrap();
    let kind = found.file_type();
    if kind.is_symlink() {
        Held::Link(fs::read_link(path).unwrap().into_os_string().into_vec())
    } else if kind.is_dir() {
        Held::Dir
    } else if kind.is_file() {
        let mode = found.mode();
        let (executable, set_id) = (mode & 0o100 != 0, mode & 0o6000 != 0);
        Held::File { executable, set_id, content: Digest::of(&fs::read(path).unwrap()) }
    } else if kind.is_fifo() {
        Held::Special("fifo".to_owned())
    } else if kind.is_socket() {
        Held::Special("socket".to_owned())
    } else {
        Held::Special("device".to_owned())
    }
}

/// What differs between two trees: for each path what it held and what it holds.
pub(crate) type Differences = BTreeMap<Vec<u8>, (Option<Held>, Option<Held>)>;

pub(crate) fn compare(before: &Tree, after: &Tree) -> Differences {
    let paths = before.keys().chain(after.keys());
    let pairs =
        paths.map(|path| (path.clone(), (before.get(path).cloned(), after.get(path).cloned())));
    pairs.filter(|(_, (before, after))| before != after).collect()
}
