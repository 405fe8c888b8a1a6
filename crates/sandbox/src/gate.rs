//! The syscall gate: what a rule is about is decided when a program asks the kernel for it.
//!
//! The kernel stops the calling thread and tells this process: seccomp_unotify(2). The call is read
//! (`wire`), followed to the files it is about (`view`, `program`), turned into an action
//! (`action`), decided and recorded by the broker, and carried out (`effect`). It must never let a
//! call go on that the kernel could read differently without comparing afterwards, and never
//! answer from what it read of a caller that may be gone.

mod action;
mod effect;
mod program;
mod serve;
mod view;
mod wire;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use broker::{Broker, Permit};
use policy::Exec;
use rustix::event::EventfdFlags;
use sys::notify::Listener;

use action::Ordered;
use serve::Shared;

/// A gate that serves one sandbox. It ends with it, and with this value.
pub(crate) struct Gate {
    shared: Arc<Shared>,
    stop: OwnedFd,
}

impl Gate {
    /// Serves the calls that come from `listener`. When it can't go on, it hangs up on `init`.
    ///
    /// # Errors
    /// When no thread or descriptor is to be had.
    pub(crate) fn serve(listener: OwnedFd, broker: Broker, init: OwnedFd) -> io::Result<Self> {
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?;
        let shared = Shared::new(Listener::over(listener), broker, init, stop.try_clone()?);
        let shared = Arc::new(shared);
        shared.staff()?;
        Ok(Self { shared, stop })
    }

    /// The command that init starts next: it has its permit, and is not asked about again.
    pub(crate) fn expect(&self, permit: &Permit<Exec>) {
        self.shared.expect(Some(Ordered::by(permit)));
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Can't fail: the counter is far from full.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
