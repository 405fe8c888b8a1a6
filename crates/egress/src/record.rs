//! The bodies of this gate's records, and which of them a flood can't repeat.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Kind of the record of bytes that are no request at all.
pub const MALFORMED: &str = "malformed";
/// Kind of the record that says that further refusals are only counted.
pub const FLOOD: &str = "egress.flood";
/// Kind of the record of what was counted, when the gate stops.
pub const END: &str = "egress.end";

/// Which way a client came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// To the synthetic address of a name.
    Transparent,
    /// By CONNECT of the HTTP proxy.
    Connect,
    /// By a URL asked of the HTTP proxy.
    Proxy,
    /// By SOCKS5.
    Socks,
    /// To the name server.
    Names,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Both sides were done.
    Closed,
    /// The client broke off.
    ClientReset,
    /// The destination broke off.
    DestinationReset,
    /// The destination could not be reached, or answered nonsense.
    Unreachable,
    /// Nothing passed for too long.
    Idle,
    /// It was open for too long.
    TooLong,
    /// The grant's bytes are used up.
    MaxBytes,
    /// The gate found that it is not what was allowed, or a request was denied.
    Denied,
    /// The client's bytes have no single meaning.
    Malformed,
    /// The gate was stopped.
    Stopped,
}

/// How a connection ended, and what there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// Why, for people.
    pub why: Option<String>,
}

impl Ended {
    /// With a reason.
    #[must_use]
    pub fn because(how: How, why: impl std::fmt::Display) -> Self {
        let why = names::printable(why.to_string().as_bytes());
        Self { how, why: Some(why) }
    }
}

impl From<How> for Ended {
    fn from(how: How) -> Self {
        Self { how, why: None }
    }
}

/// The result in a `connect.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectResult {
    /// Which way the client came.
    pub via: Via,
    /// The address that was dialled; none if nothing was.
    pub address: Option<SocketAddr>,
    /// Bytes that left the sandbox.
    pub sent: u64,
    /// Bytes that came into it.
    pub received: u64,
    /// From the decision to the end, in milliseconds.
    pub took_ms: u64,
    /// How it ended.
    pub ended: How,
    /// Why, where that needs saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result in a `publish.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishResult {
    /// The address inside; none if nothing listened.
    pub address: Option<SocketAddr>,
    /// Bytes that left the sandbox.
    pub sent: u64,
    /// Bytes that came into it.
    pub received: u64,
    /// From the decision to the end, in milliseconds.
    pub took_ms: u64,
    /// How it ended.
    pub ended: How,
    /// Why, where that needs saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result in an `http.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResult {
    /// The status of the response; none if there was none.
    pub status: Option<u16>,
}

/// Body of a [`MALFORMED`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    /// Which way it came.
    pub via: Via,
    /// What is wrong.
    pub why: String,
    /// Its first bytes, escaped.
    pub first: String,
}

/// Body of a [`FLOOD`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flood {
    /// What there is too much of: `names` or `malformed`.
    pub of: String,
    /// How many were recorded one by one; the rest is counted.
    pub recorded: u64,
}

/// Body of an [`END`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Connections that were allowed and dialled, or tried to.
    pub connections: u64,
    /// Bytes that left the sandbox.
    pub sent: u64,
    /// Bytes that came into it.
    pub received: u64,
    /// Lookups of names that were refused.
    pub refused_lookups: u64,
    /// Of these, lookups of names that have no record of their own.
    pub unrecorded_lookups: u64,
    /// Malformed requests.
    pub malformed: u64,
    /// Of these, requests that have no record of their own.
    pub unrecorded_malformed: u64,
}

/// Most bytes of a malformed request that its record shows.
const SHOWN: usize = 96;

impl Malformed {
    pub(crate) fn new(via: Via, why: &dyn std::fmt::Display, bytes: &[u8]) -> Self {
        let first = names::printable(bytes.get(..SHOWN).unwrap_or(bytes));
        let first = names::redact(&first).into_owned();
        Self { via, why: names::printable(why.to_string().as_bytes()), first }
    }
}

/// What to do about something that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// It is new: record it.
    Record,
    /// It is new, but there are too many: record that, once.
    RecordFlood,
    /// Nothing; it was counted.
    Count,
}

/// Things seen, each recorded the first time, up to a cap.
#[derive(Debug)]
pub(crate) struct Noted {
    cap: usize,
    seen: HashMap<String, u64>,
    total: u64,
    beyond: u64,
}

impl Noted {
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, seen: HashMap::new(), total: 0, beyond: 0 }
    }

    pub(crate) fn note(&mut self, what: &str) -> Note {
        self.total += 1;
        if let Some(count) = self.seen.get_mut(what) {
            *count += 1;
            return Note::Count;
        }
        if self.seen.len() < self.cap {
            self.seen.insert(what.to_owned(), 1);
            return Note::Record;
        }
        self.beyond += 1;
        if self.beyond == 1 { Note::RecordFlood } else { Note::Count }
    }

    /// How many there were, and how many of these have no record of their own.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.total, self.beyond)
    }
}
