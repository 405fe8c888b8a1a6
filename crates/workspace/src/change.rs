//! The change set: what a run left different, as data.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use names::canonical::{self, CanonicalError};
use names::{Digest, WorkspacePath};
use serde::{Deserialize, Serialize};

use crate::node::{Node, SIZE_MAX, Special};

/// The schema that this program writes and reads.
const SCHEMA: u32 = 1;

/// Domain of [`ChangeSet::result_digest`].
const RESULT: &str = "loop-result-v1";

/// Everything that a run left different from its base, sorted by path, each path once.
///
/// Its canonical bytes are the file `changes.json`; their digest is a subject of the receipt.
/// Owners, times, extended attributes, permission bits other than "executable" and set-id, and
/// holes in files are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeSet {
    schema: u32,
    entries: Vec<Change>,
}

/// What became of one path.
///
/// Members that hold nothing are read, too, only where they are written (as `null`): serde would
/// take a missing one for an empty one, and then one change set had two forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The path after the run.
    pub path: WorkspacePath,
    /// What happened to it.
    pub kind: Kind,
    /// What the base holds: at `from` for a rename.
    #[serde(deserialize_with = "Option::deserialize")]
    pub before: Option<Node>,
    /// What the run left.
    #[serde(deserialize_with = "Option::deserialize")]
    pub after: Option<Node>,
    /// Why it needs its own approval, or is never applied; sorted.
    pub flags: Vec<Flag>,
    /// Lines added and removed; none if that can't be said: binary, or over 8 MiB.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stat: Option<Stat>,
}

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kind {
    /// Nothing was there.
    Add,
    /// It holds something else now.
    Edit,
    /// Nothing is there any more.
    Delete,
    /// The same bytes, but a program now, or one no more; or set-id changed.
    Mode,
    /// The same bytes were elsewhere, and are there no more.
    Rename {
        /// Where they were.
        from: WorkspacePath,
    },
}

/// Why an entry needs its own approval, or is never applied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The host may execute or trust this file later: what it is.
    Protected(String),
    /// Text that agents take as instructions.
    InstructionFile,
    /// A link that leads out of the workspace, or round in circles.
    LeavesRoot,
    /// Would run as another user or group. The bit itself is never applied.
    SetId,
    /// Characters that show nothing, or change the order of their neighbours, in the name, the
    /// target of a link or the lines added; control characters in the name.
    InvisibleCharacters,
    /// Git ignores this path.
    Ignored,
    /// Belongs to a repository's metadata. Never applied.
    GitMetadata,
    /// A device. Never applied.
    Device,
    /// A named pipe. Never applied.
    Fifo,
    /// A socket. Never applied.
    Socket,
    /// What the base holds can't be read, so it could not be restored. Never applied.
    Unreadable,
}

impl Flag {
    /// Is an entry with this flag out of anybody's power to apply?
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::GitMetadata | Self::Device | Self::Fifo | Self::Socket | Self::Unreadable => true,
            Self::Protected(_)
            | Self::InstructionFile
            | Self::LeavesRoot
            | Self::SetId
            | Self::InvisibleCharacters
            | Self::Ignored => false,
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protected(what) => what,
            Self::InstructionFile => "instructions for agents",
            Self::LeavesRoot => "link out of the project",
            Self::SetId => "set-id",
            Self::InvisibleCharacters => "invisible characters",
            Self::Ignored => "ignored by git",
            Self::GitMetadata => "git metadata",
            Self::Device => "device",
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Unreadable => "unreadable in the project",
        })
    }
}

impl From<Special> for Flag {
    fn from(what: Special) -> Self {
        match what {
            Special::Fifo => Self::Fifo,
            Special::Socket => Self::Socket,
            Special::Device => Self::Device,
            Special::Unreadable => Self::Unreadable,
        }
    }
}

/// Lines added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    /// Lines that only the new text has.
    pub added: u64,
    /// Lines that only the old text has.
    pub removed: u64,
}

/// How many entries of each kind. Directories are counted apart, and so is what belongs to a
/// repository's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Files and links added.
    pub added: u64,
    /// Files and links that hold something else.
    pub edited: u64,
    /// Files and links deleted.
    pub deleted: u64,
    /// Files whose mode changed.
    pub modes: u64,
    /// Files renamed.
    pub renamed: u64,
    /// Directories added or deleted, also those of a repository's metadata.
    pub directories: u64,
    /// Files and links of a repository's metadata, whatever happened to them.
    pub git: u64,
    /// Files and links that wait for an approval of their own. They are counted by kind, too.
    pub flagged: u64,
}

