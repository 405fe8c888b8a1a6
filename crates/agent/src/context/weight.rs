//! How many bytes a part of the context counts for.

use models::Part;

/// What an image counts for: 5,000 tokens, more than any provider takes.
const IMAGE: u64 = 15_000;

/// What the form around a part counts for.
pub(super) const fn overhead() -> u64 {
    24
}

/// What a part counts for, without the form around it.
pub(super) fn weigh(part: &Part) -> u64 {
    match part {
        Part::Text(text) => text.len() as u64,
        Part::Image { .. } => IMAGE,
        Part::ToolCall(call) => {
            (call.id.len() + call.name.len() + call.arguments.len()) as u64 + overhead()
        }
        Part::ToolResult { call, parts, .. } => {
            call.len() as u64 + parts.iter().map(|part| weigh(part) + overhead()).sum::<u64>()
        }
        Part::Reasoning { text, opaque } => {
            let opaque = opaque.as_ref().map_or(0, |opaque| opaque.to_string().len());
            (text.len() + opaque) as u64
        }
    }
}
