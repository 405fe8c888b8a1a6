//! Which files a call to run a program will run: what the kernel will follow, followed first.
//!
//! A script runs its interpreter, and that may be a script again: execve(2). The dynamic loader,
//! started by its own name, runs the program it is given: ld.so(8). Every file on that way is
//! judged.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use policy::Exec;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use thiserror::Error;

use super::wire::ExecCall;
use crate::gate::answer::Denied;
use crate::gate::memory::{CallPath, Start, errno};
use crate::gate::view::{Found, Identity, View, exact_text, file_name, working_directory};

/// As much of a file as the kernel looks at: `BINPRM_BUF_SIZE`.
const HEAD: usize = 256;
/// As often as the kernel goes from script to interpreter: execve(2).
const MOST_SCRIPTS: usize = 5;

/// Why no program may be run.
#[derive(Debug, Error, PartialEq, Eq)]
pub(in crate::gate) enum Unfit {
    /// The kernel would refuse it itself.
    #[error("{}", std::io::Error::from(*.0))]
    Kernel(#[from] Errno),
    /// No name leads to the file, so nobody could say what runs.
    #[error("the program is not a file with a name")]
    Nameless,
    /// What it is can't be looked at.
    #[error("the program can't be read, so nobody could say what runs")]
    Unreadable,
    /// The loader was told something that could change what it runs.
    #[error("the loader's option `{}` is not known", names::printable(.0.as_bytes()))]
    LoaderOption(String),
}

/// What a call will run.
#[derive(Debug)]
pub(in crate::gate) struct Program {
    /// Each file that gets to decide what happens, in the order in which they come to run, with
    /// the arguments it gets. Never empty.
    pub(in crate::gate) steps: Vec<Exec>,
    /// What the kernel will load.
    pub(in crate::gate) image: Identity,
    /// The arguments that it will have, each ended by a zero.
    pub(in crate::gate) args: Vec<u8>,
    /// Where.
    pub(in crate::gate) directory: PathBuf,
}

impl Program {
    /// Follows `call` as the kernel would.
    ///
    /// # Errors
    /// Why it may not run.
    pub(in crate::gate) fn of(view: &View, thread: Pid, call: &ExecCall) -> Result<Self, Unfit> {
        let directory = working_directory(thread)?;
        let mut way = Way { view, thread, steps: Vec::new(), directory };
        let mut file = way.first(call)?;
        let mut args = call.args.clone();
        let mut name = call.name_for_interpreter();
        way.step(&file, &call.path.bytes, &args);
        while let Some(script) = Script::read(&file)? {
            if way.steps.len() > MOST_SCRIPTS {
                return Err(Errno::LOOP.into());
            }
            args = script.args(&name, &args);
            name = script.interpreter.clone();
            file = way.find(&script.interpreter)?;
            way.step(&file, &script.interpreter, &args);
        }
        if is_loader(&file) {
            way.loaded(args.get(1..).unwrap_or_default())?;
        }
        Ok(Self {
            image: file.identity(),
            args: command_line(&args),
            directory: way.directory,
            steps: way.steps,
        })
    }
}

/// Linux 5.18 and later give a program without arguments an empty one.
fn command_line(args: &[Vec<u8>]) -> Vec<u8> {
    let ended = args.iter().flat_map(|arg| arg.iter().copied().chain([0]));
    if args.is_empty() { vec![0] } else { ended.collect() }
}

struct Way<'a> {
    view: &'a View,
    thread: Pid,
    steps: Vec<Exec>,
    directory: PathBuf,
}

impl Way<'_> {
    fn first(&self, call: &ExecCall) -> Result<Found, Unfit> {
        let file = match call.path.start {
            Start::Descriptor(number) if call.path.bytes.is_empty() && call.empty_path => {
                self.view.descriptor(self.thread, number)?
            }
            _ => self.view.find(self.thread, &call.path, !call.no_follow)?,
        };
        fit(file)
    }

    /// A name that the kernel or a loader takes from the working directory.
    fn find(&self, name: &[u8]) -> Result<Found, Unfit> {
        let path = CallPath { start: Start::WorkingDirectory, bytes: name.to_vec() };
        fit(self.view.find(self.thread, &path, true)?)
    }

    /// A file that comes to run, under the name that led to it, with all its arguments.
    fn step(&mut self, file: &Found, name: &[u8], args: &[Vec<u8>]) {
        let started_as = args.first().map(Vec::as_slice).unwrap_or_default();
        let called = called(&file.path, [name, started_as]);
        let rest = args.iter().skip(1).map(|arg| exact_text(arg)).collect();
        self.steps.push(Exec { called, ..Exec::new(&file.path, rest, &self.directory) });
    }

    /// What the dynamic loader is told to run, if anything.
    fn loaded(&mut self, args: &[Vec<u8>]) -> Result<(), Unfit> {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match LoaderOption::of(arg) {
                LoaderOption::Program => {
                    let file = self.find(arg)?;
                    let all: Vec<_> = std::iter::once(arg).chain(args).cloned().collect();
                    self.step(&file, arg, &all);
                    return Ok(());
                }
                LoaderOption::Flag => {}
                LoaderOption::WithValue => drop(args.next()),
                LoaderOption::Unknown => return Err(Unfit::LoaderOption(exact_text(arg))),
            }
        }
        Ok(())
    }
}

