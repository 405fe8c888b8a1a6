//! Limits that no control group enforces, watched by init.
//!
//! Processes are counted and their memory is summed from `/proc`. The kernel's own per-namespace
//! limit keeps the count from running away between two looks; this names the limit.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::plan::Watch;
use crate::protocol::WatchedLimit;

/// Looks at what the sandbox uses.
pub(crate) struct Watcher {
    watch: Watch,
}

impl Watcher {
    pub(crate) fn new(watch: Watch) -> Self {
        Self { watch }
    }

    /// Whether there is anything to watch.
    pub(crate) fn is_needed(&self) -> bool {
        self.watch.memory.is_some() || self.watch.processes.is_some()
    }

    /// The limit that has been reached, if one has.
    pub(crate) fn reached(&self) -> Option<WatchedLimit> {
        if !self.is_needed() {
            return None;
        }
        let used = Usage::sum(&self.watch.memory_mounts);
        if self.watch.processes.is_some_and(|limit| used.tasks > u64::from(limit)) {
            return Some(WatchedLimit::Processes);
        }
        // The quick sum counts what processes share once for each; measure before ending anything.
        let over =
            |limit| used.memory > limit && measured_memory(&self.watch.memory_mounts) > limit;
        self.watch.memory.is_some_and(over).then_some(WatchedLimit::Memory)
    }
}

/// What `/proc` tells quickly.
#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    tasks: u64,
    memory: u64,
}

impl Usage {
    fn sum(mounts: &[PathBuf]) -> Self {
        let mut used = Self { tasks: 0, memory: unmapped_memory(mounts) };
        for status in processes().filter_map(|pid| read(pid, "status")) {
            used.tasks += field(&status, "Threads:").unwrap_or(1);
            used.memory += own_memory(&status);
        }
        used
    }
}

/// Each shared page divided among its sharers, where the kernel tells. What is mapped of shared
/// memory also lies in a file of it, so the larger of the two sums counts.
fn measured_memory(mounts: &[PathBuf]) -> u64 {
    let (mut own, mut mapped) = (0, 0);
    for pid in processes() {
        match read(pid, "smaps_rollup").filter(|text| !text.is_empty()) {
            Some(text) => {
                own += kibibytes(&text, "Pss_Anon:");
                mapped += kibibytes(&text, "Pss_Shmem:");
            }
            None => own += read(pid, "status").map_or(0, |status| own_memory(&status)),
        }
    }
    own + u64::max(mapped, unmapped_memory(mounts))
}

/// What a process holds itself; the pages of files belong to the machine's cache.
fn own_memory(status: &str) -> u64 {
    kibibytes(status, "RssAnon:") + kibibytes(status, "RssShmem:")
}

fn kibibytes(text: &str, name: &str) -> u64 {
    field(text, name).unwrap_or(0) * 1024
}

/// The number behind `name`: proc_pid_status(5). A process chooses its own name, but not its
/// lines: the kernel escapes line feeds.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn read(pid: u32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).ok()
}

/// Every process of this namespace but init.
fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid: &u32| pid != 1)
}

/// Memory that nobody needs to have mapped: file systems, System V segments, memfds.
fn unmapped_memory(mounts: &[PathBuf]) -> u64 {
    let on = |path: &PathBuf| {
        rustix::fs::statvfs(path)
            .map_or(0, |fs| fs.f_blocks.saturating_sub(fs.f_bfree) * fs.f_frsize)
    };
    let segments = fs::read_to_string("/proc/sysvipc/shm").map_or(0, |text| segments(&text));
    mounts.iter().map(on).sum::<u64>() + segments + memory_files()
}

/// The column `rss` of proc_sysvipc(5).
fn segments(table: &str) -> u64 {
    let size = |line: &str| line.split_ascii_whitespace().nth(14)?.parse::<u64>().ok();
    table.lines().skip(1).filter_map(size).sum()
}

/// Blocks of the memfds that processes have open, each once; see memfd_create(2).
fn memory_files() -> u64 {
    let mut found = BTreeMap::new();
    for pid in processes() {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let is_memory = fs::read_link(entry.path())
                .is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"));
            if is_memory && let Ok(file) = fs::metadata(entry.path()) {
                found.insert((file.dev(), file.ino()), file.blocks() * 512);
            }
        }
    }
    found.into_values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tRssAnon: 9\\n\nThreads:\t7\nRssAnon:\t  200 kB\nRssFile:\t 50 kB\nRssShmem:\t 3 kB\n";

    #[test]
    fn a_process_holds_its_anonymous_and_shared_pages() {
        assert_eq!(own_memory(STATUS), 203 * 1024);
        assert_eq!(field(STATUS, "Threads:"), Some(7));
        assert_eq!((own_memory(""), field("garbage", "Threads:")), (0, None));
    }

    #[test]
    fn segments_count_what_is_there() {
        let table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
                     0          0   600                  4194304   411   411      0  1000  1000  1000  1000          0          0 1700000000               4096                     0\n";
        assert_eq!(segments(table), 4096);
        assert_eq!(segments(""), 0);
    }
}
