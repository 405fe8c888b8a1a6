//! The real clients of models that tests drive: installed from npm, by name, at pinned versions, into the build
//! directory. Nothing of the product depends on them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::program::{self, program, target_directory};

/// One client.
struct Peer {
    /// The program it brings.
    program: &'static str,
    /// What npm calls it.
    package: &'static str,
    version: &'static str,
}

const PEERS: &[Peer] = &[
    Peer { program: "claude", package: "@anthropic-ai/claude-code", version: "2.1.332" },
    Peer { program: "codex", package: "@openai/codex", version: "0.171.0" },
    Peer { program: "opencode", package: "opencode-ai", version: "1.18.33" },
];

/// `cargo xtask peers`: installs what is missing and says what is there.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`peers` takes no {unknown:?}");
    }
    ensure()?;
    show();
    Ok(())
}

/// One line for each: is it there, at the version that is pinned?
pub(crate) fn show() {
    for peer in PEERS {
        let state = if peer.is_present() { "present" } else { "MISSING" };
        let Peer { program, package, version } = peer;
        println!("{state}  {program:<9} {package}@{version}: a client of the model server");
    }
}

/// Sees to it that every client is there, at its version, and starts.
pub(crate) fn ensure() -> Result<()> {
    if PEERS.iter().all(Peer::is_present) {
        return Ok(());
    }
    let packages = PEERS.iter().map(|peer| format!("{}@{}", peer.package, peer.version));
    println!("installing the clients of models into {}", directory().display());
    program::run(
        program("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"])
            .arg("--prefix")
            .arg(directory())
            .args(packages),
    )?;
    PEERS.iter().try_for_each(Peer::try_out)
}

fn directory() -> PathBuf {
    target_directory().join("peers")
}

impl Peer {
    fn is_present(&self) -> bool {
        let manifest = directory().join("node_modules").join(self.package).join("package.json");
        let text = std::fs::read(manifest).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        manifest.get("version").and_then(|version| version.as_str()) == Some(self.version)
    }

    /// A package may bring its program for this platform apart, so that being there says little.
    fn try_out(&self) -> Result<()> {
        let path = directory().join("node_modules/.bin").join(self.program);
        let said = program::read(program(path).arg("--version"))
            .with_context(|| format!("{} does not start", self.program))?;
        let said = String::from_utf8_lossy(&said);
        if !said.contains(self.version) {
            bail!("{} is not {}, but says: {}", self.program, self.version, said.trim());
        }
        Ok(())
    }
}
