//! Where the value of a credential comes from.
//!
//! A value is read once, at the start of a run, into memory that is cleared when it goes. No error
//! of this module holds a value, or anything that a source said beside it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use api::{Problem, exit};
use broker::Credential;
use names::Secret;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::login;
use crate::settings::Settings;
use crate::store;

/// Longest value, in bytes.
const LONGEST: u64 = 16 << 10;
/// How long a command may take to give one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Asks the desktop's keyring (Secret Service): secret-tool(1).
const KEYRING: &str = "secret-tool";

/// A source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Source {
    /// A variable of this process.
    Env {
        /// Its name.
        variable: String,
    },
    /// A file that only its owner can read.
    File {
        /// Where.
        #[serde(with = "api::text")]
        path: PathBuf,
    },
    /// An item of the desktop's keyring, with the attributes `service` = `loop` and `lease` = name.
    Keyring {
        /// Its name.
        name: String,
    },
    /// The key of a model provider that `loop login` keeps.
    Login {
        /// The provider.
        provider: String,
    },
    /// What a program writes. No shell is between.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
    },
}

/// As it was given, for people.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env { variable } => write!(f, "env:{variable}"),
            Self::File { path } => write!(f, "file:{}", path.display()),
            Self::Keyring { name } => write!(f, "keyring:{name}"),
            Self::Login { provider } => write!(f, "login:{provider}"),
            Self::Command { words } => write!(f, "command:{}", words.join(" ")),
        }
    }
}

impl Source {
    /// Reads `env:VAR`, `file:PATH`, `keyring:NAME`, `login:PROVIDER` or `command:CMD`; a path that
    /// is relative is meant below `directory`.
    ///
    /// # Errors
    /// When it is none of these.
    pub(super) fn parse(text: &str, directory: &Path) -> Result<Self, Problem> {
        let unknown = || {
            let what = format!("`{}` is no source", names::printable(text.as_bytes()));
            Problem::new(
                exit::USAGE,
                format!("{what}: env:VAR, file:PATH, keyring:NAME, login:PROVIDER, command:CMD"),
            )
        };
        let (kind, rest) =
            text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(unknown)?;
        match kind {
            "env" => match policy::variable(rest) {
                Ok(variable) => Ok(Self::Env { variable }),
                Err(error) => Err(Problem::new(exit::USAGE, error.to_string())),
            },
            "file" => Ok(Self::File { path: directory.join(rest) }),
            "keyring" => Ok(Self::Keyring { name: rest.to_owned() }),
            "login" => Ok(Self::Login { provider: login::known(rest)?.0.to_owned() }),
            "command" => Ok(Self::Command { words: words(rest)? }),
            _ => Err(unknown()),
        }
    }

    /// The variable of this process that the value comes from.
    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            Self::Env { variable } => Some(variable),
            _ => None,
        }
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Why there is none. The error names the source.
    pub(crate) fn read(&self, settings: &Settings) -> Result<Credential, SourceError> {
        let bytes = match self {
            Self::Env { variable } => {
                let value = settings.variable(variable).ok_or(SourceError::NoVariable)?;
                Zeroizing::new(std::os::unix::ffi::OsStringExt::into_vec(value))
            }
            Self::File { path } => file(path)?,
            Self::Keyring { name } => {
                let words = [KEYRING, "lookup", "service", "loop", "lease", name];
                command(&words.map(str::to_owned), settings)?
            }
            Self::Login { provider } => return kept(provider, settings),
            Self::Command { words } => command(words, settings)?,
        };
        value(&bytes)
    }
}

/// The key that `loop login` keeps of a provider, in its file or in the keyring.
fn kept(provider: &str, settings: &Settings) -> Result<Credential, SourceError> {
    let line = value(&file(&login::file(settings, provider))?)?;
    let key = match line.expose().strip_prefix(login::KEY) {
        Some(key) => Zeroizing::new(key.as_bytes().to_vec()),
        None => command(
            &keyring::words("lookup", (login::ATTRIBUTE, provider)).map(str::to_owned),
            settings,
        )?,
    };
    value(&key)
}

/// Why a source gives no value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The variable isn't set.
    #[error("the variable is not set")]
    NoVariable,
    /// The file or the program can't be used.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
    /// Others could read the file.
    #[error("its mode is {0:o}; only you may be able to read it")]
    Exposed(u32),
    /// The file is somebody else's.
    #[error("it belongs to user {0}")]
    Foreign(u32),
    /// The program isn't there.
    #[error("there is no program {0}")]
    NoProgram(String),
    /// The program failed.
    #[error("the program ended with {0}")]
    Failed(std::process::ExitStatus),
    /// The program took too long.
    #[error("the program gave nothing within {} seconds", PATIENCE.as_secs())]
    Slow,
    /// There is no end to it.
    #[error("it is longer than {LONGEST} bytes")]
    Long,
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It could not stand in a header.
    #[error("it is not one line of visible ASCII characters")]
    NotALine,
}

