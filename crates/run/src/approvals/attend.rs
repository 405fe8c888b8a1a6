//! The person at the terminal of a command is asked what waits, one at a time, the oldest first.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use api::{AskCap, AskView, Choice, Person};
use broker::{Answerer, Approvals, Binding, Via, Watch};
use names::AskId;
use rustix::event::{PollFd, PollFlags, Timespec};
use sandbox::protocol::Channel;
use sandbox::{Attendant, Place, Prompt, Turn};

use super::{Holder, Say, Tell, Waiting, answer_of, capped, view};
use crate::store::RunDirectory;

/// An [`Attendant`] who knows of the asks of one run.
pub(crate) struct Attending<'a> {
    person: &'a dyn Person,
    source: Source,
    asks: Vec<Rc<AskView>>,
    /// The ask that the person looks at.
    shown: Option<Rc<AskView>>,
    /// The asks that were told of where nobody can answer.
    told: BTreeSet<AskId>,
    /// How often a cap was said.
    capped: u64,
    /// What is still to be said.
    aside: String,
}

impl<'a> Attending<'a> {
    /// For a run whose asks this process holds.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(crate) fn here(
        approvals: &Approvals,
        user: &str,
        person: &'a dyn Person,
    ) -> io::Result<Self> {
        let by = Answerer { user: user.to_owned(), via: Via::Terminal };
        let (watch, approvals) = (approvals.watch()?, approvals.clone());
        Ok(Self::at(
            Source::Here(Here {
                approvals,
                watch,
                by,
                known: BTreeMap::new(),
                answered: Vec::new(),
            }),
            person,
        ))
    }

    /// For a run whose asks another process holds.
    ///
    /// # Errors
    /// When it can't be reached.
    pub(crate) fn there(run: &RunDirectory, person: &'a dyn Person) -> io::Result<Self> {
        let Holder(channel) = Holder::reach(run)?;
        channel.send(&Say::Attend, &[])?;
        Ok(Self::at(Source::There(There::new(channel)?), person))
    }

    fn at(source: Source, person: &'a dyn Person) -> Self {
        Self {
            person,
            source,
            asks: Vec::new(),
            shown: None,
            told: BTreeSet::new(),
            capped: 0,
            aside: String::new(),
        }
    }

    fn refresh(&mut self) {
        let news = self.source.news();
        for (ask, outcome) in news.answered {
            let said = match outcome {
                Ok(choice) => self.person.chosen(&ask, &choice),
                Err(why) => self.person.not_counted(&ask, &why),
            };
            self.forget(&ask);
            self.aside.push_str(&said);
        }
        if let Some((number, cap)) = news.capped
            && number > self.capped
        {
            self.capped = number;
            self.aside.push_str(&self.person.capped(&cap));
        }
        self.asks = news.asks;
        if let Some(shown) = self.shown.take_if(|shown| !self.asks.contains(shown)) {
            self.aside.push_str(&self.person.gone(&shown));
        }
    }

    /// The person has been told what became of it.
    fn forget(&mut self, ask: &AskView) {
        self.shown.take_if(|shown| shown.id == ask.id);
    }

    fn prompt(&mut self, rows: u16, columns: u16) -> Option<Prompt> {
        let ask = self.asks.first()?;
        self.shown = Some(Rc::clone(ask));
        let more = self.asks.len().saturating_sub(1);
        let text = self.person.prompt(ask, more, rows, columns);
        Some(Prompt { number: number(&ask.id), text })
    }

    fn tell_aside(&mut self) {
        // Where there is no prompt, nobody looks at one.
        self.shown = None;
        for ask in &self.asks {
            if self.told.insert(ask.id.clone()) {
                self.aside.push_str(&self.person.waits(ask));
            }
        }
    }
}

/// An id as a number: they differ where the ids do.
fn number(id: &AskId) -> u64 {
    id.as_str().bytes().fold(0, |number, byte| number << 8 | u64::from(byte))
}

impl Attendant for Attending<'_> {
    fn news(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Here(here) => here.watch.as_fd(),
            Source::There(there) => there.fd(),
        }
    }

    fn turn(&mut self, place: Place) -> Turn {
        self.refresh();
        let prompt = match place {
            Place::Terminal { rows, columns } if self.person.can_be_asked(rows, columns) => {
                self.prompt(rows, columns)
            }
            Place::Terminal { .. } | Place::Aside => {
                self.tell_aside();
                None
            }
        };
        let aside = std::mem::take(&mut self.aside);
        Turn { aside, prompt, waiting: !self.asks.is_empty() }
    }

    fn key(&mut self, key: u8) {
        let Some(choice) = self.person.choice(key) else { return };
        if let Some(ask) = self.shown.clone() {
            self.source.answer(ask, choice);
        }
    }

    fn stop(&mut self) {
        match &mut self.source {
            Source::Here(here) => here.approvals.stop(),
            // The command ends; the sandbox is not this process's to end.
            Source::There(there) => there.waiting.stop = true,
        }
    }

    fn wants_stop(&self) -> bool {
        match &self.source {
            Source::Here(here) => here.approvals.wants_stop(),
            Source::There(there) => there.waiting.stop,
        }
    }
}

