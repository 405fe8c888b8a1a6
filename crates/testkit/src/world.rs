//! A scratch home with everything that belongs to one test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Launch, Repository};

/// Variables of the real environment that a test needs to find programs, and nothing else.
const CARRIED: &[&str] = &["PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME"];

/// A home, Loop's directories and a place for projects, all of them gone at the end of the test.
pub struct World {
    scratch: tempfile::TempDir,
    home: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl World {
    /// An empty home: no toolchain, no configuration but a Git name.
    pub fn new() -> Self {
        let scratch = scratch();
        let home = scratch.path().join("home");
        make(&home);
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
            .expect("cannot write .gitconfig");
        Self::with(scratch, home)
    }

    /// The home of whoever runs the test, with its toolchains; Loop's own directories are scratch all the same.
    pub fn with_real_home() -> Self {
        let home = std::env::var_os("HOME").expect("HOME is not set");
        Self::with(scratch(), home.into())
    }

    fn with(scratch: tempfile::TempDir, home: PathBuf) -> Self {
        let mut environment: Vec<(OsString, OsString)> = CARRIED
            .iter()
            .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
            .collect();
        let config = scratch.path().join("config");
        let loop_home = scratch.path().join("loop-home");
        make(&config);
        environment.extend([
            ("HOME".into(), home.clone().into()),
            ("XDG_CONFIG_HOME".into(), config.into()),
            ("LOOP_HOME".into(), loop_home.into()),
            ("TERM".into(), "xterm-256color".into()),
            ("SHELL".into(), "/bin/bash".into()),
        ]);
        Self { scratch, home, environment }
    }

    /// The directory that holds all of this world.
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The person's home.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Loop's directory: configuration, profiles, runs. It appears with the first run.
    pub fn loop_home(&self) -> PathBuf {
        self.path().join("loop-home")
    }

    /// `XDG_CONFIG_HOME`: keys and the record of trust lie in its `loop`.
    pub fn config_home(&self) -> PathBuf {
        self.path().join("config")
    }

    /// The person's environment: what programs outside are started with.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// A new directory for a project without Git.
    pub fn directory(&self, name: &str) -> PathBuf {
        let directory = self.path().join(name);
        make(&directory);
        directory
    }

    /// A new Git repository with one commit.
    pub fn repository(&self, name: &str) -> Repository<'_> {
        Repository::new(self, self.directory(name))
    }

    /// A file of the world, its directories made on the way.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        make(path.parent().expect("a file has a parent"));
        std::fs::write(&path, contents)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// The `loop` program with these arguments.
    pub fn run_loop(&self, directory: impl AsRef<Path>, arguments: &[&str]) -> Launch {
        Launch::new(&loop_program())
            .arguments(arguments)
            .directory(directory)
            .environment(&self.environment)
    }

    /// `loop exec -- LINE`.
    pub fn exec(&self, directory: impl AsRef<Path>, line: &[&str]) -> Launch {
        self.exec_with(directory, &[], line)
    }

    /// `loop exec FLAGS -- LINE`.
    pub fn exec_with(&self, directory: impl AsRef<Path>, flags: &[&str], line: &[&str]) -> Launch {
        self.run_loop(directory, &[&["exec"], flags, &["--"], line].concat())
    }

    /// Another program in this person's environment, outside.
    pub fn outside(&self, directory: impl AsRef<Path>, line: &[&str]) -> Launch {
        let (name, arguments) = line.split_first().expect("a command has a program");
        Launch::new(Path::new(name))
            .arguments(arguments)
            .directory(directory)
            .environment(&self.environment)
    }

    /// The directories of all runs, in order of their ids.
    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.loop_home().join("run")) else {
            return Vec::new();
        };
        let mut runs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        runs.sort();
        runs
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("loop-test-")
        .tempdir()
        .expect("cannot make a scratch directory")
}

fn make(directory: &Path) {
    std::fs::create_dir_all(directory)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", directory.display()));
}

/// The program under test: `LOOP_BIN`, or the one built beside this test.
#[must_use]
pub fn loop_program() -> PathBuf {
    if let Some(given) = std::env::var_os("LOOP_BIN") {
        return given.into();
    }
    let test = std::env::current_exe().expect("this test has a path");
    let beside = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps").join("loop");
    assert!(
        beside.is_file(),
        "there is no {}: build it with `cargo build -p app`, or use `cargo xtask test`",
        beside.display()
    );
    beside
}
