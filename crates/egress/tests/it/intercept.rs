//! TLS that is opened: leases, narrowed requests, origins that can't be trusted, real clients.

mod clients;
mod http1;
mod http2;
mod lending;
mod origins;
pub(crate) mod scene;
