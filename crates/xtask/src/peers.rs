//! Agents of others that tests run inside: one table, each at one version, installed with npm below
//! the build directory as people install them, and for nothing but tests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::program::{self, program, target_directory};

/// One agent.
struct Peer {
    /// What it is called on the command line.
    program: &'static str,
    /// Its package at npm.
    package: &'static str,
    version: &'static str,
}

const PEERS: &[Peer] = &[
    Peer { program: "claude", package: "@anthropic-ai/claude-code", version: "2.1.332" },
    Peer { program: "codex", package: "@openai/codex", version: "0.171.0" },
    Peer { program: "opencode", package: "opencode-ai", version: "1.18.33" },
];

/// What is written beside them once all are there.
const INSTALLED: &str = "installed";

/// `cargo xtask peers`.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`peers` takes no {unknown:?}");
    }
    ensure()?;
    list();
    Ok(())
}

/// The table, and what is missing.
pub(crate) fn list() {
    let state = if is_there(&directory()) { "present" } else { "MISSING" };
    for Peer { program, package, version } in PEERS {
        println!(
            "{state}  {program:<9} {package}@{version}, from npm: runs inside against a model server"
        );
    }
}

/// Installs them, unless these very versions are there.
pub(crate) fn ensure() -> Result<()> {
    let directory = directory();
    if is_there(&directory) {
        return Ok(());
    }
    let fresh = directory.with_extension("new");
    remove(&fresh)?;
    println!("installing {}", packages().join(" "));
    let mut install = program("npm");
    install.args([
        "install",
        "--global",
        "--no-fund",
        "--no-audit",
        "--loglevel=error",
        "--prefix",
    ]);
    program::run(install.arg(&fresh).args(packages()))?;
    for Peer { program, .. } in PEERS {
        let path = fresh.join("bin").join(program);
        path.metadata().with_context(|| format!("npm made no {}", path.display()))?;
    }
    std::fs::write(fresh.join(INSTALLED), packages().join("\n"))?;
    remove(&directory)?;
    std::fs::rename(&fresh, &directory)?;
    Ok(())
}

/// Where they are: an npm prefix, with programs in `bin`. `testkit::peers` knows it too.
fn directory() -> PathBuf {
    target_directory().join("peers")
}

fn packages() -> Vec<String> {
    PEERS.iter().map(|Peer { package, version, .. }| format!("{package}@{version}")).collect()
}

fn is_there(directory: &Path) -> bool {
    std::fs::read_to_string(directory.join(INSTALLED))
        .is_ok_and(|text| text == packages().join("\n"))
}

fn remove(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_exact() {
        let exact = |version: &str| {
            let parts: Vec<_> = version.split('.').collect();
            parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
        };
        assert!(PEERS.iter().all(|peer| exact(peer.version)));
    }
}
