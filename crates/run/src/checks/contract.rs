//! Stands in for the crate of this name until it is there.

use names::{Digest, Span, WorkspacePath};

pub(crate) struct Check {
    pub(crate) run: Command,
    pub(crate) directory: Option<WorkspacePath>,
    pub(crate) timeout: Option<Span>,
}

pub(crate) enum Command {
    Shell(String),
}

impl Command {
    pub(crate) fn argv(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) not_started: Option<String>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) output: Option<Digest>,
    pub(crate) cut: bool,
    pub(crate) touched_oracle: Vec<String>,
    pub(crate) took_ms: u64,
}
