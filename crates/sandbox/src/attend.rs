//! The person at the terminal, while a command runs: one prompt at a time, and never a wait.
//!
//! What is said and what a key means is an [`Attendant`]'s business. This is the mechanism: the
//! terminal is taken from the command for as long as a prompt is open and given back as it was, on
//! every path; keys that were not typed at the prompt never reach it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::termios::QueueSelector;

use crate::relay::{Signals, Streams, poll};
use crate::terminal::{self, RawTerminal};

/// For so long after a prompt has appeared, keys are not for it: they were typed for something else.
const DEAF: Duration = Duration::from_millis(300);
/// How often whoever waits for a place to ask looks for one.
const LOOK: Duration = Duration::from_millis(250);
/// How long a terminal may take to swallow the last words.
const FAREWELL: Duration = Duration::from_millis(200);

/// Ends whatever sequence the command had begun, turns to a screen of its own, plain and empty,
/// with the usual letters and no margins: nothing that the command has drawn is there to mislead.
const OPEN: &[u8] = b"\x18\x1b\\\x1b[?1049h\x1b[r\x1b[?6l\x1b[?7h\x1b(B\x0f\x1b[0m\x1b[2J\x1b[H";
/// Back to what was there.
const CLOSE: &[u8] = b"\x1b[0m\x1b[?1049l";
/// The same screen again, empty.
const CLEAR: &[u8] = b"\x1b[0m\x1b[2J\x1b[H";

/// Who asks the person. None of its methods waits for anybody.
pub trait Attendant {
    /// Readable when there may be something new.
    fn news(&self) -> BorrowedFd<'_>;
    /// Takes in what is new, and says what is to be seen at this place.
    fn turn(&mut self, place: Place) -> Turn;
    /// A key was pressed at the prompt that is open.
    fn key(&mut self, key: u8);
    /// The person wants the run to end.
    fn stop(&mut self);
    /// Whether the run is to end.
    fn wants_stop(&self) -> bool;
}

/// Where something can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the person's terminal: a prompt can be opened.
    Terminal {
        /// Its height.
        rows: u16,
        /// Its width.
        columns: u16,
    },
    /// On standard error, where nobody can answer.
    Aside,
}

/// What is to be seen. Lines end with a line feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// What is said once, beside the command's own output.
    pub aside: String,
    /// The prompt that is to be open.
    pub prompt: Option<Prompt>,
    /// Something waits for an answer, whether there is a prompt or not.
    pub waiting: bool,
}

/// A question on the person's terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Two prompts with one number are the same question.
    pub number: u64,
    /// What it says.
    pub text: String,
}

/// Waits until `until` is readable, while an attendant asks; false if the person wanted an end
/// first. So does a signal to end.
///
/// # Errors
/// `EBADF`, `ENOMEM`.
pub fn attend(
    attendant: &mut dyn Attendant,
    streams: &Streams,
    signals: &Signals,
    until: BorrowedFd<'_>,
) -> io::Result<bool> {
    let mut watch = Watch::new(Some(attendant), streams, signals);
    loop {
        match watch.next(until, Courtesy::None)? {
            Heard::Ready => return Ok(true),
            Heard::Stop => return Ok(false),
            Heard::Signal(Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT) => watch.stop(),
            Heard::Signal(_) | Heard::TimeIsUp => {}
        }
    }
}

/// Waits for something, for signals, and for the person.
pub struct Watch<'a> {
    desk: Desk<'a>,
    signals: &'a Signals,
    /// When time is up, if it still has to be said.
    deadline: Option<Instant>,
}

/// What a [`Watch`] hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// What was waited for is readable.
    Ready,
    /// A signal came.
    Signal(Signal),
    /// The person wants an end.
    Stop,
    /// Time is up. It is heard once.
    TimeIsUp,
}

/// Whether what is waited for waits in turn while the person reads a prompt, because it would be
/// shown on the same terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Courtesy {
    /// It does not.
    None,
    /// It does.
    WaitForThePerson,
}

impl<'a> Watch<'a> {
    /// With an attendant who asks, if somebody may have to be asked.
    pub fn new(
        attendant: Option<&'a mut dyn Attendant>,
        streams: &Streams,
        signals: &'a Signals,
    ) -> Self {
        Self { desk: Desk::new(attendant, streams), signals, deadline: None }
    }

    /// The same, which hears when it is that late.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// The next of it.
    ///
    /// # Errors
    /// `EBADF`, `ENOMEM`.
    pub fn next(&mut self, until: BorrowedFd<'_>, courtesy: Courtesy) -> io::Result<Heard> {
        loop {
            let polite = courtesy == Courtesy::WaitForThePerson && self.desk.holds_terminal();
            let (over, signalled, ready) = {
                let wanted = if polite { PollFlags::empty() } else { PollFlags::IN };
                let mut sources = vec![
                    PollFd::from_borrowed_fd(until, wanted),
                    PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                ];
                self.desk.register(&mut sources);
                poll(&mut sources, Some(LOOK))?;
                let mut events = sources.iter().map(|source| !source.revents().is_empty());
                let (over, signalled) = (events.next(), events.next());
                (over == Some(true), signalled == Some(true), self.desk.ready(events))
            };
            if over {
                return Ok(Heard::Ready);
            }
            if self.desk.wants_stop() {
                return Ok(Heard::Stop);
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.deadline = None;
                return Ok(Heard::TimeIsUp);
            }
            if signalled && let Some(signal) = self.signals.next()? {
                return Ok(Heard::Signal(signal));
            }
            self.desk.turn(ready);
        }
    }

