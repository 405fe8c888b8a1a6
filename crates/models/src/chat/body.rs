//! A request as chat completions take it. It borrows the conversation, which is sent whole with
//! each step.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Chat, REASONING};
use crate::wire::{data_url, joined, left_by, text};
use crate::{Effort, Message, Part, Request, ToolCall, ToolSpec};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: Function<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
        #[serde(flatten)]
        reasoning: BTreeMap<&'static str, &'a str>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Call<'a> {
    Function { id: &'a str, function: Called<'a> },
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { json_schema: Schema<'a> },
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(chat: &'a Chat, request: &'a Request) -> Self {
        Self {
            model: &chat.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            tools: request.tools.iter().map(Tool::new).collect(),
            messages: messages(chat.provider, request),
            max_tokens: request.max_output,
            reasoning_effort: request.effort.map(nearest),
            response_format: request.schema.as_ref().map(Format::new),
        }
    }
}

/// The steps that every server with this field knows.
fn nearest(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    }
}

impl<'a> Format<'a> {
    fn new(schema: &'a Value) -> Self {
        Self::JsonSchema { json_schema: Schema { name: "answer", schema, strict: true } }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = tool;
        Self::Function { function: Function { name, description, parameters } }
    }
}

fn messages<'a>(provider: &str, request: &'a Request) -> Vec<Said<'a>> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(Said::System { content: &request.system });
    }
    for message in &request.messages {
        match message {
            Message::User(parts) => messages.extend(user(parts)),
            Message::Assistant(parts) => messages.push(assistant(provider, parts)),
        }
    }
    messages
}

fn assistant<'a>(provider: &str, parts: &'a [Part]) -> Said<'a> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(Call::new(call)),
        _ => None,
    });
    // A server that told its reasoning may need it to go on after a tool call.
    let reasoning = parts.iter().filter_map(|part| {
        let told_in = left_by(provider, part).map(|item| text(item, "/field"))?;
        let field = REASONING.into_iter().find(|field| *field == told_in)?;
        let Part::Reasoning { text, .. } = part else { return None };
        Some((field, text.as_str()))
    });
    Said::Assistant {
        content: joined(texts, ""),
        tool_calls: calls.collect(),
        reasoning: reasoning.collect(),
    }
}

impl<'a> Call<'a> {
    fn new(call: &'a ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call;
        Self::Function { id, function: Called { name, arguments } }
    }
}

/// Results are messages of their own and hold text only; their images follow as the user's.
fn user(parts: &[Part]) -> Vec<Said<'_>> {
    let mut messages = Vec::new();
    let mut pieces = Vec::new();
    for part in parts {
        if let Part::ToolResult { call, parts, .. } = part {
            messages.push(Said::Tool { tool_call_id: call, content: all_text(parts) });
            pieces.extend(parts.iter().filter_map(image));
        }
    }
    pieces.extend(parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Piece::Text { text }),
        part => image(part),
    }));
    let content = match pieces.as_slice() {
        [] => return messages,
        [Piece::Text { text }] => Content::Text(text),
        _ => Content::Pieces(pieces),
    };
    messages.push(Said::User { content });
    messages
}

fn all_text(parts: &[Part]) -> Cow<'_, str> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image { .. } => Some("(an image, shown below)"),
        _ => None,
    });
    joined(texts, "\n")
}

fn image(part: &Part) -> Option<Piece<'_>> {
    let Part::Image { media_type, data } = part else { return None };
    Some(Piece::ImageUrl { image_url: ImageUrl { url: data_url(media_type, data) } })
}
