//! Models: a request in, a streamed answer out, whoever provides it.
//!
//! Each provider is a pure pair (request → body, events → answer) over one transport. This crate
//! has no tools and no policy: it never decides what a tool call means, and never carries one out.
//! It must never show a key: keys are [`names::Secret`]s, and what a provider says goes through
//! [`names::redact`].

mod abilities;
mod answer;
mod cancel;
mod error;
mod message;
mod model;

pub use abilities::{Abilities, Effort, MicroUsd, Price};
pub use answer::{Answer, Event, Stop, Usage};
pub use cancel::Cancel;
pub use error::ModelError;
pub use message::{Message, Part, Request, ToolCall, ToolSpec};
pub use model::{Model, ModelId};
