//! The name server of the sandbox, on 127.0.0.53. It answers names that the authority allows with
//! synthetic addresses, refuses all others, and never asks a server outside.

pub mod wire;

pub(crate) mod action;
pub(crate) mod serve;
