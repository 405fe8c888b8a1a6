//! Which entries of a change set are applied, and why the others are not. Pure.

use std::collections::HashMap;
use std::fmt;

use names::WorkspacePath;
use serde::Serialize;

use crate::change::{Change, ChangeSet, Flag, Kind};
use crate::node::Node;
use crate::shown;

/// What a person asked to apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    paths: Option<Vec<WorkspacePath>>,
    flagged: Vec<WorkspacePath>,
}

impl Selection {
    /// Everything that needs no approval of its own.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// These paths and what is below them.
    #[must_use]
    pub fn only(paths: Vec<WorkspacePath>) -> Self {
        Self { paths: Some(paths), flagged: Vec::new() }
    }

    /// Whether a path is among those that were asked for.
    pub(crate) fn covers(&self, path: &WorkspacePath) -> bool {
        self.paths.as_ref().is_none_or(|paths| paths.iter().any(|above| path.starts_with(above)))
    }

    /// Approves flagged entries: these paths and what is below them.
    #[must_use]
    pub fn with_flagged(mut self, paths: Vec<WorkspacePath>) -> Self {
        self.flagged.extend(paths);
        self
    }
}

/// What a selection comes to. Its numbers go into the action that the broker decides on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyPlan {
    /// The paths of the entries that are applied, sorted.
    pub paths: Vec<WorkspacePath>,
    /// Those of them that have flags.
    pub flagged: Vec<WorkspacePath>,
    /// The selected entries that are not applied, sorted.
    pub left: Vec<Left>,
    /// Indices of the entries that are applied.
    pub(crate) entries: Vec<usize>,
}

/// A selected entry that is not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Its path.
    pub path: WorkspacePath,
    /// Why not.
    pub why: Why,
}

/// Why a selected entry is not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It has flags, and nobody approved it.
    NeedsApproval(Vec<Flag>),
    /// It has flags that nobody can approve.
    Never(Vec<Flag>),
    /// The directory that it is in is not applied.
    Without(WorkspacePath),
    /// The directory can't go, since this stays in it.
    Holds(WorkspacePath),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |flags: &[Flag]| flags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::NeedsApproval(flags) => write!(f, "needs its own approval: {}", list(flags)),
            Self::Never(flags) => write!(f, "never applied: {}", list(flags)),
            Self::Without(path) => write!(f, "{} is not applied", shown(path.as_bytes())),
            Self::Holds(path) => write!(f, "{} stays in it", shown(path.as_bytes())),
        }
    }
}

/// A selection that can't be meant.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No entry has the path or is below it.
    #[error("the run changed nothing at {}", shown(.0.as_bytes()))]
    NoSuchPath(WorkspacePath),
    /// It was named, but it has flags.
    #[error("{} needs its own approval", shown(.path.as_bytes()))]
    NeedsApproval {
        /// Which.
        path: WorkspacePath,
        /// Why.
        flags: Vec<Flag>,
    },
    /// It was named, but it is never applied.
    #[error("{} is never applied", shown(.path.as_bytes()))]
    Never {
        /// Which.
        path: WorkspacePath,
        /// Why.
        flags: Vec<Flag>,
    },
}

/// Finds out what a selection comes to.
///
/// # Errors
/// See [`SelectError`]: a path that was named must be there, and must be one that can be applied.
pub fn plan(set: &ChangeSet, selection: &Selection) -> Result<ApplyPlan, SelectError> {
    let index = Index::new(set);
    let entries = set.entries();
    let mut why: Vec<Option<Why>> = Vec::new();
    let selected = select(set, selection, &index)?;
    why.resize(entries.len(), None);
    let mut active = selected.clone();
    for (at, entry) in entries.iter().enumerate() {
        if active.get(at) == Some(&true)
            && let Some(reason) = refusal(entry, selection)
        {
            drop_entry(&mut active, &mut why, at, reason);
        }
    }
    // A directory comes before what is in it, so one pass each way is enough.
    for (at, entry) in entries.iter().enumerate() {
        if let Some(parent) = index.above(&entry.path)
            && entries.get(parent).is_some_and(makes_dir)
            && active.get(parent) == Some(&false)
            && let Some(parent) = entries.get(parent)
        {
            drop_entry(&mut active, &mut why, at, Why::Without(parent.path.clone()));
        }
    }
    for (at, entry) in entries.iter().enumerate().rev() {
        let stays = entry.before.is_some() && active.get(at) == Some(&false);
        let Some(source) = entry.paths().next().filter(|_| stays) else { continue };
        if let Some(parent) = index.above(source)
            && entries.get(parent).is_some_and(removes_dir)
        {
            drop_entry(&mut active, &mut why, parent, Why::Holds(source.clone()));
        }
    }
    Ok(outcome(set, &selected, &active, why))
}

