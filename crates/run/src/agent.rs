//! What a run of Loop's own agent needs of the host: the file that keeps its session, and the
//! instruction files of its project.
//!
//! The agent itself decides nothing and touches nothing; see the crate `agent`.

mod instructions;
mod session_file;

pub use instructions::{Found, instructions};
pub use session_file::{SessionFile, SessionFileError};
