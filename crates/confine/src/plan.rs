//! The sandbox as data: what will be mounted, limited and forbidden, in order.
//!
//! A plan is computed from an authority without touching the system (`sandbox::plan`), can be
//! printed and compared, and is then carried out step by step by this crate. It holds no secret.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Everything that [`crate::main`] needs to turn itself into the init of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Who the processes are, inside and outside.
    pub identity: Identity,
    /// Host name inside.
    pub hostname: String,
    /// The view, built in this order on an empty root.
    pub steps: Vec<Step>,
    /// What Landlock lets the processes change.
    pub rights: Rights,
    /// Which system calls are refused.
    pub filter: Filter,
    /// Which system calls stop and ask.
    pub mediate: Mediate,
    /// What is listened to inside, if anything outside can be reached.
    pub network: Option<Network>,
    /// Ports of the sandbox that can be connected to from outside. Whoever sets any sends a socket
    /// along with [`Order::Confine`], over which [`crate::door::Knock`] is answered.
    ///
    /// [`Order::Confine`]: crate::protocol::Order::Confine
    pub published: Vec<u16>,
    /// Limits that init watches because no control group does.
    pub watch: Watch,
}

/// The mapping of the one user and the one group of a sandbox: user_namespaces(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// User id on the host.
    pub outside_uid: u32,
    /// Group id on the host.
    pub outside_gid: u32,
    /// User id inside; never 0.
    pub inside_uid: u32,
    /// Group id inside; never 0.
    pub inside_gid: u32,
}

/// One step of building the view. Paths named `at` are inside, `from` and the like are on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A directory, with its parents.
    Directory {
        /// Where.
        at: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// A file with this text, which the sandbox can't change on the host because it exists only
    /// inside.
    File {
        /// Where.
        at: PathBuf,
        /// What it holds.
        text: String,
        /// Permission bits.
        mode: u32,
    },
    /// A copy of a small file of the host. Cheaper than a bind, and nobody's own inside.
    Copy {
        /// On the host.
        from: PathBuf,
        /// Inside.
        at: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// Where.
        at: PathBuf,
        /// What it points to.
        to: PathBuf,
    },
    /// A file or directory of the system or of the run, with everything mounted below it.
    Bind {
        /// On the host.
        from: PathBuf,
        /// Inside.
        at: PathBuf,
        /// Whether it can be written.
        access: BindAccess,
    },
    /// A file or directory of the person's that can only be read. A directory stands behind an
    /// overlay, where a socket leads nowhere, as behind a bind it would not; what is mounted
    /// below it is not shown.
    Show {
        /// On the host.
        from: PathBuf,
        /// Inside.
        at: PathBuf,
    },
    /// A directory of the host whose changes go to `upper`.
    Overlay {
        /// The directory that is shown, on the host.
        lower: PathBuf,
        /// Where changes go, on the host.
        upper: PathBuf,
        /// Scratch space of the overlay, on the file system of `upper`.
        work: PathBuf,
        /// Inside.
        at: PathBuf,
    },
    /// An empty file system in memory.
    Memory {
        /// Inside.
        at: PathBuf,
        /// Permission bits of its root.
        mode: u32,
        /// Size in bytes that it may grow to.
        size: u64,
    },
    /// `/dev` with the harmless devices, terminals and shared memory of its own.
    Devices {
        /// Size in bytes of `/dev/shm`.
        shared_memory: u64,
    },
    /// `/proc` of the sandbox's own processes.
    Processes {
        /// Covers what belongs to the machine: its owner could change it, being its owner.
        cover_machine: bool,
    },
    /// Hides whatever is at this path behind something empty that can't be written.
    Cover {
        /// Inside.
        at: PathBuf,
    },
}

/// Whether a bound file or directory can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindAccess {
    /// It can only be read.
    Read,
    /// It can be written; no device or set-uid file in it works.
    Write,
}

/// What Landlock permits: reading and running anything in the view, changing only these trees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// Trees that may be changed.
    pub write: Vec<PathBuf>,
}

/// Which system calls are refused beyond the fixed list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Lets programs make user namespaces of their own, as browsers do.
    pub user_namespaces: bool,
}

/// Which system calls stop and ask the control plane, because a rule is about them. Whoever sets
/// one must serve the listener that comes with [`Report::Confined`], or the calls fail.
///
/// [`Report::Confined`]: crate::protocol::Report::Confined
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mediate {
    /// Running programs.
    pub exec: bool,
    /// Changing files and names below these trees, each a mount of the plan, which are shut for
    /// everybody inside. Parents come before what is below them.
    pub trees: Vec<PathBuf>,
}

impl Mediate {
    /// What is mediated, for people.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let all = [("exec", self.exec), ("files", !self.trees.is_empty())];
        all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect()
    }
}

/// The ways out of a sandbox's network. Whoever sets this must serve the listeners that come with
/// [`Report::Confined`], or nobody answers.
///
/// [`Report::Confined`]: crate::protocol::Report::Confined
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Addresses that stand for names, and how many of their bits are fixed.
    pub synthetic: (Ipv4Addr, u8),
    /// Ports that are listened to on all of them.
    pub ports: Vec<u16>,
}

/// Limits that init watches itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Bytes of memory that all processes together may hold.
    pub memory: Option<u64>,
    /// File systems in memory whose content counts, by a path on each.
    pub memory_mounts: Vec<PathBuf>,
    /// Processes and threads that may exist at once.
    pub processes: Option<u32>,
}
