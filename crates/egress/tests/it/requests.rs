//! HTTP without TLS: transparent, and asked of the proxy by URL.

use std::io::{Read as _, Write as _};

use serde_json::json;

use crate::scene::{Origin, Scene, exchange, grant, read_head, rest};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A transparent request on whichever port the scene has.
fn get(scene: &Scene, path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: example.com:{}\r\n{more}\r\n", scene.port)
}

#[test]
fn a_plain_request_goes_through_either_way() {
    let (origin, heads) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "80, PORT", &origin, ""));
    let request = get(&scene, "/a?b=c", "Accept: x\r\nConnection: close\r\n");
    let answer = exchange(scene.to("example.com"), request.as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
        "{answer}"
    );
    let answer = scene.ask_proxy(
        b"GET http://example.com/a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: x\r\n\
          Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nX-Hop: 1\r\n\
          Connection: x-hop\r\n\r\n",
    );
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
        "{answer}"
    );
    let heads = heads.lock().unwrap();
    assert_eq!(
        heads[0],
        format!(
            "GET /a?b=c HTTP/1.1\r\nHost: example.com:{}\r\nAccept: x\r\nConnection: close\r\n\r\n",
            scene.port
        )
    );
    assert_eq!(heads[1], "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: x\r\n\r\n");
}

#[test]
fn a_connection_is_kept_for_the_same_host() {
    let (origin, heads) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let mut stream = scene.to("example.com");
    for path in ["/1", "/2", "/3"] {
        stream.write_all(get(&scene, path, "").as_bytes()).unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
        let mut body = [0; 2];
        stream.read_exact(&mut body).unwrap();
    }
    // Pipelined.
    let three = format!("{}{}", get(&scene, "/4", ""), get(&scene, "/5", "Connection: close\r\n"));
    let answer = exchange(stream, three.as_bytes());
    assert_eq!(answer.matches("200 OK").count(), 2, "{answer}");
    assert_eq!(heads.lock().unwrap().len(), 5);
    assert_eq!(origin.reached(), 1);
}

