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
