//! One check: whether it passed, and whether it failed in the same way before.

use std::collections::BTreeSet;

use crate::judge::{CheckVerdict, Pair, Ran};
use crate::output::{self, Report};
use crate::terms::{Check, Exit};

/// Exit codes with which a shell says that nothing was run: sh(1).
const NOTHING_RUN: [i32; 2] = [126, 127];

/// A way to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    kind: Kind,
    why: String,
}

/// Ways to fail, from bad to worse. Who fails on the base in one way and on the result in a worse
/// one has made it worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// It printed or returned something else.
    Answer,
    /// Tests failed.
    Tests,
    /// There were no tests, or too few.
    Few,
    /// A runner of tests said nothing about any.
    Silent,
    /// It took too long, or was ended.
    Ended,
    /// It could not be started.
    NotStarted,
    /// It looks green because less was looked at, or something else. Never excused by the base.
    Tampered,
}

pub(super) fn not_run(check: &Check) -> CheckVerdict {
    CheckVerdict {
        name: check.name.clone(),
        passed: false,
        pre_existing: false,
        reasons: vec!["it was not run".to_owned()],
        tests: None,
        base_passed: false,
        base_tests: None,
    }
}

pub(super) fn judge(check: &Check, pair: &Pair) -> CheckVerdict {
    let base = output::read(&check.run, &pair.base.stdout, &pair.base.stderr);
    let result = output::read(&check.run, &pair.result.stdout, &pair.result.stderr);
    let base_failures = failures(check, &pair.base, &base);
    let mut failures = failures(check, &pair.result, &result);
    failures.extend(touched(&pair.result, &pair.base));
    failures.extend(less_than_before(check, &base, &result));
    CheckVerdict {
        name: check.name.clone(),
        passed: failures.is_empty(),
        pre_existing: is_pre_existing(&failures, &base_failures, &base, &result),
        reasons: failures.into_iter().map(|failure| failure.why).collect(),
        tests: result.tests(),
        base_passed: base_failures.is_empty(),
        base_tests: base.tests(),
    }
}

/// What one run of a check has against itself.
fn failures(check: &Check, ran: &Ran, report: &Report) -> Vec<Failure> {
    if let Some(failure) = did_not_end(ran) {
        return vec![failure];
    }
    let mut failures: Vec<Failure> = Vec::new();
    failures.extend(wrong_exit(check, ran));
    failures.extend(wrong_output(check, ran));
    // Who expects a failure has said all with the exit code.
    if check.expect.exit == Exit::Code(0) {
        failures.extend(bad_tests(report, ran));
    }
    failures.extend(too_few(check, report));
    failures
}

fn did_not_end(ran: &Ran) -> Option<Failure> {
    if let Some(why) = &ran.not_started {
        let why = format!("it could not be started: {}", names::printable(why.as_bytes()));
        return Some(Failure { kind: Kind::NotStarted, why });
    }
    if ran.timed_out {
        return Some(Failure { kind: Kind::Ended, why: "it ran out of time".to_owned() });
    }
    if let Some(signal) = ran.signal {
        return Some(Failure { kind: Kind::Ended, why: format!("signal {signal} ended it") });
    }
    match ran.exit {
        Some(_) => None,
        None => Some(Failure { kind: Kind::Ended, why: "nobody knows how it ended".to_owned() }),
    }
}

fn wrong_exit(check: &Check, ran: &Ran) -> Option<Failure> {
    let code = ran.exit?;
    let why = match check.expect.exit {
        Exit::Code(wanted) if code == i32::from(wanted) => return None,
        Exit::Code(wanted) => format!("exit code {code}, not {wanted}"),
        Exit::Nonzero if code == 0 => "exit code 0, where it had to fail".to_owned(),
        Exit::Nonzero if NOTHING_RUN.contains(&code) => {
            format!("exit code {code} says that nothing was run")
        }
        Exit::Nonzero => return None,
    };
    let kind = if NOTHING_RUN.contains(&code) { Kind::NotStarted } else { Kind::Answer };
    Some(Failure { kind, why })
}

fn wrong_output(check: &Check, ran: &Ran) -> Option<Failure> {
    let wanted = check.expect.stdout.as_ref()?;
    let holds = contains(&ran.stdout, wanted.as_bytes());
    let cut = if ran.cut { " (only a part of it was kept)" } else { "" };
    let shown: String = wanted.chars().take(80).collect();
    let why =
        format!("standard output does not hold `{}`{cut}", names::printable(shown.as_bytes()));
    (!holds).then_some(Failure { kind: Kind::Answer, why })
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || text.windows(wanted.len()).any(|window| window == wanted)
}

