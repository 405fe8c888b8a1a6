//! Where a run keeps the parts of its sandbox on the host.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directories of one run that become parts of its view. They lie in the run's directory,
/// which no other user can enter, because what the sandbox writes keeps its modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    run: PathBuf,
}

impl Layout {
    /// The layout below a run's directory.
    pub fn of(run: impl Into<PathBuf>) -> Self {
        Self { run: run.into() }
    }

    /// What the sandbox changed in the workspace.
    #[must_use]
    pub fn upper(&self) -> PathBuf {
        self.run.join("upper")
    }

    /// The overlay's own scratch space, on the same file system.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.run.join("work")
    }

    /// Everything that ends with the sandbox.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.run.join("scratch")
    }

    /// The private `/tmp`.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.scratch().join("tmp")
    }

    /// Where writes to the `number`th cache go.
    #[must_use]
    pub fn cache_upper(&self, number: usize) -> PathBuf {
        self.scratch().join(format!("cache-{number}"))
    }

    /// The overlay's scratch space for the `number`th cache.
    #[must_use]
    pub fn cache_work(&self, number: usize) -> PathBuf {
        self.scratch().join(format!("cache-{number}-work"))
    }

    /// What the sandbox changed in the `number`th Git directory outside of the workspace.
    #[must_use]
    pub fn git_upper(&self, number: usize) -> PathBuf {
        self.run.join(format!("git-{number}"))
    }

    /// Those that there are of them.
    pub fn git_uppers(&self) -> impl Iterator<Item = PathBuf> {
        (0..).map(|number| self.git_upper(number)).take_while(|path| path.exists())
    }

    /// The overlay's scratch space for that.
    #[must_use]
    pub fn git_work(&self, number: usize) -> PathBuf {
        self.scratch().join(format!("git-{number}-work"))
    }

    /// Makes all of them, for `caches` caches and `git` Git directories outside of the workspace. The workspace's upper directory gets the mode of
    /// the project's directory, because it becomes its root.
    ///
    /// # Errors
    /// When a directory can't be made.
    pub fn create(&self, project: &Path, caches: usize, git: usize) -> io::Result<()> {
        private_directory(&self.upper())?;
        std::fs::set_permissions(self.upper(), std::fs::metadata(project)?.permissions())?;
        private_directory(&self.work())?;
        private_directory(&self.scratch())?;
        private_directory(&self.temporary())?;
        std::fs::set_permissions(self.temporary(), Permissions::from_mode(0o1777))?;
        (0..caches).try_for_each(|number| {
            private_directory(&self.cache_upper(number))?;
            private_directory(&self.cache_work(number))
        })?;
        (0..git).try_for_each(|number| {
            private_directory(&self.git_upper(number))?;
            private_directory(&self.git_work(number))
        })
    }
}

fn private_directory(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)
}
