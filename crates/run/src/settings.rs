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
        let user =
            environment.get(OsStr::new("USER")).or_else(|| environment.get(OsStr::new("LOGNAME")));
        let user = user.map_or_else(
            || format!("uid-{}", rustix::process::geteuid().as_raw()),
            |name| name.to_string_lossy().into_owned(),
        );
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
    pub fn conversations(&self) -> PathBuf {
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
