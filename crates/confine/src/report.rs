//! What the sandbox measured about itself, and why it could not be built.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What holds, as measured from inside after the last step: the receipt's `enforcement`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforcement {
    /// The executor: `local`.
    pub backend: String,
    /// Kernel release.
    pub kernel: String,
    /// The Landlock ABI in force: landlock(7).
    pub landlock_abi: u32,
    /// SHA-256 of the system call filters, in hexadecimal.
    pub filter: String,
    /// Which kinds of system calls ask the control plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mediated: Vec<String>,
    /// How each limit is enforced, by its name in the profile.
    pub limits: BTreeMap<String, String>,
    /// What was tried from inside, and that it was refused.
    pub proofs: Vec<Proof>,
}

/// A forbidden thing that was tried from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// What was tried.
    pub tried: String,
    /// What the kernel answered.
    pub answer: String,
}

/// Why a sandbox could not be built: which facility, during what, with which answer.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{facility}: {action}: {answer}")]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The facility that is missing or refused.
    pub facility: Facility,
    /// What was being done.
    pub action: String,
    /// What the kernel answered.
    pub answer: String,
}

impl Failure {
    /// A failure of `facility` while doing `action`.
    pub fn new(
        facility: Facility,
        action: impl Into<String>,
        answer: &dyn std::fmt::Display,
    ) -> Self {
        Self { facility, action: action.into(), answer: answer.to_string() }
    }
}

/// The parts of the kernel that a sandbox stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Facility {
    /// user_namespaces(7).
    UserNamespaces,
    /// The other namespaces(7).
    Namespaces,
    /// mount(2) of binds and memory file systems.
    Mounts,
    /// The overlay file system.
    Overlay,
    /// A proc(5) of its own.
    Proc,
    /// The loopback interface.
    Loopback,
    /// setrlimit(2) and scheduling.
    Limits,
    /// capabilities(7) and no-new-privileges.
    Privileges,
    /// landlock(7).
    Landlock,
    /// seccomp(2).
    Seccomp,
    /// The self-test: something forbidden worked.
    SelfTest,
    /// The exec protocol.
    Protocol,
}

impl std::fmt::Display for Facility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UserNamespaces => "user namespaces",
            Self::Namespaces => "namespaces",
            Self::Mounts => "mounts",
            Self::Overlay => "overlay file system",
            Self::Proc => "proc file system",
            Self::Loopback => "loopback interface",
            Self::Limits => "limits",
            Self::Privileges => "privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::SelfTest => "self-test",
            Self::Protocol => "exec protocol",
        })
    }
}

/// Attaches the facility and the action to an error of the kernel.
pub(crate) trait During<T> {
    fn during(self, facility: Facility, action: &str) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> During<T> for Result<T, E> {
    fn during(self, facility: Facility, action: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(facility, action, &error))
    }
}
