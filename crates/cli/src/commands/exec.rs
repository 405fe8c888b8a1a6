//! `loop exec` and `loop stop`.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use api::{
    ChangeCounts, Denial, Engine, ExecReport, ExecRequest, Mode, Problem, StopReport, StopRequest,
    exit,
};
use serde::Serialize;

use super::{Done, answer, verification};
use crate::Failure;
use crate::args::{Exec, Stop};
use crate::console::{Console, Paint, counted, duration, shown, write_json};
use crate::failure::{shown_place, shown_rule};
use crate::person::AtTerminal;

/// Denials named in the summary; the rest is counted.
const DENIALS_SHOWN: usize = 3;
/// Columns of what precedes each line.
const PREFIX: usize = 6;

pub(super) fn exec(args: Exec, console: &mut Console, engine: &dyn Engine) -> Done {
    let report_file = args.report.map(ReportFile::create).transpose()?;
    let request = ExecRequest {
        profile: args.profile,
        agent: args.agent.map(Into::into),
        mode: args.mode.map(Into::into),
        dir: args.project.dir,
        environment: args.environment,
        timeout: args.timeout,
        leases: args.leases,
        publish: args.publish,
        session: args.session,
        checks: args.contract.checks,
        contract: args.contract.contract,
        learn: args.learn,
        command: args.command,
    };
    let last_line = Cell::default();
    let person = AtTerminal {
        last_line: &last_line,
        prompts: console.prompts,
        questions: false,
        quiet: args.quiet,
        columns: console.columns,
        paint: console.err.paint,
    };
    let result = engine.exec(request, &person);
    if let Some(file) = report_file {
        file.write(&result)?;
    }
    let report = result?;
    if !args.quiet {
        show_summary(&report, console)?;
    }
    Ok(report.exit_code)
}

/// Where `--report` goes. It is opened before the command runs, so that a path that can't be written
/// is known before anything happened.
struct ReportFile {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Reported<'a> {
    Report(&'a ExecReport),
    Problem { problem: &'a Problem },
}

impl ReportFile {
    fn create(path: PathBuf) -> Result<Self, Problem> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(unwritable(&path, &error, "nothing was run; choose another file")),
        }
    }

    fn write(mut self, result: &Result<ExecReport, Problem>) -> Result<(), Failure> {
        let reported = match result {
            Ok(report) => Reported::Report(report),
            Err(problem) => Reported::Problem { problem },
        };
        let written = write_json(&mut self.file, &reported);
        let next = "the run itself is kept; see it with `loop show`";
        written.map_err(|error| Failure::Problem(unwritable(&self.path, &error, next)))
    }
}

fn unwritable(path: &Path, error: &io::Error, next: &str) -> Problem {
    let what = format!("the report can't be written to {}: {error}", path.display());
    Problem::new(exit::UNSAFE, what).with_next(next)
}

/// A few lines on standard error: how it ended, what changed, what its checks came to, what was
/// refused, the receipt.
pub(crate) fn show_summary(report: &ExecReport, console: &mut Console) -> io::Result<()> {
    let paint = console.err.paint;
    let mut lines = vec![format!("run {}  {}", paint.bold(report.run.as_str()), ending(report))];
    if let Some(session) = &report.session {
        let session = shown(session);
        lines.push(format!("session {session} goes on; end it with `loop stop {session}`"));
    } else {
        let changes = report.changes.unwrap_or_default();
        lines.extend(change_lines(report.mode, &changes, paint));
    }
    lines.extend(report.verification.iter().flat_map(|view| {
        let columns = console.columns.saturating_sub(PREFIX);
        verification::lines(view, report.outcome, columns, paint)
    }));
    lines.extend(denial_lines(&report.denials, paint));
    lines.extend(report.learned.iter().flat_map(|learned| learned_lines(report, learned, paint)));
    lines.extend(ignored_line(report, paint));
    lines.extend(report.notes.iter().map(|note| paint.yellow(&shown(note))));
    lines.extend(report.receipt.iter().map(|path| format!("receipt {}", shown(path))));
    let prefix = paint.dim("loop:");
    let text: String = lines.iter().map(|line| format!("{prefix} {line}\n")).collect();
    console.err.write_all(text.as_bytes())
}

fn ending(report: &ExecReport) -> String {
    let how = match (&report.limit, report.signal) {
        (Some(hit), _) => {
            let origin = hit.origin.as_ref().map(|rule| format!(" ({})", shown_place(rule)));
            let origin = origin.unwrap_or_default();
            format!("ended by its limit: {} {}{origin}", shown(&hit.limit), shown(&hit.allowed))
        }
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => format!("exit {}", report.exit_code),
    };
    format!("{how}, {}", duration(report.duration_ms))
}

