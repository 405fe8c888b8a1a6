//! Rows about one crate at a time: its `benches/figures.rs` measures them in a process of its own, in release mode.

use std::process::Command;

use anyhow::{Context, Result};

use super::processes::Place;
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, cargo};

/// A figure that the benchmark prints, and what is promised about it.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    /// The name at the beginning of its line.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) bar: Bar,
    pub(super) unit: &'static str,
}

/// The crates that have such a benchmark.
const PACKAGES: &[&str] = &["ledger", "verifier", "policy", "egress"];

const FIGURES: &[Figure] = &[
    Figure {
        name: "ledger-append",
        what: "durable records under 64 writers",
        bar: Bar::AtLeast(20_000.0),
        unit: "records/s",
    },
    Figure {
        name: "ledger-verify",
        what: "verifying a ledger, one core",
        bar: Bar::AtLeast(300.0),
        unit: "MB/s",
    },
    Figure {
        name: "receipt-verify",
        what: "verifying a receipt and its 10,000 records, files read",
        bar: Bar::AtMost(20.0),
        unit: "ms",
    },
    Figure {
        name: "verdict", what: "verdict with 1,000 rules", bar: Bar::AtMost(2.0), unit: "µs"
    },
    Figure {
        name: "egress-lookups",
        what: "lookups of an allowed name",
        bar: Bar::AtLeast(20_000.0),
        unit: "lookups/s",
    },
    Figure {
        name: "egress-idle",
        what: "memory for each of 10,000 idle tunnels",
        bar: Bar::AtMost(20.0),
        unit: "KB",
    },
];

/// Measures every row of this kind, after one build of all of them.
pub(super) fn measure(_: &Place, effort: Effort) -> Result<Vec<Row>> {
    read(&mut bench(PACKAGES), FIGURES, effort)
}

/// The command that runs `benches/figures.rs` of these crates.
pub(super) fn bench(packages: &[&str]) -> Command {
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--bench", "figures"]);
    for package in packages {
        bench.args(["--package", package]);
    }
    bench
}

/// Runs it, and finds these figures in what it prints.
pub(super) fn read(bench: &mut Command, figures: &[Figure], effort: Effort) -> Result<Vec<Row>> {
    if effort == Effort::Smoke {
        bench.args(["--", "--smoke"]);
    }
    let output = program::read(bench)?;
    let output = String::from_utf8_lossy(&output);
    figures.iter().map(|figure| row(figure, &output)).collect()
}

/// Finds the line `NAME FIGURE HOW IT WAS MADE`, or `NAME - WHY` where it can't be. A figure that
/// is absent is an error.
fn row(figure: &Figure, output: &str) -> Result<Row> {
    let line = output.lines().find_map(|line| line.strip_prefix(figure.name)?.strip_prefix(' '));
    let parts = line.and_then(|line| line.split_once(' '));
    let (number, from) = parts.with_context(|| format!("no figure {}", figure.name))?;
    let result = if number == "-" {
        Outcome::NotMeasured(from.to_owned())
    } else {
        let number = number.parse().with_context(|| format!("{} is {number:?}", figure.name))?;
        Outcome::Measured { figure: number, from: from.to_owned() }
    };
    Ok(Row { what: figure.what.to_owned(), bar: figure.bar, unit: figure.unit, result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_and_an_absent_one_is_an_error() {
        let figure = &FIGURES[0];
        let found = row(figure, "noise\nledger-append 25000 64 writers\n").unwrap();
        assert!(matches!(found.result, Outcome::Measured { from, .. } if from == "64 writers"));
        let absent = row(figure, "ledger-append - no disk\n").unwrap();
        assert!(matches!(absent.result, Outcome::NotMeasured(why) if why == "no disk"));
        assert!(row(figure, "ledger-verify 2 y\n").is_err());
        assert!(row(figure, "ledger-append x y\n").is_err());
    }
}
