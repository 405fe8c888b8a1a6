//! HTTP/2 on connections that are opened: streams, bodies as they are taken, trailers, credentials.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::scene::{API, CANARY, Lent, OTHER, Pki, owner};
use crate::scene::{Origin, PATIENCE};

type Heads = Arc<Mutex<Vec<String>>>;

/// An origin that echoes bodies with a trailer, and remembers heads.
fn origin(pki: &Pki, host: &str) -> (Origin, Heads) {
    let mut config = pki.good(host);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (config, heads) = (Arc::new(config), Heads::default());
    let seen = heads.clone();
    let origin = Origin::new(move |stream| {
        let (config, seen) = (config.clone(), seen.clone());
        runtime().block_on(async move {
            stream.set_nonblocking(true).unwrap();
            let stream = TcpStream::from_std(stream).unwrap();
            let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
            let Ok(mut connection) = h2::server::handshake(stream).await else { return };
            while let Some(Ok((request, respond))) = connection.accept().await {
                seen.lock().unwrap().push(format!(
                    "{} {:?}",
                    request.uri(),
                    exposed(request.headers())
                ));
                tokio::spawn(echo(request, respond));
            }
        });
    });
    (origin, heads)
}

/// Sensitive values too.
fn exposed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

async fn echo(
    request: Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let mut body = request.into_body();
    let mut back = respond.send_response(Response::new(()), false)?;
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        let mut left = data;
        while !left.is_empty() {
            back.reserve_capacity(left.len());
            let room = std::future::poll_fn(|context| back.poll_capacity(context)).await;
            let Some(Ok(room)) = room else { return Ok(()) };
            back.send_data(left.split_to(room.min(left.len())), false)?;
        }
    }
    let mut trailers = body.trailers().await?.unwrap_or_default();
    trailers.insert("x-end", "yes".parse().unwrap());
    back.send_trailers(trailers)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// What a client inside does with an HTTP/2 connection.