    /// The run is to end: so whoever attends is told.
    pub fn stop(&mut self) {
        self.desk.stop();
    }
}

/// What of a desk is ready.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ready {
    news: bool,
    terminal: bool,
}

/// The attendant and the person's terminal.
pub(crate) struct Desk<'a> {
    attendant: Option<&'a mut dyn Attendant>,
    error: Option<OwnedFd>,
    terminal: Opened,
    open: Option<Open>,
    unsent: VecDeque<u8>,
    waiting: bool,
    looked: Instant,
    closed: bool,
}

/// Whether the person's terminal was looked for, and found.
enum Opened {
    NotYet,
    There(OwnedFd),
    No,
}

/// A prompt that is open.
struct Open {
    number: u64,
    text: String,
    deaf_until: Instant,
    _raw: RawTerminal<OwnedFd>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(attendant: Option<&'a mut dyn Attendant>, streams: &Streams) -> Self {
        let attended = streams.input.is_terminal() || streams.error.is_terminal();
        let terminal = if attendant.is_some() && attended { Opened::NotYet } else { Opened::No };
        Self {
            error: attendant.is_some().then(|| streams.error.try_clone().ok()).flatten(),
            attendant,
            terminal,
            open: None,
            unsent: VecDeque::new(),
            waiting: false,
            looked: Instant::now(),
            closed: false,
        }
    }

