//! A word that ends an answer from another thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Ends whatever was given a clone of it. Once cancelled, it stays so.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    cancelled: Mutex<bool>,
    threads: Condvar,
    tasks: Notify,
}

impl Cancel {
    /// One that nobody has cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes everything that waits. Doing so again changes nothing.
    pub fn cancel(&self) {
        *self.lock() = true;
        self.0.threads.notify_all();
        self.0.tasks.notify_waiters();
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.lock()
    }

    /// Blocks until it is cancelled or `span` has passed; whether it is cancelled.
    #[must_use]
    pub fn wait(&self, span: Duration) -> bool {
        let begun = Instant::now();
        let mut cancelled = self.lock();
        while !*cancelled {
            let Some(left) = span.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
            else {
                return false;
            };
            cancelled = self
                .0
                .threads
                .wait_timeout(cancelled, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    /// Ends once it is cancelled.
    pub async fn cancelled(&self) {
        let mut woken = std::pin::pin!(self.0.tasks.notified());
        // Waits from here on, so that a cancellation after the look below is not missed.
        woken.as_mut().enable();
        if !self.is_cancelled() {
            woken.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.cancelled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_is_woken() {
        let cancel = Cancel::new();
        assert!(!cancel.wait(Duration::ZERO));
        let other = cancel.clone();
        let waiting = std::thread::spawn(move || other.wait(Duration::from_secs(60)));
        cancel.cancel();
        assert!(waiting.join().unwrap());
        assert!(cancel.is_cancelled());
    }

    #[test]
    fn a_task_that_waits_is_woken() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let cancel = Cancel::new();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        runtime.block_on(cancel.cancelled());
        runtime.block_on(cancel.cancelled());
        thread.join().unwrap();
    }
}
