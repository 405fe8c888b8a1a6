//! Rows about the network gate against squid: tunnels that stay closed, and HTTPS that is opened.
//!
//! Both proxies carry the same bytes from the same origin on loopback, in turns. Loop's is reached
//! from inside a sandbox, as always, and records every connection durably; squid logs nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::processes::{self, Place, Turns};
use super::servers::{Server, as_nobody, certify, free_port, give_away, install};
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, program};

/// Both ends of a tunnel.
const ENDS: &str = include_str!("network.c");
const HTTPS_ORIGIN: &str = include_str!("network.py");
const SQUID: &str = "/usr/sbin/squid";
/// Writes squid's certificates.
const CERTGEN: &str = "/usr/lib/squid/security_file_certgen";
const CLOSED: &str = "closed.example.com";
const OPENED: &str = "opened.example.com";

/// MiB that pass in a round.
const MEBIBYTES: usize = 1024;
/// The same, where TLS is opened.
const OPENED_MEBIBYTES: usize = 256;
/// New tunnels in a round.
const FRESH: usize = 500;
/// The same, where 64 clients ask at once.
const FRESH_OF_MANY: usize = 6400;
const ROUNDS: usize = 5;

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    install(&[SQUID, CERTGEN], "squid-openssl")?;
    let scene = Scene::new(place)?;
    let mebibytes = effort.times(MEBIBYTES).to_string();
    let opened = effort.times(OPENED_MEBIBYTES).to_string();
    let fresh = effort.times(FRESH).to_string();
    let load = |tunnels| scene.tunnels(&["load", tunnels, &mebibytes], effort);
    let crowd = effort.times(FRESH_OF_MANY).to_string();
    let alone = |part| scene.tunnels(&["fresh", &fresh, part, "1"], effort);
    let among = |part| scene.tunnels(&["fresh", &crowd, part, "64"], effort);
    let row = |what: &str, bar, result| Row { what: what.to_owned(), bar, unit: "×", result };
    Ok(vec![
        row("throughput of a tunnel, against squid", Bar::AtLeast(1.0), load("1")?),
        row("throughput of 64 tunnels, against squid", Bar::AtLeast(1.0), load("64")?),
        row("time of a new tunnel, median, against squid", Bar::AtMost(1.0), alone("50")?),
        row("time of a new tunnel, p99, against squid", Bar::AtMost(1.0), alone("99")?),
        row("time of a new tunnel of 64, median, against squid", Bar::AtMost(1.0), among("50")?),
        row("time of a new tunnel of 64, p99, against squid", Bar::AtMost(1.0), among("99")?),
        row(
            "throughput of HTTPS that is opened, against squid's ssl-bump",
            Bar::AtLeast(0.8),
            scene.opened(&opened, effort)?,
        ),
    ])
}

/// The origins, squid, and a person who has pinned two names to the origins.
struct Scene<'a> {
    place: &'a Place,
    project: PathBuf,
    directory: PathBuf,
    ends: String,
    https: String,
    closed_proxy: String,
    opened_proxy: String,
    _servers: [Server; 3],
}

impl<'a> Scene<'a> {
    fn new(place: &'a Place) -> Result<Self> {
        let directory = place.path().join("network");
        fs::create_dir(&directory)?;
        // Squid reads it as somebody else.
        for path in [place.path(), &directory] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        let project = place.repository("network-project")?;
        compile(&project)?;
        certify(&directory, OPENED)?;
        let (ends_server, ends) =
            Server::with_port(program(project.join("network")).arg("origin"))?;
        let mut origin = program("python3");
        origin.args(["-c", HTTPS_ORIGIN]).args(["origin.pem", "origin.key"]);
        let (https_server, https) = Server::with_port(origin.current_dir(&directory))?;
        let [closed_proxy, opened_proxy] = [free_port()?, free_port()?];
        let squid = start_squid(&directory, &closed_proxy, &opened_proxy)?;
        let servers = [ends_server, https_server, squid];
        let scene = Self {
            place,
            project,
            directory,
            ends,
            https,
            closed_proxy,
            opened_proxy,
            _servers: servers,
        };
        scene.pin()?;
        Ok(scene)
    }

    /// The person's own configuration.
    fn pin(&self) -> Result<()> {
        let ca = self.directory.join("ca.pem");
        let grant = |host: &str, port: &str, more: &str| {
            format!(
                "[[network]]\nhost = \"{host}\"\nports = [{port}]\ndial = \"127.0.0.1:{port}\"\n{more}\n"
            )
        };
        let opened = format!("methods = [\"GET\"]\nca_file = \"{}\"\n", ca.display());
        let text = grant(CLOSED, &self.ends, "") + &grant(OPENED, &self.https, &opened);
        fs::create_dir_all(self.loop_home())?;
        Ok(fs::write(self.loop_home().join("config.toml"), text)?)
    }

    /// Not where other rows have theirs: with a grant, every run has a gate.
    fn loop_home(&self) -> PathBuf {
        self.directory.join("loop")
    }

