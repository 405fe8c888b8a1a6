//! The internet of a case: `lib/internet.py`, around the command.
//!
//! It is a network namespace in which every address leads to servers of the case, so what leaves is
//! seen wherever it goes. It ends after the command, when all that was on its way has arrived.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::scratch::Scratch;

/// How long the last of it may be on its way.
const PATIENCE: Duration = Duration::from_secs(10);

/// What goes in front of the command.
pub(crate) fn words(scratch: &Scratch) -> Vec<OsString> {
    vec!["python3".into(), scratch.case().join("internet.py").into()]
}

/// Waits until all that has arrived is written down: until the servers have ended, who hold a lock
/// while they are there.
pub(crate) fn settle(scratch: &Scratch) -> io::Result<()> {
    let place = scratch.root().join("internet");
    let Ok(serving) = File::open(place.join("serving")) else {
        return Ok(()); // there never was one, and the arm has said why
    };
    let deadline = Instant::now() + PATIENCE;
    while flock(&serving, FlockOperation::NonBlockingLockShared).is_err() {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    place.join("done").metadata().map(drop)
}
