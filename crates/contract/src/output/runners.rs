//! The runners of tests that are known: how a command names one, and what each prints at its end.

mod compiled;
mod scripted;
mod tap;

use regex::Captures;

use super::{End, Report, Tests};
use crate::terms::Command;
use crate::words;

/// What one runner's lines say.
#[derive(Debug, Default)]
struct Found {
    tests: Tests,
    /// Single tests, and how each ended.
    ends: Vec<(String, End)>,
    /// Whether it says that all is well without saying how many there were.
    uncounted: bool,
    /// What does not fit together.
    flaw: Option<String>,
}

/// Reads the lines of one runner; `None` if there are none.
type Read = fn(&[String]) -> Option<Found>;

/// A runner: its name, and how its output is read.
#[derive(Clone, Copy)]
struct Known {
    name: &'static str,
    /// Texts of which an output of this runner has one, so that others are not searched.
    marks: &'static [&'static str],
    read: Read,
}

const KNOWN: &[Known] = &[
    Known { name: "cargo test", marks: &["test result: ", "running "], read: compiled::cargo },
    Known { name: "cargo nextest", marks: &["run: "], read: compiled::nextest },
    Known {
        name: "go test",
        marks: &["ok ", "FAIL", "[no test files]", "\"Action\":"],
        read: compiled::go,
    },
    Known {
        name: "ctest",
        marks: &["tests passed,", "No tests were found"],
        read: compiled::ctest,
    },
    Known { name: "gradle", marks: &["BUILD "], read: compiled::gradle },
    Known { name: "maven", marks: &["Tests run: ", "BUILD "], read: compiled::maven },
    Known {
        name: "dotnet test",
        marks: &["Total:", "total: ", "No test is available"],
        read: compiled::dotnet,
    },
    Known { name: "scalatest", marks: &["Tests: succeeded"], read: compiled::scalatest },
    Known { name: "zig test", marks: &[" passed.", " failed."], read: compiled::zig },
    Known { name: "pytest", marks: &[" in "], read: scripted::pytest },
    Known { name: "unittest", marks: &["Ran "], read: scripted::unittest },
    Known { name: "node --test", marks: &["# tests ", "ℹ tests "], read: scripted::node },
    Known { name: "jest", marks: &["Tests: ", "No tests found"], read: scripted::jest },
    Known { name: "vitest", marks: &["Tests ", "No test files found"], read: scripted::vitest },
    Known { name: "mocha", marks: &[" passing", " failing", " pending"], read: scripted::mocha },
    Known { name: "deno test", marks: &["passed"], read: scripted::deno },
    Known { name: "bun test", marks: &["Ran "], read: scripted::bun },
    Known { name: "rspec", marks: &[" example"], read: scripted::rspec },
    Known { name: "minitest", marks: &[" assertions, "], read: scripted::minitest },
    Known {
        name: "phpunit",
        marks: &["OK (", "Assertions: ", "No tests executed!"],
        read: scripted::phpunit,
    },
    Known { name: "pest", marks: &[" assertions)"], read: scripted::pest },
    Known { name: "mix test", marks: &[" failure"], read: scripted::exunit },
    Known { name: "prove", marks: &["Result: ", "Files="], read: tap::prove },
];

/// The Test Anything Protocol is read where no other runner has told a result: several print both.
const TAP: &str = "TAP";

/// The runners that a command names, each of which has to show a result.
pub(super) fn named_by(command: &Command) -> Vec<&'static str> {
    let mut named: Vec<&'static str> = Vec::new();
    for words in words::commands(command) {
        let runner = words::program(&words).and_then(|(program, rest)| runner(program, rest));
        named.extend(runner.filter(|runner| !named.contains(runner)));
    }
    named
}

