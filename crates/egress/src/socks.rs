//! SOCKS5 with remote names, for tools that prefer it.

pub mod wire;

pub(crate) mod action;
pub(crate) mod serve;
