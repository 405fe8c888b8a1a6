//! Sizes as people write them.

use std::fmt;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "size";

/// Units and their bytes. The first six are also how a size is written, largest first.
const UNITS: [(&str, u64); 14] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("EB", 1_000_000_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("KB", 1000),
    ("B", 1),
];
const BINARY: usize = 6;

/// A number of bytes. Reads `4GiB`, `512MiB`, `10GB`, `123`; is written in the largest binary
/// unit that is exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Reads a whole number and a unit. `k`, `M`, `G` alone are refused: they are read as 1000 by
    /// some and as 1024 by others.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| {
            NameError::new(KIND, text, why).help("write a whole number and a unit, as in 512MiB")
        };
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        if digits.is_empty() {
            return Err(refuse("does not start with a digit"));
        }
        let bytes = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, bytes)) => *bytes,
            None if unit.is_empty() => 1,
            None => return Err(refuse("has no unit such as B, KiB, MiB, GiB, kB, MB, GB")),
        };
        let number: Option<u64> = digits.parse().ok();
        let size = number.and_then(|number| number.checked_mul(bytes));
        size.map(Self).ok_or_else(|| refuse("is too large"))
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |(_, bytes): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*bytes);
        match UNITS.iter().take(BINARY).find(exact) {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(ByteSize, KIND, ByteSize::parse);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        let cases = [
            ("0", 0, "0"),
            ("0GiB", 0, "0"),
            ("123", 123, "123"),
            ("123B", 123, "123"),
            ("1024", 1024, "1KiB"),
            ("4GiB", 4 << 30, "4GiB"),
            ("1536MiB", 1536 << 20, "1536MiB"),
            ("10GB", 10_000_000_000, "9765625KiB"),
            ("1kB", 1000, "1000"),
            ("15EiB", 15 << 60, "15EiB"),
            ("18446744073709551615", u64::MAX, "18446744073709551615"),
        ];
        for (text, bytes, shown) in cases {
            let size = ByteSize::parse(text).unwrap();
            assert_eq!((size.bytes(), size.to_string().as_str()), (bytes, shown), "{text}");
        }
        let bad = [
            "",
            "GiB",
            "-1",
            "+1",
            "1.5GiB",
            "1 GiB",
            " 1",
            "1gib",
            "1G",
            "1k",
            "1GiBs",
            "16EiB",
            "18446744073709551616",
            "１",
        ];
        for bad in bad {
            assert!(ByteSize::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_is_read_back(number in 0u64..100_000, shift in 0u32..48) {
            let size = ByteSize(number << shift);
            prop_assert_eq!(ByteSize::parse(&size.to_string()).unwrap(), size);
        }

        #[test]
        fn any_size_is_read_back(bytes: u64) {
            prop_assert_eq!(ByteSize::parse(&ByteSize(bytes).to_string()).unwrap().bytes(), bytes);
        }
    }
}
