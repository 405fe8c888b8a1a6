//! The crate against real overlays, mounted in user namespaces by child processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail"
)]

mod corpus;
mod overlay;
mod tree;

mod reading;
mod reading_any;
