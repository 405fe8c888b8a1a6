//! What can be wrong with a receipt: a code for programs, a sentence for people.

use names::{Digest, Timestamp};
use serde::Serialize;

use crate::facts::Unreadable;
use crate::heads::HeadError;
use crate::keys::KeyId;
use crate::receipt::{Outcome, ReceiptError};
use crate::verify::Broken;

/// What is wrong with a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Flaw {
    /// The signatures were stripped.
    #[error("the receipt is not signed")]
    Unsigned,
    /// None of the signatures names a trusted key.
    #[error("no trusted key signed it; it names {named}")]
    UnknownKey {
        /// The key ids it names.
        named: String,
    },
    /// A signature that names a trusted key is not one of that key.
    #[error("the signature is not one of {key} over this statement")]
    BadSignature {
        /// The id of the key.
        key: KeyId,
    },
    /// The key that signed it was revoked.
    #[error("the key \"{key}\" was revoked on {on}: {reason}")]
    KeyRevoked {
        /// What it is called.
        key: String,
        /// Since when.
        on: Timestamp,
        /// For what reason.
        reason: String,
    },
    /// The key that signed it was trusted no more.
    #[error("the key \"{key}\" counts until {until}, and this is of {time}")]
    KeyExpired {
        /// What it is called.
        key: String,
        /// Until when it counts.
        until: Timestamp,
        /// When the run ended, or the head was signed.
        time: Timestamp,
    },
    /// The key that signed it is trusted, but not for this project.
    #[error("the key \"{key}\" may not sign for the project {project}")]
    KeyForOtherProject {
        /// What it is called.
        key: String,
        /// The project of the receipt.
        project: String,
    },
    /// The key that signed it is trusted, but not for this outcome.
    #[error("the key \"{key}\" may not sign for the outcome {outcome}")]
    KeyNotForOutcome {
        /// What it is called.
        key: String,
        /// The outcome of the receipt.
        outcome: Outcome,
    },
    /// It is of a time that has not come.
    #[error("the receipt is from the future: its run ended at {ended}, and it is {now}")]
    FromTheFuture {
        /// When the run ended, by the receipt.
        ended: Timestamp,
        /// The verifier's time.
        now: Timestamp,
    },
    /// A line of signed heads is something else.
    #[error("line {line} is not a signed head: {problem}")]
    HeadMalformed {
        /// Which, from 1.
        line: u64,
        /// What the reader said.
        problem: String,
    },
    /// The signature of a head is not one of the key that it names.
    #[error("line {line}: the signature is not one of {key} over this head")]
    HeadSignature {
        /// Which, from 1.
        line: u64,
        /// The id of the key.
        key: KeyId,
    },
    /// Nobody who is trusted vouches for a head of this run.
    #[error("no trusted key signed a head of this run's ledger")]
    NotVouchedFor,
    /// The tree does not hold what the run left.
    #[error("{path} holds {holds}, which is not what the run left{}", and_others(*.others))]
    TreeDiffers {
        /// The first path that differs.
        path: String,
        /// What it holds instead.
        holds: &'static str,
        /// How many more paths differ.
        others: u64,
    },
    /// The run did not start from a commit.
    #[error("the run did not start from a commit")]
    NoBase,
    /// The run started from a commit of another history.
    #[error("the run started from commit {commit}, which is not part of this history")]
    ForeignBase {
        /// The commit.
        commit: String,
    },
    /// A path of the tree can't be looked at.
    #[error("{path} can't be looked at: {problem}")]
    TreeUnreadable {
        /// The path.
        path: String,
        /// The system's reason.
        problem: String,
    },
    /// A subject that has to be there is not.
    #[error("the subject \"{name}\" is missing")]
    SubjectMissing {
        /// Its name.
        name: &'static str,
    },
    /// A subject that does not belong there, or a second one of its name.
    #[error("the subject \"{name}\" does not belong in a receipt")]
    SubjectExtra {
        /// Its name.
        name: String,
    },
    /// The change set is not the one of the receipt.
    #[error("the change set is {found}, the receipt is about {stated}")]
    ChangesDiffer {
        /// What the receipt says.
        stated: Digest,
        /// What was given.
        found: Digest,
    },
    /// The change set leads to another result than the receipt says.
    #[error("the change set leads to {found}, the receipt says {stated}")]
    ResultDiffers {
        /// What the receipt says.
        stated: Digest,
        /// What was computed.
        found: Digest,
    },
    /// The change set is the one of the receipt, and none.
    #[error("the change set can't be read: {problem}")]
    ChangesUnreadable {
        /// What the reader said.
        problem: String,
    },
    /// A record states something else than the receipt.
    #[error("{fact} is not what record {record} of the ledger says")]
    FactDiffers {
        /// What differs.
        fact: &'static str,
        /// The record.
        record: u64,
    },
    /// The ledger does not state a fact of the receipt.
    #[error("the ledger has no {kind} record")]
    RecordMissing {
        /// The kind of the record.
        kind: &'static str,
    },
    /// A record does not say what its kind has to say.
    #[error("record {record} of the ledger does not say what its kind has to say")]
    Unreadable {
        /// The record.
        record: u64,
    },
    /// An action went ahead whose verdict was not allow.
    #[error("record {record} of the ledger is an intent that was not allowed")]
    NotAllowed {
        /// The record.
        record: u64,
    },
    /// The policy was not in force.
    #[error("it was a learning run, which let {actions} through that its policy does not allow")]
    Learning {
        /// How many actions it let through.
        actions: u64,
    },
    /// The receipt does not count what the ledger says was let through.
    #[error("what the receipt says was let through is not what the ledger says")]
    LearnedDiffer,
    /// The receipt itself says that it is not complete.
    #[error("the receipt is not complete: {what}")]
    Omission {
        /// The first thing it leaves out.
        what: String,
    },
    /// The receipt does not count the denials that the ledger has.
    #[error("the receipt's denials are not those of the ledger")]
    DenialsDiffer,
    /// The receipt does not list the approvals that the ledger has.
    #[error("the receipt's approvals are not those of the ledger")]
    ApprovalsDiffer,
    /// An intent has no result.
    #[error("the outcome of record {record} of the ledger is unknown: it has no result")]
    OutcomeUnknown {
        /// The record.
        record: u64,
    },
    /// A result has no intent.
    #[error("record {record} of the ledger is a result without an intent")]
    StrayResult {
        /// The record.
        record: u64,
    },
    /// The run did not end verified.
    #[error("the outcome is {outcome}")]
    Outcome {
        /// How it ended.
        outcome: Outcome,
    },
    /// It claims to be verified, and no check of a contract says so.
    #[error("the outcome is verified, but no check of a contract says so")]
    NoEvidence,
    /// It claims to be verified, and a check did not pass.
    #[error("the outcome is verified, but the check \"{name}\" did not pass")]
    CheckFailed {
        /// Its name.
        name: String,
    },
    /// It claims to be verified, and a criterion is not met by checks that passed.
    #[error("the outcome is verified, but no passing check meets the criterion \"{id}\"")]
    CriterionUnmet {
        /// Its id.
        id: String,
    },
    /// It claims to be verified, and another change set was checked.
    #[error("the outcome is verified, but the checks ran on another change set, {checked}")]
    OthersChecked {
        /// The one that was checked.
        checked: Digest,
    },
    /// It claims to be verified, and a change steers how checks run.
    #[error("the outcome is verified, but the change of {path} steers how checks run")]
    Flagged {
        /// The path.
        path: String,
    },
    /// It claims to be verified, and the reviewing model objects.
    #[error("the outcome is verified, but the reviewing model objects")]
    Vetoed,
    /// The bytes are not a receipt.
    #[error(transparent)]
    #[serde(untagged)]
    Form(#[from] ReceiptError),
    /// The ledger does not hold, or not the known head.
    #[error(transparent)]
    #[serde(untagged)]
    Chain(#[from] Broken),
}

impl From<Unreadable> for Flaw {
    fn from(Unreadable(record): Unreadable) -> Self {
        Self::Unreadable { record }
    }
}

impl From<HeadError> for Flaw {
    fn from(HeadError { line, problem }: HeadError) -> Self {
        Self::HeadMalformed { line, problem }
    }
}

fn and_others(others: u64) -> String {
    match others {
        0 => String::new(),
        1 => "; one more path differs".to_owned(),
        _ => format!("; {others} more paths differ"),
    }
}
