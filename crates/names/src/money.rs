//! Amounts of money.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::NameError;

const KIND: &str = "amount";
/// Digits after the point that are told apart.
const DECIMALS: usize = 6;

/// Millionths of a US dollar. Reads `2.50` and `$2.50`; is written to the cent, and below a cent as
/// exactly as it is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Reads dollars with at most six decimals.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::new(KIND, text, why).help("write dollars, as in 2.50");
        let plain = text.strip_prefix('$').unwrap_or(text);
        let (whole, decimals) = plain.split_once('.').unwrap_or((plain, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let pointed = plain.contains('.') && decimals.is_empty();
        if whole.is_empty() || pointed || !digits(whole) || !digits(decimals) {
            return Err(refuse("is not a number of dollars"));
        }
        if decimals.len() > DECIMALS {
            return Err(refuse("has more than six decimals"));
        }
        let micro = format!("{whole}{decimals:0<DECIMALS$}");
        micro.parse().map(Self).map_err(|_| refuse("is too large"))
    }

    /// The sum, or the largest amount.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micro) = (self.0 / 1_000_000, self.0 % 1_000_000);
        match micro % 10_000 {
            0 => write!(f, "${dollars}.{:02}", micro / 10_000),
            _ => write!(f, "${dollars}.{}", format!("{micro:06}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_to_the_cent_or_exactly() {
        let shown = [0, 10_000, 1_500_000, 1_234, 12_345_678].map(|m| MicroUsd(m).to_string());
        assert_eq!(shown, ["$0.00", "$0.01", "$1.50", "$0.001234", "$12.345678"]);
    }

    #[test]
    fn money_is_read_as_it_is_written_and_as_people_write_it() {
        for micro in [0, 1, 10_000, 1_234, 999_999, 12_345_678, u64::MAX] {
            let money = MicroUsd(micro);
            assert_eq!(MicroUsd::parse(&money.to_string()).unwrap(), money);
        }
        let read = ["2", "2.5", "$2.50", "0.000001"].map(|text| MicroUsd::parse(text).unwrap().0);
        assert_eq!(read, [2_000_000, 2_500_000, 2_500_000, 1]);
        for bad in ["", "$", ".5", "2.", "-1", "1e3", "2,50", "0.0000001", "99999999999999999"] {
            assert!(MicroUsd::parse(bad).is_err(), "{bad}");
        }
    }
}
