//! Descriptors that a process was started with.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::check;

/// Takes ownership of a descriptor that this process was started with, such as 0.
///
/// # Errors
/// `EBADF` when it is not open.
pub fn inherit(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks for the descriptor's flags.
    check(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    // SAFETY: F_DUPFD_CLOEXEC makes a new descriptor that nobody else knows.
    let copy = check(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the copy is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Closes whatever a careless parent left open from `first` on: close_range(2).
///
/// For the first lines of a program, before anything of its own is open.
///
/// # Errors
/// `ENOSYS` before Linux 5.9.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the caller has opened nothing yet, so no owner's descriptor is closed under it.
    check(unsafe { libc::close_range(first, u32::MAX, 0) }).map(drop)
}

/// Closes every descriptor from `first` on except `kept`, whoever owns it: close_range(2).
///
/// For a new process on its way to another program, in which no owner closes anything any more.
///
/// # Errors
/// `ENOSYS` before Linux 5.9.
pub fn close_from_but(first: u32, kept: BorrowedFd<'_>) -> io::Result<()> {
    let kept = kept.as_raw_fd().cast_unsigned();
    for (from, to) in [(first, kept.saturating_sub(1)), (first.max(kept + 1), u32::MAX)] {
        if from <= to {
            // SAFETY: the process is about to be another program, or to end without running the
            // destructors of the owners.
            check(unsafe { libc::close_range(from, to, 0) })?;
        }
    }
    Ok(())
}
