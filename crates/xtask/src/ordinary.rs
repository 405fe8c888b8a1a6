//! The same tests as an ordinary user, for a checkout and a toolchain that only root can read.
//!
//! In a private mount namespace, so that nothing of it stays: a new user with a home of its own, in which the toolchain
//! appears; the checkout and the build at their real paths, wherever those are; and every directory above them that
//! others may not enter replaced by an empty one. Then each test is started without a single privilege.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program::{self, SYSTEM_PATH, checkout, program, target_directory};

/// The command that tells this program that it is in a mount namespace of its own.
pub(crate) const INSIDE: &str = "inside";

const NAME: &str = "ordinary";
/// Of the range that Debian leaves to nobody in particular.
const ID: u32 = 47110;
const HOME: &str = "/home/ordinary";

/// A directory that root outside and root inside the private view both see: for the job, its report, and the stage.
pub(crate) struct Shared(tempfile::TempDir);

impl Shared {
    pub(crate) fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::create_dir(directory.path().join("stage"))?;
        std::fs::write(directory.path().join("outside"), mount_namespace()?)?;
        Ok(Self(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Starts this program once more, in a mount namespace of its own, with `inside SHARED ARGUMENTS…`.
    pub(crate) fn run_inside(&self, arguments: &[&OsStr]) -> Result<()> {
        if !program::is_root() {
            bail!(
                "only root can become an ordinary user; you are one: run the same without that flag"
            );
        }
        let mut command = program("unshare");
        command.args(["--mount", "--propagation", "private", "--"]).arg(std::env::current_exe()?);
        program::run(command.arg(INSIDE).arg(self.path()).args(arguments))
    }
}

/// The identity of the present mount namespace.
fn mount_namespace() -> Result<String> {
    Ok(std::fs::read_link("/proc/self/ns/mnt")?.to_string_lossy().into_owned())
}

/// `inside SHARED run PROGRAM ARGUMENT…`: a program as the ordinary user.
pub(crate) fn command(shared: &Path, line: &[String]) -> Result<()> {
    let Some((name, arguments)) = line.split_first() else { bail!("no program to run") };
    let ordinary = Ordinary::enter(shared)?;
    program::run(ordinary.command(Path::new(name)).args(arguments).current_dir(HOME))
}

/// The ordinary user, once its view exists.
pub(crate) struct Ordinary {
    search_path: OsString,
}

impl Ordinary {
    /// Builds the user's view. Only in a mount namespace of our own: see [`Shared::run_inside`].
    pub(crate) fn enter(shared: &Path) -> Result<Self> {
        if std::fs::read_to_string(shared.join("outside"))? == mount_namespace()? {
            bail!("this is the machine's own mount namespace, and it must stay as it is");
        }
        let stage = Stage::new(shared.join("stage"))?;
        let checkout = stage.keep(checkout())?;
        let target = stage.keep(&target_directory())?;
        let home = new_home()?;
        let toolchain = Toolchain::of_this_user();
        let rustup = toolchain.map(|toolchain| toolchain.keep(&stage, &home)).transpose()?;
        let home = stage.keep(&home)?;
        for directory in closed_directories(&[&checkout.origin, &target.origin]) {
            mount_empty(&directory)?;
        }
        checkout.show_at(&checkout.origin)?;
        target.show_at(&target.origin)?;
        home.show_at(Path::new(HOME))?;
        if let Some(rustup) = rustup {
            rustup.show_at(&Path::new(HOME).join(".rustup"))?;
        }
        add_account(&stage)?;
        Ok(Self { search_path: format!("{HOME}/.cargo/bin:{SYSTEM_PATH}").into() })
    }

    /// A command of that user: no privilege, no inherited variable, its own home.
    pub(crate) fn command(&self, name: &Path) -> Command {
        let mut command = program("setpriv");
        command
            .args(["--reuid", &ID.to_string(), "--regid", &ID.to_string(), "--clear-groups"])
            .args(["--inh-caps=-all", "--ambient-caps=-all", "--"])
            .arg(name)
            .env_clear()
            .envs([("HOME", HOME), ("USER", NAME), ("LOGNAME", NAME), ("SHELL", "/bin/bash")])
            .envs([("LANG", "C.UTF-8"), ("TERM", "xterm-256color")])
            .env("PATH", &self.search_path);
        command
    }
}

/// A place where directories stay reachable while others are mounted over their paths.
struct Stage {
    path: PathBuf,
}

/// A directory of the stage.
struct Kept {
    origin: PathBuf,
    staged: PathBuf,
}

impl Stage {
    fn new(path: PathBuf) -> Result<Self> {
        mount_empty(&path)?;
        Ok(Self { path })
    }

    fn keep(&self, origin: &Path) -> Result<Kept> {
        let origin =
            origin.canonicalize().with_context(|| format!("cannot find {}", origin.display()))?;
        let staged = self.path.join(std::fs::read_dir(&self.path)?.count().to_string());
        std::fs::create_dir(&staged)?;
        program::run(program("mount").arg("--bind").args([&origin, &staged]))?;
        Ok(Kept { origin, staged })
    }
}

impl Kept {
    fn show_at(&self, path: &Path) -> Result<()> {
        std::fs::create_dir_all(path)?;
        program::run(program("mount").arg("--bind").args([self.staged.as_path(), path]))
    }
}

fn mount_empty(directory: &Path) -> Result<()> {
    program::run(
        program("mount").args(["-t", "tmpfs", "-o", "mode=755", "ordinary"]).arg(directory),
    )
}

/// A Rust toolchain that lives in somebody's home, as rustup installs it.
struct Toolchain {
    rustup: PathBuf,
    /// `cargo` and its like: small, because each is rustup under another name.
    programs: PathBuf,
}

impl Toolchain {
    fn of_this_user() -> Option<Self> {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        let directory = |variable: &str, default: &str| {
            std::env::var_os(variable).map_or_else(|| home.join(default), PathBuf::from)
        };
        let rustup = directory("RUSTUP_HOME", ".rustup");
        let programs = directory("CARGO_HOME", ".cargo").join("bin");
        (rustup.is_dir() && programs.is_dir()).then_some(Self { rustup, programs })
    }

    /// Puts the programs into the user's new home, and keeps the rest, for `~/.rustup`.
    fn keep(self, stage: &Stage, home: &Path) -> Result<Kept> {
        let cargo_home = home.join(".cargo");
        std::fs::create_dir(&cargo_home)?;
        program::run(program("cp").arg("-a").args([&self.programs, &cargo_home]))?;
        program::run(program("chown").args(["-R", &format!("{ID}:{ID}")]).arg(&cargo_home))?;
        stage.keep(&self.rustup)
    }
}

/// An empty home on disk, because an overlay on a memory disk is not what people have.
fn new_home() -> Result<PathBuf> {
    let home = target_directory().join("ordinary-home");
    match std::fs::remove_dir_all(&home) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    std::fs::create_dir(&home)?;
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700))?;
    std::os::unix::fs::chown(&home, Some(ID), Some(ID))?;
    Ok(home)
}

