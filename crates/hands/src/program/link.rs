//! What a worker and the program that started it say to each other, over a socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::proposal::{JobAct, Outcome};
use crate::wire::{Decoder, LARGEST_REPORT, frame};

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// This was printed.
    Progress(String),
    /// This came of it, or of what was wanted of a job.
    Done(Outcome),
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// Attend to the job.
    Attend(JobAct),
    /// Nobody waits any more.
    Cancel,
}

/// The worker's end.
#[derive(Debug)]
pub(crate) struct Link {
    socket: OwnedFd,
    told: Decoder,
    broken: bool,
}

impl Link {
    /// A worker's end of a connected socket.
    pub(super) fn over(socket: OwnedFd) -> Self {
        Self { socket, told: Decoder::new(LARGEST_REPORT), broken: false }
    }

    /// What to poll before [`Link::listen`].
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.socket
    }

    /// Says something. That nobody is there shows in [`Link::told`].
    pub(crate) fn say(&mut self, said: Said) {
        let sent = frame(&said, LARGEST_REPORT).map_err(io::Error::other);
        let sent = sent.and_then(|bytes| write_all(&self.socket, &bytes));
        self.broken |= sent.is_err();
    }

    /// What was told and not taken yet.
    pub(crate) fn told(&mut self) -> io::Result<Option<Told>> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.told.take().map_err(io::Error::other)
    }

    /// Reads what there is; waits if there is nothing.
    pub(crate) fn listen(&mut self) -> io::Result<()> {
        read_into(&self.socket, &mut self.told)
    }
}

/// Reads once.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] when the other end is closed.
fn read_into(from: &OwnedFd, decoder: &mut Decoder) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            decoder.push(buffer.get(..count).unwrap_or_default());
            Ok(())
        }
    }
}

/// Reads once and takes all the messages that are whole.
pub(super) fn hear<T: DeserializeOwned>(
    from: &OwnedFd,
    decoder: &mut Decoder,
) -> io::Result<Vec<T>> {
    read_into(from, decoder)?;
    let messages = std::iter::from_fn(|| decoder.take().transpose());
    messages.collect::<Result<_, _>>().map_err(io::Error::other)
}

/// Writes all of it, waiting for whoever reads.
pub(super) fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let mut sources = [PollFd::from_borrowed_fd(to.as_fd(), PollFlags::OUT)];
                rustix::io::retry_on_intr(|| rustix::event::poll(&mut sources, None))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
