//! The part of a run's directory that belongs to its change set: state, journal, kept contents.
//!
//! Everything here was written by Loop itself, beside the ledger, where no run can reach. It is
//! still opened without following links, and read as if it could be torn.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use lifecycle::{State, Waits};
use names::canonical;
use names::{Digest, WorkspacePath};
use serde::{Deserialize, Serialize};

use super::ApplyError;
use super::journal::{End, Journal};
use crate::tree::{Dir, Lock};

const SCHEMA: u32 = 1;
const FOLDER: &[u8] = b"apply";
const STATE: &[u8] = b"state.json";
const JOURNAL: &[u8] = b"journal.json";

/// Longest state or journal that is read, in bytes.
const FILE_MAX: u64 = 4 << 30;

/// What became of a run's change set, in the words of `state.json`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// Nothing yet.
    Open,
    /// An apply began, and its end is not recorded.
    Applying,
    /// It is in the base.
    Applied,
    /// An undo began, and its end is not recorded.
    Undoing,
    /// It was in the base, and is no more.
    Undone,
    /// It was thrown away.
    Discarded,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateFile {
    schema: u32,
    state: Word,
    /// Whether what is being applied was undone before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    /// The change set that was applied last.
    change_set: Option<Digest>,
}

impl StateFile {
    /// None of a state that is not the change set's.
    fn of(state: State, change_set: Option<Digest>) -> Option<Self> {
        let (state, again) = match state {
            State::Ready => (Word::Open, false),
            State::Applying(Waits::Ready) => (Word::Applying, false),
            State::Applying(Waits::Undone) => (Word::Applying, true),
            State::Applied => (Word::Applied, false),
            State::Undoing => (Word::Undoing, false),
            State::Undone => (Word::Undone, false),
            State::Discarded => (Word::Discarded, false),
            _ => return None,
        };
        Some(Self { schema: SCHEMA, state, again, change_set })
    }

    fn state(&self) -> State {
        match self.state {
            Word::Open => State::Ready,
            Word::Applying if self.again => State::Applying(Waits::Undone),
            Word::Applying => State::Applying(Waits::Ready),
            Word::Applied => State::Applied,
            Word::Undoing => State::Undoing,
            Word::Undone => State::Undone,
            Word::Discarded => State::Discarded,
        }
    }
}

/// The state of the change set of a run, whose directory is `store`: what an apply, undo or discard
/// made of it, and [`State::Ready`] where there was none. How far the run itself came is its ledger's
/// to say.
///
/// # Errors
/// [`ApplyError::Store`].
pub fn state(store: &Path) -> Result<State, ApplyError> {
    let run = Dir::root(store).map_err(|error| broken("can't open", error))?;
    match run.child(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Ready),
        folder => read_state(&folder.map_err(|error| broken("can't open apply", error))?),
    }
}

/// The store of one run, locked: no other process changes it or reads it half changed.
#[derive(Debug)]
pub(crate) struct Store {
    folder: Dir,
    _lock: Lock,
}

impl Store {
    pub(crate) fn open(path: &Path) -> Result<Self, ApplyError> {
        let run = Dir::root(path).map_err(|error| broken("can't open", error))?;
        let folder = folder(&run, FOLDER).map_err(|error| broken("can't make apply", error))?;
        let lock = folder.try_lock().map_err(|error| broken("can't lock", error))?;
        Ok(Self { folder, _lock: lock.ok_or(ApplyError::Busy)? })
    }

    pub(crate) fn state(&self) -> Result<State, ApplyError> {
        read_state(&self.folder)
    }

    /// Records the state: it is on the disk when this returns.
    pub(crate) fn set(&self, state: State, change_set: Option<Digest>) -> Result<(), ApplyError> {
        let cannot = |error| broken("can't write state", error);
        let file = StateFile::of(state, change_set)
            .ok_or_else(|| cannot(io::ErrorKind::InvalidInput.into()))?;
        let bytes = canonical::to_vec(&file).map_err(|error| cannot(io::Error::other(error)))?;
        self.write(STATE, &bytes).map_err(cannot)
    }

