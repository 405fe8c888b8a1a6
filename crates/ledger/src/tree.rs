//! Does a tree hold what a change set leaves? A receipt is about a tree only if it does.
//!
//! Every touched path is compared, and no other: what else a tree holds, a receipt says nothing
//! about. What is never applied is left out. What Git ignores may be absent, because a checkout of a
//! commit doesn't have it, unless the checks used it; so may a directory, where it has nothing in
//! it. A path that the checks had from the base may be as it was there.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;

use names::{Digest, WorkspacePath, canonical};
use serde::Deserialize;

use crate::flaw::Flaw;
use crate::touched::{Kind, Node, is_executable};
use crate::verification::Verification;

/// A tree to compare with, whatever it is stored in.
pub trait Tree: Debug {
    /// What the path holds; nothing also if a directory on the way is missing, or is a link.
    ///
    /// # Errors
    /// When that can't be said.
    fn held(&self, path: &WorkspacePath) -> io::Result<Option<Held>>;
}

/// What a path of a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// A regular file.
    File {
        /// May its owner execute it?
        executable: bool,
        /// Digest of its bytes.
        digest: Digest,
    },
    /// A symbolic link, and where it points, as written.
    Link(Vec<u8>),
    /// A directory.
    Directory,
    /// Anything else.
    Other,
}

/// Flags of entries that apply leaves out.
const NEVER_APPLIED: [&str; 5] = ["git-metadata", "device", "fifo", "socket", "unreadable"];
const IGNORED: &str = "ignored";

#[derive(Deserialize)]
struct Changes {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path: WorkspacePath,
    kind: Kind,
    before: Option<Node>,
    after: Option<Node>,
    #[serde(default)]
    flags: Vec<serde_json::Value>,
}

impl Entry {
    fn has_flag(&self, word: &str) -> bool {
        self.flags.iter().any(|flag| flag.as_str() == Some(word))
    }
}

/// What the checks of a run had of its change set.
struct Checked<'a>(Option<&'a Verification>);

impl Checked<'_> {
    /// Did they have the base's version of the path?
    fn had_base(&self, path: &WorkspacePath) -> bool {
        self.0.is_some_and(|it| it.held.iter().any(|held| *held == path.text()))
    }

    /// Did they have the path although Git ignores it?
    fn used(&self, path: &WorkspacePath) -> bool {
        self.0.is_some_and(|it| it.used_ignored.iter().any(|used| *used == path.text()))
    }
}

/// Compares every path that `changes` touches.
pub(crate) fn compare(
    changes: &[u8],
    verification: Option<&Verification>,
    tree: &dyn Tree,
) -> Result<(), Flaw> {
    let checked = Checked(verification);
    let Changes { entries } = canonical::parse(changes)
        .map_err(|error| Flaw::ChangesUnreadable { problem: error.to_string() })?;
    let paths: BTreeSet<_> = entries.iter().map(|entry| entry.path.clone()).collect();
    let applied = entries.iter().filter(|it| !NEVER_APPLIED.iter().any(|word| it.has_flag(word)));
    let mut differing = Vec::new();
    for entry in applied {
        let held = look(tree, &entry.path)?;
        if !fits(entry, held.as_ref(), &checked) {
            differing.push((&entry.path, held));
        }
        if let Kind::Rename { from } = &entry.kind
            && !paths.contains(from)
            && !checked.had_base(from)
            && let held @ Some(_) = look(tree, from)?
        {
            differing.push((from, held));
        }
    }
    let others = differing.len().saturating_sub(1) as u64;
    match differing.into_iter().next() {
        None => Ok(()),
        Some((path, held)) => {
            let path = names::printable(path.text().as_bytes());
            Err(Flaw::TreeDiffers { path, holds: word(held.as_ref()), others })
        }
    }
}

fn look(tree: &dyn Tree, path: &WorkspacePath) -> Result<Option<Held>, Flaw> {
    tree.held(path).map_err(|error| Flaw::TreeUnreadable {
        path: names::printable(path.text().as_bytes()),
        problem: error.to_string(),
    })
}

/// Does the path hold what the run left, or what the checks had instead of it?
fn fits(entry: &Entry, held: Option<&Held>, checked: &Checked<'_>) -> bool {
    let is_renamed = matches!(entry.kind, Kind::Rename { .. });
    let base = entry.before.as_ref().filter(|_| !is_renamed);
    let may_lack = held.is_none() && entry.has_flag(IGNORED) && !checked.used(&entry.path);
    may_lack
        || is_held(entry.after.as_ref(), held)
        || checked.had_base(&entry.path) && is_held(base, held)
}

fn is_held(node: Option<&Node>, held: Option<&Held>) -> bool {
    match (node, held) {
        (None, None) | (Some(Node::Dir {}), None | Some(Held::Directory)) => true,
        (Some(Node::File { mode, digest }), Some(Held::File { executable, digest: found })) => {
            digest == found && is_executable(mode) == *executable
        }
        (Some(Node::Link { target }), Some(Held::Link(found))) => {
            unescape(target).as_ref() == Some(found)
        }
        _ => false,
    }
}

fn word(held: Option<&Held>) -> &'static str {
    match held {
        None => "nothing",
        Some(Held::File { .. }) => "another file",
        Some(Held::Link(_)) => "a link",
        Some(Held::Directory) => "a directory",
        Some(Held::Other) => "something special",
    }
}

/// The bytes of a text with `%XX`; none if it is malformed.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
        out.extend_from_slice(rest.as_bytes());
    }
    Some(out)
}
