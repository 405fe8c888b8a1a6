//! Bytes that JSON carries exactly.

use std::ffi::{CString, NulError, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

/// Arguments, variables and paths are bytes, not text. Text travels as it is, anything else as
/// numbers, so that nothing is lost on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct Exact(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

impl Exact {
    /// These bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as the operating system's kind of string.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The bytes as a C string.
    ///
    /// # Errors
    /// When they hold a zero byte, which no program can be given.
    pub fn to_c_string(&self) -> Result<CString, NulError> {
        CString::new(self.0.as_slice())
    }
}

impl From<OsString> for Exact {
    fn from(string: OsString) -> Self {
        Self(string.into_vec())
    }
}

impl From<&OsStr> for Exact {
    fn from(string: &OsStr) -> Self {
        Self(string.as_bytes().to_vec())
    }
}

impl From<Form> for Exact {
    fn from(form: Form) -> Self {
        match form {
            Form::Text(text) => Self(text.into_bytes()),
            Form::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<Exact> for Form {
    fn from(exact: Exact) -> Self {
        String::from_utf8(exact.0).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_json() {
        for bytes in [&b"plain"[..], b"", b"a\nb\x1b", b"\xff\xfe not text", b"[1,2]"] {
            let json = serde_json::to_string(&Exact::new(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Exact>(&json).unwrap().as_bytes(), bytes);
        }
    }
}
