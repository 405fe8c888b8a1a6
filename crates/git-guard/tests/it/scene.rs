//! A person, a repository of theirs, and what an attacker would be seen by.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use git_guard::host::{Git, HostError, Private, Repository};
use rustix::pty::OpenptFlags;
use tempfile::TempDir;

/// Every git of this machine, the newest and Debian's, if they differ.
pub(crate) fn gits() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let mut found: Vec<PathBuf> = Vec::new();
    for place in std::env::split_paths(&path) {
        if let Ok(git) = fs::canonicalize(place.join("git"))
            && !found.contains(&git)
        {
            found.push(git);
        }
    }
    assert!(!found.is_empty(), "the tests need git");
    found
}

pub(crate) struct Scene {
    place: TempDir,
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

/// What a command of git said and did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

impl Scene {
    /// A repository with two commits on `main`, another branch, and a change that is not committed.
    pub(crate) fn new(git: &Path) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for name in ["home", "scratch", "bin", "outside"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let near = git.parent().unwrap();
        let path =
            std::env::join_paths([&root.join("bin"), near, "/usr/bin".as_ref(), "/bin".as_ref()]);
        let variables = [
            ("HOME", root.join("home").into()),
            ("PATH", path.unwrap()),
            ("LC_ALL", "C".into()),
            ("TERM", "xterm".into()),
            // What would wait for a key.
            ("PAGER", "cat".into()),
            ("EDITOR", "true".into()),
        ];
        let variables =
            variables.map(|(name, value): (&str, OsString)| (name.into(), value)).into();
        let scene = Self { place, variables };
        let who = "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n\
                   [diff]\n\ttool = quiet\n\tguitool = quiet\n[difftool \"quiet\"]\n\tcmd = true\n";
        fs::write(scene.at("home/.gitconfig"), who).unwrap();
        scene.script("fire", "echo fired >> ROOT/fired");
        scene.git(&["init", "-q", "project"], "");
        scene.write("README.md", "one\n");
        scene.commit("Begin");
        scene.git_here(&["branch", "other"]);
        scene.write("README.md", "one\ntwo\n");
        scene.commit("Second");
        scene.write("README.md", "one\ntwo\nthree and more\n");
        scene
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.place.path()).unwrap().join(path)
    }

    /// `ROOT` stands for where everything is, `FIRE` for the program that must not run.
    pub(crate) fn text(&self, text: &str) -> String {
        let root = self.at("");
        let root = root.to_str().unwrap().trim_end_matches('/');
        text.replace("FIRE", &format!("{root}/bin/fire")).replace("ROOT", root)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.put(&format!("project/{path}"), text);
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.text(text)).unwrap();
    }

    pub(crate) fn script(&self, name: &str, body: &str) {
        let path = format!("bin/{name}");
        self.executable(&path, body);
    }

    pub(crate) fn executable(&self, path: &str, body: &str) {
        self.put(path, &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git_here(&["add", "-A"]);
        self.git_here(&["commit", "-q", "-m", message]);
    }

    /// Git as anybody starts it, which has to succeed.
    pub(crate) fn git(&self, args: &[&str], directory: &str) -> String {
        let ran = self.bare(args, directory, "");
        assert!(ran.ok, "git {args:?}: {}", ran.text);
        ran.text.trim().to_owned()
    }

    pub(crate) fn git_here(&self, args: &[&str]) -> String {
        self.git(args, "project")
    }

    pub(crate) fn bare(&self, args: &[&str], directory: &str, input: &str) -> Ran {
        let mut command = Command::new("git");
        command.env_clear().envs(&self.variables);
        command.args(args).current_dir(self.at(directory));
        ran(command, input)
    }

    pub(crate) fn host(&self) -> Git {
        Git::find(&self.variables, &self.at("scratch")).unwrap()
    }

    /// Git as Loop starts it. `Err` is a repository that it does not look at.
    pub(crate) fn hardened(
        &self,
        args: &[&str],
        directory: &str,
        input: &str,
    ) -> Result<Ran, HostError> {
        let repository = Repository::find(&self.at(directory))?;
        let private = Private::looking(&self.host(), &repository)?;
        let mut command = private.command();
        command.args(args).current_dir(self.at(directory));
        Ok(ran(command, input))
    }

    pub(crate) fn fired(&self) -> bool {
        self.at("fired").exists()
    }
}

/// Runs a command with a terminal for its output, because some programs are run for one only.
fn ran(mut command: Command, input: &str) -> Ran {
    let (ours, theirs) = terminal();
    command.process_group(0).stdin(Stdio::piped());
    command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    });
    let reader = std::thread::spawn(move || {
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = rustix::io::read(&ours, &mut buffer) {
            text.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8_lossy(&text).replace("\r\n", "\n")
    });
    let ok = wait(&mut child);
    writer.join().unwrap();
    Ran { ok, text: reader.join().unwrap() }
}

/// Whether it succeeded. One that waits for somebody is a failure.
fn wait(child: &mut Child) -> bool {
    for _ in 0..2_000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let group = rustix::process::Pid::from_child(child);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    false
}

fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags).unwrap();
    (ours, theirs)
}
