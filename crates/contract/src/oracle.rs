//! What of the project comes from the base while a check runs, whatever the run made of it.

mod built_in;

use std::collections::{BTreeSet, HashSet};

use crate::pattern::Pattern;
use crate::terms::Contract;
use crate::words;

use built_in::is_cache;

/// What checks rest on: the contract's patterns, what is compiled in, and the files that the
/// commands of checks name, but for what the contract lets change.
#[derive(Debug, Clone)]
pub struct Oracle {
    own: Vec<Pattern>,
    may_change: Vec<Pattern>,
    ignored: Vec<Pattern>,
    named: BTreeSet<Vec<u8>>,
}

/// A path of a change set, for [`Oracle::held`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The path, from the project's root on.
    pub path: &'a [u8],
    /// Whether the run left a directory there.
    pub leaves_directory: bool,
}

impl Oracle {
    /// The oracle of a contract. `in_base` tells whether the base has a file (or a link) of that
    /// path; a directory is none.
    pub fn of(contract: &Contract, in_base: &dyn Fn(&str) -> bool) -> Self {
        let mut named = BTreeSet::new();
        for check in &contract.checks {
            for path in words::named_paths(check) {
                // A file that makes `make` do nothing is nobody's to add.
                if in_base(&path) || words::is_goal(check, &path) {
                    named.insert(path.into_bytes());
                }
            }
        }
        Self {
            own: contract.oracle.clone(),
            may_change: contract.may_change.clone(),
            ignored: contract.ignored.clone(),
            named,
        }
    }

    /// Whether the base's version of `path` counts, be it that the base has nothing there.
    #[must_use]
    pub fn holds(&self, path: &[u8]) -> bool {
        let means = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(path));
        if built_in::is_git(path) {
            return true;
        }
        if means(&self.may_change) {
            return false;
        }
        means(&self.own)
            || self.named.contains(path)
            || built_in::holds(path)
            || built_in::is_left_over(path) && !means(&self.ignored)
    }

    /// Which entries of a change set are held, in their order: those that [`Oracle::holds`], and
    /// those that replace or remove a directory that something held lies beneath.
    #[must_use]
    pub fn held(&self, entries: &[Entry<'_>]) -> Vec<bool> {
        let mut held: Vec<bool> = entries.iter().map(|entry| self.holds(entry.path)).collect();
        let kept = entries.iter().zip(&held).filter(|(_, held)| **held).map(|(e, _)| e.path);
        let above = above(kept.chain(self.named.iter().map(Vec::as_slice)));
        for (entry, held) in entries.iter().zip(&mut held) {
            *held = *held || !entry.leaves_directory && above.contains(entry.path);
        }
        held
    }

    /// Whether a check that wrote to `path` while it ran changed what it rests on. What runners
    /// leave behind anywhere, what Git writes down when it is used, and a new file that steers
    /// none, is no such thing.
    #[must_use]
    pub fn touched(&self, path: &[u8], existed: bool) -> bool {
        self.holds(path)
            && !is_cache(path)
            && !built_in::is_left_over(path)
            && !built_in::is_record_of_git(path)
            && (existed || built_in::steers(path))
    }

    /// Whether the contract lets `path` change.
    pub(crate) fn lets_change(&self, path: &[u8]) -> bool {
        self.may_change.iter().any(|pattern| pattern.matches(path))
    }
}

/// The directories above any of these paths.
fn above<'a>(paths: impl Iterator<Item = &'a [u8]>) -> HashSet<&'a [u8]> {
    let mut all = HashSet::new();
    for path in paths {
        for directory in ancestors(path) {
            // Then what is above it is there, too.
            if !all.insert(directory) {
                break;
            }
        }
    }
    all
}

/// The directories above a path, the nearest first, without the root.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}
