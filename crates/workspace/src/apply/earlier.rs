//! What earlier runs left, for a run that began with their changes.
//!
//! Such a run saw two things at a path: what the base held, and what an earlier run made of it. An
//! apply of the earlier one turns the first into the second, so the base may hold either.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use names::WorkspacePath;

use super::ApplyError;
use super::journal::Held;
use super::place::{Base, look_in_upper};
use super::select::Selection;
use crate::change::{Change, ChangeSet, Kind};
use crate::node::Node;
use crate::tree::Dir;

/// One path of an entry, before and after the run.
pub(crate) struct Ends<'a> {
    pub(crate) path: &'a WorkspacePath,
    pub(crate) before: Option<&'a Node>,
    pub(crate) after: Option<&'a Node>,
}

impl Ends<'_> {
    /// Those of an entry: the one that a rename takes away from comes first.
    pub(crate) fn of(entry: &Change) -> impl Iterator<Item = Ends<'_>> {
        let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
        let from = match &entry.kind {
            Kind::Rename { from } => Some(Ends { path: from, before, after: None }),
            _ => None,
        };
        let before = if from.is_some() { None } else { before };
        from.into_iter().chain([Ends { path: &entry.path, before, after }])
    }

    /// Whether a path with this at it is as the run found it.
    pub(crate) fn begin_with(&self, found: Option<&Node>) -> bool {
        match (self.before, found) {
            (None, None) => true,
            (Some(before), Some(found)) => before.same(found),
            _ => false,
        }
    }
}

/// What earlier runs left, by path.
#[derive(Debug, Default)]
pub(crate) struct Earlier<'a>(HashMap<&'a WorkspacePath, Vec<Held>>);

impl<'a> Earlier<'a> {
    pub(crate) fn new(sets: &'a [ChangeSet]) -> Self {
        let mut left: HashMap<_, Vec<_>> = HashMap::new();
        for ends in sets.iter().flat_map(ChangeSet::entries).flat_map(Ends::of) {
            left.entry(ends.path).or_default().extend(Held::of(ends.after));
        }
        Self(left)
    }

    /// Whether one of them left this at the path.
    pub(crate) fn left(&self, path: &WorkspacePath, found: Option<&Node>) -> bool {
        self.0.get(path).is_some_and(|left| left.iter().any(|held| held.is(found)))
    }

    /// What they left in the base and the run took back since, so that its change set knows
    /// nothing of it: no apply of it could make the base what the run left.
    pub(crate) fn taken_back(
        &self,
        set: &ChangeSet,
        selection: &Selection,
        upper: &Path,
        base: &mut Base,
    ) -> Result<Vec<WorkspacePath>, ApplyError> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let upper = Dir::root(upper).map_err(|source| content(".", source))?;
        let known: HashSet<_> = set.entries().iter().flat_map(Ends::of).map(|e| e.path).collect();
        let mut back = Vec::new();
        for path in self.0.keys().filter(|path| !known.contains(**path)) {
            if selection.covers(path)
                && let Some(there) = self.found_in_base(path, base)?
                && !there.is(in_upper(path, &upper)?.as_ref())
            {
                back.push((*path).clone());
            }
        }
        back.sort_unstable();
        Ok(back)
    }

    /// What the base holds at the path, if one of them left that.
    fn found_in_base(
        &self,
        path: &WorkspacePath,
        base: &mut Base,
    ) -> Result<Option<Held>, ApplyError> {
        let found = base.look(path).map_err(|error| ApplyError::base(path, error))?.node;
        Ok(Held::of(found.as_ref()).filter(|_| self.left(path, found.as_ref())))
    }
}

/// What a run that began with a change of this path left there; a whiteout is nothing.
fn in_upper(path: &WorkspacePath, upper: &Dir) -> Result<Option<Node>, ApplyError> {
    let node = look_in_upper(upper, path).map_err(|error| ApplyError::content(path, error))?;
    Ok(node.filter(|node| !matches!(node, Node::Special { .. })))
}

fn content(path: &str, source: io::Error) -> ApplyError {
    ApplyError::Content { path: path.to_owned(), source }
}
