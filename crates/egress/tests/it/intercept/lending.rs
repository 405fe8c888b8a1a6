//! Credentials reach their destination and nothing else.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::scene::{
    API, CANARY, Lent, OTHER, Pki, owner, remembering, request, response, tls_origin,
};
use crate::scene::PATIENCE;

/// A request with these headers, to be answered and then closed.
fn post(path: &str, host: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n{body}")
}

struct World {
    _pki: Pki,
    lent: Lent,
    api: super::scene::Seen,
    other: super::scene::Seen,
}

impl World {
    fn new() -> Self {
        let pki = Pki::new();
        let (api, at_api) = remembering(pki.good(API));
        let (other, at_other) = remembering(pki.good(OTHER));
        let lent = Lent::new(&owner(&pki, &api, &other));
        Self { _pki: pki, lent, api: at_api, other: at_other }
    }

    fn key(&self) -> String {
        self.lent.placeholder("key")
    }

    fn arrived(&self) -> String {
        format!("{:?} {:?}", self.api.lock().unwrap(), self.other.lock().unwrap())
    }
}

#[test]
fn the_placeholder_becomes_the_value_at_its_destination_alone() {
    let world = World::new();
    let key = world.key();
    let bearer = world.lent.placeholder("bearer");
    let more = format!("X-Api-Key: {key}\r\nAuthorization: bearer {bearer}\r\nX-Other: {key}\r\n");
    let answer = world.lent.ask(API, &post("/v1/messages?a=b", API, &more, "hello"));
    assert!(answer.ends_with("ok"), "{answer}");
    let arrived = world.api.lock().unwrap()[0].clone();
    assert!(arrived.contains(&format!("X-Api-Key: {CANARY}\r\n")), "{arrived}");
    assert!(arrived.contains(&format!("Authorization: Bearer {CANARY}\r\n")), "{arrived}");
    assert!(arrived.contains(&format!("X-Other: {key}\r\n")), "{arrived}");
    let lent: Vec<_> = world
        .lent
        .medium()
        .wait_for_many("lease.intent", 2)
        .iter()
        .map(|intent| intent["action"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(lent, ["bearer", "key"]);
    for result in world.lent.medium().wait_for_many("lease.result", 2) {
        assert_eq!(result["result"]["status"], 200);
    }
}

#[test]
fn elsewhere_it_is_refused_recorded_and_never_swapped_g3() {
    let world = World::new();
    let key = format!("X-Api-Key: {}\r\n", world.key());
    let delete = post("/v1", API, &key, "").replacen("POST", "DELETE", 1);
    let bearer = format!("Authorization: Bearer {}\r\n", world.lent.placeholder("bearer"));
    let trace = post("/v1", API, &bearer, "").replacen("POST", "TRACE", 1);
    for (host, request) in [
        (OTHER, post("/v1/messages", OTHER, &key, "")),
        (OTHER, post("/v1/messages", API, &key, "")),
        (API, post("/v1/messages", OTHER, &key, "")),
        (API, post("/v2", API, &key, "")),
        (API, post("/v1/../admin", API, &key, "")),
        (API, post("/v1/%2e%2e/admin", API, &key, "")),
        (API, post("/v1", "api.example.com:8443", &key, "")),
        (API, delete),
        (API, trace),
    ] {
        let answer = world.lent.ask(host, &request);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host} {request}: {answer}");
    }
    assert_eq!(world.arrived(), "[] []");
    let denied = world.lent.medium().wait_for_many("denied", 9);
    let leases = denied.iter().filter(|denied| denied["action"]["action"] == "lease");
    assert!(leases.count() >= 5, "{denied:#?}");
    assert!(world.lent.medium().of_kind("lease.intent").is_empty());
}

#[test]
fn in_other_places_it_is_text_like_any_other_g4() {
    use std::fmt::Write as _;
    let world = World::new();
    let key = world.key();
    let hex = key.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "%{byte:02x}");
        hex
    });
    for more in [
        format!("X-Api-Key: prefix {key}\r\n"),
        format!("X-Api-Key: {key}, {key}\r\n"),
        format!("X-Api-Key: {hex}\r\n"),
        format!("X-Api-Key: Bearer {key}\r\n"),
        format!("Authorization: {}\r\n", world.lent.placeholder("bearer")),
        format!("Authorization: Basic {}\r\n", world.lent.placeholder("bearer")),
        format!("Authorization: Bearer {key}\r\n"),
        format!("Cookie: key={key}\r\n"),
    ] {
        let answer = world.lent.ask(API, &post("/v1", API, &more, ""));
        assert!(answer.ends_with("ok"), "{more}: {answer}");
    }
    let answer = world.lent.ask(API, &post(&format!("/v1?key={key}"), API, "", &key));
    assert!(answer.ends_with("ok"), "{answer}");
    assert_eq!(world.api.lock().unwrap().len(), 9);
    assert!(!world.arrived().contains(CANARY));
    assert!(world.lent.medium().of_kind("lease.intent").is_empty());
}

