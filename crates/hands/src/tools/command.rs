//! Running a line of shell: in the foreground, where everything that it started ends with it, or
//! as a job that is attended to.
//!
//! For a process of its own that has no thread, is a child subreaper, and does nothing else: see
//! `program::worker`.

mod output;
pub(crate) mod processes;
pub(crate) mod spawn;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use names::Span;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use self::output::Output;
use self::processes::{Ended, end_all, reap};
use self::spawn::{Started, Streams, find, start};
use super::place::{Project, kernel};
use super::plain::count;
use crate::program::link::{Link, Said, Told};
use crate::proposal::{JobAct, Outcome, Truncated, Unit};

/// How long a line of shell may take unless it says otherwise.
pub const TIMEOUT: Span = Span::from_secs(120);
/// How long a line may take, or a job be waited for, at most.
pub const LONGEST: Span = Span::from_secs(60 * 60);
/// How long a job is waited for unless the wait says otherwise.
pub const WAIT: Span = Span::from_secs(60);
/// How often what was printed is passed on while a line runs.
const TICK: Duration = Duration::from_millis(100);
/// How much may wait to be typed into a job, in bytes.
const MOST_TYPED: usize = 64 << 10;
/// The exit code of a line that took too long, as timeout(1) has it.
const OUT_OF_TIME: i32 = 124;

/// A line to run.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// What the shell reads.
    pub(crate) line: String,
    /// How long it may take in the foreground.
    pub(crate) timeout: Option<Span>,
    /// Its streams are a terminal.
    pub(crate) terminal: bool,
    /// The job that it is, if it shall run in the background.
    pub(crate) job: Option<String>,
}

/// Runs the line to its end and answers. As a job, answers at once and goes on until somebody has
/// been told how it ended.
pub(crate) fn run(project: &Project, wanted: &Wanted, link: &mut Link) {
    let running = match Running::start(project, wanted) {
        Ok(running) => running,
        Err(why) => return link.say(Said::Done(Outcome::failed(why))),
    };
    match &wanted.job {
        None => foreground(running, wanted.timeout, link),
        Some(job) => background(running, job, link),
    }
}

fn foreground(mut running: Running, timeout: Option<Span>, link: &mut Link) {
    let timeout = timeout.unwrap_or(TIMEOUT).min(LONGEST);
    let deadline = Some(Instant::now() + timeout.as_duration());
    let why = loop {
        match running.wait(link, deadline, true) {
            Event::Ended => break None,
            Event::Deadline => {
                break Some((format!("killed: it took longer than {timeout}"), OUT_OF_TIME));
            }
            Event::Told(Told::Cancel) | Event::Gone => {
                break Some(("killed: it was given up".to_owned(), 128 + libc::SIGKILL));
            }
            Event::Told(Told::Attend(_)) => {}
        }
    };
    running.end();
    let outcome = match why {
        None => running.outcome(None),
        Some((why, exit)) => {
            let outcome = running.outcome(Some(&format!("[{why}]")));
            Outcome { ok: false, exit: Some(exit), ..outcome }
        }
    };
    link.say(Said::Done(outcome));
}

fn background(mut running: Running, job: &str, link: &mut Link) {
    let started = Outcome::done(format!("runs as job {job}"));
    link.say(Said::Done(Outcome { job: Some(job.to_owned()), ..started }));
    let mut waited_until: Option<Instant> = None;
    loop {
        let outcome = match running.wait(link, waited_until, false) {
            Event::Gone => break running.end(),
            Event::Ended | Event::Deadline | Event::Told(Told::Cancel) => {
                // The end is told to whoever asks next, if nobody waits for it.
                if waited_until.take().is_none() {
                    continue;
                }
                running.look(job)
            }
            Event::Told(Told::Attend(JobAct::Wait { timeout })) if running.ended.is_none() => {
                let timeout = timeout.unwrap_or(WAIT).min(LONGEST);
                waited_until = Some(Instant::now() + timeout.as_duration());
                continue;
            }
            Event::Told(Told::Attend(JobAct::Output | JobAct::Wait { .. })) => running.look(job),
            Event::Told(Told::Attend(JobAct::Stop)) => {
                running.end();
                running.look(job)
            }
            Event::Told(Told::Attend(JobAct::Input { text })) => running.take_input(job, &text),
        };
        let is_over = outcome.job.is_none();
        link.say(Said::Done(outcome));
        if is_over {
            break;
        }
    }
}

