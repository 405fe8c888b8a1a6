//! The ledger from outside: what is appended survives, what is changed is found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking"
)]

mod append;
mod bytes;
mod cases;
mod corpus;
mod crash;
mod faults;
mod forge;
mod keys;
mod schema;
mod signing;
mod vectors;
