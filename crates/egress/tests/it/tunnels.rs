//! Tunnels: transparent, by CONNECT and by SOCKS5, opaque and checked.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use crate::scene::{Origin, Scene, Setting, exchange, grant, hello, hello_with, rest};

fn socks(scene: &Scene, request: &[u8]) -> (TcpStream, [u8; 10]) {
    let mut stream = scene.to_proxy();
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut greeting = [0; 2];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(greeting, [5, 0]);
    stream.write_all(request).unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).unwrap();
    (stream, reply)
}

fn by_name(name: &str, port: u16) -> Vec<u8> {
    let mut request = vec![5, 1, 0, 3, u8::try_from(name.len()).unwrap()];
    request.extend(name.bytes());
    request.extend(port.to_be_bytes());
    request
}

fn sends_back(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    assert!(back == bytes, "{} of {} bytes", back.len(), bytes.len());
}

#[test]
fn any_client_reaches_a_named_host_without_knowing() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("db.example.com", "PORT", &origin, ""));
    sends_back(&mut scene.to("db.example.com"), b"\x00\x00\x00\x08 any protocol");
    let result = scene.medium.wait_for("connect.result");
    let place = origin.place.to_string();
    assert_eq!(result["result"]["address"], place);
    assert_eq!(result["result"]["sent"], 17);
    assert_eq!(result["result"]["received"], 17);
    assert_eq!(result["result"]["via"], "transparent");
    assert_eq!(result["result"]["ended"], "closed");
    let intent = scene.medium.wait_for("connect.intent");
    assert_eq!(
        intent["action"],
        json!({"action": "connect", "host": "db.example.com", "port": scene.port})
    );
}

#[test]
fn large_transfers_arrive_whole() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("db.example.com", "PORT", &origin, ""));
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut stream = scene.to("db.example.com");
    let mut other = stream.try_clone().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || {
        other.write_all(&sent).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    writer.join().unwrap();
    assert!(back == bytes);
}

#[test]
fn a_server_may_speak_first() {
    let origin = Origin::new(|mut stream| {
        stream.write_all(b"SSH-2.0-origin\r\n").unwrap();
        let mut line = [0; 3];
        stream.read_exact(&mut line).unwrap();
        stream.write_all(&line).unwrap();
    });
    let scene = Scene::new(&grant("git.example.com", "22, PORT", &origin, ""));
    let mut stream = scene.to("git.example.com");
    let mut banner = [0; 16];
    stream.read_exact(&mut banner).unwrap();
    assert_eq!(&banner, b"SSH-2.0-origin\r\n");
    stream.write_all(b"hey").unwrap();
    assert_eq!(rest(&mut stream), "hey");
}

#[test]
fn tunnels_by_connect_and_by_socks() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("db.example.com", "5432", &origin, ""));
    let (mut stream, head) = scene.tunnel("db.example.com:5432");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    sends_back(&mut stream, b"\x01by connect");
    let (mut stream, reply) = socks(&scene, &by_name("db.example.com", 5432));
    assert_eq!(reply[1], 0);
    sends_back(&mut stream, b"\x01by socks");
    assert_eq!(scene.medium.wait_for_many("connect.result", 2).len(), 2);
}

#[test]
fn a_tunnel_that_is_denied_says_why() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    let answer = scene
        .ask_proxy(b"CONNECT evil.example.net:443 HTTP/1.1\r\nHost: evil.example.net:443\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 403 denied by Loop: no rule allows"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"], "denied");
    assert!(body["rule"].as_str().unwrap().starts_with("default connect"), "{body}");
    assert!(body["next"].as_str().unwrap().contains("evil.example.net"), "{body}");
    assert_eq!(scene.medium.of_kind("denied")[0]["action"]["host"], "evil.example.net");
    assert_eq!(origin.reached(), 0);
    let (_, reply) = socks(&scene, &by_name("evil.example.net", 443));
    assert_eq!(reply[1], 2);
}

