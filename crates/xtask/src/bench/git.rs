//! Rows about Git through the gate against Git without it: a clone and a push of much.
//!
//! The server is Git's own behind apache, the client the machine's. Inside, TLS is opened, because a
//! push could go there, and what moves is looked at; outside, the client talks to the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::processes::{self, Place, Turns, ratio};
use super::servers::{Server, as_nobody, certify, free_port, give_away, install};
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, program};

const APACHE: &str = "/usr/sbin/apache2";
const MODULES: &str = "/usr/lib/apache2/modules";
const HOST: &str = "git.example.com";
/// MiB in the repository that is cloned and pushed, in files that can't be compressed.
const MEBIBYTES: usize = 200;
const FILES: usize = 8;
const ROUNDS: usize = 3;
/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    install(&[APACHE], "apache2")?;
    let scene = Scene::new(place, effort)?;
    let (clone, push) = (scene.clone_turns(effort)?, scene.push_turns(effort)?);
    let (cloning, pushing) = scene.memory()?;
    let row = |what: String, bar, unit, result| Row { what, bar: Bar::AtMost(bar), unit, result };
    let mib = effort.times(MEBIBYTES);
    Ok(vec![
        row(format!("clone of {mib} MiB through the gate against direct"), 1.1, "×", clone),
        row(format!("push of {mib} MiB through the gate against direct"), 1.1, "×", push),
        row("memory of a run that clones, over an idle one".into(), 32.0, "MiB", cloning),
        row("memory of a run that pushes, over an idle one".into(), 32.0, "MiB", pushing),
    ])
}

/// The server with a repository to clone and one to push to, and a project that was cloned from it.
struct Scene<'a> {
    place: &'a Place,
    directory: PathBuf,
    project: PathBuf,
    port: String,
    _server: Server,
}

impl<'a> Scene<'a> {
    fn new(place: &'a Place, effort: Effort) -> Result<Self> {
        let directory = place.path().join("git");
        let repositories = directory.join("repositories");
        fs::create_dir_all(&repositories)?;
        let project = place.repository("git-project")?;
        fill(&project, effort.times(MEBIBYTES))?;
        let big = repositories.join("big.git");
        git(&project, &["clone", "--quiet", "--bare", ".", path(&big)?])?;
        certify(&directory, HOST)?;
        let port = free_port()?;
        fs::write(directory.join("apache.conf"), configuration(&directory, &port))?;
        give_away(&directory)?;
        let mut apache = as_nobody(APACHE);
        apache.args(["-D", "FOREGROUND", "-f"]).arg(directory.join("apache.conf"));
        let server = Server::at(&mut apache, &[&port], &directory.join("log"))?;
        let scene = Self { place, directory, project, port, _server: server };
        scene.pin()?;
        Ok(scene)
    }

    /// The person's own configuration.
    fn pin(&self) -> Result<()> {
        let (port, ca) = (&self.port, self.directory.join("ca.pem"));
        let text = format!(
            "[[network]]\nhost = \"{HOST}\"\nports = [{port}]\ndial = \"127.0.0.1:{port}\"\n\
             ca_file = \"{}\"\n[git]\npush = [\"refs/heads/loop/*\"]\n",
            ca.display()
        );
        fs::create_dir_all(self.loop_home())?;
        Ok(fs::write(self.loop_home().join("config.toml"), text)?)
    }

    fn loop_home(&self) -> PathBuf {
        self.directory.join("loop")
    }

    /// The line inside, and outside where the name leads to the server.
    fn both(&self, line: &str) -> Result<(Command, Command)> {
        let direct = format!("git -c http.curloptResolve={HOST}:{}:127.0.0.1", self.port);
        let [ours, theirs] = ["git", &direct].map(|git| line.replace("GIT", git));
        let mut inside = self.place.inside(&self.project, &[], &["sh", "-c", &ours])?;
        inside.env("LOOP_HOME", self.loop_home());
        let mut outside = self.place.outside(&self.project, &["sh", "-c", &theirs])?;
        // Outweighs the person's configuration: git-config(1).
        outside.env("GIT_SSL_CAINFO", self.directory.join("ca.pem"));
        Ok((inside, outside))
    }

    fn cloning(&self) -> Result<(Command, Command)> {
        let url = format!("https://{HOST}:{}/git/big.git", self.port);
        self.both(&format!("d=$(mktemp -d) && GIT clone -q {url} $d/c && rm -rf $d"))
    }

