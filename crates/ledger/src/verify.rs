//! Is this the ledger it claims to be? If not: what is wrong, and at which record.

use names::RunId;
use names::canonical::Member;
use serde::Serialize;

use crate::line::{Head, Line};
use crate::walk::Walk;

/// What is known about a ledger from elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// Whose ledger it must be.
    pub run: Option<RunId>,
    /// A head that it must contain, from a receipt or an earlier look. Records may follow it.
    pub head: Option<Head>,
    /// More of them, in any order.
    pub heads: Vec<Head>,
}

/// What is wrong with a ledger. Records are counted from 0; everything before the named one holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Broken {
    /// There are no bytes.
    #[error("the ledger is empty")]
    Empty,
    /// The first line is not a genesis.
    #[error("not a ledger: it does not start with a genesis record")]
    NotALedger,
    /// The genesis names a schema that this version does not know.
    #[error("schema {schema} is not known to this verifier")]
    UnknownSchema {
        /// What the genesis says.
        schema: u64,
    },
    /// A genesis of another run.
    #[error("record {record} belongs to another run, {run}")]
    ForeignRun {
        /// Where.
        record: u64,
        /// The run it names.
        run: String,
    },
    /// The last line has no end.
    #[error("record {record} is torn: {bytes} bytes without an end of line")]
    Torn {
        /// Where.
        record: u64,
        /// Bytes after the last whole line.
        bytes: u64,
    },
    /// A line is not canonical JSON; NaN is one way.
    #[error("record {record} is not canonical JSON: {problem}")]
    NotCanonical {
        /// Where.
        record: u64,
        /// What the reader said.
        problem: String,
    },
    /// An object of the line has a key twice.
    #[error("record {record} has a duplicate key")]
    DuplicateKey {
        /// Where.
        record: u64,
    },
    /// A line is canonical JSON, but not the six members of a record.
    #[error("record {record} does not have the members of a record")]
    NotARecord {
        /// Where.
        record: u64,
    },
    /// A record does not have the hash that it carries.
    #[error("record {record} was edited: its hash is not the hash of its content")]
    Edited {
        /// Where.
        record: u64,
    },
    /// A record of this chain in another's place.
    #[error("record {seq} was moved to the place of record {record}")]
    Moved {
        /// Where it is.
        record: u64,
        /// Where it belongs.
        seq: u64,
    },
    /// A record that came before.
    #[error("record {record} is a duplicate of record {of}")]
    Duplicated {
        /// Where.
        record: u64,
        /// The first one.
        of: u64,
    },
    /// A record that is not of this chain.
    #[error("record {record} was inserted: it is not part of this chain")]
    Inserted {
        /// Where.
        record: u64,
    },
    /// Records were taken out.
    #[error("records from {record} up to {until} are missing")]
    Missing {
        /// The first missing one.
        record: u64,
        /// The first that is there again.
        until: u64,
    },
    /// A record names another predecessor than the one it has.
    #[error("record {record} does not follow the one before it: one of the two was replaced")]
    Unlinked {
        /// The later of the two.
        record: u64,
    },
    /// There are fewer records than the known head counts.
    #[error("the ledger is cut short: {count} records where {known} are known")]
    Truncated {
        /// Records there are.
        count: u64,
        /// Records there were.
        known: u64,
    },
    /// The chain is intact, but not the one of the known head.
    #[error("the ledger was replaced: its chain does not contain the known head, record {record}")]
    Replaced {
        /// The last record that the known head covers.
        record: u64,
    },
}

impl Broken {
    /// The record at which the ledger stops to hold.
    #[must_use]
    pub fn record(&self) -> u64 {
        match self {
            Self::Empty | Self::NotALedger | Self::UnknownSchema { .. } => 0,
            Self::ForeignRun { record, .. }
            | Self::Torn { record, .. }
            | Self::NotCanonical { record, .. }
            | Self::DuplicateKey { record }
            | Self::NotARecord { record }
            | Self::Edited { record }
            | Self::Moved { record, .. }
            | Self::Duplicated { record, .. }
            | Self::Inserted { record }
            | Self::Missing { record, .. }
            | Self::Unlinked { record }
            | Self::Truncated { count: record, .. }
            | Self::Replaced { record } => *record,
        }
    }
}

/// Something worth saying that does not break the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// A record has an earlier time than the one before it.
    #[error("the clock was set back before record {record}")]
    ClockSetBack {
        /// The later record.
        record: u64,
    },
}

/// Is it known that no records were cut off the end?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// The known head is in the chain.
    Known {
        /// Records that follow it, whose number nothing vouches for.
        after: u64,
    },
    /// No head is known, so records may be missing at the end.
    Unknown,
}

/// What the bytes of a ledger are worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerVerdict {
    /// The run that the genesis names.
    pub run: Option<RunId>,
    /// Head of the intact records; of all of them unless something is broken.
    pub head: Head,
    /// Whether the end is known.
    pub length: Length,
    /// The first thing that is wrong.
    pub broken: Option<Broken>,
    /// What is odd, but not wrong.
    pub notes: Vec<Note>,
}

impl LedgerVerdict {
    /// Nothing is wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken.is_none()
    }
}

/// Judges the bytes of a ledger file.
#[must_use]
pub fn verify_ledger(bytes: &[u8], expect: Expect) -> LedgerVerdict {
    verify_each(bytes, expect, &mut |_, _| {})
}

/// The run that the genesis of a ledger names, if that is intact and of the expected run.
pub(crate) fn run_of(bytes: &[u8], expected: Option<RunId>) -> Option<RunId> {
    let mut walk = Walk::new(bytes, expected);
    walk.step().ok()?;
    walk.into_findings().0
}

/// What is done with a record, and with the members of its body.
pub(crate) type Each<'a> = dyn FnMut(&Line<'_>, &[Member<'_>]) + 'a;

/// The same, and shows each record on the way, as long as they are intact.
pub(crate) fn verify_each(bytes: &[u8], expect: Expect, each: &mut Each<'_>) -> LedgerVerdict {
    let Expect { run, head, heads: mut known } = expect;
    known.extend(head);
    known.sort_by_key(|known| known.count);
    let mut walk = Walk::new(bytes, run);
    let broken = follow(&mut walk, &known, each).err();
    let head = walk.head();
    let length = match known.last() {
        Some(known) if broken.is_none() => Length::Known { after: head.count - known.count },
        _ => Length::Unknown,
    };
    let (run, notes) = walk.into_findings();
    LedgerVerdict { run, head, length, broken, notes }
}

/// Walks to the end. `known` is sorted by count.
fn follow(walk: &mut Walk<'_>, known: &[Head], each: &mut Each<'_>) -> Result<(), Broken> {
    let mut ahead = known.iter().skip_while(|known| known.count == 0).peekable();
    while let Some(line) = walk.step()? {
        each(&line, walk.members());
        let head = walk.head();
        while let Some(known) = ahead.next_if(|known| known.count == head.count) {
            if known.hash != head.hash {
                return Err(Broken::Replaced { record: head.count - 1 });
            }
        }
    }
    match (known.first(), known.last()) {
        (_, Some(last)) if last.count > walk.head().count => {
            Err(Broken::Truncated { count: walk.head().count, known: last.count })
        }
        (Some(first), _) if first.count == 0 => Err(Broken::Replaced { record: 0 }),
        _ => Ok(()),
    }
}
