//! OpenAI's Responses API. Nothing is stored there: each request holds the whole conversation, and
//! reasoning goes back encrypted.

mod body;

use std::collections::BTreeMap;

use names::Secret;
use serde_json::{Map, Value, json};

use body::Body;

use crate::known::Known;
use crate::sse::Message as Line;
use crate::wire::{Failure, Reader, Wire, fault, json_of, number, opaque, said, text};
use crate::{Answer, Event, Part, Request, Stop, ToolCall, Usage};

const PROVIDER: &str = "openai";

/// The format, for one model.
pub(crate) struct OpenAi {
    model: String,
    known: Known,
}

impl OpenAi {
    pub(crate) fn new(model: &str, known: Known) -> Self {
        Self { model: model.to_owned(), known }
    }
}

impl Wire for OpenAi {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn authorization(&self, key: &Secret<String>) -> (&'static str, Secret<String>) {
        bearer(key)
    }

    fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body::new(self, request))
    }

    fn reader(&self, _: &Request) -> Box<dyn Reader> {
        Box::new(Stream::default())
    }
}

/// `Authorization: Bearer KEY`.
pub(crate) fn bearer(key: &Secret<String>) -> (&'static str, Secret<String>) {
    ("authorization", Secret::new(format!("Bearer {}", key.expose())))
}

/// The answer in the making. An item is told three times: piece by piece, when it is done, and in
/// the whole response; the second is what counts, and the third fills in what had none.
#[derive(Default)]
struct Stream {
    /// By `output_index`.
    items: BTreeMap<u64, Item>,
    end: Option<(Stop, Option<Usage>)>,
}

#[derive(Default)]
struct Item {
    /// As it began or, once it is done, as it is.
    value: Value,
    /// Its text, arguments or refusal, for when it never gets done.
    pieces: String,
    reasoning: String,
    done: bool,
}

impl Reader for Stream {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Result<(), Failure> {
        if line.data == "[DONE]" {
            return Ok(());
        }
        let event = json_of(line)?;
        match text(&event, "/type") {
            "response.output_item.added" => self.begin(&event, out)?,
            "response.output_item.done" => self.finish_item(&event)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                let piece = self.piece(&event)?;
                out.push(Event::Text(piece));
            }
            "response.function_call_arguments.delta" => {
                self.piece(&event)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let piece = text(&event, "/delta").to_owned();
                self.item(&event)?.reasoning.push_str(&piece);
                out.push(Event::Reasoning(piece));
            }
            "response.reasoning_summary_part.added" => self.paragraph(&event, out)?,
            "response.completed" | "response.incomplete" => self.complete(&event),
            "response.failed" => {
                return Err(fault(0, event.pointer("/response").unwrap_or(&event)));
            }
            "error" => return Err(fault(0, &event)),
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        let (stop, usage) = self.end.ok_or_else(Failure::half)?;
        let mut parts = Vec::new();
        for item in self.items.into_values() {
            parts.extend(self::parts(item)?);
        }
        let refused = parts.iter().find_map(|part| match part {
            Said::Refusal(text) => Some(Stop::Refused(said(text))),
            Said::Part(_) => None,
        });
        let parts: Vec<_> = parts.into_iter().map(Said::into_part).collect();
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = match stop {
            Stop::Done if calls => Stop::Tools,
            Stop::Done => refused.unwrap_or(Stop::Done),
            other => other,
        };
        Ok(Answer { parts, stop, usage })
    }
}

impl Stream {
    fn begin(&mut self, event: &Value, out: &mut Vec<Event>) -> Result<(), Failure> {
        let value = event.get("item").cloned().unwrap_or_default();
        if text(&value, "/type") == "function_call" {
            let (id, name) = call_names(&value)?;
            out.push(Event::ToolCall { id, name });
        }
        let item = Item { value, ..Item::default() };
        match self.items.insert(output_index(event)?, item) {
            Some(_) => Err(Failure::malformed("an item begins twice")),
            None => Ok(()),
        }
    }

    /// A server may leave out the beginning of an item.
    fn finish_item(&mut self, event: &Value) -> Result<(), Failure> {
        let item = self.items.entry(output_index(event)?).or_default();
        let value = event.get("item").cloned().unwrap_or_default();
        if item.value != Value::Null && text(&item.value, "/type") != text(&value, "/type") {
            return Err(Failure::malformed("an item ends as another than it began"));
        }
        item.value = value;
        item.done = true;
        Ok(())
    }