    fn pushing(&self) -> Result<(Command, Command)> {
        let url = format!("https://{HOST}:{}/git/site.git", self.port);
        self.both(&format!("GIT push -q {url} HEAD:refs/heads/loop/bench"))
    }

    fn clone_turns(&self, effort: Effort) -> Result<Outcome> {
        let (mut ours, mut direct) = self.cloning()?;
        let turns = Turns { first: &mut ours, second: &mut direct };
        Ok(ratio(turns.times(effort.rounds(ROUNDS))?))
    }

    /// Each into a repository that has nothing yet.
    fn push_turns(&self, effort: Effort) -> Result<Outcome> {
        let (mut ours, mut direct) = self.pushing()?;
        let turns = Turns { first: &mut ours, second: &mut direct };
        let measured = turns.medians(
            |push| {
                self.empty_site()?;
                processes::time(push)
            },
            effort.rounds(ROUNDS),
        );
        Ok(ratio(measured?))
    }

    fn empty_site(&self) -> Result<()> {
        let site = self.directory.join("repositories/site.git");
        if site.exists() {
            fs::remove_dir_all(&site)?;
        }
        git(&self.directory, &["init", "--quiet", "--bare", path(&site)?])?;
        git(&site, &["config", "http.receivepack", "true"])?;
        give_away(&site)
    }

    /// What the control plane of a run holds at most while it clones and while it pushes, over one
    /// that does nothing.
    fn memory(&self) -> Result<(Outcome, Outcome)> {
        let peak = |command: &mut Command| peak_mebibytes(command);
        let idle = peak(&mut self.both("sleep 0.2")?.0)?;
        let clone = peak(&mut self.cloning()?.0)?;
        self.empty_site()?;
        let push = peak(&mut self.pushing()?.0)?;
        let over = |busy: f64| Outcome::Measured {
            figure: busy - idle,
            from: format!("{busy:.1} MiB − {idle:.1} MiB"),
        };
        Ok((over(clone), over(push)))
    }
}

/// Fills a repository with files that can't be compressed.
fn fill(project: &Path, mebibytes: usize) -> Result<()> {
    for file in 0..FILES {
        let size = mebibytes.saturating_mul(1 << 20) / FILES;
        let mut head = program("head");
        head.args(["-c", &size.to_string(), "/dev/urandom"]);
        let content = processes::succeed(head.stdout(Stdio::piped()))?.stdout;
        fs::write(project.join(format!("f{file}")), content)?;
    }
    git(project, &["add", "--all"])?;
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    git(project, &[&author[..], &["commit", "--quiet", "-m", "much"]].concat())
}

fn git(directory: &Path, words: &[&str]) -> Result<()> {
    program::run(program("git").args(words).current_dir(directory))
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Apache with nothing but TLS and Git's own server: git-http-backend(1).
fn configuration(directory: &Path, port: &str) -> String {
    let at = directory.display();
    let modules: String = ["mpm_event", "authz_core", "alias", "cgid", "env", "ssl"]
        .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
        .concat();
    format!(
        "{modules}ServerRoot {at}\nServerName {HOST}\nListen 127.0.0.1:{port}\nPidFile {at}/pid\n\
         ErrorLog {at}/log\nScriptSock {at}/socket\nSSLEngine on\n\
         SSLCertificateFile {at}/origin.pem\nSSLCertificateKeyFile {at}/origin.key\n\
         SetEnv GIT_PROJECT_ROOT {at}/repositories\nSetEnv GIT_HTTP_EXPORT_ALL 1\n\
         ScriptAlias /git/ /usr/lib/git-core/git-http-backend/\n"
    )
}

/// The most memory that a process itself has held, in MiB: VmHWM, proc_pid_status(5).
fn peak_mebibytes(command: &mut Command) -> Result<f64> {
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        let kibibytes = fs::read_to_string(&status).ok().and_then(|text| high_water(&text));
        peak = kibibytes.or(peak);
        std::thread::sleep(LOOK);
    };
    if !ended.success() {
        bail!("`{}` failed: {ended}", program::show(command));
    }
    Ok(peak.context("the process was gone before it was looked at")? / 1024.0)
}

fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_a_process_held_is_read() {
        assert_eq!(high_water("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2048.0));
        assert_eq!(high_water("Name:\tx\n"), None);
        assert!(peak_mebibytes(program("sleep").arg("0.2")).unwrap() > 0.0);
        assert!(peak_mebibytes(&mut program("false")).is_err());
    }
}
