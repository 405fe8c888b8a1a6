//! What a run changed outside the oracle that could make a check look green.
//!
//! A flag never fails a check. It says what a person has to look at before the outcome can be
//! `verified`, and how they may let it be. Ordinary work must raise none: a mended function, a new
//! dependency, a new module, a new test. What is looked for is a list of ways, not a proof that
//! there is no other: code that is tested runs in the process that tests it.

mod code;
mod compare;
mod manifests;
mod rust;
mod shadows;
mod tests;

#[cfg(test)]
mod hostile;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::oracle::Oracle;
use crate::terms::Contract;

/// The longest text that is looked at, in bytes. Longer ones are [`Altered::opaque`].
pub const LONGEST_TEXT: u64 = 1 << 20;
/// The most flags of one file.
const MOST: usize = 16;

/// A changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Altered<'a> {
    /// Its path, from the project's root on.
    pub path: &'a [u8],
    /// Its text in the base; none if there is none, or none that can be looked at.
    pub before: Option<&'a [u8]>,
    /// Its text as the run left it; none if there is none, or none that can be looked at.
    pub after: Option<&'a [u8]>,
    /// Whether the run left something there that can't be looked at: a link, something that is no
    /// text, or a text longer than [`LONGEST_TEXT`].
    pub opaque: bool,
}

impl Altered<'_> {
    /// What follows the last slash.
    fn name(&self) -> &str {
        let name = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or(self.path);
        str::from_utf8(name).unwrap_or_default()
    }

    /// The directory, from the root on; empty for the root.
    fn directory(&self) -> &[u8] {
        let slash = self.path.iter().rposition(|byte| *byte == b'/');
        slash.and_then(|at| self.path.get(..at)).unwrap_or_default()
    }

    /// What follows the last dot of the name.
    fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The text before, or nothing.
    fn old(&self) -> &[u8] {
        self.before.unwrap_or_default()
    }

    /// Whether a check starts here, so that a new file of this directory is looked for.
    fn is_where_checks_start(&self, contract: &Contract) -> bool {
        let own = self.directory();
        own.is_empty()
            || contract
                .checks
                .iter()
                .filter_map(|check| check.directory.as_ref())
                .any(|directory| directory.as_bytes() == own)
    }
}

/// Something that a person has to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// The path, safe to show.
    pub path: String,
    /// The line, from 1, as the run left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why, and what would let it be.
    pub why: String,
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.why),
            None => write!(f, "{}: {}", self.path, self.why),
        }
    }
}

/// Where something was found in a file, as the run left it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Whole,
    /// This line, from 1.
    Line(u64),
    /// The first line that holds this word; it is looked for only if it is shown.
    Word(String),
}

/// What was found in a file, and why it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    at: At,
    why: String,
}

impl Found {
    fn at(line: u64, why: impl Into<String>) -> Self {
        Self { at: At::Line(line), why: why.into() }
    }

    fn by(word: &str, why: impl Into<String>) -> Self {
        Self { at: At::Word(word.to_owned()), why: why.into() }
    }

    fn whole(why: impl Into<String>) -> Self {
        Self { at: At::Whole, why: why.into() }
    }

    fn line(&self, after: &[u8]) -> Option<u64> {
        match &self.at {
            At::Whole => None,
            At::Line(line) => Some(*line),
            At::Word(word) => compare::line_of(after, word),
        }
    }
}

/// What of a changed file could make a check look green. Nothing for what the oracle holds, whose
/// base version counts, and for what the contract lets change.
#[must_use]
pub fn flags(contract: &Contract, oracle: &Oracle, altered: &Altered<'_>) -> Vec<Flag> {
    if oracle.lets_change(altered.path) || oracle.holds(altered.path) {
        return Vec::new();
    }
    if altered.before == altered.after && !altered.opaque {
        return Vec::new();
    }
    let mut found = shadows::look(contract, altered);
    match manifests::look(contract, altered) {
        Some(steering) => found.extend(steering),
        None => {
            found.extend(code::look(contract, oracle, altered));
            found.extend(tests::look(contract, altered));
        }
    }
    found.truncate(MOST);
    found.iter().map(|found| flag(altered, found)).collect()
}

fn flag(altered: &Altered<'_>, found: &Found) -> Flag {
    let pattern = names::printable(pattern_of(altered.path).as_bytes());
    let why = format!("{}; if that is meant: may_change = [\"{pattern}\"]", found.why);
    let line = found.line(altered.after.unwrap_or_default());
    Flag { path: names::printable(altered.path), line, why }
}

/// A pattern that means this path.
fn pattern_of(path: &[u8]) -> String {
    let special = |byte: u8| {
        byte.is_ascii_control()
            || !byte.is_ascii()
            || matches!(byte, b'[' | b']' | b'{' | b'}' | b'\\' | b'!' | b'*' | b'~' | b'"')
    };
    match str::from_utf8(path) {
        Ok(text) if !path.iter().any(|byte| byte.is_ascii() && special(*byte)) => text.to_owned(),
        _ => path.iter().map(|b| if special(*b) { '?' } else { char::from(*b) }).collect(),
    }
}
