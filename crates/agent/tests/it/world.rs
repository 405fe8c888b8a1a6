//! The outside, faked: a model that follows a closure, hands with files in memory, a journal, a
//! clock that is set.

use api::event::{Event, Question};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use agent::{
    Brief, CallId, Carried, Conversation, Entry, Hands, Instructions, Interrupt, Journal,
    JournalError, Outcome, Outside, Person, Reply, Said, Session, Setting,
};
use hands::proposal::{self, Proposal};
use models::{
    Abilities, Answer, Cancel, Message, MicroUsd, Model, ModelError, ModelId, Part, Price, Rates,
    Request, Stop, ToolCall, Usage,
};
use names::{Digest, Timestamp};

use crate::wellformed;

type Answered = Result<Answer, ModelError>;
type Think = Box<dyn FnMut(&Request, &Cancel, &mut dyn FnMut(models::Event)) -> Answered + Send>;

/// A model that follows a closure, and holds every request to the rules.
pub(crate) struct Fake {
    id: ModelId,
    pub(crate) abilities: Abilities,
    think: Mutex<Think>,
    pub(crate) requests: Mutex<usize>,
}

impl Fake {
    pub(crate) fn new(
        think: impl FnMut(&Request, &Cancel, &mut dyn FnMut(models::Event)) -> Answered + Send + 'static,
    ) -> Self {
        Self {
            id: ModelId::new("scripted", "fake"),
            abilities: Abilities {
                context: Some(100_000),
                max_output: Some(4_000),
                images: true,
                effort: false,
                price: Some(price()),
            },
            think: Mutex::new(Box::new(think)),
            requests: Mutex::new(0),
        }
    }

    /// Plays these answers, then says that it is done.
    pub(crate) fn script(answers: Vec<Answered>) -> Self {
        let mut answers = VecDeque::from(answers);
        Self::new(move |_, _, sink| {
            let answer = answers.pop_front().unwrap_or_else(|| Ok(says("done")));
            if let Ok(answer) = &answer {
                for part in &answer.parts {
                    if let Part::Text(text) = part {
                        sink(models::Event::Text(text.clone()));
                    }
                }
            }
            answer
        })
    }

    pub(crate) fn asked(&self) -> usize {
        *self.requests.lock().unwrap()
    }
}

impl Model for Fake {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn answer(
        &self,
        request: &Request,
        cancel: &Cancel,
        sink: &mut dyn FnMut(models::Event),
    ) -> Answered {
        *self.requests.lock().unwrap() += 1;
        let flaw = wellformed::flaw(request);
        assert_eq!(flaw, None, "{:#?}", request.messages);
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        (self.think.lock().unwrap())(request, cancel, sink)
    }
}

/// One micro-dollar a token in, ten out.
pub(crate) fn price() -> Price {
    let rates = Rates {
        input: MicroUsd(1_000_000),
        output: MicroUsd(10_000_000),
        cache_read: MicroUsd(100_000),
        cache_write: MicroUsd(1_000_000),
    };
    Price { rates, long: None }
}

pub(crate) fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

pub(crate) fn says(text: &str) -> Answer {
    Answer { parts: vec![Part::Text(text.into())], stop: Stop::Done, usage: Some(used(100, 10)) }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}

pub(crate) fn calls(parts: Vec<Part>) -> Answer {
    Answer { parts, stop: Stop::Tools, usage: Some(used(100, 10)) }
}

/// One call of bash.
pub(crate) fn bash(id: &str, command: &str) -> Answer {
    let arguments = serde_json::json!({ "command": command }).to_string();
    calls(vec![call(id, "bash", &arguments)])
}

/// Hands with files in memory.
pub(crate) struct Desk {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) carried: Vec<(CallId, Proposal)>,
    pub(crate) bash: Box<dyn FnMut(&str) -> Carried>,
}

impl Default for Desk {
    fn default() -> Self {
        let bash = |line: &str| {
            Carried::Outcome(proposal::Outcome {
                exit: Some(0),
                ..proposal::Outcome::done(format!("ran {line}"))
            })
        };
        Self { files: BTreeMap::new(), carried: Vec::new(), bash: Box::new(bash) }
    }
}

impl Hands for Desk {
    fn carry_out(
        &mut self,
        call: &CallId,
        proposal: &Proposal,
        progress: &mut dyn FnMut(String),
        _: &Cancel,
    ) -> Carried {
        if let Proposal::Bash { command, .. } = proposal {
            progress(format!("+ {command}\n"));
        }
        self.carried.push((call.clone(), proposal.clone()));
        let outcome = match proposal {
            Proposal::Bash { command, .. } => return (self.bash)(command),
            Proposal::Read { path, .. } => match self.files.get(path) {
                Some(text) => proposal::Outcome {
                    digest: Some(Digest::of(text.as_bytes())),
                    ..proposal::Outcome::done(text.clone())
                },
                None => proposal::Outcome::failed("there is no such file"),
            },
            Proposal::Write { path, content, expected } => {
                self.write(path, content.clone(), *expected)
            }
            Proposal::Edit { path, edits, expected } => {
                let mut text = self.files.get(path).cloned().unwrap_or_default();
                for edit in edits {
                    text = text.replacen(&edit.old, &edit.new, 1);
                }
                self.write(path, text, *expected)
            }
            other => proposal::Outcome::done(format!("did {}", other.tool())),
        };
        Carried::Outcome(outcome)
    }
}

