//! TLS, from outside: the name in the client hello must be the name that was allowed. What
//! follows is not looked into, unless the destination is intercepted.

pub(crate) mod action;
pub(crate) mod serve;
pub mod wire;
