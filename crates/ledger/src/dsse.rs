//! The signed envelope: DSSE v1.0, with Ed25519 over the pre-authentication encoding.
//!
//! Stricter than the standard in one point: an envelope is one line of canonical JSON, so that no
//! byte of it can change without notice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::keys::{KeyId, SigningKey};

/// The type of every payload of ours: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A payload and signatures over it. Having one proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// The payload in base64.
    pub payload: String,
    /// Its type.
    pub payload_type: String,
    /// Signatures; none when they were stripped.
    pub signatures: Vec<Signature>,
}

/// One signature and the key that is said to have made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The id of the key.
    pub keyid: KeyId,
    /// 64 bytes in base64.
    pub sig: String,
}

impl Envelope {
    pub(crate) fn sign(payload: &[u8], key: &SigningKey) -> Self {
        let sig = STANDARD.encode(key.sign(&encoding(PAYLOAD_TYPE, payload)));
        Self {
            payload: STANDARD.encode(payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![Signature { keyid: key.id(), sig }],
        }
    }

    /// The content of a receipt file: canonical JSON and LF. Empty never, because an envelope is
    /// strings only and those always have a canonical form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = names::canonical::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    pub(crate) fn decode(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.payload).ok()
    }
}

impl Signature {
    pub(crate) fn decode(&self) -> Option<[u8; 64]> {
        STANDARD.decode(&self.sig).ok()?.try_into().ok()
    }
}

/// DSSE's PAE: what is signed.
pub(crate) fn encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
