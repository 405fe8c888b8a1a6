//! A person at a terminal: starts a program on one, types, reads what appears.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::launch::{Owned, show, within};
use crate::remains::{note_started, note_waited};

/// Longer than any screen takes to appear, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The person's side of a terminal, and the program on it.
pub struct Terminal {
    controller: OwnedFd,
    child: Owned,
    line: String,
    /// All that ever appeared.
    seen: Vec<u8>,
    /// How much of it was waited for already.
    read: usize,
}

impl Terminal {
    /// Starts a program as the leader of a session on a new terminal of 24 lines and 80 columns.
    pub fn start(command: &Command) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("cannot open a terminal");
        grantpt(&controller).expect("cannot open a terminal");
        unlockpt(&controller).expect("cannot open a terminal");
        set_size(&controller, 24, 80);
        let name = ptsname(&controller, Vec::new()).expect("the terminal has a name");
        let name = name.to_str().expect("the name of a terminal is ASCII");
        let side = || {
            let file = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(name)
                .expect("cannot open the terminal's other side");
            Stdio::from(file)
        };
        // `setsid --ctty` makes it the controlling terminal between fork and exec, where we run no code of our own.
        let mut started = Command::new("setsid");
        started.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        started.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            started.current_dir(directory);
        }
        started.stdin(side()).stdout(side()).stderr(side());
        let line = show(command);
        let child =
            started.spawn().unwrap_or_else(|error| panic!("cannot start `{line}`: {error}"));
        note_started(&child);
        Self { controller, child: Owned(child), line, seen: Vec::new(), read: 0 }
    }

    /// The process id of the program.
    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Types. `\x03` is Ctrl-C, `\x1a` Ctrl-Z, `\x04` Ctrl-D, `\x1b` Escape, `\r` Enter.
    #[track_caller]
    pub fn send(&mut self, keys: &str) {
        let mut rest = keys.as_bytes();
        while !rest.is_empty() {
            let written = rustix::io::write(&self.controller, rest)
                .unwrap_or_else(|error| panic!("cannot type {keys:?}: {error}"));
            rest = rest.get(written..).unwrap_or_default();
        }
    }

    /// Waits until this appears after what was waited for before; fails the test if it does not.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let began = Instant::now();
        loop {
            if let Some(at) = find(self.unread(), text.as_bytes()) {
                self.read += at + text.len();
                return;
            }
            let open = self.receive(Duration::from_millis(100));
            assert!(
                open && began.elapsed() < PATIENCE,
                "{text:?} did not appear on the terminal of `{}`\n{}",
                self.line,
                self.screen()
            );
        }
    }

    /// Everything that ever appeared, escape sequences shown as text.
    pub fn screen(&self) -> String {
        names::printable(&self.seen).replace("\\x0d", "").replace("\\x0a", "\n")
    }

    /// Changes the size of the window, as dragging its corner does.
    pub fn resize(&self, rows: u16, columns: u16) {
        set_size(&self.controller, rows, columns);
    }

    /// Waits for the end of the program and of what it writes; fails the test if it does not end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let status = within(PATIENCE, || {
            let open = self.receive(Duration::from_millis(10));
            self.child.try_wait().expect("a child can be waited for").filter(|_| !open)
        });
        let status =
            status.unwrap_or_else(|| panic!("`{}` did not end\n{}", self.line, self.screen()));
        note_waited(&self.child);
        status
    }

    /// Closes the terminal's window.
    pub fn close(self) -> Owned {
        let Self { controller, child, .. } = self;
        drop(controller);
        child
    }

    fn unread(&self) -> &[u8] {
        self.seen.get(self.read..).unwrap_or_default()
    }

    /// Takes in what appears within a time; false once the other side is closed.
    fn receive(&mut self, patience: Duration) -> bool {
        let mut ready = [PollFd::new(&self.controller, PollFlags::IN)];
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
        if poll(&mut ready, Some(&patience)).unwrap_or(0) == 0 {
            return true;
        }
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.controller, &mut buffer) {
            Ok(length) => self.seen.extend(buffer.get(..length).unwrap_or_default()),
            Err(_) => return false,
        }
        true
    }
}

fn set_size(terminal: impl AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("cannot set the size of a terminal");
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
