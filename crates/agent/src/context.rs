//! What the model sees: one request that grows in place, and how it is made smaller.
//!
//! The request is never copied: a step adds to it and lends it to the model. It is well-formed
//! after every step: the two sides take turns, the person's side first and last, and each call is
//! followed by exactly one result with its id. What a compaction does is a pure function of its
//! entry, so a session that is read back gives the same request.

mod fold;
mod weight;

use models::{Abilities, Effort, Message, Part, Request, ToolSpec};

use crate::outside::CallId;
use crate::prompt::{Instructions, instructions};
use crate::session::{Compaction, Said};
use crate::text::middle_cut;
pub(crate) use fold::Outputs;
use weight::{overhead, weigh};

/// What is assumed of a model of which nothing is known, in tokens.
const UNKNOWN_WINDOW: u64 = 32_768;
const UNKNOWN_OUTPUT: u64 = 4_096;
/// More output than this is not kept free.
const MOST_OUTPUT: u64 = 16_384;

/// The model's view of the conversation.
#[derive(Debug)]
pub(crate) struct Context {
    request: Request,
    /// Weight in bytes of each message.
    weights: Vec<u64>,
    /// The entry with which each message began.
    entries: Vec<u64>,
    /// What the person said, and in which message.
    heard: Vec<(usize, String)>,
    /// Calls that have no result yet.
    open: Vec<CallId>,
    instructions: String,
    summary: Option<String>,
    bytes: u64,
    bytes_after_compaction: u64,
    window: Window,
    density: Density,
}

/// How much fits, in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Input and output together.
    pub(crate) all: u64,
    /// Kept free for an answer.
    pub(crate) output: u64,
}

/// How many bytes make a token: guessed first, then learned from what a provider counts.
#[derive(Debug, Clone, Copy)]
struct Density {
    thousandths: u64,
}

impl Window {
    pub(crate) fn of(abilities: &Abilities) -> Self {
        let all = abilities.context.unwrap_or(UNKNOWN_WINDOW);
        let output = abilities.max_output.unwrap_or(UNKNOWN_OUTPUT);
        Self { all, output: output.min(MOST_OUTPUT).min(all / 4) }
    }

    /// What may be input.
    pub(crate) fn room(self) -> u64 {
        self.all.saturating_sub(self.output)
    }

    /// The room in bytes, by a careful guess.
    fn room_bytes(self) -> u64 {
        self.room().saturating_mul(3)
    }

    /// The most bytes that one tool's result may take.
    pub(crate) fn most_of_result(self) -> u64 {
        (self.room_bytes() / 8).min(48 * 1024)
    }

    /// The most bytes that all results of one answer may take.
    pub(crate) fn most_of_results(self) -> u64 {
        (self.room_bytes() / 5).min(128 * 1024)
    }

    /// The most bytes of one text, or of the arguments of one call, that the model wrote.
    pub(crate) fn most_of_text(self) -> u64 {
        (self.room_bytes() / 4).min(256 * 1024)
    }
}

impl Density {
    fn guess() -> Self {
        Self { thousandths: 3_000 }
    }

    fn tokens(self, bytes: u64) -> u64 {
        bytes.saturating_mul(1_000).div_ceil(self.thousandths.max(1))
    }

    /// A twentieth less than was seen, and within what text can be.
    fn learn(&mut self, bytes: u64, tokens: u64) {
        if let Some(seen) = bytes.saturating_mul(950).checked_div(tokens) {
            self.thousandths = seen.clamp(1_000, 4_000);
        }
    }

    fn tighten(&mut self) {
        self.thousandths = (self.thousandths / 3 * 2).max(500);
    }
}

impl Context {
    pub(crate) fn new(request: Request, files: &[Instructions], window: Window) -> Self {
        let tools: u64 = request.tools.iter().map(tool_weight).sum();
        let schema = request.schema.as_ref().map_or(0, |schema| schema.to_string().len() as u64);
        let most = (window.room_bytes() / 5).min(64 * 1024);
        let instructions = instructions(files, usize::try_from(most).unwrap_or(usize::MAX));
        let bytes = request.system.len() as u64 + tools + schema;
        Self {
            request,
            weights: Vec::new(),
            entries: Vec::new(),
            heard: Vec::new(),
            open: Vec::new(),
            instructions,
            summary: None,
            bytes,
            bytes_after_compaction: 0,
            window,
            density: Density::guess(),
        }
    }

