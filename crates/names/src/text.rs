//! Serialisation of names as text: a name is read back only through its parser.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};

use crate::NameError;

/// Visits a string and parses it, without keeping a copy of the text.
pub(crate) struct Parsed<T> {
    expecting: &'static str,
    parse: fn(&str) -> Result<T, NameError>,
    made: PhantomData<T>,
}

impl<T> Parsed<T> {
    pub(crate) fn new(expecting: &'static str, parse: fn(&str) -> Result<T, NameError>) -> Self {
        Self { expecting, parse, made: PhantomData }
    }
}

impl<T> Visitor<'_> for Parsed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}", self.expecting)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

/// Implements `FromStr`, `Serialize` (through `Display`) and `Deserialize` (through the parser).
macro_rules! as_text {
    ($name:ident, $kind:expr, $parse:path) => {
        impl std::str::FromStr for $name {
            type Err = $crate::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str($crate::text::Parsed::new($kind, $parse))
            }
        }
    };
}

pub(crate) use as_text;