#[test]
fn a_body_that_holds_it_in_pieces_is_passed_on() {
    let world = World::new();
    let key = world.key();
    let mut stream = world.lent.open(API);
    let (one, two) = key.split_at(20);
    let head = post("/v1", API, "", &key);
    stream.write_all(head.strip_suffix(&key).unwrap().as_bytes()).unwrap();
    for piece in [one, two] {
        stream.write_all(piece.as_bytes()).unwrap();
        stream.flush().unwrap();
    }
    assert!(response(&mut stream).ends_with("ok"));
    assert!(world.arrived().contains(&key) && !world.arrived().contains(CANARY));
}

#[test]
fn a_lease_that_ends_closes_what_it_opened_and_gives_no_more_g6() {
    let world = World::new();
    let key = format!("X-Api-Key: {}\r\n", world.key());
    let mut used = world.lent.open(API);
    used.write_all(post("/v1", API, &key, "").as_bytes()).unwrap();
    assert!(response(&mut used).ends_with("ok"));
    assert!(world.lent.leases.revoke("key"));
    // Idle, and yet closed: the read returns, and long before the gate's own patience ends.
    let before = Instant::now();
    used.sock.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(used.read(&mut [0]).unwrap_or(0), 0);
    assert!(before.elapsed() < PATIENCE);
    let ended = world.lent.medium().wait_for("connect.result");
    assert_eq!(ended["result"]["ended"], "denied");
    assert_eq!(ended["result"]["why"], "key: the lease was revoked");
    let answer = world.lent.ask(API, &post("/v1", API, &key, ""));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("revoked"), "{answer}");
    assert_eq!(world.api.lock().unwrap().len(), 1);
    // Without the credential the destination stays what it was.
    assert!(world.lent.ask(API, &post("/v1", API, "", "")).ends_with("ok"));
}

/// The destination got the credential and has not answered: what was lent still has a result.
#[test]
fn a_request_that_the_end_interrupts_has_a_result() {
    let pki = Pki::new();
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let api = tls_origin(pki.good(API), move |stream| {
        while request(stream).is_some() {
            tell.send(()).unwrap();
        }
    });
    let lent = Lent::new(&owner(&pki, &api, &api));
    let key = format!("X-Api-Key: {}\r\n", lent.placeholder("key"));
    let mut stream = lent.open(API);
    stream.write_all(post("/v1", API, &key, "").as_bytes()).unwrap();
    stream.flush().unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    lent.leases.revoke("key");
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    for kind in ["lease.result", "http.result"] {
        assert_eq!(lent.medium().wait_for(kind)["result"]["status"], serde_json::Value::Null);
    }
}

