//! Reading the records of a ledger, for a trace or an audit. Verifying is another matter.

use names::canonical::{self, CanonicalError};
use names::{Digest, Timestamp};
use serde::de::DeserializeOwned;

use crate::line::Line;

/// One record, as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its number.
    pub seq: u64,
    /// When it was appended, by the clock of that machine.
    pub time: Timestamp,
    /// Its kind.
    pub kind: &'a str,
    /// Its body, JSON.
    pub body: &'a [u8],
    /// Its hash.
    pub hash: Digest,
}

impl Record<'_> {
    /// The body as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, CanonicalError> {
        canonical::parse(self.body)
    }
}

/// The records of `bytes` up to the first line that has not the form of one. Whether they are
/// intact is what [`verify_ledger`](crate::verify_ledger) says.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut start = 0;
    let lines = memchr::memchr_iter(b'\n', bytes).map(move |end| {
        let line = bytes.get(start..end).unwrap_or_default();
        start = end + 1;
        line
    });
    lines.map_while(record)
}

fn record(line: &[u8]) -> Option<Record<'_>> {
    let Line { body, hash, kind, seq, time, .. } = Line::split(line)?;
    Some(Record { seq, time, kind, body, hash })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::{Head, compose};

    /// A record, half of one, what is none, or an empty line.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let mut good = Vec::new();
        compose(&mut good, Head::origin(), Timestamp::from_millis(0), "kind", b"{}");
        let half = good.split_at(good.len() / 2).0.to_vec();
        prop_oneof![
            8 => Just(good),
            1 => Just(half),
            1 => Just(b"\n".to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..9),
        ]
    }

    proptest! {
        /// Line by line, a byte at a time, is the second implementation.
        #[test]
        fn records_are_the_whole_lines_up_to_the_first_that_is_none(
            pieces in prop::collection::vec(piece(), 0..9),
        ) {
            let bytes = pieces.concat();
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            let slow = lines.map_while(|line| record(line.strip_suffix(b"\n")?));
            let place = |record: Record<'_>| (record.hash, record.body.as_ptr());
            let (slow, fast): (Vec<_>, Vec<_>) =
                (slow.map(place).collect(), records(&bytes).map(place).collect());
            prop_assert_eq!(fast, slow);
        }
    }
}