/// Names that say more than the file's own does, each once.
fn called(file: &Path, names: [&[u8]; 2]) -> Vec<PathBuf> {
    let says_more = |name: &&Path| {
        name.file_name().is_some_and(|last| name.is_absolute() || Some(last) != file.file_name())
    };
    let names = names.map(|name| Path::new(OsStr::from_bytes(name)));
    let mut called: Vec<PathBuf> = names
        .into_iter()
        .filter(|name| *name != file)
        .filter(says_more)
        .map(Path::to_owned)
        .collect();
    called.dedup();
    called
}

/// The checks that do not depend on any rule.
fn fit(file: Found) -> Result<Found, Unfit> {
    if !file.is_regular() {
        return Err(Errno::ACCESS.into());
    }
    if file.is_nameless() {
        return Err(Unfit::Nameless);
    }
    Ok(file)
}

/// The first line of a script: execve(2).
#[derive(Debug, PartialEq, Eq)]
struct Script {
    interpreter: Vec<u8>,
    argument: Option<Vec<u8>>,
}

impl Script {
    fn read(file: &Found) -> Result<Option<Self>, Unfit> {
        let mut head = Vec::with_capacity(HEAD);
        let open = file.reopen(OFlags::RDONLY).map_err(|_| Unfit::Unreadable)?;
        let from = std::fs::File::from(open);
        from.take(HEAD as u64).read_to_end(&mut head).map_err(|error| errno(&error))?;
        Self::parse(&head)
    }

    /// As the kernel's `load_script` does: one optional argument, blanks within it kept, and no
    /// interpreter whose name does not end within the head.
    fn parse(head: &[u8]) -> Result<Option<Self>, Unfit> {
        let Some(line) = head.strip_prefix(b"#!") else { return Ok(None) };
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let end = line.iter().position(|byte| *byte == b'\n');
        // Where the file ends, the kernel's buffer goes on with zeros.
        let is_whole = end.is_some() || head.len() < HEAD;
        let line = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let start = line.iter().position(|byte| !is_blank(byte)).unwrap_or(line.len());
        let line = line.get(start..).unwrap_or_default();
        let last = line.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
        let blank = line.iter().position(is_blank);
        if line.is_empty() || (!is_whole && blank.is_none()) {
            return Err(Errno::NOEXEC.into());
        }
        let line = line.get(..last).unwrap_or_default();
        let mut parts = line.splitn(2, is_blank);
        let interpreter = parts.next().unwrap_or_default().to_vec();
        let argument = parts.next().map(|rest| {
            let start = rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len());
            rest.get(start..).unwrap_or_default().to_vec()
        });
        Ok(Some(Self { interpreter, argument: argument.filter(|argument| !argument.is_empty()) }))
    }

    /// The arguments that the interpreter gets: the script's own name is replaced.
    fn args(&self, name: &[u8], args: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let own = [Some(self.interpreter.clone()), self.argument.clone(), Some(name.to_vec())];
        own.into_iter().flatten().chain(args.iter().skip(1).cloned()).collect()
    }
}

/// Whether a file is a dynamic loader, by its name: what is a loader under another name is a copy,
/// and copies of programs are not recognised anyway.
fn is_loader(file: &Found) -> bool {
    let name = file_name(&file.path);
    let has_number = name.windows(3).any(|part| part == b".so");
    has_number && (name.starts_with(b"ld-") || name.starts_with(b"ld."))
}

/// An argument before the program: ld.so(8), and the loader of musl.
enum LoaderOption {
    Program,
    Flag,
    WithValue,
    Unknown,
}

