//! Finding a file as a process of the sandbox would find it, from outside.
//!
//! The kernel resolves beneath the sandbox's root; only where its answer would be about this
//! process and not about the caller (`/proc/self`) are names followed one by one.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::process::Pid;

use super::memory::{CallPath, Start, errno};

/// As many links as the kernel follows: path_resolution(7).
pub(in crate::gate) const MOST_LINKS: u32 = 40;
/// Names a place without reading it.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The root of a sandbox. Nothing in it can have another: chroot(2) and its like are refused.
#[derive(Debug)]
pub(in crate::gate) struct View {
    root: OwnedFd,
}

/// Which file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) struct Identity {
    device: u64,
    inode: u64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A file that was found, held so that it stays what it is.
#[derive(Debug)]
pub(in crate::gate) struct Found {
    pub(in crate::gate) file: OwnedFd,
    /// Its path inside, without links.
    pub(in crate::gate) path: PathBuf,
    pub(in crate::gate) stat: Stat,
}

impl Found {
    fn over(file: OwnedFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&file)?;
        let path = path_of(&file)?;
        Ok(Self { file, path, stat })
    }

    pub(in crate::gate) fn identity(&self) -> Identity {
        Identity::from(&self.stat)
    }

    pub(in crate::gate) fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::RegularFile
    }

    pub(in crate::gate) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    /// Whether no name leads to it: a memory file, or one that was removed.
    pub(in crate::gate) fn is_nameless(&self) -> bool {
        self.stat.st_nlink == 0
    }

    /// Opens what was found, and nothing else.
    pub(in crate::gate) fn reopen(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        let own = own_link(&self.file);
        rustix::fs::open(own, flags | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())
    }
}

impl View {
    /// The view of a thread of the sandbox.
    pub(in crate::gate) fn of(thread: Pid) -> Result<Self, Errno> {
        let root = format!("/proc/{}/root", thread.as_raw_pid());
        Ok(Self { root: rustix::fs::open(root, PLACE | OFlags::DIRECTORY, Mode::empty())? })
    }

    /// Finds what the kernel would find for `path` of `thread`.
    ///
    /// # Errors
    /// What the kernel would answer.
    pub(in crate::gate) fn find(
        &self,
        thread: Pid,
        path: &CallPath,
        follow_last: bool,
    ) -> Result<Found, Errno> {
        if path.bytes.is_empty() {
            return Err(Errno::NOENT);
        }
        let absolute = absolute(thread, path)?;
        Found::over(self.open(thread, &absolute, follow_last)?)
    }

    /// What a descriptor of `thread` stands for.
    pub(in crate::gate) fn descriptor(&self, thread: Pid, number: i32) -> Result<Found, Errno> {
        let link = format!("/proc/{}/fd/{number}", thread.as_raw_pid());
        let file = rustix::fs::open(link, PLACE, Mode::empty()).map_err(|_| Errno::BADF)?;
        Found::over(file)
    }

    /// Names what is at an absolute path.
    pub(in crate::gate) fn open(
        &self,
        thread: Pid,
        absolute: &[u8],
        follow_last: bool,
    ) -> Result<OwnedFd, Errno> {
        let flags = if follow_last { PLACE } else { PLACE | OFlags::NOFOLLOW };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let found = rustix::fs::openat2(&self.root, absolute, flags, Mode::empty(), resolve);
        found.or_else(|_| Walk::new(self, thread)?.follow(absolute, follow_last))
    }
}

/// The path of a file that is held, as the sandbox names it.
pub(in crate::gate) fn path_of(file: impl AsFd) -> Result<PathBuf, Errno> {
    read_link(own_link(file).as_bytes())
}

/// The working directory of a thread.
pub(in crate::gate) fn working_directory(thread: Pid) -> Result<PathBuf, Errno> {
    read_link(format!("/proc/{}/cwd", thread.as_raw_pid()).as_bytes())
}

