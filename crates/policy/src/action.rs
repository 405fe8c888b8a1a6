//! What a run may ask to do: typed requests, and nothing that carries one out.
//!
//! Gates make actions from hostile bytes; people write them in words for `loop policy explain`.

mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use names::{Digest, Host, ObjectId, Port, RefName, RunId, printable};
use serde::{Deserialize, Serialize};

use crate::path_text;
pub use words::{ActionError, Place};
pub(crate) use words::{absolute, program_path, read_host};

/// The kind of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Starting a program.
    Exec,
    /// Opening a file.
    Open,
    /// Making a path visible; decided while a profile is loaded.
    Mount,
    /// Opening a connection.
    Connect,
    /// Looking up a name.
    Resolve,
    /// Sending an HTTP request.
    Http,
    /// Changing a reference of a remote.
    GitPush,
    /// An operation of the Docker API.
    Docker,
    /// Lending a credential.
    Lease,
    /// Connecting to a published port of the sandbox.
    Publish,
    /// A tool of Loop's own agent.
    Tool,
    /// Applying a change set.
    Apply,
    /// Discarding a change set.
    Discard,
    /// Undoing an apply.
    Undo,
    /// Putting a run's commits on a branch.
    Branch,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Exec,
        Self::Open,
        Self::Mount,
        Self::Connect,
        Self::Resolve,
        Self::Http,
        Self::GitPush,
        Self::Docker,
        Self::Lease,
        Self::Publish,
        Self::Tool,
        Self::Apply,
        Self::Discard,
        Self::Undo,
        Self::Branch,
    ];

    /// The word for it in profiles, records and commands.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Open => "open",
            Self::Mount => "mount",
            Self::Connect => "connect",
            Self::Resolve => "resolve",
            Self::Http => "http",
            Self::GitPush => "git-push",
            Self::Docker => "docker",
            Self::Lease => "lease",
            Self::Publish => "publish",
            Self::Tool => "tool",
            Self::Apply => "apply",
            Self::Discard => "discard",
            Self::Undo => "undo",
            Self::Branch => "branch",
        }
    }

    /// What an action of this kind is, as a noun.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Exec => "program",
            Self::Open => "file",
            Self::Mount => "mount",
            Self::Connect => "connection",
            Self::Resolve => "name",
            Self::Http => "request",
            Self::GitPush => "push",
            Self::Docker => "Docker operation",
            Self::Lease => "lease",
            Self::Publish => "connection inside",
            Self::Tool => "tool",
            Self::Apply => "apply",
            Self::Discard => "discard",
            Self::Undo => "undo",
            Self::Branch => "branch",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Starting a program.
    Exec(Exec),
    /// Opening a file.
    Open(Open),
    /// Making a path visible.
    Mount(MountPath),
    /// Opening a connection.
    Connect(Connect),
    /// Looking up a name.
    Resolve(Resolve),
    /// Sending an HTTP request.
    Http(Http),
    /// Changing a reference of a remote.
    GitPush(GitPush),
    /// An operation of the Docker API.
    Docker(Docker),
    /// Lending a credential.
    Lease(Lease),
    /// Connecting to a published port of the sandbox.
    Publish(Publish),
    /// A tool of Loop's own agent.
    Tool(Tool),
    /// Applying a change set.
    Apply(Apply),
    /// Discarding a change set.
    Discard(Discard),
    /// Undoing an apply.
    Undo(Undo),
    /// Putting a run's commits on a branch.
    Branch(Branch),
}

/// Starting a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Exec {
    /// The file that will be executed, resolved: absolute, without links, `.` or `..`.
    #[serde(with = "path_text")]
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<String>,
    /// The working directory, resolved.
    #[serde(with = "path_text")]
    pub cwd: PathBuf,
    /// What else it is called: the paths of the links that led to the file, and the name that it is
    /// started under (`argv[0]`), which tells a program of many names what to be. Whoever starts it
    /// chooses these, so they can make a rule ask or deny, and never allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "path_text::list")]
    pub called: Vec<PathBuf>,
}

