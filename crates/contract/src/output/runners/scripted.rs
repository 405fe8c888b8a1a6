//! Runners of scripted languages.

use super::{Found, before_words, number, text};
use crate::expressions::{captures, expression};
use crate::output::{End, Tests};

expression!(
    PYTEST_SUMMARY,
    r"^(?:=+ )?((?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)(?:, )?)+|no tests ran|no tests collected) in \d+(?:\.\d+)?s(?: \([\d:, a-z]+\))?(?: =+)?$"
);
expression!(
    PYTEST_TEST,
    r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\))?(?:\s+\[\s*\d+%\])?$"
);

/// pytest. An expected failure is no pass.
pub(super) fn pytest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(summary) = captures(&PYTEST_SUMMARY, line) {
            let parts = text(&summary, 1);
            found.tests = found.tests.and(Tests {
                passed: before_words(parts, &["passed", "xpassed"]),
                failed: before_words(parts, &["failed", "error", "errors"]),
                skipped: before_words(parts, &["skipped", "xfailed"]),
            });
            seen = true;
        } else if let Some(test) = captures(&PYTEST_TEST, line) {
            let end = match text(&test, 2) {
                "PASSED" | "XPASS" => End::Passed,
                "SKIPPED" | "XFAIL" => End::Skipped,
                _ => End::Failed,
            };
            found.ends.push((text(&test, 1).to_owned(), end));
        }
    }
    seen.then_some(found)
}

expression!(UNITTEST_RAN, r"^Ran (\d+) tests? in [\d.]+s$");
expression!(UNITTEST_END, r"^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
expression!(
    UNITTEST_TEST,
    r"^(\S+ \(\S+\)).*? \.\.\. (ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b"
);

/// Python's unittest.
pub(super) fn unittest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut waiting: Option<u64> = None;
    let mut seen = false;
    for line in lines {
        if let Some(ran) = captures(&UNITTEST_RAN, line) {
            if waiting.is_some() {
                found.flaw = Some("unittest told how many tests it ran, not how".to_owned());
            }
            waiting = Some(number(&ran, 1));
            seen = true;
        } else if let Some(test) = captures(&UNITTEST_TEST, line) {
            let end = match text(&test, 2) {
                "ok" => End::Passed,
                "skipped" | "expected failure" => End::Skipped,
                _ => End::Failed,
            };
            found.ends.push((text(&test, 1).to_owned(), end));
        } else if let (Some(ran), Some(end)) = (waiting, captures(&UNITTEST_END, line)) {
            waiting = None;
            found.tests = found.tests.and(unittest_counts(ran, text(&end, 1), text(&end, 2)));
        }
    }
    if waiting.is_some() {
        found.flaw = Some("unittest told how many tests it ran, not how they ended".to_owned());
    }
    seen.then_some(found)
}

fn unittest_counts(ran: u64, word: &str, details: &str) -> Tests {
    let count = |wanted: &[&str]| {
        let parts = details.split(", ").filter_map(|part| part.split_once('='));
        let numbers = parts.filter(|(key, _)| wanted.contains(key));
        numbers.filter_map(|(_, value)| value.parse().ok()).fold(0, u64::saturating_add)
    };
    let failed = count(&["failures", "errors", "unexpected successes"]);
    let skipped = count(&["skipped", "expected failures"]);
    let failed = if word == "FAILED" { failed.max(1) } else { failed };
    Tests { passed: ran.saturating_sub(failed).saturating_sub(skipped), failed, skipped }
}

expression!(NODE_COUNT, r"^(?:# |ℹ )(tests|pass|fail|cancelled|skipped|todo) (\d+)$");

