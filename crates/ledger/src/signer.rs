//! Signs heads of a ledger while it grows, on a thread of its own: a record is acknowledged without
//! waiting for a signature. A head is signed only when all of it is on disk, so no crash makes one
//! accuse the ledger that it left.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use names::{Clock, RunId};
use rustix::fs::OFlags;

use crate::heads::SignedHead;
use crate::keys::SigningKey;
use crate::line::Head;
use crate::queue::Queue;

pub(crate) struct Signer {
    pub(crate) run: RunId,
    pub(crate) key: SigningKey,
    pub(crate) path: PathBuf,
    pub(crate) clock: Clock,
}

impl Signer {
    /// Signs what is owed until the ledger ends, or the file can't be written.
    pub(crate) fn sign_all(self, queue: &Queue) {
        let mut file = None;
        while let Some(head) = queue.owed() {
            if let Err(error) = self.sign(head, &mut file) {
                return queue.give_up_signing(error);
            }
        }
    }

    fn sign(&self, head: Head, file: &mut Option<File>) -> io::Result<()> {
        let signed = SignedHead::sign(&self.run, head, (self.clock)(), &self.key);
        let line = signed.and_then(|signed| signed.to_line()).map_err(io::Error::other)?;
        let file = match file {
            Some(file) => file,
            None => file.insert(self.open()?),
        };
        file.write_all(&line)
    }

    /// The file, without half a line at its end, which a crash can have left.
    fn open(&self) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)?;
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
        }
        Ok(file)
    }
}
