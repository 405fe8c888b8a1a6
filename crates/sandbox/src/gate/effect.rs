//! Lets the kernel carry out what was permitted, and makes sure that it was that.
//!
//! The only file of the gate that changes anything. A program is loaded by the kernel, which reads
//! the caller's memory and walks its paths once more; both may have changed. So the new program is
//! stopped before its first instruction and compared with what was permitted.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};
use sys::notify::{Listener, Notification};
use sys::trace::{Stop, Tracee};

use super::action::Grant;
use super::program::Program;
use super::view::{Image, Status, own_link};
use super::wire::errno;

/// The longest message to a program's standard error, in bytes: a pipe takes that much at once or
/// not at all, pipe(7).
const LONGEST_MESSAGE: usize = 4096;

/// What came of a permitted call to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// It runs, and it is what was permitted.
    AsPermitted,
    /// The kernel did not run it, or its caller is gone.
    Not,
    /// Something else was about to run. It was killed before its first instruction.
    Otherwise,
}

/// Lets the call go on, and holds the new program until it has been compared.
///
/// # Errors
/// When the caller can't be stopped; it has been answered `EPERM` then.
pub(super) fn run(
    listener: &Listener,
    call: &Notification,
    _grant: &Grant,
    program: &Program,
) -> Result<Ran, Errno> {
    let tracee = match Tracee::seize(call.thread) {
        Ok(tracee) => tracee,
        Err(error) => {
            // Whoever is gone need not be answered.
            let _ = listener.fail(call.id, libc::EPERM);
            return Err(errno(&error));
        }
    };
    // A caller that is gone shows in the wait.
    let _ = listener.proceed(call.id);
    match tracee.wait().map_err(|error| errno(&error))? {
        Stop::Gone => Ok(Ran::Not),
        Stop::NotExecuted(tracee) => {
            // It may have been killed in the meantime, which is no less an end.
            let _ = tracee.release();
            Ok(Ran::Not)
        }
        Stop::Executed(tracee) => compare(tracee, program),
    }
}

fn compare(tracee: Tracee, program: &Program) -> Result<Ran, Errno> {
    let is_same = Image::of(tracee.process()).is_ok_and(|image| {
        image.program == program.image
            && image.args == program.args
            && image.directory == program.directory
    });
    if is_same {
        let _ = tracee.release();
        Ok(Ran::AsPermitted)
    } else {
        tracee.kill().map_err(|error| errno(&error))?;
        Ok(Ran::Otherwise)
    }
}

/// Writes a refusal where the caller writes its errors, so that whoever reads them learns why. It
/// must not block, and it must not write where only this process could: nothing is written to
/// anything but a pipe, a socket or a terminal that the caller itself holds.
pub(super) fn tell(thread: Pid, text: &str) {
    const STANDARD_ERROR: i32 = 2;
    let line: Vec<u8> = text.bytes().take(LONGEST_MESSAGE - 1).chain([b'\n']).collect();
    if let Ok(stream) = descriptor_of(thread, STANDARD_ERROR) {
        // A stream that takes nothing now misses the reason; the error number says enough.
        let _ = write_at_once(&stream, &line);
    }
}

fn descriptor_of(thread: Pid, number: i32) -> Result<OwnedFd, Errno> {
    // A descriptor table belongs to the process; pidfd_open(2) takes no other thread.
    let status = Status::of(thread)?;
    let leader = status.value("Tgid").and_then(|number| number.parse().ok());
    let leader = leader.and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let process = rustix::process::pidfd_open(leader, PidfdFlags::empty())?;
    rustix::process::pidfd_getfd(process, number, PidfdGetfdFlags::empty())
}

fn write_at_once(stream: &OwnedFd, line: &[u8]) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(stream)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket => {
            rustix::net::send(stream, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).map(drop)
        }
        FileType::Fifo => write_anew(stream, line),
        FileType::CharacterDevice if rustix::termios::isatty(stream) => write_anew(stream, line),
        _ => Ok(()),
    }
}

/// A description of its own does not block when the caller's would.
fn write_anew(stream: &OwnedFd, line: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let anew = rustix::fs::open(own_link(stream), flags, Mode::empty())?;
    rustix::io::write(anew, line).map(drop)
}
