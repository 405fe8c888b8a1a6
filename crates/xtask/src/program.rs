//! Starting programs. The only place of this crate that does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Directories of programs that every user of a machine can read.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command that starts in the root of this checkout, without standard input.
#[expect(clippy::disallowed_methods, reason = "a developer's tool starts compilers and tests")]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(checkout()).stdin(Stdio::null());
    command
}

/// The cargo that runs this xtask, so that a pinned toolchain stays pinned.
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The platform of this machine, as the compiler calls it.
pub(crate) fn host() -> Result<String> {
    let version = read(cargo().arg("-vV"))?;
    let version = String::from_utf8_lossy(&version);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`cargo -vV` names no host")
}

/// The root of this checkout.
pub(crate) fn checkout() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest)
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| checkout().join("target"), |directory| checkout().join(directory))
}

/// Runs a command whose output goes to the terminal. Anything but success is an error naming the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if status.success() { Ok(()) } else { bail!("`{shown}` failed: {status}") }
}

/// Runs a command and returns its standard output. Its errors go to the terminal.
pub(crate) fn read(command: &mut Command) -> Result<Vec<u8>> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        bail!("`{shown}` failed: {}", output.status)
    }
}

/// The command as a person would type it.
pub(crate) fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The first executable of that name in a search path.
pub(crate) fn find(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .map(|directory| directory.join(name))
        .find(|candidate| rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok())
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
