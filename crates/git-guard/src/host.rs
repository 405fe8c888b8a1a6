//! Git on the host, for repositories that a sandbox may have written.
//!
//! Git obeys what lies in a repository: some sixty settings of its configuration, its hooks, files
//! that point elsewhere. A list of what to switch off is never complete. So here git never gets to
//! see a repository's own Git directory: it works in a private one that Loop made, which has the
//! objects, the refs and the index of the other, and nothing else of it. What a repository says to
//! run or to trust is thereby not read at all; [`settings`] is the table of what that is, each row
//! of it with a test. The person's own global and system configuration holds as always.
//!
//! Git starts git, for submodules and for what lies elsewhere, and clears its environment first.
//! That git is a stub which goes on in the private directory and nowhere else.
//!
//! This is the only module of Loop that starts git on the host, and it starts nothing else.

mod environment;
mod looking;
mod private;
mod refs;
mod repository;
pub mod settings;
mod taking;
mod tree;

use std::io;
use std::path::PathBuf;

pub use environment::Git;
pub use looking::{Looking, Unfit};
pub use private::Private;
pub use repository::{Overlays, Repository};
pub use taking::{Branched, Commit, FileStat, Flagged, Found, TakeError, Taking, branch};

/// Why git can't be used on a repository.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no git.
    #[error("there is no git on the path")]
    NoGit,
    /// There is no repository.
    #[error("{} is in no Git repository", .0.display())]
    NotARepository(PathBuf),
    /// A `.git` that is no directory and names none that belongs to it.
    #[error("{} names a Git directory that does not name it back", .0.display())]
    Pointer(PathBuf),
    /// Refs in the reftable format.
    #[error("{} keeps its refs in the reftable format, which is not read here", .0.display())]
    Reftable(PathBuf),
    /// Objects that lie in another repository.
    #[error("{} borrows objects from {}", .git.display(), .from.display())]
    Borrows {
        /// The Git directory.
        git: PathBuf,
        /// Where they are.
        from: PathBuf,
    },
    /// More than is looked at.
    #[error("there are more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The cap.
        most: usize,
    },
    /// Something of the repository can't be read.
    #[error("can't read {}: {source}", .path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The private directory can't be made.
    #[error("can't make a private Git directory: {0}")]
    Private(#[source] io::Error),
    /// Git can't be started.
    #[error("can't start git: {0}")]
    Start(#[source] io::Error),
}
