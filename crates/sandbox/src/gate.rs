//! The syscall gate: what a rule is about is decided when a program asks the kernel for it.
//!
//! The kernel stops the calling thread and tells this process: seccomp_unotify(2). A thread of the
//! gate (`serve`) takes the call; it is read (`wire`), turned into an action (`action`), decided and
//! recorded by the broker, and carried out (`effect`), for programs in `exec` and for files in
//! `files`. The gate must never let a call go on that the kernel could read differently without
//! comparing afterwards or being held by Landlock, and never act on what it read of a caller that
//! may be gone.

mod answer;
mod exec;
mod files;
mod memory;
mod refused;
mod serve;
mod tell;
mod view;
mod who;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use broker::{Broker, Permit};
use policy::Exec;
use sys::notify::Listener;

pub use files::Differ;
pub(crate) use files::Tree;
use files::Trees;
use serve::Gate;

/// Who decides what a sandbox mediates, and how changes are shown.
#[derive(Debug, Clone)]
pub struct Mediation {
    /// Decides and records.
    pub broker: Broker,
    /// Shows what would be written.
    pub differ: Arc<dyn Differ>,
}

/// A gate that serves one sandbox, and ends with it.
pub(crate) struct Serving {
    gate: Arc<Gate>,
}

impl Serving {
    /// Serves the calls that come from `listener`, of which those about files are about what is
    /// below `trees`. When it can't go on, it hangs up on `init`.
    ///
    /// # Errors
    /// When no thread or descriptor is to be had.
    pub(crate) fn start(
        listener: OwnedFd,
        mediation: Mediation,
        trees: Vec<Tree>,
        init: OwnedFd,
    ) -> io::Result<Self> {
        let trees = Trees::new(trees, mediation.differ);
        let listener = Listener::over(listener);
        let gate = Arc::new(Gate::new(listener, mediation.broker, trees, init));
        gate.staff()?;
        Ok(Self { gate })
    }

    /// The command that init starts next: it has its permit, and is not asked about again.
    pub(crate) fn expect(&self, permit: &Permit<Exec>) {
        self.gate.orders.expect(permit);
    }

    /// Init has started it, or has not.
    pub(crate) fn answered(&self, intent: u64) {
        self.gate.orders.answered(intent);
    }
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving").finish_non_exhaustive()
    }
}
