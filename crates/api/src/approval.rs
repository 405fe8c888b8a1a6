//! Asks and answers: `loop approvals`, `approve` and `deny`, and the prompt at the terminal.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use names::{AskId, Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::event::Question;
use crate::{CheckProgress, Publication, RuleRef, text};

/// Asks for what waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalsRequest {
    /// A run id, or the beginning of one; `None` is every run that goes on.
    pub run: Option<String>,
    /// The project directory, whose runs come first; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// An action that waits for a person. All of it may be text from the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskView {
    /// Its id, unique in its run.
    pub id: AskId,
    /// The run.
    pub run: RunId,
    /// The kind of action: `exec`, `open`, `connect`.
    pub action: String,
    /// What would be done, in the language of `policy explain`.
    pub what: String,
    /// The program, if that is what would be started.
    pub command: Option<AskedCommand>,
    /// The commands that led to it, the nearest first.
    pub started_by: Vec<String>,
    /// What would be written, as a unified diff.
    pub diff: Option<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// The rules that ask.
    pub rules: Vec<RuleRef>,
    /// Why they do.
    pub reason: String,
    /// When it was asked.
    pub asked: Timestamp,
    /// When it will be denied.
    pub expires: Timestamp,
    /// The digest of the action.
    pub action_digest: Digest,
    /// The digest of the authority.
    pub authority: Digest,
    /// What an answer to exactly this carries.
    pub binding: Digest,
}

/// A program that would be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCommand {
    /// The file that will run.
    #[serde(with = "text")]
    pub program: PathBuf,
    /// What else it is called: links that led to it, and the name it is started under.
    #[serde(with = "text::many")]
    pub called: Vec<OsString>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The working directory.
    #[serde(with = "text")]
    pub directory: PathBuf,
}

/// What a person chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "kebab-case")]
pub enum Choice {
    /// It may happen, this time.
    Once,
    /// It may happen, now and whenever this run wants exactly the same again.
    Run,
    /// It may not.
    Deny {
        /// What to tell whoever wanted it.
        reason: Option<String>,
    },
    /// It may not, nor anything else: the run ends.
    Stop {
        /// What to tell whoever wanted it.
        reason: Option<String>,
    },
}

/// Answers an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRequest {
    /// The run.
    pub run: RunId,
    /// The ask.
    pub id: AskId,
    /// The binding of what the person was shown.
    pub binding: Digest,
    /// What they chose.
    pub choice: Choice,
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerReport {
    /// The run.
    pub run: RunId,
    /// The ask.
    pub id: AskId,
    /// What was chosen.
    pub choice: Choice,
    /// Its record in the run's ledger.
    pub record: u64,
}

/// An ask of a run and what a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredAsk {
    /// The ask.
    pub id: AskId,
    /// The kind of action.
    pub action: String,
    /// What was asked about, in the language of `policy explain`.
    pub what: String,
    /// `once`, `run`, `deny` or `stop`.
    pub answer: String,
    /// Who answered, and where.
    pub by: String,
    /// What they said.
    pub reason: Option<String>,
    /// The record of the answer.
    pub record: u64,
}

/// A setting of the owner that cuts asks off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskCap {
    /// Its key, as `approvals.max_waiting`.
    pub key: String,
    /// What it says.
    pub limit: u32,
}

/// The person at the terminal of a command, as a client speaks to them. Lines end with a line feed.
pub trait Person {
    /// Whether a prompt can be shown on their terminal, which has that size.
    fn can_be_asked(&self, rows: u16, columns: u16) -> bool;

    /// The prompt for one ask, while `more` others wait, for a terminal of that size.
    fn prompt(&self, ask: &AskView, more: usize, rows: u16, columns: u16) -> String;

    /// What a key at the prompt means; `None` is nothing.
    fn choice(&self, key: u8) -> Option<Choice>;

    /// Said after the person has chosen.
    fn chosen(&self, ask: &AskView, choice: &Choice) -> String;

    /// Said when an ask is over that the person was looking at and did not answer.
    fn gone(&self, ask: &AskView) -> String;

    /// Said when an answer does not count.
    fn not_counted(&self, ask: &AskView, why: &str) -> String;

    /// Said once about an ask that nobody can answer here.
    fn waits(&self, ask: &AskView) -> String;

    /// Said before the command starts, of the ports that are published.
    fn published(&self, publish: &[Publication]) -> String;

    /// Said before anything runs, where that is held to the project's own contract, which nobody has
    /// named.
    fn held_to(&self, contract: &Path) -> String;

    /// Said when a check begins.
    fn checking(&self, check: &CheckProgress) -> String;

    /// Said when asks are cut off.
    fn capped(&self, cap: &AskCap) -> String;

    /// Said when Loop's own agent asks something, before a line is read at the terminal; `None`:
    /// nobody answers questions here. An empty line declines.
    fn question(&self, question: &Question) -> Option<String>;
}

/// Nobody who could be asked, or told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn can_be_asked(&self, _: u16, _: u16) -> bool {
        false
    }

    fn prompt(&self, _: &AskView, _: usize, _: u16, _: u16) -> String {
        String::new()
    }

    fn choice(&self, _: u8) -> Option<Choice> {
        None
    }

    fn chosen(&self, _: &AskView, _: &Choice) -> String {
        String::new()
    }

    fn gone(&self, _: &AskView) -> String {
        String::new()
    }

    fn not_counted(&self, _: &AskView, _: &str) -> String {
        String::new()
    }

    fn waits(&self, _: &AskView) -> String {
        String::new()
    }

    fn published(&self, _: &[Publication]) -> String {
        String::new()
    }

    fn held_to(&self, _: &Path) -> String {
        String::new()
    }

    fn checking(&self, _: &CheckProgress) -> String {
        String::new()
    }

    fn capped(&self, _: &AskCap) -> String {
        String::new()
    }

    fn question(&self, _: &Question) -> Option<String> {
        None
    }
}
