//! Patterns over paths of the project: `*` and `?` inside a name, `**` for any number of names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest pattern, in bytes.
const LONGEST: usize = 1024;

/// A text that is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing.
    #[error("the pattern is empty")]
    Empty,
    /// `/x`, `~/x`.
    #[error("the pattern is not relative to the project")]
    Absolute,
    /// `..`, or `.`.
    #[error("the pattern has `.` or `..` in it")]
    Dots,
    /// `//`, or a slash at the end.
    #[error("the pattern has an empty name in it")]
    EmptyName,
    /// `**` with something beside it.
    #[error("`**` has something beside it in its name")]
    Mixed,
    /// A form of other pattern languages.
    #[error("`{0}` means nothing in a pattern")]
    Form(char),
    /// A control character.
    #[error("the pattern holds a control character")]
    Control,
    /// Over the cap.
    #[error("the pattern is longer than {LONGEST} bytes")]
    TooLong,
}

impl PatternError {
    /// What to write instead.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::Empty => "write a path or a pattern, as in tests/**",
            Self::Absolute => "write it from the project's root on, as in tests/**",
            Self::Dots => "write the path as it is from the project's root on",
            Self::EmptyName => "use single slashes and none at the end",
            Self::Mixed => "`**` stands for whole names: write **/*.rs for every file of Rust",
            Self::Form(_) => "use `*`, `?` and `**`, and a pattern each for alternatives",
            Self::Control => "write the name without control characters",
            Self::TooLong => "split it into several",
        }
    }
}

/// A pattern over paths below the project's root. It means everything beneath what it matches, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

impl Pattern {
    /// Reads `tests/**`, `Cargo.toml` or `**/*_test.go`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > LONGEST {
            return Err(PatternError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(PatternError::Control);
        }
        if text.starts_with(['/', '~']) {
            return Err(PatternError::Absolute);
        }
        if let Some(form) = text.chars().find(|c| matches!(c, '[' | ']' | '{' | '}' | '\\' | '!')) {
            return Err(PatternError::Form(form));
        }
        text.split('/').try_for_each(check_name)?;
        Ok(Self(text.to_owned()))
    }

    /// Whether it means `path` (its bytes, from the project's root on): the path or a directory
    /// above it matches.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let parts: Vec<&str> = self.0.split('/').collect();
        means(&parts, &names)
    }
}

fn check_name(name: &str) -> Result<(), PatternError> {
    match name {
        "" => Err(PatternError::EmptyName),
        "." | ".." => Err(PatternError::Dots),
        "**" => Ok(()),
        _ if name.contains("**") => Err(PatternError::Mixed),
        _ => Ok(()),
    }
}

/// Whether the parts match the names or the first of them. On a mismatch only the last `**` is
/// tried again, one name further: an earlier one can't do better.
fn means(parts: &[&str], names: &[&[u8]]) -> bool {
    let (mut parts, mut names) = (parts, names);
    let mut retry: Option<(&[&str], &[&[u8]])> = None;
    loop {
        match (parts.split_first(), names.split_first()) {
            (None, _) => return true,
            (Some((&"**", rest)), _) => {
                retry = Some((rest, names));
                parts = rest;
                continue;
            }
            (Some((part, rest)), Some((name, below))) if is_like(part.as_bytes(), name) => {
                (parts, names) = (rest, below);
                continue;
            }
            _ => {}
        }
        let Some((rest, from)) = retry else { return false };
        let Some((_, further)) = from.split_first() else { return false };
        retry = Some((rest, further));
        (parts, names) = (rest, further);
    }
}

/// Whether a name is as `part` says, with `*` for any number of bytes and `?` for one.
pub(crate) fn is_like(part: &[u8], name: &[u8]) -> bool {
    let (mut part, mut name) = (part, name);
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (part.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some((b'*', rest)), _) => {
                retry = Some((rest, name));
                part = rest;
                continue;
            }
            (Some((wanted, rest)), Some((found, below))) if *wanted == b'?' || wanted == found => {
                (part, name) = (rest, below);
                continue;
            }
            _ => {}
        }
        let Some((rest, from)) = retry else { return false };
        let Some((_, further)) = from.split_first() else { return false };
        retry = Some((rest, further));
        (part, name) = (rest, further);
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn paths() {
        let yes = [
            ("tests/**", "tests"),
            ("tests/**", "tests/a/b"),
            ("tests", "tests/a/b"),
            ("**/*_test.go", "a_test.go"),
            ("**/*_test.go", "x/y/a_test.go"),
            ("**/tests/**", "a/tests/b"),
            ("**/a/*/b", "a/a/x/b"),
            ("*.pth", "x.pth"),
            ("?.c", "a.c"),
            ("**", "anything/at/all"),
            ("a*b*c", "aXbbYc"),
        ];
        for (pattern, path) in yes {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        let no = [
            ("tests/**", "test"),
            ("tests/**", "a/tests"),
            ("*.pth", "a/x.pthx"),
            ("*.pth", "a/x.pth"),
            ("a/b", "a"),
            ("?.c", ".c"),
            ("**/tests/*", "tests"),
            ("a*b*c", "aXbbY"),
        ];
        for (pattern, path) in no {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(Pattern::parse("x/*").unwrap().matches(b"x/\xff"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, error) in [
            ("", PatternError::Empty),
            ("/etc", PatternError::Absolute),
            ("~/x", PatternError::Absolute),
            ("../x", PatternError::Dots),
            ("a/../b", PatternError::Dots),
            ("./a", PatternError::Dots),
            ("a//b", PatternError::EmptyName),
            ("a/", PatternError::EmptyName),
            ("a/**b", PatternError::Mixed),
            ("a[bc]", PatternError::Form('[')),
            ("!a", PatternError::Form('!')),
            ("a\nb", PatternError::Control),
        ] {
            assert_eq!(Pattern::parse(text), Err(error), "{text:?}");
            assert!(!error.fix().is_empty());
        }
        assert_eq!(Pattern::parse(&"a".repeat(1025)), Err(PatternError::TooLong));
    }

    /// The definition, read aloud.
    fn by_definition(parts: &[&str], names: &[&[u8]]) -> bool {
        match parts.split_first() {
            None => true,
            Some((&"**", rest)) => {
                (0..=names.len()).any(|taken| by_definition(rest, &names[taken..]))
            }
            Some((part, rest)) => {
                !names.is_empty()
                    && name_by_definition(part.as_bytes(), names[0])
                    && by_definition(rest, &names[1..])
            }
        }
    }

    fn name_by_definition(part: &[u8], name: &[u8]) -> bool {
        match part.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|n| name_by_definition(rest, &name[n..])),
            Some((byte, rest)) => {
                !name.is_empty()
                    && (*byte == b'?' || *byte == name[0])
                    && name_by_definition(rest, &name[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn matches_as_defined(
            parts in prop::collection::vec("[ab*?]{1,4}|\\*\\*", 1..5),
            names in prop::collection::vec("[ab]{1,4}", 1..6),
        ) {
            let text = parts.join("/");
            let Ok(pattern) = Pattern::parse(&text) else { return Ok(()) };
            let parts: Vec<&str> = text.split('/').collect();
            let bytes: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let path = names.join("/");
            prop_assert_eq!(pattern.matches(path.as_bytes()), by_definition(&parts, &bytes));
        }
    }
}
