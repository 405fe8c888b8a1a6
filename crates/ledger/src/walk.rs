//! From record to record through the bytes of a ledger, checking each against the one before.

use names::{RunId, canonical};

use crate::kind;
use crate::line::{Genesis, Head, Line, SCHEMA};
use crate::verify::{Broken, Note};

const OPENING: &[u8] = b"{\"body\":";

pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    head: Head,
    time: &'a str,
    expected: Option<RunId>,
    run: Option<RunId>,
    notes: Vec<Note>,
}

impl<'a> Walk<'a> {
    /// Starts at the first record. `run` is whose ledger it must be, if that is known.
    pub(crate) fn new(bytes: &'a [u8], run: Option<RunId>) -> Self {
        let head = Head::origin();
        Self { bytes, rest: bytes, head, time: "", expected: run, run: None, notes: Vec::new() }
    }

    /// Head of the records that were found intact.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// The bytes after them.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The run that the genesis names, and what was noticed on the way.
    pub(crate) fn into_findings(self) -> (Option<RunId>, Vec<Note>) {
        (self.run, self.notes)
    }

    /// The next record, if it is intact and in its place.
    pub(crate) fn step(&mut self) -> Result<Option<Line<'a>>, Broken> {
        let record = self.head.count;
        let Some(end) = memchr::memchr(b'\n', self.rest) else { return self.end() };
        let (text, rest) = self.rest.split_at(end);
        let line = read(text).ok_or_else(|| malformed(text, record))?;
        if line.computed() != line.hash {
            return Err(Broken::Edited { record });
        }
        if line.seq != record || line.prev != self.head.hash {
            return Err(misplaced(self.bytes, &line, self.head));
        }
        self.check_genesis(&line)?;
        self.note_time(&line);
        self.rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        self.head = line.head();
        Ok(Some(line))
    }

    fn end(&self) -> Result<Option<Line<'a>>, Broken> {
        let (record, left) = (self.head.count, self.rest);
        match (record, left.is_empty()) {
            (0, true) => Err(Broken::Empty),
            (0, false) if !left.starts_with(OPENING) => Err(Broken::NotALedger),
            (_, false) => Err(Broken::Torn { record, bytes: left.len() as u64 }),
            (_, true) => Ok(None),
        }
    }

    /// A genesis comes first, and nowhere else.
    fn check_genesis(&mut self, line: &Line<'a>) -> Result<(), Broken> {
        match (self.head.count, line.kind) {
            (0, kind::GENESIS) => {
                self.run = Some(genesis(line, self.expected.as_ref())?);
                Ok(())
            }
            (0, _) => Err(Broken::NotALedger),
            (record, kind::GENESIS) => Err(foreign(line, record)),
            _ => Ok(()),
        }
    }

    fn note_time(&mut self, line: &Line<'a>) {
        if line.time < self.time {
            self.notes.push(Note::ClockSetBack { record: self.head.count });
        }
        self.time = line.time;
    }
}

fn read(text: &[u8]) -> Option<Line<'_>> {
    let line = Line::split(text)?;
    canonical::check(line.body).ok().map(|()| line)
}

/// Why `text` is not a record.
fn malformed(text: &[u8], record: u64) -> Broken {
    if record == 0 && !text.starts_with(OPENING) {
        return Broken::NotALedger;
    }
    match canonical::check(text) {
        Err(_) if canonical::repeats_a_member(text) => Broken::DuplicateKey { record },
        Err(error) => Broken::NotCanonical { record, problem: error.to_string() },
        Ok(()) => Broken::NotARecord { record },
    }
}

#[derive(serde::Deserialize)]
struct Schema {
    schema: u64,
}

fn genesis(line: &Line<'_>, expected: Option<&RunId>) -> Result<RunId, Broken> {
    let Ok(Schema { schema }) = canonical::parse(line.body) else { return Err(Broken::NotALedger) };
    if schema != u64::from(SCHEMA) {
        return Err(Broken::UnknownSchema { schema });
    }
    let Ok(Genesis { run, .. }) = canonical::parse(line.body) else {
        return Err(Broken::NotALedger);
    };
    match expected {
        Some(expected) if *expected != run => {
            Err(Broken::ForeignRun { record: 0, run: run.to_string() })
        }
        _ => Ok(run),
    }
}

fn foreign(line: &Line<'_>, record: u64) -> Broken {
    match canonical::parse::<Genesis>(line.body) {
        Ok(Genesis { run, .. }) => Broken::ForeignRun { record, run: run.to_string() },
        Err(_) => Broken::Inserted { record },
    }
}

/// Why a record with a right hash is not the one that belongs after `head`. Reads the whole file
/// once more: a break is rare, and worth a precise answer.
fn misplaced(bytes: &[u8], line: &Line<'_>, head: Head) -> Broken {
    let record = head.count;
    let lines = || bytes.split(|byte| *byte == b'\n').map(Line::split).enumerate();
    let earlier = || lines().take_while(|(at, _)| (*at as u64) < record);
    if let Some((of, _)) = earlier().find(|(_, one)| one.is_some_and(|one| one.hash == line.hash)) {
        return Broken::Duplicated { record, of: of as u64 };
    }
    if line.kind == kind::GENESIS {
        return foreign(line, record);
    }
    let all = || lines().filter_map(|(_, one)| one);
    let successor_later = all().any(|one| one.prev == head.hash && one.hash != line.hash);
    let has_parent = all().any(|one| one.hash == line.prev);
    match (successor_later, has_parent) {
        (true, true) => Broken::Moved { record, seq: line.seq },
        (true, false) => Broken::Inserted { record },
        (false, _) if line.seq > record => Broken::Missing { record, until: line.seq },
        (false, _) if line.seq == record => Broken::Unlinked { record },
        (false, _) => Broken::Inserted { record },
    }
}
