//! Chat completions.

use models::{Message, Part, Request, ToolCall};
use serde_json::Value;

use super::super::Recorded;
use super::{Calls, list, parts, str, text, tool};

pub(super) fn check(asked: &Recorded, wrong: &mut Vec<String>) -> Request {
    let body = &asked.body;
    let mut calls = Calls::default();
    let mut messages: Vec<Message> = Vec::new();
    let mut system = String::new();
    for message in list(body, "/messages") {
        let content = message.get("content").unwrap_or(&Value::Null);
        match str(message, "/role") {
            "system" | "developer" => system.push_str(&text(content)),
            "user" => {
                calls.settle(wrong);
                user(&mut messages, parts(content));
            }
            "assistant" => {
                calls.settle(wrong);
                messages.push(Message::Assistant(assistant(message, content, &mut calls, wrong)));
            }
            "tool" => {
                let id = str(message, "/tool_call_id");
                calls.result(id, wrong);
                if content.as_array().is_some_and(|blocks| blocks.iter().any(is_no_text)) {
                    wrong.push("a result has more than text".to_owned());
                }
                let call = id.to_owned();
                let result = Part::ToolResult { call, parts: parts(content), failed: false };
                user(&mut messages, vec![result]);
            }
            other => wrong.push(format!("there is no role {other}")),
        }
    }
    calls.settle(wrong);
    if !matches!(messages.last(), Some(Message::User(_))) {
        wrong.push("the last message is not the user's".to_owned());
    }
    let tools = list(body, "/tools").iter().map(|it| tool(str(it, "/function/name")));
    Request { system, tools: tools.collect(), messages, ..Request::default() }
}

fn is_no_text(block: &Value) -> bool {
    str(block, "/type") != "text"
}

fn user(messages: &mut Vec<Message>, parts: Vec<Part>) {
    match messages.last_mut() {
        Some(Message::User(last)) => last.extend(parts),
        _ => messages.push(Message::User(parts)),
    }
}

fn assistant(
    message: &Value,
    content: &Value,
    calls: &mut Calls,
    wrong: &mut Vec<String>,
) -> Vec<Part> {
    let mut said = parts(content);
    for call in list(message, "/tool_calls") {
        let id = str(call, "/id").to_owned();
        calls.call(&id, wrong);
        said.push(Part::ToolCall(ToolCall {
            id,
            name: str(call, "/function/name").to_owned(),
            arguments: str(call, "/function/arguments").to_owned(),
        }));
    }
    said
}
