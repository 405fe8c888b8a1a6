//! A file, opened without being led astray, and replaced in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use names::Digest;
use rustix::fs::{CWD, OFlags, RenameFlags};

use super::place::{Project, kernel};
use super::plain::size;

/// The largest file that is changed, in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

/// What there is at a path, links followed.
#[derive(Debug)]
pub(crate) enum Found {
    /// A file with content.
    File(File, fs::Metadata),
    /// A directory.
    Directory,
    /// Something that is neither, by its name.
    Other(&'static str),
}

/// Opens what is at `path`, without waiting for whoever is at the other end of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<Found> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Ok(Found::Directory);
    }
    if !kind.is_file() {
        return Ok(Found::Other(name_of(kind)));
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    // It can have become something else between the look and the opening.
    if metadata.is_file() {
        Ok(Found::File(file, metadata))
    } else {
        Ok(Found::Other(name_of(metadata.file_type())))
    }
}

fn name_of(kind: fs::FileType) -> &'static str {
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_block_device() || kind.is_char_device() => "a device",
        () => "no regular file",
    }
}

/// A file that can be changed, as it is now.
#[derive(Debug)]
pub(crate) struct Content {
    /// Where it really is, so that a link stays one.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// Its permission bits.
    pub(crate) mode: u32,
}

impl Content {
    /// Reads the whole file; `None` when nothing is there.
    pub(crate) fn load(project: &Project, path: &Path) -> Result<Option<Self>, String> {
        let explain = |error: io::Error| project.explain(path, &error);
        let (file, metadata) = match open(path) {
            Ok(Found::File(file, metadata)) => (file, metadata),
            Ok(Found::Directory) => return Err(format!("{} is a directory", project.show(path))),
            Ok(Found::Other(kind)) => return Err(format!("{} is {kind}", project.show(path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(_) => Err(format!("{} is a link to nothing", project.show(path))),
                    Err(_) => Ok(None),
                };
            }
            Err(error) => return Err(explain(error)),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(explain)?;
        if bytes.len() as u64 > LARGEST {
            let (shown, most) = (project.show(path), size(LARGEST));
            return Err(format!("{shown} is larger than {most}: change it with a command"));
        }
        let path = fs::canonicalize(path).map_err(explain)?;
        Ok(Some(Self { path, bytes, mode: metadata.mode() & 0o7777 }))
    }

    /// The same, where a file must be.
    pub(crate) fn need(project: &Project, path: &Path) -> Result<Self, String> {
        let missing = || project.explain(path, &io::ErrorKind::NotFound.into());
        Self::load(project, path)?.ok_or_else(missing)
    }

    /// Refuses unless it is what the proposal was made for.
    pub(crate) fn expect(
        &self,
        project: &Project,
        expected: Option<&Digest>,
    ) -> Result<(), String> {
        match expected {
            Some(expected) if *expected != Digest::of(&self.bytes) => Err(format!(
                "{} has changed since it was read: read it again",
                project.show(&self.path)
            )),
            _ => Ok(()),
        }
    }

    /// As text, if it is text that can be changed without harm.
    pub(crate) fn text(&self, project: &Project) -> Result<&str, String> {
        let shown = || project.show(&self.path);
        if self.bytes.contains(&0) {
            return Err(format!("{} is no text: it has null bytes", shown()));
        }
        str::from_utf8(&self.bytes)
            .map_err(|_| format!("{} is not UTF-8: change it with a command", shown()))
    }
}

/// A new content beside its place, which takes the place in one step. Dropped before that, it
/// is gone.
#[derive(Debug)]
pub(crate) struct Staged {
    beside: PathBuf,
    at: PathBuf,
    replaces: bool,
}

impl Staged {
    /// Writes `bytes` beside `at`. `mode` is that of the file it replaces; `None` for a new one.
    pub(crate) fn write(at: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<Self> {
        let parent = at.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(parent)?;
        let (mut file, beside) = create_beside(parent)?;
        let staged = Self { beside, at: at.to_owned(), replaces: mode.is_some() };
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(mode))?;
        }
        Ok(staged)
    }

    /// Sets permission bits that a new file shall have.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmod(&self.beside, rustix::fs::Mode::from_raw_mode(mode))?)
    }

    /// Takes the place. A new file takes nobody's: [`io::ErrorKind::AlreadyExists`].
    pub(crate) fn commit(self) -> io::Result<()> {
        if self.replaces {
            return fs::rename(&self.beside, &self.at);
        }
        let put =
            rustix::fs::renameat_with(CWD, &self.beside, CWD, &self.at, RenameFlags::NOREPLACE);
        match put {
            // File systems that can't.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(&self.beside, &self.at)
            }
            put => Ok(put?),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already after it took its place.
        let _ = fs::remove_file(&self.beside);
    }
}

/// A new file in a directory, of a name that nobody has.
fn create_beside(parent: &Path) -> io::Result<(File, PathBuf)> {
    const TRIES: u32 = 100;
    for number in 0..TRIES {
        let beside = parent.join(format!(".loop-{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o666).open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, beside)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Where a new file would come to lie: its path, if that can be one.
pub(crate) fn new_place(project: &Project, path: &Path) -> Result<PathBuf, String> {
    let is_file = path.file_name().is_some() && !path.as_os_str().as_bytes().ends_with(b"/");
    if is_file { Ok(path.to_owned()) } else { Err(format!("{} names no file", project.show(path))) }
}

/// Why a change failed.
pub(crate) fn refused(project: &Project, path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{} exists already", project.show(path)),
        _ => format!("{}: {}", project.show(path), kernel(error)),
    }
}
