//! What comes along when a directory or a link gets another name.
//!
//! A guarded name is a path, so a file can come to have one without being touched: its directory
//! moves to where the path means something, or a link leads there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use policy::{Outcome, guarded};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::action::{outright, verdict};
use super::place::Place;
use crate::gate::answer::Denied;
use crate::gate::serve::Gate;

/// The most names that are looked at for one call.
const MOST: usize = 100_000;

/// Checks what `source` would mean as `target`.
///
/// # Errors
/// When a file or a link in it would mean something else there. `EXDEV` when there are too many
/// to look at: programs then move them one by one.
pub(in crate::gate) fn check(gate: &Gate, source: &Place, target: &Place) -> Result<(), Denied> {
    match source.kind() {
        Some(FileType::Directory) => Moved { gate, source, target }.check(),
        Some(FileType::Symlink) => check_link(gate, &target.path),
        _ => Ok(()),
    }
}

/// Checks a link that comes to be at `path`.
///
/// # Errors
/// When guarded names could be reached through it.
pub(in crate::gate) fn check_link(gate: &Gate, path: &Path) -> Result<(), Denied> {
    if guarded::may_hold(gate.trees.below(path)) {
        return Err(outright(path, "a link of that name can't be shown"));
    }
    Ok(())
}

/// A directory that gets another path.
struct Moved<'a> {
    gate: &'a Gate,
    source: &'a Place,
    target: &'a Place,
}

impl Moved<'_> {
    fn check(&self) -> Result<(), Denied> {
        let (mut pending, mut seen) = (vec![PathBuf::new()], 0);
        while let Some(directory) = pending.pop() {
            for (name, kind) in self.entries(&directory)? {
                seen += 1;
                if seen > MOST {
                    return Err(Errno::XDEV.into());
                }
                match kind {
                    FileType::Directory => pending.push(name),
                    FileType::Symlink => self.check_link(&name)?,
                    _ => self.check_file(&name)?,
                }
            }
        }
        Ok(())
    }

    /// What is in a directory of the moved one, each with its path below that.
    fn entries(&self, below: &Path) -> Result<Vec<(PathBuf, FileType)>, Errno> {
        let start = Path::new(OsStr::from_bytes(&self.source.name)).join(below);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let directory =
            rustix::fs::openat2(&self.source.directory, start, flags, Mode::empty(), resolve)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                known => known,
            };
            entries.push((below.join(OsStr::from_bytes(name.to_bytes())), kind));
        }
        Ok(entries)
    }

    fn check_file(&self, below: &Path) -> Result<(), Denied> {
        let (from, to) = (self.source.path.join(below), self.target.path.join(below));
        let (before, after) = (verdict(self.gate, &from), verdict(self.gate, &to));
        let meaning = |path| guarded::meaning(self.gate.trees.below(path));
        match (before, after) {
            (Outcome::Allow, Outcome::Allow) => return Ok(()),
            (Outcome::Ask, Outcome::Ask) if meaning(&from) == meaning(&to) => return Ok(()),
            _ => {}
        }
        Err(outright(&to, "it can't be shown when its directory is moved: move it by itself"))
    }

    fn check_link(&self, below: &Path) -> Result<(), Denied> {
        let was_one = guarded::may_hold(self.gate.trees.below(&self.source.path.join(below)));
        if was_one { Ok(()) } else { check_link(self.gate, &self.target.path.join(below)) }
    }
}
