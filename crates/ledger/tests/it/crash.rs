//! A writer that is killed at any moment: what it acknowledged is there (J4).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ledger::{Ledger, records};
use names::system_clock;
use serde_json::json;

use crate::append::{place, run, verify};

const WRITE_TO: &str = "LEDGER_TEST_WRITE_TO";

/// This test is also the writer: in the child the variable names the file.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(path) = std::env::var_os(WRITE_TO) {
        return write(&PathBuf::from(path));
    }
    let (_directory, path) = place();
    drop(Ledger::create(&path, &run(), system_clock).unwrap());
    let mut acknowledged = 0;
    for round in 0..24 {
        acknowledged += kill_after(&path, Duration::from_micros(300 + 3700 * round));
    }
    assert!(acknowledged > 0, "no round came as far as a record");
}

/// Lets four threads commit, and says on standard output what was acknowledged.
fn write(path: &Path) {
    let ledger = Ledger::reopen(path, &run(), system_clock).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    ledger.journal("inside", &json!({"padding": "x".repeat(300)})).unwrap();
                    let record = ledger.commit("outside", &json!({})).unwrap();
                    let line = format!("acknowledged {} {}\n", record.seq, record.hash);
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

/// Kills a writer some time after its first acknowledgement; every record that it acknowledged
/// must be in the file. Returns their number.
fn kill_after(path: &Path, time: Duration) -> usize {
    let mut child = start(path);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("acknowledged") {
        assert_ne!(output.read_line(&mut text).unwrap(), 0, "the writer ended: {text}");
    }
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
    output.lines().for_each(|line| text += &(line.unwrap() + "\n"));
    check(path, &text)
}

#[expect(clippy::disallowed_methods, reason = "a writer that can be killed is a process")]
fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["crash::what_was_acknowledged_survives_a_kill", "--exact", "--nocapture"])
        .env(WRITE_TO, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn check(path: &Path, output: &str) -> usize {
    drop(Ledger::reopen(path, &run(), system_clock).unwrap());
    assert_eq!(verify(path, None).broken, None);
    let bytes = std::fs::read(path).unwrap();
    let hashes: Vec<_> = records(&bytes).map(|record| record.hash.to_string()).collect();
    let mut count = 0;
    // The last line may be cut in its middle.
    for line in output.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let Some(record) = line.split("acknowledged ").nth(1) else { continue };
        let (seq, hash) = record.trim_end().split_once(' ').unwrap();
        assert_eq!(hashes[seq.parse::<usize>().unwrap()], hash, "record {seq}");
        count += 1;
    }
    count
}
