//! A second writer of ledgers and receipts, which can also write wrong ones. It shares no code
//! with the crate but canonical JSON and SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use names::{Digest, canonical};
use serde_json::{Value, json};

pub(crate) const RUN: &str = "261129-k7m2qd";
pub(crate) const OTHER_RUN: &str = "261129-zzzzzz";
pub(crate) const ORIGIN: &str =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

pub(crate) fn bytes_of(value: &Value) -> Vec<u8> {
    canonical::to_vec(value).unwrap()
}

/// One record that is not yet in a chain.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: &'static str,
    pub(crate) time: String,
    pub(crate) body: Value,
}

/// The lines of the chain of `entries`, each with its LF.
pub(crate) fn lines(entries: &[Entry]) -> Vec<Vec<u8>> {
    let mut prev = ORIGIN.to_owned();
    let mut lines = Vec::new();
    for (seq, entry) in entries.iter().enumerate() {
        let line = line(entry, seq as u64, &prev);
        prev = hash_of(&line);
        lines.push(line);
    }
    lines
}

/// A line with a right hash, wherever it will stand.
pub(crate) fn line(entry: &Entry, seq: u64, prev: &str) -> Vec<u8> {
    let body = String::from_utf8(bytes_of(&entry.body)).unwrap();
    let (kind, time) = (entry.kind, &entry.time);
    let tail = format!(r#""kind":"{kind}","prev":"{prev}","seq":{seq},"time":"{time}"}}"#);
    let hash = hash(format!(r#"{{"body":{body},{tail}"#).as_bytes());
    format!("{{\"body\":{body},\"hash\":\"{hash}\",{tail}\n").into_bytes()
}

/// The hash that belongs to a record without its hash.
pub(crate) fn hash(unhashed: &[u8]) -> String {
    Digest::of(&[b"loop-ledger-v1\n", unhashed].concat()).to_string()
}

pub(crate) fn hash_of(line: &[u8]) -> String {
    serde_json::from_slice::<Value>(line).unwrap()["hash"].as_str().unwrap().to_owned()
}

pub(crate) fn with_end(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// Replaces the first `from`, which must be there.
pub(crate) fn replaced(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains(from), "no {from} in {text}");
    text.replacen(from, to, 1).into_bytes()
}

/// Puts text that no JSON writer would produce into a line, and a hash that fits.
pub(crate) fn rehashed(line: &[u8], from: &str, to: &str) -> Vec<u8> {
    let old = hash_of(line);
    let member = format!("\"hash\":\"{old}\",");
    let unhashed = replaced(&replaced(line, from, to), &member, "");
    let new = hash(unhashed.trim_ascii_end());
    replaced(&replaced(line, from, to), &old, &new)
}

/// Two keys that everybody can know.
pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn public_text(key: &SigningKey) -> String {
    let point = STANDARD.encode(key.verifying_key().as_bytes());
    format!("loop-ed25519 {point} vector\n")
}

pub(crate) fn key_id(key: &SigningKey) -> String {
    let digest = Digest::of(key.verifying_key().as_bytes()).hex();
    format!("ed25519:{}", &digest[..16])
}

pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

pub(crate) fn signature(payload: &[u8], key: &SigningKey) -> [u8; 64] {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    key.sign(&[head.as_bytes(), payload].concat()).to_bytes()
}

/// An envelope around `payload`, whatever that is, signed by `key`.
pub(crate) fn envelope(payload: &[u8], key: &SigningKey) -> Value {
    json!({
        "payload": STANDARD.encode(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{
            "keyid": key_id(key),
            "sig": STANDARD.encode(signature(payload, key)),
        }],
    })
}

/// The same signature with its scalar made larger by the order of the group, which RFC 8032
/// forbids and lax verifiers accept.
pub(crate) fn malleated(signature: [u8; 64]) -> [u8; 64] {
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut out = signature;
    let mut carry = 0;
    for (byte, order) in out[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    out
}

/// A head of the ledger of `run`, signed by `key`, as a line.
pub(crate) fn head_line(run: &str, head: &Value, key: &SigningKey) -> Vec<u8> {
    let mut line = json!({
        "count": head["count"], "hash": head["hash"], "keyid": key_id(key), "run": run,
        "time": "2026-11-29T22:04:09.000Z",
    });
    let message = [b"loop-head-v1\n", bytes_of(&line).as_slice()].concat();
    line["sig"] = STANDARD.encode(key.sign(&message).to_bytes()).into();
    with_end(bytes_of(&line))
}
