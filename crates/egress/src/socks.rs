//! SOCKS5 with remote names, for tools that prefer it.

pub(crate) mod serve;
pub mod wire;
