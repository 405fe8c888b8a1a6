//! Answers go back as they came, and every call has its result.

use models::{Event, Message, Part, Stop, Usage};
use testkit::ModelServer;

use crate::support::{PROVIDERS, ask, model, request, results};

const SCRIPT: &str = r#"
    name = "rounds"
    [[turn]]
    expect = { tools = "bash", system = "You are a test.", last = "go" }
    reasoning = "I think about it."
    text = "Two at once, é."
    usage = { input = 100, cache_read = 30, cache_write = 20, output = 7 }
    [[turn.call]]
    name = "bash"
    arguments = { command = "echo one two three" }
    [[turn.call]]
    name = "bash"
    raw = '{"command": broken'
    [[turn]]
    expect = { results = 2, last = ["result of call_0_0", "result of call_0_1"] }
    call = [{ name = "bash" }]
    [[turn]]
    expect = { results = 1 }
    text = "Done."
    usage = { output = 2 }
    [[turn]]
    expect = { last = "more" }
    text = "cut o"
    stop = "length"
"#;

#[test]
fn a_conversation_with_tools_goes_on_with_every_provider() {
    for provider in PROVIDERS {
        let server = ModelServer::start(SCRIPT);
        let model = model(provider, &server);
        let mut request = request("go");

        let (answer, events) = ask(model.as_ref(), &request);
        let answer = answer.unwrap();
        assert_eq!(answer.stop, Stop::Tools, "{provider:?}");
        assert_eq!(answer.text(), "Two at once, é.");
        let want = Usage { input: 100, cache_read: 30, cache_write: 20, output: 7, reasoning: 0 };
        assert_eq!(answer.usage, Some(want), "{provider:?}");
        let arguments: Vec<_> = answer.calls().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"command":"echo one two three"}"#, r#"{"command": broken"#]);
        assert!(
            matches!(&answer.parts[0], Part::Reasoning { text, opaque: Some(_) } if text == "I think about it.")
        );
        assert_eq!(shown(&events), ("I think about it.".into(), "Two at once, é.".into(), 2));

        request.messages.push(Message::Assistant(answer.parts.clone()));
        request.messages.push(results(&answer));
        let answer = ask(model.as_ref(), &request).0.unwrap();
        assert_eq!(answer.calls().map(|call| call.arguments.as_str()).collect::<Vec<_>>(), ["{}"]);
        request.messages.push(Message::Assistant(answer.parts.clone()));
        request.messages.push(results(&answer));
        let answer = ask(model.as_ref(), &request).0.unwrap();
        assert_eq!((answer.text().as_str(), answer.stop.clone()), ("Done.", Stop::Done));
        request.messages.push(Message::Assistant(answer.parts));
        request.messages.push(Message::user("more"));
        assert_eq!(ask(model.as_ref(), &request).0.unwrap().stop, Stop::Length);

        server.verdict().unwrap();
        assert!(server.is_at_its_end());
        assert_eq!(server.asked().len(), 4, "{provider:?}");
    }
}

/// A session may go on with another provider: what the first left in its answers stays at home.
#[test]
fn an_answer_of_one_provider_is_understood_by_every_other() {
    for first in PROVIDERS {
        for second in PROVIDERS {
            let server = ModelServer::start(SCRIPT);
            let mut request = request("go");
            let answer = ask(model(first, &server).as_ref(), &request).0.unwrap();
            request.messages.push(Message::Assistant(answer.parts.clone()));
            request.messages.push(results(&answer));
            ask(model(second, &server).as_ref(), &request).0.unwrap();
            server.verdict().unwrap_or_else(|wrong| panic!("{first:?} {second:?} {wrong}"));
        }
    }
}

#[test]
fn a_connection_serves_more_than_one_answer_and_a_lost_one_is_replaced() {
    let script = r#"
        name = "x"
        [[turn]]
        text = "one"
        [[turn]]
        text = "two"
        fault = { kind = "reset" }
    "#;
    for provider in PROVIDERS {
        let server = ModelServer::start(script);
        let model = model(provider, &server);
        assert_eq!(ask(model.as_ref(), &request("1")).0.unwrap().text(), "one");
        let (answer, events) = ask(model.as_ref(), &request("2"));
        assert_eq!(answer.unwrap().text(), "two");
        let retried = events.iter().any(|event| matches!(event, Event::Retrying { .. }));
        assert!(!retried, "the loss of a kept connection is nobody's concern");
    }
}

fn shown(events: &[Event]) -> (String, String, usize) {
    let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), 0);
    for event in events {
        match event {
            Event::Reasoning(piece) => reasoning.push_str(piece),
            Event::Text(piece) => text.push_str(piece),
            Event::ToolCall { .. } => calls += 1,
            Event::Retrying { .. } => {}
        }
    }
    (reasoning, text, calls)
}
