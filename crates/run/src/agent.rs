//! What a run of Loop's own agent needs of the host: hands behind the broker, the file that keeps
//! its session, and the instruction files of its project.
//!
//! The agent itself decides nothing and touches nothing; see the crate `agent`.

mod carry;
mod instructions;
mod session_file;

pub use carry::{Permitted, Program};
pub use instructions::{Found, instructions};
pub use session_file::{SessionFile, SessionFileError};