/// A `changes.json` that can't be one.
#[derive(Debug, thiserror::Error)]
pub enum ChangeSetError {
    /// Not canonical JSON of the right shape.
    #[error("not a change set: {0}")]
    Form(#[from] CanonicalError),
    /// Made by a program of another time.
    #[error("change set of schema {0}, known is {SCHEMA}")]
    Schema(u32),
    /// The same change set is written in other bytes, so this is not what a run wrote.
    #[error("not a change set: it is not written in the one way there is")]
    OtherForm,
    /// Paths are not strictly ascending.
    #[error("change set is not sorted at {0}")]
    Order(WorkspacePath),
    /// An entry contradicts itself.
    #[error("entry {path} {why}")]
    Entry {
        /// Which.
        path: WorkspacePath,
        /// As a predicate.
        why: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    schema: u32,
    entries: Vec<Change>,
}

impl ChangeSet {
    /// The change set of a run that could write nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(Vec::new())
    }

    /// Takes entries in any order.
    pub(crate) fn new(mut entries: Vec<Change>) -> Self {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self { schema: SCHEMA, entries }
    }

    /// Reads the bytes of a `changes.json`, which must be exactly those that were written.
    ///
    /// # Errors
    /// See [`ChangeSetError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ChangeSetError> {
        canonical::check(bytes)?;
        let raw: Raw = canonical::parse_checked(bytes)?;
        if raw.schema != SCHEMA {
            return Err(ChangeSetError::Schema(raw.schema));
        }
        for pair in raw.entries.windows(2) {
            if let [a, b] = pair
                && a.path.cmp(&b.path) != Ordering::Less
            {
                return Err(ChangeSetError::Order(b.path.clone()));
            }
        }
        let mut sources = HashSet::new();
        for entry in &raw.entries {
            let known = |path| raw.entries.binary_search_by(|other| other.path.cmp(path)).is_ok();
            if let Kind::Rename { from } = &entry.kind
                && (known(from) || !sources.insert(from))
            {
                let why = "is renamed from a path that has an entry of its own";
                return Err(ChangeSetError::Entry { path: entry.path.clone(), why });
            }
            if let Some(why) = entry.fault() {
                return Err(ChangeSetError::Entry { path: entry.path.clone(), why });
            }
        }
        let set = Self { schema: raw.schema, entries: raw.entries };
        match set.to_bytes()? == bytes {
            true => Ok(set),
            false => Err(ChangeSetError::OtherForm),
        }
    }

    /// The bytes of `changes.json`: canonical JSON.
    ///
    /// # Errors
    /// Never for a change set that was read or parsed; the type is that of the writer.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ChangeSetError> {
        Ok(canonical::to_vec(self)?)
    }

    /// The digest of the bytes of `changes.json`.
    ///
    /// # Errors
    /// As [`ChangeSet::to_bytes`].
    pub fn digest(&self) -> Result<Digest, ChangeSetError> {
        Ok(Digest::of(&self.to_bytes()?))
    }

    /// The digest of what the touched paths hold after the run: [`Digest::of_parts`] in the
    /// domain `loop-result-v1` over three parts for each touched path in order of its bytes: the
    /// path, its Git mode (`000000` if nothing is there), and the digest of a file or the target
    /// of a link, as text; empty for everything else. A rename touches two paths.
    #[must_use]
    pub fn result_digest(&self) -> Digest {
        let mut touched: Vec<(&[u8], Option<&Node>)> = Vec::new();
        for entry in &self.entries {
            touched.push((entry.path.as_bytes(), entry.after.as_ref()));
            if let Kind::Rename { from } = &entry.kind {
                touched.push((from.as_bytes(), None));
            }
        }
        touched.sort_unstable_by(|a, b| a.0.cmp(b.0));
        let parts = touched.into_iter().flat_map(|(path, node)| {
            let mode = node.map_or("000000", Node::git_mode);
            let content = match node {
                Some(Node::File { digest, .. }) => digest.to_string().into_bytes(),
                Some(Node::Link { target }) => target.to_string().into_bytes(),
                _ => Vec::new(),
            };
            [path.to_vec(), mode.as_bytes().to_vec(), content]
        });
        let parts: Vec<Vec<u8>> = parts.collect();
        Digest::of_parts(RESULT, &parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The entries, sorted by path.
    #[must_use]
    pub fn entries(&self) -> &[Change] {
        &self.entries
    }

    /// Did the run leave everything as it was?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for entry in &self.entries {
            *counts.slot(entry) += 1;
            counts.flagged += u64::from(entry.waits() && !entry.is_directory());
        }
        counts
    }
}

