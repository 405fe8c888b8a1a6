//! How much memory a process and all below it have: each counted whole, although they share some.

use std::collections::BTreeMap;
use std::process::Child;

use testkit::below;

/// The most that each process has had, as far as it was looked at.
pub(crate) struct Peaks {
    root: i32,
    kib: BTreeMap<i32, u64>,
}

impl Peaks {
    pub(crate) fn of(root: &Child) -> Self {
        Self { root: id(root), kib: BTreeMap::new() }
    }

    /// Looks once more.
    pub(crate) fn look(&mut self) {
        for process in below(self.root).into_iter().chain([self.root]) {
            let peak = self.kib.entry(process).or_default();
            *peak = kib(process, "VmHWM:").unwrap_or(0).max(*peak);
        }
    }

    /// All together.
    pub(crate) fn megabytes(&self) -> f64 {
        megabytes(self.kib.values().sum())
    }
}

/// What a process and all below it have now.
pub(crate) fn now(root: i32) -> f64 {
    let all = below(root).into_iter().chain([root]);
    megabytes(all.filter_map(|process| kib(process, "VmRSS:")).sum())
}

/// The id of a process, as the kernel has it.
pub(crate) fn id(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("ids of processes are small")
}

fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}

/// A line of proc_pid_status(5). A process that has ended has none.
fn kib(process: i32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