/// G1: by the field, by the URL, first, later or pipelined.
#[test]
fn another_host_is_refused_on_every_request() {
    let (origin, heads) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "80, PORT", &origin, ""));
    let port = scene.port;
    let good = get(&scene, "/", "");
    let bad = [
        format!("GET / HTTP/1.1\r\nHost: evil.net:{port}\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n".to_owned(),
        format!("GET http://evil.net/ HTTP/1.1\r\nHost: example.com:{port}\r\n\r\n"),
        format!("GET http://example.com:{port}/ HTTP/1.1\r\nHost: evil.net\r\n\r\n"),
    ];
    for bad in &bad {
        let answer = exchange(scene.to("example.com"), bad.as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 403 denied by Loop: the connection is to"),
            "{answer}"
        );
        let answer = exchange(scene.to("example.com"), format!("{good}{bad}").as_bytes());
        assert!(answer.contains("ok") && answer.contains("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!(heads.lock().unwrap().len(), bad.len());
    let answer = scene.ask_proxy(b"GET http://example.com/ HTTP/1.1\r\nHost: evil.net\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let pipelined = "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n\
                     GET http://evil.net/ HTTP/1.1\r\nHost: evil.net\r\n\r\n";
    let answer = scene.ask_proxy(pipelined.as_bytes());
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert_eq!(heads.lock().unwrap().len(), bad.len() + 1);
    let denied = scene.medium.wait_for_many("denied", 2 * bad.len() + 2);
    assert_eq!(denied[0]["action"]["action"], "http");
    assert_eq!(denied[0]["action"]["host"], "evil.net");
}

/// G2: bytes with two readings.
#[test]
fn malformed_requests_are_refused_and_recorded() {
    let (origin, heads) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "80", &origin, ""));
    let large = format!("GET / HTTP/1.1\r\nHost: example.com\r\nX: {}\r\n\r\n", "a".repeat(70_000));
    let with = |more: &str| format!("POST / HTTP/1.1\r\nHost: example.com\r\n{more}\r\nabc");
    let bad = [
        with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        with("Content-Length: 3\r\nContent-Length: 3\r\n"),
        with("Content-Length: 3, 3\r\n"),
        with("Content-Length: +3\r\n"),
        with("Content-Length: 0x3\r\n"),
        with("Transfer-Encoding: chunkedx\r\n"),
        with("Transfer-Encoding: gzip, chunked\r\n"),
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        with("Transfer-Encoding : chunked\r\n"),
        with("X: a\r\n b\r\n"),
        with("X: a\n"),
        with("X: a\rb\r\n"),
        with("X: a\0b\r\n"),
        with("X: \x1b[31m\r\n"),
        with("Host: example.com\r\n"),
        with("Upgrade: h2c\r\nConnection: upgrade, http2-settings\r\nHTTP2-Settings: x\r\n"),
        with("No colon\r\n"),
        "GET / HTTP/1.1\nHost: example.com\n\n".to_owned(),
        "GET  / HTTP/1.1\r\nHost: example.com\r\n\r\n".to_owned(),
        "GET / HTTP/1.1 \r\nHost: example.com\r\n\r\n".to_owned(),
        "GET /a b HTTP/1.1\r\nHost: example.com\r\n\r\n".to_owned(),
        "GET / HTTP/1.2\r\nHost: example.com\r\n\r\n".to_owned(),
        "GET /\r\nHost: example.com\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        large,
    ];
    for bytes in &bad {
        let (stream, _) = scene.tunnel("example.com:80");
        let answer = exchange(stream, bytes.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 malformed by Loop: "), "{bytes:.200}: {answer}");
        assert!(answer.contains("Connection: close"), "{answer}");
    }
    assert_eq!(*heads.lock().unwrap(), Vec::<String>::new());
    for record in scene.medium.wait_for_many("malformed", bad.len()) {
        assert!(record["first"].as_str().unwrap().len() < 400, "{record}");
        assert!(!record["first"].as_str().unwrap().contains(char::is_control));
    }
    for result in scene.medium.wait_for_many("connect.result", bad.len()) {
        assert_eq!(result["result"]["ended"], "malformed");
        assert_eq!(result["result"]["sent"], 0);
    }
}

#[test]
fn what_a_proxy_is_not_asked_is_refused() {
    let (origin, heads) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "80, 443", &origin, ""));
    for bytes in [
        "GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "GET http://user:password@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.net:443\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 3\r\n\r\nabc",
        "CONNECT http://example.com:443/ HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
        "\x04\x01\x01\u{bb}\0\0\0\x01x\0example.com\0",
        "\x16\x03\x01\0\x05hello\r\n\r\n",
    ] {
        let answer = scene.ask_proxy(bytes.as_bytes());
        let socks = bytes.starts_with('\x04') && answer.as_bytes().first() == Some(&5);
        assert!(socks || answer.starts_with("HTTP/1.1 400 "), "{bytes:?}: {answer}");
    }
    assert_eq!(heads.lock().unwrap().len(), 0);
}

#[test]
fn a_password_in_a_url_is_not_recorded() {
    let (origin, _) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "80", &origin, ""));
    scene.ask_proxy(
        b"CONNECT user:CANARY-7f3a@example.com:80 HTTP/1.1\r\nHost: example.com\r\n\r\n",
    );
    let record = scene.medium.wait_for("malformed");
    assert!(!record["why"].as_str().unwrap().contains("CANARY"), "{record}");
}

#[test]
fn bodies_pass_in_both_framings() {
    let (origin, heads) = Origin::http(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: v\r\n\r\n",
    );
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let head = get(&scene, "/", "Content-Length: 3\r\nConnection: close\r\n");
    let answer = exchange(scene.to("example.com"), format!("{head}abc").as_bytes());
    assert!(answer.ends_with("\r\n\r\n2\r\nok\r\n0\r\n\r\n"), "{answer}");
    assert!(
        heads.lock().unwrap()[0].ends_with("Content-Length: 3\r\nConnection: close\r\n\r\nabc")
    );
}

#[test]
fn a_chunked_request_is_written_anew() {
    let origin = Origin::new(|mut stream| {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(b"0\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
            bytes.push(byte[0]);
        }
        let body = bytes.split(|byte| *byte == b'\n').skip_while(|line| line != b"\r").skip(1);
        let body: Vec<u8> = body.collect::<Vec<_>>().join(&b'\n');
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(&body).unwrap();
    });
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let head = get(&scene, "/", "Transfer-Encoding: chunked\r\nConnection: close\r\n");
    let body = "003;ext=\"1\"\r\nabc\r\n1\r\nd\r\n0\r\nHost: evil.net\r\n\r\n";
    let answer = exchange(scene.to("example.com"), format!("{head}{body}").as_bytes());
    assert!(answer.contains("abc") && answer.contains('d'), "{answer}");
    assert!(!answer.contains("evil") && !answer.contains("ext"), "{answer}");
}

