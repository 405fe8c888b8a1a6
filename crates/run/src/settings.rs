//! Where Loop keeps its things, and what of the process's environment it looks at.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use api::{Homes, Problem, exit};
use names::Clock;

use crate::project::Project;

/// What a [`crate::Host`] works with: directories, environment and clock, each of them a value.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The person's home, Loop's state and Loop's configuration.
    pub homes: Homes,
    /// The person's name.
    pub user: String,
    /// The environment of this process, read once.
    pub environment: BTreeMap<OsString, OsString>,
    /// The current directory.
    pub directory: PathBuf,
    /// What time it is.
    pub clock: Clock,
}

/// What the machine calls this process's user: passwd(5).
fn own_name() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(uid, &users).unwrap_or_else(|| format!("uid-{uid}"))
}

fn name_of(uid: u32, users: &str) -> Option<String> {
    let name = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let own = fields.nth(1)?.parse() == Ok(uid);
        own.then(|| name.to_owned())
    };
    users.lines().find_map(name)
}

impl Settings {
    /// From this process: `HOME`, `XDG_CONFIG_HOME`, `LOOP_HOME`, `USER`.
    ///
    /// # Errors
    /// The name of what is missing.
    pub fn from_process() -> Result<Self, String> {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let absolute = |name: &str| {
            let value = environment.get(OsStr::new(name))?;
            let path = PathBuf::from(value);
            path.is_absolute().then_some(path)
        };
        let home = absolute("HOME").ok_or("HOME is not set to an absolute path")?;
        let config = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = absolute("LOOP_HOME").unwrap_or_else(|| home.join(".loop"));
        let named = |name: &str| environment.get(OsStr::new(name)).filter(|it| !it.is_empty());
        let user = named("USER").or_else(|| named("LOGNAME"));
        let user = user.map_or_else(own_name, |name| name.to_string_lossy().into_owned());
        let directory =
            std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
        let homes = Homes { home, state, config: config.join("loop") };
        Ok(Self { homes, user, environment, directory, clock: names::system_clock })
    }

    /// A variable of the environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.get(OsStr::new(name)).cloned()
    }

    /// A variable that says something: an empty one is as good as none.
    #[must_use]
    pub fn said(&self, name: &str) -> Option<OsString> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// The owner's configuration file.
    #[must_use]
    pub fn owner_file(&self) -> PathBuf {
        self.homes.state.join("config.toml")
    }

    /// Where the owner's profiles are.
    #[must_use]
    pub fn profiles(&self) -> PathBuf {
        self.homes.state.join("profiles")
    }

    /// Where runs are.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.homes.state.join("run")
    }

    /// Where the sessions of Loop's own agent are.
    #[must_use]
    pub fn agent_sessions(&self) -> PathBuf {
        self.homes.state.join("agent")
    }

    /// The secret key file.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.homes.config.join("key")
    }

    /// The record of trust.
    #[must_use]
    pub fn trust_file(&self) -> PathBuf {
        self.homes.config.join("trust.json")
    }

    /// The project of `directory`, or of the current one.
    ///
    /// # Errors
    /// When the directory does not resolve.
    pub fn project(&self, directory: Option<&Path>) -> Result<Project, Problem> {
        let directory = self.absolute(directory.unwrap_or(Path::new("")));
        let home = self.homes.home.canonicalize().unwrap_or_else(|_| self.homes.home.clone());
        Project::find(&directory, &self.owner_file(), &home).map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::NotFound => exit::NOT_FOUND,
                _ => exit::UNSAFE,
            };
            let what = format!("the project directory {}: {error}", directory.display());
            Problem::new(code, what).with_next("name another with -C DIR")
        })
    }

    /// `path`, taken from the current directory when it is relative.
    #[must_use]
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_called_as_the_machine_does() {
        let users = "root:x:0:0:root:/root:/bin/bash\nbroken\n:x:7:7::/:\nann:x:1000:1000:,,,:/home/ann:/bin/sh\nother:x:1000:1::/:/x\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1000, users).as_deref(), Some("ann"));
        assert_eq!((name_of(7, users), name_of(1, users), name_of(0, "")), (None, None, None));
        assert!(!own_name().is_empty());
    }
}
