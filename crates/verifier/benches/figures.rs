//! What verifying a receipt costs whose ledger has 10,000 records: a line with the median, in
//! milliseconds, files read. `--smoke` takes a fraction of the time and proves only that the
//! benchmark runs; `--write DIRECTORY` leaves the files there, for others to measure with.
//! `cargo bench -p verifier`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports to a person")]

use std::path::Path;
use std::time::Instant;

use ledger::{
    Allow, Base, Budget, Head, Ledger, Outcome, Predicate, Requirements, SigningKey, Statement,
    kind,
};
use names::{Digest, RunId, system_clock};
use serde_json::{Value, json};

/// Records of the ledger.
const RECORDS: u64 = 10_000;
const CHANGES: &[u8] = br#"{"entries":[],"schema":1}"#;

fn main() {
    let mut words = std::env::args();
    let smoke = words.any(|word| word == "--smoke");
    let place = std::env::args().skip_while(|word| word != "--write").nth(1);
    if let Some(place) = place {
        return write(Path::new(&place));
    }
    let place = tempfile::tempdir_in(".").unwrap();
    write(place.path());
    let rounds = if smoke { 2 } else { 101 };
    let mut times: Vec<f64> = (0..rounds).map(|_| verify(place.path())).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).unwrap();
    let size = std::fs::metadata(place.path().join("ledger.jsonl")).unwrap().len() >> 10;
    println!("receipt-verify {median:.2} {RECORDS} records, {size} KiB, median of {rounds}");
}

/// Milliseconds for one receipt, with everything that lies beside it.
fn verify(place: &Path) -> f64 {
    let start = Instant::now();
    let read = |name: &str| verifier::read(&place.join(name), "file").unwrap();
    let (ledger, changes, heads) =
        (read("ledger.jsonl"), read("changes.json"), read("heads.jsonl"));
    let requirements = Requirements {
        keys: vec![verifier::read_key(&place.join("key.pub")).unwrap().into()],
        ledger: Some(&ledger),
        change_set: Some(&changes),
        heads: Some(&heads),
        allow: [Allow::Unverified].into(),
        now: Some(system_clock()),
        ..Requirements::default()
    };
    let receipt = verifier::ReceiptFile::read(&place.join("receipt.json")).unwrap();
    let report = receipt.judge(&requirements);
    assert!(report.accepted, "{}", report.to_text());
    start.elapsed().as_secs_f64() * 1e3
}

/// A run that made as many connections as it takes, and its evidence.
fn write(place: &Path) {
    let key = SigningKey::generate([7; 32]);
    std::fs::write(place.join("key.pub"), key.verifying().to_text()).unwrap();
    std::fs::write(place.join("changes.json"), CHANGES).unwrap();
    let head = ledger(place, &key);
    let (digest, result) = (Digest::of(CHANGES), Digest::of_parts("loop-result-v1", &[]));
    let envelope = ledger::seal(&Statement::new(digest, result, predicate(head)), &key).unwrap();
    std::fs::write(place.join("receipt.json"), envelope.to_bytes()).unwrap();
}

fn run() -> RunId {
    RunId::parse("261129-k7m2qd").unwrap()
}

fn authority() -> Digest {
    Digest::of(b"authority")
}

fn enforcement() -> Value {
    json!({"backend": "local", "kernel": "6.12.0", "landlock": 6, "seccomp": true})
}

fn ledger(place: &Path, key: &SigningKey) -> Head {
    let ledger = Ledger::create(&place.join("ledger.jsonl"), &run(), system_clock).unwrap();
    ledger.sign_heads(&place.join("heads.jsonl"), key.clone()).unwrap();
    let append = |kind: &str, body: &Value| ledger.journal(kind, body).unwrap().seq;
    append(kind::RUN_START, &json!({"authority": authority(), "project": "/w", "subject": "ann"}));
    append(kind::ENFORCEMENT, &enforcement());
    let action = json!({"action": "connect", "host": "static.crates.io", "port": 443});
    for line in 0..(RECORDS - 6) / 2 {
        let intent = json!({
            "action": action, "action_digest": Digest::of(b"connect"), "authority": authority(),
            "decided_by": [{"rule": "registry", "origin": {"line": line, "source": "develop"}}],
            "outcome": "allow", "reason": "the profile allows this host",
        });
        let intent = append("connect.intent", &intent);
        let result = json!({"address": "151.101.2.137:443", "received": 51_233, "sent": 812});
        append("connect.result", &json!({"intent": intent, "result": result}));
    }
    append("note", &json!({}));
    let result = Digest::of_parts("loop-result-v1", &[]);
    append(kind::CHANGES, &json!({"digest": Digest::of(CHANGES), "result": result}));
    append(kind::RUN_END, &json!({"outcome": "unverified"}));
    let head = ledger.finish().unwrap();
    assert_eq!(head.count, RECORDS);
    head
}

fn predicate(ledger: Head) -> Predicate {
    Predicate {
        run: run(),
        subject: "ann".into(),
        project: "/w".into(),
        started: system_clock(),
        ended: system_clock(),
        profile: "develop".into(),
        authority: authority(),
        base: Base::default(),
        enforcement: enforcement(),
        leases: Vec::new(),
        approvals: Vec::new(),
        egress: Vec::new(),
        denials: [].into(),
        learned: None,
        budget: Budget::default(),
        checks: Vec::new(),
        verification: None,
        follows: None,
        models: Vec::new(),
        ledger,
        omissions: Vec::new(),
        exit: Some(0),
        outcome: Outcome::Unverified,
    }
}
