//! Ed25519 keys (RFC 8032) and their files: one line, `loop-ed25519 BASE64 [comment]` for a public
//! key and `loop-ed25519-secret BASE64 [comment]` for a secret one.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use names::{Digest, Secret};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

const PUBLIC: &str = "loop-ed25519";
const SECRET: &str = "loop-ed25519-secret";
/// No key file is longer, in bytes.
const MAX_FILE: u64 = 4096;

/// Why a key can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not one line of the form.
    #[error("not a key: it is not one line \"{expected} BASE64 [comment]\"")]
    Form {
        /// The word at its beginning.
        expected: &'static str,
    },
    /// The text is a secret key where a public one belongs. It is not repeated.
    #[error("this is a secret key; a public key is expected here")]
    IsSecret,
    /// The base64 is not 32 bytes.
    #[error("not a key: its base64 is not 32 bytes")]
    Encoding,
    /// The bytes are not a point of the curve that can be trusted.
    #[error("not a key: its bytes are not a usable point of the curve")]
    Point,
    /// The file can't be used.
    #[error("the key file {path} could not be {what}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operation, as a participle.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Somebody else could have read or written the file.
    #[error("the key file {path} is not private: {problem}")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// In what way.
        problem: &'static str,
    },
}

/// Names a public key: `ed25519:` and the first 16 hexadecimal digits of its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&names::printable(self.0.as_bytes()))
    }
}

/// A key that checks signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// Reads the text of a public key file.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = match decode(text, PUBLIC) {
            Err(KeyError::Form { .. }) if text.starts_with(SECRET) => Err(KeyError::IsSecret),
            other => other,
        }?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Point)?;
        if key.is_weak() { Err(KeyError::Point) } else { Ok(Self(key)) }
    }

    /// The text of a public key file, with its LF.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{PUBLIC} {}\n", STANDARD.encode(self.0.as_bytes()))
    }

    /// The id of this key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let hex = Digest::of(self.0.as_bytes()).hex();
        KeyId(format!("ed25519:{}", hex.get(..16).unwrap_or_default()))
    }

    /// Is `signature` one that this key made over `message`? Strict: no second form of a
    /// signature is accepted.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifyingKey").field(&self.id()).finish()
    }
}

/// A key that makes signatures. It has no form that prints.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of 32 random bytes of the system.
    #[must_use]
    pub fn generate(random: [u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(&random))
    }

    /// Reads the text of a secret key file.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Ok(Self::generate(decode(text, SECRET)?))
    }

    /// The text of a secret key file, with its LF.
    #[must_use]
    pub fn to_text(&self) -> Secret<String> {
        Secret::new(format!("{SECRET} {}\n", STANDARD.encode(self.0.as_bytes())))
    }

    /// Reads a secret key file: a regular file of this user that nobody else can open.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let fault = |what| move |source| KeyError::File { path: path.to_owned(), what, source };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .map_err(fault("opened"))?;
        let meta = file.metadata().map_err(fault("opened"))?;
        if let Some(problem) = exposure(&meta) {
            return Err(KeyError::Exposed { path: path.to_owned(), problem });
        }
        let mut text = String::new();
        file.take(MAX_FILE).read_to_string(&mut text).map_err(fault("read"))?;
        Self::parse(&text)
    }

    /// Makes a key of 32 random bytes and its file, which must not exist; it is readable by this
    /// user only, and durable when this returns.
    pub fn create(path: &Path, random: [u8; 32]) -> Result<Self, KeyError> {
        let fault = |what| move |source| KeyError::File { path: path.to_owned(), what, source };
        let key = Self::generate(random);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(fault("created"))?;
        file.write_all(key.to_text().expose().as_bytes()).map_err(fault("written"))?;
        file.sync_all().map_err(fault("synced"))?;
        Ok(key)
    }

    /// The public half.
    #[must_use]
    pub fn verifying(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// The id of the public half.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.verifying().id()
    }

    /// Signs `message`.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.id()).finish()
    }
}

/// What lets others reach the file.
fn exposure(meta: &std::fs::Metadata) -> Option<&'static str> {
    match meta {
        meta if !meta.is_file() => Some("it is not a regular file"),
        meta if meta.uid() != rustix::process::geteuid().as_raw() => {
            Some("it belongs to another user")
        }
        meta if meta.mode() & 0o077 != 0 => Some("others may open it; set its mode to 0600"),
        _ => None,
    }
}

fn decode(text: &str, word: &'static str) -> Result<[u8; 32], KeyError> {
    let form = || KeyError::Form { expected: word };
    let line = text.strip_suffix('\n').unwrap_or(text);
    if line.chars().any(char::is_control) {
        return Err(form());
    }
    let mut parts = line.splitn(3, ' ');
    let (first, base64) = parts.next().zip(parts.next()).ok_or_else(form)?;
    if first != word {
        return Err(form());
    }
    let bytes = STANDARD.decode(base64).map_err(|_| KeyError::Encoding)?;
    bytes.try_into().map_err(|_| KeyError::Encoding)
}
