//! The table itself: what each event makes of each state.

use thiserror::Error;

use crate::event::Event;
use crate::state::{Dropped, Phase, State, Waits};

/// An event that can't happen to a run where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a run that is {state} can't take the step \"{event}\"")]
pub struct Illegal {
    /// Where it stands.
    pub state: State,
    /// What can't happen to it there.
    pub event: Event,
}

impl State {
    /// Where a run stands after `event`.
    ///
    /// # Errors
    /// When it can't happen there.
    pub const fn after(self, event: Event) -> Result<Self, Illegal> {
        match self.next(event) {
            Some(next) => Ok(next),
            None => Err(Illegal { state: self, event }),
        }
    }

    /// Whether `event` can happen to a run that stands here.
    #[must_use]
    pub const fn allows(self, event: Event) -> bool {
        self.next(event).is_some()
    }

    const fn next(self, event: Event) -> Option<Self> {
        match self {
            Self::New | Self::Preparing => self.before_it_stands(event),
            Self::Working | Self::Waiting(_) | Self::Checking => self.at_work(event),
            Self::Stopping | Self::Sealing | Self::Ended => self.to_its_end(event),
            Self::NeverStood | Self::Interrupted => self.cut_short(event),
            Self::Ready | Self::Applied | Self::Undone | Self::Discarded => self.sealed(event),
            Self::Applying(_) | Self::Undoing | Self::Discarding(_) => self.in_flight(event),
            Self::HalfApplied(_) | Self::HalfUndone | Self::HalfDiscarded(_) => {
                self.half_done(event)
            }
            Self::Gone => None,
        }
    }

    const fn before_it_stands(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::New, Event::Start) => Self::Preparing,
            (Self::Preparing, Event::Stand) => Self::Working,
            // A run that only checks what another did.
            (Self::Preparing, Event::Check) => Self::Checking,
            // Nothing ran, so nothing is lost.
            (_, Event::Refuse | Event::Cancel) => Self::Gone,
            (_, Event::Crash) => Self::NeverStood,
            _ => return None,
        })
    }

    const fn at_work(self, event: Event) -> Option<Self> {
        let (phase, waits) = match self {
            Self::Waiting(phase) => (phase, true),
            Self::Checking => (Phase::Checks, false),
            _ => (Phase::Work, false),
        };
        Some(match (event, phase, waits) {
            (Event::Do | Event::Done, ..) => self,
            (Event::Ask, ..) => Self::Waiting(phase),
            (Event::Settle, _, true) => self,
            (Event::SettleLast, _, true) => Self::running(phase, false),
            (Event::Turn, ..) => Self::running(Phase::Work, waits),
            (Event::Check, Phase::Work, _) => Self::running(Phase::Checks, waits),
            // Each check has a sandbox of its own.
            (Event::Stand | Event::Judge, Phase::Checks, _) => self,
            (Event::Limit | Event::Cancel, ..) => Self::Stopping,
            (Event::Seal, ..) => Self::Sealing,
            (Event::Crash, ..) => Self::Interrupted,
            _ => return None,
        })
    }

    const fn running(phase: Phase, waits: bool) -> Self {
        match (phase, waits) {
            (_, true) => Self::Waiting(phase),
            (Phase::Work, false) => Self::Working,
            (Phase::Checks, false) => Self::Checking,
        }
    }

    const fn to_its_end(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            // What was begun is told; nothing new begins.
            (
                Self::Stopping,
                Event::Done
                | Event::Settle
                | Event::SettleLast
                | Event::Judge
                | Event::Limit
                | Event::Cancel,
            ) => Self::Stopping,
            (Self::Stopping, Event::Seal) => Self::Sealing,
            (Self::Sealing, Event::End) => Self::Ended,
            (Self::Ended, Event::Sign) => Self::Ready,
            // Nothing runs any more, and the end is near.
            (Self::Sealing | Self::Ended, Event::Cancel) => self,
            (_, Event::Crash) => Self::Interrupted,
            _ => return None,
        })
    }

    /// Nothing that was in flight is done again: its outcome is unknown.
    const fn cut_short(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::Interrupted, Event::Limit) => Self::Stopping,
            (Self::Interrupted, Event::Seal) => Self::Sealing,
            (Self::Interrupted, Event::Discard) => Self::Discarding(Dropped::Interrupted),
            (Self::NeverStood, Event::Discard) => Self::Discarding(Dropped::NeverStood),
            _ => return None,
        })
    }

    const fn sealed(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::Ready, Event::Apply) => Self::Applying(Waits::Ready),
            (Self::Undone, Event::Apply) => Self::Applying(Waits::Undone),
            (Self::Applied, Event::Undo) => Self::Undoing,
            (Self::Ready, Event::Discard) => Self::Discarding(Dropped::Ready),
            (Self::Undone, Event::Discard) => Self::Discarding(Dropped::Undone),
            // What a crash left of it can be cleared away.
            (Self::Discarded, Event::Discard | Event::Succeed | Event::Fail) => self,
            (Self::Ready | Self::Applied | Self::Undone, Event::Branch | Event::Branched) => self,
            _ => return None,
        })
    }

    /// All or nothing: it can't be stopped half way, only end or be taken back.
    const fn in_flight(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (_, Event::Cancel) => self,
            (Self::Applying(_), Event::Succeed) | (Self::Undoing, Event::Fail) => Self::Applied,
            (Self::Applying(waits), Event::Fail) => Self::waiting(waits),
            (Self::Applying(waits), Event::Crash) => Self::HalfApplied(waits),
            (Self::Undoing, Event::Succeed) => Self::Undone,
            (Self::Undoing, Event::Crash) => Self::HalfUndone,
            (Self::Discarding(_), Event::Succeed) => Self::Discarded,
            (Self::Discarding(dropped), Event::Fail) => Self::kept(dropped),
            (Self::Discarding(dropped), Event::Crash) => Self::HalfDiscarded(dropped),
            _ => return None,
        })
    }

    const fn half_done(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::HalfApplied(waits), Event::TakeBack) => Self::waiting(waits),
            (Self::HalfApplied(_), Event::FindDone) | (Self::HalfUndone, Event::TakeBack) => {
                Self::Applied
            }
            (Self::HalfUndone, Event::FindDone) => Self::Undone,
            (Self::HalfDiscarded(dropped), Event::TakeBack) => Self::kept(dropped),
            (Self::HalfDiscarded(_), Event::FindDone) => Self::Discarded,
            _ => return None,
        })
    }

    const fn waiting(waits: Waits) -> Self {
        match waits {
            Waits::Ready => Self::Ready,
            Waits::Undone => Self::Undone,
        }
    }

    const fn kept(dropped: Dropped) -> Self {
        match dropped {
            Dropped::NeverStood => Self::NeverStood,
            Dropped::Interrupted => Self::Interrupted,
            Dropped::Ready => Self::Ready,
            Dropped::Undone => Self::Undone,
        }
    }
}
