//! Which of a run's changes its checks see. The rest they have as the base has it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use contract::{Contract, Entry, Oracle};
use names::WorkspacePath;
use workspace::{Change, ChangeSet, Flag, Node};

/// What becomes of a changed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Kept, although Git ignores it.
    KeptIgnored,
    /// The oracle holds it.
    Held,
    /// Git ignores it, or it is never applied.
    LeftOut,
}

/// Every changed path, and what becomes of it.
pub(crate) struct Sieve {
    fates: BTreeMap<WorkspacePath, Fate>,
    /// Those that would have taken away what the base keeps.
    held_back: RefCell<BTreeSet<WorkspacePath>>,
}

/// What has to be known of it, sorted, without what lies beneath a path that is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) held: Vec<String>,
    pub(crate) left_out: Vec<String>,
    pub(crate) used_ignored: Vec<String>,
}

impl Sieve {
    /// Sorts the entries of `changes`.
    pub(crate) fn of(contract: &Contract, oracle: &Oracle, changes: &ChangeSet) -> Self {
        let parts: Vec<_> = changes.entries().iter().flat_map(Change::apart).collect();
        let entry = |part: &std::borrow::Cow<'_, Change>| -> bool {
            matches!(part.after, Some(Node::Dir { .. }))
        };
        let entries: Vec<_> = parts
            .iter()
            .map(|part| Entry { path: part.path.as_bytes(), leaves_directory: entry(part) })
            .collect();
        let held = oracle.held(&entries);
        let fates = parts
            .iter()
            .zip(held)
            .map(|(part, held)| (part.path.clone(), fate(contract, part, held)));
        Self { fates: fates.collect(), held_back: RefCell::default() }
    }

    /// Whether checks see this change.
    pub(crate) fn keeps(&self, change: &Change) -> bool {
        matches!(self.fates.get(&change.path), Some(Fate::Kept | Fate::KeptIgnored))
    }

    /// Notes changes that were to be kept and can't be without taking from the base what it keeps.
    pub(crate) fn hold_back(&self, paths: &[WorkspacePath]) {
        self.held_back.borrow_mut().extend(paths.iter().cloned());
    }

    /// What has to be known.
    pub(crate) fn told(&self) -> Told {
        let back = self.held_back.borrow();
        let of = |wanted: Fate| {
            let fates = self.fates.iter();
            fates.filter(move |(_, fate)| **fate == wanted).map(|(path, _)| path)
        };
        let held: BTreeSet<_> = of(Fate::Held).chain(back.iter()).collect();
        Told {
            held: topmost(held),
            left_out: topmost(of(Fate::LeftOut)),
            used_ignored: topmost(of(Fate::KeptIgnored)),
        }
    }
}

fn fate(contract: &Contract, part: &Change, held: bool) -> Fate {
    let path = part.path.as_bytes();
    let ignored = part.flags.contains(&Flag::Ignored);
    let wanted = contract.ignored.iter().any(|pattern| pattern.matches(path));
    match (part.is_final(), held, ignored) {
        (true, ..) => Fate::LeftOut,
        (_, true, _) => Fate::Held,
        (_, _, true) if wanted => Fate::KeptIgnored,
        (_, _, true) => Fate::LeftOut,
        _ => Fate::Kept,
    }
}

/// The paths, but for those beneath others. Of a repository's metadata the directory is named.
fn topmost<'a>(paths: impl IntoIterator<Item = &'a WorkspacePath>) -> Vec<String> {
    let mut named: Vec<&[u8]> = paths.into_iter().map(|path| whole(path.as_bytes())).collect();
    named.sort_by(|a, b| a.split(is_slash).cmp(b.split(is_slash)));
    let mut top: Vec<&[u8]> = Vec::new();
    for path in named {
        if !top.last().is_some_and(|above| is_beneath(path, above)) {
            top.push(path);
        }
    }
    top.into_iter().map(names::printable).collect()
}

fn is_slash(byte: &u8) -> bool {
    *byte == b'/'
}

/// The path up to the first directory of Git metadata on it.
fn whole(path: &[u8]) -> &[u8] {
    let mut end = 0;
    for part in path.split(is_slash) {
        end += part.len();
        if part == b".git" {
            return path.get(..end).unwrap_or(path);
        }
        end += 1;
    }
    path
}

fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