impl Desk {
    fn write(
        &mut self,
        path: &str,
        content: String,
        expected: Option<Digest>,
    ) -> proposal::Outcome {
        let now = self.files.get(path).map(|text| Digest::of(text.as_bytes()));
        if now != expected {
            return proposal::Outcome::failed("the file is not what was read");
        }
        let digest = Some(Digest::of(content.as_bytes()));
        self.files.insert(path.to_owned(), content);
        proposal::Outcome { digest, ..proposal::Outcome::done("written") }
    }
}

/// A journal in memory, which may break.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) entries: Vec<Entry>,
    pub(crate) breaks_after: Option<usize>,
}

impl Memory {
    pub(crate) fn text(&self) -> String {
        self.entries.iter().map(Entry::line).collect()
    }
}

impl Journal for Memory {
    fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        if self.breaks_after.is_some_and(|most| self.entries.len() >= most) {
            return Err(JournalError("the disk is full".into()));
        }
        self.entries.push(entry.clone());
        Ok(())
    }
}

/// A person who gives the same reply to everything.
pub(crate) struct Says(pub(crate) Reply);

impl Person for Says {
    fn ask(&mut self, _: &Question, _: &Cancel) -> Reply {
        self.0.clone()
    }
}

pub(crate) struct World {
    pub(crate) model: Fake,
    pub(crate) desk: Desk,
    pub(crate) person: Says,
    pub(crate) journal: Memory,
    pub(crate) events: Vec<Event>,
    pub(crate) now: Cell<i64>,
    pub(crate) brief: Brief,
}

impl World {
    pub(crate) fn new(model: Fake) -> Self {
        Self {
            model,
            desk: Desk::default(),
            person: Says(Reply::Nobody),
            journal: Memory::default(),
            events: Vec::new(),
            now: Cell::new(0),
            brief: brief(),
        }
    }

    pub(crate) fn script(answers: Vec<Answer>) -> Self {
        Self::new(Fake::script(answers.into_iter().map(Ok).collect()))
    }

    /// Has a new conversation.
    pub(crate) fn talk<T>(&mut self, talk: impl FnOnce(&mut Conversation<'_>) -> T) -> T {
        self.converse(None, talk)
    }

    /// Goes on with a session.
    pub(crate) fn go_on<T>(
        &mut self,
        session: &Session,
        talk: impl FnOnce(&mut Conversation<'_>) -> T,
    ) -> T {
        self.converse(Some(session), talk)
    }

    /// One turn of a new conversation.
    pub(crate) fn turn(&mut self, words: &str) -> Outcome {
        let said = Said::words(words);
        self.talk(|conversation| conversation.turn(said, &Interrupt::new()))
    }

    fn converse<T>(
        &mut self,
        session: Option<&Session>,
        talk: impl FnOnce(&mut Conversation<'_>) -> T,
    ) -> T {
        let Self { model, desk, person, journal, events, now, brief } = self;
        let clock = || Timestamp::from_millis(now.get());
        let outside = Outside {
            model,
            hands: desk,
            person,
            journal,
            clock: &clock,
            watch: &mut |event| events.push(event.clone()),
        };
        let brief = brief.clone();
        let mut conversation = match session {
            None => Conversation::begin(outside, brief),
            Some(session) => Conversation::resume(outside, brief, session),
        }
        .unwrap();
        talk(&mut conversation)
    }
}

pub(crate) fn brief() -> Brief {
    Brief {
        session: "s1".into(),
        setting: Setting {
            project: "/p".into(),
            date: "2026-01-02".into(),
            platform: "Linux x86_64".into(),
            mode: "overlay, nothing is applied before a person has seen it".into(),
            sandbox: "There is no network.".into(),
        },
        instructions: vec![Instructions { path: "AGENTS.md".into(), text: "Use tabs.".into() }],
        ..Brief::default()
    }
}

/// The conversation as a model sees it, for people.
pub(crate) fn shown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let side = if matches!(message, Message::User(_)) { "person" } else { "model" };
        for part in message.parts() {
            text.push_str(&format!("{side}: {}\n", line(part)));
        }
    }
    text
}

fn line(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Image { media_type, .. } => format!("<{media_type}>"),
        Part::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.arguments),
        Part::ToolResult { call, parts, failed } => {
            let failed = if *failed { " failed" } else { "" };
            let parts: Vec<_> = parts.iter().map(line).collect();
            format!("result {call}{failed}: {}", parts.join(" | "))
        }
        Part::Reasoning { text, .. } => format!("thinks {text}"),
    }
}
