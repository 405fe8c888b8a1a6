//! What a receipt states, in the form of an in-toto Statement v1; see `docs/receipt.md`.
//!
//! Values of leases, contents of files and output never get in: there is no field for them. Of
//! commands, only those of the contract's checks do.

use std::collections::BTreeMap;

use names::canonical::{self, CanonicalError};
use names::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::dsse::{Envelope, PAYLOAD_TYPE};
use crate::keys::SigningKey;
use crate::line::Head;
use crate::verification::{Check, Follows, Verification};

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate: what a receipt says about a run.
pub const PREDICATE_TYPE: &str = "https://loop.dev/receipt/v1";
/// No receipt is longer, in bytes.
pub const MAX_RECEIPT: u64 = 16 << 20;

pub(crate) const CHANGES: &str = "changes";
pub(crate) const RESULT: &str = "result";

/// A statement about a change set and the tree that it leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    predicate_type: String,
    /// What it is about.
    pub subject: Vec<Subject>,
    /// What it says.
    pub predicate: Predicate,
}

/// A named artefact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name: `changes` or `result`.
    pub name: String,
    /// Its SHA-256, in in-toto's form.
    #[serde(with = "digest_set")]
    pub digest: Digest,
}

/// The facts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Predicate {
    /// The run.
    pub run: RunId,
    /// Who ran it.
    pub subject: String,
    /// The project's directory, as a name.
    pub project: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Name of the profile.
    pub profile: String,
    /// Digest of the frozen authority.
    pub authority: Digest,
    /// What it started from.
    pub base: Base,
    /// What the sandbox measured about itself: the body of the last `enforcement` record.
    pub enforcement: serde_json::Value,
    /// Credentials that were lent, never their values.
    pub leases: Vec<Lease>,
    /// Answers of people.
    pub approvals: Vec<Approval>,
    /// What went over the network.
    pub egress: Vec<Egress>,
    /// Refused actions by kind; together, the number of `denied` records.
    pub denials: BTreeMap<String, u64>,
    /// Actions that the policy does not allow and that were let through, by kind; together, the
    /// number of `learned` records. It is there exactly if the run was a learning run: one whose
    /// policy was not in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<BTreeMap<String, u64>>,
    /// What was used up.
    pub budget: Budget,
    /// What was re-executed to substantiate the outcome.
    pub checks: Vec<Check>,
    /// What became of the contract; there exactly if there was one and its checks ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The run whose receipt this one rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// Models that were used.
    pub models: Vec<Model>,
    /// Head of the ledger when this was written.
    pub ledger: Head,
    /// What this receipt leaves out, and why; empty when it is complete.
    pub omissions: Vec<String>,
    /// The code that Loop ended with; `None` if a crash cut the run short.
    pub exit: Option<i32>,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a run started from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Base {
    /// The commit that was checked out, if the project is a repository.
    pub commit: Option<String>,
    /// Did the working tree differ from it?
    pub dirty: Option<bool>,
}

/// A credential that was lent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lease {
    /// Its name in the profile.
    pub name: String,
    /// The host it was good for.
    pub destination: String,
    /// Until when.
    pub expires: Timestamp,
}

/// A person's answer to one ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approval {
    /// Its record in the ledger.
    pub record: u64,
    /// Digest of the approved action.
    pub action: Digest,
    /// `once` or `run`.
    pub scope: String,
    /// Who answered.
    pub by: String,
}

/// Traffic with one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Egress {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Number of connections.
    pub connections: u64,
    /// Bytes that left.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
}

/// What a run used up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Wall time, in milliseconds.
    pub wall_ms: u64,
    /// Processor time, in milliseconds.
    pub cpu_ms: Option<u64>,
    /// Largest memory, in bytes.
    pub memory: Option<u64>,
    /// Output of commands, in bytes.
    pub output: Option<u64>,
    /// Steps of an agent.
    pub steps: Option<u64>,
    /// Tokens of models.
    pub tokens: Option<u64>,
}

/// A model that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// Who serves it.
    pub provider: String,
    /// What it is called there.
    pub name: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The checks of its contract substantiate it.
    Verified,
    /// It ended, and nothing substantiates what it did.
    Unverified,
    /// A check or the run itself failed.
    Failed,
    /// A limit, a person or a crash ended it.
    Stopped,
}

impl Outcome {
    /// The word in the receipt.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Statement {
    /// A statement over the digest of `changes.json` and the digest of the touched paths after it.
    #[must_use]
    pub fn new(changes: Digest, result: Digest, predicate: Predicate) -> Self {
        let subject = |name: &str, digest| Subject { name: name.to_owned(), digest };
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            predicate_type: PREDICATE_TYPE.to_owned(),
            subject: vec![subject(CHANGES, changes), subject(RESULT, result)],
            predicate,
        }
    }
}

