//! Appending, finishing, reopening.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use ledger::{Broken, Disk, Expect, Head, Ledger, LedgerError, Length, records, verify_ledger};
use names::{RunId, Timestamp, system_clock};
use serde_json::json;

use crate::cases::story;
use crate::forge::{OTHER_RUN, RUN, lines};

pub(crate) fn run() -> RunId {
    RunId::parse(RUN).unwrap()
}

pub(crate) fn verify(path: &Path, head: Option<Head>) -> ledger::LedgerVerdict {
    verify_ledger(&std::fs::read(path).unwrap(), Expect { run: Some(run()), head, heads: vec![] })
}

/// A directory and the path of a ledger in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    (directory, path)
}

/// A medium in memory that others can look at.
#[derive(Clone, Default)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<(Vec<u8>, u64)>>);

impl Disk for Memory {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().0.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap().1 += 1;
        Ok(())
    }
}

#[test]
fn every_strength_is_in_the_file_in_order() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    let journaled = ledger.journal("exec.intent", &json!({"n": 1})).unwrap();
    let begun = ledger.begin("apply.intent", &json!({"n": 2})).unwrap().wait().unwrap();
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

/// Tells the times of [`story`]: a second more each time.
fn story_clock() -> Timestamp {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let first = Timestamp::parse("2026-11-29T22:04:00.123Z").unwrap();
    Timestamp::from_millis(first.as_millis() + NEXT.fetch_add(1000, Ordering::Relaxed))
}

#[test]
fn the_writer_of_the_vectors_writes_the_same_bytes() {
    let memory = Memory::default();
    let ledger = Ledger::over(Box::new(memory.clone()), &run(), story_clock).unwrap();
    for entry in &story()[1..] {
        ledger.commit(entry.kind, &entry.body).unwrap();
    }
    ledger.finish().unwrap();
    assert_eq!(memory.0.lock().unwrap().0, lines(&story()).concat());
}

#[test]
fn one_sync_serves_many() {
    let memory = Memory::default();
    let ledger = Ledger::over(Box::new(memory.clone()), &run(), system_clock).unwrap();
    let pending: Vec<_> = (0..5000).map(|n| ledger.begin("x", &json!({"n": n})).unwrap()).collect();
    for one in pending {
        one.wait().unwrap();
    }
    let count = ledger.finish().unwrap().count;
    let syncs = memory.0.lock().unwrap().1;
    assert_eq!(count, 5001);
    assert!(syncs < count, "{syncs} syncs for {count} records");
}

#[test]
fn acknowledged_means_synced() {
    /// Counts what was there at the last sync.
    struct Counting(Memory, Arc<Mutex<usize>>);
    impl Disk for Counting {
        fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
            self.0.append(bytes)
        }
        fn sync(&mut self) -> std::io::Result<()> {
            *self.1.lock().unwrap() = records(&self.0.0.lock().unwrap().0).count();
            Ok(())
        }
    }
    let synced = Arc::new(Mutex::new(0));
    let disk = Counting(Memory::default(), Arc::clone(&synced));
    let ledger = Ledger::over(Box::new(disk), &run(), system_clock).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 0..50 {
                    ledger.journal("inside", &json!({"n": n})).unwrap();
                    let record = ledger.commit("outside", &json!({"n": n})).unwrap();
                    assert!(*synced.lock().unwrap() as u64 > record.seq);
                }
            });
        }
    });
    let head = ledger.sync().unwrap();
    assert_eq!(head.count, 1 + 8 * 100);
    assert_eq!(*synced.lock().unwrap() as u64, head.count);
}

#[test]
fn sixty_four_writers_make_one_chain() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..64 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                let mut last = 0;
                for n in 0..20 {
                    let body = json!({"n": n, "writer": writer});
                    let record = ledger.commit("note", &body).unwrap();
                    assert!(record.seq > last);
                    last = record.seq;
                }
            });
        }
    });
    let head = ledger.finish().unwrap();
    assert_eq!(head.count, 1 + 64 * 20);
    assert_eq!(verify(&path, Some(head)).broken, None);
}