fn drop_entry(active: &mut [bool], why: &mut [Option<Why>], at: usize, reason: Why) {
    if let (Some(active), Some(why)) = (active.get_mut(at), why.get_mut(at)) {
        if *active {
            *why = Some(reason);
        }
        *active = false;
    }
}

fn outcome(
    set: &ChangeSet,
    selected: &[bool],
    active: &[bool],
    why: Vec<Option<Why>>,
) -> ApplyPlan {
    let mut plan =
        ApplyPlan { paths: Vec::new(), flagged: Vec::new(), left: Vec::new(), entries: Vec::new() };
    let states = selected.iter().zip(active).zip(why);
    for (at, (entry, ((selected, active), why))) in set.entries().iter().zip(states).enumerate() {
        if *active {
            plan.entries.push(at);
            plan.paths.push(entry.path.clone());
            if !entry.flags.is_empty() {
                plan.flagged.push(entry.path.clone());
            }
        } else if let (true, Some(why)) = (selected, why) {
            plan.left.push(Left { path: entry.path.clone(), why });
        }
    }
    plan
}

/// Marks what was asked for, and the new directories that it needs.
fn select(
    set: &ChangeSet,
    selection: &Selection,
    index: &Index<'_>,
) -> Result<Vec<bool>, SelectError> {
    let entries = set.entries();
    let Some(paths) = &selection.paths else { return Ok(vec![true; entries.len()]) };
    for path in paths.iter().chain(&selection.flagged) {
        named(set, path, selection)?;
    }
    let wanted = |entry: &Change| entry.paths().any(|path| beneath_any(path, paths));
    let mut selected: Vec<bool> = entries.iter().map(wanted).collect();
    for (at, entry) in entries.iter().enumerate().rev() {
        if selected.get(at) == Some(&true)
            && let Some(parent) = index.above(&entry.path)
            && entries.get(parent).is_some_and(makes_dir)
            && let Some(parent) = selected.get_mut(parent)
        {
            *parent = true;
        }
    }
    Ok(selected)
}

/// Checks a path that was named.
fn named(set: &ChangeSet, path: &WorkspacePath, selection: &Selection) -> Result<(), SelectError> {
    let mut known = false;
    for entry in set.entries().iter().filter(|e| e.paths().any(|p| p.starts_with(path))) {
        known = true;
        if entry.paths().all(|p| p != path) {
            continue;
        }
        match refusal(entry, selection) {
            Some(Why::Never(flags)) => {
                return Err(SelectError::Never { path: path.clone(), flags });
            }
            Some(Why::NeedsApproval(flags)) => {
                return Err(SelectError::NeedsApproval { path: path.clone(), flags });
            }
            _ => {}
        }
    }
    if known { Ok(()) } else { Err(SelectError::NoSuchPath(path.clone())) }
}

/// Why the flags of an entry forbid it.
fn refusal(entry: &Change, selection: &Selection) -> Option<Why> {
    let forbidden: Vec<Flag> = entry.flags.iter().filter(|flag| flag.is_final()).cloned().collect();
    if !forbidden.is_empty() {
        return Some(Why::Never(forbidden));
    }
    let approved = |path: &WorkspacePath| {
        let needed = |flagged: &WorkspacePath| makes_dir(entry) && flagged.starts_with(path);
        beneath_any(path, &selection.flagged) || selection.flagged.iter().any(needed)
    };
    let fine = entry.flags.is_empty() || entry.paths().any(approved);
    (!fine).then(|| Why::NeedsApproval(entry.flags.clone()))
}

fn beneath_any(path: &WorkspacePath, directories: &[WorkspacePath]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

fn is_dir(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::Dir { .. }))
}

fn makes_dir(entry: &Change) -> bool {
    is_dir(entry.after.as_ref()) && !is_dir(entry.before.as_ref())
}

fn removes_dir(entry: &Change) -> bool {
    is_dir(entry.before.as_ref()) && !is_dir(entry.after.as_ref())
}

/// Finds entries by path.
struct Index<'a>(HashMap<&'a [u8], usize>);

impl<'a> Index<'a> {
    fn new(set: &'a ChangeSet) -> Self {
        let entries = set.entries().iter().enumerate();
        Self(
            entries
                .filter(|(_, e)| !matches!(e.kind, Kind::Rename { .. }))
                .map(|(at, e)| (e.path.as_bytes(), at))
                .collect(),
        )
    }

    /// The nearest entry that is a directory above `path`. If that directory is made or removed,
    /// so is every one between, so the nearest is the one directly above.
    fn above(&self, path: &WorkspacePath) -> Option<usize> {
        let bytes = path.as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
        self.0.get(bytes.get(..slash)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Mode, Special};
    use names::Digest;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::from_bytes(text.as_bytes()).unwrap()
    }