impl Counts {
    fn slot(&mut self, entry: &Change) -> &mut u64 {
        match entry.kind {
            _ if entry.is_directory() => &mut self.directories,
            _ if entry.is_git_metadata() => &mut self.git,
            Kind::Add => &mut self.added,
            Kind::Edit => &mut self.edited,
            Kind::Delete => &mut self.deleted,
            Kind::Mode => &mut self.modes,
            Kind::Rename { .. } => &mut self.renamed,
        }
    }
}

impl Change {
    /// What happened to each path by itself: a rename is a file deleted and a file added.
    pub fn apart(&self) -> impl Iterator<Item = Cow<'_, Self>> {
        let (gone, here) = match &self.kind {
            Kind::Rename { from } => (Some(self.gone_from(from)), Cow::Owned(self.added())),
            _ => (None, Cow::Borrowed(self)),
        };
        gone.into_iter().map(Cow::Owned).chain([here])
    }

    fn gone_from(&self, from: &WorkspacePath) -> Self {
        // Whether Git ignores it is said of where the file is now.
        let flags = self.flags.iter().filter(|flag| **flag != Flag::Ignored).cloned().collect();
        let (path, before) = (from.clone(), self.before.clone());
        Self { path, kind: Kind::Delete, before, after: None, flags, stat: None }
    }

    fn added(&self) -> Self {
        Self { kind: Kind::Add, before: None, stat: None, ..self.clone() }
    }

    /// May it never be applied, whoever approves?
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.flags.iter().any(Flag::is_final)
    }

    /// Is it no more than a directory that is made or removed?
    #[must_use]
    pub fn is_directory(&self) -> bool {
        let node = match self.kind {
            Kind::Add => &self.after,
            Kind::Delete => &self.before,
            Kind::Edit | Kind::Mode | Kind::Rename { .. } => return false,
        };
        matches!(node, Some(Node::Dir { .. }))
    }

    /// Does it belong to a repository's metadata?
    #[must_use]
    pub fn is_git_metadata(&self) -> bool {
        self.flags.contains(&Flag::GitMetadata)
    }

    /// Has it flags, all of which can be approved?
    fn waits(&self) -> bool {
        !self.flags.is_empty() && !self.is_final()
    }

    /// Both paths of a rename, otherwise the one.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &WorkspacePath> {
        let from = match &self.kind {
            Kind::Rename { from } => Some(from),
            _ => None,
        };
        from.into_iter().chain([&self.path])
    }

    /// What contradicts itself, as a predicate.
    fn fault(&self) -> Option<&'static str> {
        let sides = (self.before.as_ref(), self.after.as_ref());
        let fits = match (&self.kind, sides) {
            (Kind::Add, (None, Some(_))) | (Kind::Delete, (Some(_), None)) => true,
            (Kind::Edit, (Some(before), Some(after))) => !before.same(after),
            (Kind::Mode, (Some(before), Some(after))) => is_mode_change(before, after),
            (Kind::Rename { from }, (Some(before), Some(after))) => {
                from != &self.path && same_bytes(before, after)
            }
            _ => false,
        };
        if !fits {
            return Some("says one thing and holds another");
        }
        if !self.flags.is_sorted_by(|a, b| a < b) {
            return Some("has flags that are not sorted");
        }
        let sizes = [&self.before, &self.after].into_iter().flatten();
        if sizes.filter_map(size).any(|size| size > SIZE_MAX) {
            return Some("has a size that JSON can't carry");
        }
        self.missing_flag()
    }

    /// Flags that follow from the entry itself can't have been left out.
    fn missing_flag(&self) -> Option<&'static str> {
        let special =
            [&self.before, &self.after].into_iter().flatten().find_map(|node| match node {
                Node::Special { what } => Some(Flag::from(*what)),
                _ => None,
            });
        let git = self.paths().any(crate::protect::is_git_metadata).then_some(Flag::GitMetadata);
        let needed = special.into_iter().chain(git).all(|flag| self.flags.contains(&flag));
        (!needed).then_some("lacks a flag that it must have")
    }
}

fn size(node: &Node) -> Option<u64> {
    match node {
        Node::File { size, .. } => Some(*size),
        _ => None,
    }
}

/// Are both files with the same bytes?
pub(crate) fn same_bytes(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::File { size: m, digest: x, .. }, Node::File { size: n, digest: y, .. }) => {
            m == n && x == y
        }
        _ => false,
    }
}

/// Is only the mode another?
pub(crate) fn is_mode_change(before: &Node, after: &Node) -> bool {
    same_bytes(before, after) && !before.same(after)
}
