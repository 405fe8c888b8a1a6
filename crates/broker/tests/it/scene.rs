//! An authority, a ledger that can be looked into and can fail, and a broker over both.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::{Answerer, Approvals, Ask, Broker, Via};
use ledger::{Disk, Ledger, records};
use names::{Clock, Digest, RunId, Span, system_clock};
use policy::{
    Apply, AskLimits, Authority, Discard, Exec, Flags, Layer, NoLibrary, Request, Source, Undo,
};
use serde_json::Value;

/// Allows most, asks before `cargo publish` and any apply of flagged paths, denies `rm`.
const PROFILE: &str = r#"
[profile]
name = "scene"
extends = "offline"

[[rule]]
id = "no-removal"
action = "exec"
program = "/usr/bin/rm"
verdict = "deny"
reason = "removal is not part of the scene"

[[rule]]
id = "ask-before-publish"
action = "exec"
program = "/usr/bin/cargo"
args = ["publish", "**"]
verdict = "ask"
reason = "publishing can't be undone"
"#;

pub(crate) fn run() -> RunId {
    RunId::parse("261129-k7m2qd").unwrap()
}

pub(crate) fn authority() -> Authority {
    let profile =
        Source { layer: Layer::Named, name: "scene.toml".to_owned(), text: PROFILE.to_owned() };
    let request = Request {
        profile: Some(profile),
        profile_name: "scene".to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/site"),
        subject: "ann".to_owned(),
        library: &NoLibrary,
    };
    policy::resolve(request).unwrap().authority
}

/// A medium in memory. It remembers how much was synced, and fails from some call on.
#[derive(Clone, Default)]
pub(crate) struct Medium(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    synced: usize,
    calls: u64,
    fails_at: Option<u64>,
}

impl State {
    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        match self.fails_at {
            Some(at) if self.calls >= at => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

impl Medium {
    /// The next call and all after it fail.
    pub(crate) fn fail(&self) {
        self.0.lock().unwrap().fails_at = Some(0);
    }

    /// One call in the future, and all after it fail.
    pub(crate) fn fail_after(&self, calls: u64) {
        let mut state = self.0.lock().unwrap();
        state.fails_at = Some(state.calls + calls);
    }

    /// The records that survive a loss of power now, as JSON with their bodies.
    pub(crate) fn durable(&self) -> Vec<(String, Value)> {
        let state = self.0.lock().unwrap();
        let synced = &state.bytes[..state.synced];
        records(synced).map(|one| (one.kind.to_owned(), one.parse().unwrap())).collect()
    }
}

impl Disk for Medium {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.call()?;
        state.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.call()?;
        state.synced = state.bytes.len();
        Ok(())
    }
}

pub(crate) fn broker() -> (Broker, Medium) {
    let medium = Medium::default();
    let ledger = Ledger::over(Box::new(medium.clone()), &run(), system_clock).unwrap();
    ledger.sync().unwrap();
    (Broker::new(Arc::new(authority()), ledger), medium)
}

/// What is allowed to whom in these tests: much, unless a test says otherwise.
pub(crate) const LIMITS: AskLimits =
    AskLimits { timeout: Span::from_secs(3600), max_waiting: 200, max_per_minute: 10_000 };

/// A broker with somebody to ask.
pub(crate) struct Asking {
    pub(crate) broker: Broker,
    pub(crate) approvals: Approvals,
    pub(crate) medium: Medium,
}

pub(crate) fn asking(limits: AskLimits, clock: Clock) -> Asking {
    let medium = Medium::default();
    let ledger = Ledger::over(Box::new(medium.clone()), &run(), system_clock).unwrap();
    let approvals = Approvals::new(run(), limits, ledger.clone(), clock);
    let mut authority = authority();
    authority.approvals = limits;
    let broker = Broker::new(Arc::new(authority), ledger).with_approvals(approvals.clone());
    Asking { broker, approvals, medium }
}

impl Asking {
    /// Waits until so many wait for an answer.
    pub(crate) fn waiting(&self, number: usize) -> Vec<Arc<Ask>> {
        let mut revision = 0;
        loop {
            let pending = self.approvals.pending();
            if pending.len() >= number {
                return pending;
            }
            let now = self.approvals.wait(revision, Duration::from_secs(60));
            assert_ne!(now, revision, "{} of {number} wait", pending.len());
            revision = now;
        }
    }

    /// The last record of a kind.
    pub(crate) fn last(&self, kind: &str) -> Value {
        let mut records = self.medium.durable();
        records.reverse();
        let found = records.into_iter().find(|(other, _)| other == kind);
        found.unwrap_or_else(|| panic!("no {kind}")).1
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.medium.durable().iter().filter(|(other, _)| other == kind).count()
    }
}

pub(crate) fn ann() -> Answerer {
    Answerer { user: "ann".to_owned(), via: Via::Command }
}

pub(crate) fn publish() -> Exec {
    exec("/usr/bin/cargo", &["publish"])
}

pub(crate) fn exec(program: &str, args: &[&str]) -> Exec {
    Exec::new(program, args.iter().map(|arg| (*arg).to_owned()).collect(), "/home/ann/site")
}

pub(crate) fn apply() -> Apply {
    Apply { run: run(), change_set: Digest::of(b"changes"), paths: 3, flagged: vec![] }
}

pub(crate) fn discard() -> Discard {
    Discard { run: run() }
}

pub(crate) fn undo() -> Undo {
    Undo { run: run() }
}
