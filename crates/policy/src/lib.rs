//! Profile and action in, verdict with reasons out.
//!
//! A profile is TOML ([`settings`] is the table of its keys). [`resolve`] turns the layers of one
//! run (compiled in, the owner's, a named profile, the project's, flags) into an [`Authority`],
//! which is data, and [`Authority::decide`] answers about an [`Action`]. The same evaluation
//! enforces and explains.
//!
//! There is no I/O, no clock, no async and no panic here: texts come in, values go out.
#![forbid(unsafe_code)]

mod action;
mod authority;
mod decide;
pub mod git_config;
pub mod guarded;
mod layers;
mod lease;
mod pattern;
mod problem;
mod propose;
mod raw;
mod reach;
mod read;
mod resolve;
mod rule;
pub mod settings;

mod path_text;

mod fuzz;

pub use action::{
    Access, Action, ActionError, Apply, Branch, Connect, Discard, Docker, Exec, FileAccess,
    GitPush, Http, Kind, Lease, MountPath, Open, Place, Publish, RefChange, RefMove, Resolve, Tool,
    Undo,
};
pub use authority::{
    AskLimits, Authority, ClassDefault, Environment, Gate, Grants, LayerDigest, Limits, Milli,
    Mode, Mount, Need, Publication, SCHEMA,
};
pub use decide::{Cause, Verdict};
#[doc(hidden)]
pub use fuzz::fuzz_profile;
pub use layers::{Library, NoLibrary, Source, built_in, built_in_names};
pub use lease::{Carrier, Destination, LeaseGrant, LeaseTerms, TermsError, variable};
pub use pattern::{ArgsPattern, PathPattern, PatternError, ProgramPattern, WordPattern};
pub use problem::{Problem, ProfileError, ProfileErrors};
pub use propose::{
    Addition, LeftOut, Observed, Obstacle, Placement, Proposal, Risk, RiskClass, propose,
};
pub use reach::{Reach, ReachDiff, reach_diff};
pub use resolve::{Checked, Flags, Ignored, Request, Resolved, Trust, check_expectations, resolve};
pub use rule::{AddressRange, Layer, Match, Method, NetworkGrant, Origin, Outcome, Rule, Target};

/// The digest of a value's canonical JSON.
fn digest_of<T: serde::Serialize + std::fmt::Debug>(domain: &str, value: &T) -> names::Digest {
    match names::canonical::to_vec(value) {
        Ok(bytes) => names::Digest::of_parts(domain, &[b"json", &bytes]),
        // A number that JSON can't hold exactly; the text still tells values apart.
        Err(_) => names::Digest::of_parts(domain, &[b"debug", format!("{value:?}").as_bytes()]),
    }
}