/// What the tests of its output say, whatever its exit code says.
fn bad_tests(report: &Report, ran: &Ran) -> Option<Failure> {
    if let Some(failure) = silent(report, ran) {
        return Some(failure);
    }
    let tests = report.tests()?;
    if tests.failed > 0 {
        let why = match tests.failed {
            1 => "a test failed".to_owned(),
            failed => format!("{failed} tests failed"),
        };
        return Some(Failure { kind: Kind::Tests, why });
    }
    if let Some(why) = &report.flaw {
        return Some(Failure { kind: Kind::Silent, why: why.clone() });
    }
    if tests.passed == 0 && !report.uncounted {
        let why = match tests.skipped {
            0 => "no test was run".to_owned(),
            skipped => format!("no test was run, {skipped} were skipped"),
        };
        return Some(Failure { kind: Kind::Few, why });
    }
    None
}

/// A runner that says nothing about its tests.
fn silent(report: &Report, ran: &Ran) -> Option<Failure> {
    let runner = report.silent()?;
    let cut = if ran.cut { "; only a part of its output was kept" } else { "" };
    let why = format!("{runner} printed no result of tests{cut}");
    Some(Failure { kind: Kind::Silent, why })
}

fn too_few(check: &Check, report: &Report) -> Option<Failure> {
    let wanted = check.expect.tests?;
    let why = match report.tests() {
        Some(tests) if tests.passed >= wanted => return None,
        Some(tests) => format!("{} tests passed, not {wanted}", tests.passed),
        None => format!("its output tells of no tests, {wanted} had to pass"),
    };
    Some(Failure { kind: Kind::Few, why })
}

/// Whether it changed what it rests on, but for what it changes on the base alone, too.
fn touched(ran: &Ran, base: &Ran) -> Option<Failure> {
    let before: BTreeSet<&String> = base.touched_oracle.iter().collect();
    let path = ran.touched_oracle.iter().find(|path| !before.contains(path))?;
    let why = format!("it changed {} while it ran", names::printable(path.as_bytes()));
    Some(Failure { kind: Kind::Tampered, why })
}

/// Tests that ran on the base, and now do not. A contract that says how many have to pass has
/// said so itself.
fn less_than_before(check: &Check, base: &Report, result: &Report) -> Option<Failure> {
    if check.expect.tests.is_some() || check.expect.exit != Exit::Code(0) {
        return None;
    }
    let before = base.tests().filter(|tests| tests.ran() > 0)?;
    let tampered = |why| Some(Failure { kind: Kind::Tampered, why });
    let Some(now) = result.tests() else {
        let why =
            format!("{} ran on the base, and now its output tells of none", tests(before.ran()));
        return tampered(why);
    };
    let gone = result.gone_since(base);
    if let Some(name) = gone.first() {
        let name = names::printable(name.as_bytes());
        let why = match gone.len() - 1 {
            0 => format!("the test {name} ran on the base, and now does not"),
            others => format!("the test {name} and {others} more ran on the base, and now do not"),
        };
        return tampered(why);
    }
    // With failures the runner may have stopped early; it has failed anyway.
    if now.failed == 0 && now.ran() < before.ran() {
        let why = format!("{} ran on the base, and now {}", tests(before.ran()), now.ran());
        return tampered(why);
    }
    None
}

/// Whether the base failed, and the result no worse.
fn is_pre_existing(
    failures: &[Failure],
    base: &[Failure],
    base_report: &Report,
    report: &Report,
) -> bool {
    let worst = |failures: &[Failure]| failures.iter().map(|failure| failure.kind).max();
    let (Some(now), Some(before)) = (worst(failures), worst(base)) else { return false };
    now != Kind::Tampered && now <= before && !fails_more(base_report, report)
}

/// Whether tests fail that passed on the base, as far as the output tells.
fn fails_more(base: &Report, report: &Report) -> bool {
    let Some(before) = base.tests() else { return false };
    let failed = report.tests().map_or(0, |tests| tests.failed);
    match (base.failed_names(), report.failed_names()) {
        (Some(before), Some(now)) => now.iter().any(|name| !before.contains(name)),
        _ => failed > before.failed,
    }
}

fn tests(number: u64) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} test{s}")
}