    /// The request as it is, asking for at most so much output.
    pub(crate) fn request(&mut self, max_output: u64) -> &Request {
        self.request.max_output = Some(u32::try_from(max_output).unwrap_or(u32::MAX));
        &self.request
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.request.messages
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Calls that have no result yet, in their order.
    pub(crate) fn open(&self) -> &[CallId] {
        &self.open
    }

    /// The person said something. INVARIANT: no call is open.
    pub(crate) fn hear(&mut self, entry: u64, said: &Said) {
        let input_share = usize::try_from(self.window.room_bytes() / 5).unwrap_or(usize::MAX);
        let input = said.input.as_deref().map(|input| {
            format!("<input>\n{}\n</input>", middle_cut(input, input_share.min(256 * 1024)))
        });
        if self.request.messages.is_empty() && !self.instructions.is_empty() {
            self.add(entry, Part::Text(self.instructions.clone()));
        }
        let words = if said.words.trim().is_empty() { "(no words)" } else { &said.words };
        self.add(entry, Part::Text(words.to_owned()));
        let at = self.request.messages.len().saturating_sub(1);
        let kept = input.as_deref().map(|input| middle_cut(input, input_share.min(8 * 1024) / 2));
        let heard = [Some(words.to_owned()), kept].into_iter().flatten().collect::<Vec<_>>();
        self.heard.push((at, heard.join("\n")));
        for part in input.map(Part::Text).into_iter().chain(said.images.iter().cloned()) {
            self.add(entry, part);
        }
    }

    /// The agent itself tells the model something.
    pub(crate) fn tell(&mut self, entry: u64, text: &str) {
        self.add(entry, Part::Text(text.to_owned()));
    }

    /// The model answered. Every call in it has an id that no other call has.
    pub(crate) fn answer(&mut self, entry: u64, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let calls = parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(CallId(call.id.clone())),
            _ => None,
        });
        self.open.extend(calls);
        let weight = parts.iter().map(weigh).sum::<u64>() + overhead();
        self.bytes = self.bytes.saturating_add(weight);
        if let (Some(Message::Assistant(last)), Some(sum)) =
            (self.request.messages.last_mut(), self.weights.last_mut())
        {
            last.extend(parts);
            *sum = sum.saturating_add(weight);
            return;
        }
        self.request.messages.push(Message::Assistant(parts));
        self.weights.push(weight);
        self.entries.push(entry);
    }

    /// A call has a result. A result of a call that is not open is no result, and is left out.
    pub(crate) fn result(&mut self, entry: u64, call: &CallId, parts: Vec<Part>, failed: bool) {
        let Some(at) = self.open.iter().position(|open| open == call) else { return };
        self.open.remove(at);
        self.add(entry, Part::ToolResult { call: call.0.clone(), parts, failed });
    }

    /// Adds to the person's side.
    fn add(&mut self, entry: u64, part: Part) {
        let weight = weigh(&part) + overhead();
        self.bytes = self.bytes.saturating_add(weight);
        if let (Some(Message::User(last)), Some(sum)) =
            (self.request.messages.last_mut(), self.weights.last_mut())
        {
            last.push(part);
            *sum = sum.saturating_add(weight);
            return;
        }
        self.request.messages.push(Message::User(vec![part]));
        self.weights.push(weight);
        self.entries.push(entry);
    }

    /// Tokens of the request, estimated.
    pub(crate) fn tokens(&self) -> u64 {
        self.density.tokens(self.bytes)
    }

    /// Tokens of the request at most, for when nobody counts: text has two bytes to a token.
    pub(crate) fn most_tokens(&self) -> u64 {
        self.bytes.div_ceil(2)
    }

    /// The provider counted so many tokens of a request that had so many bytes.
    pub(crate) fn learn(&mut self, bytes: u64, tokens: u64) {
        self.density.learn(bytes, tokens);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The provider says that it is too long, so a token has fewer bytes than was thought.
    pub(crate) fn tighten(&mut self) {
        self.density.tighten();
    }

    /// Whether the request and an answer fit the window.
    pub(crate) fn fits(&self) -> bool {
        self.tokens() <= self.window.room()
    }

    /// Whether it is time to make room: at three quarters, but not again before it has grown.
    pub(crate) fn is_crowded(&self) -> bool {
        let grown = self.bytes_after_compaction.saturating_add(self.window.room_bytes() / 8);
        let crowded = self.tokens() > self.window.room() / 4 * 3;
        !self.fits() || (crowded && self.bytes > grown)
    }

    /// Lends the request with one more text at its end, and takes that off again.
    pub(crate) fn with_last<T>(
        &mut self,
        text: &str,
        max_output: u64,
        ask: impl FnOnce(&Request) -> T,
    ) -> T {
        let open = matches!(self.request.messages.last(), Some(Message::User(_)));
        let part = Part::Text(text.to_owned());
        match self.request.messages.last_mut() {
            Some(Message::User(last)) => last.push(part),
            _ => self.request.messages.push(Message::User(vec![part])),
        }
        let schema = self.request.schema.take();
        let answer = ask(self.request(max_output));
        self.request.schema = schema;
        match self.request.messages.last_mut() {
            Some(Message::User(last)) if open => drop(last.pop()),
            _ => drop(self.request.messages.pop()),
        }
        answer
    }

    /// Makes it smaller, as said.
    pub(crate) fn compact(&mut self, how: &Compaction) {
        match how {
            Compaction::Fold { summary, kept, todo } => self.fold(summary.as_deref(), *kept, todo),
            Compaction::Empty { calls } => self.empty(calls),
        }
        self.bytes_after_compaction = self.bytes;
    }
}

/// The request of a conversation in which nothing was said yet.
pub(crate) fn blank(
    system: String,
    tools: Vec<ToolSpec>,
    effort: Option<Effort>,
    schema: Option<serde_json::Value>,
    session: &str,
) -> Request {
    let cache_key = Some(session.to_owned());
    Request { system, tools, effort, schema, cache_key, ..Request::default() }
}

fn tool_weight(tool: &ToolSpec) -> u64 {
    (tool.name.len() + tool.description.len() + tool.parameters.to_string().len()) as u64
        + overhead()
}
