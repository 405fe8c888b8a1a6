//! What the checks of a contract came to, as a table and a few lines; `loop verify` and
//! `loop receipt export`.

use std::cell::Cell as Shared;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use api::{
    CheckOn, CheckProgress, CheckView, CheckedView, CriterionView, Engine, ExportReport,
    ExportRequest, Outcome, Problem, RunRequest, TestCounts, VerificationView, VerifyReport,
    VerifyRequest, exit,
};

use super::change::run_named;
use super::exec::show_checked;
use super::{Done, answer};
use crate::args::{Export, VerifyRun};
use crate::console::{Cell, Console, Paint, Table, counted, duration, shortened, shown};
use crate::person::AtTerminal;

/// Paths named on a line; the rest is counted.
const PATHS: usize = 4;
/// Reasons named; the rest is counted.
const REASONS: usize = 8;
/// Checks whose output is shown.
const SPOKEN: usize = 3;
/// What stands before a line of output.
const MARGIN: usize = 8;
/// Columns that a check's name takes at most.
const NAME: usize = 14;
/// What the two columns `BASE` and `RESULT`, and all spaces between, take.
const REST: usize = 22;
/// A criterion is never cut shorter, nor is evidence.
const LEAST: usize = 16;

/// How wide the columns are whose texts vary.
#[derive(Clone, Copy)]
struct Widths {
    criterion: usize,
    name: usize,
    evidence: usize,
}

impl Widths {
    fn of(view: &VerificationView, columns: usize) -> Self {
        let longest = |of: &dyn Fn(&CheckView) -> String| {
            view.checks.iter().map(|check| of(check).chars().count()).max().unwrap_or(0)
        };
        let name = longest(&|check| shown(&check.name)).clamp(5, NAME);
        let left = columns.saturating_sub(name + REST);
        let most = left.saturating_sub(LEAST).max(LEAST);
        let evidence = longest(&evidence).clamp(8, most);
        Self { criterion: left.saturating_sub(evidence).max(LEAST), name, evidence }
    }
}

/// That a check begins.
pub(crate) fn checking(check: &CheckProgress) -> String {
    let on = match check.on {
        CheckOn::Base => " on the base alone",
        CheckOn::Result => "",
    };
    let (name, command) = (shown(&check.name), shown(&check.command));
    match name == command {
        true => format!("check{on}: {command}"),
        false => format!("check {name}{on}: {command}"),
    }
}

/// How each check of a round came out, a mark and a line each.
pub(super) fn told(view: &VerificationView, paint: Paint) -> Vec<(String, String)> {
    let line = |check: &CheckView| {
        let mark = match (check.result.passed, check.pre_existing) {
            (true, _) => paint.green("·"),
            (false, true) => paint.yellow("×"),
            (false, false) => paint.red("×"),
        };
        let why = check.reasons.first().map(|why| format!(": {}", shown(why)));
        let told = format!(
            "check {}  {}{}",
            shown(&check.name),
            word(&check.result),
            why.unwrap_or_default()
        );
        (mark, told)
    };
    view.checks.iter().map(line).collect()
}

/// The table and what has to be known besides, a line each.
pub(super) fn lines(
    view: &VerificationView,
    outcome: Outcome,
    columns: usize,
    paint: Paint,
) -> Vec<String> {
    let mut lines = vec![verdict(view, outcome, paint)];
    lines.extend(table(view, columns, paint));
    lines.extend(paths("held by the oracle, so taken from the base", &view.held));
    lines.extend(paths("left out, so taken from the base", &view.left_out));
    lines.extend(paths("used although Git ignores it", &view.used_ignored));
    lines.extend(no_objection(view));
    lines.extend(reasons(view, paint));
    lines.extend(last_printed(view, columns, paint));
    lines
}

/// The outcome, and how many criteria are met.
fn verdict(view: &VerificationView, outcome: Outcome, paint: Paint) -> String {
    let met = view.criteria.iter().filter(|criterion| criterion.met).count();
    let word = match outcome {
        Outcome::Verified => paint.green("verified"),
        Outcome::Unverified => paint.yellow("unverified"),
        Outcome::Failed => paint.red("failed"),
        Outcome::Stopped => paint.yellow("stopped"),
    };
    let round = match view.round {
        0 | 1 => String::new(),
        round => format!(", in round {round}"),
    };
    let all = counted(view.criteria.len() as u64, "criterion").replace("criterions", "criteria");
    format!("{word}: {met} of {all} met{round}")
}

