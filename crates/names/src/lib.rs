//! The ground: types whose constructors can say no.
//!
//! A value of one of these types has been checked once, where it entered, and is in its canonical
//! form ever after, so two values name the same thing exactly when they are equal. Nothing here
//! does I/O, reads configuration or waits. The one look at the outside is [`system_clock`].
#![forbid(unsafe_code)]

mod error;
mod text;

mod ask_id;
mod digest;
mod run_id;
mod session;
mod time;

mod address;
mod host;
mod pattern;
mod port;
mod suffix;

mod gitref;
mod object_id;
mod path;

mod bytesize;
mod money;
mod span;

mod nearest;

mod printable;
mod redact;
mod secret;

pub mod canonical;
mod fuzz;

pub use address::AddressClass;
pub use ask_id::AskId;
pub use bytesize::ByteSize;
pub use digest::{Digest, DigestWriter};
pub use error::NameError;
#[doc(hidden)]
pub use fuzz::{fuzz_canonical, fuzz_gitref, fuzz_host, fuzz_path};
pub use gitref::RefName;
pub use host::Host;
pub use money::MicroUsd;
pub use nearest::nearest;
pub use object_id::ObjectId;
pub use path::WorkspacePath;
pub use pattern::HostPattern;
pub use port::Port;
pub use printable::{is_invisible, printable, printable_lines};
pub use redact::{MASK, redact, redact_with};
pub use run_id::RunId;
pub use secret::Secret;
pub use session::SessionName;
pub use span::Span;
pub use time::{Clock, Timestamp, system_clock};
