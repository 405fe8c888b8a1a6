//! What a contract says, as data. Its canonical JSON is what the digest and the receipt are about.

use std::collections::HashSet;

use names::{Digest, MicroUsd, Span, WorkspacePath, canonical};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pattern::Pattern;

/// How often the work is verified at most, where the contract does not say.
pub(crate) const ROUNDS: u32 = 3;

/// When a task is done.
///
/// Names are unique, every criterion names checks that exist, and every check is named by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What comes from the base, besides what is compiled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracle: Vec<Pattern>,
    /// What is taken out of the oracle, and of what is flagged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_change: Vec<Pattern>,
    /// Files that Git ignores and that checks may use all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Pattern>,
    /// How often the work is verified at most; between two rounds the agent goes on.
    pub rounds: u32,
    /// What has to be met; never none.
    pub criteria: Vec<Criterion>,
    /// What is run to find out; never none.
    pub checks: Vec<Check>,
    /// What narrows the authority.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// What is set aside for verification.
    #[serde(default, skip_serializing_if = "Reserve::is_empty")]
    pub reserve: Reserve,
    /// Who looks at the result besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

/// Something that has to be so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Its name.
    pub id: String,
    /// What has to be so.
    pub text: String,
    /// The checks that all have to pass.
    pub checks: Vec<String>,
}

/// A command, and what it has to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// What is run.
    pub run: Command,
    /// Where; the project's root if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<WorkspacePath>,
    /// What it has to show.
    pub expect: Expect,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// A line for `sh -c`.
    Shell(String),
    /// A program and its arguments; never none.
    Argv(Vec<String>),
}

impl Command {
    /// The program and its arguments.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Self::Argv(argv) => argv.clone(),
        }
    }

    /// The command in a line, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Shell(line) => names::printable(line.as_bytes()),
            Self::Argv(argv) => names::printable(argv.join(" ").as_bytes()),
        }
    }
}

/// What a check has to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How it ends.
    pub exit: Exit,
    /// A text that standard output holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// How many tests pass at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
}

/// An exit code: in JSON and TOML a number, or `nonzero`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Exactly this one.
    Code(u8),
    /// Any but 0, and but those that say that nothing was run.
    Nonzero,
}

/// The word for [`Exit::Nonzero`].
pub(crate) const NONZERO: &str = "nonzero";

impl Serialize for Exit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => to.serialize_u8(*code),
            Self::Nonzero => to.serialize_str(NONZERO),
        }
    }
}

impl<'de> Deserialize<'de> for Exit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Code(u8),
            Word(String),
        }
        match Written::deserialize(from)? {
            Written::Code(code) => Ok(Self::Code(code)),
            Written::Word(word) if word == NONZERO => Ok(Self::Nonzero),
            Written::Word(_) => Err(D::Error::custom("neither an exit code nor \"nonzero\"")),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Nonzero => f.write_str(NONZERO),
        }
    }
}

/// What narrows the authority.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Time from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
    /// Calls of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tokens, in and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<MicroUsd>,
}

impl Limits {
    /// Whether it narrows nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is set aside for verification, out of the run's own budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reserve {
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
}

impl Reserve {
    /// Whether nothing is set aside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A model that looks at the result. It can veto, never accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Provider and name, as in `anthropic:NAME`.
    pub model: String,
}

/// Bytes that are no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the contract {0}")]
pub struct ContractError(String);

impl Contract {
    /// Its canonical JSON, whose plain SHA-256 is [`Contract::digest`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Its numbers are small and its keys are text, so there is nothing to fail.
        canonical::to_vec(self).unwrap_or_else(|error| error.to_string().into_bytes())
    }

    /// Reads what [`Contract::to_bytes`] writes, and nothing else.
    ///
    /// # Errors
    /// Bytes that are no contract, or one that does not hold together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ContractError> {
        let contract: Self = canonical::parse(bytes)
            .map_err(|error| ContractError(format!("can't be read: {error}")))?;
        match contract.flaw() {
            None => Ok(contract),
            Some(flaw) => Err(ContractError(flaw.to_owned())),
        }
    }

    /// Identifies it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// The check of that name.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// What does not hold together in it.
    fn flaw(&self) -> Option<&'static str> {
        let named: HashSet<&str> = self.checks.iter().map(|check| check.name.as_str()).collect();
        let ids: HashSet<&str> = self.criteria.iter().map(|one| one.id.as_str()).collect();
        let used: HashSet<&str> =
            self.criteria.iter().flat_map(|one| &one.checks).map(String::as_str).collect();
        let empty = |run: &Command| run.argv().iter().take(1).all(String::is_empty);
        if self.checks.is_empty() {
            Some("has no check")
        } else if named.len() != self.checks.len() || ids.len() != self.criteria.len() {
            Some("has a name twice")
        } else if self.criteria.iter().any(|one| one.checks.is_empty()) {
            Some("has a criterion without a check")
        } else if used != named {
            Some("has a check without a criterion, or a criterion with an unknown check")
        } else if self.checks.iter().any(|check| empty(&check.run)) {
            Some("has a check that runs nothing")
        } else if self.rounds == 0 {
            Some("has no round")
        } else {
            None
        }
    }
}
