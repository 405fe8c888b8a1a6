//! OpenAI Responses.

use models::script::{FaultKind, Play};
use models::{Part, Stop, Usage, words};
use serde_json::{Value, json};

use super::super::speech::{Frame, pieces};
use super::has;

pub(super) fn frames(model: &str, play: &Play) -> Vec<Frame> {
    let mut begun = whole(model, play, "in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, part) in play.parts.iter().enumerate() {
        events.extend(item(index, part, has(play, FaultKind::WrongIds)));
    }
    let (kind, status) = match play.stop {
        Stop::Done | Stop::Tools => ("response.completed", "completed"),
        _ => ("response.incomplete", "incomplete"),
    };
    events.push(json!({ "type": kind, "response": whole(model, play, status) }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(Frame::named).collect()
}

pub(super) fn whole(model: &str, play: &Play, status: &str) -> Value {
    let details = match &play.stop {
        Stop::Done | Stop::Tools => Value::Null,
        Stop::Length => json!({ "reason": "max_output_tokens" }),
        Stop::Refused(_) => json!({ "reason": "content_filter" }),
        Stop::Other(other) => json!({ "reason": other }),
    };
    let output = play.parts.iter().enumerate();
    let output: Vec<_> = output.map(|(index, part)| whole_item(index, part)).collect();
    json!({
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": null,
        "incomplete_details": details,
        "model": model,
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "usage": play.usage.as_ref().map(usage),
    })
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": input + usage.output,
    })
}

fn whole_item(index: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({
            "id": format!("msg_{index}"), "type": "message", "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Part::Reasoning { text, .. } => json!({
            "id": format!("rs_{index}"), "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": "ZW5j",
        }),
        Part::ToolCall(call) => json!({
            "id": format!("fc_{index}"), "type": "function_call", "status": "completed",
            "call_id": call.id, "name": call.name, "arguments": call.arguments,
        }),
        Part::Image { .. } | Part::ToolResult { .. } => Value::Null,
    }
}

fn item(index: usize, part: &Part, wrong: bool) -> Vec<Value> {
    let whole = whole_item(index, part);
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    let of = if wrong && matches!(part, Part::ToolCall(_)) {
        json!("fc_90")
    } else {
        whole["id"].clone()
    };
    let event = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "item_id": of, "output_index": index });
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name.as_str()] = value.clone();
        }
        event
    };
    let mut events = Vec::new();
    match part {
        Part::Text(text) => {
            begun["content"] = json!([]);
            let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
            let part = json!({ "content_index": 0, "part": empty });
            events.push(event("response.content_part.added", part));
            events.extend(words(text).map(|word| {
                event("response.output_text.delta", json!({ "content_index": 0, "delta": word }))
            }));
            let done = json!({ "content_index": 0, "text": text });
            events.push(event("response.output_text.done", done));
            let part = json!({ "content_index": 0, "part": whole["content"][0] });
            events.push(event("response.content_part.done", part));
        }
        Part::Reasoning { text, .. } => {
            begun["summary"] = json!([]);
            let empty = json!({ "type": "summary_text", "text": "" });
            let part = json!({ "summary_index": 0, "part": empty });
            events.push(event("response.reasoning_summary_part.added", part));
            events.extend(words(text).map(|word| {
                let delta = json!({ "summary_index": 0, "delta": word });
                event("response.reasoning_summary_text.delta", delta)
            }));
            let done = json!({ "summary_index": 0, "text": text });
            events.push(event("response.reasoning_summary_text.done", done));
        }
        Part::ToolCall(call) => {
            begun["arguments"] = json!("");
            events.extend(pieces(&call.arguments).into_iter().map(|piece| {
                event("response.function_call_arguments.delta", json!({ "delta": piece }))
            }));
            let done = json!({ "arguments": call.arguments });
            events.push(event("response.function_call_arguments.done", done));
        }
        Part::Image { .. } | Part::ToolResult { .. } => {}
    }
    let added =
        json!({ "type": "response.output_item.added", "output_index": index, "item": begun });
    events.insert(0, added);
    let done = json!({ "type": "response.output_item.done", "output_index": index, "item": whole });
    events.push(done);
    events
}
