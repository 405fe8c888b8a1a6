//! Appending, finishing, reopening.

use std::path::Path;

use ledger::{Expect, Head, Ledger, Length, records, verify_ledger};
use names::{RunId, system_clock};
use serde_json::json;

pub(crate) fn run() -> RunId {
    RunId::parse("261129-k7m2qd").unwrap()
}

fn expect(head: Option<Head>) -> Expect {
    Expect { run: Some(run()), head }
}

fn verify(path: &Path, head: Option<Head>) -> ledger::LedgerVerdict {
    verify_ledger(&std::fs::read(path).unwrap(), expect(head))
}

#[test]
fn every_strength_is_in_the_file_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    let journaled = ledger.journal("exec.intent", &json!({"n": 1})).unwrap();
    let pending = ledger.begin("apply.intent", &json!({"n": 2})).unwrap();
    let begun = pending.wait().unwrap();
    let committed = ledger.commit("apply.result", &json!({"n": 3})).unwrap();
    assert_eq!((journaled.seq, begun.seq, committed.seq), (1, 2, 3));
    let head = ledger.finish().unwrap();
    assert_eq!(head, Head { count: 4, hash: committed.hash });

    let bytes = std::fs::read(&path).unwrap();
    let kinds: Vec<_> = records(&bytes).map(|record| record.kind).collect();
    assert_eq!(kinds, ["genesis", "exec.intent", "apply.intent", "apply.result"]);
    let verdict = verify(&path, Some(head));
    assert_eq!(verdict.broken, None);
    assert_eq!(verdict.length, Length::Known { after: 0 });
}
