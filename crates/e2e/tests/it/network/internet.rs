//! Servers on the host's loopback that stand for hosts of the internet, and a person who sends the
//! names there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use serde_json::Value;
use testkit::{Launch, Ran, Running, World, need, wait_until};

pub(super) const HOST: &str = "registry.example.com";
pub(super) const OTHER: &str = "other.example.com";
/// A file vouches for the host, and nothing is narrowed.
pub(super) const VOUCHED: &str = "# with its ca_file";
/// Requests are looked at: TLS is opened, with a certificate of the run's own.
pub(super) const SEEN: &str = "methods = [\"GET\", \"HEAD\", \"POST\"]";

/// Servers: a program, and what it runs.
/// What is wrong with a certificate.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Certificate {
    Good,
    Expired,
    SelfSigned,
}

/// A server, which ends with the test.
pub(super) struct Origin {
    running: Option<Running>,
    pub(super) port: u16,
    log: PathBuf,
}

impl Origin {
    pub(super) fn entries(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["kind"] == kind).collect()
    }

    /// How many connections came.
    pub(super) fn connections(&self) -> usize {
        self.entries("connection").len()
    }

    /// The requests that came.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.entries("request")
    }

    /// Everything that came, as text.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal(Signal::KILL);
            running.wait();
        }
    }
}

/// A person with a project, a certificate authority, and names that lead to servers here.
pub(super) struct Internet {
    pub(super) world: World,
    pub(super) project: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
    config: String,
}

