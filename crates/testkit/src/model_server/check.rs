//! Requests, read by the rules of their format: what is asked, and what breaks a rule that the real
//! API holds.

mod chat;
mod messages;
mod responses;

use std::collections::BTreeSet;

use models::{Part, Request, ToolSpec};
use serde_json::Value;

use super::{Format, Recorded};

/// What is asked, for the script; and every rule that is broken.
pub(super) fn check(format: Format, asked: &Recorded) -> (Request, Vec<String>) {
    let mut wrong = Vec::new();
    if !asked.body.is_object() {
        wrong.push("the body is no JSON object".to_owned());
    }
    if !asked.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        wrong.push("content-type is not application/json".to_owned());
    }
    if str(&asked.body, "/model").is_empty() {
        wrong.push("names no model".to_owned());
    }
    let request = match format {
        Format::Messages => messages::check(asked, &mut wrong),
        Format::Responses => responses::check(asked, &mut wrong),
        Format::Chat => chat::check(asked, &mut wrong),
    };
    (request, wrong)
}

/// Calls that wait for their results, and all ids so far.
#[derive(Default)]
struct Calls {
    open: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl Calls {
    fn call(&mut self, id: &str, wrong: &mut Vec<String>) {
        if id.is_empty() {
            wrong.push("a call has no id".to_owned());
        }
        if !self.all.insert(id.to_owned()) {
            wrong.push(format!("two calls have the id {id}"));
        }
        self.open.insert(id.to_owned());
    }

    fn result(&mut self, id: &str, wrong: &mut Vec<String>) {
        if !self.open.remove(id) {
            wrong.push(format!("a result of the call {id}, which does not wait for one"));
        }
    }

    /// From here on nothing may wait.
    fn settle(&mut self, wrong: &mut Vec<String>) {
        for id in std::mem::take(&mut self.open) {
            wrong.push(format!("the call {id} has no result"));
        }
    }
}

fn str<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn bearer(asked: &Recorded, wrong: &mut Vec<String>) {
    if !asked.header("authorization").is_some_and(|value| value.starts_with("Bearer ")) {
        wrong.push("there is no bearer token".to_owned());
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), parameters: Value::Null }
}

/// The texts of content that is a string or a list of blocks; an image is an image.
fn parts(content: &Value) -> Vec<Part> {
    let part = |block: &Value| match str(block, "/type") {
        kind if kind.contains("image") => {
            Part::Image { media_type: String::new(), data: Vec::new() }
        }
        _ => Part::Text(str(block, "/text").to_owned()),
    };
    match content {
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(blocks) => blocks.iter().map(part).collect(),
        _ => Vec::new(),
    }
}

fn text(content: &Value) -> String {
    let text = |part| if let Part::Text(text) = part { Some(text) } else { None };
    parts(content).into_iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
