//! Namespaces in, privileges out.

use std::fs;
use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use crate::plan::{Identity, Watch};
use crate::report::{During, Facility, Failure};

/// The highest capability number to try: capabilities(7).
const LAST_CAPABILITY: u32 = 63;

/// Leaves the host's namespaces; afterwards this process is the one user of a new user namespace.
///
/// # Errors
/// Where the kernel or its settings do not let this user make them.
pub(crate) fn enter_namespaces(identity: &Identity) -> Result<(), Failure> {
    // Only root may; an ordinary user keeps groups that mean nothing inside.
    let _ = sys::process::drop_groups();
    sys::process::unshare(UnshareFlags::NEWUSER)
        .during(Facility::UserNamespaces, "create a user namespace")?;
    map_identity(identity).during(Facility::UserNamespaces, "map the user")?;
    let rest = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    sys::process::unshare(rest).during(Facility::Namespaces, "create the other namespaces")
}

fn map_identity(identity: &Identity) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    let gids = format!("{} {} 1", identity.inside_gid, identity.outside_gid);
    fs::write("/proc/self/gid_map", gids)?;
    let uids = format!("{} {} 1", identity.inside_uid, identity.outside_uid);
    fs::write("/proc/self/uid_map", uids)
}

/// Dies when its parent dies, and can't be looked into.
///
/// # Errors
/// Never in practice: both calls only fail for wrong arguments.
pub(crate) fn tie_to_parent() -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .and_then(|()| rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable))
        .during(Facility::Privileges, "tie the sandbox to its parent")
}

/// Sets what the kernel can limit for the whole sandbox without a control group.
///
/// # Errors
/// When the kernel refuses a limit.
pub(crate) fn limit(watch: &Watch) -> Result<(), Failure> {
    // One byte: no core file, and none is piped to a program of the host either: core(5).
    let cores = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Core, cores).during(Facility::Limits, "forbid cores")?;
    if let Some(processes) = watch.processes {
        // Counted per user namespace since Linux 5.14. Above what init lets pass, so that init
        // sees the limit exceeded before programs die of failing forks.
        let count = u64::from(processes);
        let count = Some(count + count / 4 + 16);
        let count = Rlimit { current: count, maximum: count };
        rustix::process::setrlimit(Resource::Nproc, count)
            .during(Facility::Limits, "limit processes")?;
    }
    Ok(())
}

/// Gives up every capability for good, and the ways to get one.
///
/// # Errors
/// When the kernel refuses, which would leave privileges behind.
pub(crate) fn give_up() -> Result<(), Failure> {
    drop_all().during(Facility::Privileges, "give up capabilities")?;
    rustix::thread::set_no_new_privs(true).during(Facility::Privileges, "set no-new-privileges")
}

fn drop_all() -> io::Result<()> {
    for number in 0..=LAST_CAPABILITY {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break, // past the last one this kernel knows
            Err(error) => return Err(error.into()),
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}
