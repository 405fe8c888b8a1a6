//! What a stopped caller gets: an answer, or an error and, where it reads errors, the reason.

use std::os::fd::OwnedFd;

use broker::Refusal;
use policy::Action;
use rustix::io::Errno;

/// Why a call is not carried out.
#[derive(Debug)]
pub(in crate::gate) enum Denied {
    /// As the kernel would have it.
    Kernel(Errno),
    /// By the broker, which has recorded it.
    Refused(Box<Action>, Box<Refusal>),
    /// By the gate, for a reason that no rule can change. It is still to be recorded.
    Outright(Box<Action>, String),
}

impl From<Errno> for Denied {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

impl Denied {
    /// `EPERM`, because a caller that looks along a search path goes on after `EACCES`.
    pub(in crate::gate) fn errno(&self) -> Errno {
        match self {
            Self::Kernel(errno) => *errno,
            Self::Refused(..) | Self::Outright(..) => Errno::PERM,
        }
    }

    /// What the caller reads; nothing where its kernel would say no more than a number.
    pub(in crate::gate) fn text(&self) -> Option<String> {
        match self {
            Self::Kernel(_) => None,
            Self::Refused(action, refusal) => {
                let rules = refusal.verdict().map(|verdict| &verdict.decided_by);
                let rules = rules.into_iter().flatten().map(|cause| format!(" ({cause})"));
                Some(format!("loop: {refusal}: {action}{}", rules.collect::<String>()))
            }
            Self::Outright(action, why) => Some(format!("loop: denied: {action}: {why}")),
        }
    }
}

/// What a caller gets.
#[derive(Debug)]
pub(in crate::gate) enum Answer {
    /// The kernel carries the call out. Only where it enforces the same itself.
    Proceed,
    /// The call succeeded.
    Done,
    /// A descriptor, closed by the next exec or not.
    Give(OwnedFd, bool),
}
