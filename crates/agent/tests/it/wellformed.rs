//! What every provider wants of a request, written down independently of the agent.

use std::collections::BTreeSet;

use models::{Message, Part, Request};

/// What is wrong with a request, if anything.
pub(crate) fn flaw(request: &Request) -> Option<String> {
    let messages = &request.messages;
    if !matches!(messages.first(), Some(Message::User(_))) {
        return Some("it does not begin with the person".into());
    }
    if !matches!(messages.last(), Some(Message::User(_))) {
        return Some("it does not end with the person".into());
    }
    let mut all = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if matches!(message, Message::User(_)) != (at % 2 == 0) {
            return Some(format!("message {at} is not the other side's"));
        }
        if message.parts().is_empty() {
            return Some(format!("message {at} is empty"));
        }
        let wrong = match message {
            Message::User(parts) => answered(parts, &std::mem::take(&mut open)),
            Message::Assistant(parts) => asked(parts, &mut all, &mut open),
        };
        if let Some(wrong) = wrong {
            return Some(format!("message {at}: {wrong}"));
        }
    }
    None
}

fn asked<'a>(
    parts: &'a [Part],
    all: &mut BTreeSet<&'a str>,
    open: &mut Vec<&'a str>,
) -> Option<String> {
    for part in parts {
        match part {
            Part::ToolCall(call) => {
                let plain = |name: &str| {
                    !name.is_empty()
                        && name.len() <= 64
                        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
                };
                if !plain(&call.id) || !plain(&call.name) {
                    return Some(format!("a call has id {:?}, name {:?}", call.id, call.name));
                }
                if !all.insert(&call.id) {
                    return Some(format!("two calls have the id {:?}", call.id));
                }
                open.push(&call.id);
            }
            Part::Text(text) if text.trim().is_empty() => return Some("blank text".into()),
            Part::Text(_) | Part::Reasoning { .. } => {}
            other => return Some(format!("the model said {other:?}")),
        }
    }
    None
}

fn answered(parts: &[Part], open: &[&str]) -> Option<String> {
    let results: Vec<_> = parts
        .iter()
        .map_while(|part| match part {
            Part::ToolResult { call, parts, .. } if !parts.is_empty() => Some(call.as_str()),
            _ => None,
        })
        .collect();
    if results != open {
        return Some(format!("calls {open:?} have the results {results:?}"));
    }
    let rest = parts.get(results.len()..).unwrap_or_default();
    let strange = |part: &&Part| !matches!(part, Part::Text(_) | Part::Image { .. });
    rest.iter().find(strange).map(|part| format!("the person said {part:?}"))
}
