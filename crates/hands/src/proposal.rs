//! What a tool proposes and what came of it: plain data, which crosses the wall both ways.
//!
//! A proposal is what a model asked for, so nothing in it is trusted; an outcome is what the
//! sandbox answered, so nothing in it is either.

use names::{Digest, Span};
use serde::{Deserialize, Serialize};

/// One use of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum Proposal {
    /// Shows a file: text by numbered lines, an image as itself, a directory as its entries.
    Read {
        /// The file. A relative path counts from the project, as everywhere below.
        path: String,
        /// First line, from 1.
        offset: Option<u64>,
        /// At most so many lines.
        limit: Option<u64>,
        /// At most so many bytes of text, the first line whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// Writes a whole file, and the directories above it.
    Write {
        /// The file.
        path: String,
        /// All of it.
        content: String,
        /// What it must hold now; `None`: it must not exist yet.
        expected: Option<Digest>,
    },
    /// Replaces text in a file, each in turn.
    Edit {
        /// The file.
        path: String,
        /// All of them happen, or none.
        edits: Vec<Replacement>,
        /// What the file must hold now; `None`: anything.
        expected: Option<Digest>,
    },
    /// Changes several files, all or none.
    Patch {
        /// The `*** Begin Patch` format, or a unified diff.
        patch: String,
    },
    /// Looks for lines in files that Git would not ignore.
    Grep {
        /// A regular expression.
        pattern: String,
        /// A file or a directory; `None`: the project.
        path: Option<String>,
        /// Only files whose path matches.
        glob: Option<String>,
        /// Letters match in either case.
        #[serde(default)]
        ignore_case: bool,
        /// Lines shown before and after each match.
        #[serde(default)]
        context: u32,
        /// What is shown of a match.
        #[serde(default)]
        mode: GrepMode,
        /// How many results to pass over.
        offset: Option<u64>,
    },
    /// Looks for files by name, those that Git would not ignore, newest first.
    Glob {
        /// As in `src/**/*.rs`.
        pattern: String,
        /// The directory to look in; `None`: the project.
        path: Option<String>,
        /// How many results to pass over.
        offset: Option<u64>,
    },
    /// Lists a directory.
    List {
        /// The directory; `None`: the project.
        path: Option<String>,
        /// How many entries to pass over.
        offset: Option<u64>,
    },
    /// Runs a line of shell. Every line starts in the project, whatever an earlier one entered.
    Bash {
        /// The line.
        command: String,
        /// Then it is killed.
        timeout: Option<Span>,
        /// Answers at once with a job's id and lets it run.
        #[serde(default)]
        background: bool,
        /// Its streams are a terminal.
        #[serde(default)]
        terminal: bool,
    },
    /// Attends to a command that runs in the background.
    Job {
        /// Its id.
        id: String,
        /// What to do.
        act: JobAct,
    },
    /// Fetches a page, through the network of the sandbox.
    Fetch {
        /// An address of http or https.
        url: String,
        /// How many bytes of its text to pass over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// At most so many bytes of text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
}

/// One replacement in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// What is there, to the letter.
    pub old: String,
    /// What shall be there.
    pub new: String,
    /// Wherever it is; otherwise it must be there exactly once.
    #[serde(default)]
    pub all: bool,
}

/// What is shown of the matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepMode {
    /// The lines.
    #[default]
    Lines,
    /// The files that have one.
    Files,
    /// How many lines each file has.
    Count,
}

/// What to do with a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum JobAct {
    /// Shows what it printed since it was last looked at.
    Output,
    /// Waits for its end.
    Wait {
        /// At most so long.
        timeout: Option<Span>,
    },
    /// Kills it, with all that it started.
    Stop,
    /// Types into it.
    Input {
        /// As it is; a line ends with a line feed.
        text: String,
    },
}

/// What came of a proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// It was carried out. A command that ran and failed was carried out: see `exit`.
    pub ok: bool,
    /// What there is to see.
    pub parts: Vec<Piece>,
    /// Of the whole file that was read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// There is more than is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// How a command ended, as a shell says it: 128 and the number of a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The job that it is about, as long as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// A part of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Piece {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// Its file; base64 in JSON.
        #[serde(with = "base64_text")]
        data: Vec<u8>,
    },
}

/// How much is shown of how much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncated {
    /// So many are shown.
    pub shown: u64,
    /// Of so many; `None`: nobody counted.
    pub total: Option<u64>,
    /// Of what.
    pub unit: Unit,
    /// The `offset` that shows what comes next, for a tool that has one.
    pub next_offset: Option<u64>,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Lines of a file.
    Lines,
    /// Bytes of an output.
    Bytes,
    /// Results of a search, or entries of a directory.
    Entries,
}

impl Proposal {
    /// The tool's name, as rules and records call it.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Edit { .. } => "edit",
            Self::Patch { .. } => "patch",
            Self::Grep { .. } => "grep",
            Self::Glob { .. } => "glob",
            Self::List { .. } => "list",
            Self::Bash { .. } => "bash",
            Self::Job { .. } => "job",
            Self::Fetch { .. } => "fetch",
        }
    }

    /// What it is about, in one line, for records and for a person who is asked: hostile characters
    /// made inert, and cut where it gets long.
    #[must_use]
    pub fn words(&self) -> String {
        let project = || ".".to_owned();
        let words = match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Edit { path, .. } => {
                path.clone()
            }
            Self::Patch { patch } => format!("{} lines", patch.lines().count()),
            Self::Grep { pattern, path, .. } | Self::Glob { pattern, path, .. } => {
                format!("{pattern} in {}", path.clone().unwrap_or_else(project))
            }
            Self::List { path, .. } => path.clone().unwrap_or_else(project),
            Self::Bash { command, .. } => command.clone(),
            Self::Job { id, act } => format!("{} {id}", act.word()),
            Self::Fetch { url, .. } => url.clone(),
        };
        cut(&names::printable(words.as_bytes()))
    }

    /// The digest of all of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut to = Digest::hasher();
        // Writing to a digest never fails, and no part of a proposal is without a form in JSON.
        let written = serde_json::to_writer(&mut to, self);
        debug_assert!(written.is_ok());
        to.finish()
    }
}

impl JobAct {
    fn word(&self) -> &'static str {
        match self {
            Self::Output => "output of",
            Self::Wait { .. } => "wait for",
            Self::Stop => "stop",
            Self::Input { .. } => "input to",
        }
    }
}

/// The beginning of a long line, such that it can be seen that there is more.
fn cut(line: &str) -> String {
    /// Characters of a record's line.
    const MOST: usize = 200;
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", line.split_at(at).0),
        None => line.to_owned(),
    }
}

impl Outcome {
    /// It was carried out, and this is what there is to see.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        Self { ok: true, ..Self::failed(text) }
    }

    /// It was not carried out, for this reason.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        Self { parts: vec![Piece::text(text)], ..Self::default() }
    }

    /// All its text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|piece| match piece {
            Piece::Text { text } => Some(text.as_str()),
            Piece::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Piece {
    /// A part that is text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

mod base64_text {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(data: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        BASE64_STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)
    }
}
