//! Throughput of canonical JSON on lines as a ledger has them.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use names::{Digest, canonical};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn line() -> Value {
    json!({
        "seq": 1234,
        "prev": Digest::of(b"before"),
        "hash": Digest::of(b"after"),
        "time": "2026-11-29T22:04:13.123Z",
        "kind": "exec.intent",
        "body": {
            "action": "exec",
            "program": "/usr/bin/cargo",
            "args": ["test", "--workspace", "--", "the \"quoted\" case"],
            "cwd": "/home/user/src/project",
            "environment": { "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin" },
            "rules": ["default-exec"],
        },
    })
}

/// Enough lines that the timer does not count.
const LINES: usize = 1000;

#[divan::bench]
fn check(bencher: Bencher) {
    let text = canonical::to_vec(&line()).unwrap_or_default();
    bencher
        .counter(BytesCount::new(text.len() * LINES))
        .bench(|| (0..LINES).filter(|_| canonical::check(black_box(&text)).is_ok()).count());
}

#[divan::bench]
fn to_vec(bencher: Bencher) {
    let line = line();
    let text = canonical::to_vec(&line).unwrap_or_default();
    bencher
        .counter(BytesCount::new(text.len() * LINES))
        .bench(|| (0..LINES).filter(|_| canonical::to_vec(black_box(&line)).is_ok()).count());
}