    /// Adds what is waited for; [`Desk::ready`] reads it back.
    pub(crate) fn register<'b>(&'b self, sources: &mut Vec<PollFd<'b>>) {
        let Some(attendant) = &self.attendant else { return };
        sources.push(PollFd::from_borrowed_fd(attendant.news(), PollFlags::IN));
        if let Some(terminal) = self.terminal_in_use() {
            let out = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            sources.push(PollFd::new(terminal, PollFlags::IN | out));
        }
    }

    /// What of it is ready, from the events in the order of [`Desk::register`].
    pub(crate) fn ready(&self, mut events: impl Iterator<Item = bool>) -> Ready {
        if self.attendant.is_none() {
            return Ready::default();
        }
        let news = events.next().unwrap_or(false);
        let terminal = self.terminal_in_use().is_some() && events.next().unwrap_or(false);
        Ready { news, terminal }
    }

    /// How many sources it registers.
    pub(crate) fn sources(&self) -> usize {
        usize::from(self.attendant.is_some()) + usize::from(self.terminal_in_use().is_some())
    }

    /// Whether the terminal is the command's no more, for the moment.
    pub(crate) fn holds_terminal(&self) -> bool {
        self.terminal_in_use().is_some()
    }

    fn terminal_in_use(&self) -> Option<&OwnedFd> {
        match &self.terminal {
            Opened::There(fd) if self.open.is_some() || !self.unsent.is_empty() => Some(fd),
            _ => None,
        }
    }

    /// Does what is to be done; the answer is whether the screen was given back just now.
    pub(crate) fn turn(&mut self, ready: Ready) -> bool {
        let held = self.holds_terminal();
        if ready.terminal {
            self.read_keys();
        }
        let overdue = self.waiting && self.open.is_none() && self.looked.elapsed() >= LOOK;
        if ready.news || ready.terminal || overdue {
            self.look();
        }
        self.flush();
        held && !self.holds_terminal()
    }

    /// The run is to end.
    pub(crate) fn stop(&mut self) {
        if let Some(attendant) = &mut self.attendant {
            attendant.stop();
        }
    }

    /// Whether the run is to end.
    pub(crate) fn wants_stop(&self) -> bool {
        self.attendant.as_ref().is_some_and(|attendant| attendant.wants_stop())
    }

    /// Asks nothing any more, and gives the terminal back.
    pub(crate) fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.show("", None);
        let until = Instant::now() + FAREWELL;
        while self.terminal_in_use().is_some() && Instant::now() < until {
            if let Some(terminal) = self.terminal_in_use() {
                // A terminal that takes nothing is left alone when the time is over.
                let _ = poll(&mut [PollFd::new(terminal, PollFlags::OUT)], Some(FAREWELL));
            }
            self.flush();
        }
        self.attendant = None;
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        let place = self.place();
        let Some(attendant) = &mut self.attendant else { return };
        let Turn { aside, prompt, waiting } = attendant.turn(place);
        self.waiting = waiting;
        self.show(&aside, prompt);
    }

    /// A prompt is only for the terminal's foreground: what is in the background is stopped when it
    /// touches it, termios(3).
    fn place(&mut self) -> Place {
        if matches!(self.terminal, Opened::NotYet) {
            self.terminal = open_terminal().map_or(Opened::No, Opened::There);
        }
        let Opened::There(terminal) = &self.terminal else { return Place::Aside };
        let ours = rustix::process::getpgrp();
        if rustix::termios::tcgetpgrp(terminal).ok() != Some(ours) {
            return Place::Aside;
        }
        let size = terminal::size(terminal.as_fd());
        Place::Terminal { rows: size.ws_row, columns: size.ws_col }
    }

    fn show(&mut self, aside: &str, prompt: Option<Prompt>) {
        let was_open = self.open.take();
        if was_open.is_some() && (prompt.is_none() || !aside.is_empty()) {
            self.unsent.extend(CLOSE);
        }
        if was_open.is_none() && !aside.is_empty() {
            self.say_aside(aside);
        } else {
            self.unsent.extend(with_returns(aside));
        }
        let Some(prompt) = prompt else {
            // The mode goes back with `was_open`.
            return;
        };
        match was_open {
            Some(open) if open.number == prompt.number && aside.is_empty() => {
                self.show_again(open, prompt);
            }
            Some(open) if aside.is_empty() => {
                self.unsent.extend(CLEAR.iter().copied().chain(with_returns(&prompt.text)));
                let deaf_until = Instant::now() + DEAF;
                let Prompt { number, text } = prompt;
                self.open = Some(Open { number, text, deaf_until, ..open });
            }
            open => {
                drop(open);
                self.open_prompt(prompt);
            }
        }
    }

    /// The same question, which may have to say more of what else waits.
    fn show_again(&mut self, mut open: Open, prompt: Prompt) {
        if open.text != prompt.text {
            self.unsent.extend(CLEAR.iter().copied().chain(with_returns(&prompt.text)));
            open.text = prompt.text;
        }
        self.open = Some(open);
    }

    fn open_prompt(&mut self, prompt: Prompt) {
        let Opened::There(terminal) = &self.terminal else { return };
        let Ok(raw) = terminal.try_clone().and_then(RawTerminal::enter) else { return };
        // What was typed up to now was typed for something else.
        let _ = rustix::termios::tcflush(terminal, QueueSelector::IFlush);
        self.unsent.extend(OPEN.iter().copied().chain(with_returns(&prompt.text)));
        let deaf_until = Instant::now() + DEAF;
        let Prompt { number, text } = prompt;
        self.open = Some(Open { number, text, deaf_until, _raw: raw });
    }

    /// Only a key by itself is a key. What comes as several bytes is a sequence of the terminal's,
    /// or pasted, and so may be what follows.
    fn read_keys(&mut self) {
        let Opened::There(terminal) = &self.terminal else { return };
        let mut buffer = [0_u8; 256];
        let typed = match rustix::io::read(terminal, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => return self.lose_terminal(),
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(_) => return,
        };
        let Some(open) = &mut self.open else { return };
        let now = Instant::now();
        match typed {
            [key] if now >= open.deaf_until => {
                if let Some(attendant) = &mut self.attendant {
                    attendant.key(*key);
                }
            }
            _ => open.deaf_until = open.deaf_until.max(now + DEAF),
        }
    }

    /// The window was closed.
    fn lose_terminal(&mut self) {
        self.open = None;
        self.unsent.clear();
        self.terminal = Opened::No;
    }

    fn flush(&mut self) {
        let Opened::There(terminal) = &self.terminal else { return };
        while !self.unsent.is_empty() {
            let (first, _) = self.unsent.as_slices();
            match rustix::io::write(terminal, first) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => return self.lose_terminal(),
            }
        }
    }

    /// Says something where there is no prompt. Nobody waits for a reader that does not read.
    fn say_aside(&mut self, text: &str) {
        let Some(error) = &self.error else { return };
        let mut sources = [PollFd::new(error, PollFlags::OUT)];
        let writable = poll(&mut sources, Some(Duration::ZERO)).is_ok()
            && sources.iter().any(|source| source.revents().contains(PollFlags::OUT));
        if !writable {
            return;
        }
        // A terminal that the command has made raw needs its returns.
        let text: Vec<u8> = match error.is_terminal() {
            true => with_returns(text).collect(),
            false => text.bytes().collect(),
        };
        // A pipe that is ready takes this much at once: pipe(7).
        let first = text.get(..4096).unwrap_or(&text);
        let _ = rustix::io::write(error, first);
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

/// A raw terminal moves down at a line feed, and nothing else.
fn with_returns(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.bytes().flat_map(|byte| {
        let returned = (byte == b'\n').then_some(b'\r');
        returned.into_iter().chain([byte])
    })
}

/// The controlling terminal, opened anew so that its flags are ours alone.
fn open_terminal() -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
    File::from(terminal.try_clone().ok()?).is_terminal().then_some(terminal)
}