impl LoaderOption {
    fn of(arg: &[u8]) -> Self {
        let name = arg.split(|byte| *byte == b'=').next().unwrap_or_default();
        let has_value = name.len() != arg.len();
        match (name, has_value) {
            (name, _) if !name.starts_with(b"--") => Self::Program,
            (
                b"--library-path"
                | b"--preload"
                | b"--argv0"
                | b"--audit"
                | b"--inhibit-rpath"
                | b"--glibc-hwcaps-prepend"
                | b"--glibc-hwcaps-mask",
                false,
            ) => Self::WithValue,
            (b"--library-path" | b"--preload" | b"--argv0", true)
            | (
                b"--list"
                | b"--verify"
                | b"--inhibit-cache"
                | b"--help"
                | b"--version"
                | b"--list-tunables"
                | b"--list-diagnostics"
                | b"--",
                false,
            ) => Self::Flag,
            _ => Self::Unknown,
        }
    }
}

impl Unfit {
    /// What the caller of `call` gets.
    pub(in crate::gate) fn denied(self, call: &ExecCall) -> Denied {
        match self {
            Self::Kernel(errno) => Denied::Kernel(errno),
            ours => {
                let args = call.args.iter().skip(1).map(|arg| exact_text(arg)).collect();
                let exec = Exec::new(OsStr::from_bytes(&call.path.bytes), args, PathBuf::new());
                Denied::Outright(Box::new(exec.into()), ours.to_string())
            }
        }
    }
}

impl Program {
    /// Nobody can stop a caller that another traces, so what it runs can't be compared.
    pub(in crate::gate) fn traced(&self) -> Denied {
        let why =
            "its caller is traced, and a traced program can't run others while programs have rules";
        let exec = self.steps.first().cloned().map(|exec| Box::new(exec.into()));
        exec.map_or(Denied::Kernel(Errno::PERM), |exec| Denied::Outright(exec, why.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(head: &[u8]) -> Option<(String, Option<String>)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Script::parse(head).unwrap().map(|s| (text(s.interpreter), s.argument.map(text)))
    }

    #[test]
    fn the_first_line_is_read_as_the_kernel_reads_it() {
        let sh = |argument: Option<&str>| Some(("/bin/sh".to_owned(), argument.map(str::to_owned)));
        assert_eq!(script(b"\x7fELF"), None);
        assert_eq!(script(b"#!/bin/sh\necho"), sh(None));
        assert_eq!(script(b"#!/bin/sh"), sh(None));
        assert_eq!(script(b"#! \t/bin/sh -e  -u \t\n"), sh(Some("-e  -u")));
        assert_eq!(script(b"#!/bin/sh\0junk\n"), sh(None));
        assert_eq!(Script::parse(b"#!\n"), Err(Unfit::Kernel(Errno::NOEXEC)));
        assert_eq!(Script::parse(b"#!  \n"), Err(Unfit::Kernel(Errno::NOEXEC)));
        let mut long = b"#!/".to_vec();
        long.resize(HEAD, b'x');
        assert_eq!(Script::parse(&long), Err(Unfit::Kernel(Errno::NOEXEC)));
        long[200] = b' ';
        assert!(Script::parse(&long).unwrap().is_some());
    }

    #[test]
    fn only_names_that_say_more_are_kept() {
        let called = |file: &str, names: [&[u8]; 2]| called(Path::new(file), names);
        assert_eq!(called("/usr/bin/git", [b"/usr/bin/git", b"git"]), Vec::<PathBuf>::new());
        assert_eq!(called("/usr/bin/git", [b"../bin/git", b""]), Vec::<PathBuf>::new());
        assert_eq!(
            called("/usr/bin/dash", [b"/bin/sh", b"sh"]),
            ["/bin/sh", "sh"].map(PathBuf::from)
        );
        assert_eq!(called("/usr/bin/ls", [b"/bin/ls", b"ls"]), ["/bin/ls"].map(PathBuf::from));
        assert_eq!(called("/bin/busybox", [b"busybox", b"rm"]), ["rm"].map(PathBuf::from));
    }

    #[test]
    fn options_of_the_loader() {
        let known = |arg: &[u8]| !matches!(LoaderOption::of(arg), LoaderOption::Unknown);
        assert!(known(b"--library-path") && known(b"--argv0=x") && known(b"--list"));
        assert!(!known(b"--something") && !known(b"--list=x"));
        assert!(matches!(LoaderOption::of(b"./x"), LoaderOption::Program));
    }
}
