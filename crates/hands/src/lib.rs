//! The hands of Loop's own agent: what its tools may propose and what comes of it, as data, and
//! the program inside the sandbox that carries it out.
//!
//! The program is trusted with nothing. It runs as any command of the sandbox does, can do what
//! such a command can do and no more, and what it answers is hostile to whoever reads it.

pub mod proposal;