/// What wakes whoever attends to a running line.
enum Event {
    /// It ended.
    Ended,
    /// The time is over.
    Deadline,
    /// Something is wanted.
    Told(Told),
    /// Nobody is there any more.
    Gone,
}

/// A line that was started.
struct Running {
    shell: Pid,
    /// Readable when the shell has ended; taken away then.
    alive: Option<OwnedFd>,
    printed: Option<OwnedFd>,
    input: Option<OwnedFd>,
    typed: Vec<u8>,
    output: Output,
    ended: Option<Ended>,
}

impl Running {
    fn start(project: &Project, wanted: &Wanted) -> Result<Self, String> {
        let shell = ["bash", "sh"].iter().find_map(|name| Some((*name, find(name)?)));
        let (name, program) = shell.ok_or("there is no shell here, neither bash nor sh")?;
        let options: &[&str] =
            if name == "bash" { &["--noprofile", "--norc", "-c"] } else { &["-c"] };
        let args = [&[name], options, &[wanted.line.as_str()]].concat();
        let failed = |error: io::Error| format!("the shell can't be started: {}", kernel(&error));
        let streams = match (wanted.terminal, &wanted.job) {
            (true, _) => Streams::terminal(),
            (false, Some(_)) => Streams::pipes(true),
            (false, None) => Streams::pipes(false),
        };
        let variables = variables(wanted.terminal);
        let Started { process, input, printed } =
            start(&program, &args, &variables, project.root(), streams.map_err(failed)?)
                .map_err(failed)?;
        let alive = rustix::process::pidfd_open(process, PidfdFlags::empty());
        let output = if wanted.job.is_some() { Output::spooled() } else { Output::default() };
        Ok(Self {
            shell: process,
            alive: Some(alive.map_err(|error| failed(error.into()))?),
            printed: Some(printed),
            input,
            typed: Vec::new(),
            output,
            ended: None,
        })
    }

    /// Carries bytes until something happens. What is printed is passed on if it is `shown`.
    fn wait(&mut self, link: &mut Link, deadline: Option<Instant>, shown: bool) -> Event {
        loop {
            match link.told() {
                Ok(Some(told)) => return Event::Told(told),
                Ok(None) => {}
                Err(_) => return Event::Gone,
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Event::Deadline;
            }
            let tick = (shown && self.output.has_news()).then(|| now + TICK);
            let until = [deadline, tick].into_iter().flatten().min();
            if self.turn(link, until.map(|until| until - now)).is_err() {
                return Event::Gone;
            }
            if shown && let Some(news) = self.output.news() {
                link.say(Said::Progress(news));
            }
            if self.alive.is_none() && self.ended.is_some() && self.take_end() {
                return Event::Ended;
            }
        }
    }

    /// Whether the end was not noticed before.
    fn take_end(&mut self) -> bool {
        let first = !self.output.is_closed();
        if first {
            self.drain();
            self.output.close();
        }
        first
    }

    /// Waits for whatever comes first, and moves what can be moved.
    fn turn(&mut self, link: &mut Link, timeout: Option<Duration>) -> io::Result<()> {
        let [readable, ended, writable, told] = {
            let to_type = self.input.as_ref().filter(|_| !self.typed.is_empty());
            let sources = [
                (self.printed.as_ref(), PollFlags::IN),
                (self.alive.as_ref(), PollFlags::IN),
                (to_type, PollFlags::OUT),
                (Some(link.descriptor()), PollFlags::IN),
            ];
            wait_for(sources, timeout)?
        };
        if readable {
            self.pump();
        }
        if writable {
            self.type_on();
        }
        if ended {
            self.alive = None;
        }
        self.ended = self.ended.or(reap(self.shell));
        if told { link.listen() } else { Ok(()) }
    }

