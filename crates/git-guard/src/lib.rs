//! The Git gate: a push out of a sandbox moves exactly the refs that its authority lets it move.
//!
//! Whoever carries HTTP (`egress`) hands over every request that could push. The gate reads what it
//! would change, asks the broker about each ref, and only if all of them are permitted does anything
//! of it, or the credential it needs, leave. Git on the host, where it has to be asked about objects
//! that a sandbox made, is started by one hardened module and by nothing else.
//!
//! It has the four files of a gate: `wire` (hostile bytes → typed request, no I/O, capped, fuzzed),
//! `action` (request → what is asked, pure), `effect` (lets it out, given permits) and `serve`
//! (asks, answers). Beside them: what a run knows of its `remotes`, the `quarantine` in which a
//! push is looked at before it is sent, and the `answer` in Git's own terms.
//!
//! This crate must not start git without the hardened environment, and must not run, or read as
//! configuration, anything that a sandbox could have written.
#![forbid(unsafe_code)]

// The push gate: wire, action, effect, serve.
mod action;
mod answer;
mod effect;
mod quarantine;
mod remotes;
mod serve;
pub mod wire;

mod fuzz;

// Git on the host.
pub mod host;

pub use answer::{Answer, Why};
pub use effect::{Body, PushOutcome, PushResult};
#[doc(hidden)]
pub use fuzz::fuzz_push;
pub use quarantine::Store;
pub use serve::{GitGate, Push, Recognised, Unsent};