/// F4: other ports, no port, and numbers that are none.
#[test]
fn a_name_is_allowed_on_its_ports_only() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    for (place, status) in [
        ("example.com:22", "403"),
        ("example.com:65537", "400"),
        ("example.com:0", "400"),
        ("example.com:", "400"),
        ("example.com", "400"),
        ("example.com:0443", "400"),
        ("example.com:+443", "400"),
    ] {
        let head = format!("CONNECT {place} HTTP/1.1\r\nHost: example.com\r\n\r\n");
        let answer = scene.ask_proxy(head.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{place}: {answer}");
    }
    assert_eq!(origin.reached(), 0);
}

/// F1 and F2, as CONNECT and as SOCKS names.
#[test]
fn decoys_and_addresses_are_refused() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    let decoys = [
        "example.com@evil.net",
        "example.com:443@evil.net",
        "[example.com]",
        "example.com\\.evil.net",
        "example.com%00.evil.net",
        "notexample.com",
        "example.com.evil.net",
        "example..com",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "0.0.0.0",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "localhost",
        "localhost.localdomain",
        "a.svc.cluster.local",
    ];
    for decoy in decoys {
        let head = format!("CONNECT {decoy}:443 HTTP/1.1\r\nHost: {decoy}:443\r\n\r\n");
        let answer = scene.ask_proxy(head.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 40"), "{decoy}: {answer}");
        let (_, reply) = socks(&scene, &by_name(decoy, 443));
        assert_ne!(reply[1], 0, "{decoy}");
    }
    let long = format!("{}.example.com", "a".repeat(64));
    for name in ["example.com\0", "evil\0.example.com", "example.com\n", &long] {
        let (_, reply) = socks(&scene, &by_name(name, 443));
        assert_ne!(reply[1], 0, "{name:?}");
    }
    assert_eq!(origin.reached(), 0);
    assert!(scene.resolver.asked.lock().unwrap().is_empty());
}

/// F1: what is canonical under another spelling is the same name.
#[test]
fn spellings_of_a_name_are_the_name() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "5432", &origin, ""));
    for name in ["EXAMPLE.com", "example.com.", "ｅxample.com", "example。com"] {
        let (mut stream, reply) = socks(&scene, &by_name(name, 5432));
        assert_eq!(reply[1], 0, "{name}");
        sends_back(&mut stream, b"\x01x");
    }
    for intent in scene.medium.of_kind("connect.intent") {
        assert_eq!(intent["action"]["host"], "example.com");
    }
}

/// F7: literals of either family, and datagrams.
#[test]
fn socks_addresses_and_datagrams_are_refused() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    let v4 = [5, 1, 0, 1, 127, 0, 0, 1, 1, 187];
    let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1, 1, 187]].concat();
    let datagrams = [5, 3, 0, 1, 0, 0, 0, 0, 1, 187];
    let bind = [5, 2, 0, 1, 0, 0, 0, 0, 1, 187];
    assert_eq!(socks(&scene, &v4).1[1], 2);
    assert_eq!(socks(&scene, &v6).1[1], 2);
    assert_eq!(socks(&scene, &datagrams).1[1], 7);
    assert_eq!(socks(&scene, &bind).1[1], 7);
}

