//! The life of a run: one table of states and events.
//!
//! [`State::after`] is the table. Whoever moves a run on asks it first, and whoever tells where a
//! run stands folds the records of its ledger through it; nobody else knows the order of things.
//! `docs/states.md` shows the table, and a test holds it against the code.
//!
//! This crate is pure: it must never look at a clock, a file, or anything else that could change.

mod event;
mod state;
mod table;

pub use event::Event;
pub use state::{Dropped, Phase, State, Waits};
pub use table::Illegal;
