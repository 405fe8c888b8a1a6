//! Packet lines: gitprotocol-common(5). No I/O.

use super::push::PushError;

/// Longest packet, its length included: gitprotocol-common(5).
pub const LONGEST: usize = 65520;
/// Bytes of a packet's length.
const LENGTH: usize = 4;

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pkt<'a> {
    /// `0000`.
    Flush,
    /// Its bytes, without the length; never empty.
    Data(&'a [u8]),
}

/// The packet at the start of `bytes`, and how long it is; `None` if it isn't whole. What protocol
/// version 2 adds (`0001`, `0002`) is no packet here, because nothing here speaks it.
pub fn read(bytes: &[u8]) -> Result<Option<(Pkt<'_>, usize)>, PushError> {
    let Some(digits) = bytes.get(..LENGTH) else {
        return if bytes.iter().all(is_digit) { Ok(None) } else { Err(PushError::Length) };
    };
    let length = length(digits).ok_or(PushError::Length)?;
    match length {
        0 => Ok(Some((Pkt::Flush, LENGTH))),
        1..=LENGTH => Err(PushError::Length),
        _ if length > LONGEST => Err(PushError::Length),
        _ => Ok(bytes.get(LENGTH..length).map(|data| (Pkt::Data(data), length))),
    }
}

/// Four lower case hexadecimal digits.
fn length(digits: &[u8]) -> Option<usize> {
    let text = str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| is_digit(&byte)));
    usize::from_str_radix(text?, 16).ok()
}

fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(byte)
}

/// Writes a packet; what is too long for one is cut.
pub fn write(to: &mut Vec<u8>, data: &[u8]) {
    let data = data.get(..LONGEST - LENGTH).unwrap_or(data);
    to.extend(format!("{:04x}", data.len() + LENGTH).bytes());
    to.extend(data);
}

/// Writes a flush packet.
pub fn flush(to: &mut Vec<u8>) {
    to.extend(b"0000");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets() {
        assert_eq!(read(b"0000rest"), Ok(Some((Pkt::Flush, 4))));
        assert_eq!(read(b"0006a\nrest"), Ok(Some((Pkt::Data(b"a\n"), 6))));
        for whole in [&b""[..], b"00", b"0006a", b"fff0"] {
            assert_eq!(read(whole), Ok(None), "{whole:?}");
        }
        for bad in [
            &b"0001"[..],
            b"0002",
            b"0003",
            b"0004",
            b"00A0",
            b"fff1",
            b"ffff",
            b" 006",
            b"+006",
            b"0x06",
            b"\0\0\0\0",
            b"G",
            b"0a-",
        ] {
            assert_eq!(read(bad), Err(PushError::Length), "{bad:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, b"hello");
        flush(&mut bytes);
        assert_eq!(read(&bytes), Ok(Some((Pkt::Data(b"hello"), 9))));
        let mut bytes = Vec::new();
        write(&mut bytes, &[b'x'; 100_000]);
        assert_eq!(bytes.len(), LONGEST);
        assert!(matches!(read(&bytes), Ok(Some((Pkt::Data(_), LONGEST)))));
    }
}