/// Node's own runner.
pub(super) fn node(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for count in lines.iter().filter_map(|line| captures(&NODE_COUNT, line)) {
        let number = number(&count, 2);
        match text(&count, 1) {
            "tests" => seen = true,
            "pass" => found.tests.passed = found.tests.passed.saturating_add(number),
            "fail" | "cancelled" => {
                found.tests.failed = found.tests.failed.saturating_add(number);
            }
            _ => found.tests.skipped = found.tests.skipped.saturating_add(number),
        }
    }
    seen.then_some(found)
}

expression!(JEST_TESTS, r"^Tests:\s+(.*\d+ total)$");
expression!(JEST_SUITES, r"^Test Suites:\s+(.*\d+ total)$");

/// Jest. A suite that could not be run has failed, though none of its tests has.
pub(super) fn jest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let (mut seen, mut suites) = (false, 0);
    for line in lines {
        if let Some(tests) = captures(&JEST_TESTS, line) {
            let parts = text(&tests, 1);
            found.tests = found.tests.and(Tests {
                passed: before_words(parts, &["passed"]),
                failed: before_words(parts, &["failed"]),
                skipped: before_words(parts, &["skipped", "todo"]),
            });
            seen = true;
        } else if let Some(tests) = captures(&JEST_SUITES, line) {
            suites = before_words(text(&tests, 1), &["failed"]);
        }
        seen |= line.starts_with("No tests found, exiting with code");
    }
    if found.tests.failed == 0 {
        found.tests.failed = suites;
    }
    seen.then_some(found)
}

expression!(VITEST_TESTS, r"^\s*Tests\s+(no tests|.*\(\d+\))$");
expression!(VITEST_FILES, r"^\s*Test Files\s+(.*\(\d+\))$");

/// Vitest.
pub(super) fn vitest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let (mut seen, mut files) = (false, 0);
    for line in lines {
        if let Some(tests) = captures(&VITEST_TESTS, line) {
            let parts = text(&tests, 1);
            found.tests = found.tests.and(Tests {
                passed: before_words(parts, &["passed"]),
                failed: before_words(parts, &["failed"]),
                skipped: before_words(parts, &["skipped", "todo", "expected fail"]),
            });
            seen = true;
        } else if let Some(tests) = captures(&VITEST_FILES, line) {
            files = before_words(text(&tests, 1), &["failed"]);
        }
        seen |= line.trim_start().starts_with("No test files found, exiting with code");
    }
    if found.tests.failed == 0 {
        found.tests.failed = files;
    }
    seen.then_some(found)
}

expression!(MOCHA, r"^\s+(\d+) (passing|failing|pending)(?: \(.*\))?$");

/// Mocha.
pub(super) fn mocha(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for count in lines.iter().filter_map(|line| captures(&MOCHA, line)) {
        let number = number(&count, 1);
        let sum = match text(&count, 2) {
            "passing" => &mut found.tests.passed,
            "failing" => &mut found.tests.failed,
            _ => &mut found.tests.skipped,
        };
        *sum = sum.saturating_add(number);
        seen = true;
    }
    seen.then_some(found)
}

expression!(
    DENO,
    r"^(?:ok|FAILED) \| (\d+) passed(?: \(.*?\))? \| (\d+) failed(?: \(.*?\))?(.*?)(?: \(.*\))?$"
);

/// `deno test`.
pub(super) fn deno(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for result in lines.iter().filter_map(|line| captures(&DENO, line)) {
        found.tests = found.tests.and(Tests {
            passed: number(&result, 1),
            failed: number(&result, 2),
            skipped: before_words(text(&result, 3), &["ignored"]),
        });
        seen = true;
    }
    seen.then_some(found)
}

expression!(BUN, r"^\s*(\d+) (pass|fail|skip|todo)$");

/// `bun test`.
pub(super) fn bun(lines: &[String]) -> Option<Found> {
    let ran = |line: &String| line.starts_with("Ran ") && line.contains(" tests across ");
    if !lines.iter().any(ran) {
        return None;
    }
    let mut found = Found::default();
    for count in lines.iter().filter_map(|line| captures(&BUN, line)) {
        let sum = match text(&count, 2) {
            "pass" => &mut found.tests.passed,
            "fail" => &mut found.tests.failed,
            _ => &mut found.tests.skipped,
        };
        *sum = sum.saturating_add(number(&count, 1));
    }
    Some(found)
}

