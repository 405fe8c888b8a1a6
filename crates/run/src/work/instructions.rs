//! The instruction files of a project: AGENTS.md and CLAUDE.md, from its root down to the directory
//! of the run, so that the nearest comes last.
//!
//! They are read from the base before anything runs, and only shown to the model: nothing here
//! obeys them. No link is followed, because it could lead anywhere.

use std::io::{self, Read as _};
use std::path::Path;

use agent::Instructions;

use crate::project::Project;
use crate::store::open_regular;

/// The names of instruction files, in the order in which those of one directory are shown.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// More of one file is not read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The files, the nearest last. Two with the same text count once.
    pub(super) files: Vec<Instructions>,
    /// What could not be shown, and why.
    pub(super) notes: Vec<String>,
}

/// The instruction files of a project.
#[must_use]
pub(super) fn instructions(project: &Project) -> Found {
    let mut found = Found::default();
    let within = |directory: &&Path| directory.starts_with(&project.root);
    let mut directories: Vec<_> = project.directory.ancestors().take_while(within).collect();
    directories.reverse();
    for directory in directories {
        for name in NAMES {
            found.add(&project.root, &directory.join(name));
        }
    }
    found
}

impl Found {
    fn add(&mut self, root: &Path, path: &Path) {
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let shown = names::printable(shown.as_bytes());
        match read(path) {
            Ok(text) if self.files.iter().any(|known| known.text == text) => {}
            Ok(text) => self.files.push(Instructions { path: shown, text }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.notes.push(format!("{shown} is not shown to the agent: {error}")),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let is_link = path.symlink_metadata()?.is_symlink();
    if is_link {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link"));
    }
    let mut bytes = Vec::new();
    open_regular(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn project(root: &Path, directory: &str) -> Project {
        let (root, directory) = (root.to_owned(), root.join(directory));
        Project { root, directory, git: Vec::<PathBuf>::new(), commit: None, objects: None }
    }

    #[test]
    fn the_nearest_comes_last_and_copies_count_once() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        for (path, text) in [
            ("AGENTS.md", "root"),
            ("CLAUDE.md", "root"),
            ("a/CLAUDE.md", "a"),
            ("a/b/AGENTS.md", "b"),
            ("other/AGENTS.md", "other"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let found = instructions(&project(root, "a/b"));
        let files: Vec<_> =
            found.files.iter().map(|f| (f.path.as_str(), f.text.as_str())).collect();
        assert_eq!(files, [("AGENTS.md", "root"), ("a/CLAUDE.md", "a"), ("a/b/AGENTS.md", "b")]);
        assert!(found.notes.is_empty());
    }

    #[test]
    fn a_link_is_not_followed_and_said_to_be_one() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("AGENTS.md")).unwrap();
        let found = instructions(&project(place.path(), ""));
        assert!(found.files.is_empty());
        assert_eq!(found.notes, ["AGENTS.md is not shown to the agent: it is a link"]);
    }

    #[test]
    fn a_long_file_is_read_up_to_a_bound() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("AGENTS.md"), vec![b'x'; 1 << 20]).unwrap();
        let found = instructions(&project(place.path(), ""));
        assert_eq!(found.files[0].text.len() as u64, LONGEST);
    }
}
