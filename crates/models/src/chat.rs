//! Chat completions as OpenAI made them and many servers speak them, each leaving out something
//! else: ids, indices, usage, the stream itself.

mod body;

use names::Secret;
use serde_json::{Value, json};

use body::Body;

use crate::openai::bearer;
use crate::sse::Message as Line;
use crate::wire::{Failure, Reader, Wire, fault, json_of, number, opaque, said, text};
use crate::{Answer, Event, Part, Request, Stop, ToolCall, Usage};

/// Fields in which servers put what a model thought.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// The format, for one model of one server.
pub(crate) struct Chat {
    provider: &'static str,
    model: String,
}

impl Chat {
    pub(crate) fn new(provider: &'static str, model: &str) -> Self {
        Self { provider, model: model.to_owned() }
    }
}

impl Wire for Chat {
    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn authorization(&self, key: &Secret<String>) -> (&'static str, Secret<String>) {
        bearer(key)
    }

    fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body::new(self, request))
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        Box::new(Stream { provider: self.provider, turn: request.messages.len(), ..Stream::new() })
    }
}

/// The answer in the making.
struct Stream {
    provider: &'static str,
    /// How many messages came before, for ids that have to be made up.
    turn: usize,
    text: String,
    reasoning: String,
    /// The field that the reasoning came in.
    field: &'static str,
    refusal: String,
    calls: Vec<Call>,
    stop: Option<String>,
    usage: Option<Usage>,
    done: bool,
}

/// A call in the making. It is told once it has a name.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    told: bool,
}

impl Reader for Stream {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Result<(), Failure> {
        if line.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk = json_of(line)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault(0, &chunk));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(self::usage(usage));
        }
        // The last chunk has the usage and no choice.
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(()) };
        // A server that does not stream says `message` for all of it.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        self.think(delta, out);
        self.say(delta, out);
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, out)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    /// Some servers end without `[DONE]`, and some without a reason before it.
    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        if !self.done && self.stop.is_none() {
            return Err(Failure::half());
        }
        let stop = self.why();
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            let opaque = opaque(self.provider, json!({ "field": self.field }));
            parts.push(Part::Reasoning { text: self.reasoning, opaque });
        }
        for text in [self.text, self.refusal] {
            if !text.is_empty() {
                parts.push(Part::Text(text));
            }
        }
        for call in self.calls {
            if !call.told {
                return Err(Failure::malformed("a tool call has no name"));
            }
            let Call { id, name, arguments, .. } = call;
            parts.push(Part::ToolCall(ToolCall { id, name, arguments }));
        }
        Ok(Answer { parts, stop, usage: self.usage })
    }
}

impl Stream {
    fn new() -> Self {
        Self {
            provider: "",
            turn: 0,
            text: String::new(),
            reasoning: String::new(),
            field: "",
            refusal: String::new(),
            calls: Vec::new(),
            stop: None,
            usage: None,
            done: false,
        }
    }

    fn think(&mut self, delta: &Value, out: &mut Vec<Event>) {
        let named = |field: &&str| delta.get(*field).and_then(Value::as_str);
        let Some(field) = REASONING.into_iter().find(|field| named(field).is_some()) else {
            return;
        };
        let piece = named(&field).unwrap_or_default();
        if !piece.is_empty() {
            self.field = field;
            self.reasoning.push_str(piece);
            out.push(Event::Reasoning(piece.to_owned()));
        }
    }

    fn say(&mut self, delta: &Value, out: &mut Vec<Event>) {
        let pieces = [
            (text(delta, "/content"), &mut self.text),
            (text(delta, "/refusal"), &mut self.refusal),
        ];
        for (piece, whole) in pieces {
            if !piece.is_empty() {
                whole.push_str(piece);
                out.push(Event::Text(piece.to_owned()));
            }
        }
    }

    fn call(&mut self, piece: &Value, out: &mut Vec<Event>) -> Result<(), Failure> {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text(piece, "/id");
        let made_up = format!("call_{}_{}", self.turn, self.calls.len());
        let call = self.call_of(index, id)?;
        if call.id.is_empty() {
            call.id = if id.is_empty() { made_up } else { id.to_owned() };
        }
        if call.name.is_empty() {
            text(piece, "/function/name").clone_into(&mut call.name);
        }
        match piece.pointer("/function/arguments") {
            Some(Value::String(piece)) => call.arguments.push_str(piece),
            // Some servers send the object itself.
            Some(whole @ Value::Object(_)) => call.arguments.push_str(&whole.to_string()),
            _ => {}
        }
        if !call.told && !call.name.is_empty() {
            call.told = true;
            out.push(Event::ToolCall { id: call.id.clone(), name: call.name.clone() });
        }
        Ok(())
    }

