//! A receipt as a run leaves it.

use std::path::{Path, PathBuf};

use ledger::{Base, Budget, Head, Ledger, Outcome, Predicate, SigningKey, Statement, kind, seal};
use names::{Digest, Timestamp};
use serde_json::json;

use crate::fake::{self, HOSTILE, run_id};

/// A ledger, a change set and a receipt as a run leaves them.
pub(crate) fn write(dir: &Path, key: &SigningKey) -> PathBuf {
    let clock = || fake::at("2026-11-29T22:00:00.000Z");
    let changes = br#"{"entries":[],"schema":1}"#;
    let result = Digest::of_parts("loop-result-v1", &[]);
    let (authority, enforcement) = (Digest::of(b"authority"), json!({"backend": "local"}));
    std::fs::write(dir.join("changes.json"), changes).unwrap();
    let ledger = Ledger::create(&dir.join("ledger.jsonl"), &run_id(), clock).unwrap();
    let start = json!({"authority": authority, "subject": "ada", "project": "/h/project"});
    ledger.commit(kind::RUN_START, &start).unwrap();
    ledger.commit(kind::ENFORCEMENT, &enforcement).unwrap();
    let subjects = json!({"digest": Digest::of(changes), "result": result});
    ledger.commit(kind::CHANGES, &subjects).unwrap();
    ledger.commit(kind::RUN_END, &json!({"outcome": "unverified"})).unwrap();
    let head = ledger.finish().unwrap();
    let statement =
        Statement::new(Digest::of(changes), result, predicate(authority, head, clock()));
    let receipt = dir.join("receipt.json");
    let envelope = seal(&statement, key).unwrap();
    std::fs::write(&receipt, names::canonical::to_vec(&envelope).unwrap()).unwrap();
    receipt
}

fn predicate(authority: Digest, ledger: Head, at: Timestamp) -> Predicate {
    Predicate {
        run: run_id(),
        subject: "ada".into(),
        project: HOSTILE.into(),
        started: at,
        ended: at,
        profile: "offline".into(),
        authority,
        base: Base { commit: Some("0123abcd".into()), dirty: Some(true) },
        enforcement: json!({"backend": "local"}),
        leases: Vec::new(),
        approvals: Vec::new(),
        egress: Vec::new(),
        learned: None,
        denials: [].into(),
        budget: Budget { wall_ms: 1500, ..Budget::default() },
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
