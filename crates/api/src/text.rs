//! The JSON form of paths and arguments: UTF-8, with `%`, control bytes and bytes that aren't UTF-8
//! written `%XX`. It is exact and reversible, so no name is ever replaced by another one.
//!
//! Used through `#[serde(with = "text")]` and its siblings [`maybe`] and [`many`].

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

/// The JSON form of `value`.
pub fn encode(value: &OsStr) -> String {
    let mut text = String::with_capacity(value.len());
    for chunk in value.as_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|character| push_character(&mut text, character));
        chunk.invalid().iter().for_each(|byte| push_escaped(&mut text, *byte));
    }
    text
}

/// The value whose JSON form is `text`; `None` if a `%` isn't followed by two hexadecimal digits.
pub fn decode(text: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(hex(rest.next()?)? << 4 | hex(rest.next()?)?),
            plain => bytes.push(plain),
        }
    }
    Some(OsString::from_vec(bytes))
}

fn push_character(text: &mut String, character: char) {
    if character == '%' || character.is_control() {
        let mut buffer = [0; 4];
        character.encode_utf8(&mut buffer).bytes().for_each(|byte| push_escaped(text, byte));
    } else {
        text.push(character);
    }
}

fn push_escaped(text: &mut String, byte: u8) {
    // Writing into a String can't fail.
    let _ = write!(text, "%{byte:02X}");
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Serialises a path or an argument in its JSON form.
pub fn serialize<T: AsRef<OsStr>, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(value.as_ref()))
}

/// Reads back what [`serialize`] wrote.
pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    decode(&text)
        .map(T::from)
        .ok_or_else(|| D::Error::custom("% must be followed by two hexadecimal digits"))
}

/// The same for an optional value.
pub mod maybe {
    use std::ffi::{OsStr, OsString};

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    /// Serialises an optional path or argument.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(&super::encode(value.as_ref())),
            None => to.serialize_none(),
        }
    }

    /// Reads back what [`serialize`] wrote.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        match super::decode(&text) {
            Some(value) => Ok(Some(T::from(value))),
            None => Err(D::Error::custom("% must be followed by two hexadecimal digits")),
        }
    }
}

/// The same for a list.
pub mod many {
    use std::ffi::{OsStr, OsString};

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    /// Serialises a list of paths or arguments.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(
        values: &[T],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|value| super::encode(value.as_ref())))
    }

    /// Reads back what [`serialize`] wrote.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<T>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let values = texts.iter().map(|text| super::decode(text).map(T::from));
        values
            .collect::<Option<_>>()
            .ok_or_else(|| D::Error::custom("% must be followed by two hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (1..=255).collect();
        let value = OsString::from_vec(all);
        assert_eq!(decode(&encode(&value)), Some(value));
    }

    #[test]
    fn ordinary_names_read_as_themselves() {
        assert_eq!(encode(OsStr::new("src/größe.rs")), "src/größe.rs");
        assert_eq!(encode(OsStr::from_bytes(b"a%b\n\xff")), "a%25b%0A%FF");
    }

    #[test]
    fn a_broken_escape_is_refused() {
        assert_eq!(decode("%"), None);
        assert_eq!(decode("%2"), None);
        assert_eq!(decode("%+1"), None);
    }
}
