//! Regular expressions that are compiled once.

use std::sync::LazyLock;

use regex::Regex;

/// An expression; one that were wrong would match everything, and a test says so.
pub(super) type Expression = LazyLock<Option<Regex>>;

/// Defines one.
macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: $crate::flags::expressions::Expression =
            std::sync::LazyLock::new(|| regex::Regex::new($text).ok());
    };
}

pub(super) use expression;

/// Whether a text matches. What can't be looked for is taken to be there.
pub(super) fn is_like(expression: &Expression, text: &str) -> bool {
    LazyLock::force(expression).as_ref().is_none_or(|regex| regex.is_match(text))
}
