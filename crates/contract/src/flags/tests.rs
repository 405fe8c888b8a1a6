//! Tests that are part of product files: those of the base have to be there, as they were.

use std::collections::HashSet;

use super::{Altered, Found, MOST, code, rust};
use crate::terms::Contract;
use crate::words;

pub(super) fn look(contract: &Contract, altered: &Altered<'_>) -> Vec<Found> {
    let Some(before) = altered.before.and_then(|text| str::from_utf8(text).ok()) else {
        return Vec::new();
    };
    let after = altered.after.map(String::from_utf8_lossy).unwrap_or_default();
    if altered.name().ends_with(".snap") || altered.name().contains(".approved.") {
        return vec![Found::whole("it is what a test of the base compares with")];
    }
    match altered.extension() {
        "rs" => rust::look(altered.path, before, &after),
        "py" => blocks(before, &after, is_python_test),
        "zig" => blocks(before, &after, |line| line.starts_with("test ")),
        extension if code::is_code(extension) => in_source(before, &after),
        _ => Vec::new(),
    }
    .into_iter()
    .chain(doctests(contract, altered, before, &after))
    .collect()
}

fn is_python_test(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.starts_with("def test_") || line.starts_with("class Test")
}

/// Blocks that begin with such a line, with what is above them as decoration, and end where a line
/// is indented no deeper.
fn blocks(before: &str, after: &str, begins: impl Fn(&str) -> bool + Copy) -> Vec<Found> {
    let now: HashSet<String> = blocks_of(after, begins).into_iter().collect();
    let gone = blocks_of(before, begins).into_iter().filter(|block| !now.contains(block));
    let found = gone.take(MOST).map(|block| {
        let head = block.lines().find(|line| begins(line)).unwrap_or_default().trim();
        let shown = names::printable(head.trim_end_matches([':', '{']).trim().as_bytes());
        Found::by(head, format!("the base's test `{shown}` is gone, or not as it was"))
    });
    found.collect()
}

/// The outermost: what is inside of one is part of it.
fn blocks_of(text: &str, begins: impl Fn(&str) -> bool) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut blocks = Vec::new();
    let mut rest = lines.as_slice();
    while let Some(at) = rest.iter().position(|line| begins(line)) {
        let above = rest.iter().take(at).rev();
        let decorated = above.take_while(|line| line.trim_start().starts_with('@')).count();
        let end = at + block_length(rest.get(at..).unwrap_or_default());
        let block = rest.get(at - decorated..end).unwrap_or_default();
        let block: Vec<&str> = block.iter().copied().filter(|line| !line.is_empty()).collect();
        blocks.push(block.join("\n"));
        rest = rest.get(end..).unwrap_or_default();
    }
    blocks
}

/// The number of lines of the block that begins with the first.
fn block_length(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = lines.first().map_or(0, |line| indent(line));
    let is_inside = |line: &&&str| {
        line.is_empty() || indent(line) > depth || line.trim() == "}" && indent(line) == depth
    };
    1 + lines.iter().skip(1).take_while(is_inside).count()
}

/// Vitest's tests in a source file: everything from the line on that asks whether it runs.
fn in_source(before: &str, after: &str) -> Vec<Found> {
    const MARK: &str = "import.meta.vitest";
    let tail = |text: &str| text.find(MARK).map(|at| text.split_at(at).1.trim().to_owned());
    match tail(before) {
        Some(tests) if !tail(after).is_some_and(|now| now.starts_with(&tests)) => {
            vec![Found::by(MARK, "tests of the base are gone, or not as they were")]
        }
        _ => Vec::new(),
    }
}

/// Examples of Python's documentation, where a check runs them.
fn doctests(contract: &Contract, altered: &Altered<'_>, before: &str, after: &str) -> Vec<Found> {
    let runs = contract.checks.iter().any(|check| {
        words::commands(&check.run).iter().flatten().any(|word| word.contains("doctest"))
    });
    if !runs || !matches!(altered.extension(), "py" | "md" | "rst" | "txt") {
        return Vec::new();
    }
    let now: HashSet<String> = examples(after).into_iter().collect();
    let gone = examples(before).into_iter().filter(|example| !now.contains(example));
    let found = gone.take(MOST).map(|example| {
        let head = example.lines().next().unwrap_or_default();
        Found::by(head, "an example of the base is gone, or not as it was")
    });
    found.collect()
}

/// `>>>` with what follows up to a blank line.
fn examples(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in text.lines().map(str::trim) {
        let begins = line.starts_with(">>>");
        if begins || line.is_empty() || line.starts_with("\"\"\"") {
            all.extend(open.take().map(|lines| lines.join("\n")));
        }
        if begins {
            open = Some(vec![line]);
        } else if let Some(lines) = &mut open {
            lines.push(line);
        }
    }
    all.extend(open.map(|lines| lines.join("\n")));
    all
}
