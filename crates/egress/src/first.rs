//! What a client speaks, by its first bytes. No I/O.
//!
//! TLS and HTTP are checked for the name they carry, whatever the port; the rest is bytes that
//! nobody but the destination understands. A client that says nothing for a while is not guessed
//! about: whenever its first bytes come, they decide. What a server says before is passed on, so
//! protocols in which it speaks first work; one that turns to TLS later (STARTTLS) carries its
//! name unseen, to an address that was checked.

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// TLS.
    Tls,
    /// HTTP/1, or something that a lenient server would take for it.
    Http,
    /// Anything else.
    Other,
}

/// Longest method that is looked for.
const MAX_METHOD: usize = 32;

impl Speech {
    /// What `bytes` are the beginning of; `None` if it takes more to tell.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [] | [22] => return None,
            [22, 3, ..] => return Some(Self::Tls),
            _ => {}
        }
        // Servers skip empty lines and white space before a request (RFC 9112 section 2.2).
        let is_blank = |byte: &u8| matches!(byte, b'\r' | b'\n' | b' ' | b'\t');
        let start = bytes.iter().position(|byte| !is_blank(byte))?;
        let bytes = bytes.get(start..).unwrap_or_default();
        let end = bytes.iter().position(|byte| !crate::http::wire::is_token(*byte));
        let Some(end) = end else {
            return (bytes.len() > MAX_METHOD).then_some(Self::Other);
        };
        let (method, rest) = bytes.split_at_checked(end).unwrap_or_default();
        if method.is_empty() || !rest.iter().any(|byte| !matches!(byte, b' ' | b'\t')) {
            let spaced = !method.is_empty() && rest.len() <= MAX_METHOD;
            return if spaced { None } else { Some(Self::Other) };
        }
        let is_spaced = rest.starts_with(b" ") || rest.starts_with(b"\t");
        let target = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        let is_target = target.is_some_and(|byte| b"/*hH".contains(byte)) || method == b"CONNECT";
        Some(if is_spaced && is_target { Self::Http } else { Self::Other })
    }
}
