//! Takes every step of a journal to one of its ends.
//!
//! First everything new is made under temporary names, where running out of space hurts nobody.
//! Then names are moved, which needs no space. Whoever finds the work half done can finish it or
//! take it back, because each path shows by itself how far it got.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;

use names::{Digest, WorkspacePath};
use rustix::io::Errno;

use super::ApplyError;
use super::copy::{Unsynced, copy};
use super::journal::{End, Held, Journal, Step};
use super::place::{Base, Look, Print, is_no_way};
use super::store::content_name;
use crate::failpoint;
use crate::node::{Mode, Node};
use crate::shown;
use crate::tree::Dir;

/// What is to be done about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Todo {
    /// Nothing: the path is where it should be.
    Nothing,
    /// The path holds this, as far as its marks tell, and must be taken to the goal.
    Act(Option<Print>),
    /// Nothing: somebody else changed the path since, and it stays as it is.
    Keep,
}

/// Where the bytes of a step's goal come from: they are verified, wherever that is.
pub(crate) type Source<'a> = &'a mut dyn FnMut(usize, &Step) -> io::Result<File>;

/// What is done about a path that somebody else changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Give up: nothing was half done before.
    Strict,
    /// Let it be, and go on: half done work is taken back as far as it is ours.
    Lenient,
}

/// One way through a journal.
#[derive(Debug)]
pub(crate) struct Swap<'a> {
    base: &'a mut Base,
    manner: Manner,
    steps: &'a [Step],
    goal: End,
    todo: Vec<Todo>,
    temporary: Temporary,
}

/// The names under which new files wait, each in the nearest directory that both ends have.
#[derive(Debug)]
struct Temporary {
    prefix: String,
    anchors: Vec<Vec<u8>>,
}

impl Temporary {
    fn new(journal: &Journal) -> Self {
        let tag: String = journal.change_set.hex().chars().take(16).collect();
        let mut known: HashMap<&[u8], Vec<u8>> = HashMap::new();
        let mut anchors = Vec::with_capacity(journal.steps.len());
        for step in &journal.steps {
            let parent = parent_of(&step.path);
            // A parent sorts before what is in it, so its own anchor is known.
            let anchor = known.get(parent).cloned().unwrap_or_else(|| parent.to_vec());
            known.insert(step.path.as_bytes(), anchor.clone());
            anchors.push(anchor);
        }
        Self { prefix: format!(".loop-{tag}-"), anchors }
    }

    fn name(&self, step: usize) -> Vec<u8> {
        format!("{}{step}", self.prefix).into_bytes()
    }

    fn anchor(&self, step: usize) -> &[u8] {
        self.anchors.get(step).map(Vec::as_slice).unwrap_or_default()
    }
}

fn parent_of(path: &WorkspacePath) -> &[u8] {
    let bytes = path.as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    bytes.get(..slash).unwrap_or_default()
}

/// Looks at every step on the way to `goal`. With nothing half done, each path must be where the
/// way starts: those that are not are the error.
pub(crate) fn survey_whole(
    base: &mut Base,
    steps: &[Step],
    goal: End,
) -> Result<Result<Vec<Todo>, Vec<WorkspacePath>>, ApplyError> {
    let mut todo = Vec::with_capacity(steps.len());
    let mut strange = Vec::new();
    for step in steps {
        let look = look(base, &step.path)?;
        if !step.at(goal.other()).is(look.node.as_ref()) {
            strange.push(step.path.clone());
        }
        todo.push(Todo::Act(look.print));
    }
    if strange.is_empty() {
        strange = strangers(base, steps, goal)?;
    }
    Ok(if strange.is_empty() { Ok(todo) } else { Err(strange) })
}

/// Looks at every step after a crash, on the way back to `goal`.
pub(crate) fn survey_broken(
    base: &mut Base,
    steps: &[Step],
    goal: End,
) -> Result<Vec<Todo>, ApplyError> {
    let mut todo = Vec::with_capacity(steps.len());
    for step in steps {
        let Look { node, print } = look(base, &step.path)?;
        let (wanted, left) = (step.at(goal), step.at(goal.other()));
        let arrived = wanted.is(node.as_ref()) && !has_mode_of(node.as_ref(), left, wanted);
        let ours = node.is_none() || left.is(node.as_ref());
        todo.push(match (arrived, ours) {
            (true, _) => Todo::Nothing,
            (false, true) => Todo::Act(print),
            (false, false) => Todo::Keep,
        });
    }
    Ok(todo)
}

