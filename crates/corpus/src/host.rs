//! The stand-in for the host: listeners, a process that holds a secret, descriptors on offer.
//!
//! It is `lib/host.py`, started for the cases that ask for it. It writes what reached it to a file,
//! so what an attack got at is known without asking the attack.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{Job, Running};
use crate::scratch::Scratch;

/// How long the stand-in may take to listen everywhere.
const READY: Duration = Duration::from_secs(10);

/// Starts it and waits until it listens; the facts are where.
pub(crate) fn start(scratch: &Scratch) -> io::Result<(Running, BTreeMap<String, String>)> {
    let script = scratch.case().join("host.py");
    let job = Job {
        words: vec!["python3".into(), script.into()],
        directory: scratch.outside(),
        environment: scratch.environment(),
        output: scratch.root().join("host"),
    };
    let running = job.start()?;
    match ready(&scratch.root().join("host.json")) {
        Ok(facts) => Ok((running, facts)),
        Err(error) => {
            let said = running.end()?.tail();
            Err(io::Error::other(format!(
                "the stand-in for the host did not start: {error} {said}"
            )))
        }
    }
}

/// Waits until all that has reached the stand-in is written down.
pub(crate) fn settle(scratch: &Scratch) -> io::Result<()> {
    let mut end = Vec::new();
    let mut stream = UnixStream::connect(scratch.root().join("settle"))?;
    stream.set_read_timeout(Some(READY))?;
    stream.read_to_end(&mut end).map(drop)
}

fn ready(file: &Path) -> io::Result<BTreeMap<String, String>> {
    let deadline = Instant::now() + READY;
    loop {
        match std::fs::read(file) {
            Ok(text) => return serde_json::from_slice(&text).map_err(io::Error::other),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