/// The runner that a program is with these arguments, if it runs tests with them.
fn runner(program: &str, arguments: &[String]) -> Option<&'static str> {
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.as_str()));
    if has(&["--help", "-h", "--version", "--list", "--no-run", "--collect-only", "--co", "-N"]) {
        return None;
    }
    let first = arguments.iter().find(|word| !word.starts_with(['-', '+']));
    let first = first.map_or("", String::as_str);
    let module = arguments.iter().skip_while(|word| *word != "-m").nth(1);
    match (program, first) {
        ("cargo", "test" | "t") => Some("cargo test"),
        ("cargo", "nextest") if has(&["run", "r"]) => Some("cargo nextest"),
        ("go", "test") => Some("go test"),
        ("ctest", _) => Some("ctest"),
        ("gradle" | "gradlew", _) if has(&["test", "check"]) => Some("gradle"),
        ("mvn" | "mvnw", _) if has(&["test", "verify"]) => Some("maven"),
        ("dotnet", "test") => Some("dotnet test"),
        ("zig", "test") => Some("zig test"),
        ("pytest" | "py.test", _) => Some("pytest"),
        ("node", _) if has(&["--test"]) => Some("node --test"),
        ("jest", _) => Some("jest"),
        ("vitest", word) if !matches!(word, "bench" | "list") => Some("vitest"),
        ("mocha", _) => Some("mocha"),
        ("deno", "test") => Some("deno test"),
        ("bun", "test") => Some("bun test"),
        ("rspec", _) => Some("rspec"),
        ("phpunit", _) => Some("phpunit"),
        ("pest", _) => Some("pest"),
        ("mix", "test") => Some("mix test"),
        ("prove", _) => Some("prove"),
        (program, _) if program.starts_with("python") || program == "pypy3" => {
            match module.map(String::as_str) {
                Some("pytest") => Some("pytest"),
                Some("unittest") => Some("unittest"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Reads the lines of one stream into the report.
pub(super) fn read(lines: &[String], report: &mut Report) {
    let mut seen = false;
    for known in KNOWN {
        let marked = lines.iter().any(|line| known.marks.iter().any(|mark| line.contains(mark)));
        if let Some(found) = marked.then(|| (known.read)(lines)).flatten() {
            seen = true;
            add(report, known.name, found);
        }
    }
    if !seen && let Some(found) = tap::read(lines) {
        add(report, TAP, found);
    }
}

fn add(report: &mut Report, runner: &'static str, found: Found) {
    report.seen.insert(runner);
    report.total = Some(report.total.unwrap_or_default().and(found.tests));
    report.uncounted |= found.uncounted;
    if report.flaw.is_none() {
        report.flaw = found.flaw;
    }
    for (name, end) in found.ends {
        report.ends.entry(name).or_default().push(end);
    }
}

/// Whether a named runner has shown a result, be it through one that it drives.
pub(super) fn is_shown(runner: &str, report: &Report) -> bool {
    let through: &[&str] = match runner {
        "node --test" | "prove" => &[TAP],
        "gradle" | "maven" => &["scalatest"],
        "pest" => &["phpunit"],
        "rspec" => &["minitest"],
        _ => &[],
    };
    report.seen.contains(runner) || through.iter().any(|other| report.seen.contains(other))
}

fn text<'l>(captures: &Captures<'l>, group: usize) -> &'l str {
    captures.get(group).map_or("", |found| found.as_str())
}

/// The number of a group, 0 where it is missing. A number beyond all bounds is the largest.
fn number(captures: &Captures<'_>, group: usize) -> u64 {
    let digits = text(captures, group);
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) }
}

/// The sum of what stands before any of these words: `3 passed, 1 failed`.
fn before_words(text: &str, wanted: &[&str]) -> u64 {
    let parts = text.split([',', '|', ';']).map(str::trim);
    let counts = parts.filter_map(|part| {
        let (number, word) = part.split_once(' ')?;
        let word = word.trim().split(" (").next().unwrap_or_default();
        if wanted.contains(&word) { number.parse::<u64>().ok() } else { None }
    });
    counts.fold(0, u64::saturating_add)
}
