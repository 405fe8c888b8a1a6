//! The form of one record: a line of canonical JSON with six members in a fixed order.
//!
//! `{"body":…,"hash":"…","kind":"…","prev":"…","seq":0,"time":"…"}` and LF. The hash is SHA-256 over
//! the domain line and the record without its `"hash":"…",`. Everything after the body has a known
//! length or a known alphabet, so a line is taken apart from its end, without parsing the body.

use names::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

/// The only schema that this version reads and writes.
pub const SCHEMA: u32 = 1;
/// Largest body of one record, in bytes of canonical JSON.
pub const MAX_BODY: usize = 1 << 20;

const DOMAIN: &[u8] = b"loop-ledger-v1\n";
const DIGEST_LEN: usize = 71;
const TIME_LEN: usize = 24;
const MAX_KIND: usize = 64;
/// The largest integer that JSON carries exactly, 2^53 - 1.
const MAX_SEQ: u64 = (1 << 53) - 1;

/// Where a chain ends: how many records, and the hash of the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Number of records, the genesis included.
    pub count: u64,
    /// Hash of the last record.
    pub hash: Digest,
}

impl Head {
    /// The head before any record: what the genesis names as its predecessor.
    pub(crate) fn origin() -> Self {
        Self { count: 0, hash: Digest::from_bytes([0; 32]) }
    }
}

/// [`Head::origin`]'s hash as text.
pub(crate) const ORIGIN: &[u8; DIGEST_LEN] =
    b"sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Body of the genesis record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Genesis {
    pub(crate) run: names::RunId,
    pub(crate) schema: u32,
}

/// Is `kind` a letter, then at most 63 of `a-z0-9-.`?
pub(crate) fn is_kind(kind: &[u8]) -> bool {
    let part = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    kind.len() <= MAX_KIND
        && kind.first().is_some_and(u8::is_ascii_lowercase)
        && kind.iter().all(part)
}

/// Appends the record that follows `head` to `out` and returns the new head.
/// `body` is canonical JSON; `kind` satisfies [`is_kind`].
pub(crate) fn compose(
    out: &mut Vec<u8>,
    head: Head,
    time: Timestamp,
    kind: &str,
    body: &[u8],
) -> Head {
    let Head { count: seq, hash: prev } = head;
    let start = out.len();
    out.extend_from_slice(b"{\"body\":");
    out.extend_from_slice(body);
    out.push(b',');
    let tail = format!(r#""kind":"{kind}","prev":"{prev}","seq":{seq},"time":"{time}"}}"#);
    let hash = digest(out.get(start..).unwrap_or_default(), tail.as_bytes());
    out.extend_from_slice(format!("\"hash\":\"{hash}\",{tail}\n").as_bytes());
    Head { count: seq + 1, hash }
}

fn digest(before: &[u8], after: &[u8]) -> Digest {
    let mut to = Digest::hasher();
    for part in [DOMAIN, before, after] {
        to.update(part);
    }
    to.finish()
}

/// A line taken apart. Only its layout is known to be right: neither that the body is JSON nor
/// that the hash is that of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) hash: Digest,
    pub(crate) hash_text: &'a [u8],
    pub(crate) kind: &'a str,
    /// Hash of the record before it, as text: it is right if it is the same text.
    pub(crate) prev: &'a [u8],
    pub(crate) seq: u64,
    pub(crate) time: Timestamp,
    before: &'a [u8],
    after: &'a [u8],
}

impl<'a> Line<'a> {
    /// Takes apart `line`, which has no LF at its end.
    pub(crate) fn split(line: &'a [u8]) -> Option<Self> {
        let rest = line.strip_suffix(b"\"}")?;
        let (rest, time) = cut_end(rest, TIME_LEN)?;
        let (rest, seq) = cut_digits(rest.strip_suffix(b",\"time\":\"")?)?;
        let (rest, prev) = cut_end(rest.strip_suffix(b"\",\"seq\":")?, DIGEST_LEN)?;
        let (rest, kind) = cut_kind(rest.strip_suffix(b"\",\"prev\":\"")?)?;
        let (rest, hash) = cut_end(rest.strip_suffix(b"\",\"kind\":\"")?, DIGEST_LEN)?;
        let body = rest.strip_suffix(b",\"hash\":\"")?.strip_prefix(b"{\"body\":")?;
        let before = line.get(..rest.len() - "\"hash\":\"".len())?;
        let after = line.get(rest.len() + DIGEST_LEN + "\",".len()..)?;
        let (hash_text, hash, time) = (hash, as_digest(hash)?, as_time(time)?);
        Some(Self { body, hash, hash_text, kind, prev, seq, time, before, after })
    }

    /// The hash that this line should carry.
    pub(crate) fn computed(&self) -> Digest {
        digest(self.before, self.after)
    }

    /// Is `prev` a digest at all?
    pub(crate) fn names_a_predecessor(&self) -> bool {
        as_digest(self.prev).is_some()
    }

    /// The head of a chain that ends in this line.
    pub(crate) fn head(&self) -> Head {
        Head { count: self.seq + 1, hash: self.hash }
    }
}

fn cut_end(text: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    text.split_at_checked(text.len().checked_sub(len)?)
}

/// Cuts a decimal number without leading zeros off the end.
fn cut_digits(text: &[u8]) -> Option<(&[u8], u64)> {
    let start = text.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let (rest, digits) = text.split_at_checked(start)?;
    if digits.starts_with(b"0") && digits.len() > 1 {
        return None;
    }
    let value: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (value <= MAX_SEQ).then_some((rest, value))
}

fn cut_kind(text: &[u8]) -> Option<(&[u8], &str)> {
    let (_, near) = cut_end(text, text.len().min(MAX_KIND + 1))?;
    let len = near.iter().rev().position(|byte| *byte == b'"')?;
    let (rest, kind) = cut_end(text, len)?;
    let kind = is_kind(kind).then_some(kind)?;
    Some((rest, std::str::from_utf8(kind).ok()?))
}

fn as_digest(text: &[u8]) -> Option<Digest> {
    Digest::parse(std::str::from_utf8(text).ok()?).ok()
}

fn as_time(text: &[u8]) -> Option<Timestamp> {
    Timestamp::parse(std::str::from_utf8(text).ok()?).ok()
}
