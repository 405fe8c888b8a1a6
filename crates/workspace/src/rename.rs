//! Files that only moved. An overlay shows them as one deleted and one added.

use std::collections::HashMap;

use names::Digest;

use crate::change::{Change, Kind, Stat};
use crate::node::Node;
use crate::protect::is_git_metadata;

/// Joins a deleted and an added file into a rename where exactly one of each has the same bytes.
/// Empty files and repositories' metadata never pair.
pub(crate) fn detect(entries: &mut Vec<Change>) {
    let mut pairs: HashMap<Digest, Pair> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        match (&entry.kind, &entry.before, &entry.after) {
            (Kind::Delete, Some(node), None) => {
                offer(&mut pairs, entry, node, index, |pair| &mut pair.deleted);
            }
            (Kind::Add, None, Some(node)) => {
                offer(&mut pairs, entry, node, index, |pair| &mut pair.added);
            }
            _ => {}
        }
    }
    let mut joined: Vec<(usize, usize)> =
        pairs.into_values().filter_map(Pair::unambiguous).collect();
    joined.sort_unstable();
    let mut gone = Vec::with_capacity(joined.len());
    for (from, to) in joined {
        let Some(deleted) = entries.get(from).cloned() else { continue };
        let Some(added) = entries.get_mut(to) else { continue };
        added.kind = Kind::Rename { from: deleted.path };
        added.before = deleted.before;
        added.stat = added.stat.map(|_| Stat::default());
        // Nothing was written that was not there before.
        added.flags.clear();
        gone.push(from);
    }
    let mut gone = gone.into_iter().peekable();
    let mut index = 0;
    entries.retain(|_| {
        let drop = gone.next_if_eq(&index).is_some();
        index += 1;
        !drop
    });
}

#[derive(Default)]
struct Pair {
    deleted: Candidate,
    added: Candidate,
}

#[derive(Clone, Copy, Default)]
enum Candidate {
    #[default]
    None,
    One(usize),
    Many,
}

impl Candidate {
    fn add(&mut self, index: usize) {
        *self = match self {
            Self::None => Self::One(index),
            Self::One(_) | Self::Many => Self::Many,
        };
    }
}

impl Pair {
    fn unambiguous(self) -> Option<(usize, usize)> {
        match (self.deleted, self.added) {
            (Candidate::One(from), Candidate::One(to)) => Some((from, to)),
            _ => None,
        }
    }
}

fn offer(
    pairs: &mut HashMap<Digest, Pair>,
    entry: &Change,
    node: &Node,
    index: usize,
    side: fn(&mut Pair) -> &mut Candidate,
) {
    if let Node::File { size: 1.., digest, .. } = node
        && !is_git_metadata(&entry.path)
    {
        side(pairs.entry(*digest).or_default()).add(index);
    }
}
