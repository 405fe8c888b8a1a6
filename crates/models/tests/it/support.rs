//! A conversation with a server that plays a script.

use std::time::Duration;

use models::{
    Answer, Cancel, Event, Message, Model, ModelError, Part, Request, Settings, ToolSpec, find_with,
};
use names::Secret;
use serde_json::json;
use testkit::ModelServer;

pub(crate) const KEY: &str = "canary-0123456789";

/// Every provider that goes over the network, and the path of its base URL.
pub(crate) const PROVIDERS: [(&str, &str); 4] = [
    ("anthropic:claude-sonnet-5-5", ""),
    ("openai:gpt-6.2-sol", "/v1"),
    ("openai-compatible:http://localhost/v1#some-model", "/v1"),
    ("ollama:qwen3", ""),
];

/// Keys of every provider, and nothing else.
pub(crate) fn keys(name: &str) -> Option<Secret<String>> {
    name.ends_with("_API_KEY").then(|| Secret::new(KEY.to_owned()))
}

/// The provider, at this server.
pub(crate) fn model(provider: (&str, &str), server: &ModelServer) -> Box<dyn Model> {
    with(provider, server, Duration::from_secs(20))
}

/// The same, waiting no longer than this for anything.
pub(crate) fn with(
    (spec, path): (&str, &str),
    server: &ModelServer,
    patience: Duration,
) -> Box<dyn Model> {
    let mut settings = Settings::default();
    settings.base_url = Some(format!("{}{path}", server.url()));
    settings.roots = server.authority().map(str::to_owned);
    find_with(Some(spec), &keys, settings.impatient(patience)).unwrap()
}

/// Asks, and sees what comes.
pub(crate) fn ask(
    model: &dyn Model,
    request: &Request,
) -> (Result<Answer, ModelError>, Vec<Event>) {
    let mut events = Vec::new();
    let answer = model.answer(request, &Cancel::new(), &mut |event| events.push(event));
    (answer, events)
}

pub(crate) fn request(text: &str) -> Request {
    Request {
        system: "You are a test.".to_owned(),
        tools: vec![ToolSpec {
            name: "bash".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "command": { "type": "string" } },
                "required": ["command"],
            }),
        }],
        messages: vec![Message::user(text)],
        ..Request::default()
    }
}

/// A text result for every call of an answer.
pub(crate) fn results(answer: &Answer) -> Message {
    let result = |call: &models::ToolCall| Part::ToolResult {
        call: call.id.clone(),
        parts: vec![Part::Text(format!("result of {}", call.id))],
        failed: false,
    };
    Message::User(answer.calls().map(result).collect())
}
