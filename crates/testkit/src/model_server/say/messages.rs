//! Anthropic Messages.

use models::script::{FaultKind, Play};
use models::{Part, Stop, ToolCall, Usage, words};
use serde_json::{Value, json};

use super::super::speech::{Frame, pieces};
use super::has;

pub(super) fn frames(model: &str, play: &Play) -> Vec<Frame> {
    let mut message = whole(model, play);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let mut events =
        vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    for (index, part) in play.parts.iter().enumerate() {
        events.extend(block(index, part, has(play, FaultKind::WrongIds)));
    }
    let delta = json!({ "stop_reason": reason(&play.stop), "stop_sequence": null });
    let mut end = json!({ "type": "message_delta", "delta": delta });
    if let Some(usage) = &play.usage {
        end["usage"] = json!({ "output_tokens": usage.output });
    }
    events.extend([end, json!({ "type": "message_stop" })]);
    events.iter().map(Frame::named).collect()
}

pub(super) fn whole(model: &str, play: &Play) -> Value {
    let mut message = json!({
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": play.parts.iter().map(content).collect::<Vec<_>>(),
        "stop_reason": reason(&play.stop),
        "stop_sequence": null,
    });
    if let Some(usage) = &play.usage {
        message["usage"] = self::usage(usage);
    }
    message
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    })
}

fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::Done => "end_turn",
        Stop::Tools => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Refused(_) => "refusal",
        Stop::Other(other) => other,
    }
}

fn content(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Reasoning { text, .. } => {
            json!({ "type": "thinking", "thinking": text, "signature": "c2ln" })
        }
        Part::ToolCall(ToolCall { id, name, arguments }) => {
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Part::Image { .. } | Part::ToolResult { .. } => Value::Null,
    }
}

fn block(index: usize, part: &Part, wrong: bool) -> Vec<Value> {
    let mut start = content(part);
    let deltas: Vec<Value> = match part {
        Part::Text(text) => {
            start["text"] = json!("");
            words(text).map(|word| json!({ "type": "text_delta", "text": word })).collect()
        }
        Part::Reasoning { text, .. } => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            let thinking =
                words(text).map(|it| json!({ "type": "thinking_delta", "thinking": it }));
            let signature = json!({ "type": "signature_delta", "signature": "c2ln" });
            thinking.chain([signature]).collect()
        }
        Part::ToolCall(call) => {
            start["input"] = json!({});
            let piece = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
            pieces(&call.arguments).into_iter().map(piece).collect()
        }
        Part::Image { .. } | Part::ToolResult { .. } => Vec::new(),
    };
    let is_call = matches!(part, Part::ToolCall(_));
    let of = if wrong && is_call { index + 90 } else { index };
    let delta = |delta| json!({ "type": "content_block_delta", "index": of, "delta": delta });
    let mut events =
        vec![json!({ "type": "content_block_start", "index": index, "content_block": start })];
    events.extend(deltas.into_iter().map(delta));
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}