/// Signs `statement`. Fails only if `enforcement` has no canonical form.
pub fn seal(statement: &Statement, key: &SigningKey) -> Result<Envelope, CanonicalError> {
    Ok(Envelope::sign(&canonical::to_vec(statement)?, key))
}

/// Why bytes are not a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ReceiptError {
    /// More than anybody has to read.
    #[error("the receipt has at least {bytes} bytes; at most {limit} are read")]
    TooLarge {
        /// Its bytes, as far as they were counted.
        bytes: u64,
        /// The most that are read.
        limit: u64,
    },
    /// An object of the envelope or the statement has a key twice.
    #[error("the {part} has a duplicate key")]
    DuplicateKey {
        /// `envelope` or `statement`.
        part: &'static str,
    },
    /// Not canonical JSON; NaN is one way.
    #[error("the {part} is not canonical JSON: {problem}")]
    NotCanonical {
        /// `envelope` or `statement`.
        part: &'static str,
        /// What the reader said.
        problem: String,
    },
    /// JSON, but not a DSSE envelope.
    #[error("not a DSSE envelope: {problem}")]
    NotAnEnvelope {
        /// What the reader said.
        problem: String,
    },
    /// The payload is of another type, or not base64.
    #[error("the payload is not {PAYLOAD_TYPE}")]
    PayloadType,
    /// The payload is not base64.
    #[error("the payload is not base64")]
    PayloadEncoding,
    /// The statement or its predicate has a type that this version does not know.
    #[error("the type \"{found}\" is not known to this verifier")]
    UnknownSchema {
        /// The type.
        found: String,
    },
    /// JSON of the right type, but not a statement.
    #[error("not a receipt: {problem}")]
    NotAStatement {
        /// What the reader said.
        problem: String,
    },
}

/// A receipt with the right form. Who signed it, and whether it is true, was not looked at.
#[derive(Debug, Clone)]
pub struct CheckedReceipt {
    statement: Statement,
    envelope: Envelope,
    payload: Vec<u8>,
}

#[derive(Deserialize)]
struct Types {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate_type: String,
}

impl CheckedReceipt {
    /// Reads the content of a receipt file.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        if bytes.len() as u64 > MAX_RECEIPT {
            return Err(ReceiptError::TooLarge { bytes: bytes.len() as u64, limit: MAX_RECEIPT });
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        check_form(bytes, "envelope")?;
        let envelope: Envelope =
            canonical::parse(bytes).map_err(|error| not_an_envelope(&error))?;
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(ReceiptError::PayloadType);
        }
        let payload = envelope.decode().ok_or(ReceiptError::PayloadEncoding)?;
        check_form(&payload, "statement")?;
        check_types(&payload)?;
        let statement = canonical::parse(&payload).map_err(|error| not_a_statement(&error))?;
        Ok(Self { statement, envelope, payload })
    }

    /// What it states.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The envelope it came in.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }
}

fn check_form(bytes: &[u8], part: &'static str) -> Result<(), ReceiptError> {
    canonical::check(bytes).map_err(|error| match canonical::repeats_a_member(bytes) {
        true => ReceiptError::DuplicateKey { part },
        false => ReceiptError::NotCanonical { part, problem: error.to_string() },
    })
}

fn check_types(payload: &[u8]) -> Result<(), ReceiptError> {
    let types: Types = canonical::parse(payload).map_err(|error| not_a_statement(&error))?;
    for (found, known) in [(types.kind, STATEMENT_TYPE), (types.predicate_type, PREDICATE_TYPE)] {
        if found != known {
            let found = names::printable(found.as_bytes());
            return Err(ReceiptError::UnknownSchema { found });
        }
    }
    Ok(())
}

fn not_an_envelope(error: &CanonicalError) -> ReceiptError {
    ReceiptError::NotAnEnvelope { problem: error.to_string() }
}

fn not_a_statement(error: &CanonicalError) -> ReceiptError {
    ReceiptError::NotAStatement { problem: error.to_string() }
}

/// in-toto's `{"sha256": HEX}`.
mod digest_set {
    use names::Digest;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Set {
        sha256: String,
    }

    pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        Set { sha256: digest.hex() }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let Set { sha256 } = Set::deserialize(from)?;
        Digest::parse(&format!("sha256:{sha256}")).map_err(D::Error::custom)
    }
}
