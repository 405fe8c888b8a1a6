//! How much memory a process and all below it have together. Pages that several share count once.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;

use testkit::below;

/// The most that was seen.
pub(crate) struct Peak {
    root: i32,
    /// Of all processes at once.
    together: u64,
    /// Of one process, as the kernel has it: what happens between two looks does not escape.
    alone: BTreeMap<i32, u64>,
}

impl Peak {
    pub(crate) fn of(root: &Child) -> Self {
        Self { root: id(root), together: 0, alone: BTreeMap::new() }
    }

    /// Looks once more.
    pub(crate) fn look(&mut self) {
        let processes = tree(self.root);
        self.together = self.together.max(processes.iter().map(|process| share(*process)).sum());
        for process in processes {
            let peak = kib(&format!("/proc/{process}/status"), "VmHWM:").unwrap_or(0);
            let known = self.alone.entry(process).or_default();
            *known = peak.max(*known);
        }
    }

    /// All of it.
    pub(crate) fn megabytes(&self) -> f64 {
        let alone = self.alone.values().copied().max().unwrap_or(0);
        megabytes(self.together.max(alone))
    }
}

/// What a process and all below it have now.
pub(crate) fn now(root: i32) -> f64 {
    megabytes(tree(root).into_iter().map(share).sum())
}

/// The id of a process, as the kernel has it.
pub(crate) fn id(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("ids of processes are small")
}

fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}

/// A process and all below it, each memory once: vfork(2) lends the parent's to the child.
fn tree(root: i32) -> Vec<i32> {
    let mut seen = BTreeSet::new();
    let processes = std::iter::once(root).chain(below(root));
    processes.filter(|process| mappings(*process).is_some_and(|it| seen.insert(it))).collect()
}

/// What tells one memory from another: where everything is in it is chosen by chance.
fn mappings(process: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    // Size, resident pages, and the ends of code, stack and heap: proc_pid_stat(5).
    let fields: Vec<_> = fields.split(' ').collect();
    Some([20, 21, 23, 24, 25, 44].map(|at| *fields.get(at).unwrap_or(&"")).join(" "))
}

/// The share of a process: what it alone has, and its part of what several have.
fn share(process: i32) -> u64 {
    kib(&format!("/proc/{process}/smaps_rollup"), "Pss:").unwrap_or(0)
}

/// A line of a file of proc(5). A process that has ended has none.
fn kib(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
