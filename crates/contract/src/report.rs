//! What the agent is told for its next round: what failed, as it failed. Never how to be judged
//! otherwise.

use crate::judge::{CheckVerdict, Judgement, Pair, Ran};
use crate::terms::Contract;

/// How much of an output is shown, in bytes and in lines.
const TAIL: usize = 8 << 10;
const LINES: usize = 120;
/// The longest report, in bytes.
const LONGEST: usize = 48 << 10;

/// What the agent is told after a round that was not enough.
#[must_use]
pub fn report_to_agent(contract: &Contract, judgement: &Judgement, pairs: &[Pair]) -> String {
    let mut report = String::from(
        "The work was checked on a fresh copy of the project with your changes, and is not done \
         yet.\n",
    );
    let unmet = judgement.criteria.iter().filter(|one| !one.met);
    for one in unmet {
        let text = names::printable(one.text.as_bytes());
        report.push_str(&format!("\nNot met: {text} ({})\n", names::printable(one.id.as_bytes())));
    }
    for check in judgement.checks.iter().filter(|check| !check.passed) {
        report.push_str(&failed(contract, check, pairs));
    }
    if report.len() > LONGEST {
        let end = report.floor_char_boundary(LONGEST);
        report.truncate(end);
        report.push_str("\n… (shortened)\n");
    }
    report
}

fn failed(contract: &Contract, check: &CheckVerdict, pairs: &[Pair]) -> String {
    let name = names::printable(check.name.as_bytes());
    let command = contract.check(&check.name).map(|check| check.run.shown()).unwrap_or_default();
    let before = if check.pre_existing { ", as it did before your changes" } else { "" };
    let mut text = format!("\nThe check {name} failed{before}: {command}\n");
    for reason in &check.reasons {
        text.push_str(&format!("- {}\n", names::printable(reason.as_bytes())));
    }
    if let Some(pair) = pairs.iter().find(|pair| pair.name == check.name) {
        text.push_str(&output(&pair.result));
    }
    text
}

fn output(ran: &Ran) -> String {
    let streams = [("standard output", &ran.stdout), ("standard error", &ran.stderr)];
    let shown = streams.iter().filter(|(_, bytes)| !bytes.is_empty());
    shown.map(|(name, bytes)| format!("Its {name} ended in:\n{}\n", tail(bytes))).collect()
}

fn tail(bytes: &[u8]) -> String {
    last_lines(bytes).iter().map(|line| format!("    {line}\n")).collect()
}

/// The last lines that a check printed, at most `most` of each stream, without empty ones and what a
/// terminal would obey.
#[must_use]
pub fn last_printed(ran: &Ran, most: usize) -> Vec<String> {
    let of = |bytes: &Vec<u8>| {
        let lines = last_lines(bytes).into_iter();
        let lines: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
        let skipped = lines.len().saturating_sub(most);
        lines.into_iter().skip(skipped)
    };
    [&ran.stdout, &ran.stderr].into_iter().flat_map(of).collect()
}

fn last_lines(bytes: &[u8]) -> Vec<String> {
    let start = bytes.len().saturating_sub(TAIL);
    let text = names::printable_lines(bytes.get(start..).unwrap_or_default());
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(LINES);
    lines.into_iter().skip(skipped).map(str::to_owned).collect()
}
