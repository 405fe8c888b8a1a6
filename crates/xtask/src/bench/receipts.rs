//! Rows about whole processes that verify a receipt with 10,000 records: the product, and the small verifier.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use super::processes::Place;
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, cargo, target_directory};

/// How long the whole process may take, in milliseconds.
const BAR: f64 = 20.0;

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    let files = place.path().join("receipts");
    std::fs::create_dir(&files)?;
    let files_word = files.to_str().expect("a scratch directory has a plain name");
    let write = [
        "bench",
        "--locked",
        "--package",
        "verifier",
        "--bench",
        "figures",
        "--",
        "--write",
        files_word,
    ];
    program::run(cargo().args(write))?;
    program::run(cargo().args(["build", "--locked", "--release", "--package", "verifier"]))?;
    let small = target_directory().join("release/loop-verify");
    Ok(vec![
        row("loop receipt verify", effort, || place.loop_at(&files, &product()))?,
        row("loop-verify", effort, || Ok(small_one(&small, &files)))?,
    ])
}

fn product() -> [&'static str; 7] {
    ["receipt", "verify", "receipt.json", "--key", "key.pub", "--allow", "unverified"]
}

fn small_one(program: &Path, files: &Path) -> Command {
    let line = "receipt.json --key key.pub --allow unverified --ledger ledger.jsonl --changes changes.json --heads heads.jsonl";
    let mut command = crate::program::program(program);
    command.args(line.split(' ')).current_dir(files);
    command
}

fn row(what: &str, effort: Effort, command: impl Fn() -> Result<Command>) -> Result<Row> {
    let rounds = effort.rounds(51);
    let times: Result<Vec<f64>> = (0..rounds).map(|_| time(command()?)).collect();
    let mut times = times?;
    times.sort_by(f64::total_cmp);
    let figure = times[times.len() / 2];
    Ok(Row {
        what: format!("{what}, 10,000 records, whole process"),
        bar: Bar::AtMost(BAR),
        unit: "ms",
        result: Outcome::Measured { figure, from: format!("median of {rounds}") },
    })
}

/// Milliseconds from the start of the process to its end.
fn time(mut command: Command) -> Result<f64> {
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        bail!("a verifier refused: {}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(took)
}
