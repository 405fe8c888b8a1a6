//! Rows about one crate at a time: `crates/e2e/benches/figures.rs` measures them in its own process, in release mode.

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
        name: "verdict", what: "verdict with 1,000 rules", bar: Bar::AtMost(2.0), unit: "µs"
    },
];

/// Measures every row of this kind.
pub(super) fn measure(effort: Effort) -> Result<Vec<Row>> {
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--package", "e2e", "--bench", "figures"]);
    if effort == Effort::Smoke {
        bench.args(["--", "--smoke"]);
    }
    let output = program::read(&mut bench)?;
    rows(&String::from_utf8_lossy(&output))
}

/// Reads lines of the form `NAME FIGURE HOW IT WAS MADE`. A figure that is absent is an error.
fn rows(output: &str) -> Result<Vec<Row>> {
    let row = |figure: &'static Figure| {
        let line =
            output.lines().find_map(|line| line.strip_prefix(figure.name)?.strip_prefix(' '));
        let (number, from) = line
            .and_then(|line| line.split_once(' '))
            .with_context(|| format!("no figure {}", figure.name))?;
        let number = number.parse().with_context(|| format!("{} is {number:?}", figure.name))?;
        Ok(Row {
            what: figure.what.to_owned(),
            bar: figure.bar,
            unit: figure.unit,
            result: Outcome::Measured { figure: number, from: from.to_owned() },
        })
    };
    FIGURES.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_figure_is_an_error() {
        assert!(rows("ledger-append 1 x\nledger-verify 2 y\n").is_err());
        assert!(rows("ledger-append x x\nledger-verify 2 y\nverdict 3 z\n").is_err());
        let rows = rows("noise\nledger-append 1 x\nledger-verify 2 y\nverdict 3 z z\n").unwrap();
        assert_eq!(rows.len(), 3);
    }
}
