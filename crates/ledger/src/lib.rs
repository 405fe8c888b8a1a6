//! The hash chain of a run, its receipt, and the offline verifier.
//!
//! A ledger is one file of one run: a canonical JSON record a line, each bound to the one before
//! it. [`Ledger`] appends, and acknowledges a record only when it is on disk. [`verify_ledger`]
//! says whether bytes are an intact ledger and, if not, what is wrong and at which record.
//! A receipt is a signed statement over the head of a ledger and the change set;
//! [`verify_receipt`] judges one with nothing but bytes and keys.
//!
//! This crate must never hold an async runtime, SQL, a network, or an opinion on what a run may
//! do. Nothing that it reads from outside can make it panic.

mod line;

mod disk;
mod fault;
mod queue;
mod signer;
mod writer;

mod read;
mod verify;
mod walk;

mod dsse;
mod heads;
mod keys;
mod receipt;
mod trust;
mod verification;

mod examine;
mod facts;
mod flaw;
mod substantiate;
mod touched;
mod tree;

mod report;

mod fuzz;

pub use disk::{Disk, FileDisk};
pub use dsse::{Envelope, PAYLOAD_TYPE, Signature};
pub use examine::{Allow, ReceiptVerdict, Requirements, Verdict, verify_receipt};
pub use fault::{DiskFault, LedgerError, Operation};
pub use flaw::Flaw;
pub use fuzz::{fuzz_heads, fuzz_ledger, fuzz_receipt};
pub use heads::{HeadError, SignedHead, signed_heads};
pub use keys::{KeyError, KeyId, SigningKey, VerifyingKey};
pub use line::{Head, MAX_BODY, SCHEMA};
pub use read::{Record, records};
pub use receipt::{
    Approval, Base, Budget, CheckedReceipt, Egress, Lease, MAX_RECEIPT, Model, Outcome,
    PREDICATE_TYPE, Predicate, ReceiptError, Statement, Subject, seal,
};
pub use report::{LedgerReport, LedgerRequirements, Report, Standing, exit_code};
pub use touched::touched_paths;
pub use tree::{Held, Tree};
pub use trust::{ProjectPattern, Revoked, TrustedKey};
pub use verification::{
    Check, Criterion, FlaggedChange, Follows, OnBase, Relation, Review, Verification, Verified,
};
pub use verify::{Broken, Expect, LedgerVerdict, Length, Note, verify_ledger};
pub use writer::{Cut, Ledger, Pending, Recorded};

/// Kinds of record that the verifier gives a meaning to; see `docs/receipt.md`.
pub mod kind {
    /// The first record: schema and run.
    pub const GENESIS: &str = "genesis";
    /// Authority, subject and project of the run.
    pub const RUN_START: &str = "run.start";
    /// What the sandbox measured about itself.
    pub const ENFORCEMENT: &str = "enforcement";
    /// The digest of the change set.
    pub const CHANGES: &str = "changes";
    /// One re-execution of a check.
    pub const CHECK: &str = "check";
    /// What a round of checks came to: what the receipt states of it.
    pub const VERIFICATION: &str = "verification";
    /// Outcome of the run.
    pub const RUN_END: &str = "run.end";
    /// A person's answer to an ask.
    pub const ANSWERED: &str = "approval.answered";
    /// A refused action.
    pub const DENIED: &str = "denied";
    /// An action that is not allowed, and that a learning run let through.
    pub const LEARNED: &str = "learned";
    /// What was put right after a crash.
    pub const RECOVERED: &str = "recovered";
    /// How the kind of an action's intent ends.
    pub const INTENT: &str = ".intent";
    /// How the kind of an action's result ends.
    pub const RESULT: &str = ".result";
}
