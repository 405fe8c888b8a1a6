//! Reading JSON that need not be canonical, but must have one meaning.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::{CanonicalError, MAX_DEPTH, check};

/// Reads a value. White space and any order of members are fine; the same member twice, nesting
/// beyond [`MAX_DEPTH`] and anything after the value are not, also where `T` ignores it.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, CanonicalError> {
    let content = |error: serde_json::Error| CanonicalError::Content(error.to_string());
    if check(text).is_err() {
        let mut reader = serde_json::Deserializer::from_slice(text);
        let unique = Unique { depth: 0 }.deserialize(&mut reader);
        unique.and_then(|()| reader.end()).map_err(content)?;
    }
    serde_json::from_slice(text).map_err(content)
}

/// Reads a value from text that [`check`] accepted, without checking it again.
pub fn parse_checked<T: DeserializeOwned>(text: &[u8]) -> Result<T, CanonicalError> {
    serde_json::from_slice(text).map_err(|error| CanonicalError::Content(error.to_string()))
}

/// Is `text` JSON, or the beginning of it, in which one object has the same member twice? This
/// tells the reason for a refusal that [`check`] gave; it costs an allocation per member.
#[must_use]
pub fn repeats_a_member(text: &[u8]) -> bool {
    let unique = Unique { depth: 0 }.deserialize(&mut serde_json::Deserializer::from_slice(text));
    unique.is_err_and(|error| error.is_data() && error.to_string().contains(TWICE))
}

/// What the error of [`Unique`] says.
const TWICE: &str = "appears twice";

/// Walks any value and fails at the second of two equal keys.
#[derive(Clone, Copy)]
struct Unique {
    depth: usize,
}

impl Unique {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(CanonicalError::Depth));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while array.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        let mut seen = HashSet::new();
        while let Some(key) = object.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(de::Error::custom(format_args!("the member {key:?} {TWICE}")));
            }
            seen.insert(key);
            object.next_value_seed(inner)?;
        }
        Ok(())
    }
}
