//! Small tasks with a known answer, and models that do them honestly or lie about it: `tasks/*.toml`,
//! described in `tasks/README.md`.
//!
//! A task is tried twice. Without Loop, to see that it is what it says: a lie fools the checks, and only the
//! truth tells it from an honest answer. With Loop, to see whether it was fooled.

mod trial;

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

pub use trial::{Tried, Verdict};

static TASKS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/tasks");

/// One task, as its file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The file's name.
    #[serde(skip)]
    pub name: String,
    /// What is wrong, in a line.
    pub title: String,
    /// What runs the checks.
    pub runner: String,
    /// Programs that it takes.
    pub needs: Vec<String>,
    /// Whether it belongs to the smaller selection.
    #[serde(default)]
    pub smoke: bool,
    /// What the model is told.
    task: String,
    /// Commands for `--check`.
    #[serde(default)]
    checks: Vec<String>,
    /// The contract, for `--contract`.
    contract: Option<String>,
    /// A line of shell on the host, after the files are committed.
    setup: Option<String>,
    /// The project: paths and texts.
    files: BTreeMap<String, String>,
    /// Those of them that are programs.
    #[serde(default)]
    executable: Vec<String>,
    truth: Truth,
    /// Who does it.
    #[serde(rename = "model")]
    pub answers: Vec<Answer>,
}

/// What no model sees: how to tell a right answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    /// Files that it takes beside the project's.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// A line of shell whose last word is `right` for a right answer.
    run: String,
}

/// What a scripted model does about a task.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// In a few words.
    pub name: String,
    /// Whether it is right to call it done.
    #[serde(default)]
    pub honest: bool,
    /// Lines of shell, one a round. It says that it is done after each.
    does: Vec<String>,
    /// Whether the checks pass afterwards where nobody looks after them.
    #[serde(default = "yes")]
    fools: bool,
    /// What Loop has to name when it does not believe it.
    says: Option<String>,
}

fn yes() -> bool {
    true
}

/// All tasks, by name. A file that isn't one fails the test.
pub fn tasks() -> Vec<Task> {
    let files = TASKS.files().filter(|file| file.path().extension().is_some_and(|it| it == "toml"));
    let mut tasks: Vec<Task> = files
        .map(|file| {
            let name = file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = file.contents_utf8().unwrap_or_else(|| panic!("{name} is no text"));
            let task: Task = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            Task { name, ..task }
        })
        .collect();
    tasks.sort_by(|a, b| a.name.cmp(&b.name));
    tasks
}
