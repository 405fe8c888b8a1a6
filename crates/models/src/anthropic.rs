//! Anthropic's Messages API, version 2023-06-01.

mod body;

use names::Secret;
use serde_json::{Value, json};

use body::Body;

use crate::known::{Known, Thinking};
use crate::sse::Message as Line;
use crate::wire::{Failure, Reader, Wire, fault, json_of, number, opaque, said, text};
use crate::{Answer, Event, Part, Request, Stop, ToolCall, Usage};

const PROVIDER: &str = "anthropic";

/// The format, for one model.
pub(crate) struct Anthropic {
    model: String,
    known: Known,
}

impl Anthropic {
    pub(crate) fn new(model: &str, known: Known) -> Self {
        Self { model: model.to_owned(), known }
    }
}

impl Wire for Anthropic {
    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn authorization(&self, key: &Secret<String>) -> (&'static str, Secret<String>) {
        ("x-api-key", key.clone())
    }

    fn headers(&self) -> Vec<(&'static str, &'static str)> {
        let mut headers = vec![("anthropic-version", "2023-06-01")];
        if self.known.thinking == Thinking::Preserved {
            headers.push(("anthropic-beta", "thinking-binding-controls-2026-08-01"));
        }
        headers
    }

    fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body::new(self, request))
    }

    fn reader(&self, _: &Request) -> Box<dyn Reader> {
        Box::new(Stream::default())
    }
}

/// A block of the answer in the making.
enum Block {
    Text(String),
    Call(ToolCall),
    Thinking {
        text: String,
        signature: String,
    },
    /// A block that goes back as it came: redacted thinking.
    Opaque(Value),
    /// Of a type that is not known.
    Other,
}

#[derive(Default)]
struct Stream {
    blocks: Vec<(u64, Block)>,
    stop: Option<Stop>,
    usage: Option<Value>,
    done: bool,
}

impl Reader for Stream {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Result<(), Failure> {
        let event = json_of(line)?;
        match text(&event, "/type") {
            "message_start" => self.used(event.pointer("/message/usage")),
            "content_block_start" => self.begin(&event, out)?,
            "content_block_delta" => self.extend(&event, out)?,
            "message_delta" => {
                self.used(event.get("usage"));
                self.stop = stop(&event).or(self.stop.take());
            }
            "message_stop" => self.done = true,
            "error" => return Err(fault(0, &event)),
            // `ping`, `content_block_stop`, and what is to come.
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        let stop = self.stop.ok_or_else(Failure::half)?;
        let parts = self.blocks.into_iter().filter_map(|(_, block)| part(block)).collect();
        Ok(Answer { parts, stop, usage: self.usage.as_ref().map(usage) })
    }
}

impl Stream {
    fn begin(&mut self, event: &Value, out: &mut Vec<Event>) -> Result<(), Failure> {
        let index = index(event)?;
        if self.blocks.iter().any(|(known, _)| *known == index) {
            return Err(Failure::malformed(format!("block {index} begins twice")));
        }
        let block = event.get("content_block").unwrap_or(&Value::Null);
        let block = match text(block, "/type") {
            "text" => Block::Text(String::new()),
            "tool_use" => {
                let (id, name) = (text(block, "/id").to_owned(), text(block, "/name").to_owned());
                if id.is_empty() || name.is_empty() {
                    return Err(Failure::malformed("a tool call has no id or no name"));
                }
                out.push(Event::ToolCall { id: id.clone(), name: name.clone() });
                Block::Call(ToolCall { id, name, arguments: String::new() })
            }
            "thinking" => Block::Thinking { text: String::new(), signature: String::new() },
            "redacted_thinking" => Block::Opaque(block.clone()),
            _ => Block::Other,
        };
        self.blocks.push((index, block));
        // What a block begins with comes as its first piece.
        let first = event.get("content_block").unwrap_or(&Value::Null);
        for name in ["text", "thinking", "signature"] {
            let piece = text(first, &format!("/{name}"));
            self.add(index, name, piece, out)?;
        }
        Ok(())
    }

    fn extend(&mut self, event: &Value, out: &mut Vec<Event>) -> Result<(), Failure> {
        let index = index(event)?;
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let name = match text(delta, "/type") {
            "text_delta" => "text",
            "input_json_delta" => "partial_json",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            _ => return Ok(()),
        };
        self.add(index, name, text(delta, &format!("/{name}")), out)
    }

    fn add(
        &mut self,
        index: u64,
        name: &str,
        piece: &str,
        out: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        let found = self.blocks.iter_mut().find(|(known, _)| *known == index);
        let Some((_, block)) = found else {
            return Err(Failure::malformed(format!("a piece of block {index}, which never began")));
        };
        match (block, name) {
            _ if piece.is_empty() => {}
            (Block::Text(text), "text") => {
                text.push_str(piece);
                out.push(Event::Text(piece.to_owned()));
            }
            (Block::Thinking { text, .. }, "thinking") => {
                text.push_str(piece);
                out.push(Event::Reasoning(piece.to_owned()));
            }
            (Block::Thinking { signature, .. }, "signature") => signature.push_str(piece),
            (Block::Call(call), "partial_json") => call.arguments.push_str(piece),
            (Block::Other | Block::Opaque(_), _) => {}
            _ => return Err(Failure::malformed(format!("block {index} has a {name} of another"))),
        }
        Ok(())
    }

