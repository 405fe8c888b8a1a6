//! Walking the files that Git would not ignore.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

/// Files below `root`, hidden ones too, without what an ignore file names and without `.git`. No
/// link is followed.
pub(crate) fn files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).git_global(false).require_git(false).follow_links(false);
    walk.sort_by_file_name(std::cmp::Ord::cmp);
    walk.filter_entry(|entry| entry.file_name() != ".git");
    let found = walk.build().filter_map(Result::ok);
    let files = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.map(ignore::DirEntry::into_path)
}

/// A pattern of names, as in `src/**/*.rs`. One without a slash is about the name alone.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let anchored = text.strip_prefix("./").or_else(|| text.strip_prefix('/'));
        let pattern = match anchored {
            Some(rest) => rest.to_owned(),
            None if text.contains('/') => text.to_owned(),
            None => format!("**/{text}"),
        };
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("the pattern {text:?}: {}", error.kind()))?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    /// Whether it is about `path` below `root`.
    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(root).unwrap_or(path);
        let below = if below.as_os_str().is_empty() {
            Path::new(path.file_name().unwrap_or_default())
        } else {
            below
        };
        self.matcher.is_match(below)
    }
}
