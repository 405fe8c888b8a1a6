//! The disk limit: nobody but a file system's owner can set a quota, so what a run wrote is
//! measured, as often as its file system fills.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file costs besides its blocks, in bytes: an inode and a directory entry.
const COST_OF_A_FILE: u64 = 1024;

/// Watches what comes to lie below the directories of one run.
#[derive(Debug)]
pub struct DiskWatch {
    directories: Vec<PathBuf>,
    limit: u64,
    at_last_measure: Vec<Free>,
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

    /// What it lost until `now`, files counted for what they cost.
    fn lost(self, now: Self) -> u64 {
        let files = self.files.saturating_sub(now.files);
        self.bytes.saturating_sub(now.bytes).saturating_add(files.saturating_mul(COST_OF_A_FILE))
    }
}

impl DiskWatch {
    /// Watches `directories` against `limit` bytes, besides what lies there already.
    ///
    /// # Errors
    /// When a file system can't be asked.
    pub fn new(directories: Vec<PathBuf>, limit: u64) -> io::Result<Self> {
        let at_last_measure = Self::free(&directories)?;
        let before = u64::MAX - rest_of(u64::MAX, &directories).unwrap_or(0);
        Ok(Self { directories, limit: limit.saturating_add(before), at_last_measure })
    }

    fn free(directories: &[PathBuf]) -> io::Result<Vec<Free>> {
        directories.iter().map(|directory| Free::of(directory)).collect()
    }

    /// Whether the limit has been reached. Walks the directories only when a file system has lost
    /// a notable part of the limit since the last walk.
    pub fn reached(&mut self) -> bool {
        let Ok(now) = Self::free(&self.directories) else { return false };
        let lost = self.at_last_measure.iter().zip(&now).map(|(before, now)| before.lost(*now));
        if lost.max().unwrap_or(0) < self.limit / 16 {
            return false;
        }
        self.at_last_measure = now;
        self.is_over()
    }

    /// Measures, whatever the file systems say.
    #[must_use]
    pub fn is_over(&self) -> bool {
        rest_of(self.limit, &self.directories).is_none()
    }
}

/// What is left of a budget after what lies below the directories; `None` when it does not fit.
fn rest_of(mut budget: u64, directories: &[PathBuf]) -> Option<u64> {
    let fit = directories.iter().all(|directory| fits(directory, &mut budget));
    fit.then_some(budget)
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
        let [one, two, more] = [1 << 20, 2 << 20, (1 << 20) + 50 * 1024].map(watch);
        assert!(!one.is_over());
        fs::write(root.path().join("large"), vec![1_u8; 1 << 20]).unwrap();
        assert!(one.is_over() && !two.is_over() && !more.is_over());
        for number in 0..100 {
            fs::create_dir(root.path().join(format!("empty-{number}"))).unwrap();
        }
        assert!(more.is_over());
        assert!(!watch(1 << 10).is_over(), "what was there before does not count");
    }
}
