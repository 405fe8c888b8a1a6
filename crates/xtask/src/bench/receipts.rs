//! Rows about whole processes that verify a receipt with 10,000 records: the product, and the small verifier.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::processes::{Place, Turns};
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, cargo, target_directory};

/// How long the whole process may take, in milliseconds.
const BAR: f64 = 20.0;

/// The words of both, besides the command; `loop` finds the files beside the receipt by itself.
const WORDS: [&str; 5] = ["receipt.json", "--key", "key.pub", "--allow", "unverified"];
const BESIDE: [&str; 6] =
    ["--ledger", "ledger.jsonl", "--changes", "changes.json", "--heads", "heads.jsonl"];

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    let files = place.path().join("receipts");
    std::fs::create_dir(&files)?;
    write_to(&files)?;
    program::run(cargo().args(["build", "--locked", "--release", "--package", "verifier"]))?;
    let small = target_directory().join("release/loop-verify");
    let small = small.to_str().context("the path of the program is not UTF-8")?;
    let mut product = place.product(&files, &[&["receipt", "verify"], &WORDS[..]].concat())?;
    let mut small = place.outside(&files, &[&[small], &WORDS[..], &BESIDE[..]].concat())?;
    let rounds = effort.rounds(51);
    let (product, small) = Turns { first: &mut product, second: &mut small }.times(rounds)?;
    Ok(vec![row("loop receipt verify", product, rounds), row("loop-verify", small, rounds)])
}

/// Lets the benchmark of the verifier leave its files there.
fn write_to(files: &Path) -> Result<()> {
    let mut write: Command = cargo();
    write.args([
        "bench",
        "--locked",
        "--package",
        "verifier",
        "--bench",
        "figures",
        "--",
        "--write",
    ]);
    program::run(write.arg(files))
}

fn row(what: &str, figure: f64, rounds: usize) -> Row {
    Row {
        what: format!("{what}, 10,000 records, whole process"),
        bar: Bar::AtMost(BAR),
        unit: "ms",
        result: Outcome::Measured { figure, from: format!("median of {rounds}") },
    }
}
