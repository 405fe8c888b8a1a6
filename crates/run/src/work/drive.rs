//! Between the conversation, which has a thread of its own, and the person at the terminal.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use agent::{Interrupt, Reply};
use api::Person;
use api::event::{Event, Question};
use models::Cancel;
use rustix::process::Signal;
use sandbox::{Courtesy, Heard, Streams, Watch};

/// Events that may wait to be shown. Then the conversation waits too.
const WAITING: usize = 256;
/// How often a question looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// Longest answer that is read, in bytes.
const LONGEST: usize = 64 << 10;

/// What the conversation has for the person.
enum Said {
    Event(Box<Event>),
    Question(Question, SyncSender<Reply>),
    /// The agent says that it is done, with so many tokens left for checks; what now?
    Done(SyncSender<Next>, Option<u64>),
}

/// What follows after the agent said that it is done.
pub(super) enum Next {
    /// Nothing.
    Over,
    /// Another turn, in which it is told this.
    Again(String),
}

/// Why there is nothing to show any more.
pub(super) enum Driven {
    /// The conversation is over.
    Over,
    /// The agent says that it is done, and it waits for what comes next.
    Done {
        /// Hears that.
        reply: SyncSender<Next>,
        /// Tokens that are left for checks, if they are counted.
        left: Option<u64>,
    },
}

/// The conversation's end of the line. When it goes, the conversation is over.
pub(super) struct Line {
    said: SyncSender<Said>,
    bell: UnixStream,
}

/// The person's end.
pub(super) struct Here {
    said: Receiver<Said>,
    bell: UnixStream,
}

impl Line {
    /// Both ends.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn new() -> io::Result<(Self, Here)> {
        let (said, heard) = sync_channel(WAITING);
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        Ok((Self { said, bell }, Here { said: heard, bell: rung }))
    }

    /// Shows an event. Whoever is gone sees none.
    pub(super) fn show(&self, event: &Event) {
        self.say(Said::Event(Box::new(event.clone())));
    }

    /// Says that the agent is done, with the tokens that are left for checks, and waits for what
    /// comes next.
    pub(super) fn done(&self, left: Option<u64>) -> Next {
        let (reply, replied) = sync_channel(1);
        self.say(Said::Done(reply, left));
        replied.recv().unwrap_or(Next::Over)
    }

    fn say(&self, said: Said) {
        if self.said.send(said).is_ok() {
            // A bell that is full rings already.
            let _ = (&self.bell).write(&[0]);
        }
    }
}

/// Questions of the agent go to whoever sits at the terminal.
impl agent::Person for &Line {
    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Reply {
        let (reply, replied) = sync_channel(1);
        self.say(Said::Question(question.clone(), reply));
        loop {
            match replied.recv_timeout(LOOK) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Timeout) if !cancel.is_cancelled() => {}
                Err(_) => return Reply::Nobody,
            }
        }
    }
}

/// Shows what the conversation does and asks what it asks, until it is over or says that it is done.
/// The first interrupt ends the turn, a second the run; so does the deadline, whatever is being
/// waited for.
///
/// # Errors
/// When signals or the terminal can't be waited for.
pub(super) fn drive(
    here: &mut Here,
    mut watch: Watch<'_>,
    streams: &Streams,
    interrupt: &Interrupt,
    person: &dyn Person,
    show: &mut dyn FnMut(&Event),
) -> io::Result<Driven> {
    let mut asked: Option<SyncSender<Reply>> = None;
    loop {
        let until = if asked.is_some() { streams.input.as_fd() } else { here.bell.as_fd() };
        match watch.next(until, Courtesy::WaitForThePerson)? {
            Heard::Ready => match asked.take() {
                Some(reply) => drop(reply.send(read_reply(streams))),
                None => match here.listen(person, show) {
                    Listened::Question(reply) => asked = Some(reply),
                    Listened::Nothing => {}
                    Listened::Done(reply, left) => {
                        return Ok(Driven::Done { reply, left });
                    }
                    Listened::End => return Ok(Driven::Over),
                },
            },
            // What waits for an answer hears that none comes after it can see why.
            Heard::Signal(Signal::INT) => {
                interrupt.press();
                asked = None;
            }
            Heard::Signal(Signal::TERM | Signal::HUP | Signal::QUIT) | Heard::Stop => {
                interrupt.end_run();
                asked = None;
            }
            Heard::TimeIsUp => {
                interrupt.end_time();
                asked = None;
            }
            Heard::Signal(_) => {}
        }
    }
}

enum Listened {
    Nothing,
    Question(SyncSender<Reply>),
    Done(SyncSender<Next>, Option<u64>),
    End,
}

impl Here {
    fn listen(&self, person: &dyn Person, show: &mut dyn FnMut(&Event)) -> Listened {
        // What rang before is looked at below.
        let _ = (&self.bell).read(&mut [0; WAITING]);
        loop {
            match self.said.try_recv() {
                Ok(Said::Event(event)) => show(&event),
                Ok(Said::Question(question, reply)) => match person.question(&question) {
                    Some(text) => {
                        // Where nobody reads it, nobody answers it either.
                        let _ = io::stderr().write_all(text.as_bytes());
                        return Listened::Question(reply);
                    }
                    None => drop(reply.send(Reply::Nobody)),
                },
                Ok(Said::Done(reply, left)) => return Listened::Done(reply, left),
                Err(TryRecvError::Empty) => return Listened::Nothing,
                Err(TryRecvError::Disconnected) => return Listened::End,
            }
        }
    }
}

/// A line that was typed. An empty one declines; the end of the input is nobody.
fn read_reply(streams: &Streams) -> Reply {
    let mut bytes = vec![0; LONGEST];
    match rustix::io::read(&streams.input, &mut bytes) {
        Ok(0) | Err(_) => Reply::Nobody,
        Ok(count) => {
            let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
            match text.trim() {
                "" => Reply::Declined,
                text => Reply::Answer(text.to_owned()),
            }
        }
    }
}