fn table(view: &VerificationView, columns: usize, paint: Paint) -> Vec<String> {
    let widths = Widths::of(view, columns);
    let mut table = Table::default();
    let heads = ["CRITERION", "CHECK", "BASE", "RESULT", "EVIDENCE"];
    table.row(heads.map(|head| Cell::painted(head, |text| paint.dim(text))));
    for criterion in &view.criteria {
        for row in rows(criterion, view, widths, paint) {
            table.row(row);
        }
    }
    for check in view.checks.iter().filter(|check| !is_named(view, check)) {
        let nobodys = shortened("nothing else may break", widths.criterion);
        table.row(row(nobodys, check, widths, paint));
    }
    let mut text = Vec::new();
    // A vector takes everything.
    let _ = table.write(&mut text, 2);
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// A row for each check of a criterion; the criterion is named once.
fn rows(
    criterion: &CriterionView,
    view: &VerificationView,
    widths: Widths,
    paint: Paint,
) -> Vec<Vec<Cell>> {
    let text = if criterion.text.is_empty() { &criterion.id } else { &criterion.text };
    let text = shortened(&shown(text), widths.criterion);
    let of = |wanted: &String| view.checks.iter().find(|check| check.name == *wanted);
    let row = |(at, check): (usize, &CheckView)| {
        row(if at == 0 { text.clone() } else { String::new() }, check, widths, paint)
    };
    criterion.checks.iter().filter_map(of).enumerate().map(row).collect()
}

fn row(criterion: String, check: &CheckView, widths: Widths, paint: Paint) -> Vec<Cell> {
    vec![
        Cell::plain(criterion),
        Cell::plain(shortened(&shown(&check.name), widths.name)),
        Cell::painted(word(&check.base), |text| paint.dim(text)),
        Cell::painted(word(&check.result), |text| painted(check, text, paint)),
        Cell::plain(shortened(&evidence(check), widths.evidence)),
    ]
}

fn is_named(view: &VerificationView, check: &CheckView) -> bool {
    view.criteria.iter().any(|criterion| criterion.checks.contains(&check.name))
}

/// How the output of the first checks that failed ended.
fn last_printed(view: &VerificationView, columns: usize, paint: Paint) -> Vec<String> {
    let spoke = view.checks.iter().filter(|check| !check.last_printed.is_empty()).take(SPOKEN);
    let of = |check: &CheckView| {
        let head = format!("check {} printed last:", shown(&check.name));
        let room = columns.saturating_sub(MARGIN).max(LEAST);
        let line = |line: &String| format!("  {}", paint.dim(&shortened(&shown(line), room)));
        let lines: Vec<_> = check.last_printed.iter().map(line).collect();
        [head].into_iter().chain(lines)
    };
    spoke.flat_map(of).collect()
}

fn word(checked: &CheckedView) -> &'static str {
    if checked.passed { "passed" } else { "failed" }
}

fn painted(check: &CheckView, text: &str, paint: Paint) -> String {
    match (check.result.passed, check.pre_existing) {
        (true, _) => paint.green(text),
        (false, true) => paint.yellow(text),
        (false, false) => paint.red(text),
    }
}

