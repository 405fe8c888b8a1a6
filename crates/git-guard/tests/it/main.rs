//! Git on the host against repositories that were written to attack it, with the real program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests may"
)]

mod looking;
mod scene;
mod taking;
mod traps;