#[test]
fn a_lease_that_expires_is_over() {
    let pki = Pki::new();
    let (api, seen) = remembering(pki.good(API));
    let (other, _) = remembering(pki.good(OTHER));
    let owner = owner(&pki, &api, &other).replace("name = \"key\"", "name = \"key\"\nfor = \"1h\"");
    let now = names::system_clock();
    let earlier = names::Timestamp::from_millis(now.as_millis() - 2 * 3_600_000);
    let lent = Lent::at(&owner, "", earlier);
    let key = format!("X-Api-Key: {}\r\n", lent.placeholder("key"));
    let answer = lent.ask(API, &post("/v1", API, &key, ""));
    assert!(answer.contains("expired"), "{answer}");
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_lease_that_is_denied_by_a_rule_is_not_lent() {
    let pki = Pki::new();
    let (api, seen) = remembering(pki.good(API));
    let (other, _) = remembering(pki.good(OTHER));
    let rule =
        "[[rule]]\nid = \"no-key\"\naction = \"lease\"\nlease = \"key\"\nverdict = \"deny\"\n";
    let lent = Lent::new(&(owner(&pki, &api, &other) + rule));
    let key = format!("X-Api-Key: {}\r\n", lent.placeholder("key"));
    let answer = lent.ask(API, &post("/v1", API, &key, ""));
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("no-key"), "{answer}");
    assert!(seen.lock().unwrap().is_empty());
    assert_eq!(lent.medium().wait_for("http.result")["result"]["status"], serde_json::Value::Null);
}

#[test]
fn a_ledger_that_fails_lends_nothing() {
    let world = World::new();
    let key = format!("X-Api-Key: {}\r\n", world.key());
    let mut stream = world.lent.open(API);
    stream.write_all(post("/v1", API, "", "").as_bytes()).unwrap();
    assert!(response(&mut stream).ends_with("ok"));
    world.lent.medium().fail();
    stream.write_all(post("/v1", API, &key, "").as_bytes()).unwrap();
    assert!(response(&mut stream).starts_with("HTTP/1.1 503 "));
    assert!(!world.arrived().contains(CANARY));
}

#[test]
fn the_value_is_in_no_record_answer_or_printed_struct_g5() {
    let world = World::new();
    let key = format!("X-Api-Key: {}\r\n", world.key());
    let good = world.lent.ask(API, &post("/v1", API, &key, ""));
    let bad = world.lent.ask(OTHER, &post("/v1", OTHER, &key, ""));
    world.lent.medium().wait_for_many("http.result", 1);
    let lent = &world.lent;
    let shown = [
        lent.records(),
        good,
        bad,
        format!("{:?} {:#?}", lent.leases, lent.interceptor),
        format!("{:?}", lent.interceptor.trust().bundle),
    ];
    assert!(world.arrived().contains(CANARY), "it arrived, so there was something to look for");
    for text in shown {
        assert!(!text.contains(CANARY), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The value arrives if, and only if, every part of the request is the lease's.
    #[test]
    fn the_value_arrives_exactly_at_its_destination(
        host in prop::sample::select(vec![API, OTHER]),
        method in prop::sample::select(vec!["POST", "GET", "PUT", "DELETE"]),
        path in prop::sample::select(vec!["/v1", "/v1/", "/v1/x", "/v10", "/V1", "/", "/v1//x",
                                          "/x/v1", "/v1/..", "/v1/x?y=z"]),
        header in prop::sample::select(vec!["X-Api-Key", "x-api-key", "X-Api-Keys", "Authorization"]),
        around in prop::sample::select(vec![("", ""), ("Bearer ", ""), ("", "x"), ("\"", "\"")]),
    ) {
        let world = World::new();
        let value = format!("{}{}{}", around.0, world.key(), around.1);
        let more = format!("{header}: {value}\r\n");
        let request = post(path, host, &more, "").replacen("POST", method, 1);
        let _ = world.lent.ask(host, &request);
        let is_for_it = host == API
            && ["POST", "GET"].contains(&method)
            && ["/v1", "/v1/", "/v1/x", "/v1/x?y=z"].contains(&path)
            && header.eq_ignore_ascii_case("x-api-key")
            && around == ("", "");
        prop_assert_eq!(world.arrived().contains(CANARY), is_for_it, "{}", request);
    }
}

/// Ticks of the watch are short of a second, which is what is promised.
#[test]
fn the_end_is_looked_for_more_than_once_a_second() {
    let world = World::new();
    let key = format!("X-Api-Key: {}\r\n", world.key());
    let mut streams: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = world.lent.open(API);
            stream.write_all(post("/v1", API, &key, "").as_bytes()).unwrap();
            assert!(response(&mut stream).ends_with("ok"));
            stream
        })
        .collect();
    world.lent.leases.end();
    for stream in &mut streams {
        stream.sock.set_read_timeout(Some(PATIENCE + Duration::from_secs(1))).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
}
