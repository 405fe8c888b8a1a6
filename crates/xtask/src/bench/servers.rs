//! Servers that benchmarks measure against, and what they need: programs, ports, certificates.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::processes;
use crate::program::{self, program};

/// Whom a server runs as if root starts it.
const NOBODY: u32 = 65534;
/// How long a server may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// Installs the package that has these programs. A peer is no need of any test, so only a benchmark
/// does.
pub(super) fn install(programs: &[&str], package: &str) -> Result<()> {
    if programs.iter().all(|file| Path::new(file).exists()) {
        return Ok(());
    }
    if !program::is_root() {
        bail!("install what is missing, then try again: sudo apt-get install {package}");
    }
    let mut install = program("apt-get");
    install.args(["-qq", "install", "--yes", "--no-install-recommends", package]);
    // A machine that is starting starts no service for a package: it is wanted as a program only.
    program::run(install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1"))
}

/// A server, which ends with the benchmark, and its children with it.
pub(super) struct Server(Child);

impl Server {
    /// Starts one that writes its port.
    pub(super) fn with_port(command: &mut Command) -> Result<(Self, String)> {
        let mut server = Self(command.stdout(Stdio::piped()).spawn()?);
        let output = server.0.stdout.take().context("a pipe was asked for")?;
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port)?;
        Ok((server, port.trim().to_owned()))
    }

    /// Starts one that is told its ports, and waits until it listens at them.
    pub(super) fn at(command: &mut Command, ports: &[&str], log: &Path) -> Result<Self> {
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        for port in ports {
            await_listener(port).with_context(|| fs::read_to_string(log).unwrap_or_default())?;
        }
        Ok(server)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked to end, it takes its children along. It may have ended by itself, which the rows
        // have shown.
        let _ = program("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        let deadline = Instant::now() + PATIENCE;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command that runs as nobody if root starts it.
pub(super) fn as_nobody(name: &str) -> Command {
    if !program::is_root() {
        return program(name);
    }
    let mut command = program("setpriv");
    let id = NOBODY.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", name]);
    command
}

/// Gives a directory to whom servers run as.
pub(super) fn give_away(directory: &Path) -> Result<()> {
    if !program::is_root() {
        return Ok(());
    }
    chown(directory, Some(NOBODY), Some(NOBODY))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give_away(&entry.path())?;
        } else {
            chown(entry.path(), Some(NOBODY), Some(NOBODY))?;
        }
    }
    Ok(())
}

/// Makes an authority, `ca.pem` and `ca.key`, and the certificate of an origin of this name,
/// `origin.pem` and `origin.key`.
pub(super) fn certify(directory: &Path, name: &str) -> Result<()> {
    let openssl = |words: &[&str]| {
        processes::succeed(program("openssl").args(words).current_dir(directory)).map(drop)
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let made = ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=bench"];
    openssl(&[&made[..], &key].concat())?;
    let asked = ["req", "-keyout", "origin.key", "-out", "origin.request"];
    openssl(&[&asked[..], &["-subj", "/CN=origin"], &key].concat())?;
    fs::write(directory.join("names"), format!("subjectAltName=DNS:{name}\n"))?;
    let signed = ["x509", "-req", "-in", "origin.request", "-out", "origin.pem", "-extfile"];
    let by = ["names", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "1"];
    openssl(&[&signed[..], &by].concat())
}

/// A port that nobody listens at now.
pub(super) fn free_port() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string())
}

fn await_listener(port: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        if Instant::now() > deadline {
            bail!("nobody listens at {port}");
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