impl Exec {
    /// A program that is called by no other name.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, args: Vec<String>, cwd: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args, cwd: cwd.into(), called: Vec::new() }
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// To read.
    Read,
    /// To write, create, rename, remove or change its attributes.
    Write,
}

/// Opening a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Open {
    /// The file, resolved.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What for.
    pub access: FileAccess,
    /// The digest of the bytes that the file will hold, where they are known before it is written.
    /// No rule looks at it; an approval is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
}

/// What a mount gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// To read.
    Read,
    /// To read, and to write into a copy that stays in the run.
    Scratch,
    /// To read and to write.
    Write,
}

/// Making a path visible.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MountPath {
    /// The path.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What it gives.
    pub access: Access,
}

/// Opening a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Connect {
    /// The name that was asked for.
    pub host: Host,
    /// The port.
    pub port: Port,
}

/// Looking up a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolve {
    /// The name.
    pub host: Host,
}

/// Sending an HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Http {
    /// The host, which the connection was checked to belong to.
    pub host: Host,
    /// The port.
    pub port: Port,
    /// The method, as sent.
    pub method: String,
    /// The path, as sent. A gate leaves the query out, because records are for ever.
    pub path: String,
    /// A digest of the query, if there is one. No rule looks at it; an approval is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Digest>,
}

/// What happens to a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefChange {
    /// It is new.
    Create,
    /// It moves forward.
    Update,
    /// It moves elsewhere.
    Force,
    /// It is removed.
    Delete,
}

/// Changing a reference of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GitPush {
    /// The remote's host.
    pub host: Host,
    /// The repository there: `ann/site`, without `.git`.
    pub repository: String,
    /// The reference.
    #[serde(rename = "ref")]
    pub reference: RefName,
    /// What happens to it.
    pub change: RefChange,
    /// Where it points before and after, where that is known. No rule looks at it; an approval is
    /// bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<RefMove>,
}

/// Where a reference points before and after. An id of zeros stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RefMove {
    /// Before.
    pub old: ObjectId,
    /// After.
    pub new: ObjectId,
}

/// An operation of the Docker API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Docker {
    /// The operation: `container/create`.
    pub operation: String,
    /// The image or container it is about; empty if none.
    pub target: String,
}

/// Lending a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// The lease's name in the profile.
    pub name: String,
    /// Where it is used.
    pub host: Host,
    /// The port there.
    pub port: Port,
}

/// Connecting from this machine to a port of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Publish {
    /// The port inside.
    pub port: Port,
}

/// A tool of Loop's own agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tool {
    /// Its name, which is all that rules are about.
    pub name: String,
    /// What it is to do, in one line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The digest of all that it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Digest>,
}

impl Tool {
    /// A tool, whatever it is to do.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), words: String::new(), proposal: None }
    }
}

/// Applying a change set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Apply {
    /// The run whose change set it is.
    pub run: RunId,
    /// The change set's digest.
    pub change_set: Digest,
    /// How many paths are applied.
    pub paths: u64,
    /// Those of them that are flagged, which the person named.
    pub flagged: Vec<String>,
}

/// Discarding a change set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Discard {
    /// The run whose change set it is.
    pub run: RunId,
}

/// Undoing an apply.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Undo {
    /// The run whose change set was applied.
    pub run: RunId,
}

/// Putting a run's commits on a branch of the project's repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Branch {
    /// The run whose commits they are.
    pub run: RunId,
    /// The branch, by its full name.
    #[serde(rename = "ref")]
    pub reference: RefName,
    /// The commit it will be at.
    pub commit: String,
    /// How many commits are new.
    pub commits: u64,
    /// Paths that these change and that are flagged, which the person named.
    pub flagged: Vec<String>,
}

