//! Which files the model has read, and what they held.
//!
//! Nothing is written over unseen: an existing file is written or edited only on top of the
//! content that the model has read. Whether it still has that content, the hands check.

use std::collections::HashMap;

use hands::proposal::Proposal;
use names::Digest;

use crate::session::Seen;

/// The files that were read or written.
#[derive(Debug)]
pub(crate) struct Files {
    project: String,
    /// Files too large for a digest have none; an edit of those is by its text alone.
    seen: HashMap<String, Option<Digest>>,
}

impl Files {
    pub(crate) fn new(project: &str) -> Self {
        Self { project: plain("/", project), seen: HashMap::new() }
    }

    /// Fills in what a write or an edit expects.
    ///
    /// # Errors
    /// The file was not read, in words for the model.
    pub(crate) fn expect(&self, proposal: &mut Proposal) -> Result<(), String> {
        match proposal {
            Proposal::Write { path, expected, .. } => *expected = self.digest(path),
            Proposal::Edit { path, expected, .. } => {
                let Some(seen) = self.seen.get(&plain(&self.project, path)) else {
                    let path = names::printable(path.as_bytes());
                    return Err(format!("read {path} before you edit it"));
                };
                *expected = *seen;
            }
            _ => {}
        }
        Ok(())
    }

    /// What is known of a file after a proposal that was carried out.
    pub(crate) fn after(&self, proposal: &Proposal, digest: Option<Digest>) -> Option<Seen> {
        let (Proposal::Read { path, .. }
        | Proposal::Write { path, .. }
        | Proposal::Edit { path, .. }) = proposal
        else {
            return None;
        };
        Some(Seen { path: plain(&self.project, path), digest })
    }

    pub(crate) fn note(&mut self, seen: &Seen) {
        self.seen.insert(seen.path.clone(), seen.digest);
    }

    fn digest(&self, path: &str) -> Option<Digest> {
        self.seen.get(&plain(&self.project, path)).copied().flatten()
    }
}

/// One spelling of a path, by its letters: two that are the same file through a link are taken
/// for two files, which have to be read each.
fn plain(project: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { project };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_spelling() {
        for path in ["a/b", "./a//b", "/p/a/b", "a/c/../b", "../p/a/b"] {
            assert_eq!(plain("/p", path), "/p/a/b", "{path}");
        }
        assert_eq!(plain("/", "../.."), "/");
    }

    #[test]
    fn an_edit_needs_that_the_file_was_read() {
        let mut files = Files::new("/p");
        let mut edit = Proposal::Edit { path: "./a".into(), edits: vec![], expected: None };
        assert_eq!(files.expect(&mut edit), Err("read ./a before you edit it".into()));
        let read = Proposal::Read { path: "a".into(), offset: None, limit: None, most: None };
        let digest = Digest::of(b"x");
        let seen = files.after(&read, Some(digest)).unwrap();
        files.note(&seen);
        assert_eq!(files.expect(&mut edit), Ok(()));
        assert!(matches!(edit, Proposal::Edit { expected, .. } if expected == Some(digest)));
    }
}
