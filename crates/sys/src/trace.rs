//! Stopping another process at the first instruction of its next program: ptrace(2).
//!
//! The kernel ties a tracee to the thread that seized it, so a [`Tracee`] can't be sent to another.

use std::io;
use std::marker::PhantomData;

use rustix::process::{Pid, Signal};

use crate::check_long;

/// A thread whose next stop this thread waits for. When this process dies, it dies.
#[derive(Debug)]
pub struct Tracee {
    thread: Pid,
    only_here: PhantomData<*const ()>,
}

/// Where a tracee stopped.
#[derive(Debug)]
pub enum Stop {
    /// A new program was loaded and has not run yet. Its process has this number now, whichever of
    /// its threads called.
    Executed(Tracee),
    /// No program was loaded.
    NotExecuted(Tracee),
    /// It is gone.
    Gone,
}

impl Tracee {
    /// Attaches to a thread that waits in a system call and asks it to stop when that call is over.
    ///
    /// # Errors
    /// `EPERM` when somebody else traces it already or this process may not, `ESRCH`.
    pub fn seize(thread: Pid) -> io::Result<Self> {
        let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        request(libc::PTRACE_SEIZE, thread, options.cast_unsigned().into())?;
        let tracee = Self { thread, only_here: PhantomData };
        request(libc::PTRACE_INTERRUPT, thread, 0)?;
        Ok(tracee)
    }

    /// Waits until it stops or ends. The kernel reports only tracees of this thread here, and this
    /// thread has no other.
    ///
    /// # Errors
    /// None that the manual page knows.
    pub fn wait(self) -> io::Result<Stop> {
        let mut status = 0;
        let options = libc::__WALL | libc::__WNOTHREAD;
        loop {
            // SAFETY: `status` is a valid place for the call to write.
            let changed = unsafe { libc::waitpid(-1, &raw mut status, options) };
            match (changed, Pid::from_raw(changed)) {
                (1.., Some(process)) => return Ok(self.stopped(process, status)),
                _ => match io::Error::last_os_error() {
                    error if error.raw_os_error() == Some(libc::EINTR) => {}
                    // Another of its threads executed a program and took its number.
                    error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Stop::Gone),
                    error => return Err(error),
                },
            }
        }
    }

    fn stopped(self, process: Pid, status: i32) -> Stop {
        const EXECUTED: i32 = libc::SIGTRAP | (libc::PTRACE_EVENT_EXEC << 8);
        if !libc::WIFSTOPPED(status) {
            return Stop::Gone;
        }
        let tracee = Self { thread: process, only_here: PhantomData };
        if status >> 8 == EXECUTED { Stop::Executed(tracee) } else { Stop::NotExecuted(tracee) }
    }

    /// Its number now.
    #[must_use]
    pub fn process(&self) -> Pid {
        self.thread
    }

    /// Lets it run on its own.
    ///
    /// # Errors
    /// `ESRCH` when it was killed meanwhile.
    pub fn release(self) -> io::Result<()> {
        request(libc::PTRACE_DETACH, self.thread, 0)
    }

    /// Kills its process. Nothing of it runs any more when this returns.
    ///
    /// # Errors
    /// Whatever the kernel answered, other than that it is gone.
    pub fn kill(self) -> io::Result<()> {
        match rustix::process::kill_process(self.thread, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        let mut tracee = self;
        loop {
            match tracee.wait()? {
                Stop::Gone => return Ok(()),
                Stop::Executed(next) | Stop::NotExecuted(next) => tracee = next,
            }
        }
    }
}

fn request(request: libc::c_uint, thread: Pid, data: libc::c_ulong) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: none of the requests of this file reads or writes memory of this process.
    check_long(unsafe { libc::ptrace(request, thread.as_raw_pid(), nothing, data) }).map(drop)
}
