//! How a person ends what the agent does: first the turn, then the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use models::Cancel;

/// What has been ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// Nothing.
    #[default]
    Nothing,
    /// The turn that is going on. The next may begin.
    Turn,
    /// Its time: no turn goes on.
    Time,
    /// The run. No turn begins again.
    Run,
}

/// Ends a turn or the run from another thread. Clones are the same interrupt.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    ended: Ended,
    current: Cancel,
}

impl Interrupt {
    /// One that nobody has used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a Ctrl-C does: the first ends the turn, a second the run. Returns what has ended.
    pub fn press(&self) -> Ended {
        let ended = if self.ended() == Ended::Nothing { Ended::Turn } else { Ended::Run };
        self.end(ended);
        ended
    }

    /// Ends the turn that is going on.
    pub fn end_turn(&self) {
        self.end(Ended::Turn);
    }

    /// Ends what goes on because the time of the run is up.
    pub fn end_time(&self) {
        self.end(Ended::Time);
    }

    /// Ends the run.
    pub fn end_run(&self) {
        self.end(Ended::Run);
    }

    /// What has been ended.
    #[must_use]
    pub fn ended(&self) -> Ended {
        self.lock().ended
    }

    /// A new turn begins: what ended the last one is over. The end of the run stays.
    pub(crate) fn begin_turn(&self) {
        let mut state = self.lock();
        if state.ended == Ended::Turn {
            state.ended = Ended::Nothing;
        }
    }

    /// What ends the next thing that blocks, and only that, if the turn ends meanwhile.
    pub(crate) fn arm(&self) -> Cancel {
        let mut state = self.lock();
        state.current = Cancel::new();
        if state.ended != Ended::Nothing {
            state.current.cancel();
        }
        state.current.clone()
    }

    fn end(&self, what: Ended) {
        let mut state = self.lock();
        state.ended = state.ended.max(what);
        state.current.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_press_ends_the_turn_and_the_second_the_run() {
        let interrupt = Interrupt::new();
        let armed = interrupt.arm();
        assert_eq!(interrupt.press(), Ended::Turn);
        assert!(armed.is_cancelled() && interrupt.arm().is_cancelled());
        interrupt.begin_turn();
        assert!(!interrupt.arm().is_cancelled());
        assert_eq!((interrupt.press(), interrupt.press()), (Ended::Turn, Ended::Run));
        interrupt.begin_turn();
        assert_eq!(interrupt.ended(), Ended::Run);
        assert!(interrupt.arm().is_cancelled());
    }

    #[test]
    fn time_that_is_up_stays_up_until_the_run_is_ended() {
        let interrupt = Interrupt::new();
        let armed = interrupt.arm();
        interrupt.end_time();
        interrupt.begin_turn();
        assert!(armed.is_cancelled() && interrupt.arm().is_cancelled());
        assert_eq!((interrupt.ended(), interrupt.press()), (Ended::Time, Ended::Run));
    }
}