    fn item(&mut self, event: &Value) -> Result<&mut Item, Failure> {
        let found = self.items.get_mut(&output_index(event)?);
        found.ok_or_else(|| Failure::malformed("a piece of an item that never began"))
    }

    fn piece(&mut self, event: &Value) -> Result<String, Failure> {
        let piece = text(event, "/delta").to_owned();
        let item = self.item(event)?;
        let (began, says) = (text(&item.value, "/id"), text(event, "/item_id"));
        if !began.is_empty() && !says.is_empty() && began != says {
            return Err(Failure::malformed("a piece names another item than its place"));
        }
        item.pieces.push_str(&piece);
        Ok(piece)
    }

    /// Parts of a summary are paragraphs.
    fn paragraph(&mut self, event: &Value, out: &mut Vec<Event>) -> Result<(), Failure> {
        let item = self.item(event)?;
        if !item.reasoning.is_empty() {
            item.reasoning.push_str("\n\n");
            out.push(Event::Reasoning("\n\n".to_owned()));
        }
        Ok(())
    }

    fn complete(&mut self, event: &Value) {
        let response = event.get("response").unwrap_or(&Value::Null);
        let output = response.get("output").and_then(Value::as_array);
        for (index, value) in (0..).zip(output.into_iter().flatten()) {
            let item = self.items.entry(index).or_default();
            if !item.done && item.value == Value::Null {
                item.value = value.clone();
                item.done = true;
            }
        }
        let usage = response.get("usage").filter(|usage| usage.is_object()).map(usage);
        self.end = Some((stop(event), usage));
    }
}

fn output_index(event: &Value) -> Result<u64, Failure> {
    let index = event.get("output_index").and_then(Value::as_u64);
    index.ok_or_else(|| Failure::malformed("an event of an item does not say of which"))
}

fn call_names(item: &Value) -> Result<(String, String), Failure> {
    let (id, name) = (text(item, "/call_id").to_owned(), text(item, "/name").to_owned());
    match id.is_empty() || name.is_empty() {
        true => Err(Failure::malformed("a tool call has no id or no name")),
        false => Ok((id, name)),
    }
}

fn stop(event: &Value) -> Stop {
    match text(event, "/response/incomplete_details/reason") {
        "" if text(event, "/type") == "response.completed" => Stop::Done,
        "max_output_tokens" => Stop::Length,
        "content_filter" => Stop::Refused("the provider's filter cut the answer off".to_owned()),
        "" => Stop::Other("incomplete".to_owned()),
        other => Stop::Other(said(other)),
    }
}

/// A part, or words that refuse to answer.
enum Said {
    Part(Part),
    Refusal(String),
}

impl Said {
    fn into_part(self) -> Part {
        match self {
            Self::Part(part) => part,
            Self::Refusal(text) => Part::Text(text),
        }
    }
}

fn parts(item: Item) -> Result<Vec<Said>, Failure> {
    match text(&item.value, "/type") {
        "message" => Ok(said_in_message(&item)),
        "function_call" => {
            let (id, name) = call_names(&item.value)?;
            let whole = text(&item.value, "/arguments");
            let arguments = if item.done { whole.to_owned() } else { item.pieces };
            Ok(vec![Said::Part(Part::ToolCall(ToolCall { id, name, arguments }))])
        }
        "reasoning" => Ok(vec![Said::Part(reasoning(item))]),
        _ => Ok(Vec::new()),
    }
}

fn said_in_message(item: &Item) -> Vec<Said> {
    let mut said = Vec::new();
    let content = item.value.get("content").and_then(Value::as_array);
    let mut words = String::new();
    let mut refusal = String::new();
    for part in content.into_iter().flatten() {
        words.push_str(text(part, "/text"));
        refusal.push_str(text(part, "/refusal"));
    }
    if !item.done {
        words.clone_from(&item.pieces);
    }
    if !words.is_empty() {
        // What a model calls a message has to go back with it.
        let phase = item.value.get("phase").filter(|phase| phase.is_string());
        said.extend(phase.map(|phase| {
            let item = json!({ "type": "phase", "phase": phase });
            Said::Part(Part::Reasoning { text: String::new(), opaque: opaque(PROVIDER, item) })
        }));
        said.push(Said::Part(Part::Text(words)));
    }
    if !refusal.is_empty() {
        said.push(Said::Refusal(refusal));
    }
    said
}

