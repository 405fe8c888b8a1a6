//! Scripts: what a model says, turn by turn, as a TOML file. Whoever plays one (the scripted model,
//! or a server for tests) asks a [`Player`] what comes next.
//!
//! ```toml
//! name = "fix-the-test"
//!
//! [[turn]]
//! expect = { tools = "bash", last = "make the tests pass" }
//! reasoning = "First look."
//! text = "I run the tests."
//! call = [{ name = "bash", arguments = { command = "cargo test" } }]
//!
//! [[turn]]
//! when = { last = "test result: ok" }     # otherwise this turn is passed over
//! text = "They pass already."
//! next = "end"                            # the label of a turn
//!
//! [[turn]]
//! label = "end"
//! text = "Done."
//! ```

use serde::Deserialize;
use serde_json::Value;

use crate::{Message, Part, Request, Stop, ToolCall, Usage};

/// A script that can't be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Not TOML, or with keys that no script has.
    #[error("the script is not in order: {0}")]
    Form(String),
    /// A turn goes on at a label that no turn has.
    #[error("no turn has the label \"{0}\"")]
    Label(String),
    /// A request is not what the script expects.
    #[error("turn {turn} expects {expected}")]
    Unexpected {
        /// Which turn, from 1.
        turn: usize,
        /// What it expects and did not get.
        expected: String,
    },
    /// The script says so.
    #[error("turn {turn}: {why}")]
    Failed {
        /// Which turn, from 1.
        turn: usize,
        /// In the script's words.
        why: String,
    },
    /// Asked for more than the script has.
    #[error("the script is at its end: it has {0} turns")]
    End(usize),
}

/// A script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the model is called.
    pub name: String,
    /// The context window that it claims to have, in tokens.
    pub context: Option<u64>,
    /// Its turns, in order.
    #[serde(default)]
    pub turn: Vec<Turn>,
    /// Answers to requests beside the conversation. One that holds is played instead of the turn,
    /// and as often as it is asked for.
    #[serde(default)]
    pub aside: Vec<Turn>,
}

/// One answer. Every key is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// What `next` calls it.
    pub label: Option<String>,
    /// Where this doesn't hold, the turn is passed over.
    pub when: Option<Condition>,
    /// Where this doesn't hold, the script has failed.
    pub expect: Option<Condition>,
    /// What the model thinks.
    pub reasoning: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// The tools that it calls.
    pub call: Vec<Call>,
    /// How it ends, if not as usual: `length`, `refused`, or anything else.
    pub stop: Option<String>,
    /// What it claims to have used; without it, an estimate.
    pub usage: Option<Tokens>,
    /// How long it takes to begin.
    pub delay: Option<names::Span>,
    /// How long it takes from one piece to the next.
    pub pace: Option<names::Span>,
    /// What goes wrong with it.
    pub fault: Option<Fault>,
    /// The label of the turn that follows.
    pub next: Option<String>,
    /// Whether it is played again and again, until it is passed over.
    pub repeat: bool,
    /// Ends the script as failed.
    pub fail: Option<String>,
}

/// A tool call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id; without one, a new one.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Option<Value>,
    /// The arguments as text, for what is no JSON.
    pub raw: Option<String>,
}

/// Tokens, as in [`Usage`].
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the names of Usage")]
pub struct Tokens {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// What a request must be like. All that is named has to hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// Texts in what came after the model's last answer.
    pub last: Texts,
    /// Texts anywhere in the conversation.
    pub anywhere: Texts,
    /// Texts nowhere in the conversation.
    pub absent: Texts,
    /// Texts in the system prompt.
    pub system: Texts,
    /// Names of tools that are offered.
    pub tools: Texts,
    /// Whether there are tools at all.
    pub any_tools: Option<bool>,
    /// How many tool results came after the model's last answer.
    pub results: Option<usize>,
    /// Whether the last of them failed.
    pub failed: Option<bool>,
    /// Text in the name of the model that is asked for.
    pub model: Option<String>,
}

/// A text or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Texts {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        };
        texts.iter().map(String::as_str)
    }
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// How often, before the turn is played as it should be.
    #[serde(default = "once")]
    pub times: u32,
    /// What `Retry-After` says.
    pub after: Option<names::Span>,
}

