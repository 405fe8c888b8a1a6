//! A request as the Messages API takes it. It borrows the conversation, which is sent whole with
//! each step.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Anthropic, PROVIDER};
use crate::known::Thinking;
use crate::wire::{base64_of, left_by};
use crate::{Effort, Message, Part, Request, ToolCall, ToolSpec};

/// Most tokens of an answer where the model's own bound is not known.
const MAX_TOKENS: u64 = 32_000;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Marked<Tool<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Marked<Block<'a>>>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Think>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
}

/// What may be the end of what should be cached: tools, system and messages up to here.
#[derive(Serialize)]
struct Marked<T> {
    #[serde(flatten)]
    it: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Marked<Block<'a>>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A block that goes back as it came.
    #[serde(untagged)]
    Opaque(&'a Map<String, Value>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: String },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Think {
    Adaptive {
        display: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<Binding>,
    },
    Enabled {
        budget_tokens: u64,
    },
}

#[derive(Serialize)]
struct Binding {
    prefix_mismatch_behavior: &'static str,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { schema: &'a Value },
}

impl<'a> Body<'a> {
    pub(super) fn new(anthropic: &'a Anthropic, request: &'a Request) -> Self {
        let known = &anthropic.known;
        let most = known.abilities.max_output.unwrap_or(MAX_TOKENS);
        let max_tokens = request.max_output.map_or(most, |asked| u64::from(asked).min(most));
        let system = Some(request.system.as_str()).filter(|system| !system.trim().is_empty());
        Self {
            model: &anthropic.model,
            max_tokens,
            stream: true,
            tools: tools(&request.tools, request.system.is_empty()),
            system: system.map(|text| Block::Text { text }.cached()).into_iter().collect(),
            messages: messages(&request.messages),
            thinking: think(known.thinking, request.effort, max_tokens),
            output_config: output_config(anthropic, request),
        }
    }
}

fn think(how: Thinking, effort: Option<Effort>, max_tokens: u64) -> Option<Think> {
    let adaptive = |block_binding| Some(Think::Adaptive { display: "summarized", block_binding });
    match (how, effort) {
        (Thinking::Adaptive, _) => adaptive(None),
        // Thinking is bound to what came before it. After a compaction, the API should leave out
        // what no longer fits instead of refusing the conversation.
        (Thinking::Preserved, _) => {
            adaptive(Some(Binding { prefix_mismatch_behavior: "drop_block" }))
        }
        (Thinking::Budget, Some(effort)) => {
            budget(effort, max_tokens).map(|budget_tokens| Think::Enabled { budget_tokens })
        }
        _ => None,
    }
}

/// Tokens to think with, of models that know no effort: at least 1,024, less than the answer's.
fn budget(effort: Effort, max_tokens: u64) -> Option<u64> {
    let tokens = match effort {
        Effort::Minimal => return None,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Max => 32_000,
    };
    Some(tokens.min(max_tokens / 2)).filter(|tokens| *tokens >= 1_024)
}

fn output_config<'a>(anthropic: &'a Anthropic, request: &'a Request) -> Option<OutputConfig<'a>> {
    let effort = request.effort.and_then(|effort| anthropic.known.nearest(effort));
    let format = request.schema.as_ref().map(|schema| Format::JsonSchema { schema });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

/// The tools come before the system prompt; its mark covers them too, so they need one only where
/// there is none.
fn tools(tools: &[ToolSpec], mark: bool) -> Vec<Marked<Tool<'_>>> {
    let mut all: Vec<_> = tools.iter().map(|tool| Marked::from(Tool::new(tool))).collect();
    if let Some(last) = all.last_mut().filter(|_| mark) {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    all
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = tool;
        Self { name, description, input_schema: parameters }
    }
}

impl<T> From<T> for Marked<T> {
    fn from(it: T) -> Self {
        Self { it, cache_control: None }
    }
}

impl<'a> Block<'a> {
    fn cached(self) -> Marked<Self> {
        Marked { it: self, cache_control: Some(CacheControl::Ephemeral) }
    }
}

/// The conversation with roles in turn. The last two messages of the user end in a mark: the one
/// before was the end of the last request, so that it is found in the cache.
fn messages(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User(parts) => ("user", user(parts)),
            Message::Assistant(parts) => ("assistant", assistant(parts)),
        };
        let content = blocks.into_iter().map(Marked::from);
        match turns.last_mut() {
            _ if content.len() == 0 => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content: content.collect() }),
        }
    }
    let users = turns.iter_mut().rev().filter(|turn| turn.role == "user");
    for last in users.take(2).filter_map(|turn| turn.content.last_mut()) {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    turns
}

/// Results have to come first.
fn user(parts: &[Part]) -> Vec<Block<'_>> {
    let is_result = |part: &&Part| matches!(part, Part::ToolResult { .. });
    let (results, others): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(is_result);
    results.into_iter().chain(others).filter_map(said_by_user).collect()
}

fn said_by_user(part: &Part) -> Option<Block<'_>> {
    match part {
        // The API takes no text without a visible character.
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Block::Text { text }),
        Part::Image { media_type, data } => {
            Some(Block::Image { source: Source::Base64 { media_type, data: base64_of(data) } })
        }
        Part::ToolResult { call, parts, failed } => Some(Block::ToolResult {
            tool_use_id: id(call),
            content: parts.iter().filter_map(said_by_user).collect(),
            is_error: *failed,
        }),
        Part::ToolCall(_) | Part::Reasoning { .. } => None,
    }
}

fn assistant<'a>(parts: &'a [Part]) -> Vec<Block<'a>> {
    let block = |part: &'a Part| match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Block::Text { text }),
        Part::ToolCall(ToolCall { id: call, name, arguments }) => {
            Some(Block::ToolUse { id: id(call), name, input: input(arguments) })
        }
        Part::Reasoning { .. } => left_by(PROVIDER, part)?.as_object().map(Block::Opaque),
        Part::Image { .. } | Part::ToolResult { .. } => None,
    };
    parts.iter().filter_map(block).collect()
}

/// An id of another provider may have characters that this one refuses.
fn id(id: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match id.chars().all(allowed) {
        true => Cow::Borrowed(id),
        false => id.chars().map(|c| if allowed(c) { c } else { '_' }).collect(),
    }
}

/// The API takes an object only; what the model wrote instead is kept in one.
fn input(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("malformed".to_owned(), json!(arguments))]),
    }
}