/// What goes back is what the API takes as input; without encrypted content it would look the item
/// up in a store that has none.
fn reasoning(item: Item) -> Part {
    let mut back = Map::new();
    for name in ["type", "id", "summary", "content", "encrypted_content"] {
        if let Some(value) = item.value.get(name).filter(|value| !value.is_null()) {
            back.insert(name.into(), value.clone());
        }
    }
    let whole = item.done && back.contains_key("encrypted_content");
    let summary = item.value.get("summary").and_then(Value::as_array);
    let told: Vec<_> = summary.into_iter().flatten().map(|part| text(part, "/text")).collect();
    let text = if item.reasoning.is_empty() { told.join("\n\n") } else { item.reasoning };
    let opaque = whole.then(|| opaque(PROVIDER, Value::Object(back))).flatten();
    Part::Reasoning { text, opaque }
}

/// Here the input counts the cached part too.
fn usage(usage: &Value) -> Usage {
    let cache_read = number(usage, "/input_tokens_details/cached_tokens");
    let cache_write = number(usage, "/input_tokens_details/cache_write_tokens");
    let cached = cache_read.saturating_add(cache_write);
    Usage {
        input: number(usage, "/input_tokens").saturating_sub(cached),
        cache_read,
        cache_write,
        output: number(usage, "/output_tokens"),
        reasoning: number(usage, "/output_tokens_details/reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelError;
    use crate::wire::{body_of, read_all};

    fn read(events: &[&str]) -> Result<Answer, Failure> {
        let reader = OpenAi::new("m", Known::default()).reader(&Request::default());
        read_all(reader, events).map(|(answer, _)| answer)
    }

    fn sent_back(parts: Vec<Part>) -> Value {
        body_of(&OpenAi::new("m", Known::default()), parts)
    }

    const END: &str = r#"{"type":"response.completed","response":{"output":[]}}"#;

    #[test]
    fn an_answer_that_is_told_at_its_end_only() {
        let answer = read(&[
            r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"all"}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":1}}}"#,
        ])
        .unwrap();
        assert_eq!((answer.text().as_str(), &answer.stop), ("all", &Stop::Tools));
        let want = Usage { input: 3, cache_read: 4, cache_write: 2, output: 1, reasoning: 0 };
        assert_eq!(answer.usage, Some(want));
    }

    #[test]
    fn what_a_message_is_called_goes_back_with_it() {
        let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"x"}]}}"#;
        let body = sent_back(read(&[done, END]).unwrap().parts);
        assert_eq!(text(&body, "/input/0/phase"), "commentary");
    }

    #[test]
    fn reasoning_that_could_not_go_back_stays() {
        let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[{"text":"a"},{"text":"b"}],"encrypted_content":null}}"#;
        let parts = read(&[done, END]).unwrap().parts;
        assert_eq!(parts, [Part::Reasoning { text: "a\n\nb".into(), opaque: None }]);
        assert_eq!(sent_back(parts).get("input"), Some(&json!([])));
    }

    #[test]
    fn how_it_ends() {
        let incomplete = |reason: &str| {
            format!(
                r#"{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{reason}"}}}}}}"#
            )
        };
        assert_eq!(read(&[&incomplete("max_output_tokens")]).unwrap().stop, Stop::Length);
        assert!(matches!(read(&[&incomplete("content_filter")]).unwrap().stop, Stop::Refused(_)));
        let refusal = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"No."}]}}"#;
        let answer = read(&[refusal, END]).unwrap();
        assert_eq!((answer.text().as_str(), answer.stop), ("No.", Stop::Refused("No.".into())));
        let error = |event: &str| read(&[event]).unwrap_err().error;
        let limit = r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}}"#;
        assert!(matches!(error(limit), ModelError::RateLimited { .. }));
        let long = r#"{"type":"error","code":"context_length_exceeded","message":"no"}"#;
        assert!(matches!(error(long), ModelError::TooLong(_)));
    }

    #[test]
    fn pieces_out_of_place_are_the_providers_fault() {
        let call = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"n"}}"#;
        let another = r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"g","delta":"{"}"#;
        let nowhere = r#"{"type":"response.output_text.delta","output_index":7,"delta":"x"}"#;
        let message =
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}"#;
        for bad in [call, another, nowhere, message] {
            let failure = read(&[call, bad, END]).unwrap_err();
            assert!(matches!(failure.error, ModelError::Malformed(_)), "{bad} {failure:?}");
        }
    }
}
