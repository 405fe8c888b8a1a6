//! The name of a warm sandbox.

use std::fmt;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "session name";
const LONGEST: usize = 32;

/// The name a person gives a warm sandbox: `[a-z0-9][a-z0-9-]{0,31}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// Reads a name; nothing is folded or trimmed.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::new(KIND, text, why);
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if !text.bytes().next().is_some_and(plain) {
            return Err(refuse("does not start with a lower-case letter or a digit"));
        }
        if text.len() > LONGEST {
            return Err(refuse("has more than 32 characters"));
        }
        if !text.bytes().all(|byte| plain(byte) || byte == b'-') {
            return Err(refuse("has a character other than a-z, 0-9 and '-'"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(SessionName, KIND, SessionName::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "0", "fix-42", "a-", &"x".repeat(32)] {
            assert_eq!(SessionName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "-a", "A", "a b", "a/b", "..", "a\0", "é", &"x".repeat(33)] {
            assert!(SessionName::parse(bad).is_err(), "{bad}");
        }
    }
}
