//! Queries to the name server and its answers (RFC 1035): hostile bytes → [`Query`]. No I/O.
//!
//! One question, no compression, no trailing bytes; an OPT record (RFC 6891) may follow, and
//! nothing else.

use std::net::{Ipv4Addr, Ipv6Addr};

const HEADER: usize = 12;
/// Longest name, with its lengths (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 255;
const MAX_LABEL: u8 = 63;
const OPT: u16 = 41;
/// Seconds for which an answer holds; it holds for the whole run.
const TTL: u32 = 300;
/// Most bytes of a datagram that we say we take.
const PAYLOAD: u16 = 1232;

/// Why bytes are not a query that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Too short to be answered at all.
    #[error("the query has no header")]
    NoHeader,
    /// A response, or another operation than a query.
    #[error("it is not a standard query")]
    NotQuery,
    /// Other than one question, or records that don't belong there.
    #[error("the query doesn't have exactly one question")]
    Counts,
    /// A label that is too long, compressed, or cut off.
    #[error("the name of the query is malformed")]
    Name,
    /// Bytes are missing, or left over.
    #[error("the query is cut off or has trailing bytes")]
    Length,
    /// Another class than IN.
    #[error("the class of the query is not IN")]
    Class,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An IPv4 address.
    A,
    /// An IPv6 address.
    Aaaa,
    /// The name of an address.
    Ptr,
    /// Anything.
    Any,
    /// Something else.
    Other(u16),
}

impl Kind {
    fn of(number: u16) -> Self {
        match number {
            1 => Self::A,
            12 => Self::Ptr,
            28 => Self::Aaaa,
            255 => Self::Any,
            other => Self::Other(other),
        }
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    id: u16,
    recursion: bool,
    extended: bool,
    /// The question as it came, to be repeated in the answer.
    question: Vec<u8>,
    /// The name, in lower case, without the last dot; bytes that a name can't have are escaped.
    pub name: String,
    /// What is asked for.
    pub kind: Kind,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// An address.
    V4(Ipv4Addr),
    /// An address.
    V6(Ipv6Addr),
    /// A name.
    Name(String),
    /// The name exists, and has nothing of that kind.
    Nothing,
    /// It is refused.
    Refused,
}

impl Query {
    /// Reads a query, which is all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, QueryError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(QueryError::NoHeader);
        };
        let [id_high, id_low, flags, _, counts @ ..] = header;
        // QR and the operation must be 0; TC means that bytes are missing.
        if flags & 0b1111_1010 != 0 {
            return Err(QueryError::NotQuery);
        }
        let extended = match counts {
            [0, 1, 0, 0, 0, 0, 0, 0] => false,
            [0, 1, 0, 0, 0, 0, 0, 1] => true,
            _ => return Err(QueryError::Counts),
        };
        let (name, length) = read_name(rest)?;
        let (question, after) = rest.split_at_checked(length + 4).ok_or(QueryError::Length)?;
        let [kind_high, kind_low, class_high, class_low] =
            question.get(length..).unwrap_or_default()
        else {
            return Err(QueryError::Length);
        };
        if (*class_high, *class_low) != (0, 1) {
            return Err(QueryError::Class);
        }
        check_additional(after, extended)?;
        Ok(Self {
            id: u16::from_be_bytes([*id_high, *id_low]),
            recursion: flags & 1 != 0,
            extended,
            question: question.to_vec(),
            name,
            kind: Kind::of(u16::from_be_bytes([*kind_high, *kind_low])),
        })
    }

    /// The response with this answer.
    #[must_use]
    pub fn answer(&self, answer: &Answer) -> Vec<u8> {
        let refused = *answer == Answer::Refused;
        let record = record(answer);
        let mut bytes = Vec::with_capacity(HEADER + self.question.len() + 64);
        bytes.extend(self.id.to_be_bytes());
        // QR, AA, and RD as it came; RA, and the response code.
        bytes.push(0b1000_0100 | u8::from(self.recursion));
        bytes.push(0b1000_0000 | if refused { REFUSED } else { 0 });
        bytes.extend([0, 1, 0, u8::from(record.is_some()), 0, 0, 0, u8::from(self.extended)]);
        bytes.extend(&self.question);
        bytes.extend(record.unwrap_or_default());
        if self.extended {
            bytes.push(0);
            bytes.extend(OPT.to_be_bytes());
            bytes.extend(PAYLOAD.to_be_bytes());
            bytes.extend([0; 6]);
        }
        bytes
    }
}

const REFUSED: u8 = 5;

/// The response to bytes that are no query, if they have so much as a header.
#[must_use]
pub fn refusal(bytes: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = bytes.split_first_chunk::<HEADER>()?;
    let [id_high, id_low, flags, ..] = header;
    // A response is never answered: two servers would answer each other for ever.
    let is_response = flags & 0x80 != 0;
    let refusal = [*id_high, *id_low, 0x80 | flags & 0x79, REFUSED, 0, 0, 0, 0, 0, 0, 0, 0];
    (!is_response).then(|| refusal.to_vec())
}

/// The name at the start, and how many bytes it takes.
fn read_name(bytes: &[u8]) -> Result<(String, usize), QueryError> {
    let mut name = String::new();
    let mut rest = bytes;
    loop {
        let used = bytes.len() - rest.len();
        match rest {
            _ if used >= MAX_NAME => return Err(QueryError::Name),
            [0, ..] => return Ok((name, used + 1)),
            [length @ 1..=MAX_LABEL, after @ ..] => {
                let (label, after) =
                    after.split_at_checked(usize::from(*length)).ok_or(QueryError::Length)?;
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(&label_text(label));
                rest = after;
            }
            [] => return Err(QueryError::Length),
            _ => return Err(QueryError::Name),
        }
    }
}

/// A label as text. A dot within a label would be taken for the end of one, so it is escaped, as
/// is everything else that no host name has; an escaped name is no host.
fn label_text(label: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if label.iter().all(plain) {
        return String::from_utf8_lossy(label).to_ascii_lowercase();
    }
    let escape = |byte: &u8| {
        if plain(byte) { char::from(*byte).to_string() } else { format!("\\{byte:03}") }
    };
    label.iter().map(escape).collect()
}

/// Nothing, or one OPT record at the root.
fn check_additional(bytes: &[u8], extended: bool) -> Result<(), QueryError> {
    match (bytes, extended) {
        ([], false) => Ok(()),
        ([0, high, low, _, _, _, _, _, _, length_high, length_low, data @ ..], true)
            if u16::from_be_bytes([*high, *low]) == OPT =>
        {
            let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
            (data.len() == length).then_some(()).ok_or(QueryError::Length)
        }
        _ => Err(QueryError::Length),
    }
}

/// The answer as a record about the name of the question.
fn record(answer: &Answer) -> Option<Vec<u8>> {
    let (kind, data): (u16, Vec<u8>) = match answer {
        Answer::V4(address) => (1, address.octets().to_vec()),
        Answer::V6(address) => (28, address.octets().to_vec()),
        Answer::Name(name) => (12, encode_name(name)),
        Answer::Nothing | Answer::Refused => return None,
    };
    // A pointer to the name of the question.
    let mut record = vec![0xc0, 12];
    record.extend(kind.to_be_bytes());
    record.extend([0, 1]);
    record.extend(TTL.to_be_bytes());
    record.extend(u16::try_from(data.len()).unwrap_or_default().to_be_bytes());
    record.extend(data);
    Some(record)
}

/// A canonical host name, whose labels are short.
fn encode_name(name: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap_or_default());
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    bytes
}
