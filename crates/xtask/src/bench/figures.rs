//! Rows about one crate at a time: its `benches/figures.rs` measures them in a process of its own, in release mode.

use anyhow::{Context, Result};

use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, cargo};

/// A figure that the benchmark prints, and what is promised about it.
struct Figure {
    /// The name at the beginning of its line.
    name: &'static str,
    what: &'static str,
    bar: Bar,
    unit: &'static str,
}

/// The crates that have such a benchmark.
const PACKAGES: &[&str] = &["ledger", "verifier", "policy", "egress", "sandbox"];

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
        name: "tool-bash",
        what: "a tool of the agent in a warm sandbox: a line of shell",
        bar: Bar::AtMost(5.0),
        unit: "ms",
    },
    Figure {
        name: "tool-read",
        what: "a tool of the agent in a warm sandbox: a file",
        bar: Bar::AtMost(5.0),
        unit: "ms",
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
pub(super) fn measure(effort: Effort) -> Result<Vec<Row>> {
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--bench", "figures"]);
    for package in PACKAGES {
        bench.args(["--package", package]);
    }
    if effort == Effort::Smoke {
        bench.args(["--", "--smoke"]);
    }
    let output = program::read(&mut bench)?;
    let output = String::from_utf8_lossy(&output);
    FIGURES.iter().map(|figure| row(figure, &output)).collect()
}

/// Finds the line `NAME FIGURE HOW IT WAS MADE`. A figure that is absent is an error.
fn row(figure: &Figure, output: &str) -> Result<Row> {
    let line = output.lines().find_map(|line| line.strip_prefix(figure.name)?.strip_prefix(' '));
    let parts = line.and_then(|line| line.split_once(' '));
    let (number, from) = parts.with_context(|| format!("no figure {}", figure.name))?;
    let number = number.parse().with_context(|| format!("{} is {number:?}", figure.name))?;
    Ok(Row {
        what: figure.what.to_owned(),
        bar: figure.bar,
        unit: figure.unit,
        result: Outcome::Measured { figure: number, from: from.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_and_an_absent_one_is_an_error() {
        let figure = &FIGURES[0];
        let found = row(figure, "noise\nledger-append 25000 64 writers\n").unwrap();
        assert!(matches!(found.result, Outcome::Measured { from, .. } if from == "64 writers"));
        assert!(row(figure, "ledger-verify 2 y\n").is_err());
        assert!(row(figure, "ledger-append x y\n").is_err());
    }
}
