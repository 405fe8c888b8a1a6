//! A session as data: an append-only tree of entries, one JSON line each.
//!
//! Each entry names the one before it, so a branch is an entry whose parent is further back. The
//! path from the newest entry to the root is the conversation. A file that was cut anywhere reads
//! back as what was whole; nothing in it is ever carried out again.

use api::event::{End, Task};
use hands::proposal::Proposal;
use models::{MicroUsd, Part, Usage};
use names::{Digest, Span, Timestamp};
use serde::{Deserialize, Serialize};

use crate::budget::Spent;
use crate::outside::CallId;

/// The form of entries that is written, and the newest that is read.
pub const SCHEMA: u32 = 1;

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The form; see [`SCHEMA`].
    pub schema: u32,
    /// Unique in the session; counts up.
    pub id: u64,
    /// The entry before it on its path; the first has none.
    pub parent: Option<u64>,
    /// When it was made.
    pub time: Timestamp,
    /// What it says.
    pub what: What,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// The session begins, or goes on in a new run.
    Start {
        /// The session's id.
        session: String,
        /// The model, `provider:name`.
        model: String,
    },
    /// The person said something; a turn begins.
    User {
        /// Counts from 1.
        turn: u32,
        /// What.
        said: Said,
    },
    /// The agent itself told the model something.
    Told {
        /// What.
        text: String,
    },
    /// The model answered.
    Assistant {
        /// Its text, reasoning and calls. Every call has an id of its own.
        parts: Vec<Part>,
    },
    /// An answer broke off; this much of it was seen, and the model does not see it again.
    Cut {
        /// The text that was seen.
        text: String,
        /// Why it broke off.
        why: String,
    },
    /// A call is about to be carried out.
    Call {
        /// Which.
        call: CallId,
        /// What it proposes.
        proposal: Proposal,
    },
    /// What came of a call.
    Result {
        /// Which.
        call: CallId,
        /// What the model sees of it.
        parts: Vec<Part>,
        /// Whether it failed.
        failed: bool,
        /// The file whose content the model knows by now.
        seen: Option<Seen>,
    },
    /// The list of what is to do is this now.
    Todo {
        /// All of it.
        items: Vec<Task>,
    },
    /// The context was made smaller.
    Compaction {
        /// How.
        how: Compaction,
    },
    /// A call of the model was charged.
    Spent {
        /// What for.
        purpose: Purpose,
        /// The tokens.
        usage: Usage,
        /// The money, as far as prices are known.
        cost: MicroUsd,
        /// Time since the last such entry of the run.
        wall: Span,
        /// The provider did not say; this is an estimate.
        estimated: bool,
    },
    /// From here on another conversation; the parent says from where.
    Branch {
        /// The session that it was.
        session: String,
        /// The last turn that both have.
        turn: u32,
    },
    /// The turn ended.
    End {
        /// Counts from 1.
        turn: u32,
        /// How.
        end: End,
    },
}

/// What a person says in one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The task, in the person's words.
    pub words: String,
    /// What was piped in with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Images: [`Part::Image`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Part>,
}

impl Said {
    /// Only words.
    #[must_use]
    pub fn words(words: impl Into<String>) -> Self {
        Self { words: words.into(), ..Self::default() }
    }
}

/// A file that the model has read or written, and what it held then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its path, in the one spelling that the agent uses.
    pub path: String,
    /// The digest of all of it, unless it is too large for one.
    pub digest: Option<Digest>,
}

/// How the context was made smaller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Compaction {
    /// Everything before one answer became a summary, beside the task's words and the open list.
    Fold {
        /// The summary; `None`: the model made none, and what was there stays.
        summary: Option<String>,
        /// The entry of the first answer that stays; `None`: none stays.
        kept: Option<u64>,
        /// The open list.
        todo: Vec<Task>,
    },
    /// The outputs of these calls were dropped.
    Empty {
        /// Which.
        calls: Vec<CallId>,
    },
}

/// What a call of the model was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The next step.
    Answer,
    /// An attempt that failed.
    Retry,
    /// A summary.
    Compaction,
}

/// Why text is no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A line in the middle is broken.
    #[error("line {line} is not an entry of a session: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// It is of a newer form.
    #[error("line {line} has schema {schema}; this version reads up to {SCHEMA}")]
    Newer {
        /// From 1.
        line: usize,
        /// The form.
        schema: u32,
    },
    /// An entry names a parent that is not before it, or an id that is taken.
    #[error("line {line} does not belong where it is")]
    Misplaced {
        /// From 1.
        line: usize,
    },
    /// There is not one whole entry.
    #[error("there is nothing in it")]
    Empty,
    /// There is no such turn.
    #[error("there is no turn {0} that ended")]
    NoTurn(u32),
}

/// A session that was read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    entries: Vec<Entry>,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadBack {
    /// The session.
    pub session: Session,
    /// How many bytes are whole entries. Cut the file there before anything is appended.
    pub whole: usize,
}

