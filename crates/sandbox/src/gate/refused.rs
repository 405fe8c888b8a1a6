//! What was refused to whom a moment ago.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use names::Digest;
use policy::{Action, Exec};
use rustix::process::Pid;

/// How long a refusal answers for its repetition.
const LATELY: Duration = Duration::from_secs(1);
/// The most that is remembered.
const MOST: usize = 64;

/// The refusals and messages of the last moment.
#[derive(Debug, Default)]
pub(in crate::gate) struct Lately(Mutex<VecDeque<(Instant, Pid, Digest)>>);

impl Lately {
    /// Whether this was refused to this thread.
    pub(in crate::gate) fn refused(&self, thread: Pid, action: &Action) -> bool {
        let what = match self.fresh().is_empty() {
            true => return false,
            false => sort(action),
        };
        self.fresh().iter().any(|(_, who, before)| *who == thread && *before == what)
    }

    pub(in crate::gate) fn remember(&self, thread: Pid, action: &Action) {
        self.note(thread, sort(action));
    }

    /// Whether this thread was not told the same just now; from now on it was.
    pub(in crate::gate) fn is_new(&self, thread: Pid, text: &str) -> bool {
        let what = Digest::of(text.as_bytes());
        let is_new = !self.fresh().iter().any(|(_, who, before)| *who == thread && *before == what);
        if is_new {
            self.note(thread, what);
        }
        is_new
    }

    fn note(&self, thread: Pid, what: Digest) {
        let mut all = self.fresh();
        if all.len() == MOST {
            all.pop_front();
        }
        all.push_back((Instant::now(), thread, what));
    }

    fn fresh(&self) -> MutexGuard<'_, VecDeque<(Instant, Pid, Digest)>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while all.front().is_some_and(|(at, ..)| at.elapsed() > LATELY) {
            all.pop_front();
        }
        all
    }
}

/// What a refusal is about: the same file is the same program, by whatever name it is tried.
fn sort(action: &Action) -> Digest {
    match action {
        Action::Exec(exec) => Action::from(Exec { called: Vec::new(), ..exec.clone() }).digest(),
        other => other.digest(),
    }
}
