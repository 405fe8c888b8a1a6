//! Origins and clients that misbehave, limits, and the end.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use egress::{Boxed, Ended, Handover, How, Intercept, Limits};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::scene::{Origin, Scene, Setting, exchange, grant, hello, read_head, rest};

fn short() -> Limits {
    Limits {
        head: Duration::from_millis(300),
        idle: Duration::from_millis(700),
        ..Limits::default()
    }
}

fn with(limits: Limits) -> Setting {
    Setting { limits, ..Setting::default() }
}

fn ask(scene: &Scene) -> String {
    scene.ask_proxy(b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
}

#[test]
fn an_origin_that_resets_is_a_bad_gateway() {
    let origin = Origin::new(drop);
    let scene = Scene::new(&grant("example.com", "80", &origin, ""));
    let answer = ask(&scene);
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[test]
fn an_origin_that_stalls_is_a_timeout() {
    let origin = Origin::new(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let scene = Scene::with(&grant("example.com", "80", &origin, ""), with(short()));
    let answer = ask(&scene);
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "idle");
}

#[test]
fn an_origin_with_endless_headers_is_cut_off() {
    let origin = Origin::new(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X-Header: yes\r\n").is_ok() {}
    });
    let scene = Scene::new(&grant("example.com", "80", &origin, ""));
    let answer = ask(&scene);
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let result = scene.medium.wait_for("connect.result");
    assert!(result["result"]["received"].as_u64().unwrap() < 200_000, "{result}");
}

#[test]
fn nonsense_of_an_origin_is_not_passed_on() {
    for nonsense in [
        "hello\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\nX: y\n\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 999 x\r\n\r\n",
    ] {
        let (origin, _) = Origin::http(nonsense);
        let scene = Scene::new(&grant("example.com", "80", &origin, ""));
        let answer = ask(&scene);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{nonsense:?}: {answer}");
    }
}

#[test]
fn half_a_close_leaves_the_other_half_open() {
    let origin = Origin::new(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        write!(stream, "{} bytes", all.len()).unwrap();
    });
    let scene = Scene::new(&grant("example.com", "5432", &origin, ""));
    let (mut stream, _) = scene.tunnel("example.com:5432");
    stream.write_all(b"\x01234").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), "4 bytes");
}

#[test]
fn a_slow_head_is_cut_off() {
    let origin = Origin::echo();
    let scene = Scene::with(&grant("example.com", "80, 443", &origin, ""), with(short()));
    let mut stream = scene.to_proxy();
    stream.write_all(b"GET http://exam").unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 400 "));
    let (mut stream, _) = scene.tunnel("example.com:443");
    stream.write_all(&hello(Some("example.com"))[..20]).unwrap();
    assert_eq!(rest(&mut stream), "");
    let (mut stream, _) = scene.tunnel("example.com:80");
    stream.write_all(b"GET / HTTP/1.1\r\nHost").unwrap();
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

/// A client that waits for nothing is told nothing: it would take it for its next answer.
#[test]
fn a_kept_connection_that_ends_idle_just_closes() {
    let (origin, _) = Origin::http("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let scene = Scene::with(&grant("example.com", "80", &origin, ""), with(short()));
    let (mut stream, _) = scene.tunnel("example.com:80");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n").unwrap();
    let answer = rest(&mut stream);
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "idle");
}

/// A byte now and then doesn't buy more time.
#[test]
fn a_head_that_drips_is_cut_off() {
    let origin = Origin::echo();
    let scene = Scene::with(&grant("example.com", "443, 80", &origin, ""), with(short()));
    for (place, head) in [
        ("example.com:443", hello(Some("example.com"))),
        ("example.com:80", b"GET / HTTP/1.1\r\nHost: example.com\r\nX: y\r\n\r\n".to_vec()),
    ] {
        let (mut stream, _) = scene.tunnel(place);
        let mut other = stream.try_clone().unwrap();
        let dripping = std::thread::spawn(move || {
            for byte in &head {
                std::thread::sleep(Duration::from_millis(50));
                if other.write_all(&[*byte]).is_err() {
                    break;
                }
            }
        });
        let answer = rest(&mut stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
        dripping.join().unwrap();
    }
    for result in scene.medium.wait_for_many("connect.result", 2) {
        assert_eq!(result["result"]["sent"], 0, "{result}");
    }
}

#[test]
fn an_idle_tunnel_is_closed() {
    let origin = Origin::echo();
    let scene = Scene::with(&grant("example.com", "5432", &origin, ""), with(short()));
    let (mut stream, _) = scene.tunnel("example.com:5432");
    stream.write_all(b"\x01x").unwrap();
    assert_eq!(rest(&mut stream), "\x01x");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "idle");
}

#[test]
fn a_connection_has_its_time() {
    let origin = Origin::echo();
    let limits = Limits { total: Duration::from_millis(300), ..Limits::default() };
    let scene = Scene::with(&grant("example.com", "5432", &origin, ""), with(limits));
    let (mut stream, _) = scene.tunnel("example.com:5432");
    assert_eq!(rest(&mut stream), "");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "too-long");
}

