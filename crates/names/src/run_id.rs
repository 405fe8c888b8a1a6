//! The id of a run.

use std::fmt;

use crate::NameError;
use crate::text::as_text;
use crate::time::{Timestamp, is_date, number};

const KIND: &str = "run id";
/// Crockford's alphabet, lower case: no i, l, o, u.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The id of a run: the UTC day as `yymmdd`, `-`, and six random characters: `261129-k7m2qd`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Reads a whole id, lower case. A prefix typed by a person goes to [`RunId::matches`].
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| {
            NameError::new(KIND, text, why)
                .help("a run id looks like 261129-k7m2qd: see `loop runs`")
        };
        let shape = || refuse("is not six digits, '-' and six characters");
        let (day, random) = text.split_once('-').ok_or_else(shape)?;
        let &[y0, y1, m0, m1, d0, d1] = day.as_bytes() else { return Err(shape()) };
        if random.len() != 6 {
            return Err(shape());
        }
        let day = number(&[y0, y1]).zip(number(&[m0, m1])).zip(number(&[d0, d1]));
        let ((year, month), day) = day.ok_or_else(shape)?;
        if !is_date(2000 + year, month, day) {
            return Err(refuse("does not start with a day of the calendar"));
        }
        if !random.bytes().all(|byte| ALPHABET.contains(&byte)) {
            return Err(refuse("has a character that ids do not use"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The id of a run that starts `at`; 30 of the 32 random bits are used.
    #[must_use]
    pub fn from_parts(at: Timestamp, random: [u8; 4]) -> Self {
        let (year, month, day) = at.date();
        let bits = u32::from_be_bytes(random);
        let letter = |shift: u32| {
            let index = (bits >> shift & 31) as usize;
            char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
        };
        let random: String = [25, 20, 15, 10, 5, 0].into_iter().map(letter).collect();
        Self(format!("{:02}{month:02}{day:02}-{random}", year % 100))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Does `prefix` begin the id, or its random part? The empty prefix matches nothing.
    #[must_use]
    pub fn matches(&self, prefix: &str) -> bool {
        let random = self.0.split_once('-').map_or("", |(_, random)| random);
        !prefix.is_empty() && (self.0.starts_with(prefix) || random.starts_with(prefix))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(RunId, KIND, RunId::parse);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes() {
        let id = RunId::parse("261129-k7m2qd").unwrap();
        for yes in ["2", "261129", "261129-", "261129-k7m2qd", "k", "k7m2qd"] {
            assert!(id.matches(yes), "{yes}");
        }
        for no in ["", "7", "-k", "K7", "261129-k7m2qdx", "k7m2qdx"] {
            assert!(!id.matches(no), "{no}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "261129",
            "261129-",
            "261129-k7m2q",
            "261129-k7m2qde",
            "261129-K7M2QD",
            "261129-k7m2ql",
            "261129-k7m2q\0",
            "261329-k7m2qd",
            "260229-k7m2qd",
            "261129_k7m2qd",
            "../129-k7m2qd",
            "261129-../../",
            "２61129-k7m2qd",
        ] {
            assert!(RunId::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn made_ids_are_read_back(millis in 946_684_800_000i64..4_102_444_800_000, random: [u8; 4]) {
            let at = Timestamp::from_millis(millis);
            let id = RunId::from_parts(at, random);
            prop_assert_eq!(RunId::parse(id.as_str()).unwrap(), id.clone());
            let day = at.to_string().split_once('T').unwrap().0.replace('-', "");
            prop_assert!(day.ends_with(id.as_str().split_once('-').unwrap().0));
        }
    }
}
