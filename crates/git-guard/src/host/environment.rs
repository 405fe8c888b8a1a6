//! The environment of git, whole: what is the person's own stays, what steers git does not.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::HostError;

/// Variables of Git's that are the person's word on who they are, where their configuration is and
/// how they read. Every other `GIT_*` is taken out: git(1) has some eighty that redirect or run.
const KEPT: [&str; 12] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_ATTR_NOSYSTEM",
    "GIT_PAGER",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// Settings of every command, stronger than any file: how git is kept to the one repository and to
/// the truth about it. Hints that a repository keeps for speed could lie: an index that says what
/// didn't change, a graph of commits, replacements.
const ALWAYS: [(&str, &str); 14] = [
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.commitGraph", "false"),
    ("core.multiPackIndex", "false"),
    ("core.splitIndex", "false"),
    ("core.useReplaceRefs", "false"),
    ("pack.useBitmaps", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("safe.bareRepository", "explicit"),
    ("diff.ignoreSubmodules", "all"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// Variables of every command. An empty list of protocols allows none: git(1).
const SET: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// Git of this machine, for one person.
#[derive(Debug, Clone)]
pub struct Git {
    pub(super) program: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    /// Where private directories are made.
    pub(super) scratch: PathBuf,
}

impl Git {
    /// Finds git on the path of these variables, which are the person's. Private directories are
    /// made in `scratch`, which nobody else may write to.
    ///
    /// # Errors
    /// When there is no git.
    pub fn find(
        variables: &BTreeMap<OsString, OsString>,
        scratch: &Path,
    ) -> Result<Self, HostError> {
        let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let mut places = std::env::split_paths(&path).filter(|place| place.is_absolute());
        let program = places.find_map(|place| executable(place.join("git")));
        Ok(Self {
            program: program.ok_or(HostError::NoGit)?,
            variables: variables.clone(),
            scratch: scratch.to_owned(),
        })
    }

    /// Git with nothing of the person's configuration either: for what Loop itself asks.
    #[must_use]
    pub fn plain(&self) -> Self {
        let mut plain = self.clone();
        for name in KEPT {
            plain.variables.remove(OsStr::new(name));
        }
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C"),
        ] {
            plain.variables.insert(name.into(), value.into());
        }
        plain
    }

    /// Whether the person said where else objects are.
    pub(super) fn names_alternates(&self) -> bool {
        self.variables.contains_key(OsStr::new("GIT_ALTERNATE_OBJECT_DIRECTORIES"))
    }

    /// A command whose environment is this and no other. Names are not looked up below `work`.
    #[expect(clippy::disallowed_methods, reason = "the one place where Loop starts git")]
    pub(crate) fn command(&self, work: Option<&Path>, settings: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear();
        for (name, value) in &self.variables {
            if !name.as_bytes().starts_with(b"GIT_") || KEPT.iter().any(|kept| name == kept) {
                command.env(name, value);
            }
        }
        command.env("PATH", self.path(work)).envs(SET);
        let settings = ALWAYS.iter().chain(settings);
        let mut count = 0_usize;
        for (key, value) in settings {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command
    }

    /// The path without what the repository itself could have put programs in.
    fn path(&self, work: Option<&Path>) -> OsString {
        let path = self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let is_ours = |place: &PathBuf| {
            place.is_absolute() && work.is_none_or(|work| !resolved(place).starts_with(work))
        };
        let kept: Vec<_> = std::env::split_paths(&path).filter(is_ours).collect();
        std::env::join_paths(kept).unwrap_or_default()
    }
}

fn resolved(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn executable(path: PathBuf) -> Option<PathBuf> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(path)
}
