//! Chat completions.

use models::script::{FaultKind, Play};
use models::{Part, Stop, Usage, words};
use serde_json::{Value, json};

use super::super::speech::{Frame, pieces};
use super::has;

pub(super) fn frames(model: &str, play: &Play) -> Vec<Frame> {
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0,
            "model": model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        })
    };
    let piece = |delta: Value| chunk(delta, Value::Null);
    let mut chunks = vec![piece(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for part in &play.parts {
        match part {
            Part::Text(text) => {
                chunks.extend(words(text).map(|word| piece(json!({ "content": word }))));
            }
            Part::Reasoning { text, .. } => {
                chunks.extend(words(text).map(|it| piece(json!({ "reasoning_content": it }))));
            }
            Part::ToolCall(call) => {
                let function = json!({ "name": call.name, "arguments": "" });
                let first = json!({
                    "index": calls, "id": call.id, "type": "function", "function": function,
                });
                chunks.push(piece(json!({ "tool_calls": [first] })));
                for arguments in pieces(&call.arguments) {
                    let mut next =
                        json!({ "index": calls, "function": { "arguments": arguments } });
                    if has(play, FaultKind::WrongIds) {
                        next["id"] = json!("call_of_nobody");
                    }
                    chunks.push(piece(json!({ "tool_calls": [next] })));
                }
                calls += 1;
            }
            Part::Image { .. } | Part::ToolResult { .. } => {}
        }
    }
    chunks.push(chunk(json!({}), json!(reason(&play.stop))));
    if let Some(usage) = &play.usage {
        let mut last = chunk(json!({}), Value::Null);
        last["choices"] = json!([]);
        last["usage"] = self::usage(usage);
        chunks.push(last);
    }
    let mut frames: Vec<_> = chunks.iter().map(Frame::data).collect();
    frames.push(Frame::raw("data: [DONE]\n\n"));
    frames
}

pub(super) fn whole(model: &str, play: &Play) -> Value {
    let text = |wanted: fn(&Part) -> Option<&String>| -> String {
        play.parts.iter().filter_map(wanted).map(String::as_str).collect()
    };
    let calls = play.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(json!({
            "id": call.id, "type": "function",
            "function": { "name": call.name, "arguments": call.arguments },
        })),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    let mut message = json!({
        "role": "assistant",
        "content": text(|part| if let Part::Text(text) = part { Some(text) } else { None }),
    });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{ "index": 0, "message": message, "finish_reason": reason(&play.stop) }],
        "usage": play.usage.as_ref().map(usage),
    })
}

fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::Done => "stop",
        Stop::Tools => "tool_calls",
        Stop::Length => "length",
        Stop::Refused(_) => "content_filter",
        Stop::Other(other) => other,
    }
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
        },
        "completion_tokens": usage.output,
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": input + usage.output,
    })
}
