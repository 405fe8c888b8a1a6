//! Scratch Git repositories.

use std::path::{Path, PathBuf};

use crate::World;

/// A repository of a world.
pub struct Repository<'a> {
    world: &'a World,
    path: PathBuf,
}

impl<'a> Repository<'a> {
    pub(crate) fn new(world: &'a World, path: PathBuf) -> Self {
        let repository = Self { world, path };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("README.md", "# A project\n");
        repository.commit("First");
        repository
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git outside; its output. A failure fails the test.
    pub fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com"];
        let line = [&["git"], identity.as_slice(), arguments].concat();
        self.world.outside(&self.path, &line).run().expect_code(0).out()
    }

    /// Commits everything that is there.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Writes a file, its directories made on the way.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        self.world.write(self.path.join(path), contents)
    }

    /// Reads a file as text.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path.join(path);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// Whether there is something at this path; a link counts, wherever it leads.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path.join(path).symlink_metadata().is_ok()
    }

    /// What differs from the last commit, as `git status` tells it.
    pub fn status(&self) -> String {
        self.git(&["status", "--short", "--untracked-files=all"])
    }
}

impl AsRef<Path> for Repository<'_> {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
