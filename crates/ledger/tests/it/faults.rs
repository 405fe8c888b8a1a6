//! Disks that fail, and tails that a crash tore.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use ledger::{Broken, Disk, Ledger, LedgerError, Operation, records};
use names::{Digest, system_clock};
use serde_json::{Value, json};

use crate::append::{Memory, place, run, verify};
use crate::cases::story;
use crate::forge::lines;

/// Fails at one call and counts those that come after.
struct Failing {
    memory: Memory,
    calls: Arc<Mutex<u64>>,
    at: u64,
    operation: Operation,
}

impl Failing {
    fn call(&self, operation: Operation) -> io::Result<()> {
        if operation != self.operation {
            return Ok(());
        }
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        if *calls >= self.at { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for Failing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.call(Operation::Write)?;
        self.memory.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.call(Operation::Sync)
    }
}

fn poisoned<T: std::fmt::Debug>(result: Result<T, LedgerError>) -> Operation {
    match result {
        Err(LedgerError::Poisoned(fault)) => {
            assert_eq!(fault.source.kind(), io::ErrorKind::StorageFull);
            fault.operation
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn after_one_failure_nothing_is_acknowledged() {
    for operation in [Operation::Write, Operation::Sync] {
        let calls = Arc::new(Mutex::new(0));
        let memory = Memory::default();
        let disk = Failing { memory, calls: Arc::clone(&calls), at: 3, operation };
        let ledger = Ledger::over(Box::new(disk), &run(), system_clock).unwrap();
        ledger.sync().unwrap();
        ledger.commit("note", &json!({})).unwrap();
        let pending = ledger.begin("note", &json!({})).unwrap();
        assert_eq!(poisoned(pending.wait()), operation);
        for _ in 0..3 {
            assert_eq!(poisoned(ledger.commit("note", &json!({}))), operation);
            assert_eq!(poisoned(ledger.journal("note", &json!({}))), operation);
            assert_eq!(poisoned(ledger.sync()), operation);
        }
        assert_eq!(*calls.lock().unwrap(), 3, "the disk was used after it failed");
        assert_eq!(poisoned(ledger.finish()), operation);
    }
}

#[test]
fn a_failure_reaches_everyone_who_waits() {
    let disk = Failing {
        memory: Memory::default(),
        calls: Arc::default(),
        at: 40,
        operation: Operation::Sync,
    };
    let ledger = Ledger::over(Box::new(disk), &run(), system_clock).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| while ledger.commit("note", &json!({})).is_ok() {});
        }
    });
    poisoned(ledger.finish());
}

