//! Actions in a person's words: `exec git push origin main`, `connect example.com:443`.

use std::path::{Path, PathBuf};

use names::{Digest, Host, NameError, Port, RefName, RunId, Timestamp};

use super::{
    Access, Action, Apply, Branch, Connect, Discard, Docker, Exec, FileAccess, GitPush, Http, Kind,
    Lease, MountPath, Open, Publish, RefChange, Resolve, Tool, Undo,
};

/// Where the words are said: what `~` and a relative path mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The home directory, absolute.
    pub home: PathBuf,
}

/// Words that are no action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// There are none.
    #[error("no action is given")]
    Empty,
    /// The first word is no kind.
    #[error("`{given}` is not a kind of action")]
    UnknownKind {
        /// The word.
        given: String,
        /// The most similar kind.
        near: Option<&'static str>,
    },
    /// A kind with too few or too many words.
    #[error("`{kind}` does not read these words")]
    Usage {
        /// The kind.
        kind: Kind,
    },
    /// A word that is no name of its kind.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A quote without its partner.
    #[error("a quote is not closed")]
    Quote,
}

impl ActionError {
    /// What to write instead.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::Empty => format!("start with one of: {}", kinds()),
            Self::UnknownKind { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownKind { .. } => format!("start with one of: {}", kinds()),
            Self::Usage { kind } => format!("write: {}", usage(*kind)),
            Self::Name(error) => crate::problem::fix_of_name(error).to_owned(),
            Self::Quote => "close it".to_owned(),
        }
    }
}

fn kinds() -> String {
    Kind::ALL.map(Kind::word).join(", ")
}

/// How actions of a kind are written.
fn usage(kind: Kind) -> &'static str {
    match kind {
        Kind::Exec => "exec PROGRAM [ARG]…",
        Kind::Open => "open PATH [read|write]",
        Kind::Mount => "mount PATH [read|scratch|write]",
        Kind::Connect => "connect HOST[:PORT]",
        Kind::Resolve => "resolve HOST",
        Kind::Http => "http METHOD HOST[:PORT]/PATH",
        Kind::GitPush => "git-push HOST/REPOSITORY REF [create|update|force|delete]",
        Kind::Docker => "docker OPERATION [TARGET]",
        Kind::Lease => "lease NAME HOST[:PORT]",
        Kind::Publish => "publish PORT",
        Kind::Tool => "tool NAME",
        Kind::Apply => "apply [RUN [FLAGGED-PATH]…]",
        Kind::Discard => "discard [RUN]",
        Kind::Undo => "undo [RUN]",
        Kind::Branch => "branch [RUN [NAME [FLAGGED-PATH]…]]",
    }
}

impl Action {
    /// Reads an action from one text; words are split at spaces, quotes keep them together.
    /// Relative paths are read at `/`.
    pub fn parse(text: &str) -> Result<Self, ActionError> {
        Self::parse_at(text, &Place { cwd: "/".into(), home: "/root".into() })
    }

    /// Reads an action from one text, with relative paths read at `place`.
    pub fn parse_at(text: &str, place: &Place) -> Result<Self, ActionError> {
        Self::parse_words(&Self::split(text)?, place)
    }

    /// Splits at white space; single and double quotes keep what they enclose, a backslash outside
    /// of quotes keeps the next character. This is for the convenience of whoever types an action,
    /// and decides nothing: gates have words.
    pub fn split(text: &str) -> Result<Vec<String>, ActionError> {
        split(text)
    }

    /// Reads an action from its words. A program without a slash stands for the one in `/usr/bin`.
    pub fn parse_words(words: &[String], place: &Place) -> Result<Self, ActionError> {
        let (kind, rest) = words.split_first().ok_or(ActionError::Empty)?;
        let kind = Kind::of_word(kind).ok_or_else(|| ActionError::UnknownKind {
            given: names::printable(kind.as_bytes()),
            near: names::nearest(kind, Kind::ALL.map(Kind::word)),
        })?;
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        read(kind, &rest, place)?.ok_or(ActionError::Usage { kind })
    }
}