impl SourceError {
    /// What the person can do.
    pub(super) fn next(&self) -> &'static str {
        match self {
            Self::NoVariable => "set it, or add the lease again from another source",
            Self::Exposed(_) => "run `chmod 600` on it",
            Self::Foreign(_) => "run `chown` on it, if its content is yours",
            Self::NoProgram(_) => "install it, or add the lease again from another source",
            _ => "check the source, or add the lease again from another one",
        }
    }
}

/// One line, without its end.
fn value(bytes: &[u8]) -> Result<Credential, SourceError> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if line.is_empty() {
        return Err(SourceError::Empty);
    }
    let visible = |byte: &u8| matches!(byte, b' '..=b'~');
    let framed = line.first() == Some(&b' ') || line.last() == Some(&b' ');
    let text = std::str::from_utf8(line).ok().filter(|_| line.iter().all(visible) && !framed);
    let text = text.ok_or(SourceError::NotALine)?;
    Ok(Secret::new(Zeroizing::new(text.to_owned())))
}

/// The desktop's keyring: secret-tool(1). A value goes to its standard input, and is never an
/// argument.
pub(crate) mod keyring {
    use std::io::Write as _;

    use super::{
        Command, KEYRING, Problem, Secret, Settings, SourceError, Stdio, command, exit, io,
    };

    /// What names an item besides `service` = `loop`.
    pub(crate) type Attribute<'a> = (&'a str, &'a str);

    pub(super) fn words<'a>(act: &'a str, (name, value): Attribute<'a>) -> [&'a str; 6] {
        [KEYRING, act, "service", "loop", name, value]
    }

    fn problem(error: &SourceError) -> Problem {
        let next = "install secret-tool (libsecret-tools), or keep the key in a file";
        Problem::new(exit::UNSAFE, format!("the keyring: {error}")).with_next(next)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// When the keyring does not take it.
    pub(crate) fn store(
        settings: &Settings,
        label: &str,
        (name, of): Attribute<'_>,
        secret: &Secret<String>,
    ) -> Result<(), Problem> {
        let arguments = ["store", "--label", label, "service", "loop", name, of];
        put(settings, &arguments, secret.expose().trim()).map_err(|error| problem(&error))
    }

    fn put(settings: &Settings, arguments: &[&str], secret: &str) -> Result<(), SourceError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the person's own keyring, outside of any sandbox, before the run"
        )]
        let mut tool = Command::new(KEYRING);
        tool.args(arguments).env_clear().envs(&settings.environment);
        let started = tool.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut child = started.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SourceError::NoProgram(KEYRING.to_owned()),
            _ => SourceError::Io(error),
        })?;
        let written = child.stdin.take().map(|mut input| input.write_all(secret.as_bytes()));
        let status = child.wait()?;
        written.transpose()?;
        if status.success() { Ok(()) } else { Err(SourceError::Failed(status)) }
    }

    /// Forgets it.
    ///
    /// # Errors
    /// When the keyring does not answer.
    pub(crate) fn clear(settings: &Settings, attribute: Attribute<'_>) -> Result<(), Problem> {
        let words = words("clear", attribute).map(str::to_owned);
        command(&words, settings).map(drop).map_err(|error| problem(&error))
    }
}

/// The content of a file that nobody else could have read. The last component is no link.
fn file(path: &Path) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let file: File = store::open_regular(path)?;
    let found = file.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(SourceError::Foreign(found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(SourceError::Exposed(found.mode() & 0o777));
    }
    all_of(file)
}

fn all_of(from: impl Read) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    // Room for all of it, so that no half is left behind in memory when it would grow.
    let mut bytes = Zeroizing::new(Vec::with_capacity(1 + LONGEST as usize));
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST { Err(SourceError::Long) } else { Ok(bytes) }
}

/// What a program writes to its standard output. It has the person's environment and terminal, so
/// that it can ask for a password; it has no input.
fn command(words: &[String], settings: &Settings) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let mut child = start(words, settings)?;
    let output = child.stdout.take().ok_or(SourceError::Empty)?;
    let (send, receive) = sync_channel(1);
    // It ends with its program, whose output it reads.
    std::thread::spawn(move || send.send(all_of(output)));
    let read = match receive.recv_timeout(PATIENCE) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout) => Err(SourceError::Slow),
        Err(RecvTimeoutError::Disconnected) => Err(SourceError::Empty),
    };
    if read.is_err() {
        // It may have ended by itself; what matters is that it is gone.
        let _ = child.kill();
    }
    let status = child.wait()?;
    match read {
        Ok(_) if !status.success() => Err(SourceError::Failed(status)),
        read => read,
    }
}

