//! The crate against real overlays, mounted in user namespaces by child processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail"
)]

mod overlay;
mod permits;
mod tree;

mod applying;
mod applying_any;
mod carrying;
mod corpus;
mod diffing;
mod hostile;
mod ignoring;
mod laying;
mod reading;
mod reading_any;