pub(in crate::gate) fn own_link(file: impl AsFd) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn read_link(link: &[u8]) -> Result<PathBuf, Errno> {
    let path = rustix::fs::readlink(link, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

/// The path from the root, with the caller's directory in front where it is relative.
pub(in crate::gate) fn absolute(thread: Pid, path: &CallPath) -> Result<Vec<u8>, Errno> {
    if path.bytes.starts_with(b"/") {
        return Ok(path.bytes.clone());
    }
    let start = match path.start {
        Start::WorkingDirectory => working_directory(thread)?,
        Start::Descriptor(number) => {
            let link = format!("/proc/{}/fd/{number}", thread.as_raw_pid());
            read_link(link.as_bytes()).map_err(|_| Errno::BADF)?
        }
    };
    let start = start.into_os_string().into_vec();
    if !start.starts_with(b"/") {
        return Err(Errno::NOTDIR);
    }
    Ok([start.as_slice(), b"/", &path.bytes].concat())
}

/// Following a path name by name.
struct Walk<'a> {
    view: &'a View,
    /// The numbers of the caller's process and thread inside.
    caller: (String, String),
    /// Where the walk has come to, from below the root.
    directories: Vec<OwnedFd>,
    links: u32,
}

/// What a name turned out to be.
enum Step {
    Place(OwnedFd),
    Link(Vec<u8>),
}

impl<'a> Walk<'a> {
    fn new(view: &'a View, thread: Pid) -> Result<Self, Errno> {
        let caller = numbers_inside(thread)?;
        Ok(Self { view, caller, directories: Vec::new(), links: 0 })
    }

    fn follow(&mut self, path: &[u8], follow_last: bool) -> Result<OwnedFd, Errno> {
        let mut left: Vec<Vec<u8>> = names(path);
        left.reverse();
        while let Some(name) = left.pop() {
            let is_last = left.is_empty();
            match name.as_slice() {
                b"." => {}
                b".." => drop(self.directories.pop()),
                name => match self.step(name, is_last, follow_last)? {
                    Step::Place(place) if is_last => return Ok(place),
                    Step::Place(place) => self.directories.push(place),
                    Step::Link(target) => {
                        if target.starts_with(b"/") {
                            self.directories.clear();
                        }
                        left.extend(names(&target).into_iter().rev());
                    }
                },
            }
        }
        self.here().try_clone_to_owned().map_err(|error| errno(&error))
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.directories.last().unwrap_or(&self.view.root).as_fd()
    }

    fn step(&mut self, name: &[u8], is_last: bool, follow_last: bool) -> Result<Step, Errno> {
        let place = rustix::fs::openat(self.here(), name, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        let is_link =
            FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode) == FileType::Symlink;
        if !is_link || (is_last && !follow_last) {
            return Ok(Step::Place(place));
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let is_of_proc = rustix::fs::fstatfs(&place)?.f_type == PROC_SUPER_MAGIC;
        if is_of_proc { self.link_of_proc(name, is_last, &place) } else { target(&place) }
    }

    /// In proc(5) some links are about whoever reads them, and some lead to what has no name.
    fn link_of_proc(&self, name: &[u8], is_last: bool, place: &OwnedFd) -> Result<Step, Errno> {
        let (process, thread) = &self.caller;
        match name {
            b"self" => Ok(Step::Link(process.clone().into_bytes())),
            b"thread-self" => Ok(Step::Link(format!("{process}/task/{thread}").into_bytes())),
            name => match target(place)? {
                Step::Link(target) if is_last && is_magic(&target) => {
                    Ok(Step::Place(rustix::fs::openat(self.here(), name, PLACE, Mode::empty())?))
                }
                step => Ok(step),
            },
        }
    }
}

/// Links to open files read as their path, or as `kind:[number]`; the others are relative.
fn is_magic(target: &[u8]) -> bool {
    target.starts_with(b"/") || target.contains(&b':')
}

fn target(place: &OwnedFd) -> Result<Step, Errno> {
    rustix::fs::readlinkat(place, c"", Vec::new()).map(|target| Step::Link(target.into_bytes()))
}

fn names(path: &[u8]) -> Vec<Vec<u8>> {
    // A slash at the end asks for a directory, as `.` after it does.
    let end = path.ends_with(b"/").then(|| b".".to_vec());
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.map(<[u8]>::to_vec).chain(end).collect()
}

/// The process and thread numbers in the innermost namespace: proc_pid_status(5).
fn numbers_inside(thread: Pid) -> Result<(String, String), Errno> {
    let status = Status::of(thread)?;
    let innermost = |key| status.value(key).and_then(|all| all.split_whitespace().last());
    match (innermost("NStgid"), innermost("NSpid")) {
        (Some(process), Some(thread)) => Ok((process.to_owned(), thread.to_owned())),
        _ => Err(Errno::SRCH),
    }
}

/// What the kernel tells of a thread: proc_pid_status(5).
pub(in crate::gate) struct Status(String);

impl Status {
    pub(in crate::gate) fn of(thread: Pid) -> Result<Self, Errno> {
        let file = format!("/proc/{}/status", thread.as_raw_pid());
        let text = std::fs::read(file).map_err(|error| errno(&error))?;
        Ok(Self(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Whether it is the first process of its namespace: the sandbox's init.
    pub(in crate::gate) fn is_of_init(&self) -> bool {
        self.value("NSpid").and_then(|all| all.split_whitespace().last()) == Some("1")
    }

    pub(in crate::gate) fn value(&self, key: &str) -> Option<&str> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(str::trim)
    }
}

/// The file that a process runs, and the arguments it has.
pub(in crate::gate) struct Image {
    pub(in crate::gate) program: Identity,
    pub(in crate::gate) args: Vec<u8>,
    pub(in crate::gate) directory: PathBuf,
}

impl Image {
    pub(in crate::gate) fn of(process: Pid) -> Result<Self, Errno> {
        let process = process.as_raw_pid();
        let stat =
            rustix::fs::statat(rustix::fs::CWD, format!("/proc/{process}/exe"), AtFlags::empty())?;
        let args =
            std::fs::read(format!("/proc/{process}/cmdline")).map_err(|error| errno(&error))?;
        let directory = read_link(format!("/proc/{process}/cwd").as_bytes())?;
        Ok(Self { program: Identity::from(&stat), args, directory })
    }
}

/// A path as text for people and records that can't be mistaken for another.
pub(in crate::gate) fn exact_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let digest = names::Digest::of(bytes).hex();
            let start = digest.get(..16).unwrap_or_default();
            format!("{} [not UTF-8, sha256:{start}]", String::from_utf8_lossy(bytes))
        }
    }
}

/// The last name of a path.
pub(in crate::gate) fn file_name(path: &std::path::Path) -> &[u8] {
    path.file_name().map(OsStr::as_bytes).unwrap_or_default()
}
