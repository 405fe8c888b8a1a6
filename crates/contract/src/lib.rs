//! When a task is done: a contract and what its checks showed in, a verdict with reasons out.
//!
//! A [`Contract`] is TOML ([`read`]) or made of commands ([`of_commands`]). What it rests on comes
//! from the base ([`Oracle`]); what could steer a check from elsewhere is told ([`flags`]); what
//! the checks showed on the base and on the result is judged ([`judge`]), and put into words for
//! the agent ([`report_to_agent`]). [`propose`] drafts a contract for a person to edit.
//!
//! Everything judged here was written by somebody who may want it to look green. There is no I/O,
//! no clock, no async and no panic; texts come in, values go out. Only evidence makes `verified`.
#![forbid(unsafe_code)]

mod terms;

mod expressions;
mod fault;
mod pattern;
mod read;
mod words;

mod flags;
mod oracle;

mod judge;
mod output;
mod report;

mod propose;

mod fuzz;

pub use fault::Fault;
pub use flags::{Altered, Flag, LONGEST_TEXT, flags};
#[doc(hidden)]
pub use fuzz::{fuzz_altered, fuzz_contract, fuzz_output};
pub use judge::{CheckVerdict, CriterionVerdict, Judgement, Pair, Ran, Verdict, judge};
pub use oracle::{Entry, Oracle};
pub use output::Tests;
pub use pattern::{Pattern, PatternError};
pub use propose::{Draft, Listing, Suggested, notes, propose};
pub use read::{of_commands, read};
pub use report::{last_printed, report_to_agent};
pub use terms::{
    Check, Command, Contract, ContractError, Criterion, Exit, Expect, Limits, Reserve, Review,
};
