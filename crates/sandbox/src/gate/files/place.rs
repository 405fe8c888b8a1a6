//! Where a change would happen: a directory that is held, and a name in it.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::gate::memory::CallPath;
use crate::gate::view::{MOST_LINKS, View, absolute, path_of};

/// A name in a directory.
#[derive(Debug)]
pub(in crate::gate) struct Place {
    pub(in crate::gate) directory: OwnedFd,
    pub(in crate::gate) name: Vec<u8>,
    /// Both together, without links.
    pub(in crate::gate) path: PathBuf,
    /// What is there now, itself.
    pub(in crate::gate) found: Option<Stat>,
}

impl Place {
    pub(in crate::gate) fn kind(&self) -> Option<FileType> {
        self.found.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode))
    }
}

impl View {
    /// Finds where the kernel would make or change what `path` names. With `follow`, a link as the
    /// last name leads on, also to what is not there yet.
    ///
    /// # Errors
    /// What the kernel would answer.
    pub(in crate::gate) fn place(
        &self,
        thread: Pid,
        path: &CallPath,
        follow: bool,
    ) -> Result<Place, Errno> {
        if path.bytes.is_empty() {
            return Err(Errno::NOENT);
        }
        let mut path = absolute(thread, path)?;
        for _ in 0..MOST_LINKS {
            match self.step(thread, &path, follow)? {
                Step::Here(place) => return Ok(place),
                Step::On(next) => path = next,
            }
        }
        Err(Errno::LOOP)
    }

    fn step(&self, thread: Pid, path: &[u8], follow: bool) -> Result<Step, Errno> {
        let is_directory = path.ends_with(b"/");
        let trimmed = trim_end(path);
        let Some(cut) = trimmed.iter().rposition(|byte| *byte == b'/') else {
            return Err(Errno::BUSY); // the root itself
        };
        let (parent, name) = trimmed.split_at(cut + 1);
        if matches!(name, b"." | b"..") {
            let whole = self.open(thread, trimmed, true)?;
            return Ok(Step::On(path_of(&whole)?.into_os_string().into_vec()));
        }
        let directory = self.open(thread, parent, true)?;
        let here = path_of(&directory)?;
        let found = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno),
        };
        let is_link = found
            .as_ref()
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link && (follow || is_directory) {
            let target = rustix::fs::readlinkat(&directory, name, Vec::new())?.into_bytes();
            return Ok(Step::On(joined(&here, &target)));
        }
        let path = here.join(std::ffi::OsStr::from_bytes(name));
        Ok(Step::Here(Place { directory, name: name.to_vec(), path, found }))
    }
}

enum Step {
    Here(Place),
    On(Vec<u8>),
}

fn trim_end(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

fn joined(directory: &Path, target: &[u8]) -> Vec<u8> {
    if target.starts_with(b"/") {
        return target.to_vec();
    }
    [directory.as_os_str().as_bytes(), b"/", target].concat()
}
