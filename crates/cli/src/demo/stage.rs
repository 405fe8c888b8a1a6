//! Where the demonstration plays: a scratch home with a secret, a scratch repository, a listener.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use api::Homes;
use tempfile::TempDir;

const SUM: &str = "# Adds two numbers.\necho $(($1 - $2))\n";
const TEST: &str = "sum=$(sh sum.sh 2 3)\necho \"2 + 3 = $sum\"\n[ \"$sum\" = 5 ]\n";
const GIT: &str = "[user]\nname = Ada\nemail = ada@example.com\n";
const BASHRC: &str = "# the person's own\n";
const PROFILE: &str = "[profile]\nname = \"demo\"\nextends = \"agent\"\n\n\
                       [limits]\nprocesses = 128\nwall = \"30s\"\n";
/// What the model says.
const SCRIPT: &str = include_str!("agent.toml");

/// The scratch directories. They are removed at the end, unless they are kept.
pub(super) struct Stage {
    root: TempDir,
    listener: TcpListener,
}

impl Stage {
    pub(super) fn build() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("loop-demo-").tempdir()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let stage = Self { root, listener };
        stage.furnish_home()?;
        stage.furnish_project()?;
        Ok(stage)
    }

    fn furnish_home(&self) -> io::Result<()> {
        let home = self.home();
        fs::create_dir_all(home.join(".ssh"))?;
        fs::write(home.join(".ssh/id_ed25519"), "a secret key of the demonstration\n")?;
        fs::write(home.join(".bashrc"), BASHRC)?;
        fs::write(home.join(".gitconfig"), GIT)?;
        fs::write(self.profile(), PROFILE)?;
        fs::write(self.script(), SCRIPT)
    }

    /// A repository as `git init` leaves it; no program is started for it.
    fn furnish_project(&self) -> io::Result<()> {
        let project = self.project();
        for dir in [".git/objects", ".git/refs/heads", ".git/hooks"] {
            fs::create_dir_all(project.join(dir))?;
        }
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(project.join(".git/config"), "[core]\n\trepositoryformatversion = 0\n")?;
        fs::write(project.join("sum.sh"), SUM)?;
        fs::write(project.join("test.sh"), TEST)
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(super) fn profile(&self) -> PathBuf {
        self.root().join("demo.toml")
    }

    /// What the model plays.
    pub(super) fn script(&self) -> PathBuf {
        self.root().join("model.toml")
    }

    pub(super) fn homes(&self) -> Homes {
        let home = self.home();
        Homes { state: home.join(".loop"), config: home.join(".config/loop"), home }
    }

    pub(super) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Whether nobody has connected to the listener.
    pub(super) fn nobody_called(&self) -> bool {
        let answer = self.listener.accept();
        matches!(answer, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Whether the person's shell start-up file is as it was.
    pub(super) fn home_untouched(&self) -> bool {
        fs::read_to_string(self.home().join(".bashrc")).is_ok_and(|text| text == BASHRC)
    }

    /// Whether nothing is at this path of the project.
    pub(super) fn absent(&self, path: &str) -> bool {
        let found = fs::symlink_metadata(self.project().join(path));
        matches!(found, Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Whether the project has the repaired program.
    pub(super) fn repaired(&self) -> bool {
        fs::read_to_string(self.project().join("sum.sh")).is_ok_and(|text| text.contains("$1 + $2"))
    }

    /// Leaves the directories where they are.
    pub(super) fn keep(self) -> PathBuf {
        self.root.keep()
    }
}