fn once() -> u32 {
    1
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// 429.
    RateLimit,
    /// 500.
    ServerError,
    /// 529.
    Overloaded,
    /// 401.
    Unauthorized,
    /// 400, for a conversation that is too long.
    TooLong,
    /// The connection closes before there is an answer.
    Reset,
    /// The connection closes in the middle of the answer.
    Disconnect,
    /// The answer ends in the middle of an event.
    HalfEvent,
    /// An event says that the provider is overloaded, before there is anything of the answer.
    OverloadedEvent,
    /// An event in the middle of the answer says that something failed.
    ErrorEvent,
    /// An event is no JSON.
    Malformed,
    /// Pieces of a tool call name another call.
    WrongIds,
    /// There is no answer and no end.
    Silent,
    /// No usage is told. The answer is right.
    NoUsage,
    /// Events of unknown types come in between. The answer is right.
    UnknownEvents,
    /// Every byte comes alone. The answer is right.
    Split,
    /// The answer comes in one piece, though it should stream. Chat completions can do with it.
    Unstreamed,
}

impl FaultKind {
    /// Whether the answer is whole and right in spite of it.
    #[must_use]
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::NoUsage | Self::UnknownEvents | Self::Split)
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// [`ScriptError::Form`] and [`ScriptError::Label`].
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self =
            toml::from_str(text).map_err(|error| ScriptError::Form(error.to_string()))?;
        let labels = script.turn.iter().filter_map(|turn| turn.next.as_deref());
        for label in labels {
            script.labelled(label)?;
        }
        Ok(script)
    }

    fn labelled(&self, label: &str) -> Result<usize, ScriptError> {
        let found = self.turn.iter().position(|turn| turn.label.as_deref() == Some(label));
        found.ok_or_else(|| ScriptError::Label(label.to_owned()))
    }
}

/// What comes next.
#[derive(Debug, Clone)]
pub struct Play {
    /// The parts of the answer.
    pub parts: Vec<Part>,
    /// Why it ends.
    pub stop: Stop,
    /// What it used.
    pub usage: Option<Usage>,
    /// How long it takes to begin.
    pub delay: std::time::Duration,
    /// How long it takes from one piece to the next.
    pub pace: std::time::Duration,
    /// What goes wrong with it.
    pub fault: Option<Fault>,
}

/// A script being played.
#[derive(Debug)]
pub struct Player {
    script: Script,
    at: usize,
    /// Answers so far, for ids that are made up.
    played: usize,
    /// How often the fault of the turn has happened.
    faulted: u32,
}

impl Player {
    /// From the first turn.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script, at: 0, played: 0, faulted: 0 }
    }

    /// The script.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Whether all turns were played or passed over.
    #[must_use]
    pub fn is_at_its_end(&self) -> bool {
        self.at >= self.script.turn.len()
    }

    /// What comes next, for a request to the model called `model`.
    ///
    /// # Errors
    /// What the script expects and did not get, its own failure, or its end.
    pub fn play(&mut self, model: &str, request: &Request) -> Result<Play, ScriptError> {
        let holds = |turn: &&Turn| turn.when.as_ref().is_none_or(|it| it.holds(model, request));
        if let Some(aside) = self.script.aside.iter().find(holds) {
            return Ok(aside.play(request, self.played, 0));
        }
        let rest = self.script.turn.iter().enumerate().skip(self.at);
        let found = rest.into_iter().find(|(_, turn)| holds(turn));
        let Some((at, turn)) = found else {
            self.at = self.script.turn.len();
            return Err(ScriptError::End(self.at));
        };
        turn.check(at, model, request)?;
        if at != self.at {
            (self.at, self.faulted) = (at, 0);
        }
        let play = turn.play(request, self.played, self.faulted);
        self.played += 1;
        if play.fault.is_some() {
            self.faulted += 1;
        }
        if play.fault.is_none_or(|fault| fault.kind.is_harmless()) {
            let next = match &turn.next {
                Some(label) => self.script.labelled(label)?,
                None if turn.repeat => at,
                None => at + 1,
            };
            (self.at, self.faulted) = (next, 0);
        }
        Ok(play)
    }
}

impl Turn {
    fn check(&self, at: usize, model: &str, request: &Request) -> Result<(), ScriptError> {
        let turn = at + 1;
        let expect = self.expect.as_ref();
        if let Some(expected) = expect.and_then(|it| it.unmet(model, request)) {
            return Err(ScriptError::Unexpected { turn, expected });
        }
        match &self.fail {
            Some(why) => Err(ScriptError::Failed { turn, why: why.clone() }),
            None => Ok(()),
        }
    }

