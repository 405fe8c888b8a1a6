//! Descriptors that a process was started with.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

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

/// Marks every descriptor from `first` on as closed by the next exec: close_range(2).
///
/// # Errors
/// `ENOSYS` before Linux 5.11.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: the flag only marks descriptors; none is closed under somebody's hands.
    check(unsafe { libc::close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) })
        .map(drop)
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
