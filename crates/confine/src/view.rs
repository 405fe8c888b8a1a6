//! Builds the view: an empty root into which only what the plan names is put.
//!
//! Two roots exist while building: `/old`, the host, and `/new`, the view. At the end only the
//! view is left, and its root can't be written.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use sys::mount::{Attributes, Reach, restrict};

use crate::plan::{BindAccess, Step};
use crate::report::{During, Facility, Failure};

/// Exists wherever a sandbox can run, and nothing is bound from below it while it is hidden.
const STAGE: &str = "/proc";
const OLD: &str = "/old";
const NEW: &str = "/new";
/// An overlay without an upper directory needs a second lower one.
const EMPTY: &str = "/empty";

/// How often a path is looked up while the machine's mounts and names keep changing.
const RETRIES: u32 = 1000;

/// Devices that hold nothing of the host: null(4), random(4), tty(4).
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Parts of `/proc` that belong to the machine and could be changed by its owner.
const MACHINE_DIRECTORIES: [&str; 6] = ["sys", "irq", "bus", "fs", "driver", "acpi"];
/// Files of `/proc` that tell of the machine or of the person.
const MACHINE_FILES: [&str; 6] =
    ["kcore", "keys", "key-users", "kmsg", "sysrq-trigger", "timer_list"];

/// Replaces this process's view of the file system by what `steps` describe. Returns a way to
/// change each of `trees`, which the view only shows; parents come before what is below them.
///
/// # Errors
/// The first step that could not be carried out, naming its path.
pub(crate) fn build(steps: &[Step], trees: &[PathBuf]) -> Result<Vec<OwnedFd>, Failure> {
    enter_stage().during(Facility::Mounts, "make an empty root")?;
    let host = Host::open().during(Facility::Mounts, "open the host's root")?;
    for step in steps {
        carry_out(step, &host)?;
    }
    let trees = trees.iter().map(|tree| {
        shut(&inside(tree)).during(Facility::Mounts, &format!("shut {}", tree.display()))
    });
    let trees = trees.collect::<Result<_, _>>()?;
    drop(host);
    leave_host().during(Facility::Mounts, "leave the host's root")?;
    Ok(trees)
}

/// Covers a mount with one of the same tree that can't be written, and with everything mounted
/// below it. The descriptor leads to the covered one.
fn shut(at: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(at, flags, Mode::empty())?;
    rustix::mount::mount_bind_recursive(at, at)?;
    restrict(&c_path(at)?, Attributes::READ_ONLY, Reach::Mount)?;
    Ok(open)
}

fn enter_stage() -> io::Result<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    memory(Path::new(STAGE), 0o755, 1 << 20)?;
    let stage = Path::new(STAGE);
    let old = stage.join("old");
    fs::create_dir(&old)?;
    rustix::process::pivot_root(stage, &old)?;
    rustix::process::chdir("/")?;
    fs::create_dir(EMPTY)?;
    fs::create_dir(NEW)?;
    memory(Path::new(NEW), 0o755, 16 << 20)
}

fn leave_host() -> io::Result<()> {
    rustix::process::chdir(NEW)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    restrict(c"/", Attributes::READ_ONLY, Reach::Mount)
}

fn carry_out(step: &Step, host: &Host) -> Result<(), Failure> {
    match step {
        Step::Directory { at, mode } => directory(&inside(at), *mode)
            .during(Facility::Mounts, &format!("make {}", at.display())),
        Step::File { at, text, mode } => file(&inside(at), text, *mode)
            .during(Facility::Mounts, &format!("make {}", at.display())),
        Step::Copy { from, at } => host
            .file(from)
            .and_then(|from| copy(from, &inside(at)))
            .during(Facility::Mounts, &format!("copy {} to {}", from.display(), at.display())),
        Step::Link { at, to } => {
            link(&inside(at), to).during(Facility::Mounts, &format!("link {}", at.display()))
        }
        Step::Bind { from, at, access } => host
            .find(from)
            .and_then(|from| bind(&from, &inside(at), *access))
            .during(Facility::Mounts, &format!("show {} at {}", from.display(), at.display())),
        Step::Show { from, at } => host
            .find(from)
            .and_then(|from| show(&from, &inside(at)))
            .during(Facility::Overlay, &format!("show {} at {}", from.display(), at.display())),
        Step::Overlay { lower, upper, work, at } => {
            overlay([lower, upper, work].map(|layer| host.find(layer)), &inside(at))
                .during(Facility::Overlay, &format!("overlay {}", at.display()))
        }
        Step::Memory { at, mode, size } => {
            let at = inside(at);
            make_directory(&at)
                .and_then(|()| memory(&at, *mode, *size))
                .during(Facility::Mounts, &format!("mount memory at {}", at.display()))
        }
        Step::Devices { shared_memory } => {
            devices(*shared_memory).during(Facility::Mounts, "make /dev")
        }
        Step::Processes { cover_machine } => {
            processes(*cover_machine).during(Facility::Proc, "mount /proc")
        }
        Step::Cover { at } => {
            cover(&inside(at)).during(Facility::Mounts, &format!("cover {}", at.display()))
        }
    }
}

/// A path of the view, while it is being built.
fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// The host's root, which is elsewhere while the view is being built.
struct Host(OwnedFd);

