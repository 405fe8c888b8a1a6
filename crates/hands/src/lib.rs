//! The hands of Loop's own agent: what its tools may propose and what comes of it, as data, and
//! the program inside the sandbox that carries it out.
//!
//! The program is trusted with nothing. It runs as any command of the sandbox does, can do what
//! such a command can do and no more, and what it answers is hostile to whoever reads it.

pub mod proposal;
pub mod wire;

mod fuzz;
mod program;
mod tools;

#[doc(hidden)]
pub use fuzz::{fuzz_conversation, fuzz_text};

pub use program::{PROGRAM, is_hands_process, main};
pub use tools::command::{LONGEST, TIMEOUT, WAIT};
