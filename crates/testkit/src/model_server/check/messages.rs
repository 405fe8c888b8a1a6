//! Anthropic Messages.

use models::{Message, Part, Request, ToolCall};
use serde_json::Value;

use super::super::Recorded;
use super::{Calls, list, parts, str, text, tool};

pub(super) fn check(asked: &Recorded, wrong: &mut Vec<String>) -> Request {
    let body = &asked.body;
    if asked.header("x-api-key").or(asked.header("authorization")).is_none() {
        wrong.push("there is no key".to_owned());
    }
    if asked.header("anthropic-version").is_none() {
        wrong.push("there is no anthropic-version".to_owned());
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|most| most == 0) {
        wrong.push("max_tokens is not a number above zero".to_owned());
    }
    if marks(body) > 4 {
        wrong.push("more than four blocks have a cache_control".to_owned());
    }
    let mut calls = Calls::default();
    let mut messages = Vec::new();
    for message in list(body, "/messages") {
        let content = blocks(message.get("content").unwrap_or(&Value::Null));
        match str(message, "/role") {
            "user" => messages.push(user(&content, &mut calls, wrong)),
            "assistant" => {
                calls.settle(wrong);
                messages.push(assistant(&content, &mut calls, wrong));
            }
            "system" => {}
            other => wrong.push(format!("there is no role {other}")),
        }
    }
    calls.settle(wrong);
    let is_user = |message: Option<&Message>| matches!(message, Some(Message::User(_)));
    if !is_user(messages.first()) || !is_user(messages.last()) {
        wrong.push("the first and the last message are not the user's".to_owned());
    }
    Request {
        system: text(body.get("system").unwrap_or(&Value::Null)),
        tools: list(body, "/tools").iter().map(|it| tool(str(it, "/name"))).collect(),
        messages,
        ..Request::default()
    }
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Object(object) => {
            let own = usize::from(object.get("cache_control").is_some_and(Value::is_object));
            own + object.values().map(marks).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(marks).sum(),
        _ => 0,
    }
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn blank(block: &Value, wrong: &mut Vec<String>) {
    if str(block, "/type") == "text" && str(block, "/text").trim().is_empty() {
        wrong.push("a text is blank".to_owned());
    }
}

fn user(blocks: &[Value], calls: &mut Calls, wrong: &mut Vec<String>) -> Message {
    if blocks.is_empty() {
        wrong.push("a message is empty".to_owned());
    }
    let mut said = Vec::new();
    let mut other = false;
    for block in blocks {
        blank(block, wrong);
        if str(block, "/type") != "tool_result" {
            other = true;
            said.extend(parts(&Value::Array(vec![block.clone()])));
            continue;
        }
        if other {
            wrong.push("a result comes after something else".to_owned());
        }
        let id = str(block, "/tool_use_id");
        calls.result(id, wrong);
        said.push(Part::ToolResult {
            call: id.to_owned(),
            parts: parts(block.get("content").unwrap_or(&Value::Null)),
            failed: block.get("is_error") == Some(&Value::Bool(true)),
        });
    }
    calls.settle(wrong);
    Message::User(said)
}

fn assistant(blocks: &[Value], calls: &mut Calls, wrong: &mut Vec<String>) -> Message {
    let mut said = Vec::new();
    for block in blocks {
        blank(block, wrong);
        match str(block, "/type") {
            "tool_use" => {
                let (id, name) = (str(block, "/id").to_owned(), str(block, "/name").to_owned());
                calls.call(&id, wrong);
                let input = block.get("input").unwrap_or(&Value::Null);
                if !input.is_object() {
                    wrong.push(format!("the input of {id} is no object"));
                }
                said.push(Part::ToolCall(ToolCall { id, name, arguments: input.to_string() }));
            }
            "thinking" => {
                if str(block, "/signature").is_empty() {
                    wrong.push("a thinking block has no signature".to_owned());
                }
                let text = str(block, "/thinking").to_owned();
                said.push(Part::Reasoning { text, opaque: None });
            }
            _ => said.extend(parts(&Value::Array(vec![block.clone()]))),
        }
    }
    Message::Assistant(said)
}
