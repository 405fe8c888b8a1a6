//! What a client speaks, by its first bytes. No I/O.
//!
//! TLS and HTTP are checked for the name they carry, whatever the port; the rest is bytes that
//! nobody but the destination understands. A client that says nothing for a while is not guessed
//! about: whenever its first bytes come, they decide. What a server says before is passed on, so
//! protocols in which it speaks first work, and there only TLS is looked for. One that turns to
//! TLS later (STARTTLS) carries its name unseen, to an address that was checked.

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

/// Most bytes of a first line that are waited for.
const MAX_LINE: usize = 8 * 1024;
const MAX_METHOD: usize = 32;

impl Speech {
    /// What `bytes` are the beginning of; `None` if it takes more to tell.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [] | [22] => None,
            [22, 3, ..] => Some(Self::Tls),
            _ => Self::of_text(bytes),
        }
    }

    /// What the first bytes of a client are after its server spoke: no server of HTTP does.
    #[must_use]
    pub fn of_answer(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [] | [22] => None,
            [22, 3, ..] => Some(Self::Tls),
            _ => Some(Self::Other),
        }
    }

    /// HTTP is a line of a method, white space and, before its end, a version. Without a version
    /// (HTTP/0.9) there are no fields, and so no other host.
    fn of_text(bytes: &[u8]) -> Option<Self> {
        // Servers skip empty lines before a request (RFC 9112 section 2.2).
        let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
        let Some(start) = start else { return too_long(bytes).then_some(Self::Http) };
        let bytes = bytes.get(start..).unwrap_or_default();
        let is_line_end = |byte: &u8| *byte < b' ' && *byte != b'\t';
        let end = bytes.iter().position(is_line_end);
        let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if !may_begin_request(line) {
            return Some(Self::Other);
        }
        if line.windows(5).any(|part| part.eq_ignore_ascii_case(b"http/")) {
            return Some(Self::Http);
        }
        (end.is_some() || too_long(bytes)).then_some(Self::Other)
    }
}

fn too_long(bytes: &[u8]) -> bool {
    bytes.len() > MAX_LINE
}

/// A method, or the beginning of one, and white space after it.
fn may_begin_request(line: &[u8]) -> bool {
    let is_token = |byte: &u8| crate::http::wire::is_token(*byte);
    let end = line.iter().position(|byte| !is_token(byte)).unwrap_or(line.len());
    let after = line.get(end);
    (1..=MAX_METHOD).contains(&end) && after.is_none_or(|byte| matches!(byte, b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_is_told_as_soon_as_it_can_be() {
        let cases: &[(&[u8], Option<Speech>)] = &[
            (b"", None),
            (b"\x16", None),
            (b"\x16\x03", Some(Speech::Tls)),
            (b"\x16\x02", Some(Speech::Other)),
            (b"GET", None),
            (b"GET /", None),
            (b"GET / HTTP/", Some(Speech::Http)),
            (b"\r\n\r\nGET / HTTP/1.1", Some(Speech::Http)),
            (b"get\t/ http/1.1", Some(Speech::Http)),
            (b"PRI * HTTP/2.0\r\n", Some(Speech::Http)),
            (b"GET /\r\n", Some(Speech::Other)),
            (b"SSH-2.0-OpenSSH\r\n", Some(Speech::Other)),
            (b"HELO host\r\n", Some(Speech::Other)),
            (b"*1\r\n$4\r\nPING\r\n", Some(Speech::Other)),
            (b"0032git-upload-pack /a.git\0host=b\0", Some(Speech::Other)),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Some(Speech::Other)),
            (b" GET / HTTP/1.1", Some(Speech::Other)),
        ];
        for (bytes, speech) in cases {
            assert_eq!(Speech::of(bytes), *speech, "{}", names::printable(bytes));
        }
        assert_eq!(Speech::of(&b"\r\n".repeat(5000)), Some(Speech::Http));
        assert_eq!(Speech::of(&[b'a'; 33]), Some(Speech::Other));
        assert_eq!(Speech::of_answer(b"USER"), Some(Speech::Other));
    }
}
