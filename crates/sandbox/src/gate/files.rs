//! Changing files and names below the trees that the gate mediates.
//!
//! In the sandbox's view these trees can't be written, so a call either goes through here or fails:
//! what this gate does not understand is refused by the kernel. Calls about any other place are left
//! to the kernel, which enforces the same there as without a gate. The gate changes the trees
//! through descriptors that were passed out before they were shut.
//!
//! The effects of all threads happen one after another, and only here: between the look at a path
//! and the effect nothing in the sandbox can change what the path means.

mod action;
mod effect;
mod linked;
mod moved;
mod place;
mod show;
mod wire;

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use sys::notify::Notification;

use super::answer::{Answer, Denied};
use super::serve::Gate;
use super::view::{Identity, Status};
pub use show::Differ;
use wire::FileCall;

/// Where changes are mediated.
#[derive(Debug)]
pub(in crate::gate) struct Trees {
    all: Vec<Tree>,
    differ: Arc<dyn Differ>,
    /// Held by whoever looks and then acts.
    acting: Mutex<()>,
}

impl Trees {
    pub(in crate::gate) fn new(all: Vec<Tree>, differ: Arc<dyn Differ>) -> Self {
        Self { all, differ, acting: Mutex::new(()) }
    }

    /// The tree that a path is in: of several the innermost.
    fn of(&self, path: &Path) -> Option<&Tree> {
        let around = self.all.iter().filter(|tree| path.starts_with(&tree.path));
        around.max_by_key(|tree| tree.path.as_os_str().len())
    }

    /// The path below its tree, which is what a name means.
    fn below<'p>(&self, path: &'p Path) -> &'p [u8] {
        let below = self.of(path).and_then(|tree| path.strip_prefix(&tree.path).ok());
        below.unwrap_or(path).as_os_str().as_bytes()
    }
}

/// A tree whose changes are mediated.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Absolute, without links.
    pub(crate) path: PathBuf,
    /// Where it can be changed.
    pub(crate) root: OwnedFd,
}

impl Tree {
    /// What is at a path of the view, where it can be changed.
    ///
    /// # Errors
    /// `ESTALE` when something else is there by now.
    fn reach(&self, path: &Path, seen: &Stat) -> Result<OwnedFd, Errno> {
        let below = path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let open = rustix::fs::openat2(&self.root, below, flags, Mode::empty(), resolve)?;
        let same = Identity::from(&rustix::fs::fstat(&open)?) == Identity::from(seen);
        if same { Ok(open) } else { Err(Errno::STALE) }
    }
}

/// Carries a call out, or leaves it to the kernel where that enforces the same.
///
/// # Errors
/// Why it is not carried out, for its caller.
pub(in crate::gate) fn serve(gate: &Gate, call: &Notification) -> Result<(), Denied> {
    let asked = FileCall::read(call);
    gate.still_waiting(call)?;
    let answer = match asked {
        // Nobody can look into init's memory, so nobody can change what it asks for; and it asks
        // for terminals and devices, none of them in a tree.
        Err(Errno::PERM) if Status::of(call.thread)?.is_of_init() => {
            gate.still_waiting(call)?;
            Answer::Proceed
        }
        asked => effect::carry_out(gate, call, &asked?)?,
    };
    // A caller that is gone needs no answer.
    let _ = match answer {
        Answer::Proceed => gate.listener.proceed(call.id),
        Answer::Done => gate.listener.succeed(call.id, 0),
        Answer::Give(file, close_on_exec) => {
            gate.listener.give(call.id, file.as_fd(), close_on_exec)
        }
    };
    Ok(())
}

/// Makes the calling thread fit to act for others: file modes come out as they are given, and the
/// owner's capabilities, which the sandbox does not have, do not help.
///
/// # Errors
/// When the kernel refuses either.
pub(in crate::gate) fn stand_alone() -> Result<(), Errno> {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    sys::process::unshare(rustix::thread::UnshareFlags::FS)
        .map_err(|error| super::memory::errno(&error))?;
    rustix::process::umask(rustix::fs::Mode::empty());
    let mut all = rustix::thread::capabilities(None)?;
    all.effective = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { ..all })
}