#[test]
fn a_malformed_chunk_ends_the_connection() {
    let (origin, _) = Origin::http(OK);
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    for body in [
        "x\r\nabc\r\n",
        "3\nabc\r\n",
        "3\r\nabcd\r\n",
        "3 \r\nabc\r\n",
        "-1\r\n",
        "\r\n",
        "ffffffffffffffff1\r\n",
    ] {
        let head = get(&scene, "/", "Transfer-Encoding: chunked\r\n");
        let answer = exchange(scene.to("example.com"), format!("{head}{body}").as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 "), "{body:?}: {answer}");
        assert_eq!(
            answer.matches("HTTP/1.1 200").count().min(1) + answer.matches("HTTP/1.1 400").count(),
            1,
            "{body:?}: {answer}"
        );
    }
}

#[test]
fn a_narrowed_host_takes_the_requests_it_lists() {
    let (origin, heads) = Origin::http(OK);
    let more = "methods = [\"GET\"]\npaths = [\"/pub/**\"]";
    let scene = Scene::new(&grant("example.com", "PORT", &origin, more));
    let port = scene.port;
    let ask = |method: &str, path: &str| {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: example.com:{port}\r\nConnection: close\r\n\r\n"
        );
        exchange(scene.to("example.com"), head.as_bytes())
    };
    assert!(ask("GET", "/pub/a").starts_with("HTTP/1.1 200 "));
    let post = ask("POST", "/pub/a");
    assert!(
        post.starts_with(
            "HTTP/1.1 403 denied by Loop: example.com is allowed, but not with the method POST"
        ),
        "{post}"
    );
    for path in
        ["/secret", "/pub/../secret", "/pub/%2e%2e/secret", "/pub//a", "/pub/a%2f..%2fsecret"]
    {
        let answer = ask("GET", path);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
    }
    assert_eq!(heads.lock().unwrap().len(), 1);
    let intents = scene.medium.of_kind("http.intent");
    assert_eq!(intents.len(), 1);
    assert_eq!(intents[0]["action"]["path"], "/pub/a");
    assert_eq!(scene.medium.wait_for("http.result")["result"], json!({"status": 200}));
    assert_eq!(scene.medium.of_kind("denied").len(), 6);
}

#[test]
fn a_websocket_passes() {
    let origin = Origin::new(|mut stream| {
        let head = read_head(&mut stream);
        assert!(
            head.contains("Upgrade: websocket\r\n") && head.contains("Connection: Upgrade\r\n"),
            "{head}"
        );
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nfirst";
        stream.write_all(answer.as_bytes()).unwrap();
        let mut frame = [0; 4];
        stream.read_exact(&mut frame).unwrap();
        stream.write_all(&frame).unwrap();
    });
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let mut stream = scene.to("example.com");
    let head = get(
        &scene,
        "/",
        "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: x\r\n",
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_head(&mut stream);
    assert!(
        answer.starts_with("HTTP/1.1 101 ") && answer.contains("Upgrade: websocket"),
        "{answer}"
    );
    let mut first = [0; 5];
    stream.read_exact(&mut first).unwrap();
    stream.write_all(b"ping").unwrap();
    assert_eq!(rest(&mut stream), "ping");
}

#[test]
fn interim_and_bodiless_responses_pass() {
    let (origin, _) = Origin::http(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
    );
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let mut stream = scene.to("example.com");
    for _ in 0..2 {
        stream.write_all(get(&scene, "/", "").as_bytes()).unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 100 "));
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 304 ") && head.contains("Content-Length: 5"), "{head}");
    }
}

#[test]
fn a_response_until_the_end_ends_the_connection() {
    let origin = Origin::new(|mut stream| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nall of it").unwrap();
    });
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let answer = exchange(scene.to("example.com"), get(&scene, "/", "").as_bytes());
    assert!(answer.contains("Connection: close\r\n") && answer.ends_with("all of it"), "{answer}");
}

/// What the destination closes while nobody uses it, the client sees closed: no error.
#[test]
fn a_kept_connection_that_the_destination_closes_is_closed() {
    let origin = Origin::new(|mut stream| {
        read_head(&mut stream);
        stream.write_all(OK.as_bytes()).unwrap();
    });
    let scene = Scene::new(&grant("example.com", "PORT", &origin, ""));
    let answer = exchange(scene.to("example.com"), get(&scene, "/", "").as_bytes());
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "closed");
}