fn change_lines(mode: Mode, changes: &ChangeCounts, paint: Paint) -> impl Iterator<Item = String> {
    [change_line(mode, changes, paint)]
        .into_iter()
        .chain(git_line(changes.git, changes.total() > 0))
}

/// What became of Git's own files, if any changed; `too` if something else did.
pub(super) fn git_line(number: u64, too: bool) -> Option<String> {
    let too = if too { " too" } else { "" };
    (number > 0).then(|| format!("Git's own files changed{too} ({number}); they stay in the run"))
}

fn change_line(mode: Mode, changes: &ChangeCounts, paint: Paint) -> String {
    if mode == Mode::Direct {
        return "what it changed is in the project already".into();
    }
    if changes.total() == 0 {
        return "no changes".into();
    }
    let mut line = format!("{} ({})", counted(changes.total(), "change"), by_kind(changes));
    if changes.flagged > 0 {
        line.push_str(&format!(", {}", paint.yellow(&format!("{} flagged", changes.flagged))));
    }
    line + "; see them with `loop diff`, then `loop apply` or `loop discard`"
}

/// The kinds of change that there are: `1 added, 2 edited`.
pub(super) fn by_kind(changes: &ChangeCounts) -> String {
    let kinds = [
        (changes.added, "added"),
        (changes.edited, "edited"),
        (changes.deleted, "deleted"),
        (changes.renamed, "renamed"),
    ];
    let present = kinds.iter().filter(|(number, _)| *number > 0);
    present.map(|(number, kind)| format!("{number} {kind}")).collect::<Vec<_>>().join(", ")
}

fn denial_lines(denials: &[Denial], paint: Paint) -> Vec<String> {
    let mut lines: Vec<_> = denials.iter().take(DENIALS_SHOWN).map(|d| denied(d, paint)).collect();
    let more = denials.len().saturating_sub(DENIALS_SHOWN);
    if more > 0 {
        lines.push(format!("{more} more denied; see them with `loop show`"));
    }
    lines
}

/// That the policy was not in force, and what it would not have allowed.
fn learned_lines(report: &ExecReport, learned: &[Denial], paint: Paint) -> Vec<String> {
    let shown = learned.iter().take(DENIALS_SHOWN).map(|one| let_through(one, paint));
    let more = learned.len().saturating_sub(DENIALS_SHOWN);
    let more = (more > 0).then(|| format!("{more} more let through; see them with `loop show`"));
    let next = match (learned, report.denials.as_slice()) {
        ([], []) => "the profile allows all that it did",
        _ => "see what the profile lacks with `loop policy propose`",
    };
    let told = paint.yellow("a learning run: its policy was not in force");
    [format!("{told}; {next}")].into_iter().chain(shown).chain(more).collect()
}

/// One denial on a line.
pub(super) fn denied(denial: &Denial, paint: Paint) -> String {
    not_allowed(&paint.red("denied"), denial)
}

/// One thing that a learning run let through, on a line.
pub(super) fn let_through(denial: &Denial, paint: Paint) -> String {
    not_allowed(&paint.yellow("let through"), denial)
}

fn not_allowed(what_became: &str, denial: &Denial) -> String {
    let times = if denial.count > 1 { format!(" ({} times)", denial.count) } else { String::new() };
    let rule = denial.rule.as_ref().map(|rule| format!(" by {}", shown_rule(rule)));
    let rule = rule.unwrap_or_default();
    let what = shown(&denial.what);
    format!("{what_became} {what}{times}{rule}: {}", shown(&denial.reason))
}

fn ignored_line(report: &ExecReport, paint: Paint) -> Option<String> {
    let first = report.ignored_project_keys.first()?;
    let keys: Vec<_> = report.ignored_project_keys.iter().map(|key| shown(&key.key)).collect();
    let file = shown(&first.file);
    let text = format!("{file} is not trusted, so this of it does not apply: {}", keys.join(", "));
    Some(format!("{}; see `loop trust`", paint.yellow(&text)))
}

pub(super) fn stop(args: Stop, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = StopRequest { session: args.session, dir: args.project.dir };
    answer(&engine.stop(request)?, args.json, console, show_stop)?;
    Ok(0)
}

fn show_stop(report: &StopReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let session = shown(&report.session);
    let served = counted(report.commands, "command");
    let run = paint.bold(report.run.as_str());
    writeln!(console.out, "session {session} ended after {served}  run {run}")?;
    let changes = change_lines(report.mode, &report.changes, paint);
    for line in changes.chain(denial_lines(&report.denials, paint)) {
        writeln!(console.out, "{line}")?;
    }
    writeln!(console.out, "receipt {}", shown(&report.receipt))
}
