//! HTTP/1, as plain text: what passes through the explicit proxy, and what a client sends to a
//! destination without TLS or through interception.

pub mod wire;

pub mod authority;
pub mod body;
mod client;
pub mod serve;

pub(crate) mod action;
