//! How a command line ends when it doesn't end well.

use std::io::{self, Write as _};

use api::{Finding, Problem, RuleRef, exit};
use serde::Serialize;

use crate::console::{Console, shown, write_json};

/// Why a command gave no answer.
#[derive(Debug)]
pub enum Failure {
    /// The engine said no, and why.
    Problem(Problem),
    /// Nothing could be written.
    Write(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// The exit code. A reader that went away ends it quietly, as any filter does.
pub(crate) fn settle(result: Result<u8, Failure>, console: &mut Console) -> u8 {
    match result {
        Ok(code) => code,
        Err(Failure::Problem(problem)) => problem.code,
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Failure::Write(error)) => {
            // Where standard error is gone too, the exit code is all that is left to say it with.
            let _ = writeln!(console.err, "loop: the output can't be written: {error}");
            exit::UNSAFE
        }
    }
}

/// Shows help, or what is wrong with the command line.
pub(crate) fn show_usage(error: &clap::Error, console: &mut Console) -> Result<(), Failure> {
    let stream = if error.use_stderr() { &mut console.err } else { &mut console.out };
    let text = error.render();
    if stream.paint.colours() {
        write!(stream, "{}", text.ansi())?;
    } else {
        write!(stream, "{text}")?;
    }
    Ok(stream.flush()?)
}

/// Shows a problem: what, which rule, which faults, what next. As JSON it goes to standard output.
pub(crate) fn show_problem(
    problem: &Problem,
    json: bool,
    console: &mut Console,
) -> Result<u8, Failure> {
    if json {
        #[derive(Serialize)]
        struct Wrapped<'a> {
            problem: &'a Problem,
        }
        write_json(&mut console.out, &Wrapped { problem })?;
        console.out.flush()?;
    } else {
        console.out.flush()?;
        write_problem(problem, console)?;
    }
    Ok(problem.code)
}

fn write_problem(problem: &Problem, console: &mut Console) -> io::Result<()> {
    let paint = console.err.paint;
    let mut text = format!("{} {}\n", paint.red("loop:"), shown(&problem.what));
    if let Some(rule) = &problem.rule {
        text.push_str(&format!("  rule  {}\n", shown_rule(rule)));
    }
    for finding in &problem.findings {
        text.push_str(&shown_finding(finding));
    }
    if let Some(next) = &problem.next {
        text.push_str(&format!("  next  {}\n", shown(next)));
    }
    console.err.write_all(text.as_bytes())
}

/// A rule and its place: `no-push (~/.loop/config.toml:12)`.
pub(crate) fn shown_rule(rule: &RuleRef) -> String {
    format!("{} ({})", shown(&rule.id), shown_place(rule))
}

/// The place of a rule or a key: `~/.loop/config.toml:12`.
pub(crate) fn shown_place(rule: &RuleRef) -> String {
    place(&rule.file, Some(rule.line))
}

/// One fault of a file, on one line or two.
pub(crate) fn shown_finding(finding: &Finding) -> String {
    let key = finding.key.as_ref().map(|key| format!("{}: ", shown(key))).unwrap_or_default();
    let place = place(&finding.file, finding.line);
    let mut text = format!("  {place}: {key}{}\n", shown(&finding.what));
    if let Some(fix) = &finding.fix {
        text.push_str(&format!("      fix: {}\n", shown(fix)));
    }
    text
}

fn place(file: &str, line: Option<u32>) -> String {
    match line {
        Some(line) if line > 0 => format!("{}:{line}", shown(file)),
        _ => shown(file),
    }
}
