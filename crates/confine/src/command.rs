//! Starts one command: a process of its own session, with the streams it was given.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Pid};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use sys::process::Fork;

use crate::exact::Exact;
use crate::protocol::{Command, Stage, Terminal};

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) command: u32,
    pub(crate) pid: Pid,
}

/// A command that does not.
#[derive(Debug)]
pub(crate) struct NotStarted {
    pub(crate) during: Stage,
    pub(crate) errno: i32,
}

impl NotStarted {
    fn new(during: Stage, error: &io::Error) -> Self {
        Self { during, errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
    }
}

/// Starts `command`; returns when its program runs or can't. The second value is the control
/// plane's side of its terminal.
pub(crate) fn start(
    command: &Command,
    descriptors: Vec<OwnedFd>,
) -> Result<(Running, Option<OwnedFd>), NotStarted> {
    let prepare = |error: io::Error| NotStarted::new(Stage::Prepare, &error);
    let program = Program::read(command).map_err(prepare)?;
    let terminal = command.terminal.map(open_terminal).transpose().map_err(prepare)?;
    let streams =
        Streams::assemble(command.terminal, terminal.as_ref(), descriptors).map_err(prepare)?;
    let (outcome, told) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| prepare(error.into()))?;
    match sys::process::fork().map_err(prepare)? {
        Fork::Child => {
            let failed = become_program(command, &program, &streams, &told);
            tell(&told, &failed);
            sys::process::exit_now(127)
        }
        Fork::Parent(pid) => {
            drop((told, streams));
            listen(&outcome)?;
            let ours = terminal.map(|pair| pair.controller);
            Ok((Running { command: command.id, pid }, ours))
        }
    }
}

/// What execve needs, made before the fork.
struct Program {
    candidates: Vec<CString>,
    args: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    fn read(command: &Command) -> io::Result<Self> {
        let name = command.args.first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            candidates: candidates(name, search_path(&command.environment))?,
            args: c_strings(&command.args)?,
            environment: c_strings(&command.environment)?,
        })
    }

    /// Tries each candidate as execvp(3) does; returns why none ran.
    fn execute(&self) -> io::Error {
        let mut answer = io::Error::from_raw_os_error(libc::ENOENT);
        for candidate in &self.candidates {
            let Err(error) = sys::process::exec(candidate, &self.args, &self.environment);
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                Some(libc::EACCES) => answer = error,
                Some(libc::ENOEXEC) => return self.execute_as_script(candidate),
                _ => return error,
            }
        }
        answer
    }

    fn execute_as_script(&self, script: &CString) -> io::Error {
        let mut args = vec![c"/bin/sh".to_owned(), script.clone()];
        args.extend(self.args.iter().skip(1).cloned());
        let Err(error) = sys::process::exec(&c"/bin/sh".to_owned(), &args, &self.environment);
        error
    }
}

fn search_path(environment: &[Exact]) -> &[u8] {
    environment
        .iter()
        .find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="))
        .unwrap_or(b"/usr/local/bin:/usr/bin:/bin")
}

/// A name with a slash is a path; any other is looked for in every directory of the search path.
fn candidates(name: &Exact, path: &[u8]) -> io::Result<Vec<CString>> {
    if name.as_bytes().contains(&b'/') {
        return Ok(vec![name.to_c_string()?]);
    }
    path.split(|&byte| byte == b':')
        .filter(|directory| !directory.is_empty() && !name.as_bytes().is_empty())
        .map(|directory| Ok(CString::new([directory, b"/", name.as_bytes()].concat())?))
        .collect()
}

fn c_strings(strings: &[Exact]) -> io::Result<Vec<CString>> {
    strings.iter().map(|string| Ok(string.to_c_string()?)).collect()
}

/// Both sides of a new terminal of the sandbox.
struct TerminalPair {
    controller: OwnedFd,
    user: OwnedFd,
}

fn open_terminal(terminal: Terminal) -> io::Result<TerminalPair> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&controller)?;
    let size =
        Winsize { ws_row: terminal.rows, ws_col: terminal.columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&controller, size)?;
    let user = rustix::pty::ioctl_tiocgptpeer(&controller, flags)?;
    Ok(TerminalPair { controller, user })
}

/// Standard input, output and error of a command.
struct Streams {
    all: [OwnedFd; 3],
    terminal: Option<OwnedFd>,
}

impl Streams {
    fn assemble(
        wanted: Option<Terminal>,
        terminal: Option<&TerminalPair>,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let on_terminal = wanted.map_or([false; 3], |terminal| terminal.streams);
        let mut given = descriptors.into_iter();
        let mut next = |from_terminal: bool| match terminal.filter(|_| from_terminal) {
            Some(pair) => pair.user.try_clone(),
            None => given.next().map_or_else(null_device, Ok),
        };
        let [input, output, error] = on_terminal;
        let all = [next(input)?, next(output)?, next(error)?];
        Ok(Self { all, terminal: terminal.map(|pair| pair.user.try_clone()).transpose()? })
    }
}

fn null_device() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// In the new process: takes its place and runs the program. Returns only when it can't.
fn become_program(
    command: &Command,
    program: &Program,
    streams: &Streams,
    told: &OwnedFd,
) -> NotStarted {
    if let Err(error) = take_place(streams, command.umask, told) {
        return NotStarted::new(Stage::Prepare, &error);
    }
    if let Err(error) = rustix::process::chdir(command.directory.as_os_str()) {
        return NotStarted::new(Stage::Directory, &error.into());
    }
    NotStarted::new(Stage::Execute, &program.execute())
}

fn take_place(streams: &Streams, umask: u32, told: &OwnedFd) -> io::Result<()> {
    rustix::process::setsid()?;
    if let Some(terminal) = &streams.terminal {
        rustix::process::ioctl_tiocsctty(terminal)?;
    }
    let [input, output, error] = streams.all.each_ref().map(AsFd::as_fd);
    take_streams(input, output, error)?;
    rustix::process::umask(Mode::from_bits_truncate(umask));
    sys::signal::reset()?;
    sys::descriptor::close_from_but(3, told.as_fd())?;
    // Nothing of init is left here, so it may be looked at: by the syscall gate before its program
    // runs, and by its equals.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

fn take_streams(input: BorrowedFd, output: BorrowedFd, error: BorrowedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdin(input)?;
    rustix::stdio::dup2_stdout(output)?;
    Ok(rustix::stdio::dup2_stderr(error)?)
}

/// From the new process to init: the stage as a byte, then the error number.
fn tell(to: &OwnedFd, failed: &NotStarted) {
    let stage = match failed.during {
        Stage::Prepare => 0,
        Stage::Directory => 1,
        Stage::Execute => 2,
    };
    let [a, b, c, d] = failed.errno.to_le_bytes();
    // If init is gone, so is this process in a moment.
    let _ = rustix::io::write(to, &[stage, a, b, c, d]);
}

/// Waits until the program runs, which closes the pipe, or says why it does not.
fn listen(from: &OwnedFd) -> Result<(), NotStarted> {
    let mut told = [0_u8; 5];
    loop {
        match rustix::io::read(from, &mut told) {
            Ok(0) => return Ok(()),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(NotStarted::new(Stage::Prepare, &error.into())),
        }
    }
    let [stage, errno @ ..] = told;
    let during = match stage {
        0 => Stage::Prepare,
        1 => Stage::Directory,
        _ => Stage::Execute,
    };
    Err(NotStarted { during, errno: i32::from_le_bytes(errno) })
}
