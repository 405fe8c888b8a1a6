//! SHA-256 digests and the two ways to make one.

use std::fmt;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "digest";
const PREFIX: &str = "sha256:";

/// A SHA-256 digest. Its text is `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several byte strings, such that no two different lists and no two domains
    /// share an input: SHA-256 over `domain`, LF, then for each part its length as a big-endian
    /// `u64` and its bytes. `domain` must not contain LF.
    #[must_use]
    pub fn of_parts(domain: &str, parts: &[&[u8]]) -> Self {
        let mut to = Self::hasher();
        to.update(domain.as_bytes());
        to.update(b"\n");
        for part in parts {
            to.update(&(part.len() as u64).to_be_bytes());
            to.update(part);
        }
        to.finish()
    }

    /// Starts a digest that is fed piece by piece.
    #[must_use]
    pub fn hasher() -> DigestWriter {
        DigestWriter(Sha256::new())
    }

    /// Takes 32 bytes as a digest that was computed elsewhere.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads `sha256:` and 64 lower-case hexadecimal digits, and nothing else.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::new(KIND, text, why);
        let hex = text.strip_prefix(PREFIX).ok_or_else(|| refuse("does not start with sha256:"))?;
        let digits: &[u8; 64] =
            hex.as_bytes().try_into().map_err(|_| refuse("does not have 64 hexadecimal digits"))?;
        let nibbles = digits.map(nibble);
        // All of them at once: a look at each by itself costs more than all the rest.
        if nibbles.iter().fold(0, |seen, nibble| seen | nibble) & NO_NIBBLE != 0 {
            return Err(refuse("has a character that is not 0-9 or a-f"));
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(nibbles.as_chunks().0) {
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }

    /// The 64 hexadecimal digits without the algorithm's name.
    #[must_use]
    pub fn hex(&self) -> String {
        String::from_utf8_lossy(&self.digits()).into_owned()
    }

    fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        let (pairs, _) = digits.as_chunks_mut();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        digits
    }

    /// The 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + (nibble - 10),
    }
}

/// A bit that no value of a digit has.
const NO_NIBBLE: u8 = 0x80;

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => NO_NIBBLE,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&String::from_utf8_lossy(&self.digits()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(Digest, KIND, Digest::parse);

/// A digest in the making. As an [`io::Write`] it never fails.
#[derive(Clone)]
pub struct DigestWriter(Sha256);

impl DigestWriter {
    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Debug for DigestWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestWriter")
    }
}

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn text_is_exact() {
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        assert_eq!(Digest::parse(EMPTY).unwrap(), Digest::of(b""));
        for (at, _) in EMPTY.char_indices().skip(PREFIX.len()) {
            let (head, tail) = EMPTY.split_at(at);
            let (_, tail) = tail.split_at(1);
            for other in ["/", ":", "`", "g", "A", "\u{80}", "\0"] {
                assert!(Digest::parse(&format!("{head}{other}{tail}")).is_err(), "{at} {other}");
            }
            for digit in "0123456789abcdef".chars() {
                let text = format!("{head}{digit}{tail}");
                assert_eq!(Digest::parse(&text).unwrap().to_string(), text);
            }
        }
        let upper = EMPTY.replace('e', "E");
        let (short, _) = EMPTY.split_at(EMPTY.len() - 1);
        for bad in ["", "sha256:", "sha512:00", &upper, short, &format!("{EMPTY}0")] {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pieces_equal_the_whole() {
        let mut pieces = Digest::hasher();
        pieces.write_all(b"ab").unwrap();
        pieces.update(b"c");
        assert_eq!(pieces.finish(), Digest::of(b"abc"));
    }

    #[test]
    fn parts_cannot_be_moved() {
        let whole = Digest::of_parts("d", &[b"ab", b"c"]);
        assert_ne!(whole, Digest::of_parts("d", &[b"a", b"bc"]));
        assert_ne!(whole, Digest::of_parts("e", &[b"ab", b"c"]));
        assert_ne!(Digest::of_parts("d", &[]), Digest::of_parts("d", &[b""]));
        let input = b"d\n\0\0\0\0\0\0\0\x02ab\0\0\0\0\0\0\0\x01c";
        assert_eq!(whole, Digest::of(input));
    }
}