impl Entry {
    /// Its line, with the line feed.
    #[must_use]
    pub fn line(&self) -> String {
        // INVARIANT: every map key in an entry is text, so every entry has a JSON form.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

impl Session {
    /// Reads lines back. A last line that is cut is left out; it was never acknowledged.
    ///
    /// # Errors
    /// What is broken other than at the end.
    pub fn read(text: &[u8]) -> Result<ReadBack, SessionError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut whole = 0;
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').zip(1..).peekable();
        while let Some((bytes, line)) = lines.next() {
            let entry = match read_line(bytes, line) {
                Ok(entry) => entry,
                Err(SessionError::Line { .. }) if lines.peek().is_none() => break,
                Err(error) => return Err(error),
            };
            if !bytes.ends_with(b"\n") {
                break;
            }
            if !belongs(&entries, &entry) {
                return Err(SessionError::Misplaced { line });
            }
            whole += bytes.len();
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(SessionError::Empty);
        }
        Ok(ReadBack { session: Self { entries }, whole })
    }

    /// All entries, in the order in which they were written.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries that a continued session appends to: the newest's id, and the next one's.
    pub(crate) fn head(&self) -> (Option<u64>, u64) {
        let newest = self.entries.last().map(|entry| entry.id);
        (newest, newest.map_or(0, |id| id.saturating_add(1)))
    }

    /// The conversation: the entries from the root to the newest.
    #[must_use]
    pub fn path(&self) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut wanted = self.entries.last().map(|entry| entry.id);
        // Ids count up, so parents are found walking backwards once.
        for entry in self.entries.iter().rev() {
            if Some(entry.id) == wanted {
                wanted = entry.parent;
                path.push(entry);
            }
        }
        path.reverse();
        path
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.path().into_iter().rev().find_map(|entry| match &entry.what {
            What::Start { session, .. } => Some(session.as_str()),
            _ => None,
        })
    }

    /// The last turn that began.
    #[must_use]
    pub fn turns(&self) -> u32 {
        let turn = |entry: &&Entry| match entry.what {
            What::User { turn, .. } => Some(turn),
            _ => None,
        };
        self.path().iter().rev().find_map(turn).unwrap_or(0)
    }

    /// The model that it was last begun or gone on with, `provider:name`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.path().into_iter().rev().find_map(|entry| match &entry.what {
            What::Start { model, .. } => Some(model.as_str()),
            _ => None,
        })
    }

    /// The first words of the person, to tell sessions apart.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.path().into_iter().find_map(|entry| match &entry.what {
            What::User { said, .. } => Some(said.words.as_str()),
            _ => None,
        })
    }

    /// What all runs of it together have used, on every branch.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let one = |entry: &Entry| match entry.what {
            What::Spent { usage, cost, wall, .. } => Some(Spent { steps: 1, usage, cost, wall }),
            _ => None,
        };
        self.entries.iter().filter_map(one).fold(Spent::default(), std::ops::Add::add)
    }

    /// Another conversation that shares this one's turns up to `turn` (`None`: all of them), as
    /// the entries of a session of its own. Write them all, then resume it.
    ///
    /// # Errors
    /// There is no such turn, or it has not ended.
    pub fn fork(&self, turn: Option<u32>, id: &str, time: Timestamp) -> Result<Self, SessionError> {
        let mut entries: Vec<_> = self.shared(turn)?.into_iter().cloned().collect();
        let parent = entries.last().map(|entry| entry.id);
        let shared = turn.unwrap_or_else(|| self.turns());
        let from = self.id().unwrap_or_default().to_owned();
        let model = entries.iter().rev().find_map(|entry| match &entry.what {
            What::Start { model, .. } => Some(model.clone()),
            _ => None,
        });
        let next = parent.map_or(0, |id| id.saturating_add(1));
        let branch = What::Branch { session: from, turn: shared };
        entries.push(Entry { schema: SCHEMA, id: next, parent, time, what: branch });
        let start = What::Start { session: id.to_owned(), model: model.unwrap_or_default() };
        let (parent, next) = (Some(next), next.saturating_add(1));
        entries.push(Entry { schema: SCHEMA, id: next, parent, time, what: start });
        Ok(Self { entries })
    }

    /// The same session with a branch after `turn`: the entry to append. What came after stays in
    /// the file, on a branch of its own.
    ///
    /// # Errors
    /// There is no such turn, or it has not ended.
    pub fn rewind(&mut self, turn: u32, time: Timestamp) -> Result<Entry, SessionError> {
        let parent = self.shared(Some(turn))?.last().map(|entry| entry.id);
        let (_, id) = self.head();
        let session = self.id().unwrap_or_default().to_owned();
        let what = What::Branch { session, turn };
        let entry = Entry { schema: SCHEMA, id, parent, time, what };
        self.entries.push(entry.clone());
        Ok(entry)
    }

    /// The path up to the end of a turn.
    fn shared(&self, turn: Option<u32>) -> Result<Vec<&Entry>, SessionError> {
        let mut path = self.path();
        let Some(wanted) = turn else { return Ok(path) };
        let ends = |entry: &&Entry| matches!(entry.what, What::End { turn, .. } if turn == wanted);
        let end = path.iter().position(ends).ok_or(SessionError::NoTurn(wanted))?;
        path.truncate(end + 1);
        Ok(path)
    }
}

fn read_line(bytes: &[u8], line: usize) -> Result<Entry, SessionError> {
    #[derive(Deserialize)]
    struct Form {
        schema: u32,
    }
    let broken = |error: serde_json::Error| SessionError::Line { line, why: error.to_string() };
    let form: Form = serde_json::from_slice(bytes).map_err(broken)?;
    if form.schema > SCHEMA {
        return Err(SessionError::Newer { line, schema: form.schema });
    }
    serde_json::from_slice(bytes).map_err(broken)
}

/// Whether an entry may follow: a new id, and a parent that is there.
fn belongs(entries: &[Entry], entry: &Entry) -> bool {
    let newest = entries.last().map(|last| last.id);
    let is_there = |id: u64| entries.binary_search_by_key(&id, |entry| entry.id).is_ok();
    match (newest, entry.parent) {
        (None, None) => true,
        (Some(newest), Some(parent)) => entry.id > newest && is_there(parent),
        _ => false,
    }
}
