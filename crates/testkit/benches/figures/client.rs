//! A client of models, given one task with one tool call.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use testkit::{ModelServer, Peer, Recorded, World};

use crate::memory::Peak;

/// After this long a client is ended: a bound for hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(2);
const NOT_INSTALLED: &str = "it is not installed: `cargo xtask peers`";
const TASK: &str = "leave a trace";
const COMMAND: &str = "echo left-behind";

/// Who is measured.
enum Who {
    Loop,
    Other(Peer),
}

/// A client, with a home and a project of its own.
pub(crate) struct Client {
    who: Who,
    world: World,
    project: PathBuf,
}

/// What was measured of one task.
pub(crate) struct Once {
    pub(crate) start_ms: f64,
    pub(crate) request_kb: f64,
    pub(crate) peak_mb: f64,
}

impl Client {
    /// Loop and its peers.
    pub(crate) fn all() -> Vec<Self> {
        let peers = [Peer::Claude, Peer::Codex, Peer::OpenCode].map(Who::Other);
        std::iter::once(Who::Loop).chain(peers).map(Self::new).collect()
    }

    fn new(who: Who) -> Self {
        let world = World::new();
        let project = world.repository("project").path().to_owned();
        Self { who, world, project }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.who {
            Who::Loop => "loop",
            Who::Other(peer) => peer.name(),
        }
    }

    /// The task twice: for its times, and for its memory, since to watch that takes time.
    ///
    /// # Errors
    /// Why it can't be run.
    pub(crate) fn once(&self) -> Result<Once, String> {
        let (began, first, _) = self.task(false)?;
        let (_, _, peak) = self.task(true)?;
        let start = first.at.saturating_duration_since(began);
        let peak_mb = peak.map_or(f64::NAN, |peak| peak.megabytes());
        Ok(Once {
            start_ms: start.as_secs_f64() * 1e3,
            request_kb: first.bytes as f64 / 1e3,
            peak_mb,
        })
    }

    /// When it began, and its first request that offers tools.
    fn task(&self, watched: bool) -> Result<(Instant, Recorded, Option<Peak>), String> {
        let server = ModelServer::start(&self.script());
        let mut command = self.command(&server.url())?;
        let log = self.world.path().join("said");
        let output = File::create(&log).map_err(said)?;
        command.stdin(Stdio::null()).stderr(output.try_clone().map_err(said)?).stdout(output);
        let began = Instant::now();
        let mut child = command.spawn().map_err(said)?;
        let mut peak = watched.then(|| Peak::of(&child));
        let status = wait(&mut child, || peak.iter_mut().for_each(Peak::look));
        let status = status.ok_or("it did not end in time")?;
        server.verdict()?;
        if !status.success() || !server.is_at_its_end() {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
            return Err(format!("its task is not done ({status}); it said: {last}"));
        }
        let first = server.asked().into_iter().find(offers_tools).ok_or("it offered no tools")?;
        Ok((began, first, peak))
    }

    fn command(&self, url: &str) -> Result<Command, String> {
        match self.who {
            Who::Loop => {
                let model = format!("openai-compatible:{url}/v1#scripted");
                let words = ["run", "--model", &model, "--", TASK];
                Ok(self.world.run_loop(&self.project, &words).into_command())
            }
            Who::Other(peer) if peer.installed().is_empty() => Err(NOT_INSTALLED.to_owned()),
            Who::Other(peer) => {
                let mut command = peer.command(self.world.home(), url, TASK);
                command.current_dir(&self.project);
                Ok(command)
            }
        }
    }

    /// One call of its shell tool, in its own words, and the end.
    fn script(&self) -> String {
        let (tool, argument) = match self.who {
            Who::Loop | Who::Other(Peer::OpenCode) => ("bash", "command"),
            Who::Other(Peer::Claude) => ("Bash", "command"),
            Who::Other(Peer::Codex) => ("exec_command", "cmd"),
        };
        let more = match self.who {
            Who::Loop | Who::Other(Peer::Codex) => "",
            Who::Other(_) => ", description = \"Leave a trace\"",
        };
        format!(
            "name = \"scripted\"\n\
             [[aside]]\nwhen = {{ any_tools = false }}\ntext = \"A trace\"\n\
             [[turn]]\ncall = [{{ name = \"{tool}\", arguments = {{ {argument} = \"{COMMAND}\"{more} }} }}]\n\
             [[turn]]\nexpect = {{ results = 1, last = \"left-behind\" }}\ntext = \"Done.\"\n"
        )
    }

    /// Megabytes on disk, and of what.
    ///
    /// # Errors
    /// Why they can't be told.
    pub(crate) fn installed(&self) -> Result<(f64, &'static str), String> {
        let (places, what) = match self.who {
            Who::Loop => (vec![testkit::loop_program()], "one file"),
            Who::Other(peer) => (peer.installed(), "its packages of npm, without Node.js"),
        };
        if places.is_empty() {
            return Err(NOT_INSTALLED.to_owned());
        }
        let mut sizes = BTreeMap::new();
        places.iter().try_for_each(|place| weigh(place, &mut sizes)).map_err(said)?;
        Ok((sizes.values().sum::<u64>() as f64 / 1e6, what))
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn offers_tools(asked: &Recorded) -> bool {
    let tools = asked.body.get("tools").and_then(|tools| tools.as_array());
    tools.is_some_and(|tools| !tools.is_empty())
}

/// The length of every file, each once however many names it has.
fn weigh(place: &Path, sizes: &mut BTreeMap<u64, u64>) -> io::Result<()> {
    let metadata = place.symlink_metadata()?;
    if metadata.is_file() {
        sizes.insert(metadata.ino(), metadata.len());
    } else if metadata.is_dir() {
        for entry in std::fs::read_dir(place)? {
            weigh(&entry?.path(), sizes)?;
        }
    }
    Ok(())
}

/// Waits for a process and looks at it meanwhile; one that takes too long is ended.
pub(crate) fn wait(child: &mut Child, mut look: impl FnMut()) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if began.elapsed() > PATIENCE {
            // It may just have ended.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        look();
        std::thread::sleep(PAUSE);
    }
}
