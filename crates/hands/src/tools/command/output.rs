//! What a line printed: its beginning and its end in memory, all of it in a file.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Instant;

use super::TICK;
use crate::tools::plain;
use crate::wire::MOST_PROGRESS;

/// Bytes that are kept of the beginning and of the end.
const HEAD: usize = 8 << 10;
const TAIL: usize = 24 << 10;
/// Bytes that are kept in a file.
const MOST_SPOOLED: u64 = 64 << 20;
/// Bytes that are passed on at once while a line runs, and altogether.
const NEWS: usize = 4 << 10;
const MOST_NEWS: usize = MOST_PROGRESS / 2;
/// Where the files are, in the directory for temporary ones, which in a sandbox is private.
const PLACE: &str = "loop-output";

/// What has been printed since somebody was told.
#[derive(Debug, Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spool: Option<Spool>,
    news: News,
    closed: bool,
}

/// What is told.
pub(super) struct Page {
    pub(super) text: String,
    /// Bytes of the output that it shows, of so many.
    pub(super) shown: u64,
    pub(super) total: u64,
}

/// All of it, in a file. One that can't be made is done without.
#[derive(Debug)]
struct Spool {
    file: Option<(File, PathBuf)>,
    left: u64,
}

/// What has not been passed on.
#[derive(Debug, Default)]
struct News {
    fresh: Vec<u8>,
    passed_on: usize,
    last: Option<Instant>,
}

impl Output {
    /// One that is in a file from the first byte.
    pub(super) fn spooled() -> Self {
        Self { spool: Some(Spool::open()), ..Self::default() }
    }

    /// Takes what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.news.push(bytes);
        if self.spool.is_none() && self.total > (HEAD + TAIL) as u64 {
            let mut spool = Spool::open();
            spool.write(&self.head);
            let (first, second) = self.tail.as_slices();
            spool.write(first);
            spool.write(second);
            self.spool = Some(spool);
        }
        if let Some(spool) = &mut self.spool {
            spool.write(bytes);
        }
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    /// What there is to tell; the next page begins after it.
    pub(super) fn take(&mut self) -> Page {
        let (head, mut tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        let total = std::mem::take(&mut self.total);
        let tail = tail.make_contiguous();
        let kept = (head.len() + tail.len()) as u64;
        if kept == total {
            let text = plain::text(&[&head, &*tail].concat());
            return Page { text, shown: total, total };
        }
        // Whole lines, where there are any.
        let head_end = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
        let tail_start = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let head = head.get(..head_end).unwrap_or_default();
        let tail = tail.get(tail_start..).unwrap_or_default();
        let shown = (head.len() + tail.len()) as u64;
        let left_out = plain::size(total - shown);
        let place = self.spool.as_ref().map(Spool::place).unwrap_or_default();
        let gap = format!("\n[… {left_out} left out{place} …]\n");
        let text = [plain::text(head), gap, plain::text(tail)].concat();
        Page { text, shown, total }
    }

    /// Whether something waits to be passed on.
    pub(super) fn has_news(&self) -> bool {
        !self.news.fresh.is_empty()
    }

    /// What is to be passed on now: not too often, and the last of it if it is much.
    pub(super) fn news(&mut self) -> Option<String> {
        self.news.take()
    }

    /// Nothing more will come.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Whether that has been said.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
}

impl News {
    fn push(&mut self, bytes: &[u8]) {
        if self.passed_on < MOST_NEWS {
            self.fresh.extend_from_slice(bytes);
            let over = self.fresh.len().saturating_sub(NEWS);
            self.fresh.drain(..over);
        }
    }

    fn take(&mut self) -> Option<String> {
        let now = Instant::now();
        let too_soon = self.last.is_some_and(|last| now.duration_since(last) < TICK);
        if self.fresh.is_empty() || too_soon {
            return None;
        }
        self.last = Some(now);
        let mut text = plain::text(&std::mem::take(&mut self.fresh));
        self.passed_on += text.len();
        if self.passed_on >= MOST_NEWS {
            text.push_str("\n[what comes now is not shown as it comes]\n");
        }
        Some(text)
    }
}

impl Spool {
    fn open() -> Self {
        Self { file: create().ok(), left: MOST_SPOOLED }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some((file, _)) = &mut self.file else { return };
        let fits = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        self.left -= fits as u64;
        // A full disk must not end the line; what is told says what is in the file.
        if file.write_all(bytes.get(..fits).unwrap_or_default()).is_err() {
            self.left = 0;
        }
    }

    /// Where it is, for whoever is told.
    fn place(&self) -> String {
        match &self.file {
            Some((_, path)) if self.left > 0 => format!("; all of it is in {}", path.display()),
            Some((_, path)) => format!("; the first of it is in {}", path.display()),
            None => String::new(),
        }
    }
}

/// A new file of a name that nobody had.
fn create() -> io::Result<(File, PathBuf)> {
    let place = std::env::temp_dir().join(PLACE);
    match DirBuilder::new().mode(0o700).create(&place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    const TRIES: u32 = 1000;
    for number in 0..TRIES {
        let path = place.join(format!("{}-{number}.txt", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
