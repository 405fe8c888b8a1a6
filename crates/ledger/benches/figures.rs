//! The ledger's two figures, a line each: durable records a second under 64 writers, and megabytes
//! a second that one core verifies. `--smoke` takes a fraction of the time and proves only that
//! the benchmark runs. `cargo bench -p ledger`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports to a person")]

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ledger::{Disk, Expect, Ledger, verify_ledger};
use names::{RunId, system_clock};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const WRITERS: u32 = 64;

fn main() {
    let smoke = std::env::args().any(|word| word == "--smoke");
    let time = if smoke { Duration::from_millis(100) } else { Duration::from_secs(3) };
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().join("ledger");
    let (alone, _) = append(&path, 1, time / 3);
    let (rate, batch) = append(&path, WRITERS, time);
    println!("ledger-append {rate:.0} {WRITERS} writers, {batch:.0} a sync; one: {alone:.0}");
    let bytes = sample(if smoke { 1 << 20 } else { 256 << 20 });
    let rate = verify(&bytes);
    let size = bytes.len() >> 20;
    println!("ledger-verify {rate:.0} {size} MiB in memory, hashes and canonical form");
}

fn run() -> RunId {
    RunId::parse("261129-k7m2qd").unwrap()
}

fn body(n: u64) -> Value {
    json!({
        "action": {"action": "connect", "host": "static.crates.io", "port": 443},
        "authority": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "outcome": "allow",
        "decided_by": [{"id": "registry", "line": n, "source": "develop"}],
    })
}

/// A file that counts its syncs.
struct Counting(File, Arc<AtomicU64>);

impl Disk for Counting {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.sync_data()
    }
}

/// Durable records a second, and how many of them a sync served.
fn append(path: &std::path::Path, writers: u32, time: Duration) -> (f64, f64) {
    let syncs = Arc::new(AtomicU64::new(0));
    let disk = Counting(File::create(path).unwrap(), Arc::clone(&syncs));
    let ledger = Ledger::over(Box::new(disk), &run(), system_clock).unwrap();
    let start = Instant::now();
    let writer = || {
        let mut count = 0u64;
        while start.elapsed() < time {
            ledger.commit("connect.intent", &body(count)).unwrap();
            count += 1;
        }
        count
    };
    let count: u64 = thread::scope(|scope| {
        let writers: Vec<_> = (0..writers).map(|_| scope.spawn(writer)).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let rate = count as f64 / start.elapsed().as_secs_f64();
    ledger.finish().unwrap();
    std::fs::remove_file(path).unwrap();
    (rate, count as f64 / syncs.load(Ordering::Relaxed) as f64)
}

fn sample(size: usize) -> Vec<u8> {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().join("ledger");
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    for n in 0..(size / 500) as u64 {
        ledger.journal("connect.intent", &body(n)).unwrap();
    }
    ledger.finish().unwrap();
    std::fs::read(&path).unwrap()
}

/// Megabytes a second of one core: its time, so that what else runs does not count.
fn verify(bytes: &[u8]) -> f64 {
    let start = core_time();
    assert!(verify_ledger(bytes, Expect::default()).holds());
    bytes.len() as f64 / 1e6 / (core_time() - start).as_secs_f64()
}

fn core_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}