/// Does the file still have the mode of the end that it should leave?
fn has_mode_of(node: Option<&Node>, left: &Held, wanted: &Held) -> bool {
    match (node, left, wanted) {
        (
            Some(Node::File { mode, .. }),
            Held::File { mode: old, .. },
            Held::File { mode: new, .. },
        ) => mode == old && old != new,
        _ => false,
    }
}

fn look(base: &mut Base, path: &WorkspacePath) -> Result<Look, ApplyError> {
    base.look(path).map_err(|error| ApplyError::base(path, error))
}

/// What somebody put into a directory that must go.
pub(crate) fn strangers(
    base: &mut Base,
    steps: &[Step],
    goal: End,
) -> Result<Vec<WorkspacePath>, ApplyError> {
    let known: HashSet<&[u8]> = steps.iter().map(|step| step.path.as_bytes()).collect();
    let mut strangers = Vec::new();
    for step in steps.iter().filter(|step| removes_dir(step, goal)) {
        let names = base.dir(step.path.as_bytes()).and_then(Dir::names);
        for name in names.map_err(|error| ApplyError::base(&step.path, error))? {
            let path = step.path.join(&name);
            let path = path.map_err(|_| ApplyError::base(&step.path, Errno::INVAL.into()))?;
            if !known.contains(path.as_bytes()) {
                strangers.push(path);
            }
        }
    }
    Ok(strangers)
}

fn removes_dir(step: &Step, goal: End) -> bool {
    step.at(goal.other()).is_dir() && !step.at(goal).is_dir()
}

/// Do both ends have the same bytes, so that only the mode changes?
fn is_mode_only(step: &Step) -> bool {
    match (&step.before, &step.after) {
        (Held::File { size: m, digest: x, .. }, Held::File { size: n, digest: y, .. }) => {
            m == n && x == y
        }
        _ => false,
    }
}

impl<'a> Swap<'a> {
    pub(crate) fn new(
        base: &'a mut Base,
        journal: &'a Journal,
        goal: End,
        todo: Vec<Todo>,
        manner: Manner,
    ) -> Self {
        let temporary = Temporary::new(journal);
        Self { base, manner, steps: &journal.steps, goal, todo, temporary }
    }

    /// Takes the result of one step. That somebody else was there ends only the strict manner.
    fn settle(&mut self, index: usize, result: Result<(), ApplyError>) -> Result<(), ApplyError> {
        match (self.manner, result) {
            (Manner::Lenient, Err(ApplyError::Moved { .. })) => {
                if let Some(todo) = self.todo.get_mut(index) {
                    *todo = Todo::Keep;
                }
                self.base.forget();
                Ok(())
            }
            (_, result) => result,
        }
    }

    /// The paths that somebody else changed since.
    pub(crate) fn kept(&self) -> Vec<WorkspacePath> {
        let steps = self.steps.iter().zip(&self.todo);
        steps.filter(|(_, todo)| **todo == Todo::Keep).map(|(step, _)| step.path.clone()).collect()
    }

    /// Keeps the bytes of every file that will change, as they are now, in `folder`.
    pub(crate) fn keep(&mut self, folder: &Dir) -> Result<(), ApplyError> {
        let mut unsynced = Unsynced::default();
        for (index, step) in self.acting() {
            let Held::File { size, digest, .. } = step.at(self.goal.other()) else { continue };
            if is_mode_only(step) {
                continue;
            }
            let name = step.path.file_name();
            let file = self.base.parent(&step.path).and_then(|dir| dir.file(name));
            let file = file.map_err(|error| failed(step, error))?;
            let kept = folder.create(&content_name(index)).map_err(unkept)?;
            if !copy(&file, &kept, *size, digest).map_err(unkept)? {
                return Err(moved(step));
            }
            unsynced.add(kept).map_err(unkept)?;
        }
        unsynced.sync().and_then(|()| folder.sync()).map_err(unkept)
    }

    /// Makes everything new under temporary names.
    pub(crate) fn stage(&mut self, source: Source<'_>) -> Result<(), ApplyError> {
        let mut unsynced = Unsynced::default();
        for (index, step) in self.acting() {
            let staged = self.stage_one(index, step, source, &mut unsynced);
            self.settle(index, staged)?;
        }
        unsynced.sync().map_err(|source| ApplyError::Base { path: shown(b"."), source })
    }

