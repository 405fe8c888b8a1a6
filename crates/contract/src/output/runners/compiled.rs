//! Runners of compiled languages.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{Found, before_words, number, text};
use crate::expressions::{captures, expression};
use crate::output::{End, Tests};

expression!(
    CARGO_RESULT,
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured"
);
expression!(CARGO_RUNNING, r"^running (\d+) tests?$");
expression!(CARGO_TEST, r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, .*)?$");
expression!(CARGO_LINE, r" \(line \d+\)");

/// `cargo test`: for each binary, how many tests it runs and how they ended.
pub(super) fn cargo(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let (mut announced, mut told, mut seen) = (0_u64, 0_u64, false);
    let (mut begun, mut ended) = (0_u64, 0_u64);
    for line in lines {
        if let Some(result) = captures(&CARGO_RESULT, line) {
            let tests = Tests {
                passed: number(&result, 1),
                failed: number(&result, 2),
                skipped: number(&result, 3),
            };
            told = told
                .saturating_add(tests.ran())
                .saturating_add(tests.skipped)
                .saturating_add(number(&result, 4));
            found.tests = found.tests.and(tests);
            ended += 1;
            seen = true;
        } else if let Some(running) = captures(&CARGO_RUNNING, line) {
            announced = announced.saturating_add(number(&running, 1));
            begun += 1;
            seen = true;
        } else if let Some(test) = captures(&CARGO_TEST, line) {
            found.ends.push((without_line(text(&test, 1)), cargo_end(text(&test, 2))));
        }
    }
    if begun != ended || announced != told {
        found.flaw =
            Some(format!("cargo test announced {announced} tests and told how {told} ended"));
    }
    seen.then_some(found)
}

fn cargo_end(word: &str) -> End {
    match word {
        "ok" => End::Passed,
        "FAILED" => End::Failed,
        _ => End::Skipped,
    }
}

/// A test in documentation is named by its line, which moves.
fn without_line(name: &str) -> String {
    match LazyLock::force(&CARGO_LINE) {
        Some(regex) => regex.replace(name, "").into_owned(),
        None => name.to_owned(),
    }
}

expression!(NEXTEST_SUMMARY, r"^\s*Summary \[.*\] (\d+)(?:/\d+)? tests? run: (.*)$");
expression!(
    NEXTEST_TEST,
    r"^\s*(PASS|FAIL|SIGABRT|SIGSEGV|TIMEOUT) \[[^\]]*\] (?:\([^)]*\) )?(.+)$"
);

/// `cargo nextest run`.
pub(super) fn nextest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut failed_once = HashSet::new();
    let mut seen = false;
    for line in lines {
        if let Some(summary) = captures(&NEXTEST_SUMMARY, line) {
            let parts = text(&summary, 2);
            let failed = ["failed", "timed out", "exec failed"];
            found.tests = found.tests.and(Tests {
                passed: before_words(parts, &["passed"]),
                failed: before_words(parts, &failed),
                skipped: before_words(parts, &["skipped"]),
            });
            seen = true;
        } else if let Some(test) = captures(&NEXTEST_TEST, line) {
            let end = if text(&test, 1) == "PASS" { End::Passed } else { End::Failed };
            let name = text(&test, 2).trim();
            // What failed is told again at the end.
            if failed_once.contains(name) {
                continue;
            }
            if end == End::Failed {
                failed_once.insert(name);
            }
            found.ends.push((name.to_owned(), end));
        }
    }
    seen.then_some(found)
}

