//! Processes: fork, exec, namespaces.

use std::convert::Infallible;
use std::ffi::CString;
use std::io;

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use crate::{check, check_long};

/// Which side of a [`fork`] this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The new process.
    Child,
    /// The process that called, with the id of the new one.
    Parent(Pid),
}

/// Duplicates this process: fork(2).
///
/// # Errors
/// `EAGAIN` at the process limit, `ENOMEM`; and [`io::ErrorKind::Unsupported`] when this process
/// has more than one thread, because the copy would hold locks that nobody can release.
pub fn fork() -> io::Result<Fork> {
    if thread_count()? != 1 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "fork in a threaded process"));
    }
    // SAFETY: the process has one thread (checked above), so no lock is held by a thread that the
    // copy lacks, and the child may run any code.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Pid::from_raw(pid).map_or(Fork::Child, Fork::Parent)),
    }
}

fn thread_count() -> io::Result<u64> {
    // The link count of /proc/self/task is two more than the number of threads: proc(5).
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata("/proc/self/task") {
        Ok(tasks) => Ok(tasks.nlink().saturating_sub(2)),
        // A view without /proc: the caller is the init that made it, before its first thread.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(1),
        Err(error) => Err(error),
    }
}

/// Replaces this process by the file at `path`: execve(2). Returns only on failure.
///
/// # Errors
/// Whatever the kernel answered.
pub fn exec(path: &CString, args: &[CString], environment: &[CString]) -> io::Result<Infallible> {
    let args = pointers(args);
    let environment = pointers(environment);
    // SAFETY: both arrays end with a null pointer, and the strings they point to outlive the call.
    unsafe { libc::execve(path.as_ptr(), args.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Ends this process at once, without running destructors or exit handlers: _exit(2).
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no precondition.
    unsafe { libc::_exit(code) }
}

/// Moves this process into new namespaces: unshare(2).
///
/// # Errors
/// `EPERM` or `ENOSPC` where user namespaces are switched off, `EINVAL` in a threaded process.
pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only sharing the descriptor table can break others' assumptions about descriptors,
    // and a private copy of it keeps every descriptor of this process as it was.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Leaves all supplementary groups: setgroups(2).
///
/// # Errors
/// `EPERM` without the capability to do so.
pub fn drop_groups() -> io::Result<()> {
    // SAFETY: a length of zero means that the pointer is not read.
    check(unsafe { libc::setgroups(0, std::ptr::null()) }).map(drop)
}

/// Asks for `number` with no arguments, to see what the filter answers: syscall(2).
///
/// # Errors
/// The kernel's answer. Arguments are null, so a call that is let through fails harmlessly
/// or does nothing.
pub fn probe(number: libc::c_long, first: libc::c_ulong) -> io::Result<()> {
    // SAFETY: every pointer argument is null. The callers (the self-test) name only calls that
    // with these arguments fail or have no effect on memory.
    check_long(unsafe { libc::syscall(number, first, 0, 0, 0, 0, 0) }).map(drop)
}
