//! The JSON form of paths: UTF-8, with `%`, control bytes and bytes that aren't UTF-8 written
//! `%XX`. It is exact and reversible, so no path is ever recorded as another one.
//!
//! Used through `#[serde(with = "path_text")]`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

pub(crate) fn encode(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '%' => push_escaped(&mut text, b"%"),
                _ if character.is_control() => {
                    push_escaped(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => text.push(character),
            }
        }
        push_escaped(&mut text, chunk.invalid());
    }
    text
}

fn push_escaped(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing into a String can't fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(nibble(rest.next()?)? << 4 | nibble(rest.next()?)?),
            plain => bytes.push(plain),
        }
    }
    Some(OsString::from_vec(bytes).into())
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(path))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(from)?;
    decode(&text).ok_or_else(|| D::Error::custom("a `%` without two hexadecimal digits"))
}

/// The same for several paths.
pub(crate) mod list {
    use std::path::PathBuf;

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| super::encode(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let paths = texts.iter().map(|text| super::decode(text)).collect::<Option<_>>();
        paths.ok_or_else(|| D::Error::custom("a `%` without two hexadecimal digits"))
    }
}

/// The same for an absent path.
pub(crate) mod maybe {
    use std::path::PathBuf;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(super::encode).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let path = super::decode(&text);
        path.map(Some).ok_or_else(|| D::Error::custom("a `%` without two hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_exact(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            prop_assert_eq!(decode(&encode(&path)), Some(path));
        }
    }

    #[test]
    fn looks_plain() {
        assert_eq!(encode(Path::new("/a b/ä%\n")), "/a b/ä%25%0A");
        assert_eq!(decode("%4"), None);
        assert_eq!(decode("%zz"), None);
    }
}
