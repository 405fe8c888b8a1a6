//! Decides, asks, records, and mints permits.
//!
//! This is the wall between the two planes. Whoever wants to touch the outside asks
//! [`Broker::request`]; it decides by the run's frozen authority, waits for a person where that
//! says ask ([`Approvals`]), writes the intent to the ledger, and mints a [`Permit`], in that order.
//! Every function with an effect takes one, and there is no other way to have one: an effect
//! without a record can't be written down, and a ledger that fails is a refusal.
//!
//! [`Leases`] holds the credentials of a run; a value is had with a permit for it, too.
//!
//! This crate must never parse hostile bytes, speak HTTP or SQL, or perform an effect itself.

mod broker;
mod learn;
mod permit;

mod approvals;
mod ask;
mod leases;

mod act;
mod cut;
mod refusal;

pub use act::Act;
pub use approvals::{Approvals, Capped, Watch};
pub use ask::{Answer, AnswerError, Answerer, Ask, Binding, Context, Via};
pub use broker::Broker;
pub use leases::{Credential, LeaseError, Leases, Lent, Loan};
pub use permit::Permit;
pub use refusal::Refusal;
