//! The Test Anything Protocol: a plan, and a line for each test.

use super::compiled::counted;
use super::{Found, number, text};
use crate::expressions::{captures, expression};
use crate::output::{End, Tests};

expression!(PLAN, r"^1\.\.(\d+)(?:\s+#.*)?$");
expression!(LINE, r"^(not ok|ok)\b(?: (\d+))?(?: -)?(.*)$");
expression!(DIRECTIVE, r"(?i)(?:^|\s)#\s*(?:skip|todo)");

/// Reads what has a plan. A test that may fail has not passed.
pub(super) fn read(lines: &[String]) -> Option<Found> {
    let planned: Vec<u64> =
        lines.iter().filter_map(|line| captures(&PLAN, line)).map(|p| number(&p, 1)).collect();
    if planned.is_empty() {
        return None;
    }
    let mut found = Found::default();
    for (index, line) in lines.iter().filter_map(|line| captures(&LINE, line)).enumerate() {
        let end = match text(&line, 1) {
            _ if captures(&DIRECTIVE, text(&line, 3)).is_some() => End::Skipped,
            "ok" => End::Passed,
            _ => End::Failed,
        };
        let name = text(&line, 3).trim();
        let name = if name.is_empty() { format!("test {}", index + 1) } else { name.to_owned() };
        found.ends.push((name, end));
    }
    found.tests = counted(&found.ends);
    let planned = planned.into_iter().fold(0, u64::saturating_add);
    let told = found.ends.len() as u64;
    if planned != told {
        found.flaw = Some(format!("{planned} tests were planned, and {told} told how they ended"));
    }
    if lines.iter().any(|line| line.starts_with("Bail out!")) {
        found.tests.failed = found.tests.failed.max(1);
    }
    Some(found)
}

expression!(PROVE_COUNT, r"^Files=\d+, Tests=(\d+),");
expression!(PROVE_RESULT, r"^Result: (PASS|FAIL|NOTESTS)$");

/// `prove`.
pub(super) fn prove(lines: &[String]) -> Option<Found> {
    let all = lines.iter().find_map(|line| captures(&PROVE_COUNT, line)).map(|c| number(&c, 1));
    let word = lines.iter().filter_map(|line| captures(&PROVE_RESULT, line)).next_back();
    let failed = u64::from(word.as_ref().is_some_and(|word| text(word, 1) == "FAIL"));
    let all = all.or(word.is_some().then_some(0))?;
    let tests = Tests { passed: all.saturating_sub(failed), failed, skipped: 0 };
    Some(Found { tests, ..Found::default() })
}
