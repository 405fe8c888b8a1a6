//! What a change set leads to: the digest that a receipt calls `result`.
//!
//! It follows from `changes.json` alone, so that a verifier can compute it; `docs/receipt.md` has
//! the definition. Whether the change set makes sense is not judged here.

use std::collections::BTreeSet;

use names::canonical::{self, CanonicalError};
use names::{Digest, WorkspacePath};
use serde::Deserialize;

const DOMAIN: &str = "loop-result-v1";

#[derive(Deserialize)]
struct Changes {
    entries: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    path: WorkspacePath,
    kind: Kind,
    after: Option<Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Add,
    Edit,
    Delete,
    Mode,
    Rename { from: WorkspacePath },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Node {
    File { mode: String, digest: Digest },
    Link { target: String },
    Dir {},
    Special {},
}

impl Node {
    /// The mode as Git writes it, and the content in a word.
    fn parts(self) -> (&'static str, String) {
        match self {
            Self::File { mode, digest } if is_executable(&mode) => ("100755", digest.to_string()),
            Self::File { digest, .. } => ("100644", digest.to_string()),
            Self::Link { target } => ("120000", target),
            Self::Dir {} => ("040000", String::new()),
            Self::Special {} => ("000000", String::new()),
        }
    }
}

/// May the owner execute a file of this mode, four octal digits?
pub(crate) fn is_executable(mode: &str) -> bool {
    matches!(mode.as_bytes(), [_, b'1' | b'3' | b'5' | b'7', _, _])
}

/// The digest of what the touched paths of `changes` hold afterwards.
pub(crate) fn result_of(changes: &[u8]) -> Result<Digest, CanonicalError> {
    let Changes { entries } = canonical::parse(changes)?;
    let mut touched: Vec<(WorkspacePath, Option<Node>)> = Vec::new();
    for Change { path, kind, after } in entries {
        touched.push((path, after));
        if let Kind::Rename { from } = kind {
            touched.push((from, None));
        }
    }
    touched.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
    let mut parts = Vec::new();
    for (path, node) in touched {
        let (mode, content) = node.map_or(("000000", String::new()), Node::parts);
        let path = path.as_bytes().to_vec();
        parts.extend([path, mode.as_bytes().to_vec(), content.into_bytes()]);
    }
    let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
    Ok(Digest::of_parts(DOMAIN, &parts))
}

/// The paths that a change set touches, those that renames came from among them; sorted.
///
/// # Errors
/// When the bytes are no change set.
pub fn touched_paths(changes: &[u8]) -> Result<BTreeSet<WorkspacePath>, CanonicalError> {
    let Changes { entries } = canonical::parse(changes)?;
    let paths = entries.into_iter().flat_map(|Change { path, kind, .. }| match kind {
        Kind::Rename { from } => vec![path, from],
        _ => vec![path],
    });
    Ok(paths.collect())
}
