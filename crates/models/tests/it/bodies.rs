//! The body of a rich request, in every format, as it is on the wire.

use models::{Effort, Message, Part, Request, ToolCall};
use serde_json::json;
use testkit::ModelServer;

use crate::support::{PROVIDERS, ask, model, request};

fn rich() -> Request {
    let call = |id: &str, arguments: &str| {
        Part::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "bash".to_owned(),
            arguments: arguments.to_owned(),
        })
    };
    let opaque = |provider: &str, item| Part::Reasoning {
        text: "Hm.".to_owned(),
        opaque: Some(json!({ "provider": provider, "item": item })),
    };
    let image = Part::Image { media_type: "image/png".to_owned(), data: vec![1, 2, 3] };
    let text = |text: &str| Part::Text(text.to_owned());
    let result =
        |call: &str, parts, failed| Part::ToolResult { call: call.to_owned(), parts, failed };
    Request {
        messages: vec![
            Message::User(vec![text("Look at this."), image.clone()]),
            Message::Assistant(vec![
                opaque(
                    "anthropic",
                    json!({ "type": "thinking", "thinking": "Hm.", "signature": "s" }),
                ),
                opaque(
                    "openai",
                    json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e" }),
                ),
                opaque("openai", json!({ "type": "phase", "phase": "commentary" })),
                opaque("openai-compatible", json!({ "field": "reasoning_content" })),
                text("I run it."),
                call("c|1", r#"{"command":"ls"}"#),
                call("c2", "{broken"),
            ]),
            Message::User(vec![
                text("By the way."),
                result("c|1", vec![text("a.txt"), image], false),
                result("c2", vec![text("no JSON")], true),
            ]),
            Message::Assistant(vec![text(" "), text("Done.")]),
            Message::user("Thanks."),
        ],
        max_output: Some(1000),
        effort: Some(Effort::Max),
        schema: Some(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
        cache_key: Some("session-1".to_owned()),
        ..request("")
    }
}

#[test]
fn a_rich_request() {
    for provider in PROVIDERS {
        let server = ModelServer::start("name = 'x'\n[[turn]]\ntext = 'x'");
        ask(model(provider, &server).as_ref(), &rich()).0.unwrap();
        server.verdict().unwrap();
        let asked = server.asked().remove(0);
        let name = provider.0.split(':').next().unwrap();
        let body = serde_json::to_string_pretty(&asked.body).unwrap();
        insta::assert_snapshot!(name, body);
    }
}

#[test]
fn an_older_model_thinks_by_a_budget() {
    let server = ModelServer::start("name = 'x'\n[[turn]]\ntext = 'x'");
    let request = Request { effort: Some(Effort::High), max_output: Some(20_000), ..request("go") };
    ask(model(("anthropic:claude-haiku-4-5", ""), &server).as_ref(), &request).0.unwrap();
    let body = server.asked().remove(0).body;
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 10_000 }));
    assert_eq!(body["output_config"], json!(null));
}

#[test]
fn a_model_that_does_not_reason_is_not_told_to() {
    let server = ModelServer::start("name = 'x'\n[[turn]]\ntext = 'x'");
    let request = Request { effort: Some(Effort::High), ..request("go") };
    ask(model(("openai:gpt-4.1", "/v1"), &server).as_ref(), &request).0.unwrap();
    let body = server.asked().remove(0).body;
    assert_eq!((&body["reasoning"], &body["include"]), (&json!(null), &json!(null)));
}