#[test]
fn nobody_waits_for_a_writer_that_is_gone() {
    struct Panicking(u64);
    impl Disk for Panicking {
        fn append(&mut self, _: &[u8]) -> io::Result<()> {
            self.0 += 1;
            assert!(self.0 < 2, "this disk panics");
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ledger = Ledger::over(Box::new(Panicking(0)), &run(), system_clock).unwrap();
    ledger.sync().unwrap();
    let fault = ledger.commit("note", &json!({}));
    assert!(matches!(fault, Err(LedgerError::Poisoned(_))), "{fault:?}");
}

#[test]
fn nothing_is_acknowledged_on_a_full_disk() {
    struct Full(File);
    impl Disk for Full {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.write_all(bytes)
        }
        fn sync(&mut self) -> io::Result<()> {
            self.0.sync_data()
        }
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ledger = Ledger::over(Box::new(Full(full)), &run(), system_clock).unwrap();
    assert_eq!(poisoned(ledger.sync()), Operation::Write);
}

const FILL: &str = "LEDGER_TEST_FILL";

/// The child writes until its limit on file size (RLIMIT_FSIZE) stops it.
#[test]
fn a_file_that_can_not_grow_keeps_what_was_acknowledged() {
    if let Some(path) = std::env::var_os(FILL) {
        return fill(&PathBuf::from(path));
    }
    let (_directory, path) = place();
    let output = limited(&path);
    let said = output.split("acknowledged ").nth(1).and_then(|rest| rest.lines().next());
    let acknowledged: usize = said.unwrap().parse().unwrap();
    assert!(acknowledged > 10, "{output}");

    let torn = verify(&path, None);
    assert!(matches!(torn.broken, None | Some(Broken::Torn { .. })), "{torn:?}");
    let ledger = Ledger::reopen(&path, &run(), system_clock).unwrap();
    assert!(ledger.head().count as usize >= acknowledged);
    ledger.commit("note", &json!({})).unwrap();
    ledger.finish().unwrap();
    assert_eq!(verify(&path, None).broken, None);
}

fn fill(path: &Path) {
    let ledger = Ledger::create(path, &run(), system_clock).unwrap();
    let mut acknowledged = 1;
    let fault = loop {
        match ledger.commit("note", &json!({"padding": "x".repeat(777)})) {
            Ok(record) => acknowledged = record.seq + 1,
            Err(fault) => break fault,
        }
    };
    assert!(matches!(fault, LedgerError::Poisoned(_)), "{fault}");
    assert!(ledger.commit("note", &json!({})).is_err(), "a shorter record got in after the fault");
    let text = format!("acknowledged {acknowledged}\n");
    io::stdout().write_all(text.as_bytes()).unwrap();
}

/// A signal that is ignored stays ignored across exec (execve(2)), so the write fails instead.
#[expect(clippy::disallowed_methods, reason = "limits are those of a process")]
fn limited(path: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["faults::a_file_that_can_not_grow_keeps_what_was_acknowledged", "--exact"])
        .arg("--nocapture")
        .env(FILL, path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn reopened(bytes: &[u8]) -> Result<(Ledger, Vec<u8>), LedgerError> {
    let (_directory, path) = place();
    std::fs::write(&path, bytes).unwrap();
    let ledger = Ledger::reopen(&path, &run(), system_clock)?;
    let bytes = std::fs::read(&path).unwrap();
    Ok((ledger, bytes))
}

#[test]
fn a_torn_tail_is_cut_and_recorded() {
    let good = lines(&story());
    let (whole, last) = (good[..9].concat(), &good[9]);
    for torn in 1..last.len() {
        let tail = &last[..torn];
        let (ledger, bytes) = reopened(&[whole.as_slice(), tail].concat()).unwrap();
        let cut = ledger.cut().unwrap();
        assert_eq!((cut.bytes, cut.digest), (torn as u64, Digest::of(tail)));
        assert!(bytes.starts_with(&whole));
        let record = records(&bytes).last().unwrap();
        assert_eq!((record.seq, record.kind), (9, "recovered"));
        let body: Value = record.parse().unwrap();
        assert_eq!(body, json!({"ledger_cut": {"bytes": torn, "digest": Digest::of(tail)}}));
    }
}

/// Two lines of one batch, of which the block with the first never reached the disk.
#[test]
fn a_hole_in_what_was_never_synced_is_cut() {
    let good = lines(&story());
    let hole = vec![0; 300];
    let tail = [&hole[..], &good[9][300..], &good[10]].concat();
    let (ledger, _) = reopened(&[good[..9].concat(), tail.clone()].concat()).unwrap();
    assert_eq!(ledger.cut().unwrap().bytes, tail.len() as u64);
}

#[test]
fn damage_that_no_crash_leaves_is_not_cut() {
    let good = lines(&story());
    let refused = |bytes: Vec<u8>| match reopened(&bytes) {
        Err(LedgerError::Broken(broken)) => broken,
        other => panic!("{other:?}"),
    };
    let mut edited = good.concat();
    let at = good[..4].concat().len() + 20;
    edited[at] ^= 1;
    assert_eq!(refused(edited).record(), 4);
    assert_eq!(refused(good[0][..50].to_vec()), Broken::Torn { record: 0, bytes: 50 });
    assert_eq!(refused(Vec::new()), Broken::Empty);
    // A hole so far from the end that everything around it was synced.
    let mut entries = story();
    let filler = entries[4].clone();
    entries.extend(std::iter::repeat_n(filler, 16_000));
    let mut holed = lines(&entries).concat();
    holed[at..at + 40].fill(0);
    assert!(matches!(refused(holed), Broken::NotCanonical { record: 4, .. }));
}
