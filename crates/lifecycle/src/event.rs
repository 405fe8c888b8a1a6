//! What can happen to a run.

use std::fmt;

/// What can happen to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Its authority is frozen and on record.
    Start,
    /// It can't begin: nothing ran, and nothing is kept.
    Refuse,
    /// A sandbox stands, and has measured itself.
    Stand,
    /// Something is about to be done that the authority decides about.
    Do,
    /// It was done, and what came of it is known.
    Done,
    /// A person is asked.
    Ask,
    /// One ask is settled; others wait.
    Settle,
    /// The last ask that waited is settled.
    SettleLast,
    /// A turn of the agent begins.
    Turn,
    /// The work claims to be done, and its checks begin.
    Check,
    /// What the checks showed is on record.
    Judge,
    /// A limit ended the work.
    Limit,
    /// A person, a signal or a time-out of its caller wants it ended.
    Cancel,
    /// The sandbox is gone and the change set is read.
    Seal,
    /// The outcome is on record.
    End,
    /// The receipt is signed.
    Sign,
    /// The process that worked on it is gone without a word.
    Crash,
    /// Its change set is about to be written to the project.
    Apply,
    /// What was applied is about to be taken back.
    Undo,
    /// Its change set is about to be thrown away.
    Discard,
    /// The apply, undo or discard was carried out.
    Succeed,
    /// The apply, undo or discard did not happen.
    Fail,
    /// After a crash: the apply, undo or discard is as if it had not begun.
    TakeBack,
    /// After a crash: the apply, undo or discard had been carried out.
    FindDone,
    /// Its commits are about to be put on a branch.
    Branch,
    /// They were, or that failed.
    Branched,
}

impl Event {
    /// Every event, in the order of a life.
    pub const ALL: [Self; 26] = [
        Self::Start,
        Self::Refuse,
        Self::Stand,
        Self::Do,
        Self::Done,
        Self::Ask,
        Self::Settle,
        Self::SettleLast,
        Self::Turn,
        Self::Check,
        Self::Judge,
        Self::Limit,
        Self::Cancel,
        Self::Seal,
        Self::End,
        Self::Sign,
        Self::Crash,
        Self::Apply,
        Self::Undo,
        Self::Discard,
        Self::Succeed,
        Self::Fail,
        Self::TakeBack,
        Self::FindDone,
        Self::Branch,
        Self::Branched,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Refuse => "refuse",
            Self::Stand => "stand",
            Self::Do => "do",
            Self::Done => "done",
            Self::Ask => "ask",
            Self::Settle => "settle",
            Self::SettleLast => "settle last",
            Self::Turn => "turn",
            Self::Check => "check",
            Self::Judge => "judge",
            Self::Limit => "limit",
            Self::Cancel => "cancel",
            Self::Seal => "seal",
            Self::End => "end",
            Self::Sign => "sign",
            Self::Crash => "crash",
            Self::Apply => "apply",
            Self::Undo => "undo",
            Self::Discard => "discard",
            Self::Succeed => "succeed",
            Self::Fail => "fail",
            Self::TakeBack => "take back",
            Self::FindDone => "find done",
            Self::Branch => "branch",
            Self::Branched => "branched",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
