//! Starting a program with streams of its own: pipes or a terminal that nobody else holds.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use sys::process::Fork;

/// What a terminal of no window measures.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// A program that was started.
pub(crate) struct Started {
    pub(crate) process: Pid,
    /// Writes to it, if it reads. Does not wait.
    pub(crate) input: Option<OwnedFd>,
    /// Reads what it prints. Does not wait.
    pub(crate) printed: OwnedFd,
}

/// The streams of a program, both ends.
pub(crate) struct Streams {
    theirs: [OwnedFd; 3],
    is_terminal: bool,
    input: Option<OwnedFd>,
    printed: OwnedFd,
}

impl Streams {
    /// Output and errors in one pipe, so that they keep their order.
    pub(crate) fn pipes(reads: bool) -> io::Result<Self> {
        let (printed, output) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let error = output.try_clone()?;
        let (theirs, input) = if reads {
            let (theirs, ours) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&ours, true)?;
            (theirs, Some(ours))
        } else {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            (rustix::fs::open("/dev/null", flags, Mode::empty())?, None)
        };
        rustix::io::ioctl_fionbio(&printed, true)?;
        Ok(Self { theirs: [theirs, output, error], is_terminal: false, input, printed })
    }

    /// Output in a pipe; input and errors are these files.
    pub(crate) fn apart(input: OwnedFd, error: OwnedFd) -> io::Result<Self> {
        let (printed, output) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&printed, true)?;
        Ok(Self { theirs: [input, output, error], is_terminal: false, input: None, printed })
    }

    /// A new terminal.
    pub(crate) fn terminal() -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags)?;
        rustix::pty::unlockpt(&ours)?;
        rustix::termios::tcsetwinsize(&ours, SIZE)?;
        let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let theirs = [theirs.try_clone()?, theirs.try_clone()?, theirs];
        Ok(Self { theirs, is_terminal: true, input: Some(ours.try_clone()?), printed: ours })
    }
}

/// The file of a program, on the search path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|place| place.join(name)).find(|file| file.is_file())
}

/// Starts the program, in a session of its own. Returns once it runs or can't.
///
/// # Errors
/// What the kernel answered.
pub(crate) fn start(
    program: &Path,
    args: &[&str],
    variables: &[(OsString, OsString)],
    directory: &Path,
    streams: Streams,
) -> io::Result<Started> {
    let path = CString::new(program.as_os_str().as_bytes())?;
    let args = args.iter().map(|arg| CString::new(*arg)).collect::<Result<Vec<_>, _>>()?;
    let variables = variables.iter().map(assignment).collect::<Result<Vec<_>, _>>()?;
    let (outcome, told) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    match sys::process::fork()? {
        Fork::Child => {
            let error = match take_place(&streams, directory, &told) {
                Err(error) => error,
                Ok(()) => match sys::process::exec(&path, &args, &variables) {
                    Err(error) => error,
                },
            };
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            // Whoever started this is gone when it can't be told.
            let _ = rustix::io::write(&told, &errno.to_ne_bytes());
            sys::process::exit_now(127)
        }
        Fork::Parent(process) => {
            drop(told);
            let Streams { input, printed, .. } = streams;
            let mut errno = [0; 4];
            match rustix::io::retry_on_intr(|| rustix::io::read(&outcome, &mut errno))? {
                0 => Ok(Started { process, input, printed }),
                _ => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
            }
        }
    }
}

fn assignment((name, value): &(OsString, OsString)) -> Result<CString, std::ffi::NulError> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
}

/// In the new process, on its way to be the program.
fn take_place(streams: &Streams, directory: &Path, told: &OwnedFd) -> io::Result<()> {
    rustix::process::setsid()?;
    let [input, output, error] = &streams.theirs;
    if streams.is_terminal {
        rustix::process::ioctl_tiocsctty(input)?;
    }
    rustix::stdio::dup2_stdin(input)?;
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(error)?;
    rustix::process::chdir(directory)?;
    sys::signal::reset()?;
    sys::descriptor::close_from_but(3, told.as_fd())?;
    // Nothing of the hands is left here: the syscall gate may look at what it is about to run.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}
