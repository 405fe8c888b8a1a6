//! Licences of what we link: permissive ones only.

use super::graph::Graph;

const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only widen what a licence permits.
const WIDENING: &[&str] = &["LLVM-exception"];

/// Packages of others whose licence is absent, unreadable or not permissive.
pub(super) fn unacceptable(graph: &Graph) -> Vec<String> {
    let bad =
        graph.foreign().filter(|package| !package.licence.as_deref().is_some_and(is_permissive));
    bad.map(|package| {
        format!("{}: {}", package.name, package.licence.as_deref().unwrap_or("no licence"))
    })
    .collect()
}

/// Whether an SPDX expression lets us choose a permissive licence. What it can't read is not permissive.
fn is_permissive(expression: &str) -> bool {
    // Old manifests write `MIT/Apache-2.0` for a choice.
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) == Some(true) && rest.is_empty()
}

/// `both (OR both)*`
fn either(rest: &mut &[&str]) -> Option<bool> {
    let mut holds = both(rest)?;
    while take(rest, "OR") {
        holds |= both(rest)?;
    }
    Some(holds)
}

/// `one (AND one)*`
fn both(rest: &mut &[&str]) -> Option<bool> {
    let mut holds = one(rest)?;
    while take(rest, "AND") {
        holds &= one(rest)?;
    }
    Some(holds)
}

/// `( either )`, or a licence with an exception or without.
fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let holds = either(rest)?;
        return take(rest, ")").then_some(holds);
    }
    let name = next(rest)?;
    let widened = !take(rest, "WITH") || WIDENING.contains(&next(rest)?);
    Some(PERMISSIVE.contains(&name) && widened)
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, others)) if *first == word => {
            *rest = others;
            true
        }
        _ => false,
    }
}

fn next<'a>(rest: &mut &[&'a str]) -> Option<&'a str> {
    let (first, others) = rest.split_first()?;
    *rest = others;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_and_a_sum_needs_all() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_permissive(good), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "LGPL-2.1 OR GPL-3.0",
            "",
            "MIT OR",
            "(MIT",
            "MIT MIT",
            "Apache-2.0 WITH Commons-Clause",
        ] {
            assert!(!is_permissive(bad), "{bad}");
        }
    }

    #[test]
    fn a_copyleft_dependency_is_found() {
        let graph = Graph::of(&["a: b c", "+b MIT", "+c AGPL-3.0"]);
        assert_eq!(unacceptable(&graph), ["c: AGPL-3.0"]);
    }
}
