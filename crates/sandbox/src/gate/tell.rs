//! Says to a program why it was refused, where it writes its errors.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

use super::view::{Status, own_link};

/// The longest message to a program's standard error, in bytes: a pipe takes that much at once or
/// not at all, pipe(7).
const LONGEST_MESSAGE: usize = 4096;

/// Writes a refusal where the caller writes its errors, so that whoever reads them learns why. It
/// must not block, and it must not write where only this process could: nothing is written to
/// anything but a pipe, a socket or a terminal that the caller itself holds.
pub(in crate::gate) fn tell(thread: Pid, text: &str) {
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
