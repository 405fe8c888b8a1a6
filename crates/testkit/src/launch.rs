//! Starting a program and looking at how it ended. Nothing is waited for without a bound.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::remains::{note_started, note_waited};

/// Longer than anything that works takes, on a busy machine. A bound for hangs, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(180);
/// For the ends of the pipes, once the process is gone.
const AFTERWARDS: Duration = Duration::from_secs(20);

/// Heeds what this process was told to ignore, for itself and what it starts: a shell without job
/// control starts what runs in the background with interrupts ignored.
pub fn heed_signals() {
    use rustix::process::Signal;
    [Signal::INT, Signal::QUIT, Signal::HUP, Signal::TERM].into_iter().for_each(sys::signal::heed);
}

/// A program about to be started, in an environment of exactly the variables it was given.
#[must_use = "nothing runs before `run` or `start`"]
pub struct Launch {
    command: Command,
    input: Vec<u8>,
    patience: Duration,
}

impl Launch {
    pub(crate) fn new(program: &Path) -> Self {
        let mut command = Command::new(program);
        command.env_clear();
        Self { command, input: Vec::new(), patience: PATIENCE }
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(crate) fn environment(mut self, environment: &[(OsString, OsString)]) -> Self {
        self.command.envs(environment.iter().map(|(name, value)| (name, value)));
        self
    }

    /// One more argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// One more variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// One variable less.
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// What is written to its standard input, which is closed after it.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Waits this long at most, instead of three minutes.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same command, started by another program that takes it as its last arguments.
    pub fn through(self, launcher: &[&str]) -> Self {
        let (name, arguments) = launcher.split_first().expect("a launcher has a program");
        let mut command = Command::new(name);
        command
            .args(arguments)
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .env_clear();
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        Self { command, ..self }
    }

    /// The command itself, for a terminal.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Starts it, in a process group of its own.
    pub fn start(mut self) -> Running {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let line = show(&self.command);
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("cannot start `{line}`: {error}"));
        note_started(&child);
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let input = self.input;
        // The program may end without reading it all: that is no failure of the test.
        std::thread::spawn(move || stdin.write_all(&input));
        let stdout = Stream::collect(child.stdout.take().expect("standard output is a pipe"));
        let stderr = Stream::collect(child.stderr.take().expect("standard error is a pipe"));
        Running { line, child: Owned(child), stdout, stderr, patience: self.patience }
    }

    /// Starts it and waits for its end.
    pub fn run(self) -> Ran {
        self.start().wait()
    }
}

/// A process that ends with whoever holds it: what a test that fails has started is not left to the
/// next one.
pub struct Owned(pub(crate) Child);

impl Deref for Owned {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if matches!(self.try_wait(), Ok(None)) {
            let group = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.wait();
        }
    }
}

/// A program that was started.
pub struct Running {
    line: String,
    child: Owned,
    stdout: Stream,
    stderr: Stream,
    patience: Duration,
}

impl Running {
    /// Waits until this appears on its standard output; fails the test if it does not.
    #[track_caller]
    pub fn expect_output(&self, text: &str) {
        let appeared = within(PATIENCE, || {
            String::from_utf8_lossy(&self.stdout.so_far()).contains(text).then_some(())
        });
        assert!(
            appeared.is_some(),
            "`{}` did not write {text:?}\n{}",
            self.line,
            self.output_so_far()
        );
    }

    /// What it has written to standard output.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.stdout.so_far()).into_owned()
    }

    /// Its process id.
    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.id(), signal)
            .unwrap_or_else(|error| panic!("cannot signal `{}`: {error}", self.line));
    }

    /// Waits for its end and for the ends of its output.
    pub fn wait(mut self) -> Ran {
        let Some(status) =
            within(self.patience, || self.child.try_wait().expect("a child can be waited for"))
        else {
            let _ = rustix::process::kill_process_group(self.id(), rustix::process::Signal::KILL);
            let _ = self.child.wait();
            panic!(
                "`{}` still ran after {} s\n{}",
                self.line,
                self.patience.as_secs(),
                self.output_so_far()
            );
        };
        note_waited(&self.child);
        let take = |name: &str, stream: Stream| {
            stream.whole().unwrap_or_else(|| {
                panic!("`{}` ended, but somebody still holds its {name}", self.line)
            })
        };
        let stdout = take("standard output", self.stdout);
        let stderr = take("standard error", self.stderr);
        Ran { line: self.line, status, stdout, stderr }
    }

    fn output_so_far(&self) -> String {
        [&self.stdout, &self.stderr]
            .map(|stream| String::from_utf8_lossy(&stream.so_far()).into_owned())
            .join("\n")
    }
}

/// What comes out of a pipe, collected by a thread of its own so that the writer is never held up.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Stream {
    fn collect(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (sender, ended) = sync_channel(1);
        let shared = Arc::clone(&bytes);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                lock(&shared).extend_from_slice(buffer.get(..length).unwrap_or_default());
            }
            let _ = sender.send(());
        });
        Self { bytes, ended }
    }

    fn so_far(&self) -> Vec<u8> {
        lock(&self.bytes).clone()
    }

    /// Everything, once the last holder of the pipe has closed it.
    fn whole(self) -> Option<Vec<u8>> {
        self.ended.recv_timeout(AFTERWARDS).ok()?;
        Some(std::mem::take(&mut *lock(&self.bytes)))
    }
}

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().expect("nobody panics while it holds some bytes")
}

/// How a program ended.
pub struct Ran {
    line: String,
    status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Ran {
    /// Its exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Whether it left a core dump, to a file or to a program.
    pub fn left_core(&self) -> bool {
        std::os::unix::process::ExitStatusExt::core_dumped(&self.status)
    }

    /// Standard output as text, without the white space at its end.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// Standard error as text, without the white space at its end.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim_end().to_owned()
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON: {error}\n{self}"))
    }

    /// Fails the test unless it ended with this code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert!(self.code() == Some(code), "exit code {code} was expected\n{self}");
        self
    }

    /// Fails the test unless standard output is this.
    #[track_caller]
    pub fn expect_out(self, out: &str) -> Self {
        assert!(self.out() == out, "{out:?} was expected on standard output\n{self}");
        self
    }

    /// Fails the test unless standard error contains this.
    #[track_caller]
    pub fn expect_err(self, part: &str) -> Self {
        assert!(self.err().contains(part), "{part:?} was expected on standard error\n{self}");
        self
    }

    /// Fails the test if it died of a panic, whatever else it did.
    #[track_caller]
    pub fn expect_no_panic(self) -> Self {
        let panicked = self.err().contains("panicked at")
            || self.code() == Some(101)
            || self.signal().is_some();
        assert!(!panicked, "it panicked\n{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "$ {}\n{}\n--- standard output\n{}\n--- standard error\n{}",
            self.line,
            self.status,
            self.out(),
            self.err()
        )
    }
}

/// Asks again and again until there is an answer, or time is up.
pub(crate) fn within<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if began.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
