//! The numbers that the design promises, as ratios measured in one run on one machine.
//!
//! Whole processes, because that is what people wait for; the two sides of a ratio take turns, because a machine that
//! slows down in the middle must slow both. A figure is the median of its rounds.

mod figures;
mod gate;
mod network;
mod processes;
mod receipts;

use anyhow::{Result, bail};

use crate::tally::Tally;

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// Every row runs and is not judged.
    Smoke,
    Full,
}

impl Effort {
    fn rounds(self, full: usize) -> usize {
        match self {
            Self::Smoke => 2,
            Self::Full => full,
        }
    }

    /// How often something short is repeated within one process.
    fn times(self, full: usize) -> usize {
        match self {
            Self::Smoke => full.div_ceil(100),
            Self::Full => full,
        }
    }
}

/// What a row promises.
#[derive(Clone, Copy)]
enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    fn is_met_by(&self, figure: f64) -> bool {
        match self {
            Self::AtMost(bar) => figure <= *bar,
            Self::AtLeast(bar) => figure >= *bar,
        }
    }
}

/// One line of the table.
struct Row {
    what: String,
    bar: Bar,
    unit: &'static str,
    result: Outcome,
}

enum Outcome {
    /// The figure, and what it was made from.
    Measured {
        figure: f64,
        from: String,
    },
    NotMeasured(String),
}

/// `cargo xtask bench [--smoke]`.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => print(&measure(Effort::Full)?, Effort::Full),
        [flag] if flag == "--smoke" => {
            smoke()?;
        }
        _ => bail!("`bench` takes nothing but --smoke"),
    }
    Ok(())
}

/// Runs every row a little, so that a benchmark that no longer runs is noticed.
pub(crate) fn smoke() -> Result<Tally> {
    let rows = measure(Effort::Smoke)?;
    print(&rows, Effort::Smoke);
    let measured = rows.iter().filter(|row| matches!(row.result, Outcome::Measured { .. })).count();
    Ok(Tally { passed: measured as u64, failed: Vec::new() })
}

fn measure(effort: Effort) -> Result<Vec<Row>> {
    let place = processes::Place::new()?;
    let mut rows = processes::measure(&place, effort)?;
    rows.extend(gate::measure(&place, effort)?);
    rows.extend(network::measure(&place, effort)?);
    rows.extend(figures::measure(effort)?);
    rows.extend(receipts::measure(&place, effort)?);
    Ok(rows)
}

fn print(rows: &[Row], effort: Effort) {
    println!("| what | bar | measured | |");
    println!("|---|---|---|---|");
    for row in rows {
        println!("{}", row.line(effort));
    }
}

impl Row {
    fn line(&self, effort: Effort) -> String {
        let bar = match self.bar {
            Bar::AtMost(bar) => format!("≤ {bar} {}", self.unit),
            Bar::AtLeast(bar) => format!("≥ {bar} {}", self.unit),
        };
        let (measured, judged) = match &self.result {
            Outcome::NotMeasured(why) => (format!("not measured: {why}"), ""),
            Outcome::Measured { figure, from } => {
                let judged = match (effort, self.bar.is_met_by(*figure)) {
                    (Effort::Smoke, _) => "not judged",
                    (Effort::Full, true) => "met",
                    (Effort::Full, false) => "MISSED",
                };
                (format!("{figure:.2} {} ({from})", self.unit), judged)
            }
        };
        format!("| {} | {bar} | {measured} | {judged} |", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bar: Bar, figure: f64) -> Row {
        let result = Outcome::Measured { figure, from: "3.00 ms / 2.00 ms".into() };
        Row { what: "exec".into(), bar, unit: "×", result }
    }

    #[test]
    fn a_row_says_whether_its_bar_is_met() {
        assert!(row(Bar::AtMost(1.5), 1.5).line(Effort::Full).ends_with("| met |"));
        assert!(row(Bar::AtMost(1.5), 1.51).line(Effort::Full).ends_with("| MISSED |"));
        assert!(row(Bar::AtLeast(300.0), 299.0).line(Effort::Full).ends_with("| MISSED |"));
        assert!(row(Bar::AtMost(1.5), 9.0).line(Effort::Smoke).ends_with("| not judged |"));
    }

    #[test]
    fn a_row_that_was_not_measured_says_why() {
        let row = Row {
            what: "x".into(),
            bar: Bar::AtMost(0.25),
            unit: "×",
            result: Outcome::NotMeasured("no codex".into()),
        };
        assert_eq!(row.line(Effort::Full), "| x | ≤ 0.25 × | not measured: no codex |  |");
    }
}