#[test]
fn the_bytes_of_a_grant_are_for_the_whole_run() {
    let origin = Origin::echo();
    let owner = grant("example.com", "5432", &origin, "max_bytes = \"1000\"");
    let scene = Scene::new(&owner);
    let (mut stream, _) = scene.tunnel("example.com:5432");
    stream.write_all(&[1; 400]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream).len(), 400);
    let (mut stream, _) = scene.tunnel("example.com:5432");
    let _ = stream.write_all(&[1; 400]);
    assert_eq!(rest(&mut stream), "");
    let results = scene.medium.wait_for_many("connect.result", 2);
    assert_eq!(results[1]["result"]["ended"], "max-bytes");
    let passed = |result: &serde_json::Value| {
        result["result"]["sent"].as_u64().unwrap() + result["result"]["received"].as_u64().unwrap()
    };
    assert!(results.iter().map(passed).sum::<u64>() <= 1000, "{results:?}");
}

#[test]
fn the_bytes_of_a_grant_bound_responses_too() {
    let body = "x".repeat(5000);
    let (origin, _) =
        Origin::http(&format!("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{body}"));
    let scene = Scene::new(&grant("example.com", "80", &origin, "max_bytes = \"1000\""));
    let answer = ask(&scene);
    assert!(answer.matches('x').count() < 1000, "{answer}");
    assert_eq!(scene.medium.wait_for("connect.result")["result"]["ended"], "max-bytes");
}

#[test]
fn further_connections_wait_for_a_place() {
    let origin = Origin::echo();
    let limits = Limits { connections: 1, ..Limits::default() };
    let scene = Scene::with(&grant("example.com", "5432", &origin, ""), with(limits));
    let (first, head) = scene.tunnel("example.com:5432");
    assert!(head.starts_with("HTTP/1.1 200 "));
    let mut second = scene.to_proxy();
    second
        .write_all(b"CONNECT example.com:5432 HTTP/1.1\r\nHost: example.com:5432\r\n\r\n")
        .unwrap();
    second.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(second.read(&mut [0]).is_err());
    drop(first);
    second.set_read_timeout(Some(crate::scene::PATIENCE)).unwrap();
    assert!(read_head(&mut second).starts_with("HTTP/1.1 200 "));
}

/// Every intent has its result, though the gate is stopped in the middle.
#[test]
fn the_ends_are_recorded_when_the_gate_is_stopped() {
    let origin = Origin::echo();
    let mut scene = Scene::new(&grant("example.com", "5432, 443", &origin, ""));
    let mut open = Vec::new();
    for place in ["example.com:5432", "example.com:443"] {
        for _ in 0..8 {
            let (mut stream, _) = scene.tunnel(place);
            if place.ends_with("5432") {
                stream.write_all(b"\x01x").unwrap();
                stream.read_exact(&mut [0; 2]).unwrap();
            }
            open.push(stream);
        }
    }
    let totals = scene.stop();
    let results = scene.medium.of_kind("connect.result");
    assert_eq!((totals.connections, results.len()), (16, 16));
    assert!(results.iter().all(|result| result["result"]["ended"] == "stopped"), "{results:?}");
    assert_eq!(scene.medium.of_kind("egress.end")[0]["connections"], 16);
    for mut stream in open {
        rest(&mut stream);
    }
}

