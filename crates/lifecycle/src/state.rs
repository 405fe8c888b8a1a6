//! Where a run can stand.

use std::fmt;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It has a directory, and nothing is on record.
    New,
    /// Its authority is frozen; its sandbox does not stand yet.
    Preparing,
    /// A command or an agent is at work.
    Working,
    /// At least one thing waits for a person's answer; the rest goes on.
    Waiting(Phase),
    /// Its checks run.
    Checking,
    /// Its work was ended from outside; only sealing is left.
    Stopping,
    /// The sandbox is gone; the change set is read and recorded.
    Sealing,
    /// The outcome is on record; the receipt is being signed.
    Ended,
    /// It could not begin, and left nothing.
    Gone,
    /// It was cut short before its sandbox stood.
    NeverStood,
    /// It was cut short while something ran or before it was sealed.
    Interrupted,
    /// It is sealed, and its change set waits, if it has one.
    Ready,
    /// Its change set is being written to the project.
    Applying(Waits),
    /// Its change set is in the project.
    Applied,
    /// What was applied is being taken back.
    Undoing,
    /// Its change set was in the project, and is no more.
    Undone,
    /// Its change set is being thrown away.
    Discarding(Dropped),
    /// Its change set was thrown away.
    Discarded,
    /// An apply was cut short.
    HalfApplied(Waits),
    /// An undo was cut short.
    HalfUndone,
    /// A discard was cut short.
    HalfDiscarded(Dropped),
}

/// What goes on while a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The work.
    Work,
    /// Its checks.
    Checks,
}

/// Where a run stands whose change set can be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waits {
    /// [`State::Ready`].
    Ready,
    /// [`State::Undone`].
    Undone,
}

/// Where a run stood whose changes are being dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dropped {
    /// [`State::NeverStood`].
    NeverStood,
    /// [`State::Interrupted`].
    Interrupted,
    /// [`State::Ready`].
    Ready,
    /// [`State::Undone`].
    Undone,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 30] = [
        Self::New,
        Self::Preparing,
        Self::Working,
        Self::Waiting(Phase::Work),
        Self::Waiting(Phase::Checks),
        Self::Checking,
        Self::Stopping,
        Self::Sealing,
        Self::Ended,
        Self::Gone,
        Self::NeverStood,
        Self::Interrupted,
        Self::Ready,
        Self::Applying(Waits::Ready),
        Self::Applying(Waits::Undone),
        Self::Applied,
        Self::Undoing,
        Self::Undone,
        Self::Discarding(Dropped::NeverStood),
        Self::Discarding(Dropped::Interrupted),
        Self::Discarding(Dropped::Ready),
        Self::Discarding(Dropped::Undone),
        Self::Discarded,
        Self::HalfApplied(Waits::Ready),
        Self::HalfApplied(Waits::Undone),
        Self::HalfUndone,
        Self::HalfDiscarded(Dropped::NeverStood),
        Self::HalfDiscarded(Dropped::Interrupted),
        Self::HalfDiscarded(Dropped::Ready),
        Self::HalfDiscarded(Dropped::Undone),
    ];

    /// Whether a process is at it. A live state that nobody works on is a crash.
    #[must_use]
    pub const fn is_live(self) -> bool {
        match self {
            Self::New
            | Self::Preparing
            | Self::Working
            | Self::Waiting(_)
            | Self::Checking
            | Self::Stopping
            | Self::Sealing
            | Self::Ended
            | Self::Applying(_)
            | Self::Undoing
            | Self::Discarding(_) => true,
            Self::Gone
            | Self::NeverStood
            | Self::Interrupted
            | Self::Ready
            | Self::Applied
            | Self::Undone
            | Self::Discarded
            | Self::HalfApplied(_)
            | Self::HalfUndone
            | Self::HalfDiscarded(_) => false,
        }
    }

    /// Whether nothing can become of it any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Gone | Self::Discarded)
    }

    /// Whether an apply, undo or discard was cut short, so that the run's directory has to say what
    /// came of it.
    #[must_use]
    pub const fn is_half_done(self) -> bool {
        matches!(self, Self::HalfApplied(_) | Self::HalfUndone | Self::HalfDiscarded(_))
    }

    /// The word for it, as in the record `recovered`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Preparing => "preparing",
            Self::Working => "working",
            Self::Waiting(_) => "waiting",
            Self::Checking => "checking",
            Self::Stopping => "stopping",
            Self::Sealing => "sealing",
            Self::Ended => "ended",
            Self::Gone => "gone",
            Self::NeverStood => "never stood",
            Self::Interrupted => "interrupted",
            Self::Ready => "ready",
            Self::Applying(_) => "applying",
            Self::Applied => "applied",
            Self::Undoing => "undoing",
            Self::Undone => "undone",
            Self::Discarding(_) => "discarding",
            Self::Discarded => "discarded",
            Self::HalfApplied(_) => "half applied",
            Self::HalfUndone => "half undone",
            Self::HalfDiscarded(_) => "half discarded",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
