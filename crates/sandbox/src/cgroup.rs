//! Limits held by the kernel for the whole sandbox: cgroups(7), version 2 or 1, where this user
//! may make groups.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use policy::Limits;
use rustix::process::Pid;
use thiserror::Error;

use crate::relay::Limit;

const ROOT: &str = "/sys/fs/cgroup";

/// What holds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A control group of version 2.
    CgroupV2,
    /// Control groups of version 1.
    CgroupV1,
    /// The kernel's per-namespace process count, and init looking.
    Watchdog,
}

impl Held {
    /// As the receipt names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup v2",
            Self::CgroupV1 => "cgroup v1",
            Self::Watchdog => "watchdog",
        }
    }
}

/// Why there is no control group.
#[derive(Debug, Error)]
pub enum CgroupError {
    /// This user may not make groups here, or the controllers are elsewhere.
    #[error("no writable control group: {0}")]
    Unavailable(String),
    /// A limit was refused.
    #[error("control group {}: {source}", path.display())]
    Refused {
        /// The file that was written.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// The control groups of one sandbox. They are removed when this is dropped.
#[derive(Debug)]
pub struct Cgroup {
    version: Held,
    groups: Vec<PathBuf>,
}

impl Cgroup {
    /// Makes the groups for `limits` under the control plane's own.
    ///
    /// # Errors
    /// When this user can't, in which case nothing is left behind.
    pub fn create(name: &str, limits: &Limits) -> Result<Self, CgroupError> {
        let own = fs::read_to_string("/proc/self/cgroup")
            .map_err(|error| CgroupError::Unavailable(error.to_string()))?;
        let own = own_groups(&own);
        let (version, parents) = parents(&own)?;
        let mut cgroup = Self { version, groups: Vec::new() };
        for parent in parents {
            let group = parent.join(format!("loop-{name}"));
            fs::create_dir(&group).map_err(|error| {
                CgroupError::Unavailable(format!("{}: {error}", parent.display()))
            })?;
            cgroup.groups.push(group);
        }
        cgroup.set(limits)?;
        Ok(cgroup)
    }

    /// What holds the limits.
    #[must_use]
    pub fn held(&self) -> Held {
        self.version
    }

    /// Moves a process into the groups; its children follow.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn enter(&self, pid: Pid) -> Result<(), CgroupError> {
        self.groups.iter().try_for_each(|group| {
            write(group.join("cgroup.procs"), &pid.as_raw_nonzero().to_string())
        })
    }

    /// The limit that has been reached, if one has.
    #[must_use]
    pub fn reached(&self) -> Option<Limit> {
        let memory = ["memory.events", "memory.oom_control"];
        if memory.iter().any(|file| self.counter(file, "oom_kill") > 0) {
            return Some(Limit::Memory);
        }
        (self.counter("pids.events", "max") > 0).then_some(Limit::Processes)
    }

    fn counter(&self, file: &str, key: &str) -> u64 {
        self.groups
            .iter()
            .filter_map(|group| fs::read_to_string(group.join(file)).ok())
            .filter_map(|text| counter(&text, key))
            .sum()
    }

    fn set(&self, limits: &Limits) -> Result<(), CgroupError> {
        if let Some(memory) = limits.memory {
            let file =
                if self.version == Held::CgroupV2 { "memory.max" } else { "memory.limit_in_bytes" };
            self.write_where_present(file, &memory.0.to_string())?;
            // Swap would let a sandbox hold more than its limit.
            self.write_where_present("memory.swap.max", "0")?;
            self.write_where_present("memory.memsw.limit_in_bytes", &memory.0.to_string())?;
        }
        if let Some(processes) = limits.processes {
            self.write_where_present("pids.max", &processes.to_string())?;
        }
        if let Some(milli) = limits.cpus {
            let quota = u64::from(milli.0) * 100;
            self.write_where_present("cpu.max", &format!("{quota} 100000"))?;
            self.write_where_present("cpu.cfs_quota_us", &quota.to_string())?;
        }
        Ok(())
    }

    fn write_where_present(&self, file: &str, text: &str) -> Result<(), CgroupError> {
        self.groups
            .iter()
            .map(|group| group.join(file))
            .filter(|path| path.exists())
            .try_for_each(|path| write(path, text))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for group in &self.groups {
            // A group with a process in it can't be removed; the process is about to be reaped.
            for _ in 0..50 {
                match fs::remove_dir(group) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// What would hold the limits of a sandbox here.
///
/// # Errors
/// Why no control group can be made.
pub fn available() -> Result<Held, CgroupError> {
    let name = format!("probe-{}", std::process::id());
    Cgroup::create(&name, &Limits::default()).map(|cgroup| cgroup.held())
}

fn write(path: PathBuf, text: &str) -> Result<(), CgroupError> {
    fs::write(&path, text).map_err(|source| CgroupError::Refused { path, source })
}

/// The lines of /proc/self/cgroup: controller, or an empty name for version 2, and path.
fn own_groups(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            Some(controllers.split(',').map(move |controller| (controller, path)))
        })
        .flatten()
        .collect()
}

fn parents(own: &BTreeMap<&str, &str>) -> Result<(Held, Vec<PathBuf>), CgroupError> {
    let of_version_1 = ["memory", "pids", "cpu"].map(|controller| {
        let path = own.get(controller)?;
        Some(below(&Path::new(ROOT).join(controller), path))
    });
    if let [Some(memory), Some(pids), Some(cpu)] = of_version_1 {
        return Ok((Held::CgroupV1, vec![memory, pids, cpu]));
    }
    let own = own.get("").ok_or_else(|| CgroupError::Unavailable("none is mounted".to_owned()))?;
    let own = below(Path::new(ROOT), own);
    // A group with processes of its own can't have limited children: take the parent.
    let parent = own.parent().filter(|parent| parent.starts_with(ROOT)).unwrap_or(&own).to_owned();
    let enabled = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    match ["memory", "pids", "cpu"].iter().find(|&&c| !enabled.split_whitespace().any(|e| e == c)) {
        Some(missing) => Err(CgroupError::Unavailable(format!(
            "{} does not pass on the {missing} controller",
            parent.display()
        ))),
        None => Ok((Held::CgroupV2, vec![parent])),
    }
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn counter(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let v1 = own_groups("5:memory:/a\n4:pids:/\n1:cpu,cpuacct:/b\n0::/\n");
        assert_eq!(v1.get("memory"), Some(&"/a"));
        assert_eq!(v1.get("cpu"), Some(&"/b"));
        let v2 = own_groups("0::/user.slice/x.service\n");
        assert_eq!(v2.get(""), Some(&"/user.slice/x.service"));
        assert!(own_groups("garbage").is_empty());
    }

    #[test]
    fn counters_are_named_exactly() {
        assert_eq!(counter("low 0\noom 3\noom_kill 2\n", "oom_kill"), Some(2));
        assert_eq!(counter("oom_kill_disable 0\nunder_oom 0\n", "oom_kill"), None);
        assert_eq!(counter("max 7\n", "max"), Some(7));
    }
}
