//! The tests of `git-guard` as its users see it: pushes, and git on the host against repositories that
//! were written to attack it, with the real program.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests may"
)]

mod corpus;
mod deciding;

mod looking;
mod scene;
mod taking;
mod traps;
