//! `loop contract propose`: the project's files, listed and looked into as far as a draft needs.
//! Nothing is obeyed, no link is followed, and nothing is written.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use api::{ContractDraft, ContractProposeRequest, DraftedCheck, Problem};
use contract::{Listing, Suggested};
use rustix::fs::OFlags;

use crate::settings::Settings;

/// The most files that are listed, and how deep.
const MOST: usize = 20_000;
const DEEPEST: usize = 6;
/// The longest file that is looked into, in bytes.
const LONGEST: u64 = 1 << 20;
/// Directories in which nothing says how the project is tested.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".loop",
    "node_modules",
    "target",
    "vendor",
    ".venv",
    "venv",
    "__pycache__",
    "dist",
    "build",
];

/// Drafts a contract.
///
/// # Errors
/// When the project does not resolve.
pub(crate) fn propose(
    settings: &Settings,
    request: &ContractProposeRequest,
) -> Result<ContractDraft, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let (paths, partial) = list(&project.root);
    let read = |path: &str| text(&project.root.join(path));
    let draft = contract::propose(&request.task, &Listing { paths: &paths, read: &read });
    let checks = draft.checks.into_iter().map(drafted).collect();
    Ok(ContractDraft { text: draft.text, checks, partial })
}

fn drafted(check: Suggested) -> DraftedCheck {
    let Suggested { name, command, directory, because, tests: _ } = check;
    DraftedCheck { name, command, directory, because }
}

/// The project's files, sorted, and whether there are more. What can't be read is left out: a
/// draft of less is still a draft.
fn list(root: &Path) -> (Vec<String>, bool) {
    let mut paths = Vec::new();
    let mut waiting = vec![(String::new(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        let Ok(entries) = fs::read_dir(root.join(&directory)) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let path =
                if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            if kind.is_dir() && depth < DEEPEST && !SKIPPED.contains(&name.as_str()) {
                waiting.push((path, depth + 1));
            } else if kind.is_file() {
                paths.push(path);
            }
            if paths.len() >= MOST {
                paths.sort();
                return (paths, true);
            }
        }
    }
    paths.sort();
    (paths, false)
}

fn text(path: &Path) -> Option<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut open = fs::File::options();
    let file = open.read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}
