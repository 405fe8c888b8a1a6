//! The places where a process may be killed: after each change that it makes to a disk.
//!
//! In the product a place is nothing. The unit tests of this crate start themselves again with a
//! number, and die of SIGKILL at the place of that number.

#[cfg(not(test))]
pub(crate) fn pass() {}

#[cfg(test)]
pub(crate) use counting::{FATAL, pass, passed};

#[cfg(test)]
mod counting {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Names the place at which to die.
    pub(crate) const FATAL: &str = "LOOP_TEST_DIE_AT";

    static PASSED: AtomicU64 = AtomicU64::new(0);
    static DIE_AT: LazyLock<Option<u64>> =
        LazyLock::new(|| std::env::var(FATAL).ok().and_then(|at| at.parse().ok()));

    pub(crate) fn pass() {
        let count = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        if Some(count) == *DIE_AT {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
        }
    }

    /// How many places this process passed.
    pub(crate) fn passed() -> u64 {
        PASSED.load(Ordering::Relaxed)
    }
}
