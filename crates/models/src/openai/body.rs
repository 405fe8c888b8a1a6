//! A request as the Responses API takes it. It borrows the conversation, which is sent whole with
//! each step.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{OpenAi, PROVIDER};
use crate::wire::{data_url, joined, left_by, text};
use crate::{Message, Part, Request, ToolCall, ToolSpec};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(flatten)]
    reasoning: Option<Reasoning<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { name: &'a str, description: &'a str, parameters: &'a Value, strict: bool },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a Value>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
    /// An item that goes back as it came.
    #[serde(untagged)]
    Opaque(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
    OutputText { text: &'a str },
}

/// Text alone goes as text, which every model takes.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Content(Vec<Content<'a>>),
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { name: &'static str, schema: &'a Value, strict: bool },
}

/// How to think, and what of it to send along.
#[derive(Serialize)]
struct Reasoning<'a> {
    reasoning: Thinking<'a>,
    include: [&'static str; 1],
}

#[derive(Serialize)]
struct Thinking<'a> {
    summary: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
}

impl<'a> Body<'a> {
    pub(super) fn new(openai: &'a OpenAi, request: &'a Request) -> Self {
        Self {
            model: &openai.model,
            stream: true,
            store: false,
            instructions: &request.system,
            tools: request.tools.iter().map(Tool::new).collect(),
            input: request.messages.iter().flat_map(items).collect(),
            max_output_tokens: request.max_output,
            prompt_cache_key: request.cache_key.as_deref(),
            text: request.schema.as_ref().map(|schema| Text { format: Format::new(schema) }),
            reasoning: openai.known.abilities.effort.then(|| Reasoning {
                reasoning: Thinking {
                    summary: "auto",
                    effort: request.effort.and_then(|effort| openai.known.nearest(effort)),
                },
                include: ["reasoning.encrypted_content"],
            }),
        }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = tool;
        Self::Function { name, description, parameters, strict: false }
    }
}

impl<'a> Format<'a> {
    fn new(schema: &'a Value) -> Self {
        Self::JsonSchema { name: "answer", schema, strict: true }
    }
}

fn items(message: &Message) -> Vec<Item<'_>> {
    match message {
        Message::User(parts) => user(parts),
        Message::Assistant(parts) => assistant(parts),
    }
}

/// Results are items of their own; what else the user said is one message after them.
fn user<'a>(parts: &'a [Part]) -> Vec<Item<'a>> {
    let result = |part: &'a Part| match part {
        Part::ToolResult { call, parts, .. } => {
            Some(Item::FunctionCallOutput { call_id: call, output: output(parts) })
        }
        _ => None,
    };
    let mut items: Vec<_> = parts.iter().filter_map(result).collect();
    let content: Vec<_> = parts.iter().filter_map(said_by_user).collect();
    if !content.is_empty() {
        items.push(Item::Message { role: "user", content, phase: None });
    }
    items
}

fn said_by_user(part: &Part) -> Option<Content<'_>> {
    match part {
        Part::Text(text) => Some(Content::InputText { text }),
        Part::Image { media_type, data } => {
            Some(Content::InputImage { image_url: data_url(media_type, data), detail: "auto" })
        }
        Part::ToolCall(_) | Part::ToolResult { .. } | Part::Reasoning { .. } => None,
    }
}

fn output(parts: &[Part]) -> Output<'_> {
    let texts: Option<Vec<&str>> = parts.iter().map(only_text).collect();
    match texts {
        Some(texts) => Output::Text(joined(texts, "\n")),
        None => Output::Content(parts.iter().filter_map(said_by_user).collect()),
    }
}

fn only_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

fn assistant(parts: &[Part]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut phase = None;
    for part in parts {
        match part {
            Part::Text(text) => {
                let content = vec![Content::OutputText { text }];
                items.push(Item::Message { role: "assistant", content, phase: phase.take() });
            }
            Part::ToolCall(ToolCall { id: call_id, name, arguments }) => {
                items.push(Item::FunctionCall { call_id, name, arguments });
            }
            Part::Reasoning { .. } => match left_by(PROVIDER, part) {
                Some(item) if text(item, "/type") == "phase" => phase = item.get("phase"),
                Some(item) => items.push(Item::Opaque(item)),
                None => {}
            },
            Part::Image { .. } | Part::ToolResult { .. } => {}
        }
    }
    items
}
