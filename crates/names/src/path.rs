//! A path inside the workspace.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "workspace path";

/// A path below the workspace's root, as the bytes that the file system has.
///
/// Relative and not empty; no component is empty, `.` or `..`; no NUL. That makes it safe to show
/// where it leads, not to walk it: a component may be a link, so open it beneath the root.
///
/// Its text (`Display`, JSON) is the path as UTF-8, with `%`, control bytes and bytes that are not
/// UTF-8 as `%XX`. Every path has exactly one text, and only that text is read back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(Vec<u8>);

impl WorkspacePath {
    /// Takes a path as the file system has it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NameError> {
        match fault(bytes) {
            Some(why) => Err(NameError::new(KIND, bytes, why)),
            None => Ok(Self(bytes.to_owned())),
        }
    }

    /// Takes a path as the file system has it.
    pub fn from_path(path: &Path) -> Result<Self, NameError> {
        Self::from_bytes(path.as_os_str().as_bytes())
    }

    /// Reads the text form. A text that no path has (`%41`, `%2f`, `%ZZ`) is refused.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let bytes = unescape(text.as_bytes())
            .ok_or_else(|| NameError::new(KIND, text, "has a '%' that two digits don't follow"))?;
        let path = Self::from_bytes(&bytes)?;
        if path.text() == text {
            Ok(path)
        } else {
            let why = "is not written in its only form";
            Err(NameError::new(KIND, text, why).help("only %, control and invalid bytes are %XX"))
        }
    }

    /// The text form.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        escape(&self.0)
    }

    /// The bytes that the file system has.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path for system calls, relative to the workspace's root.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// This path with one or more components added.
    pub fn join(&self, below: &[u8]) -> Result<Self, NameError> {
        match fault(below) {
            Some(why) => Err(NameError::new(KIND, below, why)),
            None => Ok(Self([&self.0, b"/".as_slice(), below].concat())),
        }
    }

    /// The components from the root down; never none.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|byte| *byte == b'/').next().unwrap_or(&self.0)
    }

    /// The directory that holds it; none if that is the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.ancestors().next()
    }

    /// The directories above it, nearest first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + '_ {
        let slashes = self.0.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        slashes.filter_map(|(at, _)| self.0.get(..at)).map(|head| Self(head.to_owned()))
    }

    /// Is this `directory` or below it?
    #[must_use]
    pub fn starts_with(&self, directory: &Self) -> bool {
        let rest = self.0.strip_prefix(directory.0.as_slice());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

fn fault(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("is empty");
    }
    if bytes.contains(&0) {
        return Some("has a NUL byte");
    }
    if bytes.starts_with(b"/") {
        return Some("is absolute");
    }
    bytes.split(|byte| *byte == b'/').find_map(|component| match component {
        b"" => Some("has an empty component"),
        b"." | b".." => Some("has a component '.' or '..'"),
        _ => None,
    })
}

fn must_escape(byte: u8) -> bool {
    byte == b'%' || byte.is_ascii_control()
}

fn escape(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.bytes().any(must_escape) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match u8::try_from(c) {
                Ok(byte) if must_escape(byte) => escape_byte(&mut out, byte),
                _ => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            escape_byte(&mut out, *byte);
        }
    }
    out
}

fn escape_byte(out: &mut String, byte: u8) {
    // Writing to a String has no error.
    let _ = write!(out, "%{byte:02X}");
}

fn unescape(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    while let Some(at) = text.iter().position(|byte| *byte == b'%') {
        let (plain, rest) = text.split_at_checked(at)?;
        let [_, high, low, after @ ..] = rest else { return None };
        out.extend_from_slice(plain);
        out.push(hex(*high)? << 4 | hex(*low)?);
        text = after;
    }
    out.extend_from_slice(text);
    Some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl AsRef<Path> for WorkspacePath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

as_text!(WorkspacePath, KIND, WorkspacePath::parse);
