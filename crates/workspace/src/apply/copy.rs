//! Copies whose bytes are the ones that were asked for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};

use names::Digest;

use crate::failpoint;

const BUFFER: usize = 128 << 10;

/// More than this are not waited for one by one, but all that their file system has.
const FEW: usize = 32;

/// Copies `from` into the empty file `to`, keeping holes; false if the bytes are not those of
/// `size` and `digest`, whatever was copied then.
pub(crate) fn copy(mut from: &File, mut to: &File, size: u64, digest: &Digest) -> io::Result<bool> {
    // A clone shares the blocks and can't change any more; not every file system can.
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        let mut cloned = to;
        cloned.seek(SeekFrom::Start(0))?;
        return Ok(read_all(cloned, size, |_| Ok(()))? == Some(*digest));
    }
    from.seek(SeekFrom::Start(0))?;
    let mut end = 0u64;
    let found = read_all(from, size, |bytes| {
        end += bytes.len() as u64;
        if bytes.iter().all(|byte| *byte == 0) {
            to.seek(SeekFrom::Start(end)).map(drop)
        } else {
            to.write_all(bytes)
        }
    })?;
    to.set_len(end)?;
    Ok(found == Some(*digest))
}

/// Reads to the end and digests; none if there are not exactly `size` bytes.
fn read_all(
    mut from: impl Read,
    size: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Option<Digest>> {
    let mut buffer = vec![0; BUFFER];
    let mut digest = Digest::hasher();
    let mut left = size;
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        let Some(rest) = left.checked_sub(bytes.len() as u64) else { return Ok(None) };
        left = rest;
        digest.update(bytes);
        each(bytes)?;
    }
    Ok((left == 0).then(|| digest.finish()))
}

/// New files and directories that must be on the disk before the next thing happens.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    few: Vec<File>,
    /// Once there are many: one descriptor of each file system that has some.
    many: HashMap<u64, File>,
}

impl Unsynced {
    pub(crate) fn add(&mut self, file: File) -> io::Result<()> {
        self.few.push(file);
        if self.few.len() > FEW || !self.many.is_empty() {
            for file in self.few.drain(..) {
                self.many.insert(rustix::fs::fstat(&file)?.st_dev, file);
            }
        }
        Ok(())
    }

    pub(crate) fn sync(self) -> io::Result<()> {
        for file in &self.few {
            file.sync_all()?;
        }
        for file in self.many.values() {
            rustix::fs::syncfs(file)?;
        }
        failpoint::pass();
        Ok(())
    }
}
