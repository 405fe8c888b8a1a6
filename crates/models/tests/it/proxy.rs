//! Through the proxy of the control plane.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use models::{ModelError, Settings, find_with};
use names::Secret;
use testkit::ModelServer;

use crate::support::{ask, keys, request};

/// A proxy that asks for a login and leads every tunnel to one place. Returns its port, and what it
/// was asked.
fn proxy(to: SocketAddr, answer: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        client.write_all(answer.as_bytes()).unwrap();
        if answer.contains(" 200 ") {
            splice(client, TcpStream::connect(to).unwrap());
        }
        String::from_utf8(head).unwrap()
    });
    (port, serving)
}

fn splice(client: TcpStream, server: TcpStream) {
    let pairs = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
    for (from, to) in pairs {
        let (mut from, mut to) = (from.unwrap(), to.unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    }
}

fn through(port: u16, server: &ModelServer) -> Result<String, ModelError> {
    let lookup = |name: &str| match name {
        "HTTPS_PROXY" => Some(Secret::new(format!("http://me:pass@127.0.0.1:{port}"))),
        name => keys(name),
    };
    let mut settings = Settings::default();
    settings.base_url = Some("https://provider.test".to_owned());
    settings.roots = server.authority().map(str::to_owned);
    let settings = settings.impatient(Duration::from_secs(20));
    let model = find_with(Some("anthropic:claude-sonnet-5-5"), &lookup, settings).unwrap();
    ask(model.as_ref(), &request("go")).0.map(|answer| answer.text())
}

#[test]
fn an_encrypted_connection_goes_through_a_tunnel() {
    let script = "name = 'x'\n[[turn]]\ntext = 'hello'";
    let server = ModelServer::start_encrypted(script, &["provider.test"]);
    let (port, serving) = proxy(server.address(), "HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(through(port, &server).unwrap(), "hello");
    let asked = serving.join().unwrap();
    assert!(asked.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nProxy-Authorization: Basic bWU6cGFzcw==\r\n"), "{asked}");
    server.verdict().unwrap();
}

#[test]
fn a_proxy_that_refuses_is_told() {
    let server = ModelServer::start_encrypted("name = 'x'", &["provider.test"]);
    let (port, _) = proxy(server.address(), "HTTP/1.1 407 No\r\n\r\n");
    let Err(ModelError::Unreachable(said)) = through(port, &server) else { panic!() };
    assert!(said.contains("provider.test"), "{said}");
    assert!(!said.contains("pass"), "{said}");
}