expression!(
    RSPEC,
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$"
);

/// RSpec.
pub(super) fn rspec(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for result in lines.iter().filter_map(|line| captures(&RSPEC, line)) {
        let (failures, skipped) = (number(&result, 2), number(&result, 3));
        let passed = number(&result, 1).saturating_sub(failures).saturating_sub(skipped);
        let failed = failures.saturating_add(number(&result, 4));
        found.tests = found.tests.and(Tests { passed, failed, skipped });
        seen = true;
    }
    seen.then_some(found)
}

expression!(
    MINITEST,
    r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) (?:skips|pendings))?(?:, (\d+) omissions)?"
);

/// Minitest and test-unit.
pub(super) fn minitest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for result in lines.iter().filter_map(|line| captures(&MINITEST, line)) {
        let failed = number(&result, 2).saturating_add(number(&result, 3));
        let skipped = number(&result, 4).saturating_add(number(&result, 5));
        let passed = number(&result, 1).saturating_sub(failed).saturating_sub(skipped);
        found.tests = found.tests.and(Tests { passed, failed, skipped });
        seen = true;
    }
    seen.then_some(found)
}

expression!(PHPUNIT_OK, r"^OK \((\d+) tests?, \d+ assertions?\)$");
expression!(PHPUNIT_COUNTS, r"^Tests: (\d+), Assertions: \d+(.*?)\.?$");

/// PHPUnit.
pub(super) fn phpunit(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(ok) = captures(&PHPUNIT_OK, line) {
            found.tests = found.tests.and(Tests { passed: number(&ok, 1), ..Tests::default() });
            seen = true;
        } else if let Some(counts) = captures(&PHPUNIT_COUNTS, line) {
            let after = |wanted: &[&str]| {
                let parts = text(&counts, 2).split(", ").filter_map(|part| part.split_once(": "));
                let numbers = parts.filter(|(key, _)| wanted.contains(key));
                numbers.filter_map(|(_, value)| value.parse().ok()).fold(0, u64::saturating_add)
            };
            let failed = after(&["Failures", "Errors"]);
            let skipped = after(&["Skipped", "Incomplete"]);
            let passed = number(&counts, 1).saturating_sub(failed).saturating_sub(skipped);
            found.tests = found.tests.and(Tests { passed, failed, skipped });
            seen = true;
        }
        seen |= line == "No tests executed!";
    }
    seen.then_some(found)
}

expression!(PEST, r"^\s*Tests:\s+(.*) \(\d+ assertions\)$");

/// Pest.
pub(super) fn pest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for result in lines.iter().filter_map(|line| captures(&PEST, line)) {
        let parts = text(&result, 1);
        found.tests = found.tests.and(Tests {
            passed: before_words(parts, &["passed"]),
            failed: before_words(parts, &["failed"]),
            skipped: before_words(parts, &["skipped", "todo", "incomplete"]),
        });
        seen = true;
    }
    seen.then_some(found)
}

expression!(
    EXUNIT,
    r"^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(.*)$"
);

/// ExUnit, and what bats prints for people.
pub(super) fn exunit(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for result in lines.iter().filter_map(|line| captures(&EXUNIT, line)) {
        let all = [1, 2, 3].map(|group| number(&result, group));
        let all = all.into_iter().fold(0, u64::saturating_add);
        let failed = number(&result, 4);
        let skipped = before_words(text(&result, 5), &["skipped", "excluded", "invalid"]);
        let passed = all.saturating_sub(failed).saturating_sub(skipped);
        found.tests = found.tests.and(Tests { passed, failed, skipped });
        seen = true;
    }
    seen.then_some(found)
}