/// How it ended, what its tests came to, how long it took.
fn evidence(check: &CheckView) -> String {
    let result = &check.result;
    let ended = match (result.timed_out, result.signal, result.exit_code) {
        (true, ..) => "out of time".to_owned(),
        (_, Some(signal), _) => format!("signal {signal}"),
        (_, _, Some(code)) => format!("exit {code}"),
        _ => "did not run".to_owned(),
    };
    let before = check.pre_existing.then(|| "as before".to_owned());
    let parts = [Some(ended), before, result.tests.map(tests), Some(duration(result.took_ms))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `12 passed, 1 failed`.
fn tests(tests: TestCounts) -> String {
    let counts = [(tests.failed, "failed"), (tests.skipped, "skipped")];
    let more = counts.into_iter().filter(|(number, _)| *number > 0);
    let more = more.map(|(number, what)| format!(", {number} {what}")).collect::<String>();
    format!("{} passed{more}", tests.passed)
}

fn paths(what: &str, paths: &[String]) -> Option<String> {
    let named: Vec<_> = paths.iter().take(PATHS).map(shown).collect();
    let more = paths.len().saturating_sub(PATHS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{what}: {}{more}", named.join(", ")))
}

fn no_objection(view: &VerificationView) -> Option<String> {
    let review = view.review.as_ref().filter(|review| !review.veto)?;
    Some(format!("reviewed by {}: no objection", shown(&review.model)))
}

/// Why it is not verified: of checks, criteria, flags and a veto alike.
fn reasons(view: &VerificationView, paint: Paint) -> Vec<String> {
    let line = |why: &String| format!("{} {}", paint.yellow("because"), shown(why));
    let mut lines: Vec<_> = view.reasons.iter().take(REASONS).map(line).collect();
    let more = view.reasons.len().saturating_sub(REASONS);
    if more > 0 {
        lines.push(format!("{more} more reasons; see them with `loop show --json`"));
    }
    lines
}

/// `loop verify`.
pub(super) fn verify(args: VerifyRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let last_line = Shared::default();
    let person = AtTerminal {
        last_line: &last_line,
        prompts: console.prompts,
        questions: false,
        quiet: args.quiet || args.json,
        columns: console.columns,
        paint: console.err.paint,
    };
    let request = VerifyRequest {
        what: args.what,
        dir: args.project.dir,
        profile: args.profile,
        timeout: args.timeout,
    };
    let report = engine.verify(request, &person)?;
    let (json, quiet) = (args.json, args.quiet);
    answer(&report, json, console, |report, console| match quiet {
        true => Ok(()),
        false => show_verified(report, console),
    })?;
    Ok(report.run.exit_code)
}

fn show_verified(report: &VerifyReport, console: &mut Console) -> io::Result<()> {
    show_checked(&report.run, console)?;
    let paint = console.out.paint;
    let claimed = super::runs::outcome(report.claimed);
    let of = report.of.as_str();
    for difference in &report.differences {
        writeln!(console.out, "{} {}", paint.yellow("differs"), shown(difference))?;
    }
    if report.trusted.is_empty() {
        let told = paint.yellow("no key that you trust signed the receipt");
        writeln!(console.out, "{told}; what follows is about its content alone")?;
    }
    match report.reproduced {
        true => writeln!(console.out, "{}: run {of} is {claimed}", paint.green("reproduced")),
        false => {
            writeln!(console.out, "{}: run {of} claims {claimed}", paint.red("not reproduced"))
        }
    }
}

/// `loop receipt export`.
pub(super) fn export(args: Export, console: &mut Console, engine: &dyn Engine) -> Done {
    let (run, to) = match <[_; 2]>::try_from(args.arguments) {
        Ok([run, to]) => (Some(run.to_string_lossy().into_owned()), to),
        Err(mut arguments) => (None, arguments.pop().unwrap_or_default()),
    };
    if run.is_none() {
        refuse_run_alone(&to, args.project.dir.clone(), engine)?;
    }
    let run = RunRequest { run, dir: args.project.dir };
    let report = engine.receipt_export(ExportRequest { run, to })?;
    answer(&report, args.json, console, show_export)?;
    Ok(0)
}

/// Whoever names a run and no directory wants that run, and not the newest in a directory of its
/// name.
fn refuse_run_alone(word: &Path, dir: Option<PathBuf>, engine: &dyn Engine) -> Result<(), Problem> {
    let here = RunRequest { run: None, dir };
    let Some(run) = run_named(word.as_os_str(), &here, engine)? else { return Ok(()) };
    let next =
        format!("`loop receipt export {run} DIRECTORY`; for a directory of that name, ./{run}");
    Err(Problem::new(exit::USAGE, format!("{run} is a run; the directory is missing"))
        .with_next(next))
}

fn show_export(report: &ExportReport, console: &mut Console) -> io::Result<()> {
    let directory = crate::console::shown_command(&[report.directory.as_path()]);
    let run = report.run.as_str();
    let files = counted(report.files, "changed file");
    writeln!(console.out, "exported run {run} to {directory}, with {files}")?;
    writeln!(console.out, "elsewhere: `loop verify {directory} --dir PROJECT`")
}