#[test]
fn an_address_that_the_profile_names_is_reached() {
    let origin = Origin::echo();
    let port = origin.place.port();
    let owner = format!("[[network]]\nhost = \"127.0.0.1\"\nports = [{port}]\n");
    let scene = Scene::new(&owner);
    let (mut stream, head) = scene.tunnel(&format!("127.0.0.1:{port}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    sends_back(&mut stream, b"\x01x");
}

const UNRECOGNIZED: &str = "\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{70}";

/// G1: only the allowed name goes through, and only if it can be seen.
#[test]
fn another_tls_name_is_refused() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443, PORT", &origin, ""));
    let long = "a".repeat(300) + ".com";
    let refused = [
        hello(Some("evil.net")),
        hello(Some("www.example.com")),
        hello(None),
        hello(Some("127.0.0.1")),
        hello(Some(&long)),
        hello_with(Some("example.com"), &[(0xfe0d, b"grease")]),
    ];
    for bytes in &refused {
        assert_eq!(exchange(scene.to("example.com"), bytes), UNRECOGNIZED);
        let (stream, _) = scene.tunnel("example.com:443");
        assert_eq!(exchange(stream, bytes), UNRECOGNIZED);
    }
    let denied = scene.medium.wait_for_many("denied", 2 * refused.len());
    assert_eq!(denied[0]["because"], "gate");
    assert_eq!(denied[0]["reason"], "the connection is to example.com, its TLS name is evil.net");
    for result in scene.medium.wait_for_many("connect.result", 2 * refused.len()) {
        assert_eq!(result["result"]["sent"], 0, "{result}");
    }
    let good = hello(Some("EXAMPLE.com"));
    sends_back(&mut scene.to("example.com"), &good);
    sends_back(&mut scene.tunnel("example.com:443").0, &good);
}

/// A server may ask for a second hello; it names the same host, or ends the connection.
#[test]
fn another_tls_name_in_a_second_hello_is_refused() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    let change = [20, 3, 3, 0, 1, 1];
    let data = [23, 3, 3, 0, 2, 9, 9];
    let first = hello(Some("example.com"));
    let early = hello_with(Some("example.com"), &[(42, b"")]);
    let other = hello(Some("evil.net"));
    let without = hello(None);
    for bytes in [
        [&first[..], &other].concat(),
        [&first[..], &change, &other].concat(),
        [&first[..], &change, &without].concat(),
        [&early[..], &data, &data, &change, &other].concat(),
    ] {
        let (mut stream, _) = scene.tunnel("example.com:443");
        stream.write_all(&bytes).unwrap();
        let back = rest(&mut stream);
        assert!(!back.contains("evil"), "{back:?}");
    }
    for (number, result) in scene.medium.wait_for_many("connect.result", 4).iter().enumerate() {
        assert_eq!(result["result"]["ended"], "denied", "{number}");
    }
    let good = [&early[..], &data, &change, &first, &data, &other].concat();
    sends_back(&mut scene.tunnel("example.com:443").0, &good);
}

#[test]
fn a_hello_may_come_in_any_pieces() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    let whole = hello(Some("example.com"));
    let (first, second) = whole[5..].split_at(40);
    let record = |part: &[u8]| [&[22, 3, 1, 0, part.len() as u8][..], part].concat();
    let bytes = [record(first), record(second)].concat();
    let (mut stream, _) = scene.tunnel("example.com:443");
    for byte in &bytes {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, bytes);
}

#[test]
fn on_443_there_is_tls_and_nothing_else() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443, 80", &origin, ""));
    let (stream, _) = scene.tunnel("example.com:443");
    let answer = exchange(stream, b"GET / HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(exchange(scene.tunnel("example.com:443").0, b"SSH-2.0-x\r\n"), "");
    let answer = exchange(scene.tunnel("example.com:80").0, b"SSH-2.0-x\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    for result in scene.medium.wait_for_many("connect.result", 3) {
        assert_eq!(
            (&result["result"]["sent"], &result["result"]["ended"]),
            (&json!(0), &json!("malformed"))
        );
    }
}

/// A destination whose requests are narrowed can't be an opaque tunnel.
#[test]
fn what_has_to_be_seen_and_cannot_be_opened_is_refused() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443, 8443", &origin, "methods = [\"GET\"]"));
    let answer = exchange(scene.tunnel("example.com:443").0, &hello(Some("example.com")));
    assert_eq!(answer, "\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{31}");
    assert_eq!(exchange(scene.tunnel("example.com:8443").0, b"\x01any"), "");
    let denied = scene.medium.wait_for("denied");
    assert_eq!(denied["reason"], "its requests are narrowed, and TLS can't be opened");
}

/// F3: all of an answer counts, and it is asked for once.
#[test]
fn one_private_address_condemns_the_answer() {
    let addresses = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
    for list in [
        vec!["127.0.0.1"],
        vec!["93.184.216.34", "10.0.0.1"],
        vec!["93.184.216.34", "::1"],
        vec!["::ffff:169.254.169.254"],
        vec!["64:ff9b::7f00:1", "93.184.216.34"],
        vec!["fe80::1"],
        vec!["0.0.0.0"],
    ] {
        let setting = Setting { answer: addresses(&list), ..Setting::default() };
        let scene = Scene::with("[[network]]\nhost = \"example.com\"\n", setting);
        let (_, head) = scene.tunnel("example.com:443");
        assert!(
            head.starts_with("HTTP/1.1 403 denied by Loop: the name leads to"),
            "{list:?}: {head}"
        );
        assert_eq!(*scene.resolver.asked.lock().unwrap(), ["example.com"]);
        let result = scene.medium.wait_for("connect.result");
        assert_eq!(result["result"]["address"], serde_json::Value::Null);
        assert_eq!(result["result"]["ended"], "denied");
        assert_eq!(scene.medium.of_kind("denied")[0]["because"], "gate");
    }
}

