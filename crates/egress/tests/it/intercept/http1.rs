//! HTTP/1 on connections that are opened: hosts, framing, streams, websockets, records.

use std::io::{Read as _, Write as _};

use names::Digest;
use proptest::prelude::*;
use serde_json::json;

use super::scene::{API, Lent, OTHER, Pki, owner, remembering, request, response, tls_origin};
use crate::scene::Origin;

fn lent(origin: &Origin, pki: &Pki) -> Lent {
    Lent::new(&owner(pki, origin, origin))
}

#[test]
fn a_request_is_recorded_before_and_after_without_its_query() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let lent = lent(&origin, &pki);
    let get =
        "GET /a?token=hidden HTTP/1.1\r\nHost: other.example.com\r\nConnection: close\r\n\r\n";
    assert!(lent.ask(OTHER, get).ends_with("\r\n\r\nok"));
    assert!(seen.lock().unwrap()[0].starts_with("GET /a?token=hidden HTTP/1.1\r\n"));
    let intent = lent.medium().wait_for("http.intent");
    assert_eq!(intent["action"]["path"], "/a");
    assert_eq!(intent["action"]["host"], OTHER);
    let result = lent.medium().wait_for("http.result");
    assert_eq!(result["result"], json!({"status": 200}));
    let ended = lent.medium().wait_for("connect.result");
    assert_eq!(ended["result"]["ended"], "closed");
    assert!(!lent.records().contains("hidden"));
}

/// An answer to one query is none to another.
#[test]
fn a_query_is_told_from_another_and_not_shown() {
    let pki = Pki::new();
    let (origin, _) = remembering(pki.good(OTHER));
    let lent = lent(&origin, &pki);
    for target in ["/a?token=hidden", "/a?token=hidden", "/a?token=other", "/a"] {
        let get = format!(
            "GET {target} HTTP/1.1\r\nHost: other.example.com\r\nConnection: close\r\n\r\n"
        );
        assert!(lent.ask(OTHER, &get).ends_with("ok"));
    }
    let intents = lent.medium().wait_for_many("http.intent", 4);
    let of = |key: &str| intents.iter().map(|it| it["action"][key].clone()).collect::<Vec<_>>();
    assert!(of("path").iter().all(|path| path == "/a"));
    let queries = of("query");
    assert_eq!(queries[0], queries[1]);
    assert_ne!(queries[0], queries[2]);
    assert!(queries[3].is_null() && queries[0].is_string());
    // Nobody who reads the record can try what it is.
    let guess = Digest::of_parts("loop-query-v1", &[b"token=hidden"]);
    assert!(
        !queries.contains(&json!(guess)) && !queries.contains(&json!(Digest::of(b"token=hidden")))
    );
    assert!(!lent.records().contains("hidden"));
}

#[test]
fn another_host_on_the_first_or_a_later_request_is_refused_g1() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let lent = lent(&origin, &pki);
    let fronted = "GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n";
    let answer = lent.ask(OTHER, fronted);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("the connection is to other.example.com:443"), "{answer}");
    let mut stream = lent.open(OTHER);
    let honest = "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n";
    stream.write_all(honest.as_bytes()).unwrap();
    assert!(response(&mut stream).ends_with("ok"));
    stream.write_all(fronted.as_bytes()).unwrap();
    assert!(response(&mut stream).starts_with("HTTP/1.1 403 "));
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(lent.medium().wait_for_many("denied", 2).len(), 2);
}

