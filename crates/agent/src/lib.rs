//! Loop's own agent: the loop over a model and its proposals, with context, sessions and budgets.
//!
//! It is untrusted by design, like the model whose words it follows. It holds no permit and no
//! key, and it must never contain a process, a file, a socket or a clock: all of the outside comes
//! through [`Outside`], and whatever it wants done is a proposal that somebody else decides about.

mod budget;
mod conversation;
mod interrupt;
mod outcome;
mod outside;
mod prompt;
mod schema;
mod session;
mod tools;

mod answer;
mod context;
mod files;
mod progress;
mod results;
mod text;

pub use budget::{Budget, Limits, Reserve, Spent};
pub use conversation::{Brief, Conversation};
pub use interrupt::{Ended, Interrupt};
pub use outcome::Outcome;
pub use outside::{CallId, Carried, Hands, Journal, JournalError, Nobody, Outside, Person, Reply};
pub use prompt::{Instructions, Setting};
pub use schema::{Misfit, Schema};
pub use session::{
    Compaction, Entry, Purpose, ReadBack, SCHEMA, Said, Seen, Session, SessionError, What,
};
pub use tools::{Act, TOOLS, Tool, act, specs};