    /// Later counts replace earlier ones, name by name.
    fn used(&mut self, usage: Option<&Value>) {
        let Some(Value::Object(usage)) = usage else { return };
        let known = self.usage.get_or_insert_with(|| json!({}));
        if let Some(known) = known.as_object_mut() {
            let said = usage.iter().filter(|(_, value)| !value.is_null());
            known.extend(said.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
}

fn index(event: &Value) -> Result<u64, Failure> {
    let index = event.get("index").and_then(Value::as_u64);
    index.ok_or_else(|| Failure::malformed("an event of a block does not say of which"))
}

fn stop(event: &Value) -> Option<Stop> {
    let reason = event.pointer("/delta/stop_reason")?.as_str()?;
    Some(match reason {
        "end_turn" | "stop_sequence" => Stop::Done,
        "tool_use" => Stop::Tools,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Refused(refusal(event)),
        other => Stop::Other(said(other)),
    })
}

fn refusal(event: &Value) -> String {
    let details = event.pointer("/delta/stop_details").unwrap_or(&Value::Null);
    match (text(details, "/explanation"), text(details, "/category")) {
        ("", "") => "the model will not answer".to_owned(),
        ("", category) => said(category),
        (explanation, _) => said(explanation),
    }
}

fn part(block: Block) -> Option<Part> {
    match block {
        Block::Text(text) if text.is_empty() => None,
        Block::Text(text) => Some(Part::Text(text)),
        Block::Call(call) => Some(Part::ToolCall(call)),
        Block::Thinking { text, signature } => {
            let item = json!({ "type": "thinking", "thinking": text, "signature": signature });
            // Without its signature the API refuses to have it back.
            let opaque = (!signature.is_empty()).then(|| opaque(PROVIDER, item)).flatten();
            Some(Part::Reasoning { text, opaque })
        }
        Block::Opaque(item) => {
            Some(Part::Reasoning { text: String::new(), opaque: opaque(PROVIDER, item) })
        }
        Block::Other => None,
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: number(usage, "/input_tokens"),
        cache_read: number(usage, "/cache_read_input_tokens"),
        cache_write: number(usage, "/cache_creation_input_tokens"),
        output: number(usage, "/output_tokens"),
        reasoning: number(usage, "/output_tokens_details/thinking_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{body_of, read_all};

    fn read(events: &[&str]) -> Result<(Answer, Vec<Event>), Failure> {
        let reader = Anthropic::new("m", Known::default()).reader(&Request::default());
        read_all(reader, events)
    }

    const BEGIN: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":1}}}"#;

    fn end(reason: &str) -> String {
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":7,"output_tokens_details":{{"thinking_tokens":3}}}}}}"#
        )
    }

    #[test]
    fn usage_is_told_in_two_pieces() {
        let (answer, _) = read(&[BEGIN, &end("end_turn")]).unwrap();
        let want = Usage { input: 9, cache_read: 4, output: 7, reasoning: 3, cache_write: 0 };
        assert_eq!((answer.usage, answer.stop), (Some(want), Stop::Done));
    }

    #[test]
    fn thinking_that_may_not_be_shown_goes_back_as_it_came() {
        let redacted = r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ"}}"#;
        let (answer, shown) = read(&[BEGIN, redacted, &end("end_turn")]).unwrap();
        assert!(shown.is_empty());
        let block = json!({ "type": "redacted_thinking", "data": "ZGF0YQ" });
        let body = body_of(&Anthropic::new("m", Known::default()), answer.parts);
        assert_eq!(body.pointer("/messages/0/content"), Some(&json!([block])));
    }

    #[test]
    fn a_block_of_an_unknown_type_is_left_out() {
        let (answer, _) = read(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"future","text":"x"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"future_delta"}}"#,
            &end("pause_turn"),
        ])
        .unwrap();
        assert_eq!((answer.parts, answer.stop), (vec![], Stop::Other("pause_turn".into())));
    }

    #[test]
    fn a_refusal_says_why() {
        let refusal = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":null}}}"#;
        assert_eq!(read(&[refusal]).unwrap().0.stop, Stop::Refused("cyber".into()));
    }

    #[test]
    fn pieces_out_of_place_are_the_providers_fault() {
        let text =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        let of_another = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}"#;
        let nameless = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"","name":"x"}}"#;
        let nowhere = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#;
        for bad in [of_another, nameless, nowhere, text, "{"] {
            let failure = read(&[text, bad]).unwrap_err();
            assert!(matches!(failure.error, crate::ModelError::Malformed(_)), "{bad} {failure:?}");
        }
    }
}