    fn stage_one(
        &mut self,
        index: usize,
        step: &Step,
        source: Source<'_>,
        unsynced: &mut Unsynced,
    ) -> Result<(), ApplyError> {
        let wanted = match step.at(self.goal) {
            Held::File { .. } if is_mode_only(step) => return Ok(()),
            Held::File { mode, size, digest } => (*mode, *size, *digest),
            Held::Link { target } => {
                let name = self.temporary.name(index);
                let dir = self.anchor(index);
                let made = dir.and_then(|dir| dir.make_link(&name, target.as_bytes()));
                return made.map_err(|error| failed(step, error));
            }
            Held::Nothing | Held::Dir { .. } => return Ok(()),
        };
        let from = source(index, step).map_err(|error| ApplyError::content(&step.path, error))?;
        let file = self.stage_file(index, step, &from, wanted)?;
        unsynced.add(file).map_err(|error| failed(step, error))
    }

    fn stage_file(
        &mut self,
        index: usize,
        step: &Step,
        from: &File,
        (mode, size, digest): (Mode, u64, Digest),
    ) -> Result<File, ApplyError> {
        let failed = |error| failed(step, error);
        let name = self.temporary.name(index);
        let file = self.anchor(index).and_then(|dir| dir.create(&name)).map_err(failed)?;
        if !copy(from, &file, size, &digest).map_err(failed)? {
            return Err(ApplyError::Altered { path: shown(step.path.as_bytes()) });
        }
        let mode = rustix::fs::Mode::from_raw_mode(mode.bits());
        rustix::fs::fchmod(&file, mode).map_err(|error| failed(error.into()))?;
        failpoint::pass();
        Ok(file)
    }

    fn anchor(&mut self, index: usize) -> io::Result<&Dir> {
        self.base.dir(self.temporary.anchor(index))
    }

