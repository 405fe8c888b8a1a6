//! Two other parsers of HTTP/1 beside ours: what we accept, they read as we do. So whatever they
//! read differently is refused.

use std::io::Write as _;
use std::process::{Command, Stdio};

use egress::Speech;
use egress::http::wire::{Framing, RequestHead};
use names::Port;
use serde_json::{Value, json};

use crate::random::Random;

const HEADS: usize = 30_000;

const SEEDS: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "POST /a/b?c=d HTTP/1.1\r\nHost: example.com:8080\r\nContent-Length: 5\r\nX-A: b, c\r\n\r\nhello",
    "PUT /x HTTP/1.1\r\nhost:example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET http://example.com/a HTTP/1.1\r\nHost: example.com\r\nProxy-Authorization: Basic eDp5\r\n\r\n",
    "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nConnection: close, x\r\n\r\n",
    "HEAD /a HTTP/1.0\r\nHost: example.com\r\nUser-Agent: \t x  y \t\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
];

fn heads() -> Vec<Vec<u8>> {
    let mut random = Random::new(7);
    let seeds = SEEDS.iter().map(|seed| seed.as_bytes().to_vec());
    let mut heads: Vec<Vec<u8>> = seeds.collect();
    for _ in 0..HEADS {
        let mut bytes = random.one_of(SEEDS).as_bytes().to_vec();
        random.change(&mut bytes);
        heads.push(bytes);
    }
    heads
}

/// What a parser made of a head, in what decides: the line, the length of the head, and the values
/// of the fields that say where it goes and how long its body is.
fn reading(
    method: &str,
    target: &str,
    version: &str,
    length: usize,
    fields: &[(String, String)],
) -> Value {
    let named = |name: &str| -> Vec<&str> {
        let some = fields.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
        some.map(|(_, value)| value.as_str()).collect()
    };
    json!({
        "method": method, "target": target, "version": version, "length": length,
        "host": named("host"), "content-length": named("content-length"),
        "transfer-encoding": named("transfer-encoding"), "fields": fields.len(),
    })
}

/// Our own, with the line as it was sent.
fn ours(bytes: &[u8]) -> Option<Value> {
    let (head, length) = RequestHead::parse(bytes, Port::HTTPS).ok()??;
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap();
    let line = str::from_utf8(line).unwrap();
    let parts: Vec<&str> = line.split(' ').collect();
    assert_eq!(parts[0], head.method);
    let fields: Vec<(String, String)> =
        head.fields.iter().map(|field| (field.name.clone(), latin(&field.value))).collect();
    let coded = head.framing == Framing::Chunked;
    assert_eq!(
        coded,
        fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"))
    );
    Some(reading(parts[0], parts[1], parts[2], length, &fields))
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn of_httparse(bytes: &[u8]) -> Option<Value> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(length) = request.parse(bytes).ok()? else { return None };
    let version = format!("HTTP/1.{}", request.version.unwrap());
    let fields: Vec<(String, String)> =
        request.headers.iter().map(|field| (field.name.to_owned(), latin(field.value))).collect();
    Some(reading(request.method.unwrap(), request.path.unwrap(), &version, length, &fields))
}

const PYTHON: &str = r#"
import http.server, io, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, data):
        self.rfile, self.wfile = io.BytesIO(data), io.BytesIO()
        self.client_address, self.requestline, self.command = ("", 0), "", None
        self.raw_requestline = self.rfile.readline(65537)
        self.ok = self.parse_request()
    def log_message(self, *_): pass
for line in sys.stdin:
    data = bytes.fromhex(line)
    try:
        it = Handler(data)
        named = lambda name: [v.strip(" \t") for v in it.headers.get_all(name, [])]
        print(json.dumps({
            "method": it.command, "target": it.requestline.split()[1], "version": it.request_version,
            "length": it.rfile.tell(), "host": named("host"), "content-length": named("content-length"),
            "transfer-encoding": named("transfer-encoding"), "fields": len(it.headers.items()),
        } if it.ok else None))
    except Exception:
        print("null")
"#;

#[expect(clippy::disallowed_methods, reason = "a test may start the other parser")]
fn of_python(heads: &[Vec<u8>]) -> Vec<Value> {
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = command.spawn().expect("python3 is installed (cargo xtask needs)");
    let mut stdin = python.stdin.take().unwrap();
    let lines: String = heads
        .iter()
        .map(|head| head.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_others_read_differently_is_refused() {
    let heads = heads();
    let python = of_python(&heads);
    assert_eq!(python.len(), heads.len());
    let (mut accepted, mut differing) = (0, 0);
    for (bytes, python) in heads.iter().zip(&python) {
        let other = of_httparse(bytes);
        if let Some(ours) = ours(bytes) {
            let shown = names::printable(bytes);
            assert_eq!(other.as_ref(), Some(&ours), "httparse: {shown}");
            // Python answers an older version of the protocol, or a target with two slashes, in its
            // own way.
            let mut python = python.clone();
            if python["target"].is_string() {
                python["target"] = ours["target"].clone();
            }
            assert_eq!(python, ours, "python: {shown}");
            accepted += 1;
        } else if other.is_some() || !python.is_null() {
            differing += 1;
        }
    }
    assert!(accepted > HEADS / 50 && differing > HEADS / 50, "{accepted} {differing}");
}

/// What another parser would take for a request is never passed on as bytes that nobody read.
#[test]
fn what_others_take_for_http_is_told_for_http() {
    for bytes in heads() {
        if of_httparse(&bytes).is_some() {
            assert_eq!(Speech::of(&bytes), Some(Speech::Http), "{}", names::printable(&bytes));
        }
    }
}
