//! Showing a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::Path;

use names::{Digest, DigestWriter};

use super::Done;
use super::file::{Found, open};
use super::list;
use super::place::Project;
use super::plain::{count, size};
use crate::proposal::{Outcome, Piece, Truncated, Unit};

/// Lines that are shown unless others are asked for.
const LINES: u64 = 2000;
/// Bytes of text that are shown at most.
const MOST: usize = 64 << 10;
/// Bytes of a line that are shown.
const LONGEST_LINE: usize = 2000;
/// The largest image that is passed on, in bytes.
const LARGEST_IMAGE: u64 = 5 << 20;
/// How much of a file is read to count its lines and to compute its digest. One that is larger
/// can be shown, and not be changed by a tool.
const MOST_READ: u64 = 64 << 20;
/// How much tells what kind of file it is.
const HEAD: usize = 8 << 10;

/// Which part of a file is wanted.
pub(crate) struct Wanted {
    /// First line, from 1.
    offset: u64,
    /// Lines.
    limit: u64,
    /// Bytes of text.
    most: usize,
}

impl Wanted {
    pub(crate) fn of(offset: Option<u64>, limit: Option<u64>, most: Option<u64>) -> Self {
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(MOST).min(MOST);
        Self { offset: offset.unwrap_or(1).max(1), limit: limit.unwrap_or(LINES), most }
    }
}

/// Shows what is at `path`.
pub(crate) fn read(project: &Project, path: &str, wanted: &Wanted) -> Done {
    let path = project.path(path);
    let failed = |error: io::Error| project.explain(&path, &error);
    match open(&path).map_err(failed)? {
        Found::Directory => list::directory(project, &path, wanted.offset - 1),
        Found::Other(kind) => Err(format!("{} is {kind}", project.show(&path))),
        Found::File(file, metadata) => {
            show(project, &path, file, metadata.len(), wanted).map_err(failed)
        }
    }
}

fn show(
    project: &Project,
    path: &Path,
    mut file: File,
    length: u64,
    wanted: &Wanted,
) -> io::Result<Outcome> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    match kind_of(&head) {
        Kind::Text => text(file, wanted),
        Kind::Image(media_type) if length <= LARGEST_IMAGE => image(file, media_type),
        Kind::Image(kind) | Kind::Binary(kind) => {
            let text = format!("{} is {kind}, {}: not text", project.show(path), size(length));
            Ok(Outcome { ok: true, ..Outcome::failed(text) })
        }
    }
}

/// What a file is by its first bytes, whatever its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines.
    Text,
    /// An image that a model can look at, by its media type.
    Image(&'static str),
    /// Anything else, in words.
    Binary(&'static str),
}

/// Judges by the beginning of a file.
pub(crate) fn kind_of(head: &[u8]) -> Kind {
    const KNOWN: [(&[u8], Kind); 14] = [
        (b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
        (b"\xff\xd8\xff", Kind::Image("image/jpeg")),
        (b"GIF87a", Kind::Image("image/gif")),
        (b"GIF89a", Kind::Image("image/gif")),
        (b"%PDF-", Kind::Binary("a PDF document")),
        (b"\x7fELF", Kind::Binary("a program or library")),
        (b"PK\x03\x04", Kind::Binary("a zip archive")),
        (b"\x1f\x8b", Kind::Binary("gzip data")),
        (b"\xfd7zXZ\0", Kind::Binary("xz data")),
        (b"\x28\xb5\x2f\xfd", Kind::Binary("zstd data")),
        (b"BZh", Kind::Binary("bzip2 data")),
        (b"SQLite format 3\0", Kind::Binary("an SQLite database")),
        (b"\xff\xfe", Kind::Binary("UTF-16 text")),
        (b"\xfe\xff", Kind::Binary("UTF-16 text")),
    ];
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Kind::Image("image/webp");
    }
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic));
    match known {
        // Two or three letters may also begin a text.
        Some((_, kind)) if !is_text(head) || matches!(kind, Kind::Binary("a PDF document")) => {
            *kind
        }
        _ if is_text(head) => Kind::Text,
        _ => Kind::Binary("binary data"),
    }
}