/// Where the asks are.
enum Source {
    Here(Here),
    There(There),
}

/// What came of an answer.
type Outcome = (Rc<AskView>, Result<Choice, String>);

/// What a source knows now.
struct News {
    asks: Vec<Rc<AskView>>,
    answered: Vec<Outcome>,
    capped: Option<(u64, AskCap)>,
}

impl Source {
    fn news(&mut self) -> News {
        match self {
            Self::Here(here) => here.news(),
            Self::There(there) => there.news(),
        }
    }

    fn answer(&mut self, ask: Rc<AskView>, choice: Choice) {
        match self {
            Self::Here(here) => here.answer(ask, choice),
            Self::There(there) => there.answer(ask, choice),
        }
    }
}

/// In this process.
struct Here {
    approvals: Approvals,
    watch: Watch,
    by: Answerer,
    known: BTreeMap<AskId, Rc<AskView>>,
    answered: Vec<Outcome>,
}

impl Here {
    fn news(&mut self) -> News {
        self.watch.clear();
        let pending = self.approvals.pending();
        let known = &self.known;
        let of = |ask: &broker::Ask| match known.get(&ask.id) {
            Some(known) => Rc::clone(known),
            None => Rc::new(view(ask)),
        };
        let asks: Vec<_> = pending.iter().map(|ask| of(ask)).collect();
        self.known = asks.iter().map(|ask| (ask.id.clone(), Rc::clone(ask))).collect();
        let answered = std::mem::take(&mut self.answered);
        News { asks, answered, capped: capped(&self.approvals) }
    }

    fn answer(&mut self, ask: Rc<AskView>, choice: Choice) {
        let binding = Binding::from_digest(ask.binding);
        let counted = self.approvals.answer(&ask.id, answer_of(choice.clone()), &self.by, &binding);
        let outcome = counted.map(|_| choice).map_err(|error| error.to_string());
        self.answered.push((ask, outcome));
    }
}

/// In another process, which says what changes.
struct There {
    /// Gone with the process.
    channel: Option<Channel>,
    /// Never readable; what is waited for where there is no process any more.
    silence: (UnixStream, UnixStream),
    known: BTreeMap<AskId, Rc<AskView>>,
    waiting: Waiting,
    /// Answers that were sent.
    sent: BTreeMap<AskId, (Rc<AskView>, Choice)>,
    answered: Vec<Outcome>,
}

impl There {
    fn new(channel: Channel) -> io::Result<Self> {
        Ok(Self {
            channel: Some(channel),
            silence: UnixStream::pair()?,
            known: BTreeMap::new(),
            waiting: Waiting::default(),
            sent: BTreeMap::new(),
            answered: Vec::new(),
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.channel {
            Some(channel) => channel.as_fd(),
            None => self.silence.0.as_fd(),
        }
    }

    fn news(&mut self) -> News {
        while let Some(channel) = self.channel.as_ref().filter(|channel| is_readable(channel)) {
            match channel.receive() {
                Ok((tell, _)) => self.take(tell),
                Err(_) => {
                    self.channel = None;
                    self.waiting.asks.clear();
                }
            }
        }
        let waiting = self.waiting.asks.iter();
        let asks: Vec<_> = waiting.filter_map(|id| self.known.get(id).cloned()).collect();
        let answered = std::mem::take(&mut self.answered);
        News { asks, answered, capped: self.waiting.capped.clone() }
    }

    fn take(&mut self, tell: Tell) {
        match tell {
            Tell::Ask(ask) => drop(self.known.insert(ask.id.clone(), Rc::new(*ask))),
            Tell::Waiting(waiting) => {
                self.known.retain(|id, _| waiting.asks.contains(id));
                let stop = self.waiting.stop || waiting.stop;
                self.waiting = Waiting { stop, ..waiting };
            }
            Tell::Counted { id, .. } => {
                let sent = self.sent.remove(&id);
                self.answered.extend(sent.map(|(ask, choice)| (ask, Ok(choice))));
            }
            Tell::Refused { id, why } => {
                let sent = self.sent.remove(&id);
                self.answered.extend(sent.map(|(ask, _)| (ask, Err(why))));
            }
        }
    }

    fn answer(&mut self, ask: Rc<AskView>, choice: Choice) {
        let Some(channel) = &self.channel else { return };
        let say = Say::Answer { id: ask.id.clone(), binding: ask.binding, choice: choice.clone() };
        // A process that is gone is noticed at its socket.
        if channel.send(&say, &[]).is_ok() {
            self.sent.insert(ask.id.clone(), (ask, choice));
        }
    }
}

fn is_readable(channel: &Channel) -> bool {
    let mut sources = [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut sources, Some(&now)).is_ok_and(|count| count > 0)
}