/// Nobody who has not finished asking holds the gate up.
#[test]
fn clients_that_are_in_the_middle_of_asking_are_let_go() {
    let mut scene = Scene::new("");
    let begun: Vec<_> = [&b"GET http://exam"[..], b"\x05", b"\x05\x01\x00\x05\x01"]
        .iter()
        .map(|bytes| {
            let mut stream = scene.to_proxy();
            stream.write_all(bytes).unwrap();
            stream
        })
        .collect();
    scene.stop();
    for mut stream in begun {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(scene.medium.of_kind("egress.end").len(), 1);
}

#[test]
fn many_tunnels_at_once_all_pass() {
    let origin = Origin::echo();
    let mut scene = Scene::new(&grant("example.com", "5432", &origin, ""));
    let proxy = scene.proxy;
    let clients: Vec<_> = (0..64_u8)
        .map(|number| {
            std::thread::spawn(move || {
                let mut stream = crate::scene::connect(proxy);
                let head = b"CONNECT example.com:5432 HTTP/1.1\r\nHost: example.com:5432\r\n\r\n";
                stream.write_all(head).unwrap();
                assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
                for _ in 0..20 {
                    let bytes = [number.max(23); 4096];
                    stream.write_all(&bytes).unwrap();
                    let mut back = [0; 4096];
                    stream.read_exact(&mut back).unwrap();
                    assert!(back == bytes);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let totals = scene.stop();
    assert_eq!((totals.connections, totals.sent), (64, 64 * 20 * 4096));
    assert_eq!(totals.sent, totals.received);
    assert_eq!(scene.medium.of_kind("connect.result").len(), 64);
}

/// Plays the part of whoever opens TLS.
struct Opened;

impl Intercept for Opened {
    fn wants(&self, _: &policy::Connect) -> bool {
        false
    }

    fn carry(&self, handover: Handover) -> Boxed<'static, Ended> {
        Box::pin(async move {
            let Handover { mut client, mut upstream, hello, requests, connect, .. } = handover;
            assert_eq!(hello.server_name, connect.host);
            let mut first = vec![0; 8];
            client.read_exact(&mut first).await.unwrap();
            assert_eq!(first[..3], [22, 3, 1]);
            let admitted = requests.admit("GET", "/a").await.unwrap();
            assert!(requests.admit("POST", "/a").await.is_err());
            upstream.write_all(b"up").await.unwrap();
            upstream.read_exact(&mut first[..2]).await.unwrap();
            client.write_all(b"down").await.unwrap();
            requests.done(admitted, Some(200)).await;
            Ended::from(How::Closed)
        })
    }

    fn explain(&self, excuse: egress::Excuse) -> Boxed<'static, ()> {
        panic!("no connection of this test fails: {}", excuse.denial.reason)
    }
}

#[test]
fn what_has_to_be_seen_is_handed_over() {
    let origin = Origin::echo();
    let owner = grant("example.com", "443", &origin, "methods = [\"GET\"]");
    let intercept: Arc<dyn Intercept> = Arc::new(Opened);
    let setting = Setting { intercept: Some(intercept), ..Setting::default() };
    let scene = Scene::with(&owner, setting);
    let (stream, _) = scene.tunnel("example.com:443");
    assert_eq!(exchange(stream, &hello(Some("example.com"))), "down");
    let result = scene.medium.wait_for("connect.result");
    assert_eq!((&result["result"]["sent"], &result["result"]["received"]), (&json!(2), &json!(2)));
    assert_eq!(scene.medium.of_kind("http.result").len(), 1);
    assert_eq!(scene.medium.of_kind("denied")[0]["action"]["method"], "POST");
    let (stream, _) = scene.tunnel("example.com:443");
    assert_ne!(exchange(stream, &hello(Some("evil.net"))), "down");
}
