//! The id of one ask.

use std::fmt;

use crate::run_id::ALPHABET;
use crate::text::as_text;
use crate::{Digest, NameError};

const KIND: &str = "ask id";
const LENGTH: usize = 4;

/// The id of an ask, unique in its run and short enough to be typed: four characters, `k7m2`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(String);

impl AskId {
    /// Reads an id, lower case.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let known = text.bytes().all(|byte| ALPHABET.contains(&byte));
        if text.len() == LENGTH && known {
            return Ok(Self(text.to_owned()));
        }
        Err(NameError::new(KIND, text, "is not four characters of those that ids use")
            .help("an ask's id looks like k7m2: see `loop approvals`"))
    }

    /// The id that the first 20 bits of `digest` spell.
    #[must_use]
    pub fn from_digest(digest: &Digest) -> Self {
        let [a, b, c, ..] = *digest.bytes();
        let bits = u32::from_be_bytes([0, a, b, c]) >> 4;
        let letter = |shift: u32| {
            let index = (bits >> shift & 31) as usize;
            char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
        };
        Self([15, 10, 5, 0].into_iter().map(letter).collect())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(AskId, KIND, AskId::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_read() {
        for number in 0_u32..1000 {
            let made = AskId::from_digest(&Digest::of(&number.to_be_bytes()));
            assert_eq!(AskId::parse(made.as_str()).unwrap(), made);
        }
        assert_eq!(AskId::from_digest(&Digest::from_bytes([0; 32])).as_str(), "0000");
        assert_eq!(AskId::from_digest(&Digest::from_bytes([0xff; 32])).as_str(), "zzzz");
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in ["", "k7m", "k7m2q", "K7M2", "k7mi", "k7m\n", "k7\u{fc}"] {
            assert!(AskId::parse(text).is_err(), "{text:?}");
        }
    }
}