    fn dir() -> Option<Node> {
        Some(Node::Dir { mode: Mode::of(0o755) })
    }

    fn file(text: &str) -> Option<Node> {
        let digest = Digest::of(text.as_bytes());
        Some(Node::File { mode: Mode::of(0o644), size: text.len() as u64, digest })
    }

    fn entry(name: &str, before: Option<Node>, after: Option<Node>, flags: &[Flag]) -> Change {
        let kind = match (&before, &after) {
            (None, _) => Kind::Add,
            (_, None) => Kind::Delete,
            _ => Kind::Edit,
        };
        Change { path: path(name), kind, before, after, flags: flags.to_vec(), stat: None }
    }

    fn planned(set: &[Change], selection: &Selection) -> (Vec<String>, Vec<String>) {
        let plan = plan(&ChangeSet::new(set.to_vec()), selection).unwrap();
        let paths = plan.paths.iter().map(ToString::to_string).collect();
        let left = plan.left.iter().map(|left| match &left.why {
            Why::NeedsApproval(_) => format!("{} needs approval", left.path),
            Why::Never(_) => format!("{} never", left.path),
            Why::Without(other) => format!("{} without {other}", left.path),
            Why::Holds(other) => format!("{} holds {other}", left.path),
        });
        (paths, left.collect())
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn flags_hold_entries_back() {
        let guarded = [Flag::Protected("x".to_owned())];
        let set = [
            entry(".vscode", None, dir(), &guarded),
            entry(".vscode/tasks.json", None, file("1"), &guarded),
            entry("a", None, file("2"), &[]),
            entry("p", None, Some(Node::Special { what: Special::Fifo }), &[Flag::Fifo]),
        ];
        let all = Selection::all();
        assert_eq!(
            planned(&set, &all),
            (
                strings(&["a"]),
                strings(&[
                    ".vscode needs approval",
                    ".vscode/tasks.json needs approval",
                    "p never"
                ])
            )
        );
        let approved = all.with_flagged(vec![path(".vscode/tasks.json"), path("p")]);
        assert_eq!(
            planned(&set, &approved),
            (strings(&[".vscode", ".vscode/tasks.json", "a"]), strings(&["p never"]))
        );
        let set = ChangeSet::new(set.to_vec());
        let only = |text| plan(&set, &Selection::only(vec![path(text)]));
        assert!(matches!(only(".vscode"), Err(SelectError::NeedsApproval { .. })));
        assert!(matches!(only("p"), Err(SelectError::Never { .. })));
        assert_eq!(only("nothing"), Err(SelectError::NoSuchPath(path("nothing"))));
    }

    #[test]
    fn directories_go_with_what_is_in_them() {
        let git = [Flag::GitMetadata];
        let set = [
            entry("d", dir(), None, &[]),
            entry("d/.git", file("g"), None, &git),
            entry("d/x", file("x"), None, &[]),
            entry("e", dir(), file("e"), &[]),
            entry("e/s", dir(), None, &[]),
            entry("e/s/f", file("f"), None, &[]),
            entry("n", None, dir(), &[]),
            entry("n/m", None, dir(), &[]),
            entry("n/m/f", None, file("f"), &[]),
        ];
        let (paths, left) = planned(&set, &Selection::all());
        assert_eq!(paths, strings(&["d/x", "e", "e/s", "e/s/f", "n", "n/m", "n/m/f"]));
        assert_eq!(left, strings(&["d holds d/.git", "d/.git never"]));
        let only = |text: &str| planned(&set, &Selection::only(vec![path(text)]));
        assert_eq!(only("n/m/f"), (strings(&["n", "n/m", "n/m/f"]), vec![]));
        assert_eq!(only("e/s/f"), (strings(&["e/s/f"]), vec![]));
        assert_eq!(only("e").0, strings(&["e", "e/s", "e/s/f"]));
    }

    #[test]
    fn what_is_left_out_leaves_out_what_depends_on_it() {
        let guarded = [Flag::InstructionFile];
        let set = [
            entry("f", file("1"), dir(), &guarded),
            entry("f/a", None, dir(), &[]),
            entry("f/a/b", None, file("2"), &[]),
            entry("o", dir(), file("o"), &[]),
            entry("o/s", dir(), None, &[]),
            entry("o/s/k", file("k"), None, &guarded),
        ];
        let (paths, left) = planned(&set, &Selection::all());
        assert_eq!(paths, Vec::<String>::new());
        assert_eq!(
            left,
            strings(&[
                "f needs approval",
                "f/a without f",
                "f/a/b without f/a",
                "o holds o/s",
                "o/s holds o/s/k",
                "o/s/k needs approval",
            ])
        );
    }
}
