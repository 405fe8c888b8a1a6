//! The machine and its owner: `loop key`, `init`, `trust` and `doctor`.

use std::path::PathBuf;

use names::Digest;
use serde::{Deserialize, Serialize};

use crate::text;

/// The three directories an engine works with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Homes {
    /// The person's home directory.
    #[serde(with = "text")]
    pub home: PathBuf,
    /// Loop's own state: `config.toml`, `profiles/`, `run/`. Usually `~/.loop`.
    #[serde(with = "text")]
    pub state: PathBuf,
    /// Keys and the record of trust. Usually `$XDG_CONFIG_HOME/loop`.
    #[serde(with = "text")]
    pub config: PathBuf,
}

/// The signing key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// Its id.
    pub id: String,
    /// The public key in a line, as `loop receipt verify --key` reads it.
    pub public: String,
    /// The public key's file.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// Whether it was made just now.
    pub created: bool,
}

/// A public key whose receipts this machine trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedKey {
    /// Its id.
    pub id: String,
    /// The public key in a line.
    pub public: String,
    /// Its file.
    #[serde(with = "text")]
    pub path: PathBuf,
}

/// Whose receipts this machine trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// Keys that may sign for everything.
    pub keys: Vec<TrustedKey>,
    /// The file that says of keys what each may sign for, if there is one. What it says of a key
    /// outweighs that the key is also among `keys`.
    pub file: Option<TrustFile>,
}

/// The trust file of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFile {
    /// Where it is.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// Its text, TOML.
    pub text: String,
}

/// Makes a project's `.loop/config.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitRequest {
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// A project's configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitReport {
    /// The file.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// Whether it was made just now; an existing one is left as it is.
    pub created: bool,
    /// Whether its content is trusted.
    pub trusted: bool,
}

/// Looks at a project's configuration or contract, trusts it, or takes trust back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRequest {
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// Which of its files.
    #[serde(default)]
    pub file: TrustedFile,
    /// What to do.
    pub decision: TrustDecision,
}

/// A file of a project that counts only once its content is trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustedFile {
    /// `.loop/config.toml`.
    #[default]
    Configuration,
    /// `.loop/contract.toml`.
    Contract,
}

/// What to do about such a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum TrustDecision {
    /// Only look.
    Look,
    /// Trust it, if its content is still what was looked at.
    Trust {
        /// The digest of the content the person saw.
        seen: Digest,
    },
    /// Trust no content of this project any longer.
    Forget,
}

/// Such a file and whether it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustReport {
    /// The file.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// Whether it applies.
    pub state: TrustState,
    /// The digest of its content; `None` if there is no file.
    pub digest: Option<Digest>,
    /// The content.
    pub content: String,
    /// The keys in it that apply only once it is trusted.
    pub asks: Vec<String>,
}

/// Whether such a file applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustState {
    /// There is no file.
    Absent,
    /// It was never trusted.
    Untrusted,
    /// Another content was trusted.
    Changed,
    /// This content is trusted.
    Trusted,
}

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// The kernel's release.
    pub kernel: String,
    /// Every facility Loop uses.
    pub checks: Vec<Check>,
    /// Whether `loop exec` with the default profile would run.
    pub ready: bool,
}

/// One facility.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name: `user namespaces`, `Landlock`.
    pub name: String,
    /// Whether it is there.
    #[serde(flatten)]
    pub availability: Availability,
    /// What needs it.
    pub needed_for: String,
    /// Whether runs are refused without it; otherwise there is a recorded fallback.
    pub required: bool,
    /// What to do where it is missing.
    pub what_to_do: Option<String>,
}

/// Whether a facility is there; an absence carries its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "detail", rename_all = "kebab-case")]
pub enum Availability {
    /// It is there; which version, or where.
    Available(String),
    /// It isn't, and this is why.
    Missing(String),
}