    /// Records what is about to be done: it is on the disk when this returns.
    pub(crate) fn set_journal(&self, journal: &Journal) -> Result<(), ApplyError> {
        let bytes = canonical::to_vec(journal)
            .map_err(|error| broken("can't write journal", io::Error::other(error)))?;
        self.write(JOURNAL, &bytes).map_err(|error| broken("can't write journal", error))
    }

    pub(crate) fn journal(&self) -> Result<Journal, ApplyError> {
        let bytes =
            read(&self.folder, JOURNAL).map_err(|error| broken("can't read journal", error))?;
        let bytes =
            bytes.ok_or_else(|| broken("has no journal", io::ErrorKind::NotFound.into()))?;
        Journal::parse(&bytes)
            .map_err(|error| broken("has a broken journal", io::Error::other(error)))
    }

    /// The folder that keeps contents of one end of the steps, made empty.
    pub(crate) fn empty_contents(&self, end: End) -> Result<Dir, ApplyError> {
        let emptied = || {
            let folder = folder(&self.folder, name_of(end))?;
            for name in folder.names()? {
                folder.unlink(&name)?;
            }
            Ok(folder)
        };
        emptied().map_err(|error| broken("can't empty the kept contents", error))
    }

    /// The folder that keeps contents of one end of the steps.
    pub(crate) fn contents(&self, end: End) -> Result<Dir, ApplyError> {
        folder(&self.folder, name_of(end))
            .map_err(|error| broken("can't open kept contents", error))
    }

    fn write(&self, name: &[u8], bytes: &[u8]) -> io::Result<()> {
        let new = [name, b".new"].concat();
        if self.folder.stat(&new)?.is_some() {
            self.folder.unlink(&new)?;
        }
        let mut file = self.folder.create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        self.folder.replace(&new, &self.folder, name)?;
        self.folder.sync()
    }
}

/// What the base held before the last apply, for reading. There may be nothing.
#[derive(Debug)]
pub(crate) struct KeptContents(Option<(Dir, Journal)>);

impl KeptContents {
    pub(crate) fn open(store: &Path) -> Self {
        let opened = Dir::root(store).and_then(|run| run.child(FOLDER)).ok();
        Self(opened.and_then(|folder| {
            let journal = Journal::parse(&read(&folder, JOURNAL).ok()??).ok()?;
            Some((folder.child(name_of(End::Before)).ok()?, journal))
        }))
    }

    /// What was at `path`: whoever reads it verifies it.
    pub(crate) fn before(&self, path: &WorkspacePath) -> Option<File> {
        let (folder, journal) = self.0.as_ref()?;
        let index = journal.steps.binary_search_by(|step| step.path.cmp(path)).ok()?;
        folder.file(&content_name(index)).ok()
    }
}

/// The name under which the content of a step is kept.
pub(crate) fn content_name(step: usize) -> Vec<u8> {
    step.to_string().into_bytes()
}

fn name_of(end: End) -> &'static [u8] {
    match end {
        End::Before => b"before",
        End::After => b"after",
    }
}

fn folder(parent: &Dir, name: &[u8]) -> io::Result<Dir> {
    match parent.child(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match parent.make_dir(name) {
                // Somebody who applies at the same time has made it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            parent.sync()?;
            parent.child(name)
        }
        opened => opened,
    }
}

fn read_state(folder: &Dir) -> Result<State, ApplyError> {
    let bytes = read(folder, STATE).map_err(|error| broken("can't read state", error))?;
    let Some(bytes) = bytes else { return Ok(State::Ready) };
    let file: StateFile = canonical::parse(&bytes)
        .map_err(|error| broken("has a broken state", io::Error::other(error)))?;
    if file.schema == SCHEMA {
        Ok(file.state())
    } else {
        let schema = io::Error::other(format!("schema {} is not known", file.schema));
        Err(broken("has a state of another program", schema))
    }
}

fn read(folder: &Dir, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let file: File = match folder.file(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn broken(what: &'static str, source: io::Error) -> ApplyError {
    ApplyError::Store { what, source }
}
