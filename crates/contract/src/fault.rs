//! One thing wrong with a contract, in words a person can act on.

use std::fmt;

/// What is wrong, where, and what to do about it. All of it is safe on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, or `--check`.
    pub source: String,
    /// The line, from 1; none for a flag.
    pub line: Option<u32>,
    /// The key, as in `check.expect.exit`; empty where there is none.
    pub key: String,
    /// What is wrong: lower case, no full stop.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Fault {}
