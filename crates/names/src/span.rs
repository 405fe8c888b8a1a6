//! Lengths of time as people write them.

use std::fmt;
use std::time::Duration;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "duration";

/// Units in the order in which they are written, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// A length of time in whole milliseconds. Reads `1h`, `90s`, `1h30m`, `500ms`; is written with
/// the fewest units: `1m30s`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From seconds; at most `u64::MAX` milliseconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// In milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// For timers.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0)
    }

    /// Reads one or more of whole number and unit, each unit once, larger before smaller.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| {
            NameError::new(KIND, text, why).help("write hours, minutes and seconds, as in 1h30m")
        };
        if text.is_empty() {
            return Err(refuse("is empty"));
        }
        let mut units = UNITS.iter();
        let mut rest = text;
        let mut total = 0u64;
        while !rest.is_empty() {
            let (digits, after) = split(rest, |c| c.is_ascii_digit());
            let (unit, after) = split(after, |c| c.is_ascii_alphabetic());
            if digits.is_empty() {
                return Err(refuse("has a unit without a number"));
            }
            let Some((_, millis)) = units.find(|(name, _)| *name == unit) else {
                return Err(refuse("has something other than h, m, s, ms, in that order"));
            };
            let number: Option<u64> = digits.parse().ok();
            let part = number.and_then(|number| number.checked_mul(*millis));
            let sum = part.and_then(|part| total.checked_add(part));
            total = sum.ok_or_else(|| refuse("is too long"))?;
            rest = after;
        }
        Ok(Self(total))
    }
}

/// The longest head whose characters are all `of`, and the rest.
fn split(text: &str, of: fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !of(c)).unwrap_or(text.len()))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, millis) in UNITS {
            if rest >= millis {
                write!(f, "{}{unit}", rest / millis)?;
                rest %= millis;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(Span, KIND, Span::parse);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        let cases = [
            ("0s", 0, "0s"),
            ("0ms", 0, "0s"),
            ("1h", 3_600_000, "1h"),
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("500ms", 500, "500ms"),
            ("36h", 129_600_000, "36h"),
            ("1h0m1s1ms", 3_601_001, "1h1s1ms"),
        ];
        for (text, millis, shown) in cases {
            let span = Span::parse(text).unwrap();
            assert_eq!((span.as_millis(), span.to_string().as_str()), (millis, shown), "{text}");
        }
        let bad = [
            "",
            "1",
            "h",
            "1d",
            "1.5h",
            "-1s",
            "1h 30m",
            "30m1h",
            "1s1s",
            "1hs",
            "1H",
            "1µs",
            "99999999999999999999s",
            "5124095576031h",
        ];
        for bad in bad {
            assert!(Span::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Span::from_secs(2).as_duration(), Duration::from_secs(2));
    }

    proptest! {
        #[test]
        fn text_is_read_back(millis: u64) {
            let span = Span::from_millis(millis);
            prop_assert_eq!(Span::parse(&span.to_string()).unwrap(), span);
        }
    }
}
