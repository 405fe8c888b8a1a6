//! What a run changed outside the oracle that could make a check look green.
//!
//! A flag never fails a check. It says what a person has to look at before the outcome can be
//! `verified`, and how they may let it be. Ordinary work must raise none: a mended function, a new
//! dependency, a new module, a new test.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::oracle::Oracle;
use crate::terms::Contract;

/// The longest text that is looked at, in bytes. Longer ones are [`Altered::opaque`].
pub const LONGEST_TEXT: u64 = 1 << 20;

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

/// What of a changed file could make a check look green. Nothing for what the oracle holds, whose
/// base version counts, and for what the contract lets change.
#[must_use]
pub fn flags(_contract: &Contract, oracle: &Oracle, altered: &Altered<'_>) -> Vec<Flag> {
    if oracle.lets_change(altered.path) || oracle.holds(altered.path) {
        return Vec::new();
    }
    Vec::new()
}