    fn play(&self, request: &Request, played: usize, faulted: u32) -> Play {
        let fault = self.fault.filter(|fault| faulted < fault.times);
        let parts = self.parts(played);
        let usage = match fault.map(|fault| fault.kind) {
            Some(FaultKind::NoUsage) => None,
            _ => Some(self.usage.map_or_else(|| Usage::estimate(request, &parts), Usage::from)),
        };
        let span = |span: Option<names::Span>| span.map(names::Span::as_duration);
        Play {
            stop: self.stop(),
            parts,
            usage,
            delay: span(self.delay).unwrap_or_default(),
            pace: span(self.pace).unwrap_or_default(),
            fault,
        }
    }

    fn parts(&self, played: usize) -> Vec<Part> {
        let reasoning = self.reasoning.iter();
        let reasoning = reasoning.map(|text| Part::Reasoning { text: text.clone(), opaque: None });
        let text = self.text.iter().map(|text| Part::Text(text.clone()));
        let calls = self.call.iter().enumerate().map(|(at, call)| {
            let made_up = || format!("call_{played}_{at}");
            Part::ToolCall(ToolCall {
                id: call.id.clone().unwrap_or_else(made_up),
                name: call.name.clone(),
                arguments: call.arguments(),
            })
        });
        reasoning.chain(text).chain(calls).collect()
    }

    fn stop(&self) -> Stop {
        match self.stop.as_deref() {
            None if self.call.is_empty() => Stop::Done,
            None => Stop::Tools,
            Some("length") => Stop::Length,
            Some("refused") => Stop::Refused(self.text.clone().unwrap_or_default()),
            Some(other) => Stop::Other(other.to_owned()),
        }
    }
}

impl Call {
    fn arguments(&self) -> String {
        match (&self.raw, &self.arguments) {
            (Some(raw), _) => raw.clone(),
            (None, Some(arguments)) => arguments.to_string(),
            (None, None) => "{}".to_owned(),
        }
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let Tokens { input, cache_read, cache_write, output, reasoning } = tokens;
        Self { input, cache_read, cache_write, output, reasoning }
    }
}

impl Condition {
    fn holds(&self, model: &str, request: &Request) -> bool {
        self.unmet(model, request).is_none()
    }

    /// The first thing that does not hold, in words.
    fn unmet(&self, model: &str, request: &Request) -> Option<String> {
        let last = last(request);
        let all: Vec<&Part> = request.messages.iter().flat_map(Message::parts).collect();
        let missing = |texts: &Texts, there: &dyn Fn(&str) -> bool, place: &str| {
            let missing = texts.iter().find(|text| !there(text));
            missing.map(|text| format!("\"{text}\" {place}"))
        };
        missing(&self.last, &|text| contains(&last, text), "since the last answer")
            .or_else(|| {
                missing(&self.anywhere, &|text| contains(&all, text), "in the conversation")
            })
            .or_else(|| missing(&self.absent, &|text| !contains(&all, text), "nowhere"))
            .or_else(|| {
                missing(&self.system, &|text| request.system.contains(text), "in the system prompt")
            })
            .or_else(|| {
                let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
                missing(&self.tools, &offered, "among the tools")
            })
            .or_else(|| self.unmet_count(model, request, &last))
    }

    fn unmet_count(&self, model: &str, request: &Request, last: &[&Part]) -> Option<String> {
        let failed = last.iter().filter_map(|part| match part {
            Part::ToolResult { failed, .. } => Some(*failed),
            _ => None,
        });
        let failed: Vec<bool> = failed.collect();
        if self.any_tools.is_some_and(|any| any == request.tools.is_empty()) {
            return Some("tools, or none, as it says".to_owned());
        }
        if let Some(results) = self.results.filter(|results| *results != failed.len()) {
            return Some(format!("{results} results, not {}", failed.len()));
        }
        if self.failed.is_some_and(|want| failed.last() != Some(&want)) {
            return Some("a result that failed, or one that did not, as it says".to_owned());
        }
        let other = self.model.as_ref().filter(|name| !model.contains(name.as_str()));
        other.map(|name| format!("a model called \"{name}\""))
    }
}

/// What came after the model's last answer.
fn last(request: &Request) -> Vec<&Part> {
    let after = request.messages.iter().rev();
    let mut messages: Vec<_> =
        after.take_while(|message| matches!(message, Message::User(_))).collect();
    messages.reverse();
    messages.into_iter().flat_map(Message::parts).collect()
}

fn contains(parts: &[&Part], wanted: &str) -> bool {
    parts.iter().any(|part| match part {
        Part::Text(text) | Part::Reasoning { text, .. } => text.contains(wanted),
        Part::ToolCall(call) => call.name.contains(wanted) || call.arguments.contains(wanted),
        Part::ToolResult { parts, .. } => contains(&parts.iter().collect::<Vec<_>>(), wanted),
        Part::Image { .. } => false,
    })
}
