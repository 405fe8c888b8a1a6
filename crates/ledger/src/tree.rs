//! Does a tree hold what a change set leaves? A receipt is about a tree only if it does.
//!
//! Every touched path is compared, and no other: what else a tree holds, a receipt says nothing
//! about. What is never applied is left out; what Git ignores may be absent, because a checkout of
//! a commit doesn't have it; a directory may be absent where nothing was left in it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;

use names::{Digest, WorkspacePath, canonical};
use serde::Deserialize;

use crate::flaw::Flaw;
use crate::touched::{Kind, Node, is_executable};

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
    after: Option<Node>,
    #[serde(default)]
    flags: Vec<serde_json::Value>,
}

impl Entry {
    fn has_flag(&self, word: &str) -> bool {
        self.flags.iter().any(|flag| flag.as_str() == Some(word))
    }
}

/// Compares every path that `changes` touches.
pub(crate) fn compare(changes: &[u8], tree: &dyn Tree) -> Result<(), Flaw> {
    let Changes { entries } = canonical::parse(changes)
        .map_err(|error| Flaw::ChangesUnreadable { problem: error.to_string() })?;
    let paths: BTreeSet<_> = entries.iter().map(|entry| entry.path.clone()).collect();
    let applied = entries.iter().filter(|it| !NEVER_APPLIED.iter().any(|word| it.has_flag(word)));
    let mut differing = Vec::new();
    for entry in applied {
        let held = look(tree, &entry.path)?;
        if !is_as_left(entry, held.as_ref()) {
            differing.push((&entry.path, held));
        }
        if let Kind::Rename { from } = &entry.kind
            && !paths.contains(from)
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

fn is_as_left(entry: &Entry, held: Option<&Held>) -> bool {
    match (&entry.after, held) {
        (None | Some(Node::Special {}), None)
        | (Some(Node::Dir {}), None | Some(Held::Directory)) => true,
        (Some(_), None) => entry.has_flag(IGNORED),
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
