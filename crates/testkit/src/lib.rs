//! What tests of the whole system stand on: scratch homes and repositories, the built `loop` program, terminals,
//! looking for what was left behind, a server that speaks as the providers of models do, and tasks with a known answer.
//!
//! Only tests use it. A helper that cannot do its part panics, which fails the test; nothing is skipped.
#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a panic here is a failed test, and tests start programs"
)]

mod launch;
mod machine;
mod model_server;
mod peer;
mod remains;
mod repository;
mod tasks;
mod terminal;
mod world;

pub use launch::{Launch, Owned, Ran, Running, heed_signals};
pub use machine::{as_root_inside, is_root, need, on_small_disk, program, wait_until};
pub use model_server::{Format, ModelServer, Recorded};
pub use peer::Peer;
pub use remains::{Remains, below, mounts_under};
pub use repository::Repository;
pub use tasks::{Answer, Task, Tried, Verdict, tasks};
pub use terminal::Terminal;
pub use world::{World, loop_program};