impl Internet {
    pub(super) fn new() -> Self {
        need("python3");
        let world = World::new();
        let project = world.repository("project").path().to_owned();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "the tests' own");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        world.write("ca.pem", issuer.pem());
        // For clients inside that are shown the server's own certificate.
        std::fs::write(project.join("ca.pem"), issuer.pem()).unwrap();
        std::fs::create_dir(world.path().join("www")).unwrap();
        std::fs::write(world.path().join("www/hello"), "hello from outside\n").unwrap();
        Self { world, project, issuer, config: String::new() }
    }

    /// With one host that can be reached, narrowed by `more`.
    pub(super) fn with(more: &str) -> (Self, Origin) {
        let mut internet = Self::new();
        let origin = internet.origin(Certificate::Good);
        internet.grant(HOST, 443, &origin, more);
        (internet, origin)
    }

    /// What the servers serve.
    pub(super) fn www(&self) -> PathBuf {
        self.world.path().join("www")
    }

    pub(super) fn origin(&self, certificate: Certificate) -> Origin {
        let name = self.fresh_name();
        let files = self.certify(&name, certificate);
        self.serve(&name, &files)
    }

    /// One that speaks HTTP/2 and nothing else, keeps no log, and leaves a client that says nothing
    /// for so many seconds; `0`: never.
    pub(super) fn http2_origin(&self, patience: &str) -> Origin {
        need("node");
        let name = self.fresh_name();
        let files = self.certify(&name, Certificate::Good);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/http2.js");
        self.start(&name, &["/usr/bin/node", script, &files[0], &files[1], patience])
    }

    /// One that speaks HTTP/2, and Git.
    pub(super) fn git_http2_origin(&self) -> Origin {
        need("node");
        let name = self.fresh_name();
        let [certificate, key] = self.certify(&name, Certificate::Good);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/git-http2.js");
        let (log, www) = (self.log(&name), self.www());
        let places = [log.to_str().unwrap(), www.to_str().unwrap()];
        self.start(&name, &["/usr/bin/node", script, places[0], places[1], &certificate, &key])
    }

    /// A certificate and its key.
    fn certify(&self, name: &str, certificate: Certificate) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([HOST.to_owned(), OTHER.to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, HOST);
        if certificate == Certificate::Expired {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
            params.not_before = rcgen::date_time_ymd(2019, 1, 1);
        }
        let pem = match certificate {
            Certificate::SelfSigned => params.self_signed(&key).unwrap().pem(),
            _ => params.signed_by(&key, &self.issuer).unwrap().pem(),
        };
        let certificate = self.world.write(format!("{name}.crt"), pem);
        let key = self.world.write(format!("{name}.key"), key.serialize_pem());
        [certificate, key].map(|file| file.to_str().unwrap().to_owned())
    }

    pub(super) fn plain_origin(&self) -> Origin {
        self.serve(&self.fresh_name(), &[])
    }

    fn fresh_name(&self) -> String {
        format!("origin-{}", std::fs::read_dir(self.world.path()).unwrap().count())
    }

    fn serve(&self, name: &str, certificate: &[String]) -> Origin {
        let log = self.log(name);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/origin.py");
        let www = self.www();
        let mut line =
            vec!["/usr/bin/python3", script, log.to_str().unwrap(), www.to_str().unwrap()];
        line.extend(certificate.iter().map(String::as_str));
        self.start(name, &line)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.world.path().join(format!("{name}.log"))
    }

    fn start(&self, name: &str, line: &[&str]) -> Origin {
        let log = self.world.write(self.log(name), "");
        let running = self.world.outside(self.world.path(), line).start();
        running.expect_output("\n");
        let port = running.output().trim().strip_prefix("port ").unwrap().parse().unwrap();
        Origin { running: Some(running), port, log }
    }

    /// The person sends a name to a server here.
    pub(super) fn grant(&mut self, host: &str, port: u16, origin: &Origin, more: &str) {
        let ca = self.world.path().join("ca.pem");
        // Where a file vouches, TLS is opened; a tunnel stays closed without.
        let ca_file = match more {
            "" => String::new(),
            _ => format!("ca_file = \"{}\"\n", ca.display()),
        };
        writeln!(
            self.config,
            "[[network]]\nhost = \"{host}\"\nports = [{port}]\naddresses = [\"127.0.0.1\"]\n\
             dial = \"127.0.0.1:{}\"\n{ca_file}{more}\n",
            origin.port,
        )
        .unwrap();
        self.world.write("loop-home/config.toml", &self.config);
    }

    pub(super) fn exec_with(&self, flags: &[&str], line: &[&str]) -> Launch {
        let flags = [&["--profile", "offline"], flags].concat();
        self.world.exec_with(&self.project, &flags, line)
    }

    pub(super) fn sh(&self, script: &str) -> Ran {
        self.exec_with(&[], &["bash", "-c", script]).run().expect_no_panic()
    }

    /// A command of `loop`, in the project.
    pub(super) fn tell(&self, arguments: &[&str]) -> Ran {
        self.world.run_loop(&self.project, arguments).run().expect_no_panic()
    }

    /// The run that began last. Names of runs are in no order.
    pub(super) fn run(&self) -> PathBuf {
        self.world.runs().into_iter().max_by_key(|run| began(run)).unwrap()
    }

    /// The bodies of a kind of record of the last run.
    pub(super) fn records(&self, kind: &str) -> Vec<Value> {
        records(&self.run(), kind)
    }

    /// What `loop show` says of a destination of the last run.
    pub(super) fn reached(&self, host: &str) -> Value {
        let shown = self.tell(&["show", "--json"]).expect_code(0).json();
        let all = shown["reached"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|reached| reached["host"] == host).unwrap_or(Value::Null)
    }

    /// The last run's receipt holds, and so does its ledger.
    pub(super) fn verify(&self) {
        let receipt = self.run().join("receipt.json");
        let words = ["receipt", "verify", receipt.to_str().unwrap(), "--json"];
        let report = self.tell(&words).json();
        for aspect in ["signature", "chain", "subjects", "policy", "completeness"] {
            assert_eq!(report["verdict"][aspect]["verdict"], "holds", "{report:#}");
        }
    }
}

fn began(run: &Path) -> String {
    let text = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    let genesis: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    genesis["time"].as_str().unwrap().to_owned()
}

/// The bodies of a kind of record, as far as the ledger is written.
pub(super) fn records(run: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|record| record["kind"] == kind).map(|record| record["body"].clone()).collect()
}

/// Waits for a record of the one run there is.
pub(super) fn await_record(world: &World, kind: &str) -> Value {
    let mut found = None;
    wait_until(kind, || {
        found = world.runs().last().and_then(|run| records(run, kind).pop());
        found.is_some()
    });
    found.unwrap()
}
