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
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(refuse("does not have 64 hexadecimal digits"));
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let digits = nibble(*high).zip(nibble(*low));
            let (high, low) =
                digits.ok_or_else(|| refuse("has a character that is not 0-9 or a-f"))?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }

    /// The 64 hexadecimal digits without the algorithm's name.
    #[must_use]
    pub fn hex(&self) -> String {
        let digits = |byte: &u8| [digit(byte >> 4), digit(byte & 15)];
        self.0.iter().flat_map(digits).collect()
    }

    /// The 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&self.hex())
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
