//! The Git gate: a push out of a sandbox moves exactly the refs that its authority lets it move.
//!
//! Whoever carries HTTP (`egress`) hands over every request that could push. The gate reads what it
//! would change, asks the broker about each ref, and only if all of them are permitted does anything
//! of it, or the credential it needs, leave. Git on the host, where it has to be asked about objects
//! that a sandbox made, is started by one hardened module and by nothing else.
//!
//! It has the four files of a gate: `wire` (hostile bytes → typed request, no I/O, capped, fuzzed),
//! `action` (request → what is asked, pure), `effect` (does it, given a permit) and `serve` (asks,
//! carries, answers).
//!
//! This crate must not start git without the hardened environment, and must not run, or read as
//! configuration, anything that a sandbox could have written.
#![forbid(unsafe_code)]

// The push gate: wire, action, effect, serve.

// Git on the host.
pub mod host;
