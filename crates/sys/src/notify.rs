//! System calls that stop and ask: seccomp_unotify(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Pid;

use crate::{check, check_long};

/// One instruction of a classic BPF program: code, jumps, operand.
pub type Instruction = libc::sock_filter;

/// Puts a filter on this process whose `SECCOMP_RET_USER_NOTIF` verdicts are answered through the
/// returned descriptor. Needs no-new-privileges. Once a call has been read from the descriptor,
/// only a deadly signal interrupts its caller: Linux 5.19.
///
/// # Errors
/// `EINVAL` for a program that the kernel rejects or a kernel without the flag, `EBUSY` when
/// another filter of this process has a descriptor already.
pub fn install_filter(program: &mut [Instruction]) -> io::Result<OwnedFd> {
    let length = libc::c_ushort::try_from(program.len())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: `program` describes a slice that outlives the call, and the kernel checks its content.
    let fd = check_long(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    })?;
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Where calls that wait for an answer are read and answered.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A call whose caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification {
    /// The kernel's number for it.
    pub id: u64,
    /// The calling thread, as this process sees it.
    pub thread: Pid,
    /// The number of the call.
    pub call: i64,
    /// Its arguments, as they are in the registers.
    pub args: [u64; 6],
}

impl Listener {
    /// Listens at a descriptor of [`install_filter`].
    #[must_use]
    pub fn over(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// The next call that waits; `None` when its caller has died meanwhile. Blocks when there is
    /// none, so poll first.
    ///
    /// # Errors
    /// Whatever the kernel answered, other than that the caller is gone.
    pub fn receive(&self) -> io::Result<Option<Notification>> {
        // SAFETY: plain data, for which zeros are a value; the kernel demands zeros.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: `call` is a valid place of the size that the request's number names.
        let received = check(unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call)
        });
        match received {
            Ok(_) => Ok(notification(&call)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the caller still waits. What was read of its memory counts only if it does.
    #[must_use]
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: `id` is a valid place to read eight bytes from.
        let valid = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
        };
        valid == 0
    }

    /// Lets the kernel carry the call out as if nobody had asked. What the caller's memory says by
    /// then may differ from what was read.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn proceed(&self, id: u64) -> io::Result<()> {
        // The constant fits: it is 1.
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
        self.respond(libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
    }

    /// Answers with this error number.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn fail(&self, id: u64, errno: i32) -> io::Result<()> {
        self.respond(libc::seccomp_notif_resp { id, val: 0, error: -errno, flags: 0 })
    }

    /// Answers with this value.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn succeed(&self, id: u64, value: i64) -> io::Result<()> {
        self.respond(libc::seccomp_notif_resp { id, val: value, error: 0, flags: 0 })
    }

    /// Gives the caller a copy of `descriptor` and answers with its number.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone, `EMFILE` when it has too many.
    pub fn give(&self, id: u64, descriptor: BorrowedFd<'_>, close_on_exec: bool) -> io::Result<()> {
        let addfd = libc::seccomp_notif_addfd {
            id,
            // The constants fit: SEND is 2, O_CLOEXEC is 0o2000000.
            flags: u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).unwrap_or(2),
            srcfd: descriptor.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: `addfd` is a valid place of the size that the request's number names.
        check(unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const addfd)
        })
        .map(drop)
    }

    /// Wakes whoever is asked, and whoever is answered, on the processor of the other: Linux 6.6.
    /// A kernel that does not know how is as right, and slower.
    pub fn wake_close_by(&self) {
        const SYNC_WAKE_UP: libc::c_ulong = 1;
        // SAFETY: the argument is a number.
        unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
        };
    }

    fn respond(&self, mut response: libc::seccomp_notif_resp) -> io::Result<()> {
        // SAFETY: `response` is a valid place of the size that the request's number names.
        check(unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
        })
        .map(drop)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn notification(call: &libc::seccomp_notif) -> Option<Notification> {
    let thread = i32::try_from(call.pid).ok().and_then(Pid::from_raw)?;
    Some(Notification { id: call.id, thread, call: call.data.nr.into(), args: call.data.args })
}
