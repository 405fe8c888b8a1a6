//! The numbers that the design promises, as ratios measured in one run on one machine.
//!
//! Whole processes, because that is what people wait for; the two sides of a ratio take turns, because a machine that
//! slows down in the middle must slow both. A figure is the median of its rounds.

mod agent;
mod figures;
mod gate;
mod git;
mod network;
mod processes;
mod receipts;
mod servers;
mod tasks;

use anyhow::{Result, bail};

use crate::tally::Tally;
use processes::Place;

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
    /// Nothing: the figure of another, to compare with.
    Nothing,
}

impl Bar {
    /// `None` where nothing is promised.
    fn is_met_by(self, figure: f64) -> Option<bool> {
        match self {
            Self::AtMost(bar) => Some(figure <= bar),
            Self::AtLeast(bar) => Some(figure >= bar),
            Self::Nothing => None,
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

/// A part of the table that can be measured alone.
struct Section {
    name: &'static str,
    measure: fn(&Place, Effort) -> Result<Vec<Row>>,
}

const SECTIONS: &[Section] = &[
    Section { name: "processes", measure: processes::measure },
    Section { name: "gate", measure: gate::measure },
    Section { name: "network", measure: network::measure },
    Section { name: "git", measure: git::measure },
    Section { name: "receipts", measure: receipts::measure },
    Section { name: "crates", measure: figures::measure },
    Section { name: "agent", measure: agent::measure },
];

/// `cargo xtask bench [--smoke] [SECTION]...`: those sections, all of them if none is named.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let [name, rest @ ..] = arguments
        && name == "tasks"
    {
        return tasks::command(rest);
    }
    let (flags, names): (Vec<_>, Vec<_>) =
        arguments.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    let effort = match flags.as_slice() {
        [] => Effort::Full,
        ["--smoke"] => Effort::Smoke,
        _ => bail!("`bench` takes --smoke, and names of sections: {}", sections()),
    };
    print(&measure(effort, &chosen(&names)?)?, effort);
    Ok(())
}

/// Runs every row a little, so that a benchmark that no longer runs is noticed.
pub(crate) fn smoke() -> Result<Tally> {
    let rows = measure(Effort::Smoke, &chosen(&[])?)?;
    print(&rows, Effort::Smoke);
    let measured = rows.iter().filter(|row| matches!(row.result, Outcome::Measured { .. })).count();
    Ok(Tally { passed: measured as u64, failed: Vec::new() })
}

/// The names of all sections.
pub(crate) fn sections() -> String {
    SECTIONS.iter().map(|section| section.name).collect::<Vec<_>>().join(", ")
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Section>> {
    let known = |name: &&str| SECTIONS.iter().any(|section| section.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("no section {unknown:?}; there is {}", sections());
    }
    let wanted = |section: &&Section| names.is_empty() || names.contains(&section.name);
    Ok(SECTIONS.iter().filter(wanted).collect())
}

fn measure(effort: Effort, sections: &[&Section]) -> Result<Vec<Row>> {
    let place = Place::new()?;
    let mut rows = Vec::new();
    for section in sections {
        rows.extend((section.measure)(&place, effort)?);
    }
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
            Bar::Nothing => String::new(),
        };
        let (measured, judged) = match &self.result {
            Outcome::NotMeasured(why) => (format!("not measured: {why}"), ""),
            Outcome::Measured { figure, from } => {
                let judged = match (effort, self.bar.is_met_by(*figure)) {
                    (_, None) => "",
                    (Effort::Smoke, Some(_)) => "not judged",
                    (Effort::Full, Some(true)) => "met",
                    (Effort::Full, Some(false)) => "MISSED",
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
        assert!(row(Bar::Nothing, 9.0).line(Effort::Full).starts_with("| exec |  | 9.00 ×"));
        assert!(row(Bar::Nothing, 9.0).line(Effort::Full).ends_with(") |  |"));
    }

    #[test]
    fn sections_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), SECTIONS.len());
        let names: Vec<_> = chosen(&["agent", "gate"]).unwrap().iter().map(|it| it.name).collect();
        assert_eq!(names, ["gate", "agent"]);
        let error = chosen(&["speed"]).err().unwrap().to_string();
        assert!(SECTIONS.iter().all(|section| error.contains(section.name)), "{error}");
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
