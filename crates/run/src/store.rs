//! The runs of a person, each a directory: making, finding, locking them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use names::{Clock, RunId, Timestamp};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a run can't be made, found or used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The state directory can't be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// There is no such run.
    #[error("no run matches {0}")]
    NoSuchRun(String),
    /// There is no run at all.
    #[error("no run of {} yet", .0.display())]
    NoRuns(PathBuf),
    /// There are runs, but none that has changes.
    #[error("the runs of {} only checked again what others changed", .0.display())]
    OnlyChecked(PathBuf),
    /// More than one run matches.
    #[error("{prefix} matches {} runs: {}", matches.len(), first(matches))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// What matches, newest first.
        matches: Vec<RunId>,
    },
    /// Another process works on the run.
    #[error("run {0} is in use by another process")]
    Busy(RunId),
    /// A file of the run does not say what it should.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// The first ten of some ids, and how many more there are.
pub(crate) fn first(ids: &[RunId]) -> String {
    const MOST: usize = 10;
    let named: Vec<_> = ids.iter().take(MOST).map(RunId::as_str).collect();
    match ids.len().saturating_sub(MOST) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What is known of a run from its start: `run.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The version of this file's form: 1.
    pub schema: u32,
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started: Timestamp,
    /// The project's root.
    pub project: PathBuf,
    /// Who runs it.
    pub subject: String,
    /// Name of the profile.
    pub profile: String,
    /// The command, exactly.
    #[serde(with = "api::text::many")]
    pub command: Vec<std::ffi::OsString>,
    /// The warm sandbox it serves.
    pub session: Option<String>,
    /// The session of Loop's own agent that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<RunId>,
    /// The run whose checks it only runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<RunId>,
    /// Git directories outside of the project that belong to it, each with an upper directory of
    /// its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<PathBuf>,
}

/// Files of a run, by which an exported one is known, too.
pub(crate) const LEDGER: &str = "ledger.jsonl";
pub(crate) const HEADS: &str = "heads.jsonl";
pub(crate) const CHANGES: &str = "changes.json";
pub(crate) const CONTRACT: &str = "contract.json";
pub(crate) const RECEIPT: &str = "receipt.json";

/// A run's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    /// The run.
    pub id: RunId,
    path: PathBuf,
}

/// Held while a process works on a run; the kernel gives it back when the process ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunDirectory {
    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The start of the run.
    #[must_use]
    pub fn start_file(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path.join(LEDGER)
    }

    /// Heads of the ledger, signed while the run goes on.
    #[must_use]
    pub fn heads(&self) -> PathBuf {
        self.path.join(HEADS)
    }

    /// The frozen authority.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.path.join("authority.json")
    }

    /// The change set.
    #[must_use]
    pub fn changes(&self) -> PathBuf {
        self.path.join(CHANGES)
    }

    /// The contract, if it has one.
    #[must_use]
    pub fn contract(&self) -> PathBuf {
        self.path.join(CONTRACT)
    }

    /// The receipt.
    #[must_use]
    pub fn receipt(&self) -> PathBuf {
        self.path.join(RECEIPT)
    }

    /// Certificates that clients inside trust.
    pub(crate) fn pushes(&self) -> PathBuf {
        self.path().join("pushes")
    }

    /// The files that clients inside trust.
    pub(crate) fn trust(&self) -> PathBuf {
        self.path().join("trust")
    }

    /// What checks printed, each in a directory of its number.
    pub(crate) fn checks(&self) -> PathBuf {
        self.path.join("checks")
    }

    /// The socket of a warm sandbox.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path.join("session.sock")
    }

    /// The socket where asks are answered.
    #[must_use]
    pub fn approvals_socket(&self) -> PathBuf {
        self.path.join("approvals.sock")
    }

    /// Reads the start of the run.
    ///
    /// # Errors
    /// When the file is missing or malformed.
    pub fn start(&self) -> Result<Start, StoreError> {
        let path = self.start_file();
        let bytes = read(&path).map_err(at(&path))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::Malformed { path, problem: error.to_string() })
    }

    /// Takes the run for this process.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process has it.
    pub fn lock(&self) -> Result<RunLock, StoreError> {
        let path = self.path.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(at(&path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(RunLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Busy(self.id.clone())),
            Err(error) => Err(at(&path)(error.into())),
        }
    }

    /// Whether a process works on the run. Who only looks is in nobody's way but for a moment.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let Ok(file) = File::open(self.path.join("lock")) else { return false };
        let looked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        looked == Err(rustix::io::Errno::WOULDBLOCK)
    }
}

/// All runs of a person.
#[derive(Debug, Clone)]
pub struct Store {
    runs: PathBuf,
}

impl Store {
    /// The runs below this directory.
    pub fn new(runs: impl Into<PathBuf>) -> Self {
        Self { runs: runs.into() }
    }

    /// Makes the directory of a new run.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn create(&self, clock: Clock) -> Result<RunDirectory, StoreError> {
        private(&self.runs)?;
        loop {
            let mut random = [0_u8; 4];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
                .map_err(|error| at(Path::new("getrandom"))(error.into()))?;
            let id = RunId::from_parts(clock(), random);
            let path = self.runs.join(id.as_str());
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(RunDirectory { id, path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(&path)(error)),
            }
        }
    }

    /// The directory of the run that has this id, whether it is there or not.
    #[must_use]
    pub fn named(&self, id: &RunId) -> RunDirectory {
        RunDirectory { id: id.clone(), path: self.runs.join(id.as_str()) }
    }

    /// Every run, in no order. What is no directory of its own, such as a link, or has another name
    /// than a run's, is not one.
    ///
    /// # Errors
    /// When the directory of runs can't be read.
    pub fn all(&self) -> Result<Vec<RunDirectory>, StoreError> {
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&self.runs)(error)),
        };
        let runs = entries.flatten().filter_map(|entry| {
            let id = RunId::parse(entry.file_name().to_str()?).ok()?;
            entry.file_type().ok()?.is_dir().then_some(())?;
            Some(RunDirectory { id, path: entry.path() })
        });
        Ok(runs.collect())
    }

    /// The runs of a project that have a readable start, newest first.
    ///
    /// # Errors
    /// When the directory of runs can't be read.
    pub fn of_project(&self, project: &Path) -> Result<Vec<(RunDirectory, Start)>, StoreError> {
        let mut runs = self.started()?;
        runs.retain(|(_, start)| start.project == project);
        Ok(runs)
    }

    /// All runs that have a readable start, newest first.
    ///
    /// # Errors
    /// When the directory of runs can't be read.
    pub fn started(&self) -> Result<Vec<(RunDirectory, Start)>, StoreError> {
        let mut runs: Vec<_> = self
            .all()?
            .into_iter()
            .filter_map(|run| run.start().ok().map(|start| (run, start)))
            .collect();
        runs.sort_by_key(|(_, start)| std::cmp::Reverse(start.started));
        Ok(runs)
    }

    /// The run that `prefix` means: an id, its beginning, or the beginning of its second half.
    /// Without one, the newest of `project`.
    ///
    /// # Errors
    /// When none or more than one matches.
    pub fn find(&self, prefix: Option<&str>, project: &Path) -> Result<RunDirectory, StoreError> {
        let Some(prefix) = prefix else { return self.newest(project) };
        match Meant::by(prefix, self.all()?.into_iter().map(|run| run.id)) {
            Meant::One(id) => Ok(self.named(&id)),
            Meant::None => Err(StoreError::NoSuchRun(names::printable(prefix.as_bytes()))),
            Meant::Several(matches) => {
                let matches = self.newest_first(matches)?;
                Err(StoreError::Ambiguous { prefix: prefix.to_owned(), matches })
            }
        }
    }

    /// The newest run of `project`.
    fn newest(&self, project: &Path) -> Result<RunDirectory, StoreError> {
        let newest = self.of_project(project)?.into_iter().next();
        newest.map(|(run, _)| run).ok_or_else(|| StoreError::NoRuns(project.to_owned()))
    }

    /// The newest run of `project` that has changes of its own: not one that only checked again what
    /// another changed.
    ///
    /// # Errors
    /// When there is none.
    pub fn newest_changed(&self, project: &Path) -> Result<RunDirectory, StoreError> {
        let runs = self.of_project(project)?;
        let none = if runs.is_empty() { StoreError::NoRuns } else { StoreError::OnlyChecked };
        let changed = runs.into_iter().find(|(_, start)| start.verifies.is_none());
        changed.map(|(run, _)| run).ok_or_else(|| none(project.to_owned()))
    }

    /// The same ids; last those of runs without a readable start.
    fn newest_first(&self, mut ids: Vec<RunId>) -> Result<Vec<RunId>, StoreError> {
        let started = self.started()?;
        let at = |id: &RunId| started.iter().position(|(run, _)| run.id == *id);
        ids.sort_by_cached_key(|id| at(id).unwrap_or(usize::MAX));
        Ok(ids)
    }
}

/// Which of some ids a prefix means: of an id, or of its second half.
pub(crate) enum Meant {
    /// No one.
    None,
    /// This one.
    One(RunId),
    /// It could be any of these.
    Several(Vec<RunId>),
}

impl Meant {
    /// By `prefix`, of `ids`.
    pub(crate) fn by(prefix: &str, ids: impl Iterator<Item = RunId>) -> Self {
        let mut matching: Vec<_> = ids.filter(|id| id.matches(prefix)).collect();
        match (matching.pop(), matching.is_empty()) {
            (None, _) => Self::None,
            (Some(id), true) => Self::One(id),
            (Some(id), false) => {
                matching.push(id);
                Self::Several(matching)
            }
        }
    }
}

/// Makes a directory that only this user can enter, with its parents.
///
/// # Errors
/// When it can't be made.
pub(crate) fn private(path: &Path) -> Result<(), StoreError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))
}

/// Holds a directory against other processes that do the same, until this is dropped: flock(2) on
/// the directory itself.
///
/// # Errors
/// When it can't be opened or locked.
pub(crate) fn hold(directory: &Path) -> Result<File, StoreError> {
    let file = File::open(directory).map_err(at(directory))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| at(directory)(error.into()))?;
    Ok(file)
}

/// Writes a file so that it is either the old or the new one, also after a power cut.
///
/// # Errors
/// When it can't be written; the old file is then still there.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace(path, bytes)?;
    let synced = path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all());
    synced.map_err(at(path))
}

/// The same, but that its new name is only durable with the next sync of its directory.
///
/// # Errors
/// When it can't be written; the old file is then still there.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let temporary = path.with_extension("new");
    let open = File::options().create(true).truncate(true).write(true).mode(0o600).open(&temporary);
    let written = open.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(at(path))
}

/// Writes a file that must not exist yet, readable by this user only. It is as durable as the
/// next sync of its file system; the ledger vouches for what it should hold.
///
/// # Errors
/// When it exists or can't be written.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options().create_new(true).write(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(at(path))
}

/// Opens a file to read it: a regular one, not a link. Anything else that bears its name, such as a
/// pipe, is refused instead of waited for.
///
/// # Errors
/// The kernel's answer, or that it is no regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a file that [`open_regular`] opens.
///
/// # Errors
/// As there.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes).map(|_| bytes)
}

/// Names the path in an error of the kernel.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(store: &Store, at: i64) -> RunId {
        let started = Timestamp::from_millis(1_796_000_000_000 + at);
        let id = RunId::from_parts(started, [0, 0, 0, u8::try_from(at * 7 % 31).unwrap()]);
        let run = store.named(&id);
        private(run.path()).unwrap();
        let start = Start {
            schema: 1,
            run: id.clone(),
            started,
            project: "/p".into(),
            subject: "ada".to_owned(),
            profile: "offline".to_owned(),
            command: Vec::new(),
            session: None,
            agent: None,
            verifies: None,
            git: Vec::new(),
        };
        write_new(&run.start_file(), &serde_json::to_vec(&start).unwrap()).unwrap();
        id
    }

    #[test]
    fn where_a_prefix_means_many_runs_the_newest_are_named() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let mut ids: Vec<_> = (0..13).map(|at| begun(&store, at)).collect();
        ids.reverse();
        let day = ids[0].as_str().split_once('-').unwrap().0;
        let told = store.find(Some(day), Path::new("/p")).unwrap_err().to_string();
        let newest: Vec<_> = ids[..10].iter().map(RunId::as_str).collect();
        assert_eq!(told, format!("{day} matches 13 runs: {} and 3 more", newest.join(", ")));
        assert_eq!(first(&ids[..2]), newest[..2].join(", "));
    }
}
