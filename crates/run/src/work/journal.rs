//! A session's entries are kept in its file; what of them is evidence is in the run's ledger too.

use agent::{Entry, Journal, JournalError, Purpose, What};
use api::event::End;
use ledger::Ledger;
use names::{Digest, MicroUsd};
use serde::{Deserialize, Serialize};

use super::session_file::SessionFile;

/// The kinds of records.
pub(crate) const TURN_START: &str = "turn.start";
pub(crate) const MODEL: &str = "model";
const TURN_END: &str = "turn.end";

/// Keeps entries, and records turns.
pub(super) struct Recorder<'a> {
    file: &'a mut SessionFile,
    ledger: &'a Ledger,
    /// What a turn is done with.
    model: String,
}

impl<'a> Recorder<'a> {
    /// In this file and this ledger.
    pub(super) fn new(file: &'a mut SessionFile, ledger: &'a Ledger) -> Self {
        Self { file, ledger, model: String::new() }
    }

    fn record(&mut self, what: &What) -> Result<(), JournalError> {
        let recorded = match what {
            What::Start { model, .. } => {
                self.model.clone_from(model);
                return Ok(());
            }
            What::User { turn, said } => {
                let (turn, model) = (*turn, self.model.clone());
                let words = Digest::of(said.words.as_bytes());
                self.ledger.journal(TURN_START, &TurnStart { turn, model, words })
            }
            What::Spent { purpose, usage, cost, estimated, .. } => {
                let tokens = usage.total();
                let (purpose, cost_micro_usd, estimated) = (*purpose, *cost, *estimated);
                self.ledger.journal(MODEL, &Used { purpose, tokens, cost_micro_usd, estimated })
            }
            What::End { turn, end } => self.ledger.journal(TURN_END, &TurnEnd::of(*turn, end)),
            _ => return Ok(()),
        };
        recorded.map(drop).map_err(|error| JournalError(error.to_string()))
    }
}

impl Journal for Recorder<'_> {
    fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        self.file.append(entry)?;
        self.record(&entry.what)
    }
}

/// Body of `turn.start`. The words themselves are in the session.
#[derive(Serialize, Deserialize)]
pub(crate) struct TurnStart {
    pub(crate) turn: u32,
    /// `provider:name`.
    pub(crate) model: String,
    words: Digest,
}

/// Body of `model`: a call that was charged.
#[derive(Serialize, Deserialize)]
pub(crate) struct Used {
    purpose: Purpose,
    pub(crate) tokens: u64,
    pub(crate) cost_micro_usd: MicroUsd,
    estimated: bool,
}

/// Body of `turn.end`.
#[derive(Serialize)]
struct TurnEnd {
    turn: u32,
    end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Of the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Digest>,
}

impl TurnEnd {
    fn of(turn: u32, end: &End) -> Self {
        let (end, why, message) = match end {
            End::Finished(message) => ("finished", None, Some(Digest::of(message.as_bytes()))),
            End::Stopped(reason) => ("stopped", Some(reason.to_string()), None),
            End::Failed(fault) => ("failed", Some(fault.to_string()), None),
        };
        Self { turn, end, why, message }
    }
}
