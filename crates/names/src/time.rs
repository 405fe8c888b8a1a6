//! Points in time, and the only clock.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "time";
const DAY: i64 = 86_400_000;
/// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z, the range of four-digit years.
const FIRST: i64 = -62_167_219_200_000;
const LAST: i64 = 253_402_300_799_999;

/// A point in time, UTC, in whole milliseconds.
///
/// Its only text is RFC 3339 with three decimals and `Z`: `2026-11-29T22:04:13.123Z`. Texts order
/// as the times do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Where the time comes from. Tests pass one that they can set back.
pub type Clock = fn() -> Timestamp;

/// The time of the machine.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is handed")]
pub fn system_clock() -> Timestamp {
    let now = SystemTime::now();
    let millis = |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match now.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp::from_millis(millis(after)),
        Err(before) => Timestamp::from_millis(-millis(before.duration())),
    }
}

impl Timestamp {
    /// From milliseconds since 1970; brought into the years 0000 to 9999.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(FIRST, LAST))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads exactly the form that is written. No other offset, no other precision, no leap second.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        fields(text.as_bytes()).ok_or_else(|| {
            NameError::new(KIND, text, "is not of the form 2026-11-29T22:04:13.123Z")
        })
    }

    /// Year, month and day, as written.
    pub(crate) fn date(self) -> (i64, i64, i64) {
        civil(self.0.div_euclid(DAY))
    }
}

fn fields(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let [y0, y1, y2, y3, b'-', o0, o1, b'-', d0, d1, b'T', time @ ..] = text else { return None };
    let [h0, h1, b':', m0, m1, b':', s0, s1, b'.', f0, f1, f2, b'Z'] = time else { return None };
    let year = number(&[*y0, *y1, *y2, *y3])?;
    let month = number(&[*o0, *o1])?;
    let day = number(&[*d0, *d1])?;
    let hour = number(&[*h0, *h1]).filter(|hour| *hour < 24)?;
    let minute = number(&[*m0, *m1]).filter(|minute| *minute < 60)?;
    let second = number(&[*s0, *s1]).filter(|second| *second < 60)?;
    let milli = number(&[*f0, *f1, *f2])?;
    let of_day = ((hour * 60 + minute) * 60 + second) * 1000 + milli;
    is_date(year, month, day).then(|| Timestamp(days(year, month, day) * DAY + of_day))
}

/// Value of ASCII digits; nothing if one is none.
pub(crate) fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    })
}

/// Is there such a day in the proleptic Gregorian calendar?
pub(crate) fn is_date(year: i64, month: i64, day: i64) -> bool {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// Days from 1970-01-01. Years are counted from March in eras of 400, so that the leap day comes
/// last (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days`]: year, month and day.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let of_day = self.0.rem_euclid(DAY);
        let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(Timestamp, KIND, Timestamp::parse);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_of_the_range() {
        assert_eq!(Timestamp::from_millis(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert!(system_clock() > Timestamp::parse("2025-01-01T00:00:00.000Z").unwrap());
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "2026-11-29T22:04:13Z",
            "2026-11-29T22:04:13.12Z",
            "2026-11-29t22:04:13.123z",
            "2026-11-29T22:04:13.123+00:00",
            "2026-11-29 22:04:13.123Z",
            "2026-02-29T22:04:13.123Z",
            "2026-13-01T22:04:13.123Z",
            "2026-00-01T22:04:13.123Z",
            "2026-11-31T22:04:13.123Z",
            "2026-11-29T24:00:00.000Z",
            "2026-11-29T23:59:60.000Z",
            "+026-11-29T22:04:13.123Z",
            "2026-11-29T22:04:13.123Z\n",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        /// jiff is the second implementation.
        #[test]
        fn agrees_with_jiff(millis in FIRST..=LAST) {
            let ours = Timestamp::from_millis(millis);
            let theirs = jiff::Timestamp::from_millisecond(millis).unwrap();
            prop_assert_eq!(ours.to_string(), format!("{theirs:.3}"));
            prop_assert_eq!(Timestamp::parse(&ours.to_string()).unwrap(), ours);
        }
    }
}