fn start(words: &[String], settings: &Settings) -> Result<Child, SourceError> {
    let [program, arguments @ ..] = words else { return Err(SourceError::Empty) };
    #[expect(
        clippy::disallowed_methods,
        reason = "a program that the person named, outside of any sandbox, before the run"
    )]
    let mut command = Command::new(program);
    let command = command.args(arguments).env_clear().envs(&settings.environment);
    let command = command.current_dir(&settings.homes.home);
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SourceError::NoProgram(names::printable(program.as_bytes())),
        _ => SourceError::Io(error),
    })
}

/// The words of a command, apart by spaces; quotes of either kind keep a word together. Nothing
/// else means anything: there is no shell.
fn words(text: &str) -> Result<Vec<String>, Problem> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let what = match (quote, words.is_empty()) {
        (Some(_), _) => "a quote of the command is not closed",
        (None, true) => "the command is empty",
        (None, false) => return Ok(words),
    };
    Err(Problem::new(exit::USAGE, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    const CANARY: &str = "canary-9d1e";

    fn read(world: &World, from: &str) -> Result<String, String> {
        let source = Source::parse(from, &world.project).unwrap();
        let value = source.read(&world.settings);
        value.map(|value| value.expose().to_string()).map_err(|error| {
            assert!(!format!("{error} {error:?}").contains(CANARY), "{error:?}");
            error.to_string()
        })
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn with_path(world: &mut World) {
        let path = std::env::var_os("PATH").unwrap();
        world.settings.environment.insert("PATH".into(), path);
    }

    #[test]
    fn a_variable() {
        let mut world = World::new();
        assert_eq!(read(&world, "env:KEY").unwrap_err(), "the variable is not set");
        world.settings.environment.insert("KEY".into(), CANARY.into());
        assert_eq!(read(&world, "env:KEY").unwrap(), CANARY);
        for bad in ["", "a\nb", "a\u{e9}b", " a", "a\0b"] {
            world.settings.environment.insert("KEY".into(), bad.into());
            assert!(read(&world, "env:KEY").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_private_file_and_no_other() {
        let world = World::new();
        let path = world.project.join("key");
        fs::write(&path, format!("{CANARY}\n")).unwrap();
        mode(&path, 0o600);
        assert_eq!(read(&world, "file:key").unwrap(), CANARY);
        assert_eq!(read(&world, &format!("file:{}", path.display())).unwrap(), CANARY);
        mode(&path, 0o640);
        assert!(read(&world, "file:key").unwrap_err().contains("640"));
        mode(&path, 0o600);
        symlink(&path, world.project.join("link")).unwrap();
        assert!(read(&world, "file:link").is_err());
        assert!(read(&world, "file:absent").is_err());
        assert!(read(&world, "file:.").is_err());
        fs::write(&path, "x".repeat(20_000)).unwrap();
        assert!(read(&world, "file:key").unwrap_err().contains("longer"));
        fs::write(&path, format!("{CANARY}\nsecond\n")).unwrap();
        assert!(read(&world, "file:key").is_err());
    }

    #[test]
    fn a_command_without_a_shell() {
        let mut world = World::new();
        with_path(&mut world);
        assert_eq!(read(&world, &format!("command:echo {CANARY}")).unwrap(), CANARY);
        assert_eq!(read(&world, "command:echo '$HOME; \"a\"'").unwrap(), "$HOME; \"a\"");
        assert!(read(&world, "command:false").unwrap_err().contains("exit status: 1"));
        assert_eq!(
            read(&world, "command:no-such-program").unwrap_err(),
            "there is no program no-such-program"
        );
        assert!(read(&world, "command:cat /dev/zero").unwrap_err().contains("longer"));
        assert_eq!(read(&world, "command:true").unwrap_err(), "it is empty");
    }

    #[test]
    fn the_keyring_is_asked_by_name_or_named_as_missing() {
        let mut world = World::new();
        let bin = world.project.join("bin");
        world.settings.environment.insert("PATH".into(), bin.clone().into());
        assert_eq!(read(&world, "keyring:k").unwrap_err(), "there is no program secret-tool");
        fs::create_dir(&bin).unwrap();
        let tool = bin.join("secret-tool");
        fs::write(
            &tool,
            "#!/bin/sh\n[ \"$*\" = 'lookup service loop lease k' ] && echo canary-9d1e\n",
        )
        .unwrap();
        mode(&tool, 0o755);
        assert_eq!(read(&world, "keyring:k").unwrap(), CANARY);
        assert!(read(&world, "keyring:other").is_err());
    }
}