expression!(GO_PACKAGE, r"^(ok|FAIL)\s+(\S+)\s+(?:\(cached\)|[\d.]+s|\[[^\]]*\])(.*)$");
expression!(GO_NOTHING, r"^\?\s+\S+\s+\[no test files\]");
expression!(GO_TEST, r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(");
expression!(
    GO_JSON,
    r#"^\{.*"Action":"(pass|fail|skip)".*"Package":"([^"]*)"(?:,"Test":"([^"]*)")?"#
);

/// `go test`: single tests with `-v` or `-json`; otherwise a package each.
pub(super) fn go(lines: &[String]) -> Option<Found> {
    let verbose = lines.iter().any(|line| line.starts_with("=== RUN"));
    let mut found = Found::default();
    let mut seen = false;
    let mut waiting: Vec<(String, End)> = Vec::new();
    for line in lines {
        if let Some(package) = captures(&GO_PACKAGE, line) {
            seen = true;
            let end = if text(&package, 1) == "ok" { End::Passed } else { End::Failed };
            let name = text(&package, 2);
            let empty = text(&package, 3).contains("[no tests to run]");
            if verbose {
                found
                    .ends
                    .extend(waiting.drain(..).map(|(test, end)| (format!("{name} {test}"), end)));
            }
            // A package that fails as a whole counts, whatever its tests say.
            if end == End::Failed || !verbose && !empty {
                found.ends.push((name.to_owned(), end));
            }
        } else if captures(&GO_NOTHING, line).is_some() {
            seen = true;
        } else if verbose && let Some(test) = captures(&GO_TEST, line) {
            waiting.push((text(&test, 2).to_owned(), go_end(text(&test, 1))));
        } else if let Some(event) = captures(&GO_JSON, line) {
            seen = true;
            let (package, test) = (text(&event, 2), text(&event, 3));
            if !test.is_empty() || text(&event, 1) == "fail" {
                found.ends.push((format!("{package} {test}"), go_end(text(&event, 1))));
            }
        }
    }
    found.ends.extend(waiting);
    found.tests = counted(&found.ends);
    seen.then_some(found)
}

fn go_end(word: &str) -> End {
    match word {
        "PASS" | "pass" => End::Passed,
        "FAIL" | "fail" => End::Failed,
        _ => End::Skipped,
    }
}

/// The tests of a list.
pub(super) fn counted(ends: &[(String, End)]) -> Tests {
    let count = |wanted: End| ends.iter().filter(|(_, end)| *end == wanted).count() as u64;
    Tests { passed: count(End::Passed), failed: count(End::Failed), skipped: count(End::Skipped) }
}

expression!(CTEST_SUMMARY, r"^\d+% tests passed, (\d+) tests? failed out of (\d+)");
expression!(
    CTEST_TEST,
    r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(Passed|\*\*\*\S.*?|\S+)\s+[\d.]+ sec"
);

/// `ctest`.
pub(super) fn ctest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(summary) = captures(&CTEST_SUMMARY, line) {
            let (failed, all) = (number(&summary, 1), number(&summary, 2));
            let passed = all.saturating_sub(failed);
            found.tests = found.tests.and(Tests { passed, failed, skipped: 0 });
            seen = true;
        } else if line.contains("No tests were found!!!") {
            seen = true;
        } else if let Some(test) = captures(&CTEST_TEST, line) {
            let end = match text(&test, 2) {
                "Passed" => End::Passed,
                "***Skipped" => End::Skipped,
                _ => End::Failed,
            };
            found.ends.push((text(&test, 1).to_owned(), end));
        }
    }
    seen.then_some(found)
}