/// Directories to replace by empty ones: `/home`, and those above the paths that others may not enter.
fn closed_directories(paths: &[&Path]) -> Vec<PathBuf> {
    let mut closed = vec![PathBuf::from("/home")];
    for path in paths {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        closed.extend(
            above.into_iter().find(|directory| !others_may_enter(directory)).map(Path::to_owned),
        );
    }
    closed.sort();
    closed.dedup_by(|inner, outer| inner.starts_with(outer.as_path()));
    closed
}

fn others_may_enter(directory: &Path) -> bool {
    directory.metadata().is_ok_and(|metadata| metadata.mode() & 0o001 != 0)
}

/// Gives the user a name, in copies of the account files that only this namespace sees.
fn add_account(stage: &Stage) -> Result<()> {
    let lines = [
        ("/etc/passwd", format!("{NAME}:x:{ID}:{ID}:Ordinary User:{HOME}:/bin/bash\n")),
        ("/etc/group", format!("{NAME}:x:{ID}:\n")),
    ];
    for (file, line) in lines {
        let copy = stage.path.join(file.replace('/', "-"));
        std::fs::write(&copy, std::fs::read_to_string(file)? + &line)?;
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644))?;
        program::run(program("mount").arg("--bind").arg(&copy).arg(file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_directory_above_a_path_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let closed = scratch.path().join("closed");
        let deep = closed.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(closed_directories(&[&deep]), [PathBuf::from("/home"), closed.clone()]);
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(closed_directories(&[&deep]), [PathBuf::from("/home")]);
    }

    #[test]
    fn what_lies_in_a_closed_directory_needs_no_cover_of_its_own() {
        assert_eq!(
            closed_directories(&[Path::new("/home/nobody-here/closed/x")]),
            [PathBuf::from("/home")]
        );
    }

    #[test]
    fn the_machines_own_namespace_is_left_alone() {
        let shared = Shared::new().unwrap();
        let refused = Ordinary::enter(shared.path()).err().unwrap();
        assert!(refused.to_string().contains("the machine's own"), "{refused}");
    }
}
