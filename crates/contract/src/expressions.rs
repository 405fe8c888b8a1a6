//! Regular expressions that are compiled once.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// An expression. One that were wrong would match everything and capture nothing, and tests say so.
pub(crate) type Expression = LazyLock<Option<Regex>>;

/// Defines one.
macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: $crate::expressions::Expression =
            std::sync::LazyLock::new(|| $crate::expressions::compiled($text));
    };
}

pub(crate) use expression;

/// Words are those of ASCII: where others may begin, each letter takes far longer to look at.
pub(crate) fn compiled(text: &str) -> Option<Regex> {
    Regex::new(&text.replace(r"\b", r"(?-u:\b)")).ok()
}

/// Whether a text matches. What can't be looked for is taken to be there.
pub(crate) fn is_like(expression: &Expression, text: &str) -> bool {
    LazyLock::force(expression).as_ref().is_none_or(|regex| regex.is_match(text))
}

/// What an expression captures of a line.
pub(crate) fn captures<'l>(expression: &Expression, line: &'l str) -> Option<Captures<'l>> {
    let regex = LazyLock::force(expression).as_ref()?;
    // Looking costs far less than capturing, and most lines are no result.
    if regex.is_match(line) { regex.captures(line) } else { None }
}
