//! Contracts: `loop contract check` and `propose`.

use std::path::PathBuf;

use names::Digest;
use serde::{Deserialize, Serialize};

use crate::{Finding, text};

/// Asks whether a contract can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractCheckRequest {
    /// The file; the project's own if none.
    #[serde(with = "text::maybe")]
    pub file: Option<PathBuf>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// Whether a contract can be read, and what it amounts to in this project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractReport {
    /// The file.
    #[serde(with = "text")]
    pub file: PathBuf,
    /// Identifies the contract; `None` if it couldn't be read.
    pub digest: Option<Digest>,
    /// Everything wrong with it; empty is a contract that can be used.
    pub findings: Vec<Finding>,
    /// How many criteria it has.
    pub criteria: u64,
    /// How many checks it has.
    pub checks: u64,
    /// What is not wrong, but may not be meant.
    pub notes: Vec<String>,
}

/// Asks for a draft of a contract.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractProposeRequest {
    /// What the task is.
    pub task: String,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// A draft of a contract, for a person to edit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractDraft {
    /// The draft, as TOML that can be read back.
    pub text: String,
    /// The checks that were found.
    pub checks: Vec<DraftedCheck>,
    /// Whether not all files of the project were looked at, because there are too many.
    pub partial: bool,
}

/// A check that the project's files suggest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftedCheck {
    /// Its name.
    pub name: String,
    /// What is run.
    pub command: String,
    /// The directory, from the project's root on; empty for the root.
    pub directory: String,
    /// The file that suggests it.
    pub because: String,
}
