//! Names: of a directory, and of files that match a pattern.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Done;
use super::place::{Project, shown};
use super::plain::size;
use super::walk::{Pattern, files};
use crate::proposal::{Outcome, Truncated, Unit};

/// Entries that are told at once.
const PAGE: usize = 500;
/// Entries of a directory, or files that match, that are looked at: what is beyond is not told.
const MOST: usize = 200_000;

/// Lists the directory at `path`, from the `offset`th entry on.
pub(crate) fn list(project: &Project, path: &str, offset: u64) -> Done {
    directory(project, &project.path(path), offset)
}

/// The same, for a path that was resolved.
pub(crate) fn directory(project: &Project, path: &Path, offset: u64) -> Done {
    let failed = |error: io::Error| project.explain(path, &error);
    let entries = fs::read_dir(path).map_err(failed)?.flatten().take(MOST);
    let mut entries: Vec<_> = entries.map(|entry| (entry.file_name(), entry)).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let total = entries.len();
    let page = entries.iter().skip(start(offset)).take(PAGE);
    let page: Vec<_> = page.map(|(name, entry)| line(name, entry)).collect();
    Ok(told(&page, page.len(), total, offset, "the directory is empty"))
}

fn line(name: &OsString, entry: &fs::DirEntry) -> String {
    let name = shown(name);
    let Ok(kind) = entry.file_type() else { return name };
    if kind.is_symlink() {
        let to = fs::read_link(entry.path()).map(|to| shown(to.as_os_str()));
        return format!("{name} -> {}", to.unwrap_or_default());
    }
    match mark(kind) {
        Some(mark) => format!("{name}{mark}"),
        None => {
            let length = entry.metadata().map_or(0, |metadata| metadata.len());
            format!("{name}  {}", size(length))
        }
    }
}

/// What shows that a name is no file.
fn mark(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_dir() => Some("/"),
        () if kind.is_fifo() => Some("  (named pipe)"),
        () if kind.is_socket() => Some("  (socket)"),
        () if kind.is_file() => None,
        () => Some("  (device)"),
    }
}

/// Files below `path` whose names match, the ones that changed last first.
pub(crate) fn glob(project: &Project, pattern: &str, path: Option<&str>, offset: u64) -> Done {
    let matches = Pattern::read(pattern)?;
    let root = project.path(path.unwrap_or("."));
    fs::metadata(&root).map_err(|error| project.explain(&root, &error))?;
    let found = files(&root).filter(|file| matches.matches(&root, file)).take(MOST);
    let mut found: Vec<(SystemTime, PathBuf)> = found.map(|file| (changed(&file), file)).collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let total = found.len();
    let page = found.iter().skip(start(offset)).take(PAGE);
    let page: Vec<_> = page.map(|(_, file)| project.show(file)).collect();
    Ok(told(&page, page.len(), total, offset, "no file matches"))
}

fn changed(file: &Path) -> SystemTime {
    let changed = fs::symlink_metadata(file).and_then(|metadata| metadata.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}

pub(crate) fn start(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A page of `total` results, of which it shows so many from `offset` on.
pub(crate) fn told(
    page: &[String],
    shown: usize,
    total: usize,
    offset: u64,
    none: &str,
) -> Outcome {
    let (shown, total) = (shown as u64, total as u64);
    let end = offset.saturating_add(shown);
    let truncated = (shown < total).then_some(Truncated {
        shown,
        total: Some(total),
        unit: Unit::Entries,
        next_offset: (shown > 0 && end < total).then_some(end),
    });
    let text = match (page.is_empty(), total) {
        (false, _) => page.join("\n"),
        (true, 0) => none.to_owned(),
        (true, total) => format!("there are only {total}"),
    };
    Outcome { truncated, ..Outcome::done(text) }
}
