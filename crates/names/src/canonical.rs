//! JSON with one spelling: RFC 8785 (JCS).
//!
//! A digest over JSON means something only if the same value always has the same bytes. Written
//! here: no white space, members ordered by their UTF-16 code units, numbers as ECMAScript writes
//! them, the shortest escapes. Read here: nothing that two readers could understand differently.

mod check;
mod key;
mod parse;
mod write;

pub use check::{Member, check, check_members};
pub use parse::{parse, parse_checked, repeats_a_member};
pub use write::to_vec;

/// Deepest nesting of arrays and objects, written or read.
pub const MAX_DEPTH: usize = 64;

/// Why a value has no canonical JSON, or a text isn't the JSON that it has to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The text leaves the grammar or its canonical form.
    #[error("byte {at}: {why}")]
    Form {
        /// Offset from the start of the text.
        at: usize,
        /// What is wrong there.
        why: &'static str,
    },
    /// The text is JSON, but not of the expected type, or names a member twice.
    #[error("{0}")]
    Content(String),
    /// NaN or an infinity.
    #[error("a number is not finite")]
    NotFinite,
    /// An integer beyond ±(2^53 − 1), which other readers would round.
    #[error("an integer is too large to be exact in JSON")]
    Inexact,
    /// A map whose key is neither text nor a number nor a truth value.
    #[error("a map key is not text")]
    Key,
    /// Two equal keys in one map.
    #[error("a map has the same key twice")]
    Duplicate,
    /// More than [`MAX_DEPTH`] levels.
    #[error("more than {MAX_DEPTH} levels of nesting")]
    Depth,
    /// The value refused to be serialised.
    #[error("{0}")]
    Value(String),
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: std::fmt::Display>(text: T) -> Self {
        Self::Value(text.to_string())
    }
}