/// `None` is the wrong number of words.
fn read(kind: Kind, words: &[&str], place: &Place) -> Result<Option<Action>, ActionError> {
    let action = match (kind, words) {
        (Kind::Exec, [program, args @ ..]) => Action::Exec(Exec::new(
            program_path(program, place),
            args.iter().map(ToString::to_string).collect(),
            place.cwd.clone(),
        )),
        (Kind::Open, [path, access @ ..]) => {
            let Some(access) = last_word(access, FileAccess::Read, FileAccess::of_word) else {
                return Ok(None);
            };
            Action::Open(Open { path: absolute(path, place), access, content: None })
        }
        (Kind::Mount, [path, access @ ..]) => {
            let Some(access) = last_word(access, Access::Read, Access::of_word) else {
                return Ok(None);
            };
            Action::Mount(MountPath { path: absolute(path, place), access })
        }
        (Kind::Connect, [destination]) => {
            let (host, port) = host_and_port(destination)?;
            Action::Connect(Connect { host, port })
        }
        (Kind::Resolve, [host]) => Action::Resolve(Resolve { host: read_host(host)? }),
        (Kind::Http, [method, url]) => {
            let (destination, path) = authority_and_path(url);
            let (host, port) = host_and_port(destination)?;
            let method = method.to_string();
            Action::Http(Http { host, port, method, path: format!("/{path}"), query: None })
        }
        (Kind::GitPush, [remote, reference, change @ ..]) => {
            let (host, repository) = authority_and_path(remote);
            let change = last_word(change, RefChange::Update, RefChange::of_word);
            let (Some(change), false) = (change, repository.is_empty()) else { return Ok(None) };
            Action::GitPush(GitPush {
                host: read_host(host)?,
                repository: repository.strip_suffix(".git").unwrap_or(repository).to_owned(),
                reference: reference_name(reference)?,
                change,
                moves: None,
            })
        }
        (Kind::Docker, [operation]) => docker(operation, ""),
        (Kind::Docker, [operation, target]) => docker(operation, target),
        (Kind::Lease, [name, destination]) => {
            let (host, port) = host_and_port(destination)?;
            Action::Lease(Lease { name: name.to_string(), host, port })
        }
        (Kind::Publish, [port]) => Action::Publish(Publish { port: Port::parse(port)? }),
        (Kind::Tool, [name]) => Action::Tool(Tool::named(&**name)),
        (Kind::Apply, words) => apply(words)?,
        (Kind::Discard, [] | [_]) => Action::Discard(Discard { run: run(words)? }),
        (Kind::Undo, [] | [_]) => Action::Undo(Undo { run: run(words)? }),
        (Kind::Branch, words) => branch(words)?,
        _ => return Ok(None),
    };
    Ok(Some(action))
}

/// The optional last word of an action.
fn last_word<T>(words: &[&str], default: T, read: fn(&str) -> Option<T>) -> Option<T> {
    match words {
        [] => Some(default),
        [word] => read(word),
        _ => None,
    }
}

fn docker(operation: &str, target: &str) -> Action {
    Action::Docker(Docker { operation: operation.to_owned(), target: target.to_owned() })
}

/// A change set that nobody made yet; no rule looks at the digest.
fn apply(words: &[&str]) -> Result<Action, ActionError> {
    let flagged: Vec<String> = words.iter().skip(1).map(ToString::to_string).collect();
    Ok(Action::Apply(Apply {
        run: run(words)?,
        change_set: Digest::of(b""),
        paths: flagged.len() as u64,
        flagged,
    }))
}

/// Commits that nobody made yet; no rule looks at which they are.
fn branch(words: &[&str]) -> Result<Action, ActionError> {
    let name = words.get(1).copied().unwrap_or("loop/some");
    Ok(Action::Branch(Branch {
        run: run(words)?,
        reference: reference_name(name)?,
        commit: String::new(),
        commits: 1,
        flagged: words.iter().skip(2).map(ToString::to_string).collect(),
    }))
}

fn run(words: &[&str]) -> Result<RunId, NameError> {
    match words.first() {
        Some(run) => RunId::parse(run),
        None => Ok(RunId::from_parts(Timestamp::from_millis(0), [0; 4])),
    }
}

pub(crate) fn program_path(program: &str, place: &Place) -> PathBuf {
    if program.contains('/') {
        return absolute(program, place);
    }
    Path::new("/usr/bin").join(program)
}

pub(crate) fn absolute(path: &str, place: &Place) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => place.home.clone(),
        Some(rest) if rest.starts_with('/') => place.home.join(rest.trim_start_matches('/')),
        _ => plain(&place.cwd, path),
    }
}

/// Joins without `.`; `..` is kept, and refused when decided, because only a kernel can resolve it.
fn plain(cwd: &Path, path: &str) -> PathBuf {
    let joined = cwd.join(path);
    joined.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

/// An address is a host here, because the person named it.
pub(crate) fn read_host(text: &str) -> Result<Host, NameError> {
    Host::parse_address(text).or_else(|_| Host::parse(text))
}

fn host_and_port(text: &str) -> Result<(Host, Port), NameError> {
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let port = rest.strip_prefix(':').map_or(Ok(Port::HTTPS), Port::parse)?;
        return Ok((Host::parse_address(address)?, port));
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => Ok((read_host(host)?, Port::parse(port)?)),
        _ => Ok((read_host(text)?, Port::HTTPS)),
    }
}

/// Splits `https://host:port/path` or `host/path`.
fn authority_and_path(url: &str) -> (&str, &str) {
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    url.split_once('/').unwrap_or((url, ""))
}

/// A branch's short name is a reference too.
fn reference_name(text: &str) -> Result<RefName, NameError> {
    if text.starts_with("refs/") || text == "HEAD" {
        return RefName::parse(text);
    }
    RefName::parse(&format!("refs/heads/{text}"))
}

fn split(text: &str) -> Result<Vec<String>, ActionError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match quote {
            Some(open) if open == character => quote = None,
            None if matches!(character, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            None if character == '\\' => {
                word.get_or_insert_default().push(characters.next().ok_or(ActionError::Quote)?);
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(ActionError::Quote);
    }
    words.extend(word);
    Ok(words)
}