fn with<T>(
    lent: &Lent,
    host: &str,
    work: impl AsyncFnOnce(h2::client::SendRequest<Bytes>) -> T,
) -> T {
    let (stream, answer) = lent.scene.tunnel(&format!("{host}:443"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let config = Arc::new(lent.client(&[b"h2", b"http/1.1"]));
    runtime().block_on(async move {
        stream.set_nonblocking(true).unwrap();
        let stream = TcpStream::from_std(stream).unwrap();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let stream = TlsConnector::from(config).connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        tokio::time::timeout(PATIENCE, work(sender)).await.unwrap()
    })
}

/// A request with a body, whole: status, body and trailers of the response.
async fn ask(
    sender: &h2::client::SendRequest<Bytes>,
    request: Request<()>,
    body: &[u8],
) -> Result<(StatusCode, Vec<u8>, HeaderMap), h2::Error> {
    let mut sender = sender.clone().ready().await?;
    let (response, mut onward) = sender.send_request(request, false)?;
    let sending = async {
        let mut left = Bytes::copy_from_slice(body);
        while !left.is_empty() {
            onward.reserve_capacity(left.len());
            match std::future::poll_fn(|context| onward.poll_capacity(context)).await {
                Some(Ok(room)) => onward.send_data(left.split_to(room.min(left.len())), false)?,
                _ => return Ok(()),
            }
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sent", body.len().into());
        onward.send_trailers(trailers)
    };
    let receiving = async {
        let response = response.await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut got = Vec::new();
        while let Some(data) = body.data().await {
            let data = data?;
            got.extend_from_slice(&data);
            body.flow_control().release_capacity(data.len())?;
        }
        Ok((status, got, body.trailers().await?.unwrap_or_default()))
    };
    let (sent, received) = tokio::join!(sending, receiving);
    // A refused request is answered before its body was taken.
    let _: Result<(), h2::Error> = sent;
    received
}

fn post(uri: &str) -> http::request::Builder {
    Request::builder().method("POST").uri(uri)
}

#[test]
fn bodies_and_trailers_pass_both_ways_on_many_streams() {
    let pki = Pki::new();
    let (origin, heads) = origin(&pki, OTHER);
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    with(&lent, OTHER, async |sender| {
        let body: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
        let asks = (0..8).map(|at| {
            let request = post(&format!("https://other.example.com/{at}?q=hidden"));
            ask(&sender, request.body(()).unwrap(), &body)
        });
        for answered in join_all(asks).await {
            let (status, got, trailers) = answered.unwrap();
            assert_eq!(status, 200);
            assert_eq!(names::Digest::of(&got), names::Digest::of(&body));
            assert_eq!(trailers["x-end"], "yes");
            assert_eq!(trailers["x-sent"], "700000");
        }
    });
    assert_eq!(origin.reached(), 1);
    assert_eq!(heads.lock().unwrap().len(), 8);
    for result in lent.medium().wait_for_many("http.result", 8) {
        assert_eq!(result["result"], json!({"status": 200}));
    }
    assert!(!lent.records().contains("hidden"));
}

async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all = Vec::new();
    let mut pinned: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(move |context| {
        pinned.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(done) => {
                all.push(done);
                false
            }
            std::task::Poll::Pending => true,
        });
        match pinned.is_empty() {
            true => std::task::Poll::Ready(std::mem::take(&mut all)),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[test]
fn another_authority_is_refused_and_ends_the_connection_g1() {
    let pki = Pki::new();
    let (origin, heads) = origin(&pki, OTHER);
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    with(&lent, OTHER, async |sender| {
        let honest = post("https://other.example.com/").body(()).unwrap();
        assert_eq!(ask(&sender, honest, b"x").await.unwrap().0, 200);
        let fronted = post("https://evil.example.com/").body(()).unwrap();
        let (status, body, _) = ask(&sender, fronted, b"").await.unwrap();
        assert_eq!(status, 403);
        assert!(String::from_utf8(body).unwrap().contains("the connection is to"));
        // The connection goes away; until it has, no request gets through.
        let later = post("https://other.example.com/").body(()).unwrap();
        let _ = ask(&sender, later, b"").await;
    });
    with(&lent, OTHER, async |sender| {
        let spoofed = post("https://other.example.com/").header("host", "evil.example.com");
        let (status, ..) = ask(&sender, spoofed.body(()).unwrap(), b"").await.unwrap();
        assert_eq!(status, 403);
    });
    assert!(heads.lock().unwrap().iter().all(|head| !head.contains("evil")));
    assert_eq!(lent.medium().wait_for_many("denied", 2).len(), 2);
}

#[test]
fn the_placeholder_becomes_the_value_at_its_destination_alone() {
    let pki = Pki::new();
    let (api, heads) = origin(&pki, API);
    let (other, at_other) = origin(&pki, OTHER);
    let lent = Lent::new(&owner(&pki, &api, &other));
    let (key, bearer) = (lent.placeholder("key"), lent.placeholder("bearer"));
    with(&lent, API, async |sender| {
        let request = post("https://api.example.com/v1/messages")
            .header("x-api-key", &key)
            .header("authorization", format!("Bearer {bearer}"))
            .header("x-other", &key);
        let (status, body, _) =
            ask(&sender, request.body(()).unwrap(), key.as_bytes()).await.unwrap();
        assert_eq!((status.as_u16(), body), (200, key.clone().into_bytes()));
        for path in ["/v2", "/v1/../x"] {
            let uri = format!("https://api.example.com{path}");
            let request = post(&uri).header("x-api-key", &key).body(()).unwrap();
            assert_eq!(ask(&sender, request, b"").await.unwrap().0, 403, "{path}");
        }
    });
    with(&lent, OTHER, async |sender| {
        let request = post("https://other.example.com/v1").header("x-api-key", &key);
        assert_eq!(ask(&sender, request.body(()).unwrap(), b"").await.unwrap().0, 403);
    });
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].contains(&format!("(\"x-api-key\", \"{CANARY}\")")), "{heads:?}");
    assert!(heads[0].contains(&format!("(\"authorization\", \"Bearer {CANARY}\")")), "{heads:?}");
    assert!(heads[0].contains(&format!("(\"x-other\", \"{key}\")")), "{heads:?}");
    assert!(at_other.lock().unwrap().is_empty());
    assert!(!lent.records().contains(CANARY));
}

#[test]
fn a_lease_that_ends_closes_the_connection_g6() {
    let pki = Pki::new();
    let (api, _) = origin(&pki, API);
    let lent = Lent::new(&owner(&pki, &api, &api));
    let key = lent.placeholder("key");
    with(&lent, API, async |sender| {
        let request = post("https://api.example.com/v1").header("x-api-key", &key);
        assert_eq!(ask(&sender, request.body(()).unwrap(), b"").await.unwrap().0, 200);
        lent.leases.revoke("key");
        // Nothing is sent, and yet the connection ends.
        loop {
            let request = Request::builder().uri("https://api.example.com/v1").body(()).unwrap();
            if ask(&sender, request, b"").await.is_err() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    let ended = lent.medium().wait_for("connect.result");
    assert_eq!(ended["result"]["why"], "key: the lease was revoked");
}

#[test]
fn a_bad_certificate_is_refused_and_said_g7() {
    let pki = Pki::new();
    let (wrong, heads) = origin(&pki, "evil.example.com");
    let lent = Lent::new(&owner(&pki, &wrong, &wrong));
    with(&lent, OTHER, async |sender| {
        let request = post("https://other.example.com/").body(()).unwrap();
        let (status, body, _) = ask(&sender, request, b"").await.unwrap();
        assert_eq!(status, 502);
        assert!(String::from_utf8(body).unwrap().contains("not valid for name"));
    });
    assert!(heads.lock().unwrap().is_empty());
}

/// A destination that stops reading stops the client, and nothing is gathered in between.
#[test]
fn a_stall_is_felt_by_the_sender() {
    let pki = Pki::new();
    let mut config = pki.good(OTHER);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let origin = Origin::new(move |stream| {
        let config = config.clone();
        runtime().block_on(async move {
            stream.set_nonblocking(true).unwrap();
            let stream = TcpStream::from_std(stream).unwrap();
            let stream = TlsAcceptor::from(config).accept(stream).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let mut held = Vec::new();
            while let Some(Ok(stream)) = connection.accept().await {
                held.push(stream);
            }
        });
    });
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    with(&lent, OTHER, async |sender| {
        let mut sender = sender.clone().ready().await.unwrap();
        let request = post("https://other.example.com/").body(()).unwrap();
        let (_response, mut onward) = sender.send_request(request, false).unwrap();
        let mut sent = 0;
        let stalled = async {
            loop {
                onward.reserve_capacity(64 * 1024);
                let room = std::future::poll_fn(|context| onward.poll_capacity(context)).await;
                let room = room.unwrap().unwrap();
                onward.send_data(Bytes::from(vec![0; room]), false).unwrap();
                sent += room;
                assert!(sent < 4 << 20, "{sent} bytes, and no end");
            }
        };
        let _ = tokio::time::timeout(std::time::Duration::from_millis(500), stalled).await;
        assert!(sent > 0);
    });
}

#[test]
fn a_stream_that_is_given_up_ends_alone() {
    let pki = Pki::new();
    let (origin, _) = origin(&pki, OTHER);
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    with(&lent, OTHER, async |sender| {
        for _ in 0..20 {
            let mut sender = sender.clone().ready().await.unwrap();
            let request = post("https://other.example.com/up").body(()).unwrap();
            let (_response, mut onward) = sender.send_request(request, false).unwrap();
            onward.send_data(Bytes::from_static(b"some"), false).unwrap();
            onward.send_reset(h2::Reason::CANCEL);
        }
        let request = post("https://other.example.com/").body(()).unwrap();
        assert_eq!(ask(&sender, request, b"x").await.unwrap().0, 200);
    });
}

#[test]
fn a_destination_that_breaks_off_is_an_error_that_the_client_reads() {
    let pki = Pki::new();
    let mut config = pki.good(OTHER);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let origin = Origin::new(move |stream| {
        let config = config.clone();
        runtime().block_on(async move {
            stream.set_nonblocking(true).unwrap();
            let stream = TcpStream::from_std(stream).unwrap();
            let stream = TlsAcceptor::from(config).accept(stream).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let _first = connection.accept().await;
        });
    });
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    with(&lent, OTHER, async |sender| {
        let request = post("https://other.example.com/").body(()).unwrap();
        let (status, body, _) = ask(&sender, request, b"").await.unwrap();
        assert_eq!(status, 502, "{}", String::from_utf8_lossy(&body));
    });
    assert_eq!(lent.medium().wait_for("http.result")["result"]["status"], json!(null));
}

/// Whatever follows the preface, the gate answers or closes, and goes on serving others.
#[test]
fn any_frames_are_answered_or_closed() {
    let pki = Pki::new();
    let (origin, heads) = origin(&pki, OTHER);
    let lent = Lent::new(&owner(&pki, &origin, &origin));
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for _ in 0..60 {
        let (stream, _) = lent.scene.tunnel("other.example.com:443");
        let name = ServerName::try_from(OTHER).unwrap();
        let config = Arc::new(lent.client(&[b"h2"]));
        let connection = rustls::ClientConnection::new(config, name).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        for _ in 0..next() % 6 {
            let length = next() % 40;
            bytes.extend([0, 0, length as u8, (next() % 11) as u8, next() as u8, 0, 0, 0]);
            bytes.push((next() % 4) as u8);
            bytes.extend((0..length).map(|_| next() as u8));
        }
        stream.write_all(&bytes).unwrap();
        stream.conn.send_close_notify();
        // The gate may have closed at an earlier frame.
        let _ = stream.flush();
        let _ = stream.sock.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    let before = heads.lock().unwrap().len();
    with(&lent, OTHER, async |sender| {
        let request = post("https://other.example.com/").body(()).unwrap();
        assert_eq!(ask(&sender, request, b"x").await.unwrap().0, 200);
    });
    assert_eq!(heads.lock().unwrap().len(), before + 1);
}