impl Action {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Exec(_) => Kind::Exec,
            Self::Open(_) => Kind::Open,
            Self::Mount(_) => Kind::Mount,
            Self::Connect(_) => Kind::Connect,
            Self::Resolve(_) => Kind::Resolve,
            Self::Http(_) => Kind::Http,
            Self::GitPush(_) => Kind::GitPush,
            Self::Docker(_) => Kind::Docker,
            Self::Lease(_) => Kind::Lease,
            Self::Publish(_) => Kind::Publish,
            Self::Tool(_) => Kind::Tool,
            Self::Apply(_) => Kind::Apply,
            Self::Discard(_) => Kind::Discard,
            Self::Undo(_) => Kind::Undo,
            Self::Branch(_) => Kind::Branch,
        }
    }

    /// The digest that an approval is bound to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        crate::digest_of("loop-action-v1", self)
    }
}

/// In words, as `loop policy explain` reads them, with everything hostile made inert.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind())?;
        match self {
            Self::Exec(exec) => {
                f.write_str(&shown(&exec.program))?;
                exec.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
            }
            Self::Open(open) => write!(f, "{} {}", shown(&open.path), open.access),
            Self::Mount(mount) => write!(f, "{} {}", shown(&mount.path), mount.access),
            Self::Connect(connect) => write!(f, "{}:{}", connect.host, connect.port),
            Self::Resolve(resolve) => write!(f, "{}", resolve.host),
            Self::Http(http) => write!(
                f,
                "{} {}:{}{}{}",
                printable(http.method.as_bytes()),
                http.host,
                http.port,
                printable(http.path.as_bytes()),
                if http.query.is_some() { "?…" } else { "" }
            ),
            Self::GitPush(push) => write!(
                f,
                "{}/{} {} {}",
                push.host,
                printable(push.repository.as_bytes()),
                printable(push.reference.as_str().as_bytes()),
                push.change
            ),
            Self::Docker(docker) => {
                let (operation, target) = (docker.operation.as_bytes(), docker.target.as_bytes());
                f.write_str(format!("{} {}", printable(operation), printable(target)).trim_end())
            }
            Self::Lease(lease) => {
                write!(f, "{} {}:{}", printable(lease.name.as_bytes()), lease.host, lease.port)
            }
            Self::Publish(publish) => write!(f, "{}", publish.port),
            Self::Tool(tool) => {
                let words = printable(tool.words.as_bytes());
                f.write_str(format!("{} {words}", printable(tool.name.as_bytes())).trim_end())
            }
            Self::Apply(apply) => {
                write!(f, "{}", apply.run)?;
                apply.flagged.iter().try_for_each(|path| write!(f, " {}", quoted(path)))
            }
            Self::Discard(discard) => write!(f, "{}", discard.run),
            Self::Undo(undo) => write!(f, "{}", undo.run),
            Self::Branch(branch) => {
                let name = printable(branch.reference.as_str().as_bytes());
                write!(f, "{} {name}", branch.run)?;
                branch.flagged.iter().try_for_each(|path| write!(f, " {}", quoted(path)))
            }
        }
    }
}

pub(crate) fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// An argument such that its borders can be seen.
fn quoted(arg: &str) -> String {
    let text = printable(arg.as_bytes());
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '\'' | '"');
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Defines the words of a small enumeration, once for reading and for showing.
macro_rules! word_enum {
    ($name:ident: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $name {
            /// The words for it.
            pub const WORDS: &[&str] = &[$($word),+];

            /// Reads one of the words.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(crate) use word_enum;

word_enum!(FileAccess: "read" => Read, "write" => Write);
word_enum!(Access: "read" => Read, "scratch" => Scratch, "write" => Write);
word_enum!(RefChange: "create" => Create, "update" => Update, "force" => Force, "delete" => Delete);

macro_rules! action_from {
    ($($name:ident => $variant:ident),+ $(,)?) => {
        $(impl From<$name> for Action {
            fn from(action: $name) -> Self {
                Self::$variant(action)
            }
        })+
    };
}

action_from!(
    Exec => Exec, Open => Open, MountPath => Mount, Connect => Connect, Resolve => Resolve,
    Http => Http, GitPush => GitPush, Docker => Docker, Lease => Lease, Publish => Publish,
    Tool => Tool, Apply => Apply, Discard => Discard, Undo => Undo, Branch => Branch,
);
