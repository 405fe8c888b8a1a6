//! What a provider's wire format is to the rest: a request becomes a body, events become an
//! answer. Pure; the transport is elsewhere.

use std::borrow::Cow;
use std::time::Duration;

use names::Secret;
use serde_json::{Value, json};

use crate::sse::Message;
use crate::{Answer, Event, ModelError, Part, Request};

/// One provider's format.
pub(crate) trait Wire: Send + Sync {
    /// Where requests go, below the base URL.
    fn path(&self) -> &'static str;

    /// The header that carries the key, and its value.
    fn authorization(&self, key: &Secret<String>) -> (&'static str, Secret<String>);

    /// Headers besides the usual ones.
    fn headers(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// The request as the provider wants it.
    ///
    /// # Errors
    /// When it has no form in JSON.
    fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>>;

    /// What reads the answer to this request.
    fn reader(&self, request: &Request) -> Box<dyn Reader>;
}

/// Makes an answer of events.
pub(crate) trait Reader {
    /// Takes the next event of the stream and adds what can be shown of it to `out`.
    fn read(&mut self, message: &Message, out: &mut Vec<Event>) -> Result<(), Failure>;

    /// Whether the answer is whole, whatever else may come.
    fn is_done(&self) -> bool;

    /// The answer, if it is whole.
    fn finish(self: Box<Self>) -> Result<Answer, Failure>;
}

/// Why an exchange failed, and whether sending the same again may help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) again: Again,
}

/// Whether sending the same request again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// No.
    Never,
    /// Yes, and perhaps not before this time.
    After(Option<Duration>),
}

impl Failure {
    pub(crate) fn lasting(error: ModelError) -> Self {
        Self { error, again: Again::Never }
    }

    pub(crate) fn passing(error: ModelError) -> Self {
        Self { error, again: Again::After(None) }
    }

    /// An answer that the protocol doesn't know.
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::lasting(ModelError::Malformed(what.into()))
    }

    /// A stream that ended before the answer did.
    pub(crate) fn half() -> Self {
        Self::passing(ModelError::Interrupted("the answer ended in its middle".into()))
    }
}

/// Longest text of a provider that is repeated.
const LONGEST_SAID: usize = 500;

/// What a provider said, fit to be shown.
pub(crate) fn said(text: &str) -> String {
    let text = names::redact(text);
    let short: String = text.chars().take(LONGEST_SAID).collect();
    names::printable(short.trim().as_bytes())
}

/// An error that a provider describes, by status (0 in the middle of a stream) and words.
pub(crate) fn fault(status: u16, body: &Value) -> Failure {
    let error = body.get("error").unwrap_or(body);
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = match error.as_str() {
        Some(text) => text,
        None => text("message"),
    };
    let code = error.get("code").map(|code| match code {
        Value::String(code) => code.clone(),
        other => other.to_string(),
    });
    let kinds = [text("type").to_owned(), code.unwrap_or_default()];
    let words = if message.is_empty() { kinds.join(" ") } else { message.to_owned() };
    let words = match (status, words.trim()) {
        (0, words) => said(words),
        (status, "") => format!("status {status}"),
        (status, words) => format!("status {status}: {}", said(words)),
    };
    classify(status, &kinds, &message.to_lowercase(), words)
}

fn classify(status: u16, kinds: &[String; 2], message: &str, words: String) -> Failure {
    let is = |names: &[&str]| kinds.iter().any(|kind| names.contains(&kind.as_str()));
    let says = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
    if is(&["insufficient_quota", "billing_error"])
        || says(&["credit balance is too low"])
        || status == 402
    {
        return Failure::lasting(ModelError::Exhausted(words));
    }
    if is_too_long(status, kinds, message) {
        return Failure::lasting(ModelError::TooLong(words));
    }
    if status == 429 || is(&["rate_limit_error", "rate_limit_exceeded", "rate_limit"]) {
        return Failure::passing(ModelError::RateLimited { said: words, after: None });
    }
    if matches!(status, 401 | 403) || is(&["authentication_error", "permission_error"]) {
        return Failure::lasting(ModelError::Unauthorized(words));
    }
    if status == 404 || is(&["not_found_error", "model_not_found"]) {
        return Failure::lasting(ModelError::NotFound(words));
    }
    if is_a_servers_fault(status)
        || is(&[
            "overloaded_error",
            "api_error",
            "server_error",
            "timeout_error",
            "server_is_overloaded",
        ])
    {
        return Failure::passing(ModelError::Overloaded(words));
    }
    Failure::lasting(ModelError::Refused(words))
}