#[test]
fn reopening_continues_the_chain() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    ledger.commit("note", &json!({"n": 1})).unwrap();
    let before = ledger.finish().unwrap();
    let ledger = Ledger::reopen(&path, &run(), system_clock).unwrap();
    assert_eq!((ledger.head(), ledger.cut()), (before, None));
    ledger.commit("note", &json!({"n": 2})).unwrap();
    let after = ledger.finish().unwrap();
    assert_eq!(verify(&path, Some(before)).length, Length::Known { after: 1 });
    assert_eq!(verify(&path, Some(after)).broken, None);
}

#[test]
fn a_dropped_ledger_is_synced_and_released() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    let clone = ledger.clone();
    ledger.journal("note", &json!({})).unwrap();
    drop(ledger);
    clone.journal("note", &json!({})).unwrap();
    drop(clone);
    assert_eq!(verify(&path, None).head.count, 3);
    Ledger::reopen(&path, &run(), system_clock).unwrap();
}

#[test]
fn a_finished_ledger_takes_no_more() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    let clone = ledger.clone();
    ledger.finish().unwrap();
    assert!(matches!(clone.commit("note", &json!({})), Err(LedgerError::Finished)));
    assert!(matches!(clone.journal("note", &json!({})), Err(LedgerError::Finished)));
    assert_eq!(clone.finish().unwrap().count, 1);
}

#[test]
fn a_second_process_is_kept_out() {
    let (_directory, path) = place();
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    let again = Ledger::reopen(&path, &run(), system_clock);
    assert!(matches!(again, Err(LedgerError::Busy(_))));
    let again = Ledger::create(&path, &run(), system_clock);
    assert!(matches!(again, Err(LedgerError::File { what: "created", .. })));
    drop(ledger);
    Ledger::reopen(&path, &run(), system_clock).unwrap();
}

#[test]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = place();
    let _ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_files_are_not_continued() {
    let (directory, path) = place();
    drop(Ledger::create(&path, &run(), system_clock).unwrap());
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let reopen = |path: &Path| Ledger::reopen(path, &run(), system_clock).map(drop).unwrap_err();
    assert!(matches!(reopen(&link), LedgerError::File { what: "opened", .. }));
    assert!(matches!(reopen(directory.path()), LedgerError::File { what: "opened", .. }));
    assert!(matches!(reopen(&directory.path().join("none")), LedgerError::File { .. }));
    let other = RunId::parse(OTHER_RUN).unwrap();
    let foreign = Ledger::reopen(&path, &other, system_clock).map(drop).unwrap_err();
    assert!(matches!(foreign, LedgerError::Broken(Broken::ForeignRun { .. })));
}

#[test]
fn bad_records_are_refused_and_leave_no_trace() {
    let memory = Memory::default();
    let ledger = Ledger::over(Box::new(memory.clone()), &run(), system_clock).unwrap();
    for kind in ["", "Run", "a b", "1a", "a\"", "ä", ".a", "genesis", &"a".repeat(65)] {
        assert!(matches!(ledger.commit(kind, &json!({})), Err(LedgerError::Kind(_))), "{kind}");
    }
    let large = "x".repeat(ledger::MAX_BODY);
    assert!(matches!(ledger.commit("note", &large), Err(LedgerError::TooLarge { .. })));
    assert!(matches!(ledger.commit("note", &f64::NAN), Err(LedgerError::Body(_))));
    ledger.commit("note", &json!({})).unwrap();
    assert_eq!(ledger.finish().unwrap().count, 2);
}

#[test]
fn a_clock_that_is_set_back_is_noted() {
    fn clock() -> Timestamp {
        static NEXT: AtomicI64 = AtomicI64::new(1_800_000_000_000);
        Timestamp::from_millis(NEXT.fetch_sub(86_400_000, Ordering::Relaxed))
    }
    let memory = Memory::default();
    let ledger = Ledger::over(Box::new(memory.clone()), &run(), clock).unwrap();
    ledger.commit("note", &json!({})).unwrap();
    ledger.finish().unwrap();
    let verdict = verify_ledger(&memory.0.lock().unwrap().0, Expect::default());
    assert_eq!(verdict.broken, None);
    assert_eq!(verdict.notes, [ledger::Note::ClockSetBack { record: 1 }]);
}
