//! The first message of a TLS client: hostile bytes → [`ClientHello`]. No I/O.
//!
//! Only what decides is read: for whom the connection is (RFC 6066 section 3) and which protocols
//! the client speaks (RFC 7301). A name that is missing, repeated or encrypted is an error: what
//! can't be seen can't be decided about.

use names::{Host, NameError};

/// Most bytes of a client hello, with the records around it.
pub const MAX_HELLO: usize = 64 * 1024;
/// Most bytes of the content of a record (RFC 8446 section 5.1).
const MAX_RECORD: usize = 1 << 14;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const CLIENT_HELLO: u8 = 1;

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const EARLY_DATA: u16 = 42;
/// Encrypted client hello, its forerunner, and its inner extension. What a client sends as grease
/// can't be told from the real thing, so all are refused.
const ENCRYPTED: &[u16] = &[0xfe0d, 0xffce, 0xfd00];

/// Why bytes are not a client hello that names one host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    /// Not a handshake record, or not a client's.
    #[error("it is not a TLS client hello")]
    NotHello,
    /// A length or a list that doesn't add up.
    #[error("the TLS client hello is malformed")]
    Malformed,
    /// Larger than [`MAX_HELLO`].
    #[error("the TLS client hello is larger than 64 KiB")]
    TooLarge,
    /// No server name.
    #[error("the TLS client hello names no server")]
    NoName,
    /// The true name may be encrypted.
    #[error("the TLS client hello is encrypted, so the server's name can't be checked")]
    Encrypted,
    /// A server name that is not a host name.
    #[error("{0}")]
    Name(#[from] NameError),
}

/// What a TLS client says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// The server's name.
    pub server_name: Host,
    /// The protocols that the client offers, best first: `h2`, `http/1.1`.
    pub protocols: Vec<Vec<u8>>,
    /// Whether data follows before the server has answered (RFC 8446 section 4.2.10).
    pub early_data: bool,
    /// How many bytes it took, with the records around it.
    pub length: usize,
}

impl ClientHello {
    /// Reads the hello at the start of `bytes`; `None` if it isn't whole. What can't become one
    /// is found as early as it comes.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, HelloError> {
        match message(bytes)? {
            Some((message, length)) => hello(&message, length).map(Some),
            None if bytes.len() >= MAX_HELLO => Err(HelloError::TooLarge),
            None => Ok(None),
        }
    }
}

/// Follows the records after a hello. A server may ask for a second one (RFC 8446 section 4.1.4),
/// which must name the same server; some servers would not mind another.
#[derive(Debug, Clone)]
pub(crate) struct Follower {
    early_data: bool,
    left: usize,
}

/// What the bytes after a hello are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    /// So many of them belong to no second hello; the rest is too little to tell.
    On(usize),
    /// After so many of them begins a handshake message, which may be one.
    Handshake(usize),
    /// No second hello can come any more.
    Done,
}

impl Follower {
    /// Follows what comes after a hello.
    pub(crate) fn after(hello: &ClientHello) -> Self {
        Self { early_data: hello.early_data, left: 0 }
    }

    /// Says what `bytes` are, which follow those that it said belong to no second hello.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Followed {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let skipped = self.left.min(rest.len());
            self.left -= skipped;
            at += skipped;
            let Some([kind, _, _, high, low]) =
                rest.get(skipped..).and_then(<[u8]>::first_chunk::<5>)
            else {
                return Followed::On(at);
            };
            match *kind {
                HANDSHAKE => return Followed::Handshake(at),
                CHANGE_CIPHER_SPEC | ALERT => {}
                APPLICATION_DATA if self.early_data => {}
                _ => return Followed::Done,
            }
            self.left = usize::from(u16::from_be_bytes([*high, *low]));
            at += 5;
        }
    }
}

/// Whether a handshake record begins with a client hello; `None` if it takes more to tell.
pub(crate) fn begins_hello(record: &[u8]) -> Option<bool> {
    record.get(5).map(|kind| *kind == CLIENT_HELLO)
}