#[test]
fn what_two_parsers_could_read_differently_is_refused_g2() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let lent = lent(&origin, &pki);
    let host = "Host: other.example.com\r\n";
    for bad in [
        format!("POST / HTTP/1.1\r\n{host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("POST / HTTP/1.1\r\n{host}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
        format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunkedx\r\n\r\n"),
        format!("GET / HTTP/1.1\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}X: a\r\n b\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}Upgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(66_000)),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
    ] {
        let answer = lent.ask(OTHER, &bad);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{bad:.80}: {answer}");
    }
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_narrowed_request_is_denied_with_its_rule() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let owner = owner(&pki, &origin, &origin)
        .replace("paths = [\"/**\"]", "methods = [\"GET\"]\npaths = [\"/crates/**\"]");
    let lent = Lent::new(&owner);
    for (request, status) in [
        ("GET /crates/serde", 200),
        ("POST /crates/serde", 403),
        ("GET /login", 403),
        ("GET /crates/../login", 403),
    ] {
        let head = format!("{request} HTTP/1.1\r\nHost: other.example.com\r\n\r\n");
        let answer = lent.ask(OTHER, &head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn a_thousand_requests_go_over_one_connection() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let lent = lent(&origin, &pki);
    let mut stream = lent.open(OTHER);
    for at in 0..1000 {
        let body = "x".repeat(at % 7);
        let length = body.len();
        let head = "Host: other.example.com\r\nContent-Length";
        let request = format!("POST /{at} HTTP/1.1\r\n{head}: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        assert!(response(&mut stream).ends_with("ok"), "{at}");
    }
    assert_eq!(seen.lock().unwrap().len(), 1000);
    assert_eq!(origin.reached(), 1);
    assert_eq!(lent.medium().wait_for_many("http.result", 1000).len(), 1000);
}

/// Events come one by one: each is sent only after the one before it arrived.
#[test]
fn a_stream_of_events_is_not_gathered() {
    let pki = Pki::new();
    let (tell, told) = std::sync::mpsc::sync_channel::<()>(1);
    let told = std::sync::Mutex::new(told);
    let origin = tls_origin(pki.good(OTHER), move |stream| {
        let _ = request(stream);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for at in 0..5 {
            stream.write_all(format!("9\r\ndata: {at}\n\n\r\n").as_bytes()).unwrap();
            stream.flush().unwrap();
            told.lock().unwrap().recv().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let lent = lent(&origin, &pki);
    let mut stream = lent.open(OTHER);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: other.example.com\r\n\r\n").unwrap();
    let mut got = String::new();
    let mut chunk = [0; 4096];
    for at in 0..5 {
        while !got.contains(&format!("data: {at}\n\n")) {
            let read = stream.read(&mut chunk).unwrap();
            assert!(read > 0, "{got}");
            got.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
        }
        tell.send(()).unwrap();
    }
    while !got.ends_with("0\r\n\r\n") {
        let read = stream.read(&mut chunk).unwrap();
        got.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
}

#[test]
fn large_bodies_pass_both_ways_unchanged() {
    let pki = Pki::new();
    let origin = tls_origin(pki.good(OTHER), |stream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let mut body = vec![0; 3 << 20];
        stream.read_exact(&mut body).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(&body).unwrap();
    });
    let lent = lent(&origin, &pki);
    let body: Vec<u8> = (0..3_u32 << 20).map(|at| (at % 251) as u8).collect();
    let mut stream = lent.open(OTHER);
    write!(
        stream,
        "PUT /big HTTP/1.1\r\nHost: other.example.com\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    stream.write_all(&body).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let mut back = vec![0; body.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(Digest::of(&back), Digest::of(&body));
}

#[test]
fn a_websocket_passes_both_ways() {
    let pki = Pki::new();
    let origin = tls_origin(pki.good(OTHER), |stream| {
        let head = request(stream).unwrap();
        assert!(head.contains("Sec-WebSocket-Key: a2V5"), "{head}");
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                      Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
        let mut frame = [0; 4];
        while stream.read_exact(&mut frame).is_ok() {
            stream.write_all(&frame).unwrap();
        }
    });
    let lent = lent(&origin, &pki);
    let mut stream = lent.open(OTHER);
    let ask = "GET /socket HTTP/1.1\r\nHost: other.example.com\r\nUpgrade: websocket\r\n\
               Connection: Upgrade\r\nSec-WebSocket-Key: a2V5\r\nSec-WebSocket-Version: 13\r\n\r\n";
    stream.write_all(ask.as_bytes()).unwrap();
    let answer = response(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    for frame in [b"one!", b"two!", b"\x81\x02hi"] {
        stream.write_all(frame).unwrap();
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, frame);
    }
}

#[test]
fn a_destination_that_breaks_off_is_an_error_that_the_client_reads() {
    let pki = Pki::new();
    let origin = tls_origin(pki.good(OTHER), |stream| {
        let _ = request(stream);
    });
    let lent = lent(&origin, &pki);
    let answer = lent.ask(OTHER, "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(lent.medium().wait_for("http.result")["result"]["status"], json!(null));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever bytes come over TLS, the gate answers or closes, and goes on serving others.
    #[test]
    fn any_bytes_are_answered_or_closed(bytes in proptest::collection::vec(any::<u8>(), 1..200)) {
        let pki = Pki::new();
        let (origin, seen) = remembering(pki.good(API));
        let lent = Lent::new(&owner(&pki, &origin, &origin));
        let mut stream = lent.open(API);
        stream.write_all(&bytes).unwrap();
        stream.conn.send_close_notify();
        let _ = stream.flush();
        let _ = response(&mut stream);
        prop_assert!(seen.lock().unwrap().is_empty());
        let honest = "GET /v1 HTTP/1.1\r\nHost: api.example.com\r\n\r\n";
        prop_assert!(lent.ask(API, honest).ends_with("ok"));
    }
}