impl Host {
    fn open() -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(OLD, flags, Mode::empty())?))
    }

    /// A file or directory of the host. Links in the path lead where they lead on the host:
    /// openat2(2), `RESOLVE_IN_ROOT`. That call asks to be tried again whenever somebody else on
    /// the machine mounts or renames while it walks a `..`.
    fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        self.open_with(path, OFlags::PATH)
    }

    /// The same, to be read.
    fn file(&self, path: &Path) -> io::Result<fs::File> {
        self.open_with(path, OFlags::RDONLY | OFlags::NONBLOCK).map(fs::File::from)
    }

    fn open_with(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let (flags, resolve) = (flags | OFlags::CLOEXEC, ResolveFlags::IN_ROOT);
        for _ in 0..RETRIES {
            match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
        Err(Errno::AGAIN.into())
    }
}

/// A name for an open file or directory that needs no escaping and can't be swapped.
fn name_of(open: &OwnedFd) -> String {
    format!("{OLD}/proc/self/fd/{}", open.as_raw_fd())
}

fn make_directory(at: &Path) -> io::Result<()> {
    if at.is_dir() { Ok(()) } else { fs::create_dir_all(at) }
}

fn directory(at: &Path, mode: u32) -> io::Result<()> {
    make_directory(at)?;
    fs::set_permissions(at, fs::Permissions::from_mode(mode))
}

fn file(at: &Path, text: &str, mode: u32) -> io::Result<()> {
    make_parent(at)?;
    fs::write(at, text)?;
    fs::set_permissions(at, fs::Permissions::from_mode(mode))
}

fn copy(mut from: fs::File, at: &Path) -> io::Result<()> {
    make_parent(at)?;
    io::copy(&mut from, &mut fs::File::create_new(at)?).map(drop)
}

fn link(at: &Path, to: &Path) -> io::Result<()> {
    make_parent(at)?;
    symlink(to, at)
}

fn make_parent(at: &Path) -> io::Result<()> {
    at.parent().map_or(Ok(()), make_directory)
}

fn bind(from: &OwnedFd, at: &Path, access: BindAccess) -> io::Result<()> {
    if kind_of(from)?.is_dir() {
        make_directory(at)?;
    } else if !at.exists() {
        make_parent(at)?;
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(at)?;
    }
    rustix::mount::mount_bind_recursive(name_of(from), at)?;
    let attributes = match access {
        BindAccess::Read => Attributes::READ_ONLY,
        BindAccess::Write => Attributes::CONFINED,
    };
    restrict(&c_path(at)?, attributes, Reach::Tree)
}

fn kind_of(open: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(open)?.st_mode))
}

fn show(from: &OwnedFd, at: &Path) -> io::Result<()> {
    match kind_of(from)? {
        FileType::Directory => layer(from, at),
        FileType::RegularFile => bind(from, at, BindAccess::Read),
        // Whoever may open a socket, a pipe or a device can do more than read.
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a directory")),
    }
}

fn layer(from: &OwnedFd, at: &Path) -> io::Result<()> {
    make_directory(at)?;
    let options = CString::new(format!("lowerdir={}:{EMPTY},userxattr", name_of(from)))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
    Ok(rustix::mount::mount("overlay", at, "overlay", flags, Some(options.as_c_str()))?)
}

/// `volatile`: what the sandbox syncs reaches the disk when the control plane says so.
fn overlay([lower, upper, work]: [io::Result<OwnedFd>; 3], at: &Path) -> io::Result<()> {
    let layers = [lower?, upper?, work?];
    let [lower, upper, work] = layers.each_ref().map(name_of);
    make_directory(at)?;
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr,volatile");
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("overlay", at, "overlay", flags, Some(options.as_c_str()))?)
}

fn memory(at: &Path, mode: u32, size: u64) -> io::Result<()> {
    let options = CString::new(format!("mode={mode:o},size={size}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("tmpfs", at, "tmpfs", flags, Some(options.as_c_str()))?)
}

fn devices(shared_memory: u64) -> io::Result<()> {
    let dev = Path::new(NEW).join("dev");
    make_directory(&dev)?;
    memory(&dev, 0o755, 64 << 10)?;
    for name in DEVICES {
        let at = dev.join(name);
        fs::File::create_new(&at)?;
        rustix::mount::mount_bind(Path::new(OLD).join("dev").join(name), &at)?;
    }
    for (name, to) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(to, dev.join(name))?;
    }
    terminals(&dev.join("pts"))?;
    let shm = dev.join("shm");
    fs::create_dir(&shm)?;
    memory(&shm, 0o1777, shared_memory)
}

fn terminals(at: &Path) -> io::Result<()> {
    fs::create_dir(at)?;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("devpts", at, "devpts", flags, Some(options))?)
}

fn processes(cover_machine: bool) -> io::Result<()> {
    let proc = Path::new(NEW).join("proc");
    make_directory(&proc)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", &proc, "proc", flags, None)?;
    if cover_machine { cover_machine_files(&proc) } else { Ok(()) }
}

fn cover_machine_files(proc: &Path) -> io::Result<()> {
    for name in MACHINE_DIRECTORIES {
        let at = proc.join(name);
        if at.is_dir() {
            rustix::mount::mount_bind(&at, &at)?;
            restrict(&c_path(&at)?, Attributes::READ_ONLY, Reach::Mount)?;
        }
    }
    for name in MACHINE_FILES {
        let at = proc.join(name);
        if at.exists() {
            cover_file(&at)?;
        }
    }
    Ok(())
}

fn cover(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() => {
            memory(at, 0o555, 4096)?;
            restrict(&c_path(at)?, Attributes::READ_ONLY, Reach::Mount)
        }
        Ok(_) => cover_file(at),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn cover_file(at: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(Path::new(OLD).join("dev/null"), at)?)
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