/// No null byte, and nothing that is not UTF-8 but for a few stray bytes of older encodings.
fn is_text(head: &[u8]) -> bool {
    let strange: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    !head.contains(&0) && strange * 10 <= head.len()
}

fn image(file: File, media_type: &str) -> io::Result<Outcome> {
    let mut data = Vec::new();
    file.take(LARGEST_IMAGE).read_to_end(&mut data)?;
    let digest = Some(Digest::of(&data));
    let parts = vec![Piece::Image { media_type: media_type.to_owned(), data }];
    Ok(Outcome { ok: true, parts, digest, ..Outcome::default() })
}

/// The lines that are shown, and what is known of the rest.
fn text(file: File, wanted: &Wanted) -> io::Result<Outcome> {
    let Wanted { offset, limit, most } = *wanted;
    let mut lines = Lines::of(file);
    let mut page = String::new();
    let mut shown = 0;
    while let Some((number, line)) = lines.next_line()? {
        if number < offset {
            continue;
        }
        let line = format!("{number:>6}\t{line}\n");
        if shown == limit || (shown > 0 && page.len() + line.len() > most) {
            break;
        }
        page.push_str(&line);
        shown += 1;
    }
    let seen = lines.number;
    let digest = lines.finish()?;
    let total = digest.as_ref().map(|(_, total)| *total);
    let more = total.map_or(seen >= offset + shown, |total| total >= offset + shown);
    let truncated = (more || (offset > 1 && shown > 0)).then_some(Truncated {
        shown,
        total,
        unit: Unit::Lines,
        next_offset: more.then_some(offset + shown),
    });
    let digest = digest.map(|(digest, _)| digest);
    Ok(Outcome { digest, truncated, ..Outcome::done(words(page, offset, seen)) })
}

fn words(page: String, offset: u64, seen: u64) -> String {
    match (page.is_empty(), seen) {
        (false, _) => page,
        (true, 0) => "the file is empty".to_owned(),
        (true, lines) => {
            let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line");
            format!("there is no line {offset}: the file has {lines}")
        }
    }
}

/// The lines of a file with their numbers, each cut to what is shown of it, and the digest of all
/// that was read.
struct Lines {
    from: BufReader<File>,
    digest: DigestWriter,
    read: u64,
    number: u64,
}

impl Lines {
    fn of(file: File) -> Self {
        let from = BufReader::with_capacity(64 << 10, file);
        Self { from, digest: Digest::hasher(), read: 0, number: 0 }
    }

    fn next_line(&mut self) -> io::Result<Option<(u64, String)>> {
        let mut start = Vec::new();
        let mut length = 0_usize;
        let ended = loop {
            let bytes = self.from.fill_buf()?;
            if bytes.is_empty() {
                break false;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let room = LONGEST_LINE.saturating_sub(start.len());
            start.extend(piece.iter().take(room));
            length += piece.len();
            let used = piece.len() + usize::from(end.is_some());
            self.digest.update(bytes.get(..used).unwrap_or_default());
            self.read += used as u64;
            self.from.consume(used);
            if end.is_some() {
                break true;
            }
        };
        if !ended && length == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some((self.number, line(&start, length))))
    }

    /// Reads the rest for its digest and the number of lines, unless it is too much.
    fn finish(mut self) -> io::Result<Option<(Digest, u64)>> {
        while self.read <= MOST_READ {
            if self.next_line()?.is_none() {
                return Ok(Some((self.digest.finish(), self.number)));
            }
        }
        Ok(None)
    }
}

/// A line as it is shown.
fn line(start: &[u8], length: usize) -> String {
    let start = start.strip_suffix(b"\r").unwrap_or(start);
    let mut text: String = String::from_utf8_lossy(start)
        .chars()
        .map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if length > LONGEST_LINE {
        text.push_str(&format!("[… {} more]", size((length - LONGEST_LINE) as u64)));
    }
    text
}