/// A fatal alert, as bytes of a record (RFC 8446 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// The bytes are no proper hello.
    DecodeError = 50,
    /// The connection is refused.
    AccessDenied = 49,
    /// It is ours: the ledger failed, or the destination can't be reached.
    InternalError = 80,
    /// The name is missing, or another than the one that was allowed.
    UnrecognizedName = 112,
}

impl Alert {
    /// The record to send.
    #[must_use]
    pub fn record(self) -> [u8; 7] {
        [ALERT, 3, 3, 0, 2, 2, self as u8]
    }
}

/// The body of the client hello, out of as many records as it takes, and the bytes of these.
fn message(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, HelloError> {
    let mut rest = bytes;
    let mut content = Vec::new();
    loop {
        match rest {
            [] => return Ok(None),
            [HANDSHAKE] | [HANDSHAKE, 3] => return Ok(None),
            [HANDSHAKE, 3, 0..=4] | [HANDSHAKE, 3, 0..=4, _] => return Ok(None),
            [HANDSHAKE, 3, 0..=4, high, low, after @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if !(1..=MAX_RECORD).contains(&length) {
                    return Err(HelloError::Malformed);
                }
                let whole = after.split_at_checked(length);
                let (part, more) = whole.unwrap_or((after, &[]));
                content.extend(part);
                match body(&content, whole.is_some())? {
                    Some(body) if whole.is_some() => {
                        return Ok(Some((body.to_vec(), bytes.len() - more.len())));
                    }
                    _ if whole.is_none() => return Ok(None),
                    _ => rest = more,
                }
            }
            _ => return Err(HelloError::NotHello),
        }
    }
}

/// The body of the handshake message in `content`, once it is whole. It must end where its last
/// record `ends`.
fn body(content: &[u8], ends: bool) -> Result<Option<&[u8]>, HelloError> {
    let [kind, high, middle, low, rest @ ..] = content else {
        return match content {
            [] | [CLIENT_HELLO, ..] => Ok(None),
            _ => Err(HelloError::NotHello),
        };
    };
    if *kind != CLIENT_HELLO {
        return Err(HelloError::NotHello);
    }
    let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
    if length > MAX_HELLO {
        return Err(HelloError::TooLarge);
    }
    match rest.len().cmp(&length) {
        std::cmp::Ordering::Less => Ok(None),
        std::cmp::Ordering::Equal if ends => Ok(Some(rest)),
        _ => Err(HelloError::Malformed),
    }
}

/// RFC 8446 section 4.1.2.
fn hello(body: &[u8], length: usize) -> Result<ClientHello, HelloError> {
    let mut reader = Reader(body);
    let version = reader.number()?;
    if !(0x0300..=0x0303).contains(&version) {
        return Err(HelloError::Malformed);
    }
    reader.take(32)?;
    let session = reader.short()?;
    let suites = reader.long()?;
    let compressions = reader.short()?;
    let odd = session.0.len() > 32 || suites.0.is_empty() || !suites.0.len().is_multiple_of(2);
    if odd || compressions.0.is_empty() {
        return Err(HelloError::Malformed);
    }
    if reader.is_empty() {
        return Err(HelloError::NoName);
    }
    let extensions = reader.long()?;
    if !reader.is_empty() {
        return Err(HelloError::Malformed);
    }
    read_extensions(extensions).map(|hello| ClientHello { length, ..hello })
}

fn read_extensions(mut extensions: Reader<'_>) -> Result<ClientHello, HelloError> {
    let mut seen = Vec::new();
    let mut name = None;
    let mut protocols = Vec::new();
    let (mut encrypted, mut early_data) = (false, false);
    while !extensions.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.long()?;
        if seen.contains(&kind) {
            return Err(HelloError::Malformed);
        }
        seen.push(kind);
        match kind {
            SERVER_NAME => name = Some(server_name(content)?),
            ALPN => protocols = read_protocols(content)?,
            EARLY_DATA => early_data = true,
            kind => encrypted |= ENCRYPTED.contains(&kind),
        }
    }
    if encrypted {
        return Err(HelloError::Encrypted);
    }
    let server_name = name.ok_or(HelloError::NoName)?;
    Ok(ClientHello { server_name, protocols, early_data, length: 0 })
}

