//! Matching of a list of segments against a list of names.

use std::fmt;

use super::{MOST_SEGMENTS, PatternError};
use crate::guarded::fold;

/// One segment of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Segment {
    /// This name.
    Literal(String),
    /// `*`: any one name.
    One,
    /// `**`: any number of names, none included.
    Many,
}

impl Segment {
    fn parse(text: &str) -> Result<Self, PatternError> {
        match text {
            "*" => Ok(Self::One),
            "**" => Ok(Self::Many),
            _ if text.contains('*') => Err(PatternError::Mixed(text.to_owned())),
            _ => Ok(Self::Literal(text.to_owned())),
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(name) => f.write_str(name),
            Self::One => f.write_str("*"),
            Self::Many => f.write_str("**"),
        }
    }
}

/// A list of segments.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Glob {
    segments: Vec<Segment>,
}

impl Glob {
    /// Reads the segments, each of which `check` may refuse too.
    pub(super) fn parse<'a>(
        segments: impl IntoIterator<Item = &'a str>,
        check: fn(&str) -> Result<(), PatternError>,
    ) -> Result<Self, PatternError> {
        let read = |text: &'a str| check(text).and_then(|()| Segment::parse(text));
        let segments: Vec<_> = segments.into_iter().map(read).collect::<Result<_, _>>()?;
        if segments.len() > MOST_SEGMENTS {
            return Err(PatternError::TooLong);
        }
        Ok(Self { segments })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the names match, all of them.
    pub(super) fn matches<'n>(&self, names: impl Iterator<Item = &'n [u8]> + Clone) -> bool {
        walk(&self.segments, names, |segment, name: &&[u8]| match segment {
            Segment::Literal(literal) => literal.as_bytes() == *name,
            Segment::One | Segment::Many => true,
        })
    }

    /// The same for names that are told apart by no case, nor by what file systems ignore.
    pub(super) fn matches_folded<'n>(&self, names: impl Iterator<Item = &'n [u8]> + Clone) -> bool {
        walk(&self.segments, names, |segment, name: &&[u8]| match segment {
            Segment::Literal(literal) => fold(literal.as_bytes()) == fold(name),
            Segment::One | Segment::Many => true,
        })
    }

    /// Whether everything that `other` matches is matched too; sound, not complete.
    pub(super) fn covers(&self, other: &Self) -> bool {
        walk(&self.segments, other.segments.iter(), |own, others: &&Segment| match own {
            Segment::Many => true,
            Segment::One => **others != Segment::Many,
            Segment::Literal(_) => own == *others,
        })
    }

    /// The names before the first wildcard.
    pub(crate) fn literal_start(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map_while(|segment| match segment {
            Segment::Literal(name) => Some(name.as_bytes()),
            Segment::One | Segment::Many => None,
        })
    }

    /// Whether the first segment is `**`.
    pub(super) fn starts_anywhere(&self) -> bool {
        self.segments.first() == Some(&Segment::Many)
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, between: &str) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 {
                f.write_str(between)?;
            }
            write!(f, "{segment}")?;
        }
        Ok(())
    }
}

/// Matches `segments` against `names`. On a mismatch only the last `**` is tried again, one name
/// further: an earlier one can't do better, so the time is at most the product of the lengths.
fn walk<T>(
    segments: &[Segment],
    names: impl Iterator<Item = T> + Clone,
    accepts: impl Fn(&Segment, &T) -> bool,
) -> bool {
    let (mut rest, mut names) = (segments, names);
    let mut retry = None;
    loop {
        if let Some((Segment::Many, tail)) = rest.split_first() {
            retry = Some((tail, names.clone()));
            rest = tail;
            continue;
        }
        let mut ahead = names.clone();
        match (rest.split_first(), ahead.next()) {
            (None, None) => return true,
            (Some((segment, tail)), Some(name)) if accepts(segment, &name) => {
                (rest, names) = (tail, ahead);
            }
            _ => {
                let Some((tail, from)) = &mut retry else { return false };
                if from.next().is_none() {
                    return false;
                }
                (rest, names) = (tail, from.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, read aloud.
    fn by_definition(segments: &[Segment], names: &[&str]) -> bool {
        match segments.split_first() {
            None => names.is_empty(),
            Some((Segment::Many, tail)) => {
                (0..=names.len()).any(|taken| by_definition(tail, &names[taken..]))
            }
            Some((Segment::One, tail)) => !names.is_empty() && by_definition(tail, &names[1..]),
            Some((Segment::Literal(literal), tail)) => {
                names.first() == Some(&literal.as_str()) && by_definition(tail, &names[1..])
            }
        }
    }

    fn glob() -> impl Strategy<Value = Glob> {
        let segment = prop_oneof![
            Just(Segment::One),
            Just(Segment::Many),
            prop_oneof!["a", "b"].prop_map(Segment::Literal),
        ];
        prop::collection::vec(segment, 0..6).prop_map(|segments| Glob { segments })
    }

    fn names() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop_oneof![Just("a"), Just("b"), Just("c")], 0..7)
    }

    proptest! {
        #[test]
        fn matches_as_defined(glob in glob(), names in names()) {
            let matched = glob.matches(names.iter().map(|name| name.as_bytes()));
            prop_assert_eq!(matched, by_definition(&glob.segments, &names));
        }

        #[test]
        fn covering_is_sound(wide in glob(), narrow in glob(), names in names()) {
            let bytes = || names.iter().map(|name| name.as_bytes());
            if wide.covers(&narrow) && narrow.matches(bytes()) {
                prop_assert!(wide.matches(bytes()));
            }
        }
    }
}
