//! The runner against launchers whose answer is known.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod cases;
mod runner;
