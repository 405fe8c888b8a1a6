//! Every rendering of the command line, over an engine that only plays.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy exempts test functions, not the functions that they call"
)]

mod asking;
mod fake;
mod play;
mod receipt;
mod rendering;
mod usage;
mod verified;
mod working;
