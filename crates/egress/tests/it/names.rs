//! The name server.

use std::io::{Read as _, Write as _};

use egress::Limits;
use serde_json::json;

use crate::scene::{Scene, Setting, connect, query};

const GRANTS: &str = r#"
[[network]]
host = "example.com"
ports = [PORT]

[[network]]
host = "*.example.org"
ports = [PORT]
"#;

fn code(answer: &[u8]) -> u8 {
    answer[3] & 15
}

fn answers(answer: &[u8]) -> u8 {
    answer[7]
}

const REFUSED: u8 = 5;

#[test]
fn allowed_names_get_an_address_each_that_stays() {
    let scene = Scene::new(GRANTS);
    let one = scene.look_up("example.com").unwrap();
    let two = scene.look_up("a.example.org").unwrap();
    let three = scene.look_up("b.example.org").unwrap();
    assert!(one != two && two != three && one != three);
    assert_eq!(scene.look_up("EXAMPLE.com."), Some(one));
    assert_eq!(scene.look_up("a.example.org"), Some(two));
    assert!(scene.resolver.asked.lock().unwrap().is_empty());
}

#[test]
fn other_kinds_of_an_allowed_name_are_empty() {
    let scene = Scene::new(GRANTS);
    // AAAA, MX, TXT, SRV, SVCB, HTTPS.
    for kind in [28, 15, 16, 33, 64, 65] {
        let answer = scene.query(&query("example.com", kind));
        assert_eq!((code(&answer), answers(&answer)), (0, 0), "{kind}");
    }
}

/// F6: no packet leaves, and the refusal is on record.
#[test]
fn other_names_are_refused_and_recorded_and_never_looked_up() {
    let scene = Scene::new(GRANTS);
    for name in ["secret.evil.example", "a.b.example.org", "notexample.com", "example.com.evil.net"]
    {
        assert_eq!(code(&scene.query(&query(name, 1))), REFUSED, "{name}");
    }
    let denied = scene.medium.of_kind("denied");
    assert_eq!(denied.len(), 4);
    assert_eq!(denied[0]["action"], json!({"action": "resolve", "host": "secret.evil.example"}));
    assert!(scene.resolver.asked.lock().unwrap().is_empty());
}

#[test]
fn a_refused_name_is_recorded_once() {
    let mut scene = Scene::new(GRANTS);
    for _ in 0..50 {
        scene.query(&query("secret.evil.example", 1));
    }
    assert_eq!(scene.medium.of_kind("denied").len(), 1);
    assert_eq!(scene.stop().refused_lookups, 50);
}

#[test]
fn a_flood_of_names_does_not_flood_the_ledger() {
    let limits = Limits { refused_names: 10, ..Limits::default() };
    let mut scene = Scene::with(GRANTS, Setting { limits, ..Setting::default() });
    for number in 0..200 {
        assert_eq!(code(&scene.query(&query(&format!("x{number}.evil.net"), 1))), REFUSED);
    }
    let totals = scene.stop();
    assert_eq!((totals.refused_lookups, totals.unrecorded_lookups), (200, 190));
    assert_eq!(scene.medium.of_kind("denied").len(), 10);
    assert_eq!(scene.medium.of_kind("egress.flood"), [json!({"of": "names", "recorded": 10})]);
    assert_eq!(scene.medium.of_kind("egress.end")[0]["unrecorded_lookups"], 190);
}

/// F1: what isn't a name is refused, whatever it looks like.
#[test]
fn what_is_no_name_is_refused() {
    let scene = Scene::new(GRANTS);
    let mut inner_nul = query("example.com", 1);
    inner_nul[13] = 0;
    let mut dot_in_label = query("exampleXcom", 1);
    dot_in_label[20] = b'.';
    let names = [
        "localdomain",
        "com",
        "metadata.google.internal",
        "x.svc.cluster.local",
        "127.1",
        "-a.com",
    ];
    let mut queries: Vec<Vec<u8>> = names.iter().map(|name| query(name, 1)).collect();
    queries.extend([inner_nul, dot_in_label, query("", 1)]);
    for bytes in queries {
        assert_eq!(code(&scene.query(&bytes)), REFUSED, "{bytes:?}");
    }
    assert!(scene.resolver.asked.lock().unwrap().is_empty());
}

#[test]
fn malformed_queries_are_refused_and_recorded() {
    let scene = Scene::new(GRANTS);
    let good = query("example.com", 1);
    let change = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let trailing = [&good[..], b"x"].concat();
    let cut = good[..20].to_vec();
    // Operation, truncated, two questions, an answer, another class, a compressed name.
    let bad = [
        change(2, 0x28),
        change(2, 3),
        change(5, 2),
        change(7, 1),
        change(28, 3),
        change(12, 0xc0),
    ];
    let count = bad.len() + 2;
    for bytes in bad.into_iter().chain([trailing, cut]) {
        assert_eq!(code(&scene.query(&bytes)), REFUSED, "{bytes:?}");
    }
    assert_eq!(scene.medium.wait_for_many("malformed", count).len(), count);
}

#[test]
fn localhost_is_the_sandbox_itself() {
    let scene = Scene::new("");
    assert_eq!(scene.look_up("localhost"), Some([127, 0, 0, 1].into()));
    let six = scene.query(&query("localhost", 28));
    assert_eq!(&six[six.len() - 16..], std::net::Ipv6Addr::LOCALHOST.octets());
}

#[test]
fn a_synthetic_address_has_its_name() {
    let scene = Scene::new(GRANTS);
    let [a, b, c, d] = scene.look_up("example.com").unwrap().octets();
    let answer = scene.query(&query(&format!("{d}.{c}.{b}.{a}.in-addr.arpa"), 12));
    assert!(answer.ends_with(b"\x07example\x03com\0"));
    assert_eq!(code(&scene.query(&query("8.8.8.8.in-addr.arpa", 12))), REFUSED);
}

#[test]
fn queries_come_over_connections_too() {
    let scene = Scene::new(GRANTS);
    let mut stream = connect(scene.names_tcp);
    for (name, refused) in [("example.com", 0), ("evil.net", REFUSED)] {
        let bytes = query(name, 1);
        stream.write_all(&u16::try_from(bytes.len()).unwrap().to_be_bytes()).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(code(&answer), refused, "{name}");
    }
}

#[test]
fn an_extended_query_is_answered_in_kind() {
    let scene = Scene::new(GRANTS);
    let mut bytes = query("example.com", 1);
    bytes[11] = 1;
    bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    let answer = scene.query(&bytes);
    assert_eq!((code(&answer), answers(&answer), answer[11]), (0, 1, 1));
}

#[test]
fn a_name_that_somebody_would_have_to_allow_is_refused_while_nobody_can() {
    let rule =
        "[[rule]]\nid = \"ask\"\naction = \"resolve\"\nhost = \"example.net\"\nverdict = \"ask\"\n";
    let scene = Scene::new(rule);
    assert_eq!(code(&scene.query(&query("example.net", 28))), REFUSED);
    assert_eq!(scene.medium.of_kind("denied").len(), 0);
    assert_eq!(code(&scene.query(&query("example.net", 1))), REFUSED);
    assert_eq!(scene.medium.of_kind("denied")[0]["because"], "unanswered");
}
