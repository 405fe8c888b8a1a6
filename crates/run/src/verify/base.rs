//! Is a directory the base that a change set was made of?

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use api::{Problem, exit};
use names::Digest;
use workspace::{Change, ChangeSet, Flag, Node};

use crate::store::open_regular;

/// Refuses a base that does not hold what `changes` says was there before, and names the path.
/// What Git ignores or is never applied is in no clone, and no check sees the run's version of it.
///
/// # Errors
/// The first path that differs.
pub(crate) fn refuse_another(changes: &ChangeSet, root: &Path) -> Result<(), Problem> {
    let parts = changes.entries().iter().flat_map(Change::apart);
    let mut counting =
        parts.filter(|part| !part.is_final() && !part.flags.contains(&Flag::Ignored));
    match counting.find(|part| !holds(&root.join(part.path.as_path()), part.before.as_ref())) {
        None => Ok(()),
        Some(part) => {
            let what = format!("{} is not what it was when the run began", part.path);
            Err(Problem::new(exit::UNSAFE, what)
                .with_next("name a copy of the project as it was with --dir"))
        }
    }
}

fn holds(path: &Path, node: Option<&Node>) -> bool {
    let found = fs::symlink_metadata(path);
    match (node, found) {
        (None, found) => found.is_err(),
        (Some(Node::Dir { .. }), Ok(found)) => found.is_dir(),
        (Some(Node::Link { target }), Ok(found)) => {
            let is_target = |path: &Path| path.as_os_str().as_encoded_bytes() == target.as_bytes();
            found.is_symlink() && fs::read_link(path).is_ok_and(|found| is_target(&found))
        }
        (Some(Node::File { size, digest, .. }), Ok(found)) => {
            found.is_file() && found.len() == *size && digest_of(path).is_ok_and(|it| it == *digest)
        }
        _ => false,
    }
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let (mut file, mut digest) = (open_regular(path)?, Digest::hasher());
    io::copy(&mut file.by_ref(), &mut digest)?;
    Ok(digest.finish())
}
