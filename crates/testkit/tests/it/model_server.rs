//! The model server notices requests that the real APIs refuse.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::ModelServer;

const SCRIPT: &str = "name = 'x'\n[[turn]]\nrepeat = true\ntext = 'hello'";

/// Sends a request and returns status and body.
fn post(server: &ModelServer, path: &str, headers: &str, body: &Value) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{headers}\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

const KEYS: &str = "x-api-key: k\r\nanthropic-version: 2023-06-01\r\nauthorization: Bearer k\r\n";

/// What the server says of one request.
fn verdict(path: &str, headers: &str, body: Value) -> String {
    let server = ModelServer::start(SCRIPT);
    post(&server, path, headers, &body);
    server.verdict().err().unwrap_or_else(|| "fine".to_owned())
}

fn messages(messages: Value) -> String {
    let body = json!({ "model": "m", "max_tokens": 9, "messages": messages });
    verdict("/v1/messages?beta=true", KEYS, body)
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "n", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "x" })
}

#[test]
fn what_breaks_the_rules_of_messages_is_noticed() {
    let user = |content: Value| json!({ "role": "user", "content": content });
    let model = |content: Value| json!({ "role": "assistant", "content": content });
    let cases = [
        messages(json!([user(json!("hi"))])),
        messages(json!([user(json!("hi")), model(json!([call("a")])), user(json!([result("a")]))])),
        messages(json!([user(json!("hi")), model(json!([call("a")])), user(json!("no"))])),
        messages(json!([user(json!("hi")), user(json!([result("a")]))])),
        messages(json!([
            user(json!("hi")),
            model(json!([call("a"), call("a")])),
            user(json!([{ "type": "text", "text": "x" }, result("a")]))
        ])),
        messages(json!([
            user(json!(" ")),
            model(json!([{ "type": "thinking", "thinking": "x" }]))
        ])),
        verdict("/v1/messages", "", json!({ "messages": [user(json!("hi"))] })),
    ];
    insta::assert_snapshot!(cases.join("\n\n"));
}

#[test]
fn what_breaks_the_rules_of_responses_is_noticed() {
    let hi = json!({ "role": "user", "content": "hi" });
    let call = json!({ "type": "function_call", "call_id": "a", "name": "n", "arguments": "" });
    let output = json!({ "type": "function_call_output", "call_id": "a", "output": "x" });
    let reasoning = json!({ "type": "reasoning", "id": "rs", "summary": [] });
    let of = |input: Value| {
        verdict("/v1/responses", KEYS, json!({ "model": "m", "store": false, "input": input }))
    };
    let cases = [
        of(json!([hi, call, output])),
        of(json!([hi, output])),
        of(json!([hi, call])),
        of(json!([hi, reasoning, call, call, output])),
        verdict("/v1/responses", "", json!({ "model": "m", "input": "hi" })),
    ];
    insta::assert_snapshot!(cases.join("\n\n"));
}

#[test]
fn what_breaks_the_rules_of_chat_is_noticed() {
    let hi = json!({ "role": "user", "content": "hi" });
    let function = json!({ "name": "n", "arguments": "{}" });
    let calls = json!([{ "id": "a", "type": "function", "function": function }]);
    let model = json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let output = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    let of = |messages: Value| {
        verdict("/v1/chat/completions", "", json!({ "model": "m", "messages": messages }))
    };
    let cases = [
        of(json!([hi, model, output])),
        of(json!([hi, model, hi, output])),
        of(json!([hi, output])),
        of(json!([hi, model])),
    ];
    insta::assert_snapshot!(cases.join("\n\n"));
}

#[test]
fn a_request_that_the_script_does_not_expect_is_refused_and_told() {
    let server = ModelServer::start("name = 'x'\n[[turn]]\nexpect = { last = 'bye' }");
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let (status, _) = post(&server, "/v1/chat/completions", "", &body);
    assert_eq!(status, 400);
    assert_eq!(server.verdict().unwrap_err(), "turn 1 expects \"bye\" since the last answer");
}

#[test]
fn an_answer_may_come_in_one_piece() {
    let server = ModelServer::start(SCRIPT);
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let body = json!({ "model": "m", "max_tokens": 9, "messages": messages });
    let said = |path, pointer: &str| {
        let (_, answer) = post(&server, path, KEYS, &body);
        answer.pointer(pointer).cloned().unwrap_or_default()
    };
    assert_eq!(said("/v1/messages", "/content/0/text"), "hello");
    assert_eq!(said("/v1/chat/completions", "/choices/0/message/content"), "hello");
    assert!(said("/v1/messages/count_tokens", "/input_tokens").as_u64().unwrap() > 0);
    let input = json!({ "model": "m", "input": "hi" });
    let (_, answer) = post(&server, "/v1/responses", KEYS, &input);
    assert_eq!(answer.pointer("/output/0/content/0/text").unwrap(), "hello");
    server.verdict().unwrap();
}
