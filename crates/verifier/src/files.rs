//! The files that a receipt is judged by: read once, capped where they come from strangers.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ledger::{Flaw, MAX_RECEIPT, ReceiptError, Report, Requirements, TrustedKey, VerifyingKey};

use crate::content::Content;
use crate::trust_file::{Faults, LONGEST, read_trust};

/// Why a file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It can't be read.
    #[error("the {what} {} can't be read: {source}", shown(.path))]
    Unreadable {
        /// What it should be.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is no public key.
    #[error("{}: {problem}", shown(.path))]
    NoKey {
        /// Where.
        path: PathBuf,
        /// What it lacks.
        problem: String,
    },
    /// It is no trust file.
    #[error("{0}")]
    NoTrust(#[from] Faults),
}

/// The content of a receipt file, unless there is too much of it.
#[derive(Debug)]
pub enum ReceiptFile {
    /// The bytes.
    Read(Vec<u8>),
    /// It has at least so many, and was not read to its end.
    TooLarge(u64),
}

impl ReceiptFile {
    /// Reads the file, up to [`MAX_RECEIPT`].
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::capped(path).map_err(|source| unreadable("receipt", path, source))
    }

    fn capped(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        if size > MAX_RECEIPT {
            return Ok(Self::TooLarge(size));
        }
        // A pipe has no size, and a file can grow.
        let mut bytes = Vec::new();
        file.take(MAX_RECEIPT + 1).read_to_end(&mut bytes)?;
        Ok(match bytes.len() as u64 {
            read if read > MAX_RECEIPT => Self::TooLarge(read),
            _ => Self::Read(bytes),
        })
    }

    /// The verdicts on it.
    #[must_use]
    pub fn judge(&self, requirements: &Requirements<'_>) -> Report {
        match self {
            Self::Read(bytes) => Report::on(bytes, requirements),
            Self::TooLarge(bytes) => Report::unreadable(Flaw::from(ReceiptError::TooLarge {
                bytes: *bytes,
                limit: MAX_RECEIPT,
            })),
        }
    }
}

/// Reads a whole file; `what` is what it should be, in a word.
///
/// # Errors
/// When it can't be read.
pub fn read(path: &Path, what: &'static str) -> Result<Content, FileError> {
    Content::read(path).map_err(|source| unreadable(what, path, source))
}

/// Reads the file of a public key.
///
/// # Errors
/// When it can't be read, or is none.
pub fn read_key(path: &Path) -> Result<VerifyingKey, FileError> {
    let text = text(path, "key")?;
    VerifyingKey::parse(&text)
        .map_err(|error| FileError::NoKey { path: path.to_owned(), problem: error.to_string() })
}

/// Reads a trust file.
///
/// # Errors
/// When it can't be read, or with everything that is wrong with it.
pub fn read_trust_file(path: &Path) -> Result<Vec<TrustedKey>, FileError> {
    Ok(read_trust(&text(path, "trust file")?, &path.display().to_string())?)
}

/// What is read as text has a bound; what is no text is refused for what it lacks.
fn text(path: &Path, what: &'static str) -> Result<String, FileError> {
    let fault = |source| unreadable(what, path, source);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fault)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Everybody who is trusted. What a trust file says of a key outweighs that the key is also trusted
/// without any limit.
#[must_use]
pub fn together(mut trusted: Vec<TrustedKey>, without_limit: Vec<VerifyingKey>) -> Vec<TrustedKey> {
    for key in without_limit {
        if !trusted.iter().any(|known| known.key == key) {
            trusted.push(key.into());
        }
    }
    trusted
}

fn unreadable(what: &'static str, path: &Path, source: io::Error) -> FileError {
    FileError::Unreadable { what, path: path.to_owned(), source }
}

fn shown(path: &Path) -> String {
    names::printable(path.as_os_str().as_encoded_bytes())
}