    /// A client inside, and the same one outside.
    fn turns(&self, inside: &[&str], outside: &[&str], effort: Effort) -> Result<Outcome> {
        let mut ours = self.place.inside(&self.project, &[], inside)?;
        ours.env("LOOP_HOME", self.loop_home());
        let mut peers = self.place.outside(&self.project, outside)?;
        let turns = Turns { first: &mut ours, second: &mut peers };
        let (ours, peers) = turns.medians(figure, effort.rounds(ROUNDS))?;
        Ok(Outcome::Measured { figure: ours / peers, from: format!("{ours:.0} / {peers:.0}") })
    }

    /// Tunnels that stay closed; the figure is what the client writes.
    fn tunnels(&self, what: &[&str], effort: Effort) -> Result<Outcome> {
        let (mode, rest) = what.split_first().context("a mode is missing")?;
        let target = format!("{CLOSED}:{}", self.ends);
        let line = |port, address| {
            [&["./network", mode, port, address, target.as_str()][..], rest].concat()
        };
        self.turns(&line("3128", "127.0.0.53"), &line(&self.closed_proxy, "127.0.0.1"), effort)
    }

    /// HTTPS that the proxy opens, as curl sees it, in bytes a second.
    fn opened(&self, mebibytes: &str, effort: Effort) -> Result<Outcome> {
        let url = format!("https://{OPENED}:{}/{mebibytes}", self.https);
        let curl = ["curl", "-sSf", "-o", "/dev/null", "-w", "%{speed_download}", &url];
        let ours = [&curl[..], &["-x", "http://127.0.0.53:3128"]].concat();
        let proxy = format!("http://127.0.0.1:{}", self.opened_proxy);
        let ca = self.directory.join("ca.pem");
        let ca = ca.to_str().context("the path of the certificate is not UTF-8")?;
        self.turns(&ours, &[&curl[..], &["-x", &proxy, "--cacert", ca]].concat(), effort)
    }
}

/// The number that a client writes.
fn figure(command: &mut Command) -> Result<f64> {
    let output = processes::succeed(command.stdout(Stdio::piped()))?;
    let output = String::from_utf8_lossy(&output.stdout);
    let number = output.trim();
    number.parse().with_context(|| format!("{number:?} is no figure"))
}

fn compile(project: &Path) -> Result<()> {
    let source = project.join("network.c");
    fs::write(&source, ENDS)?;
    let mut gcc = program("gcc");
    gcc.args(["-O2", "-static", "-pthread", "-o"]).arg(project.join("network")).arg(&source);
    program::run(&mut gcc)
}

/// Squid with two doors: one passes tunnels on, the other opens their TLS.
fn start_squid(directory: &Path, closed: &str, opened: &str) -> Result<Server> {
    let own = directory.join("squid");
    fs::create_dir(&own)?;
    let both = fs::read_to_string(directory.join("ca.pem"))?
        + &fs::read_to_string(directory.join("ca.key"))?;
    fs::write(own.join("ca.pem"), both)?;
    fs::write(own.join("hosts"), format!("127.0.0.1 {CLOSED} {OPENED}\n"))?;
    let at = own.display();
    let ca = directory.join("ca.pem");
    let text = format!(
        "http_port 127.0.0.1:{closed}\n\
         http_port 127.0.0.1:{opened} ssl-bump generate-host-certificates=on tls-cert={at}/ca.pem\n\
         sslcrtd_program {CERTGEN} -s {at}/certificates -M 4MB\n\
         tls_outgoing_options cafile={}\n\
         ssl_bump bump all\nhttp_access allow all\ncache deny all\nhosts_file {at}/hosts\n\
         access_log none\ncache_log {at}/log\ncache_store_log none\npid_filename none\n\
         coredump_dir {at}\nvisible_hostname bench\nshutdown_lifetime 0 seconds\n\
         pinger_enable off\nmax_filedescriptors 4096\n",
        ca.display()
    );
    fs::write(own.join("squid.conf"), text)?;
    let mut certificates = program(CERTGEN);
    certificates.args(["-c", "-s"]).arg(own.join("certificates")).args(["-M", "4MB"]);
    processes::succeed(&mut certificates)?;
    give_away(&own)?;
    let mut squid = as_nobody(SQUID);
    squid.args(["-N", "-f"]).arg(own.join("squid.conf")).current_dir(&own);
    Server::at(&mut squid, &[closed, opened], &own.join("log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_tunnel_work_without_a_proxy_between_them() {
        let directory = tempfile::tempdir().unwrap();
        compile(directory.path()).unwrap();
        let at = directory.path().join("network");
        let (_origin, port) = Server::with_port(program(&at).arg("origin")).unwrap();
        let mut asked = program(&at);
        // An origin is no proxy: it takes "CONNECT…" for a number of bytes, which is none.
        asked.args(["load", &port, "127.0.0.1", "x:1", "1", "1"]);
        assert!(figure(&mut asked).is_err());
        assert!(figure(program("echo").arg("12.5")).unwrap() > 12.0);
    }
}
