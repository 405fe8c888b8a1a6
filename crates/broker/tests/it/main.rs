//! The wall, from both sides: what the broker records, and that there is no way around it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod anything;
mod approvals;
mod binding;
mod learning;
mod misuse;
mod record;
mod scene;
