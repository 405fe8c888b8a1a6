//! `loop lease`: credentials that runs can be lent.

use names::Timestamp;
use serde::{Deserialize, Serialize};

/// Makes a credential known under a name: where its value comes from, and the farthest it may go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseAddRequest {
    /// Its name.
    pub name: String,
    /// The host it may go to.
    pub host: String,
    /// The ports there; none is 443.
    pub ports: Vec<u16>,
    /// What URL paths start with; `None` is any.
    pub path_prefix: Option<String>,
    /// The HTTP methods; none is any.
    pub methods: Vec<String>,
    /// The header that carries it.
    pub header: String,
    /// What precedes the value in the header: `Bearer`.
    pub scheme: Option<String>,
    /// The user whose password it is, for hosts that take nothing else; then `header` is empty.
    pub basic: Option<String>,
    /// The variable that holds the placeholder inside; `None` is the one that the value comes from,
    /// if it comes from one.
    pub env: Option<String>,
    /// Where the value comes from: `env:VAR`, `file:PATH`, `keyring:NAME`,
    /// `login:PROVIDER`, `command:CMD`.
    pub from: String,
    /// How long it can be lent, as `8h`; `None` is until it is revoked.
    pub lasts: Option<String>,
}

/// A lease, without its value, which is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// Its name.
    pub name: String,
    /// Where it may go, in a line: `api.example.com:443 POST /v1/**`.
    pub destination: String,
    /// The header, and what precedes the value in it: `authorization: Bearer`.
    pub header: String,
    /// The variable that holds the placeholder inside.
    pub env: Option<String>,
    /// Where the value comes from, as it was given.
    pub from: String,
    /// When it was added.
    pub added: Timestamp,
    /// When it ends; `None` is when it is revoked.
    pub until: Option<Timestamp>,
    /// Whether it has ended.
    pub expired: bool,
}

/// Takes a lease back, from every run that has it too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRevokeRequest {
    /// Its name.
    pub name: String,
}
