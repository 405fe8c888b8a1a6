//! The texts of a run's changes, for the contract to look at: what steers how checks run.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use contract::{Altered, Contract, Flag, LONGEST_TEXT, Oracle};
use workspace::{Change, Node};

use super::Subject;
use super::sieve::Sieve;
use crate::store::open_regular;

/// What of the changes that checks see steers them.
pub(crate) fn flags(
    contract: &Contract,
    oracle: &Oracle,
    subject: &Subject<'_>,
    sieve: &Sieve,
    base: &Path,
) -> Vec<Flag> {
    let mut flags = Vec::new();
    for change in subject.changes.entries().iter().filter(|change| !change.is_directory()) {
        for part in change.apart().filter(|part| sieve.keeps(part)) {
            flags.extend(of(contract, oracle, subject, &part, base));
        }
    }
    flags.sort();
    flags.dedup();
    flags
}

fn of(
    contract: &Contract,
    oracle: &Oracle,
    subject: &Subject<'_>,
    part: &Change,
    base: &Path,
) -> Vec<Flag> {
    let before = is_file(part.before.as_ref())
        .then(|| text(open_regular(&base.join(part.path.as_path())).ok()));
    let after = match &part.after {
        Some(Node::File { digest, .. }) => text(subject.contents.open(&part.path, digest).ok()),
        _ => None,
    };
    let leaves_directory = matches!(part.after, Some(Node::Dir { .. }));
    let opaque = part.after.is_some() && !leaves_directory && after.is_none();
    let before = before.flatten();
    let (path, before, after) = (part.path.as_bytes(), before.as_deref(), after.as_deref());
    contract::flags(contract, oracle, &Altered { path, before, after, opaque })
}

fn is_file(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::File { .. }))
}

/// The text of a file; none if it is none, or too long.
fn text(file: Option<File>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file?.take(LONGEST_TEXT.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    let is_text = bytes.len() as u64 <= LONGEST_TEXT && !bytes.contains(&0);
    is_text.then_some(bytes)
}
