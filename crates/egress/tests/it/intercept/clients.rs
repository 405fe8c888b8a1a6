//! Real clients trust what they are given, and reach what is opened.

use std::path::Path;
use std::process::Command;

use egress::{BUNDLE, JAVA_STORE, Trust};

use super::scene::{API, CANARY, Lent, Pki, owner, remembering};
use crate::scene::PATIENCE;

/// Fetches with `https_proxy`, as each language's own library does it.
const PYTHON: &str = "import os, urllib.request as r
q = r.Request('https://api.example.com/v1/python', headers={'X-Api-Key': os.environ['KEY']})
print(r.urlopen(q, timeout=20).read().decode())";

const NODE: &str = "const http = require('http'), tls = require('tls');
const proxy = new URL(process.env.https_proxy);
http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT',
              path: 'api.example.com:443', headers: {host: 'api.example.com:443'}})
  .on('connect', (_, socket) => {
    const to = tls.connect({socket, servername: 'api.example.com'}, () => to.write(
      'GET /v1/node HTTP/1.1\\r\\nHost: api.example.com\\r\\nX-Api-Key: ' + process.env.KEY
      + '\\r\\nConnection: close\\r\\n\\r\\n'));
    to.on('data', data => process.stdout.write(data));
    to.on('error', error => { console.error(error); process.exit(1); });
  }).end();";

const JAVA: &str = "import java.net.*;
public class Fetch {
  public static void main(String[] args) throws Exception {
    var proxy = new URI(System.getenv(\"https_proxy\")).toURL();
    var by = new Proxy(Proxy.Type.HTTP, new InetSocketAddress(proxy.getHost(), proxy.getPort()));
    var to = new URI(\"https://api.example.com/v1/java\").toURL().openConnection(by);
    to.setRequestProperty(\"X-Api-Key\", System.getenv(\"KEY\"));
    System.out.println(new String(to.getInputStream().readAllBytes()));
  }
}";

struct World {
    lent: Lent,
    seen: super::scene::Seen,
    pki: Pki,
}

impl World {
    fn new() -> Self {
        let pki = Pki::new();
        let (api, seen) = remembering(pki.good(API));
        let lent = Lent::new(&owner(&pki, &api, &api));
        let trust = lent.interceptor.trust();
        std::fs::write(pki.place.path().join("bundle.pem"), trust.bundle).unwrap();
        std::fs::write(pki.place.path().join("cacerts.jks"), trust.java_store).unwrap();
        std::fs::write(pki.place.path().join("Fetch.java"), JAVA).unwrap();
        Self { lent, seen, pki }
    }

    /// Runs a client with what tells it of the authority, and nothing else that could.
    fn run(&self, program: &str, arguments: &[&str]) -> (bool, String) {
        let place = self.pki.place.path();
        let at = |inside: &str, file: &str, value: &str| {
            value.replace(inside, place.join(file).to_str().unwrap())
        };
        #[expect(clippy::disallowed_methods, reason = "a real client")]
        let mut command = Command::new(program);
        command.args(arguments).current_dir(place).env_clear();
        for name in ["PATH", "PYENV_ROOT"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        for telling in Trust::variables() {
            let value = at(BUNDLE, "bundle.pem", &telling.value);
            command.env(telling.name, at(JAVA_STORE, "cacerts.jks", &value));
        }
        let proxy = format!("http://{}", self.lent.scene.proxy);
        command.env("HOME", place).env("https_proxy", &proxy).env("HTTPS_PROXY", &proxy);
        command.env("KEY", self.lent.placeholder("key"));
        let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// The client's request arrived, with the credential where it is meant to have one.
    fn arrives(&self, program: &str, arguments: &[&str], credential: bool) {
        let (success, output) = self.run(program, arguments);
        assert!(success, "{program}: {output}");
        let seen = self.seen.lock().unwrap();
        let last = seen.last().unwrap_or_else(|| panic!("{program}: {output}"));
        assert_eq!(last.contains(CANARY), credential, "{program}: {last}");
        assert!(!output.contains(CANARY), "{program}: {output}");
    }
}

#[test]
fn curl() {
    let world = World::new();
    let key = format!("X-Api-Key: {}", world.lent.placeholder("key"));
    let place = "https://api.example.com/v1/curl";
    for version in ["--http1.1", "--http2"] {
        world.arrives("curl", &["-sSf", "-m20", version, "-H", &key, place], true);
    }
}

#[test]
fn curl_shows_why_it_is_refused() {
    let world = World::new();
    let key = format!("X-Api-Key: {}", world.lent.placeholder("key"));
    let place = "https://api.example.com/v2";
    let (_, output) = world.run("curl", &["-sS", "-m20", "-H", &key, place]);
    assert!(output.contains("the lease key is for api.example.com:443"), "{output}");
    assert!(output.contains("\"next\""), "{output}");
}

#[test]
fn python() {
    World::new().arrives("python3", &["-c", PYTHON], true);
}

#[test]
fn node() {
    World::new().arrives("node", &["-e", NODE], true);
}

#[test]
fn java() {
    World::new().arrives("java", &["Fetch.java"], true);
}

#[test]
fn openssl() {
    let world = World::new();
    let proxy = world.lent.scene.proxy.to_string();
    let (success, output) = world.run(
        "openssl",
        &[
            "s_client",
            "-proxy",
            &proxy,
            "-connect",
            "api.example.com:443",
            "-servername",
            API,
            "-verify_return_error",
            "-brief",
        ],
    );
    assert!(success && output.contains("Verification: OK"), "{output}");
}

/// It speaks TLS to the origin and is told that there is no repository.
#[test]
fn git() {
    let world = World::new();
    let (_, output) = world.run("git", &["ls-remote", "https://api.example.com/v1/repository"]);
    let seen = world.seen.lock().unwrap();
    assert!(seen.iter().any(|head| head.contains("/v1/repository/info/refs")), "{output}");
}

/// GnuTLS has no variable; it reads the system's bundle, whose place ours takes.
#[test]
fn wget() {
    let world = World::new();
    let bundle = world.pki.place.path().join("bundle.pem");
    let option = format!("--ca-certificate={}", show(&bundle));
    let key = format!("--header=X-Api-Key: {}", world.lent.placeholder("key"));
    let seconds = format!("--timeout={}", PATIENCE.as_secs());
    let place = "https://api.example.com/v1/wget";
    world.arrives("wget", &["-qO-", "--tries=1", &seconds, &option, &key, place], true);
}

fn show(path: &Path) -> &str {
    path.to_str().unwrap()
}
