//! Origins that can't prove who they are are not talked to, whatever the client would accept.

use std::io::{Read as _, Write as _};

use super::scene::{API, CANARY, Lent, OTHER, Pki, owner, remembering, response, tls_origin};
use crate::scene::{Origin, grant};

const GET: &str = "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n";

fn answer_of(pki: &Pki, origin: &Origin) -> (Lent, String) {
    let lent = Lent::new(&owner(pki, origin, origin));
    let answer = lent.ask(OTHER, GET);
    (lent, answer)
}

#[test]
fn a_bad_certificate_is_refused_and_said_g7() {
    let pki = Pki::new();
    for (config, why) in [
        (pki.expired(OTHER), "it has expired"),
        (pki.good("evil.example.com"), "not valid for name"),
        (pki.good("*.example.org"), "not valid for name"),
        (pki.self_signed(OTHER), "vouches for it"),
    ] {
        let (origin, seen) = remembering(config);
        let (lent, answer) = answer_of(&pki, &origin);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.contains(why), "{why}: {answer}");
        assert!(seen.lock().unwrap().is_empty());
        let ended = lent.medium().wait_for("connect.result");
        assert_eq!(ended["result"]["ended"], "unreachable", "{ended}");
        assert!(ended["result"]["why"].as_str().unwrap().contains(why), "{ended}");
        assert!(lent.medium().of_kind("http.intent").is_empty());
    }
}

#[test]
fn the_systems_certificates_vouch_and_nobody_else() {
    let pki = Pki::new();
    let (origin, _) = remembering(pki.good(OTHER));
    let owner = grant(OTHER, "443", &origin, "methods = [\"GET\"]");
    let system = std::fs::read_to_string(pki.file()).unwrap();
    let now = names::system_clock();
    assert!(Lent::at(&owner, &system, now).ask(OTHER, GET).ends_with("ok"));
    let answer = Lent::at(&owner, "", now).ask(OTHER, GET);
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("ca_file"), "{answer}");
}

#[test]
fn a_file_that_vouches_for_one_host_does_not_for_another() {
    let pki = Pki::new();
    let (origin, seen) = remembering(pki.good(OTHER));
    let file = format!("ca_file = \"{}\"", pki.file().display());
    let text =
        grant(API, "443", &origin, &file) + &grant(OTHER, "443", &origin, "methods = [\"GET\"]");
    assert!(Lent::new(&text).ask(OTHER, GET).starts_with("HTTP/1.1 502 "));
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn certificates_that_cannot_be_read_are_named() {
    let pki = Pki::new();
    let (origin, _) = remembering(pki.good(OTHER));
    for (file, why) in [("absent.pem", "can't be read"), ("empty.pem", "are none")] {
        let path = pki.place.path().join(file);
        if file == "empty.pem" {
            std::fs::write(&path, "no certificate").unwrap();
        }
        let more = format!("ca_file = \"{}\"\nmethods = [\"GET\"]", path.display());
        let answer = Lent::new(&grant(OTHER, "443", &origin, &more)).ask(OTHER, GET);
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains(why), "{answer}");
    }
}

#[test]
fn what_speaks_no_tls_is_an_error_that_the_client_reads() {
    let pki = Pki::new();
    let origin = Origin::new(|mut stream| {
        let _ = stream.read(&mut [0]);
        let _ = stream.write_all(b"220 mail.example.com ESMTP\r\n");
    });
    let (_, answer) = answer_of(&pki, &origin);
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[test]
fn a_client_that_does_not_trust_the_run_is_on_record() {
    let pki = Pki::new();
    let (origin, _) = remembering(pki.good(OTHER));
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    let stranger = Lent::new(&owner(&pki, &origin, &origin));
    let (stream, _) = lent.scene.tunnel("other.example.com:443");
    let config = std::sync::Arc::new(stranger.client(&[b"http/1.1"]));
    let name = rustls::pki_types::ServerName::try_from(OTHER).unwrap();
    let connection = rustls::ClientConnection::new(config, name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    assert!(stream.write_all(GET.as_bytes()).and_then(|()| stream.flush()).is_err());
    drop(stream);
    let ended = lent.medium().wait_for("connect.result");
    assert_eq!(ended["result"]["ended"], "client-reset", "{ended}");
}

/// What an origin echoes is the run's own business, but it is in no record.
#[test]
fn an_echoed_credential_is_in_no_record() {
    let pki = Pki::new();
    let api = tls_origin(pki.good(API), |stream| {
        while let Some(request) = super::scene::request(stream) {
            let length = request.len();
            write!(stream, "HTTP/1.1 400 {CANARY}\r\nContent-Length: {length}\r\n\r\n{request}")
                .unwrap();
        }
    });
    let lent = Lent::new(&owner(&pki, &api, &api));
    let key = lent.placeholder("key");
    let mut stream = lent.open(API);
    write!(stream, "GET /v1 HTTP/1.1\r\nHost: api.example.com\r\nX-Api-Key: {key}\r\n\r\n")
        .unwrap();
    assert!(response(&mut stream).contains(CANARY));
    lent.medium().wait_for("http.result");
    assert!(!lent.records().contains(CANARY));
}
