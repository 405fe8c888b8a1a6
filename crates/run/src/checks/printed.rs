//! What a check printed: all of it in a file, its digest, and as much of it as anybody will read.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use names::Digest;

/// Most that is kept of one stream, in bytes.
const KEPT: u64 = 4 << 20;
/// How much is read at once.
const BUFFER: usize = 64 << 10;

/// One stream of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// Of everything.
    pub(super) digest: Digest,
    /// The text, or its beginning and its end, each in whole lines where it has any.
    pub(super) kept: Vec<u8>,
    /// Whether something between the two is missing.
    pub(super) cut: bool,
}

impl Printed {
    /// Reads a file from its beginning.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(super) fn read(file: &mut File) -> io::Result<Self> {
        Self::keeping(file, KEPT)
    }

    fn keeping(file: &mut File, most: u64) -> io::Result<Self> {
        let (digest, size) = digest(file)?;
        if size <= most {
            return Ok(Self { digest, kept: part(file, 0, size)?, cut: false });
        }
        let half = most / 2;
        let (head, tail) = (part(file, 0, half)?, part(file, size.saturating_sub(half), half)?);
        Ok(Self { digest, kept: [whole_head(&head), whole_tail(&tail)].concat(), cut: true })
    }
}

fn digest(file: &mut File) -> io::Result<(Digest, u64)> {
    file.rewind()?;
    let (mut digest, mut size) = (Digest::hasher(), 0);
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        digest.update(bytes);
        size += bytes.len() as u64;
    }
    Ok((digest.finish(), size))
}

fn part(file: &mut File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Up to the last end of a line.
fn whole_head(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    end.and_then(|end| bytes.get(..=end)).unwrap_or(bytes)
}

/// From behind the first end of a line.
fn whole_tail(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.and_then(|end| bytes.get(end.saturating_add(1)..)).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(text: &[u8], most: u64) -> Printed {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let printed = Printed::keeping(&mut file, most).unwrap();
        assert_eq!(printed.digest, Digest::of(text));
        printed
    }

    #[test]
    fn short_output_is_kept_whole() {
        for text in [b"".as_slice(), b"one\ntwo", b"\xff\0"] {
            let Printed { kept, cut, .. } = read(text, 7);
            assert_eq!((kept.as_slice(), cut), (text, false));
        }
    }

    #[test]
    fn of_long_output_both_ends_are_kept_in_whole_lines() {
        let Printed { kept, cut, .. } = read(b"one\ntwo\nthree\nfour\nfive\n", 12);
        assert_eq!((kept.as_slice(), cut), (b"one\nfive\n".as_slice(), true));
        let Printed { kept, .. } = read(b"0123456789", 4);
        assert_eq!(kept, b"0189");
    }
}
