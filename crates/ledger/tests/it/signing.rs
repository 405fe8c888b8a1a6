//! Heads that are signed while a ledger grows.

use std::io;
use std::sync::{Arc, Mutex};

use ledger::{
    Disk, Head, Ledger, LedgerReport, LedgerRequirements, SigningKey, kind, signed_heads,
};
use names::{RunId, Timestamp, system_clock};
use serde_json::json;

use crate::forge::RUN;

fn run() -> RunId {
    RunId::parse(RUN).unwrap()
}

fn key() -> SigningKey {
    SigningKey::generate([7; 32])
}

fn heads(place: &std::path::Path) -> Vec<Head> {
    let bytes = std::fs::read(place.join("heads.jsonl")).unwrap();
    let heads = signed_heads(&bytes).unwrap();
    let (key, run) = (key().verifying(), run());
    assert!(heads.iter().all(|head| head.is_signed_by(&key) && *head.run() == run));
    heads.iter().map(ledger::SignedHead::head).collect()
}

#[test]
fn heads_are_signed_after_what_matters_after_many_records_and_at_the_end() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ledger.jsonl");
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    ledger.sign_heads(&place.path().join("heads.jsonl"), key()).unwrap();
    ledger.commit(kind::RUN_START, &json!({})).unwrap();
    for n in 0..2500 {
        ledger.journal("noise", &json!(n)).unwrap();
    }
    ledger.sync().unwrap();
    ledger.commit(kind::ANSWERED, &json!({})).unwrap();
    ledger.commit("noise", &json!(0)).unwrap();
    let last = ledger.head();
    ledger.finish().unwrap();
    let signed = heads(place.path());
    let counts: Vec<u64> = signed.iter().map(|head| head.count).collect();
    assert!(counts.is_sorted() && counts.len() >= 2, "{counts:?}");
    assert_eq!(signed.last(), Some(&last));

    let bytes = std::fs::read(&path).unwrap();
    let file = std::fs::read(place.path().join("heads.jsonl")).unwrap();
    let judge = |bytes: &[u8]| {
        let requirements = LedgerRequirements {
            keys: vec![key().verifying().into()],
            heads: Some(&file),
            ..LedgerRequirements::default()
        };
        LedgerReport::on(bytes, &requirements)
    };
    assert!(judge(&bytes).accepted());
    let shorter: Vec<u8> =
        bytes.split_inclusive(|byte| *byte == b'\n').take(2000).flatten().copied().collect();
    assert!(!judge(&shorter).accepted());
}

/// The next process goes on in the same file, and cuts half a line off its end.
#[test]
fn a_later_process_signs_on() {
    let place = tempfile::tempdir().unwrap();
    let (path, file) = (place.path().join("ledger.jsonl"), place.path().join("heads.jsonl"));
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    ledger.sign_heads(&file, key()).unwrap();
    ledger.commit(kind::RUN_START, &json!({})).unwrap();
    ledger.finish().unwrap();
    let before = heads(place.path());
    assert_eq!(before.last().map(|head| head.count), Some(2));
    let mut torn = std::fs::read(&file).unwrap();
    torn.extend_from_slice(b"{\"count\":");
    std::fs::write(&file, torn).unwrap();
    for apply in [false, true] {
        let ledger = Ledger::reopen(&path, &run(), system_clock).unwrap();
        ledger.sign_heads(&file, key()).unwrap();
        if apply {
            ledger.commit("apply.result", &json!({})).unwrap();
        }
    }
    let after = heads(place.path());
    assert_eq!(after.last().map(|head| head.count), Some(3));
    assert_eq!(after.len(), before.len() + 1, "who only looks signs nothing");
}

/// A disk that keeps what was synced, and fails when it is told to.
#[derive(Clone, Default)]
struct Failing(Arc<Mutex<(u64, bool)>>);

impl Disk for Failing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().0 += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.0.lock().unwrap().1 { Err(io::Error::other("no power")) } else { Ok(()) }
    }
}

#[test]
fn what_is_not_on_disk_is_not_signed() {
    let place = tempfile::tempdir().unwrap();
    let disk = Failing::default();
    let clock = || Timestamp::from_millis(0);
    let ledger = Ledger::over(Box::new(disk.clone()), &run(), clock).unwrap();
    ledger.sign_heads(&place.path().join("heads.jsonl"), key()).unwrap();
    ledger.commit(kind::RUN_START, &json!({})).unwrap();
    disk.0.lock().unwrap().1 = true;
    ledger.commit(kind::ANSWERED, &json!({})).unwrap_err();
    drop(ledger);
    // Whether the first was signed in time is up to the scheduler; nothing later ever is.
    let file = std::fs::read(place.path().join("heads.jsonl")).unwrap_or_default();
    assert!(signed_heads(&file).unwrap().iter().all(|head| head.head().count == 2));
}

#[test]
fn a_file_that_can_t_be_written_is_told_and_stops_nothing() {
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(&place.path().join("ledger"), &run(), system_clock).unwrap();
    ledger.sign_heads(&place.path().join("none/heads.jsonl"), key()).unwrap();
    ledger.commit(kind::RUN_START, &json!({})).unwrap();
    for _ in 0..100 {
        ledger.commit(kind::ANSWERED, &json!({})).unwrap();
    }
    let other = ledger.clone();
    ledger.finish().unwrap();
    assert!(other.signing_fault().is_some());
}
