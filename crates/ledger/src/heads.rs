//! Signed heads: somebody vouches that a ledger had so many records, the last with this hash.
//!
//! One line of canonical JSON each, `{"count":…,"hash":…,"keyid":…,"run":…,"sig":…,"time":…}`. The
//! signature is over the domain line and the line without its `"sig"`. Those of the run's own key
//! lie beside its ledger; a witness keeps some elsewhere, signed with any key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use names::canonical::{self, CanonicalError};
use names::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::flaw::Flaw;
use crate::keys::{KeyId, SigningKey, VerifyingKey};
use crate::line::Head;
use crate::trust::TrustedKey;

const DOMAIN: &[u8] = b"loop-head-v1\n";

/// A head of the ledger of one run, and a signature. Having one proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    count: u64,
    hash: Digest,
    keyid: KeyId,
    run: RunId,
    sig: String,
    time: Timestamp,
}

/// What is signed: every member but the signature.
#[derive(Serialize)]
struct Signed<'a> {
    count: u64,
    hash: Digest,
    keyid: &'a KeyId,
    run: &'a RunId,
    time: Timestamp,
}

impl SignedHead {
    /// Vouches with `key` that `head` was a head of the ledger of `run`.
    ///
    /// # Errors
    /// When the count is too large to be exact in JSON.
    pub fn sign(
        run: &RunId,
        head: Head,
        time: Timestamp,
        key: &SigningKey,
    ) -> Result<Self, CanonicalError> {
        let Head { count, hash } = head;
        let keyid = key.id();
        let message = message(&Signed { count, hash, keyid: &keyid, run, time })?;
        let sig = STANDARD.encode(key.sign(&message));
        Ok(Self { count, hash, keyid, run: run.clone(), sig, time })
    }

    /// The head.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { count: self.count, hash: self.hash }
    }

    /// Whose ledger it is of.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Is the signature one of `key` over this head?
    #[must_use]
    pub fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        let Self { count, hash, keyid, run, sig, time } = self;
        let signed = Signed { count: *count, hash: *hash, keyid, run, time: *time };
        let (Ok(message), Ok(sig)) = (message(&signed), STANDARD.decode(sig)) else { return false };
        sig.try_into().is_ok_and(|sig| key.verifies(&message, &sig))
    }

    /// Its line, with LF.
    ///
    /// # Errors
    /// When the count is too large to be exact in JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, CanonicalError> {
        let mut line = canonical::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

fn message(signed: &Signed<'_>) -> Result<Vec<u8>, CanonicalError> {
    Ok([DOMAIN, &canonical::to_vec(signed)?].concat())
}

/// A line that is no signed head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a signed head: {problem}")]
pub struct HeadError {
    /// Which, from 1.
    pub line: u64,
    /// What the reader said.
    pub problem: String,
}

/// The signed heads in the lines of `bytes`. Half a line at the end, which a crash can leave, is
/// none.
///
/// # Errors
/// The first line that is something else.
pub fn signed_heads(bytes: &[u8]) -> Result<Vec<SignedHead>, HeadError> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.map_while(|line| line.strip_suffix(b"\n"));
    let read = whole.zip(1..).map(|(line, number)| {
        let checked = canonical::check(line).and_then(|()| canonical::parse_checked(line));
        checked.map_err(|error| HeadError { line: number, problem: error.to_string() })
    });
    read.collect()
}

/// The heads of the ledger of `run` in `bytes` that somebody who is trusted vouches for; all of
/// them where no key is given. Signatures of others are no fault: one file can hold the heads of
/// many runs, and of many witnesses.
///
/// # Errors
/// When a line is none, when a signature that names a trusted key is not one of it, and when nobody
/// who is trusted vouches for any head.
pub(crate) fn vouched_heads(
    bytes: &[u8],
    run: &RunId,
    keys: &[TrustedKey],
) -> Result<Vec<Head>, Flaw> {
    let mut vouched = Vec::new();
    let mut objection = None;
    for (head, line) in signed_heads(bytes)?.iter().zip(1..) {
        if head.run != *run {
            continue;
        }
        let Some(trusted) = keys.iter().find(|trusted| trusted.key.id() == head.keyid) else {
            if keys.is_empty() {
                vouched.push(head.head());
            }
            continue;
        };
        if !head.is_signed_by(&trusted.key) {
            return Err(Flaw::HeadSignature { line, key: head.keyid.clone() });
        }
        match trusted.objects_at(head.time) {
            None => vouched.push(head.head()),
            Some(flaw) => objection = objection.or(Some(flaw)),
        }
    }
    match (vouched.is_empty(), objection) {
        (false, _) => Ok(vouched),
        (true, Some(flaw)) => Err(flaw),
        (true, None) => Err(Flaw::NotVouchedFor),
    }
}