#[test]
fn an_owner_may_pin_a_private_address() {
    let origin = Origin::echo();
    let port = origin.place.port();
    let owner = format!(
        "[[network]]\nhost = \"example.com\"\nports = [{port}]\naddresses = [\"127.0.0.0/8\"]\n"
    );
    let setting = Setting { answer: vec![[127, 0, 0, 1].into()], ..Setting::default() };
    let scene = Scene::with(&owner, setting);
    let (mut stream, head) = scene.tunnel(&format!("example.com:{port}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    sends_back(&mut stream, b"\x01x");
}

/// What no layer may lift holds for names that lead there, pinned or not.
#[test]
fn a_denied_address_stays_denied_under_a_name() {
    let owner = "[[network]]\nhost = \"example.com\"\naddresses = [\"169.254.0.0/16\"]\n";
    let setting = Setting { answer: vec![[169, 254, 169, 254].into()], ..Setting::default() };
    let scene = Scene::with(owner, setting);
    let (_, head) = scene.tunnel("example.com:443");
    assert!(head.contains("no-metadata-v4"), "{head}");
}

#[test]
fn a_name_that_does_not_exist_is_a_bad_gateway_on_record() {
    let scene = Scene::new("[[network]]\nhost = \"example.com\"\n");
    let (_, head) = scene.tunnel("example.com:443");
    assert!(
        head.starts_with("HTTP/1.1 502 unreachable by Loop: example.com can't be resolved"),
        "{head}"
    );
    let result = scene.medium.wait_for("connect.result");
    assert_eq!(result["result"]["ended"], "unreachable");
    assert_eq!(scene.medium.of_kind("connect.intent")[0]["action"]["host"], "example.com");
}

#[test]
fn a_refused_connection_is_a_bad_gateway() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let owner = format!("[[network]]\nhost = \"example.com\"\ndial = \"{gone}\"\n");
    let scene = Scene::new(&owner);
    let (mut stream, head) = scene.tunnel("example.com:443");
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(rest(&mut stream).contains("example.com:443 refuses the connection"));
}

#[test]
fn nothing_is_dialled_if_it_cannot_be_recorded() {
    let origin = Origin::echo();
    let scene = Scene::new(&grant("example.com", "443", &origin, ""));
    scene.medium.fail();
    let (_, head) = scene.tunnel("example.com:443");
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert_eq!(socks(&scene, &by_name("example.com", 443)).1[1], 1);
    assert_eq!(origin.reached(), 0);
}

#[test]
fn a_connection_to_an_address_that_stands_for_nothing_is_closed() {
    let scene = Scene::new("");
    let stream = crate::scene::connect(([127, 18, 9, 9], scene.port).into());
    assert_eq!(exchange(stream, b"GET / HTTP/1.1\r\n"), "");
    assert!(scene.medium.wait_for("malformed")["why"].as_str().unwrap().contains("127.18.9.9"));
}

#[test]
fn a_sandbox_listens_where_its_authority_leads() {
    let ports = |owner: &str| -> Vec<u16> {
        let authority = crate::scene::authority(owner);
        egress::transparent_ports(&authority).into_iter().map(names::Port::number).collect()
    };
    let grants = "[[network]]\nhost = \"a.example.com\"\nports = [5432, 443]\n\
                  [[network]]\nhost = \"b.example.com\"\n\
                  [[network]]\nhost = \"c.example.com\"\nports = []\n";
    let rule = "[[rule]]\nid = \"r\"\naction = \"connect\"\nhost = \"d.example.com\"\nverdict = ";
    assert_eq!(ports(""), [0; 0]);
    assert_eq!(ports(grants), [443, 5432]);
    assert_eq!(ports(&format!("{rule}\"ask\"\n")), [80, 443]);
    assert_eq!(ports(&format!("{rule}\"deny\"\n")), [0; 0]);
}
