//! Looking for what a run left behind: processes and mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions};

use crate::launch::within;

/// Everything that this process starts, and everything that those start, for as long as it lives.
///
/// It makes this process the reaper of its orphans, so that nothing can get away by losing its parent. For a process
/// that runs one test at a time.
pub struct Remains(());

impl Remains {
    /// From here on, orphans are ours.
    pub fn watch() -> Self {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .expect("cannot become a reaper");
        Self(())
    }

    /// What runs below this process, by id, with its name. The dead are reaped first.
    pub fn processes(&self) -> BTreeMap<i32, String> {
        reap();
        let below = below(rustix::process::getpid().as_raw_nonzero().get());
        below.into_iter().map(|process| (process, name(process))).collect()
    }

    /// Fails the test unless everything is gone within a bound.
    #[track_caller]
    pub fn expect_none(&self) {
        let gone = within(Duration::from_secs(30), || self.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "left behind: {:?}", self.processes());
    }

    /// Ends what is left, so that a failed test leaves nothing either.
    fn end(&self) {
        for process in self.processes().into_keys().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        reap();
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        self.end();
    }
}

/// The processes that run below that one, by id.
pub fn below(process: i32) -> Vec<i32> {
    let parents = parents();
    let all = parents.keys().copied();
    all.filter(|other| descends(*other, process, &parents)).collect()
}

/// Mounts of this machine at or below a path.
pub fn mounts_under(path: &Path) -> Vec<String> {
    let table =
        std::fs::read_to_string("/proc/self/mountinfo").expect("cannot read the mount table");
    let path = path.to_str().expect("a scratch path is UTF-8");
    table.lines().filter(|line| line.contains(path)).map(str::to_owned).collect()
}

/// Processes that the test itself started: whoever started them waits for them, and nobody else may.
static STARTED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Notes a process that the test started.
pub(crate) fn note_started(child: &Child) {
    let process = Pid::from_child(child).as_raw_nonzero().get();
    STARTED.lock().expect("no test panics while it notes a process").insert(process);
}

/// Notes that such a process was waited for: its number may be an orphan's next.
pub(crate) fn note_waited(child: &Child) {
    let process = Pid::from_child(child).as_raw_nonzero().get();
    STARTED.lock().expect("no test panics while it notes a process").remove(&process);
}

/// Reaps the orphans that ended.
fn reap() {
    for process in
        parents().into_keys().filter(|process| is_dead_orphan(*process)).filter_map(Pid::from_raw)
    {
        let _ = rustix::process::waitpid(Some(process), WaitOptions::NOHANG);
    }
}

fn is_dead_orphan(process: i32) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let started =
        STARTED.lock().expect("no test panics while it notes a process").contains(&process);
    !started && status(process).is_some_and(|status| status.parent == own && status.state == "Z")
}

struct Status {
    state: String,
    parent: i32,
}

/// The second and third word after the name in `/proc/PID/stat`; the name may contain anything.
fn status(process: i32) -> Option<Status> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut words = text.rsplit_once(") ")?.1.split(' ');
    Some(Status { state: words.next()?.to_owned(), parent: words.next()?.parse().ok()? })
}

fn parents() -> BTreeMap<i32, i32> {
    let entries = std::fs::read_dir("/proc").expect("cannot read /proc");
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.filter_map(|process| Some((process, status(process)?.parent))).collect()
}

fn descends(process: i32, from: i32, parents: &BTreeMap<i32, i32>) -> bool {
    std::iter::successors(parents.get(&process), |parent| parents.get(parent))
        .any(|parent| *parent == from)
}

fn name(process: i32) -> String {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    if line.is_empty() {
        return std::fs::read_to_string(format!("/proc/{process}/comm"))
            .unwrap_or_default()
            .trim()
            .to_owned();
    }
    String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()
}
