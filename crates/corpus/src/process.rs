//! Starting the scripts, waiting for them no longer than they may take, and ending what they leave.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

/// Of a long output, how much of its beginning is searched for marks, in bytes.
const READ_FIRST: u64 = 4 << 20;
/// How much of an output's end a report shows, in bytes.
const SHOWN: u64 = 3 << 10;
/// How often processes that are still there are looked for and killed.
const ROUNDS: usize = 40;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exit(i32),
    Signal(i32),
    OutOfTime,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::OutOfTime => f.write_str("out of time"),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

/// A command with everything it gets: nothing of this process's environment reaches it.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a BTreeMap<String, OsString>,
    /// Where its standard output and standard error go: two files of this name.
    pub(crate) output: PathBuf,
}

/// A started command, in a session of its own and without a terminal.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    output: PathBuf,
}

#[expect(clippy::disallowed_methods, reason = "the runner plays the person who starts the product")]
fn command(program: &str) -> Command {
    Command::new(program)
}

impl Job<'_> {
    pub(crate) fn start(&self) -> io::Result<Running> {
        let output = File::create(self.output.with_extension("out"))?;
        let errors = File::create(self.output.with_extension("err"))?;
        let child = command("setsid")
            .args(&self.words)
            .current_dir(self.directory)
            .env_clear()
            .envs(self.environment)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()?;
        Ok(Running { child, output: self.output.clone() })
    }
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended, and kills its whole session when it takes longer than this.
    pub(crate) fn wait(mut self, limit: Duration) -> io::Result<(Ended, Output)> {
        let in_time = ended_within(&self.child, limit)?;
        if !in_time {
            self.kill();
        }
        let status = self.child.wait()?;
        let ended = if in_time { status.into() } else { Ended::OutOfTime };
        Ok((ended, Output { path: self.output }))
    }

    fn kill(&mut self) {
        if let Some(group) = pid(self.child.id()) {
            // It may have ended meanwhile; `wait` tells.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
    }

    /// Ends it if it is still there.
    pub(crate) fn end(mut self) -> io::Result<Output> {
        self.kill();
        self.child.wait()?;
        Ok(Output { path: self.output })
    }
}

fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(raw).ok()?)
}

/// pidfd_open(2): readable once the process has ended.
fn ended_within(child: &Child, limit: Duration) -> io::Result<bool> {
    let Some(id) = pid(child.id()) else {
        return Ok(true);
    };
    let descriptor = pidfd_open(id, PidfdFlags::empty())?;
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a command has written.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    path: PathBuf,
}

impl Output {
    /// Both files together, as far as they are searched.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.files().flat_map(|file| part(&file, 0, READ_FIRST).unwrap_or_default()).collect()
    }

    /// The end of both, for people.
    pub(crate) fn tail(&self) -> String {
        let shown = self.files().filter_map(|file| {
            let length = file.metadata().ok()?.len();
            let bytes = part(&file, length.saturating_sub(SHOWN), SHOWN).ok()?;
            Some(String::from_utf8_lossy(&bytes).trim().to_owned())
        });
        shown.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// How much was written to standard output, in bytes.
    pub(crate) fn length(&self) -> u64 {
        std::fs::metadata(self.path.with_extension("out")).map_or(0, |data| data.len())
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        ["out", "err"].into_iter().map(|ending| self.path.with_extension(ending))
    }
}

fn part(path: &Path, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Kills every process that belongs to a scratch directory, and returns their command lines.
///
/// One belongs to it when its working directory lies inside, or when its command line or its
/// environment names it. The directory's name is random, so no other process does.
pub(crate) fn sweep(scratch: &Path) -> Vec<String> {
    let mut killed = Vec::new();
    for round in 0..ROUNDS {
        let found = belonging_to(scratch);
        if found.is_empty() {
            break;
        }
        for (id, line) in found {
            if round == 0 {
                killed.push(line);
            }
            // Gone already: that is what is wanted.
            let _ = kill_process(id, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    killed
}

fn belonging_to(scratch: &Path) -> Vec<(Pid, String)> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes.flatten().filter_map(|entry| belongs(&entry.path(), scratch)).collect()
}

fn belongs(process: &Path, scratch: &Path) -> Option<(Pid, String)> {
    let id: u32 = process.file_name()?.to_str()?.parse().ok()?;
    if id == std::process::id() {
        return None;
    }
    let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let inside = std::fs::read_link(process.join("cwd")).is_ok_and(|at| at.starts_with(scratch));
    let named = names(&line, scratch) || names(&environment, scratch);
    (inside || named).then_some(())?;
    Some((pid(id)?, String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()))
}

fn names(text: &[u8], scratch: &Path) -> bool {
    let wanted = scratch.as_os_str().as_bytes();
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// Whether a program is found in one of these directories.
pub(crate) fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str, limit: Duration) -> (Ended, String, tempfile::TempDir) {
        let scratch = tempfile::tempdir().unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".into())]);
        let job = Job {
            words: ["sh", "-c", line].map(Into::into).to_vec(),
            directory: scratch.path(),
            environment: &environment,
            output: scratch.path().join("job"),
        };
        let (ended, output) = job.start().unwrap().wait(limit).unwrap();
        (ended, output.tail(), scratch)
    }

    #[test]
    fn tells_how_a_command_ended_and_what_it_wrote() {
        let (ended, output, _) = run("echo out; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!((ended, output.as_str()), (Ended::Exit(3), "out\nerr"));
        assert_eq!(run("kill -9 $$", Duration::from_secs(20)).0, Ended::Signal(9));
    }

    #[test]
    fn ends_what_takes_too_long_and_what_is_left_behind() {
        let line = "(setsid sleep 600 >/dev/null 2>&1 &); echo started; exec sleep 600";
        let (ended, output, scratch) = run(line, Duration::from_millis(400));
        assert_eq!((ended, output.as_str()), (Ended::OutOfTime, "started"));
        assert_eq!(sweep(scratch.path()), ["sleep 600"]);
        assert!(belonging_to(scratch.path()).is_empty());
    }
}
