//! Wakes who waits in a poll loop.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Becomes readable when the asks change. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watch(UnixStream);

impl Watch {
    /// Takes the news in; it is readable again at the next change.
    pub fn clear(&self) {
        let mut buffer = [0; 64];
        // Nothing to read is what is wanted; a closed end stays readable and says that it is over.
        while matches!((&self.0).read(&mut buffer), Ok(count) if count > 0) {}
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Everybody who watches.
#[derive(Debug, Default)]
pub(super) struct Watchers(Vec<UnixStream>);

impl Watchers {
    /// Somebody more, who is woken at once.
    pub(super) fn add(&mut self) -> io::Result<Watch> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        (&ours).write_all(b"!")?;
        self.0.push(ours);
        Ok(Watch(theirs))
    }

    /// Wakes everybody; who is gone is forgotten.
    pub(super) fn wake(&mut self) {
        self.0.retain(|watcher| match { watcher }.write(b"!") {
            Ok(_) => true,
            // Full: it is readable already.
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        });
    }
}