    /// The steps that are to be done, in order.
    fn acting(&self) -> impl DoubleEndedIterator<Item = (usize, &'a Step)> + use<'a> {
        let acts = |(_, todo): &(_, &Todo)| matches!(todo, Todo::Act(_));
        let steps = self.steps.iter().enumerate().zip(&self.todo).filter(acts);
        steps.map(|(step, _)| step).collect::<Vec<_>>().into_iter()
    }

    /// Moves the names, and waits until the disk has them.
    pub(crate) fn swap(&mut self) -> Result<(), ApplyError> {
        for (index, step) in self.acting() {
            let opened = self.open_directory(step);
            self.settle(index, opened)?;
        }
        for (index, step) in self.acting().rev() {
            let cleared = self.clear(index, step);
            self.settle(index, cleared)?;
        }
        self.base.forget();
        for (index, step) in self.acting() {
            let filled = self.fill(index, step);
            self.settle(index, filled)?;
        }
        for (index, step) in self.steps.iter().enumerate().rev() {
            let finished = self.finish_mode(index, step);
            self.settle(index, finished)?;
        }
        self.base.forget();
        self.sync()
    }

    /// Lets a directory that must go be emptied.
    fn open_directory(&mut self, step: &Step) -> Result<(), ApplyError> {
        let Held::Dir { mode } = step.at(self.goal.other()) else { return Ok(()) };
        if !removes_dir(step, self.goal) || mode.bits() & 0o700 == 0o700 {
            return Ok(());
        }
        let name = step.path.file_name();
        let opened =
            self.base.parent(&step.path).and_then(|dir| dir.set_mode(name, mode.bits() | 0o700));
        opened.map_err(|error| failed(step, error))
    }

    /// Removes what is in the way of the goal.
    fn clear(&mut self, index: usize, step: &Step) -> Result<(), ApplyError> {
        let (left, wanted) = (step.at(self.goal.other()), step.at(self.goal));
        let Some(print) = self.print(index) else { return Ok(()) };
        if !wanted.is_nothing() && left.is_dir() == wanted.is_dir() {
            return Ok(());
        }
        self.unchanged(step, print)?;
        let name = step.path.file_name();
        if left.is_dir() {
            // The directory itself, or one below, may be the one that is open.
            self.base.forget();
        }
        let dir = self.base.parent(&step.path);
        let cleared =
            dir.and_then(|dir| if left.is_dir() { dir.remove_dir(name) } else { dir.unlink(name) });
        cleared.map_err(|error| failed(step, error))
    }

    /// Puts the goal in its place.
    fn fill(&mut self, index: usize, step: &Step) -> Result<(), ApplyError> {
        let name = step.path.file_name();
        let filled = match step.at(self.goal) {
            Held::Nothing => return Ok(()),
            Held::Dir { .. } => self.base.parent(&step.path).and_then(|dir| dir.make_dir(name)),
            Held::File { mode, .. } if is_mode_only(step) => {
                if let Some(print) = self.print(index) {
                    self.unchanged(step, print)?;
                }
                self.base.parent(&step.path).and_then(|dir| dir.set_mode(name, mode.bits()))
            }
            Held::File { .. } | Held::Link { .. } => {
                let left = step.at(self.goal.other());
                let over = self.print(index).filter(|_| !left.is_dir() && !left.is_nothing());
                if let Some(print) = over {
                    self.unchanged(step, print)?;
                }
                self.put(index, step, over.is_some())
            }
        };
        filled.map_err(|error| failed(step, error))
    }

    fn put(&mut self, index: usize, step: &Step, over: bool) -> io::Result<()> {
        let (from, name) = (self.temporary.name(index), step.path.file_name());
        let anchor = self.anchor(index)?.child(b".")?;
        let to = self.base.parent(&step.path)?;
        if over { anchor.replace(&from, to, name) } else { anchor.place(&from, to, name) }
    }

    /// Gives a directory its exact mode, once everything is in it. Half done work may have left
    /// the mode of making or of emptying on one that is in place already.
    fn finish_mode(&mut self, index: usize, step: &Step) -> Result<(), ApplyError> {
        let Held::Dir { mode } = step.at(self.goal) else { return Ok(()) };
        if self.todo.get(index) == Some(&Todo::Keep) {
            return Ok(());
        }
        let name = step.path.file_name();
        let done = self.base.parent(&step.path).and_then(|dir| dir.set_mode(name, mode.bits()));
        done.map_err(|error| failed(step, error))
    }

    fn print(&self, index: usize) -> Option<Print> {
        match self.todo.get(index) {
            Some(Todo::Act(print)) => *print,
            _ => None,
        }
    }

    /// Refuses if somebody wrote or replaced the path since it was looked at.
    fn unchanged(&mut self, step: &Step, print: Print) -> Result<(), ApplyError> {
        let now = self.base.print(&step.path).map_err(|error| failed(step, error))?;
        if now == Some(print) { Ok(()) } else { Err(moved(step)) }
    }

    fn sync(&mut self) -> Result<(), ApplyError> {
        let mut paths = BTreeSet::new();
        for (_, step) in self.acting() {
            paths.insert(parent_of(&step.path));
            if step.at(self.goal).is_dir() {
                paths.insert(step.path.as_bytes());
            }
        }
        let failed = |path: &[u8], source| ApplyError::Base { path: shown(path), source };
        let mut unsynced = Unsynced::default();
        for path in paths {
            match self.base.dir(path).and_then(|dir| dir.child(b".")) {
                // Removed with what was in it.
                Err(error) if is_no_way(&error) => {}
                dir => {
                    let added = dir.and_then(|dir| unsynced.add(dir.into()));
                    added.map_err(|error| failed(path, error))?;
                }
            }
        }
        unsynced.sync().map_err(|error| failed(b".", error))
    }

    /// Removes every temporary name of this journal, whoever left it.
    pub(crate) fn unstage(&mut self) -> Result<(), ApplyError> {
        for (index, step) in self.steps.iter().enumerate() {
            let name = self.temporary.name(index);
            let removed = self.anchor(index).and_then(|dir| match dir.stat(&name)? {
                Some(_) => dir.unlink(&name),
                None => Ok(()),
            });
            match removed {
                Err(error) if is_no_way(&error) => self.base.forget(),
                removed => removed.map_err(|error| ApplyError::base(&step.path, error))?,
            }
        }
        Ok(())
    }
}

fn moved(step: &Step) -> ApplyError {
    ApplyError::Moved { paths: vec![step.path.clone()] }
}

/// Tells "somebody else was there" from "the system refuses".
fn failed(step: &Step, error: io::Error) -> ApplyError {
    let elsewhere = matches!(Errno::from_io_error(&error), Some(Errno::NOTEMPTY | Errno::EXIST));
    if elsewhere || is_no_way(&error) { moved(step) } else { ApplyError::base(&step.path, error) }
}

/// Space or rights are missing where contents are kept.
fn unkept(source: io::Error) -> ApplyError {
    ApplyError::Store { what: "can't keep contents", source }
}
