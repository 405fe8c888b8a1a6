//! `loop attack`: the corpus, through Loop or another launcher.

use std::io::{self, Write as _};

use api::{Problem, exit};
use corpus::{Case, CaseReport, Corpus, CorpusError, Kind, Launcher, Outcome, Progress, Summary};
use serde::Serialize;

use super::{Done, answer};
use crate::Failure;
use crate::args::Attack;
use crate::console::{Cell, Console, Table, shown};

pub(super) fn attack(args: &Attack, console: &mut Console) -> Done {
    let corpus = Corpus::load().map_err(|error| Problem::new(exit::UNSAFE, error.to_string()))?;
    let cases = corpus.select(&args.cases).map_err(|error| unselected(&error))?;
    if args.list {
        let listed: Vec<_> = cases.iter().map(|case| Listed::from(*case)).collect();
        answer(&listed, args.json, console, |listed, console| show_list(listed, console))?;
        return Ok(0);
    }
    let launcher = launcher(args)?;
    let reports = try_all(&cases, &launcher, args.json, console)?;
    let summary = Summary::new(launcher.describe(), reports);
    answer(&summary, args.json, console, show_totals)?;
    Ok(if summary.failed == 0 { 0 } else { exit::NO })
}

fn unselected(error: &CorpusError) -> Problem {
    let code = match error {
        CorpusError::Unknown(_) => exit::NOT_FOUND,
        CorpusError::Case { .. } => exit::UNSAFE,
    };
    Problem::new(code, error.to_string())
}

fn launcher(args: &Attack) -> Result<Launcher, Problem> {
    let Some(line) = &args.via else { return own_launcher() };
    Launcher::via(line).map_err(|error| {
        let next = "write it as you would type it: --via 'bwrap --unshare-all --dev-bind / / --'";
        Problem::new(exit::USAGE, error.to_string()).with_next(next)
    })
}

fn own_launcher() -> Result<Launcher, Problem> {
    let program = std::env::current_exe().map_err(|error| {
        Problem::new(exit::UNSAFE, format!("the path of this program can't be found: {error}"))
    })?;
    Ok(Launcher::own(program))
}

/// A case in `--list`.
#[derive(Debug, Serialize)]
struct Listed {
    id: String,
    kind: Kind,
    title: String,
    summary: String,
    source: Vec<String>,
    needs: Vec<String>,
}

impl From<&Case> for Listed {
    fn from(case: &Case) -> Self {
        Self {
            id: case.id().to_owned(),
            kind: case.kind(),
            title: case.title().to_owned(),
            summary: case.summary().to_owned(),
            source: case.source().to_vec(),
            needs: case.needs().to_vec(),
        }
    }
}

fn show_list(cases: &[Listed], console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mut table = Table::default();
    for case in cases {
        let kind = match case.kind {
            Kind::Attack => "attack",
            Kind::Work => "work",
        };
        table.row([
            Cell::painted(&case.id, |text| paint.bold(text)),
            Cell::plain(kind),
            Cell::plain(&case.title),
            Cell::painted(&case.source.join(", "), |text| paint.dim(text)),
        ]);
    }
    table.write(&mut console.out, 0)
}

/// Tries the cases one after another, and shows each as it ends.
fn try_all(
    cases: &[&Case],
    launcher: &Launcher,
    json: bool,
    console: &mut Console,
) -> Result<Vec<CaseReport>, Failure> {
    let mut reports = Vec::with_capacity(cases.len());
    let width = cases.iter().map(|case| case.id().len()).max().unwrap_or(0);
    for case in cases {
        let report = corpus::run(case, launcher, &mut |_: Progress<'_>| {});
        if !json {
            show_case(&report, width, console)?;
            console.out.flush()?;
        }
        reports.push(report);
    }
    Ok(reports)
}

fn show_case(case: &CaseReport, width: usize, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mark = match case.outcome {
        Outcome::Pass => paint.green("pass  "),
        Outcome::Fail => paint.red("FAIL  "),
        Outcome::Cannot => paint.yellow("cannot"),
    };
    writeln!(console.out, "{mark}  {:width$}  {}", shown(&case.id), shown(&case.title))?;
    if case.escaped() {
        writeln!(console.out, "        {}", paint.red("it got out"))?;
    }
    match &case.reason {
        Some(reason) => writeln!(console.out, "        {}", shown(reason)),
        None => Ok(()),
    }
}

fn show_totals(summary: &Summary, console: &mut Console) -> io::Result<()> {
    writeln!(
        console.out,
        "{} passed, {} failed, {} could not run here, through {}",
        summary.passed,
        summary.failed,
        summary.cannot,
        shown(&summary.launcher),
    )
}
