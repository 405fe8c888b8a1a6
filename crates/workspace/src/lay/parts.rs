//! Which changes are laid, where not all of them are kept. Pure.

use std::borrow::Cow;

use names::WorkspacePath;

use super::LayError;
use crate::change::{Change, ChangeSet};
use crate::node::Node;

/// The changes of single paths, in an order in which everything below a directory follows it at
/// once.
pub(super) struct Parts<'a>(Vec<Part<'a>>);

struct Part<'a> {
    change: Cow<'a, Change>,
    /// The nearest one above it.
    above: Option<usize>,
    fate: Fate,
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Laid,
    /// What the base holds counts.
    LeftOut,
    /// The same, for the sake of another one that was left out.
    HeldBack,
}

impl<'a> Parts<'a> {
    /// Decides about every one.
    pub(super) fn choose(
        changes: &'a ChangeSet,
        keep: &dyn Fn(&Change) -> bool,
    ) -> Result<Self, LayError> {
        let part = |change: Cow<'a, Change>| {
            let kept = !change.is_final() && keep(&change);
            let fate = if kept { Fate::Laid } else { Fate::LeftOut };
            Part { change, above: None, fate }
        };
        let mut parts: Vec<_> =
            changes.entries().iter().flat_map(Change::apart).map(part).collect();
        parts.sort_unstable_by(|a, b| a.change.path.components().cmp(b.change.path.components()));
        let mut parts = Self(parts);
        parts.find_above();
        parts.refuse_contradictions()?;
        parts.hold_back_below_what_stays();
        parts.hold_back_above_what_stays();
        Ok(parts)
    }

    /// Those to lay, but for what goes together with a directory above it.
    pub(super) fn laid(&self) -> impl Iterator<Item = &Change> {
        let mut gone: Option<&WorkspacePath> = None;
        let laid = self.0.iter().filter(|part| part.fate == Fate::Laid);
        laid.map(|part| &*part.change).filter(move |change| {
            if gone.is_some_and(|gone| change.path.starts_with(gone)) {
                return false;
            }
            if !is_dir(change.after.as_ref()) {
                gone = Some(&change.path);
            }
            true
        })
    }

    /// Those that were to be kept and are not laid.
    pub(super) fn held_back(&self) -> Vec<WorkspacePath> {
        let held = self.0.iter().filter(|part| part.fate == Fate::HeldBack);
        let mut paths: Vec<_> = held.map(|part| part.change.path.clone()).collect();
        paths.sort_unstable();
        paths
    }

    fn find_above(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for index in 0..self.0.len() {
            while open.last().is_some_and(|last| !self.is_below(index, *last)) {
                open.pop();
            }
            if let Some(part) = self.0.get_mut(index) {
                part.above = open.last().copied();
            }
            open.push(index);
        }
    }

    fn is_below(&self, index: usize, above: usize) -> bool {
        let path = |index: usize| self.0.get(index).map(|part| &part.change.path);
        path(index).zip(path(above)).is_some_and(|(path, above)| path.starts_with(above))
    }

    /// Only a directory has something below it, before and after.
    fn refuse_contradictions(&self) -> Result<(), LayError> {
        let denied = |part: &&Part<'_>| {
            self.above(part).is_some_and(|above| {
                let (below, above) = (&part.change, &above.change);
                (below.before.is_some() && !is_dir(above.before.as_ref()))
                    || (below.after.is_some() && !is_dir(above.after.as_ref()))
            })
        };
        match self.0.iter().find(denied) {
            Some(part) => Err(LayError::Contradiction { path: part.change.path.clone() }),
            None => Ok(()),
        }
    }

    /// Where the base's file or link stays, there is nothing below it.
    fn hold_back_below_what_stays(&mut self) {
        let mut stays = Vec::with_capacity(self.0.len());
        for index in 0..self.0.len() {
            let Some(part) = self.0.get(index) else { return };
            let below = part.above.and_then(|above| stays.get(above)).copied().unwrap_or(false);
            let before = part.change.before.as_ref();
            let is_left = part.fate == Fate::LeftOut && before.is_some() && !is_dir(before);
            stays.push(below || is_left);
            if below && part.fate == Fate::Laid {
                self.set(index, Fate::HeldBack);
            }
        }
    }

    /// Where something stays or comes to be, there are directories above it. So one of the base's
    /// is not taken away, and one that the run made is made although it was left out.
    fn hold_back_above_what_stays(&mut self) {
        let mut needed = vec![false; self.0.len()];
        for index in (0..self.0.len()).rev() {
            let Some(part) = self.0.get(index) else { return };
            let (change, above) = (&part.change, part.above);
            let is_needed = needed.get(index).copied().unwrap_or(false);
            let fate = match part.fate {
                Fate::Laid if is_needed && !is_dir(change.after.as_ref()) => Fate::HeldBack,
                Fate::LeftOut if is_needed && change.before.is_none() => Fate::Laid,
                fate => fate,
            };
            let holds = match fate {
                Fate::Laid => change.after.is_some(),
                Fate::LeftOut | Fate::HeldBack => change.before.is_some(),
            };
            self.set(index, fate);
            if let Some(above) = above.and_then(|above| needed.get_mut(above)) {
                *above |= holds;
            }
        }
    }

    fn above(&self, part: &Part<'_>) -> Option<&Part<'a>> {
        self.0.get(part.above?)
    }

    fn set(&mut self, index: usize, fate: Fate) {
        if let Some(part) = self.0.get_mut(index) {
            part.fate = fate;
        }
    }
}

fn is_dir(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::Dir { .. }))
}
