//! Which commands of git only look, and so can be given to a person on a repository that is not
//! trusted. What changes a repository or talks to another one is refused, by name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::HostError;
use super::environment::Git;
use super::private::Private;
use super::repository::Repository;

/// Commands that look, whatever their arguments are.
const LOOK: [&str; 45] = [
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "cherry",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "get-tar-commit-id",
    "grep",
    "help",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "merge-tree",
    "name-rev",
    "patch-id",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "status",
    "stripspace",
    "unpack-file",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
];

/// Commands that look with one of these first words; an empty one stands for none, or an option.
const LOOK_WITH: [(&str, &[&str]); 4] = [
    ("stash", &["list", "show"]),
    ("notes", &["", "list", "show"]),
    ("reflog", &["", "show", "exists", "list"]),
    ("bundle", &["verify", "list-heads"]),
];

/// Commands that list, if they are told to.
const LIST: [&str; 2] = ["branch", "tag"];

/// Options before the command that change where git looks, and with a value of their own.
const ELSEWHERE: [&str; 5] =
    ["--git-dir", "--work-tree", "--exec-path", "--namespace", "--super-prefix"];

/// How often an alias may stand for another one.
const ALIASES: usize = 10;

/// Why `loop git` does not do it.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// No command is given.
    #[error("no git command is given")]
    NoCommand,
    /// A command that does more than look.
    #[error("`git {0}` does more than look")]
    Changes(String),
    /// An alias that runs a program.
    #[error("the alias `{0}` runs a program")]
    Shell(String),
    /// An option that would leave the repository that was named.
    #[error("`{0}` leads elsewhere")]
    Elsewhere(String),
    /// The repository can't be read.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// A command of git that only looks.
#[derive(Debug)]
pub struct Looking {
    private: Private,
    /// Where it is run.
    directory: PathBuf,
    words: Vec<OsString>,
}

/// What comes before the command, and where that leads.
struct Before {
    directory: PathBuf,
    options: Vec<OsString>,
}

impl Looking {
    /// Reads the words after `git`, for a person in `directory`.
    ///
    /// # Errors
    /// When it does more than look, or there is no repository to look at.
    pub fn prepare(git: &Git, directory: &Path, words: &[OsString]) -> Result<Self, Unfit> {
        let (before, rest) = before(directory, words)?;
        let repository = Repository::find(&before.directory)?;
        let private = Private::looking(git, &repository)?;
        let mut rest: Vec<OsString> = rest.to_vec();
        for _ in 0..ALIASES {
            let Some(name) = rest.first().and_then(|word| word.to_str()) else { break };
            let Some(alias) = private.alias(name)? else { break };
            rest.splice(..1, alias);
        }
        let command = looks(&rest)?;
        let words = before.options.into_iter().chain(command).collect();
        Ok(Self { private, directory: before.directory, words })
    }

    /// Files among the refs that are none, and so are not shown.
    #[must_use]
    pub fn ignored_refs(&self) -> usize {
        self.private.ignored
    }

    /// The command, whose streams are those of this process.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = self.private.command();
        command.args(&self.words).current_dir(&self.directory);
        command
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When git can't be started.
    pub fn run(&self) -> Result<ExitStatus, HostError> {
        self.command().status().map_err(HostError::Start)
    }
}

/// Takes the options before the command. `-C` leads to a directory, as often as it is said.
fn before<'w>(directory: &Path, words: &'w [OsString]) -> Result<(Before, &'w [OsString]), Unfit> {
    let mut before = Before { directory: directory.to_owned(), options: Vec::new() };
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') {
            break;
        }
        let name = text.split('=').next().unwrap_or_default();
        if ELSEWHERE.contains(&name) || name == "--bare" {
            return Err(Unfit::Elsewhere(name.to_owned()));
        }
        rest = after;
        match name {
            "-C" => {
                let (to, after) = rest.split_first().ok_or(Unfit::NoCommand)?;
                before.directory.push(to);
                rest = after;
            }
            "-c" | "--config-env" | "--attr-source" | "--list-cmds" if text == name => {
                let (value, after) = rest.split_first().ok_or(Unfit::NoCommand)?;
                before.options.extend([word.clone(), value.clone()]);
                rest = after;
            }
            _ => before.options.push(word.clone()),
        }
    }
    Ok((before, rest))
}

/// The words, if they only look; made to list where that has to be said.
fn looks(words: &[OsString]) -> Result<Vec<OsString>, Unfit> {
    let (command, rest) = words.split_first().ok_or(Unfit::NoCommand)?;
    let name = command.to_string_lossy();
    let first = rest.first().and_then(|word| word.to_str()).unwrap_or_default();
    let first = if first.starts_with('-') { "" } else { first };
    if LOOK.contains(&&*name) {
        return Ok(words.to_vec());
    }
    if LIST.contains(&&*name) {
        let says = |what: &str| rest.iter().any(|word| word == what);
        let list = (!says("--show-current") && !says("-h")).then(|| OsString::from("--list"));
        return Ok([command.clone()].into_iter().chain(list).chain(rest.iter().cloned()).collect());
    }
    let with = LOOK_WITH.iter().find(|(named, _)| name == *named);
    match with {
        Some((_, firsts)) if firsts.contains(&first) => Ok(words.to_vec()),
        _ => Err(Unfit::Changes(changes(&name, first))),
    }
}

fn changes(name: &str, first: &str) -> String {
    let name = names::printable(name.as_bytes());
    let with = LOOK_WITH.iter().any(|(named, _)| name == *named);
    if with { format!("{name} {}", names::printable(first.as_bytes())) } else { name }
}

impl Private {
    /// What the person's own configuration says that a command stands for.
    fn alias(&self, name: &str) -> Result<Option<Vec<OsString>>, Unfit> {
        let known = LOOK.contains(&name) || LIST.contains(&name);
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if known || !is_name || LOOK_WITH.iter().any(|(named, _)| name == *named) {
            return Ok(None);
        }
        let key = format!("alias.{name}");
        let output = self.answer(&["config", "--get", &key]).map_err(HostError::Start)?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || text.is_empty() {
            return Ok(None);
        }
        if text.starts_with('!') {
            return Err(Unfit::Shell(names::printable(name.as_bytes())));
        }
        let words = policy::Action::split(&text).unwrap_or_default();
        Ok(Some(words.into_iter().map(OsString::from).collect()))
    }
}
