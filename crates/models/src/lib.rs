//! Models: a request in, a streamed answer out, whoever provides it.
//!
//! Each provider is a pure pair (request → body, events → answer) over one transport. This crate
//! has no tools and no policy: it never decides what a tool call means, and never carries one out.
//! It must never show a key: keys are [`names::Secret`]s, and what a provider says goes through
//! [`names::redact`].

mod abilities;
mod answer;
mod anthropic;
mod base;
mod cancel;
mod chat;
mod client;
mod error;
mod find;
mod fuzz;
mod known;
mod message;
mod model;
mod ollama;
mod openai;
mod proxy;
mod retry;
pub mod script;
mod scripted;
pub mod sse;
mod transport;
mod wire;

pub use abilities::{Abilities, Effort, LongPrompt, NotAnEffort, Price, Rates};
pub use answer::{Answer, Event, Stop, Usage};
pub use base::BaseError;
pub use cancel::Cancel;
pub use error::ModelError;
pub use find::{
    FindError, Lookup, Settings, State, Usable, find, find_with, key_variables, usable,
};
#[doc(hidden)]
pub use fuzz::fuzz_sse;
pub use message::{Message, Part, Request, ToolCall, ToolSpec};
pub use model::{Model, ModelId};
pub use names::MicroUsd;
pub use proxy::ProxyError;
pub use scripted::{Scripted, words};
