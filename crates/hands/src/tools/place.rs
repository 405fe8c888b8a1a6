//! Where a proposal's path leads, and how a path is shown.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The project's directory: where relative paths count from and commands start.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    root: PathBuf,
    home: Option<PathBuf>,
}

impl Project {
    /// The project at this directory.
    pub(crate) fn at(root: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { root: root.into(), home }
    }

    /// The directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What a path means: relative to the project, or below the home where it starts with `~/`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ if path == "." || path.is_empty() => self.root.clone(),
            _ => self.root.join(path),
        }
    }

    /// A path as it is shown: relative to the project where it is below, with what could deceive
    /// made inert.
    pub(crate) fn show(&self, path: &Path) -> String {
        let short = path.strip_prefix(&self.root).unwrap_or(path);
        let short = if short.as_os_str().is_empty() { Path::new(".") } else { short };
        shown(short.as_os_str())
    }

    /// Why something failed, and what there is of a similar name if nothing is there.
    pub(crate) fn explain(&self, path: &Path, error: &io::Error) -> String {
        let shown = self.show(path);
        if error.kind() != io::ErrorKind::NotFound {
            return format!("{shown}: {}", kernel(error));
        }
        let near = near(path).into_iter().map(|path| self.show(&path)).collect::<Vec<_>>();
        match near.as_slice() {
            [] => format!("{shown}: there is no such file"),
            near => format!("{shown}: there is no such file; there is {}", near.join(", ")),
        }
    }
}

/// A name as it is shown.
pub(crate) fn shown(name: &OsStr) -> String {
    names::printable(name.as_encoded_bytes())
}

/// What the kernel said, in its words.
pub(crate) fn kernel(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Names beside a missing path that are like its own, the most similar first.
fn near(path: &Path) -> Vec<PathBuf> {
    /// Entries that are looked at, and names that are told.
    const LOOKED_AT: usize = 2000;
    const TOLD: usize = 3;
    /// From 0, nothing alike, to 1.
    const ALIKE: f64 = 0.7;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let name = name.to_string_lossy().to_lowercase();
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten().take(LOOKED_AT);
    let mut alike: Vec<_> = entries
        .map(|entry| {
            let other = entry.file_name().to_string_lossy().to_lowercase();
            (strsim::normalized_damerau_levenshtein(&name, &other), entry.path())
        })
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    alike.into_iter().take(TOLD).map(|(_, path)| path).collect()
}