/// One name of the one kind there is. Only a name in its canonical form, but for case, counts: the
/// server sees the bytes, not our reading of them.
fn server_name(mut content: Reader<'_>) -> Result<Host, HelloError> {
    let mut list = content.long()?;
    let kind = list.take(1)?;
    let name = list.long()?;
    if kind != [0] || !list.is_empty() || !content.is_empty() {
        return Err(HelloError::Malformed);
    }
    let text = str::from_utf8(name.0).map_err(|_| HelloError::Malformed)?;
    let host = Host::parse(text)?;
    let canonical = host.as_str().eq_ignore_ascii_case(text);
    canonical.then_some(host).ok_or(HelloError::Malformed)
}

fn read_protocols(mut content: Reader<'_>) -> Result<Vec<Vec<u8>>, HelloError> {
    let mut list = content.long()?;
    let mut protocols = Vec::new();
    while !list.is_empty() {
        let name = list.short()?.0;
        if name.is_empty() {
            return Err(HelloError::Malformed);
        }
        protocols.push(name.to_vec());
    }
    let sound = content.is_empty() && !protocols.is_empty();
    sound.then_some(protocols).ok_or(HelloError::Malformed)
}

/// Bytes that are taken from the front.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], HelloError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(HelloError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u16, HelloError> {
        match self.take(2)? {
            [high, low] => Ok(u16::from_be_bytes([*high, *low])),
            _ => Err(HelloError::Malformed),
        }
    }

    /// What a length of one byte announces.
    fn short(&mut self) -> Result<Self, HelloError> {
        let length = self.take(1)?.first().copied().unwrap_or_default();
        self.take(usize::from(length)).map(Self)
    }

    /// What a length of two bytes announces.
    fn long(&mut self) -> Result<Self, HelloError> {
        let length = self.number()?;
        self.take(usize::from(length)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(early_data: bool) -> Follower {
        Follower { early_data, left: 0 }
    }

    #[test]
    fn a_second_hello_is_looked_for_until_none_can_come() {
        let change = [20, 3, 3, 0, 1, 1];
        let data = [23, 3, 3, 0, 2, 22, 22];
        let hello = [22, 3, 3, 0, 4, 1, 0, 0, 0];
        let cases: [(bool, Vec<u8>, Followed); 6] = [
            (false, change.to_vec(), Followed::On(6)),
            (false, [&change[..], &hello].concat(), Followed::Handshake(6)),
            (false, [&change[..], &data].concat(), Followed::Done),
            (true, [&data[..], &data, &hello].concat(), Followed::Handshake(14)),
            (true, data[..6].to_vec(), Followed::On(6)),
            (false, change[..4].to_vec(), Followed::On(0)),
        ];
        for (early, bytes, followed) in cases {
            assert_eq!(follower(early).next(&bytes), followed, "{bytes:?}");
        }
        assert_eq!((begins_hello(&hello), begins_hello(&hello[..5])), (Some(true), None));
    }

    #[test]
    fn records_may_come_in_any_pieces() {
        let bytes = [&[20, 3, 3, 0, 1, 1][..], &[23, 3, 3, 1, 0], &[22; 256], &[22, 3, 3, 0, 4, 1]];
        let bytes = bytes.concat();
        let (mut follower, mut at, mut seen) = (follower(true), 0, 0);
        loop {
            match follower.next(&bytes[at..seen]) {
                Followed::On(passed) => at += passed,
                Followed::Handshake(passed) => break at += passed,
                Followed::Done => panic!("done at {at}"),
            }
            seen += 1;
        }
        assert_eq!(at, 6 + 5 + 256);
    }
}
