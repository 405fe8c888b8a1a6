//! Changing several files by a patch, all of them or none: the `*** Begin Patch` format, and
//! unified diffs without any fuzz.

mod apply;
mod begin;
mod unified;

pub(crate) use apply::apply;

use thiserror::Error;

/// One file's part of a patch. Paths are as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file that must not be there yet.
    Add {
        /// Its path.
        path: String,
        /// All of it.
        content: String,
        /// It can be executed.
        executable: bool,
    },
    /// A file that goes.
    Delete {
        /// Its path.
        path: String,
        /// What a diff says it holds.
        holds: Option<String>,
    },
    /// A file that changes, moves, or both.
    Update {
        /// Its path.
        path: String,
        /// Its path afterwards, if that is another.
        to: Option<String>,
        /// From top to bottom.
        hunks: Vec<Hunk>,
    },
}

/// Lines that stand together, before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// A line above it.
    pub(crate) anchor: Option<String>,
    /// The number of its first line, as a diff says it.
    pub(crate) line: Option<usize>,
    /// Every line.
    pub(crate) lines: Vec<Line>,
    /// It ends where the file does.
    pub(crate) at_end: bool,
    /// The last line before, and the last after, ends without a line feed.
    pub(crate) unfinished: [bool; 2],
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// It stays.
    Keep(String),
    /// It goes.
    Remove(String),
    /// It comes.
    Add(String),
}

impl Hunk {
    /// The lines before.
    pub(crate) fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            Line::Keep(text) | Line::Remove(text) => Some(text.as_str()),
            Line::Add(_) => None,
        });
        old.collect()
    }
}

/// Why a text is no patch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} of the patch: {why}")]
pub(crate) struct PatchError {
    line: usize,
    why: &'static str,
}

/// Reads either format.
///
/// # Errors
/// The first line that belongs to neither.
pub(crate) fn parse(text: &str) -> Result<Vec<Change>, PatchError> {
    let mut lines = Lines::of(text);
    let changes = if lines.peek().is_some_and(|line| line.trim_end() == begin::FIRST) {
        begin::parse(&mut lines)?
    } else {
        unified::parse(&mut lines)?
    };
    if changes.is_empty() { Err(lines.refuse("there is no change")) } else { Ok(changes) }
}

/// The lines of a patch, with their numbers.
struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Lines<'a>>,
    /// The number of the line that was taken last.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Empty lines before the first are passed over.
    fn of(text: &'a str) -> Self {
        let mut lines = Self { rest: text.lines().peekable(), number: 0 };
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        lines
    }

    fn peek(&mut self) -> Option<&'a str> {
        self.rest.peek().copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.rest.next();
        self.number += usize::from(line.is_some());
        line
    }

    fn next_if(&mut self, is: impl FnOnce(&str) -> bool) -> Option<&'a str> {
        if self.peek().is_some_and(is) { self.next() } else { None }
    }

    /// What comes after `start` in the next line, if it starts so.
    fn next_after(&mut self, start: &str) -> Option<&'a str> {
        let after = self.peek()?.strip_prefix(start)?;
        self.next();
        Some(after)
    }

    /// About the line that was taken last.
    fn refuse(&self, why: &'static str) -> PatchError {
        PatchError { line: self.number, why }
    }

    /// About the line that comes next.
    fn refuse_next(&self, why: &'static str) -> PatchError {
        PatchError { line: self.number + 1, why }
    }
}
