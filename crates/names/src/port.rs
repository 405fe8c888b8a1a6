//! A TCP port.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::NameError;

const KIND: &str = "port";

/// A TCP port, 1 to 65535. In JSON and TOML it is a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Port(NonZeroU16);

impl Port {
    /// HTTPS.
    pub const HTTPS: Self = Self(NonZeroU16::MIN.saturating_add(442));

    /// A port that is known not to be zero.
    #[must_use]
    pub const fn new(port: NonZeroU16) -> Self {
        Self(port)
    }

    /// Reads decimal digits: no sign, no leading zero, no space.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::new(KIND, text, why);
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse("is not a decimal number"));
        }
        if text.starts_with('0') {
            return Err(refuse("is zero or starts with zero"));
        }
        text.parse().map(Self).map_err(|_| refuse("is above 65535"))
    }

    /// The number, never zero.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0.get()
    }
}

impl TryFrom<u16> for Port {
    type Error = NameError;

    fn try_from(port: u16) -> Result<Self, NameError> {
        NonZeroU16::new(port).map(Self).ok_or_else(|| NameError::new(KIND, "0", "is zero"))
    }
}

impl FromStr for Port {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        assert_eq!(Port::parse("443").unwrap(), Port::HTTPS);
        assert_eq!(Port::parse("65535").unwrap().number(), 65535);
        for bad in
            ["", "0", "00443", "0443", "+443", "-1", " 443", "65536", "65537", "4_43", "４４３"]
        {
            assert!(Port::parse(bad).is_err(), "{bad}");
        }
        assert!(Port::try_from(0).is_err());
        assert!(serde_json::from_str::<Port>("0").is_err());
        assert_eq!(serde_json::to_string(&Port::HTTPS).unwrap(), "443");
    }
}
