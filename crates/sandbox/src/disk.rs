//! The disk limit: nobody but a file system's owner can set a quota, so what a run wrote is
//! measured, as often as its file system fills.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file costs besides its blocks, in bytes: an inode and a directory entry.
const COST_OF_A_FILE: u64 = 1024;

/// Watches what lies below the directories of one run.
#[derive(Debug)]
pub struct DiskWatch {
    directories: Vec<PathBuf>,
    limit: u64,
    at_last_measure: Free,
}

/// What a file system has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Free {
    bytes: u64,
    files: u64,
}

impl Free {
    fn of(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statvfs(path)?;
        Ok(Self { bytes: found.f_bfree * found.f_frsize, files: found.f_ffree })
    }
}

impl DiskWatch {
    /// Watches `directories`, all on one file system, against `limit` bytes.
    ///
    /// # Errors
    /// When the file system can't be asked.
    pub fn new(directories: Vec<PathBuf>, limit: u64) -> io::Result<Self> {
        let first = directories.first().ok_or(io::ErrorKind::InvalidInput)?;
        let at_last_measure = Free::of(first)?;
        Ok(Self { directories, limit, at_last_measure })
    }

    /// Whether the limit has been reached. Walks the directories only when the file system has
    /// lost a notable part of the limit since the last walk.
    pub fn reached(&mut self) -> bool {
        let Some(now) = self.directories.first().and_then(|path| Free::of(path).ok()) else {
            return false;
        };
        let notable = self.limit / 16;
        let lost_bytes = self.at_last_measure.bytes.saturating_sub(now.bytes);
        let lost_files = self.at_last_measure.files.saturating_sub(now.files);
        if lost_bytes.saturating_add(lost_files.saturating_mul(COST_OF_A_FILE)) < notable {
            return false;
        }
        self.at_last_measure = now;
        self.is_over()
    }

    /// Measures, whatever the file system says.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut budget = self.limit;
        self.directories.iter().any(|directory| !fits(directory, &mut budget))
    }
}

/// Subtracts what lies below `root` from `budget`; false when it does not fit.
fn fits(root: &Path, budget: &mut u64) -> bool {
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        // A directory that vanished or can't be read holds nothing that can be counted.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            let cost = (found.blocks() * 512).saturating_add(COST_OF_A_FILE);
            match budget.checked_sub(cost) {
                Some(rest) => *budget = rest,
                None => return false,
            }
            if found.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_files_count() {
        let root = tempfile::tempdir().unwrap();
        let watch = |limit| DiskWatch::new(vec![root.path().to_owned()], limit).unwrap();
        assert!(!watch(1 << 20).is_over());
        fs::write(root.path().join("large"), vec![1_u8; 1 << 20]).unwrap();
        assert!(watch(1 << 20).is_over());
        assert!(!watch(2 << 20).is_over());
        for number in 0..100 {
            fs::create_dir(root.path().join(format!("empty-{number}"))).unwrap();
        }
        assert!(watch((1 << 20) + 50 * 1024).is_over());
    }
}
