//! What `names` promises, case by case, against second implementations where there are any.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "clippy exempts test functions, not the functions that they call"
)]

mod addresses;
mod canonical_json;
mod corpus;
mod hosts;
mod paths;
mod patterns;
mod refs;
mod texts;
