//! The processes below this one: how they ended, and their end.

use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

/// How often those that are left are killed, and how long between.
const ROUNDS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(1);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Ended {
    fn of(status: WaitStatus) -> Option<Self> {
        let killed = || status.terminating_signal().map(Self::Killed);
        status.exit_status().map(Self::Exited).or_else(killed)
    }

    /// As a shell says it.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// Takes note of every child that has ended, orphans that came to this process too; returns how the
/// `leader` did, if it is one of them.
pub(crate) fn reap(leader: Pid) -> Option<Ended> {
    let mut ended = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == leader => ended = ended.or(Ended::of(status)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return ended,
        }
    }
}

/// Kills the process group of `leader`, and every process that this one has below it: orphans come
/// to a subreaper, so whatever is left of them ends here. Returns how the leader ended, if it had
/// not been reaped.
pub(crate) fn end_all(leader: Pid) -> Option<Ended> {
    let mut ended = None;
    // Fails when nobody of the group is left.
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    for _ in 0..ROUNDS {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == leader => ended = ended.or(Ended::of(status)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ended,
            Ok(None) => {
                children().into_iter().for_each(kill);
                std::thread::sleep(PAUSE);
            }
        }
    }
    ended
}

/// Ends every child of this process that is not `kept`, and what comes to it from below those.
pub(crate) fn end_others(kept: &dyn Fn(Pid) -> bool) {
    for _ in 0..ROUNDS {
        let others: Vec<_> = children().into_iter().filter(|child| !kept(*child)).collect();
        if others.is_empty() {
            return;
        }
        for other in others {
            kill(other);
            let options = WaitOptions::empty();
            // Whatever was killed ends at once; nobody else waits for it.
            let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(other), options));
        }
    }
}

/// One that has just ended can't be killed, and need not be.
fn kill(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::KILL);
}

/// The processes whose parent this one is: proc_pid_stat(5).
fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name();
        let is_number = name.as_bytes().iter().all(u8::is_ascii_digit);
        is_number.then(|| name.to_str()?.parse().ok()).flatten()
    });
    let is_child = |number: &i32| {
        // The name between the brackets may hold anything.
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
        fields.and_then(|fields| fields.split_whitespace().nth(1)) == Some(own.as_str())
    };
    numbers.filter(is_child).filter_map(Pid::from_raw).collect()
}
