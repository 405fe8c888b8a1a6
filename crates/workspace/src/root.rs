//! The workspace's own place, and paths as people see them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Longest path shown in a message, in characters.
const SHOWN_MAX: usize = 300;

/// The absolute path at which a run sees its workspace.
#[derive(Clone, Debug)]
pub(crate) struct WorkspaceRoot(Vec<u8>);

impl WorkspaceRoot {
    pub(crate) fn new(path: &Path) -> Self {
        let bytes = path.as_os_str().as_bytes();
        Self(bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec())
    }

    /// What is left of an absolute path beneath the root; empty for the root itself.
    pub(crate) fn strip<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let rest = path.strip_prefix(self.0.as_slice())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
    }
}

/// A path for a message: inert, and its middle left out if it is very long.
pub(crate) fn shown(path: &[u8]) -> String {
    let text = names::printable(path);
    let count = text.chars().count();
    if count <= SHOWN_MAX {
        return text;
    }
    let half = SHOWN_MAX / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_cut_in_the_middle() {
        assert_eq!(shown(b"a\nb"), "a\\nb");
        let long = shown(&b"ab/".repeat(1000));
        assert_eq!(long.chars().count(), SHOWN_MAX + 1);
        assert!(long.starts_with("ab/") && long.ends_with("ab/") && long.contains('…'));
    }
}
