//! Limits that no control group enforces, watched by init.
//!
//! Processes are counted and their memory is summed from `/proc`. The kernel's own per-namespace
//! limit keeps the count from running away between two looks; this names the limit.

use std::fs;

use crate::plan::Watch;
use crate::protocol::WatchedLimit;

/// Bytes of a page as /proc counts memory: proc_pid_statm(5).
fn page_size() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

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
        let used = Usage::measure();
        if self.watch.processes.is_some_and(|limit| used.tasks > u64::from(limit)) {
            return Some(WatchedLimit::Processes);
        }
        let over = self.watch.memory.is_some_and(|limit| {
            // The quick sum counts what forked processes share once for each; ask again before
            // ending anything.
            used.memory > limit && Usage::proportional_memory() > limit
        });
        over.then_some(WatchedLimit::Memory)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    tasks: u64,
    memory: u64,
}

impl Usage {
    fn measure() -> Self {
        let mut used = Self { tasks: 0, memory: shared_memory() };
        for pid in processes() {
            used.tasks +=
                fs::read_to_string(format!("/proc/{pid}/stat")).map_or(0, |s| threads(&s));
            used.memory +=
                fs::read_to_string(format!("/proc/{pid}/statm")).map_or(0, |s| own_memory(&s));
        }
        used
    }

    /// Each shared page divided among its sharers. What can't be read that way counts in full.
    fn proportional_memory() -> u64 {
        let of_processes: u64 = processes()
            .map(|pid| {
                fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
                    .ok()
                    .and_then(|text| proportional(&text))
                    .or_else(|| {
                        fs::read_to_string(format!("/proc/{pid}/statm"))
                            .ok()
                            .map(|s| own_memory(&s))
                    })
                    .unwrap_or(0)
            })
            .sum();
        of_processes + shared_memory()
    }
}

/// Every process of this namespace but init.
fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid: &u32| pid != 1)
}

/// Field 20 of proc_pid_stat(5), counted after the name, which may hold anything.
fn threads(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_ascii_whitespace().nth(17).and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Resident less shared file pages: proc_pid_statm(5).
fn own_memory(statm: &str) -> u64 {
    let mut fields = statm.split_ascii_whitespace().map(|field| field.parse::<u64>().unwrap_or(0));
    let resident = fields.nth(1).unwrap_or(0);
    let shared = fields.next().unwrap_or(0);
    resident.saturating_sub(shared) * page_size()
}

fn proportional(rollup: &str) -> Option<u64> {
    // Anonymous memory only: file pages belong to the machine's cache.
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss_Anon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What the memory file systems of the sandbox hold.
fn shared_memory() -> u64 {
    rustix::fs::statvfs("/dev/shm")
        .map(|fs| fs.f_blocks.saturating_sub(fs.f_bfree) * fs.f_frsize)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_hold_anything() {
        let stat = "42 (a) b ) R 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 7 0 100 0 0";
        assert_eq!(threads(stat), 7);
        assert_eq!(threads("garbage"), 1);
    }

    #[test]
    fn memory_is_resident_less_shared() {
        assert_eq!(own_memory("1000 300 100 1 0 50 0"), 200 * page_size());
        assert_eq!(own_memory(""), 0);
        assert_eq!(own_memory("5 1 9"), 0);
    }

    #[test]
    fn proportional_memory_is_in_kibibytes() {
        assert_eq!(proportional("Rss: 1 kB\nPss_Anon:      12 kB\n"), Some(12 * 1024));
        assert_eq!(proportional("nothing"), None);
    }
}