/// Statuses after which the same request may succeed; 529 is Anthropic's "overloaded".
fn is_a_servers_fault(status: u16) -> bool {
    matches!(status, 408 | 500 | 502..=504 | 520..=529)
}

fn is_too_long(status: u16, kinds: &[String; 2], message: &str) -> bool {
    const KINDS: [&str; 3] =
        ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
    const WORDS: [&str; 5] = [
        "prompt is too long",
        "maximum context length",
        "context window",
        "context size",
        "exceed context limit",
    ];
    status == 413
        || kinds.iter().any(|kind| KINDS.contains(&kind.as_str()))
        || matches!(status, 0 | 400 | 500) && WORDS.iter().any(|words| message.contains(words))
}

/// A string in a value, or nothing of it.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number in a value, or zero.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The data of an event, which has to be JSON.
pub(crate) fn json_of(message: &Message) -> Result<Value, Failure> {
    serde_json::from_str(&message.data).map_err(|error| {
        Failure::malformed(format!("an event is no JSON ({error}): {}", said(&message.data)))
    })
}

/// Where opaque reasoning came from, and what it is.
pub(crate) fn opaque(provider: &str, item: Value) -> Option<Value> {
    Some(json!({ "provider": provider, "item": item }))
}

/// What this provider left in a part of reasoning.
pub(crate) fn left_by<'p>(provider: &str, part: &'p Part) -> Option<&'p Value> {
    let Part::Reasoning { opaque: Some(opaque), .. } = part else { return None };
    (text(opaque, "/provider") == provider).then(|| opaque.get("item")).flatten()
}

/// The texts as one, which is borrowed if there is only one.
pub(crate) fn joined<'t>(texts: impl IntoIterator<Item = &'t str>, between: &str) -> Cow<'t, str> {
    let texts: Vec<_> = texts.into_iter().collect();
    match texts.as_slice() {
        [one] => Cow::Borrowed(one),
        several => Cow::Owned(several.join(between)),
    }
}

/// The bytes as a `data:` URL.
pub(crate) fn data_url(media_type: &str, data: &[u8]) -> String {
    format!("data:{media_type};base64,{}", base64_of(data))
}

pub(crate) fn base64_of(data: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(data)
}

/// The body of a request that sends these parts of an answer back, for the tests of the formats.
#[cfg(test)]
pub(crate) fn body_of(wire: &dyn Wire, answered: Vec<Part>) -> Value {
    let messages = vec![crate::Message::Assistant(answered)];
    let body = wire.body(&Request { messages, ..Request::default() }).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Reads a stream of these events, for the tests of the formats.
#[cfg(test)]
pub(crate) fn read_all(
    mut reader: Box<dyn Reader>,
    events: &[&str],
) -> Result<(Answer, Vec<Event>), Failure> {
    let mut shown = Vec::new();
    for data in events {
        let message = Message { data: (*data).to_owned(), ..Message::default() };
        reader.read(&message, &mut shown)?;
    }
    Ok((reader.finish()?, shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Failure {
        fault(status, &serde_json::from_str(body).unwrap())
    }

    #[test]
    fn errors_are_told_apart_as_their_providers_do() {
        let cases = [
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            ),
            (
                413,
                r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            (0, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ),
            (400, r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#),
            (404, r#"{"error":"model \"x\" not found, try pulling it first"}"#),
            (400, r#"{"error":{"code":400,"message":"bad \u001b[31m"}}"#),
            (503, r#"{}"#),
        ];
        let shown = cases.map(|(status, body)| format!("{:?}", of(status, body)));
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn what_looks_like_a_key_is_not_repeated() {
        let failure = of(
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-abcdefghijklmnopqrstuvwxyz0123"}}"#,
        );
        assert_eq!(failure.error.to_string(), "status 401: Incorrect API key provided: [secret]");
    }
}