    /// The call that a piece belongs to: by its index; without one by its id; without both the
    /// last one. Some servers give the same index to every call, so a new id means a new call.
    fn call_of(&mut self, index: Option<u64>, id: &str) -> Result<&mut Call, Failure> {
        let is_it = |call: &Call| match (index, id) {
            (Some(index), "") => call.index == Some(index),
            (Some(index), id) => call.index == Some(index) && call.id == id,
            (None, "") => true,
            (None, id) => call.id == id,
        };
        if let Some(at) = self.calls.iter().rposition(is_it) {
            return self.calls.get_mut(at).ok_or_else(Failure::half);
        }
        self.calls.push(Call { index, ..Call::default() });
        self.calls.last_mut().ok_or_else(Failure::half)
    }

    fn why(&self) -> Stop {
        if !self.refusal.is_empty() {
            return Stop::Refused(said(&self.refusal));
        }
        match self.stop.as_deref() {
            Some("length") => Stop::Length,
            Some("content_filter") => {
                Stop::Refused("the provider's filter cut the answer off".to_owned())
            }
            // Some servers say `stop` after tool calls.
            _ if !self.calls.is_empty() => Stop::Tools,
            Some("stop" | "tool_calls" | "function_call") | None => Stop::Done,
            Some(other) => Stop::Other(said(other)),
        }
    }
}

/// Here the input counts the cached part too.
fn usage(usage: &Value) -> Usage {
    let cache_read = number(usage, "/prompt_tokens_details/cached_tokens");
    let cache_write = number(usage, "/prompt_tokens_details/cache_write_tokens");
    let cached = cache_read.saturating_add(cache_write);
    Usage {
        input: number(usage, "/prompt_tokens").saturating_sub(cached),
        cache_read,
        cache_write,
        output: number(usage, "/completion_tokens"),
        reasoning: number(usage, "/completion_tokens_details/reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;
    use crate::wire::read_all;

    fn read(events: &[&str]) -> Result<Answer, Failure> {
        let request = Request { messages: vec![Message::user("x")], ..Request::default() };
        let reader = Chat::new("ollama", "m").reader(&request);
        read_all(reader, events).map(|(answer, _)| answer)
    }

    fn calls(events: &[&str]) -> Vec<(String, String, String)> {
        let answer = read(events).unwrap();
        assert_eq!(answer.stop, Stop::Tools);
        let call = |call: &ToolCall| (call.id.clone(), call.name.clone(), call.arguments.clone());
        answer.calls().map(call).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

    #[test]
    fn a_server_that_leaves_out_index_and_id() {
        let read = calls(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}]}"#,
            END,
        ]);
        assert_eq!(read, [call("call_1_0", "a", "{}")]);
    }

    #[test]
    fn a_server_that_gives_every_call_the_same_index() {
        let read = calls(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"b","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}"#,
            END,
        ]);
        assert_eq!(read, [call("x", "a", "{}"), call("y", "b", "{}")]);
    }

    #[test]
    fn a_server_that_sends_arguments_as_an_object() {
        let read = calls(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":{"b":1}}}]}}]}"#,
            "[DONE]",
        ]);
        assert_eq!(read, [call("x", "a", r#"{"b":1}"#)]);
    }

    #[test]
    fn a_server_that_ends_without_a_word_has_not_answered() {
        let text = r#"{"choices":[{"delta":{"content":"half"}}]}"#;
        assert_eq!(read(&[text]), Err(Failure::half()));
        assert_eq!(read(&[text, "[DONE]"]).unwrap().stop, Stop::Done);
        assert_eq!(read(&[text, END]).unwrap().text(), "half");
    }

    #[test]
    fn a_call_without_a_name_is_the_servers_fault() {
        let nameless = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"}]}}]}"#;
        assert_eq!(read(&[nameless, END]), Err(Failure::malformed("a tool call has no name")));
    }

    #[test]
    fn a_refusal_and_a_filter_are_told() {
        let refusal = r#"{"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}"#;
        assert_eq!(read(&[refusal]).unwrap().stop, Stop::Refused("No.".into()));
        let filter = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"content_filter"}]}"#;
        assert!(matches!(read(&[filter]).unwrap().stop, Stop::Refused(_)));
    }
}
