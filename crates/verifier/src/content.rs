//! The content of a file, read into memory at once.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::ops::Deref;
use std::path::Path;

use memmap2::{Advice, MmapMut};

/// The content of a file.
///
/// A long one lies in memory that comes in large pages where the kernel has them: with small ones,
/// the memory of a ledger takes longer to get than the ledger takes to read. It is a copy, so nobody
/// who changes the file changes what was read.
#[derive(Debug)]
pub struct Content {
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Short(Vec<u8>),
    Long { memory: MmapMut, length: usize },
}

/// A large page, in bytes, as on most machines.
const PAGE: usize = 2 << 20;

impl Content {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        // A pipe has no size.
        let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        if size >= PAGE
            && let Some(long) = long(&mut file, size)?
        {
            return Ok(Self { bytes: long });
        }
        let mut all = Vec::new();
        file.read_to_end(&mut all)?;
        Ok(Self { bytes: Bytes::Short(all) })
    }
}

/// Reads a file of this size; none if it outgrows the memory meanwhile, or there is no such memory.
fn long(file: &mut File, size: usize) -> io::Result<Option<Bytes>> {
    // There is room for one byte more, so that a file that grew is told from one that didn't.
    let Some(room) = size.checked_add(1).and_then(|size| size.checked_next_multiple_of(PAGE))
    else {
        return Ok(None);
    };
    let Ok(mut memory) = MmapMut::map_anon(room) else { return Ok(None) };
    // It is only slower without.
    drop(memory.advise(Advice::HugePage));
    let mut length = 0;
    while let Some(free) = memory.get_mut(length..).filter(|free| !free.is_empty()) {
        match file.read(free) {
            Ok(0) => return Ok(Some(Bytes::Long { memory, length })),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    file.rewind()?;
    Ok(None)
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Short(all) => all,
            Bytes::Long { memory, length } => memory.get(..*length).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_whatever_its_length() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE, 5 * PAGE / 2] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let content = Content::read(&path).unwrap();
            assert!(*content == bytes, "{length}");
            assert_eq!(matches!(content.bytes, Bytes::Long { .. }), length >= PAGE, "{length}");
        }
    }

    #[test]
    fn a_file_that_grows_meanwhile_is_read_from_its_start() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, vec![7; 3 * PAGE]).unwrap();
        let mut file = File::open(&path).unwrap();
        assert!(long(&mut file, PAGE).unwrap().is_none());
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 3 * PAGE);
    }

    #[test]
    fn a_file_without_a_size_is_read_too() {
        assert!(!Content::read(Path::new("/proc/self/status")).unwrap().is_empty());
        assert!(Content::read(Path::new("/proc/self")).is_err());
        assert!(long(&mut File::open("/proc/self/status").unwrap(), usize::MAX).unwrap().is_none());
    }
}