expression!(GRADLE_END, r"^BUILD (SUCCESSFUL|FAILED)(?: in .*)?$");
expression!(GRADLE_COUNT, r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$");
expression!(
    GRADLE_TASK,
    r"^> Task (\S*[tT]est\S*)(?: (NO-SOURCE|UP-TO-DATE|FROM-CACHE|SKIPPED))?$"
);
expression!(GRADLE_TEST, r"^(\S.* > .+) (PASSED|FAILED|SKIPPED)$");

/// Gradle, which counts tests only where some failed.
pub(super) fn gradle(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let (mut seen, mut tasks, mut idle) = (false, 0, 0);
    for line in lines {
        if let Some(end) = captures(&GRADLE_END, line) {
            seen = true;
            found.uncounted = text(&end, 1) == "SUCCESSFUL";
        } else if let Some(count) = captures(&GRADLE_COUNT, line) {
            let (failed, skipped) = (number(&count, 2), number(&count, 3));
            let passed = number(&count, 1).saturating_sub(failed).saturating_sub(skipped);
            found.tests = found.tests.and(Tests { passed, failed, skipped });
        } else if let Some(task) = captures(&GRADLE_TASK, line) {
            let runs = text(&task, 1).ends_with("est");
            tasks += usize::from(runs);
            idle += usize::from(runs && !text(&task, 2).is_empty());
        } else if let Some(test) = captures(&GRADLE_TEST, line) {
            let end = match text(&test, 2) {
                "PASSED" => End::Passed,
                "FAILED" => End::Failed,
                _ => End::Skipped,
            };
            found.ends.push((text(&test, 1).to_owned(), end));
        }
    }
    if found.tests == Tests::default() && !found.ends.is_empty() {
        found.tests = counted(&found.ends);
    }
    // A task that did nothing has run no test.
    if found.tests.ran() > 0 || tasks > 0 && tasks == idle {
        found.uncounted = false;
    }
    seen.then_some(found)
}

expression!(
    MAVEN_SUMMARY,
    r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$"
);
expression!(MAVEN_END, r"^\[INFO\] BUILD (?:SUCCESS|FAILURE)$");

/// Maven's Surefire and Failsafe; each module has a last line of its own.
pub(super) fn maven(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(summary) = captures(&MAVEN_SUMMARY, line) {
            let failed = number(&summary, 2).saturating_add(number(&summary, 3));
            let skipped = number(&summary, 4);
            let passed = number(&summary, 1).saturating_sub(failed).saturating_sub(skipped);
            found.tests = found.tests.and(Tests { passed, failed, skipped });
            seen = true;
        }
        seen |= captures(&MAVEN_END, line).is_some();
    }
    seen.then_some(found)
}

expression!(
    DOTNET_SUMMARY,
    r"^\s*(?:Passed|Failed|Skipped)!\s+-\s+Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:"
);
expression!(
    DOTNET_NEW,
    r"^\s*Test summary: total: \d+, failed: (\d+), succeeded: (\d+), skipped: (\d+)"
);

/// `dotnet test`.
pub(super) fn dotnet(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        let old = captures(&DOTNET_SUMMARY, line);
        if let Some(summary) = old.or_else(|| captures(&DOTNET_NEW, line)) {
            found.tests = found.tests.and(Tests {
                passed: number(&summary, 2),
                failed: number(&summary, 1),
                skipped: number(&summary, 3),
            });
            seen = true;
        }
        seen |= line.starts_with("No test is available in ");
    }
    seen.then_some(found)
}

expression!(
    SCALATEST,
    r"^(?:\[info\] )?Tests: succeeded (\d+), failed (\d+), canceled (\d+), ignored (\d+), pending (\d+)"
);

/// ScalaTest, through sbt or by itself.
pub(super) fn scalatest(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(summary) = captures(&SCALATEST, line) {
            let skipped = [3, 4, 5].iter().map(|group| number(&summary, *group));
            found.tests = found.tests.and(Tests {
                passed: number(&summary, 1),
                failed: number(&summary, 2),
                skipped: skipped.fold(0, u64::saturating_add),
            });
            seen = true;
        }
    }
    seen.then_some(found)
}

expression!(ZIG_ALL, r"^All (\d+) tests? passed\.$");
expression!(ZIG_SOME, r"^(\d+) passed; (\d+) skipped; (\d+) failed\.$");

/// `zig test`.
pub(super) fn zig(lines: &[String]) -> Option<Found> {
    let mut found = Found::default();
    let mut seen = false;
    for line in lines {
        if let Some(all) = captures(&ZIG_ALL, line) {
            found.tests = found.tests.and(Tests { passed: number(&all, 1), ..Tests::default() });
            seen = true;
        } else if let Some(some) = captures(&ZIG_SOME, line) {
            found.tests = found.tests.and(Tests {
                passed: number(&some, 1),
                failed: number(&some, 3),
                skipped: number(&some, 2),
            });
            seen = true;
        }
    }
    seen.then_some(found)
}
