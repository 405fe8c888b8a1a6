//! The bytes of one file, read once: digest, length, and the text if it is one.

use std::io::{self, Read};

use names::{Digest, is_invisible};

/// Largest file that is shown and counted line by line, in bytes.
pub(crate) const TEXT_MAX: usize = 8 << 20;

/// Small enough that the allocator does not ask the kernel for each file anew.
const BUFFER: usize = 64 << 10;

/// What one pass over a file found.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pub(crate) digest: Digest,
    pub(crate) text: Text,
}

/// Can it be shown line by line?
#[derive(Debug)]
pub(crate) enum Text {
    /// Yes: these are its bytes.
    Whole(Vec<u8>),
    /// No: it is text, but too long.
    Long {
        /// Has it a character that shows nothing or turns the writing direction?
        invisible: bool,
    },
    /// No: it has a NUL byte.
    Binary,
}

/// Reads to the end, or until more than `limit` bytes were read: then none.
pub(crate) fn scan(mut from: impl Read, limit: u64) -> io::Result<Option<Content>> {
    let mut pass = Pass::default();
    let mut digest = Digest::hasher();
    let mut size = 0u64;
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        size = size.saturating_add(bytes.len() as u64);
        if size > limit {
            return Ok(None);
        }
        digest.update(bytes);
        pass.take(bytes);
    }
    Ok(Some(Content { size, digest: digest.finish(), text: pass.finish() }))
}

/// Collects text until it turns out to be none, or to be too long.
#[derive(Default)]
struct Pass {
    kept: Vec<u8>,
    long: bool,
    binary: bool,
    invisible: bool,
}

impl Pass {
    fn take(&mut self, bytes: &[u8]) {
        if self.binary {
            return;
        }
        if bytes.contains(&0) {
            self.binary = true;
            self.kept = Vec::new();
            return;
        }
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > TEXT_MAX {
            self.long = true;
        }
        if self.long {
            self.look_through();
        }
    }

    /// Looks at what was kept and drops it, but for a character that may be cut in two.
    fn look_through(&mut self) {
        self.invisible = self.invisible || has_invisible(&self.kept);
        let cut = self.kept.len().saturating_sub(3);
        self.kept.drain(..cut);
    }

    fn finish(self) -> Text {
        match self {
            Self { binary: true, .. } => Text::Binary,
            Self { long: true, invisible, .. } => Text::Long { invisible },
            Self { kept, .. } => Text::Whole(kept),
        }
    }
}

/// Is there a character that shows nothing, or that turns the writing direction?
///
/// Two uses of such characters are ordinary and not meant: a byte order mark at the very start,
/// and joiners next to a character outside ASCII (emoji, Persian, Indic scripts).
pub(crate) fn has_invisible(bytes: &[u8]) -> bool {
    if bytes.is_ascii() {
        return false;
    }
    bytes.utf8_chunks().any(|chunk| {
        let mut before = None;
        chunk.valid().chars().any(|c| {
            let joins = matches!(c, '\u{200c}' | '\u{200d}') && before.is_some_and(joinable);
            before = Some(c);
            is_invisible(c) && !joins
        })
    })
}

fn joinable(c: char) -> bool {
    !c.is_ascii() && !is_invisible(c)
}

/// The text without a byte order mark at its start.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(bytes: &[u8]) -> Content {
        scan(bytes, u64::MAX).unwrap().unwrap()
    }

    #[test]
    fn kinds_of_text() {
        assert!(matches!(scanned(b"a\nb\n").text, Text::Whole(text) if text == b"a\nb\n"));
        assert!(matches!(scanned(b"a\0b").text, Text::Binary));
        let mut long = vec![b'a'; TEXT_MAX + 1];
        assert!(matches!(scanned(&long).text, Text::Long { invisible: false }));
        long.extend_from_slice("\u{202e}".as_bytes());
        assert!(matches!(scanned(&long).text, Text::Long { invisible: true }));
        long.push(0);
        assert!(matches!(scanned(&long).text, Text::Binary));
        assert_eq!(scanned(&long).digest, Digest::of(&long));
        assert_eq!(scanned(&long).size, long.len() as u64);
    }

    #[test]
    fn a_character_across_two_reads_is_seen() {
        let mut long = vec![b'a'; 2 * TEXT_MAX];
        let mark = "\u{e0041}".as_bytes();
        let cut = 200 * BUFFER - 2;
        long.splice(cut..cut + mark.len(), mark.iter().copied());
        assert!(matches!(scanned(&long).text, Text::Long { invisible: true }));
    }

    #[test]
    fn a_limit_is_a_limit() {
        assert!(scan(b"abc".as_slice(), 2).unwrap().is_none());
        assert!(scan(b"abc".as_slice(), 3).unwrap().is_some());
        assert!(scan(io::repeat(0), 1 << 20).unwrap().is_none());
    }

    #[test]
    fn ordinary_joiners_are_not_meant() {
        for fine in ["plain", "grün", "👨‍👩‍👧 family", "❤️", "می‌خواهم"] {
            assert!(!has_invisible(fine.as_bytes()), "{fine:?}");
        }
        for bad in ["a\u{200d}b", "\u{202e}x", "x\u{200b}", "é\u{200d}\u{200d}", "\u{feff}x"] {
            assert!(has_invisible(bad.as_bytes()), "{bad:?}");
        }
        assert!(!has_invisible(without_mark("\u{feff}x".as_bytes())));
        assert!(has_invisible(b"\xff\xe2\x80\xae\xfe"));
    }
}
