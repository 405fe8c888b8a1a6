//! From record to record through the bytes of a ledger, checking each against the one before.

use names::canonical::{self, Member};
use names::{RunId, Timestamp};

use crate::kind;
use crate::line::{Genesis, Head, Line, ORIGIN, SCHEMA};
use crate::verify::{Broken, Note};

const OPENING: &[u8] = b"{\"body\":";

pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    head: Head,
    /// The hash of `head` as text.
    last: &'a [u8],
    time: Option<Timestamp>,
    /// Of the body that was read last.
    members: Vec<Member<'a>>,
    expected: Option<RunId>,
    run: Option<RunId>,
    notes: Vec<Note>,
}

impl<'a> Walk<'a> {
    /// Starts at the first record. `run` is whose ledger it must be, if that is known.
    pub(crate) fn new(bytes: &'a [u8], run: Option<RunId>) -> Self {
        Self {
            bytes,
            rest: bytes,
            head: Head::origin(),
            last: ORIGIN,
            time: None,
            members: Vec::new(),
            expected: run,
            run: None,
            notes: Vec::new(),
        }
    }

    /// Head of the records that were found intact.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// The bytes after them.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The members of the body of the last record, if it is an object.
    pub(crate) fn members(&self) -> &[Member<'a>] {
        &self.members
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
        let line = self.read(text).ok_or_else(|| malformed(text, record))?;
        if line.computed() != line.hash {
            return Err(Broken::Edited { record });
        }
        if line.seq != record || line.prev != self.last {
            return Err(misplaced(self.bytes, &line, record, self.last));
        }
        self.check_genesis(&line)?;
        self.note_time(&line);
        self.rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        (self.head, self.last) = (line.head(), line.hash_text);
        Ok(Some(line))
    }

    /// Takes a line apart and checks what [`Line::split`] leaves open: the body is canonical JSON,
    /// and the predecessor, unless it is the expected one, at least a digest.
    fn read(&mut self, text: &'a [u8]) -> Option<Line<'a>> {
        let line = Line::split(text)?;
        self.members.clear();
        canonical::check_members(line.body, |member| self.members.push(member)).ok()?;
        (line.prev == self.last || line.names_a_predecessor()).then_some(line)
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
        if self.time.is_some_and(|before| line.time < before) {
            self.notes.push(Note::ClockSetBack { record: self.head.count });
        }
        self.time = Some(line.time);
    }
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

/// Why `line`, with a right hash, is not the record that follows the one with the hash `last`.
/// Reads the whole file once more: a break is rare, and worth a precise answer.
fn misplaced(bytes: &[u8], line: &Line<'_>, record: u64, last: &[u8]) -> Broken {
    let lines = || bytes.split(|byte| *byte == b'\n').map(Line::split);
    let place = |hash| lines().position(|one| one.is_some_and(|one| one.hash_text == hash));
    if let Some(of) = place(line.hash_text).map(|of| of as u64).filter(|of| *of < record) {
        return Broken::Duplicated { record, of };
    }
    if line.kind == kind::GENESIS {
        return foreign(line, record);
    }
    let parent = place(line.prev).map(|parent| parent as u64);
    let is_successor = |one: &Line<'_>| one.prev == last && one.hash != line.hash;
    let successor_follows = lines().flatten().any(|one| is_successor(&one));
    match (successor_follows, parent) {
        (true, Some(_)) => Broken::Moved { record, seq: line.seq },
        (true, None) => Broken::Inserted { record },
        (false, _) if line.seq > record => Broken::Missing { record, until: line.seq },
        (false, _) if line.seq == record => Broken::Unlinked { record },
        // It continues an earlier record: what stands between the two came in later.
        (false, Some(parent)) if parent + 1 == line.seq => Broken::Inserted { record: line.seq },
        (false, _) => Broken::Inserted { record },
    }
}
