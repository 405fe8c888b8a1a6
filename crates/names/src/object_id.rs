//! The name of a Git object.

use std::fmt;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "object id";

/// A full object id: 40 (SHA-1) or 64 (SHA-256) hexadecimal digits, lower case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(String);

impl ObjectId {
    /// Reads an id.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !matches!(text.len(), 40 | 64) || !text.bytes().all(digit) {
            return Err(NameError::new(KIND, text, "is not 40 or 64 lower case hex digits"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for no object: all zeros, as Git writes what isn't there.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }

    /// Enough of it for a person.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(ObjectId, KIND, ObjectId::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let (one, null) = ("0a".repeat(20), "0".repeat(64));
        assert!(!ObjectId::parse(&one).unwrap().is_null());
        assert!(ObjectId::parse(&null).unwrap().is_null());
        for bad in ["", "0a", &"0A".repeat(20), &"g".repeat(40), &"0".repeat(41)] {
            assert!(ObjectId::parse(bad).is_err(), "{bad}");
        }
    }
}