    /// Reads once; returns whether there was something.
    fn pump(&mut self) -> bool {
        let Some(printed) = &self.printed else { return false };
        let mut buffer = [0; 16 << 10];
        match rustix::io::read(printed, &mut buffer) {
            // A terminal whose last user is gone answers EIO: pty(7).
            Ok(0) | Err(rustix::io::Errno::IO) => self.printed = None,
            Ok(count) => {
                self.output.push(buffer.get(..count).unwrap_or_default());
                return true;
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.printed = None,
        }
        false
    }

    /// Reads what is there already, and no more than a pipe holds: whoever still writes is not the
    /// line that has ended.
    fn drain(&mut self) {
        const MOST: u32 = 64;
        for _ in 0..MOST {
            if !self.pump() {
                break;
            }
        }
    }

    fn type_on(&mut self) {
        let Some(input) = &self.input else { return };
        match rustix::io::write(input, &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => {
                self.typed.clear();
                self.input = None;
            }
        }
    }

    fn take_input(&mut self, job: &str, text: &str) -> Outcome {
        let job = Some(job.to_owned()).filter(|_| self.ended.is_none());
        if self.input.is_none() || job.is_none() {
            return Outcome { job, ..Outcome::failed("it reads no more") };
        }
        if self.typed.len() + text.len() > MOST_TYPED {
            return Outcome { job, ..Outcome::failed("it has not read what was typed before") };
        }
        self.typed.extend_from_slice(text.as_bytes());
        let text = format!("typed {}", count(text.len(), "byte"));
        Outcome { job, ..Outcome::done(text) }
    }

    /// Kills whatever is left of it.
    fn end(&mut self) {
        self.drain();
        let ended = end_all(self.shell);
        self.ended = self.ended.or(ended);
        self.alive = None;
        self.drain();
        self.output.close();
        (self.printed, self.input) = (None, None);
    }

    /// What a job printed since the last look, and whether it still runs.
    fn look(&mut self, job: &str) -> Outcome {
        match self.ended {
            Some(_) => {
                self.end();
                self.outcome(None)
            }
            None => {
                let outcome = self.outcome(Some(&format!("[job {job} is running]")));
                Outcome { job: Some(job.to_owned()), ..outcome }
            }
        }
    }

    /// What was printed since the last outcome, and how it ended.
    fn outcome(&mut self, note: Option<&str>) -> Outcome {
        let exit = self.ended.map(Ended::code);
        let ending = match (note, self.ended) {
            (Some(note), _) => Some(note.to_owned()),
            (None, Some(Ended::Exited(0))) => None,
            (None, Some(ended)) => Some(format!("[{ended}]")),
            (None, None) => Some("[it could not be ended]".to_owned()),
        };
        let page = self.output.take();
        let truncated = (page.shown < page.total).then_some(Truncated {
            shown: page.shown,
            total: Some(page.total),
            unit: Unit::Bytes,
            next_offset: None,
        });
        let mut text = page.text;
        if let Some(ending) = ending {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&ending);
        }
        if text.is_empty() {
            text.push_str("[no output]");
        }
        Outcome { exit, truncated, ..Outcome::done(text) }
    }
}

/// The variables of this process, and what keeps programs from waiting for a person.
fn variables(terminal: bool) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = std::env::vars_os().collect();
    let (term, pager) = if terminal { ("xterm-256color", "less") } else { ("dumb", "cat") };
    let ours = [
        ("TERM", term),
        ("PAGER", pager),
        ("GIT_PAGER", pager),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
    ];
    variables.retain(|(name, _)| ours.iter().all(|(ours, _)| name != ours));
    variables.extend(ours.map(|(name, value)| (name.into(), value.into())));
    variables
}

/// Which of these are ready, once one is or the time is over: poll(2).
pub(crate) fn wait_for<const COUNT: usize>(
    sources: [(Option<&OwnedFd>, PollFlags); COUNT],
    timeout: Option<Duration>,
) -> io::Result<[bool; COUNT]> {
    let mut wanted: Vec<_> = sources
        .iter()
        .filter_map(|(source, flags)| {
            Some(PollFd::from_borrowed_fd(source.as_ref()?.as_fd(), *flags))
        })
        .collect();
    let timeout = timeout.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match rustix::event::poll(&mut wanted, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok([false; COUNT]),
        Err(error) => return Err(error.into()),
    }
    let mut ready = wanted.iter().map(|source| !source.revents().is_empty());
    Ok(sources.map(|(source, _)| source.is_some() && ready.next().unwrap_or(false)))
}
