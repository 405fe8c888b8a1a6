//! The file that keeps a session: `session.jsonl` in the directory of its run.
//!
//! One process writes it at a time. What was written is there after a crash of that process; after
//! a power cut, up to the end of the last turn.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use agent::{Entry, Journal, JournalError, Session, SessionError, What};
use rustix::fs::{FlockOperation, Mode, OFlags};

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionFileError {
    /// The file can't be made, opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// What is in it is no session.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SessionError,
    },
    /// Another process writes it.
    #[error("the session {} is in use by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// A session's file, open for appending.
#[derive(Debug)]
pub(super) struct SessionFile {
    file: File,
    length: u64,
}

impl SessionFile {
    /// A new one, readable by this user only.
    ///
    /// # Errors
    /// It exists, or can't be made.
    pub(super) fn create(path: &Path) -> Result<Self, SessionFileError> {
        let file = open(path, OFlags::CREATE | OFlags::EXCL)?;
        Ok(Self { file, length: 0 })
    }

    /// A new one that begins with the entries of a fork.
    ///
    /// # Errors
    /// It exists, or can't be written.
    pub(super) fn fork(path: &Path, session: &Session) -> Result<Self, SessionFileError> {
        let mut file = Self::create(path)?;
        let lines: String = session.entries().iter().map(Entry::line).collect();
        file.write(lines.as_bytes()).map_err(at(path))?;
        Ok(file)
    }

    /// One that is there, and what is in it. An entry that was cut by a crash is taken off.
    ///
    /// # Errors
    /// It can't be read, is no session, or is in use.
    pub(super) fn resume(path: &Path) -> Result<(Self, Session), SessionFileError> {
        let mut file = open(path, OFlags::empty())?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(at(path))?;
        let read = Session::read(&text)
            .map_err(|source| SessionFileError::Malformed { path: path.to_owned(), source })?;
        let mut file = Self { file, length: read.whole as u64 };
        file.cut().map_err(at(path))?;
        Ok((file, read.session))
    }

    /// Writes all of it, or leaves the file as it was.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => self.cut()?,
        }
        written
    }

    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }
}

impl Journal for SessionFile {
    fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let written = self.write(entry.line().as_bytes());
        let kept = written.and_then(|()| match entry.what {
            What::End { .. } => self.file.sync_data(),
            _ => Ok(()),
        });
        kept.map_err(|error| JournalError(error.to_string()))
    }
}

fn open(path: &Path, create: OFlags) -> Result<File, SessionFileError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(opened.map_err(|error| at(path)(error.into()))?);
    let is_file = file.metadata().map_err(at(path))?.is_file();
    if !is_file {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(at(path)(error));
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| SessionFileError::Busy { path: path.to_owned() })?;
    Ok(file)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SessionFileError {
    let path = path.to_owned();
    move |source| SessionFileError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::SCHEMA;
    use names::Timestamp;

    fn entry(id: u64) -> Entry {
        let what = What::Told { text: format!("entry {id}") };
        let time = Timestamp::from_millis(0);
        Entry { schema: SCHEMA, id, parent: id.checked_sub(1), time, what }
    }

    #[test]
    fn a_session_goes_on_after_a_cut_entry() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("session.jsonl");
        let mut file = SessionFile::create(&path).unwrap();
        assert!(matches!(SessionFile::create(&path), Err(SessionFileError::Io { .. })));
        assert!(matches!(SessionFile::resume(&path), Err(SessionFileError::Busy { .. })));
        file.append(&entry(0)).unwrap();
        file.append(&entry(1)).unwrap();
        drop(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let (mut file, session) = SessionFile::resume(&path).unwrap();
        assert_eq!(session.entries(), [entry(0)]);
        file.append(&entry(1)).unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_fork_begins_with_what_is_shared() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("session.jsonl");
        let lines = entry(0).line() + &entry(1).line();
        let session = Session::read(lines.as_bytes()).unwrap().session;
        drop(SessionFile::fork(&path, &session).unwrap());
        assert_eq!(SessionFile::resume(&path).unwrap().1, session);
    }

    #[test]
    fn what_is_no_session_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(matches!(SessionFile::resume(&link), Err(SessionFileError::Io { .. })));
        let other = place.path().join("other");
        std::fs::write(&other, "one\ntwo\n").unwrap();
        assert!(matches!(SessionFile::resume(&other), Err(SessionFileError::Malformed { .. })));
    }
}
