//! Why a text is not a name of its kind.

use crate::printable;

/// Longest part of a refused text that an error repeats, in bytes.
const SHOWN: usize = 120;

/// A text that is not a valid name of its kind: what it should have been, what was given, why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} \"{given}\" {why}")]
pub struct NameError {
    kind: &'static str,
    given: String,
    why: &'static str,
    help: Option<&'static str>,
}

impl NameError {
    /// `given` is shown escaped and shortened, so the error is safe on a terminal.
    pub(crate) fn new(kind: &'static str, given: impl AsRef<[u8]>, why: &'static str) -> Self {
        Self { kind, given: shown(given.as_ref()), why, help: None }
    }

    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// What the text should have named: `host`, `run id`, …
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The reason, as a predicate: "is empty".
    #[must_use]
    pub fn why(&self) -> &'static str {
        self.why
    }

    /// What to write instead, where there is one answer.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        self.help
    }
}

fn shown(given: &[u8]) -> String {
    match given.get(..SHOWN) {
        Some(head) if given.len() > SHOWN => printable(head) + "…",
        _ => printable(given),
    }
}
