//! What a server says there is to push to: the references of its repository. No I/O.
//!
//! Of each only a digest of the name is kept, to tell a name from one that differs in case.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use names::RefName;

use super::pkt::{self, Pkt};
use super::push::folded;

/// Most references that are kept; 16 bytes each.
const MOST_REFS: usize = 1_000_000;

/// The references of a repository, told apart by whoever folds their names.
#[derive(Debug, Clone, Default)]
pub struct Advertised {
    hasher: RandomState,
    /// By the folded name, the name; none if several fold to it.
    names: HashMap<u64, Option<u64>>,
}

impl Advertised {
    /// Whether there is a reference whose name differs from this one, and only in what some servers
    /// take for no difference.
    #[must_use]
    pub fn has_twin(&self, reference: &RefName) -> bool {
        let own = self.hasher.hash_one(reference.as_str());
        let found = self.names.get(&self.hasher.hash_one(folded(reference)));
        found.is_some_and(|name| *name != Some(own))
    }

    fn add(&mut self, reference: &RefName) {
        let own = self.hasher.hash_one(reference.as_str());
        let place = self.names.entry(self.hasher.hash_one(folded(reference)));
        let name = place.or_insert(Some(own));
        *name = name.filter(|name| *name == own);
    }
}

/// Reads an answer as it comes.
#[derive(Debug, Default)]
pub struct AdvertReader {
    bytes: Vec<u8>,
    found: Advertised,
    is_broken: bool,
    /// Flush packets: one after the service's name, one at the end.
    flushes: u32,
}

impl AdvertReader {
    /// Reads some more.
    pub fn read(&mut self, bytes: &[u8]) {
        if self.is_broken {
            return;
        }
        self.bytes.extend(bytes);
        let mut taken = 0;
        loop {
            match pkt::read(self.bytes.get(taken..).unwrap_or_default()) {
                Ok(None) => break,
                Ok(Some((packet, length))) => {
                    match packet {
                        Pkt::Flush => self.flushes += 1,
                        Pkt::Data(line) => note(&mut self.found, line),
                    }
                    taken += length;
                }
                Err(_) => self.is_broken = true,
            }
            if self.is_broken || self.found.names.len() > MOST_REFS {
                self.is_broken = true;
                self.bytes = Vec::new();
                return;
            }
        }
        self.bytes.drain(..taken);
    }

    /// What there is, if all of it was read.
    #[must_use]
    pub fn finish(self) -> Option<Advertised> {
        let is_whole = !self.is_broken && self.bytes.is_empty() && self.flushes == 2;
        is_whole.then_some(self.found)
    }
}

/// `ID SP NAME`, with capabilities after a NUL in the first.
fn note(found: &mut Advertised, line: &[u8]) {
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut parts = line.splitn(2, |byte| *byte == b' ');
    let name = parts.nth(1).and_then(|name| RefName::from_bytes(name).ok());
    name.iter().for_each(|name| found.add(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advertised(lines: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pkt::write(&mut bytes, b"# service=git-receive-pack\n");
        pkt::flush(&mut bytes);
        lines.iter().for_each(|line| pkt::write(&mut bytes, line.as_bytes()));
        pkt::flush(&mut bytes);
        bytes
    }

    #[test]
    fn twins_are_told_however_the_bytes_come() {
        let id = "1".repeat(40);
        let lines = [
            &*format!("{id} refs/heads/main\0report-status delete-refs"),
            &format!("{id} refs/heads/Both\n"),
            &format!("{id} refs/heads/both\n"),
        ];
        let bytes = advertised(&lines);
        for step in [1, 7, bytes.len()] {
            let mut reader = AdvertReader::default();
            bytes.chunks(step).for_each(|piece| reader.read(piece));
            let found = reader.finish().unwrap();
            let twin = |name: &str| found.has_twin(&RefName::parse(name).unwrap());
            assert!(!twin("refs/heads/main") && !twin("refs/heads/new"));
            assert!(twin("refs/heads/MAIN") && twin("refs/heads/Main"));
            assert!(twin("refs/heads/both"), "it is there in two cases");
        }
    }

    #[test]
    fn what_is_no_list_is_none() {
        for bytes in [&b"<html>"[..], b"", b"0000", b"zzzz", &advertised(&[])[..20]] {
            let mut reader = AdvertReader::default();
            reader.read(bytes);
            assert!(reader.finish().is_none(), "{bytes:?}");
        }
    }
}
