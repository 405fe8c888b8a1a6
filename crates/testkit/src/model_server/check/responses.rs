//! OpenAI Responses.

use models::{Message, Part, Request, ToolCall};
use serde_json::Value;

use super::super::Recorded;
use super::{Calls, bearer, list, parts, str, tool};

pub(super) fn check(asked: &Recorded, wrong: &mut Vec<String>) -> Request {
    let body = &asked.body;
    bearer(asked, wrong);
    let mut calls = Calls::default();
    let mut messages: Vec<Message> = Vec::new();
    if let Some(text) = body.get("input").and_then(Value::as_str) {
        messages.push(Message::user(text));
    }
    let stored = body.get("store") != Some(&Value::Bool(false));
    let mut system = str(body, "/instructions").to_owned();
    for item in list(body, "/input") {
        let content = item.get("content").unwrap_or(&Value::Null);
        match str(item, "/type") {
            "message" | "" => match str(item, "/role") {
                "assistant" => assistant(&mut messages, parts(content)),
                "user" => user(&mut messages, parts(content)),
                "system" | "developer" => system.push_str(&super::text(content)),
                other => wrong.push(format!("there is no role {other}")),
            },
            "reasoning" if !stored && str(item, "/encrypted_content").is_empty() => {
                wrong.push("a reasoning item has no encrypted content".to_owned());
            }
            kind if kind.ends_with("_call") => {
                let call = ToolCall {
                    id: str(item, "/call_id").to_owned(),
                    name: str(item, "/name").to_owned(),
                    arguments: str(item, "/arguments").to_owned() + str(item, "/input"),
                };
                calls.call(&call.id, wrong);
                assistant(&mut messages, vec![Part::ToolCall(call)]);
            }
            kind if kind.ends_with("_call_output") => {
                let id = str(item, "/call_id");
                calls.result(id, wrong);
                let parts = parts(item.get("output").unwrap_or(&Value::Null));
                let result = Part::ToolResult { call: id.to_owned(), parts, failed: false };
                user(&mut messages, vec![result]);
            }
            _ => {}
        }
    }
    calls.settle(wrong);
    if !matches!(messages.last(), Some(Message::User(_))) {
        wrong.push("the input does not end with the user".to_owned());
    }
    let tools = list(body, "/tools").iter();
    let tools = tools.map(|it| {
        tool(if str(it, "/name").is_empty() { str(it, "/type") } else { str(it, "/name") })
    });
    Request { system, tools: tools.collect(), messages, ..Request::default() }
}

fn user(messages: &mut Vec<Message>, parts: Vec<Part>) {
    match messages.last_mut() {
        Some(Message::User(last)) => last.extend(parts),
        _ => messages.push(Message::User(parts)),
    }
}

fn assistant(messages: &mut Vec<Message>, parts: Vec<Part>) {
    match messages.last_mut() {
        Some(Message::Assistant(last)) => last.extend(parts),
        _ => messages.push(Message::Assistant(parts)),
    }
}
