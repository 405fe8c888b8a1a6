//! What the control plane and the program inside say to each other over its standard input and
//! output: frames of a length and a JSON message. No I/O here.
//!
//! The program inside believes the control plane. The control plane believes nothing: a
//! [`Conversation`] holds what it reads to what was asked for, in bounded memory.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::proposal::{Outcome, Proposal};

/// The version of the messages below.
pub const VERSION: u32 = 1;
/// The largest frame to the program, in bytes: a file that is written.
pub const LARGEST_ORDER: usize = 16 << 20;
/// The largest frame from the program, in bytes: an image in base64.
pub const LARGEST_REPORT: usize = 8 << 20;
/// How many bytes of output may be shown while a proposal is carried out.
pub const MOST_PROGRESS: usize = 4 << 20;
/// How many proposals may be open at once.
pub const MOST_OPEN: usize = 64;

/// What the control plane tells the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Carry this out, under a number that no open one has.
    Carry {
        /// The number.
        id: u64,
        /// What to do.
        proposal: Proposal,
    },
    /// Give this one up; it is answered all the same.
    Cancel {
        /// Its number.
        id: u64,
    },
}

/// What the program tells the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Report {
    /// The first message, sent once.
    Ready {
        /// The program's [`VERSION`].
        version: u32,
    },
    /// A command printed this meanwhile.
    Progress {
        /// Which proposal.
        id: u64,
        /// As much of it as is worth showing.
        text: String,
    },
    /// It is done, or could not be.
    Done {
        /// Which proposal.
        id: u64,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What was read is not what may be said. Whoever says it is not listened to any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// A frame is longer than any message.
    #[error("a message of {bytes} bytes, where {limit} are the most")]
    TooLarge {
        /// As it says.
        bytes: u64,
        /// As may be.
        limit: usize,
    },
    /// A frame holds no message.
    #[error("not a message: {0}")]
    Malformed(String),
    /// The other side speaks another version, or does not say which.
    #[error("version {theirs:?} is spoken there, and {VERSION} here")]
    Version {
        /// The other side's, if it said one.
        theirs: Option<u32>,
    },
    /// A message is about a proposal that is not open.
    #[error("a message about proposal {0}, which is not open")]
    NotOpen(u64),
    /// More was printed than may be shown.
    #[error("more than {MOST_PROGRESS} bytes were shown of proposal {0}")]
    Flood(u64),
    /// More proposals than may be open, or the same number twice.
    #[error("proposal {0} can't be opened")]
    CannotOpen(u64),
}

/// A message as a frame: its length in four bytes, little end first, and its JSON.
///
/// # Errors
/// When it is longer than `limit`.
pub fn frame(message: &impl Serialize, limit: usize) -> Result<Vec<u8>, WireError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)
        .map_err(|error| WireError::Malformed(error.to_string()))?;
    let length = frame.len() - 4;
    let too_large = WireError::TooLarge { bytes: length as u64, limit };
    let head = u32::try_from(length).ok().filter(|_| length <= limit).ok_or(too_large)?;
    for (place, byte) in frame.iter_mut().zip(head.to_le_bytes()) {
        *place = byte;
    }
    Ok(frame)
}

/// Bytes in, messages out. Holds at most one frame beyond what was pushed last.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// How much of `buffer` has been taken.
    taken: usize,
    limit: usize,
}

impl Decoder {
    /// A decoder of frames of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), taken: 0, limit }
    }

    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, if it is all there.
    ///
    /// # Errors
    /// A frame that is too long, or that holds no `T`.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, WireError> {
        let rest = self.buffer.get(self.taken..).unwrap_or_default();
        let Some((head, body)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let claimed = u32::from_le_bytes(*head);
        let length = usize::try_from(claimed).ok().filter(|length| *length <= self.limit);
        let too_large = WireError::TooLarge { bytes: claimed.into(), limit: self.limit };
        let length = length.ok_or(too_large)?;
        let Some(body) = body.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body)
            .map_err(|error| WireError::Malformed(error.to_string()))?;
        self.taken += 4 + length;
        Ok(Some(message))
    }

    /// How many bytes wait for the rest of their frame.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buffer.len() - self.taken
    }
}

/// What the program inside says, as the control plane takes it.
#[derive(Debug)]
pub struct Conversation {
    decoder: Decoder,
    ready: bool,
    /// What is open, with the bytes shown of it.
    open: BTreeMap<u64, usize>,
}

/// Something that the program inside may say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It is there.
    Ready,
    /// An open proposal printed this.
    Progress(u64, String),
    /// An open proposal is done, and no more open.
    Done(u64, Outcome),
}

impl Default for Conversation {
    fn default() -> Self {
        let decoder = Decoder::new(LARGEST_REPORT);
        Self { decoder, ready: false, open: BTreeMap::new() }
    }
}

impl Conversation {
    /// The frame that opens a proposal.
    ///
    /// # Errors
    /// When it is too large, or can't be open besides what is.
    pub fn carry(&mut self, id: u64, proposal: &Proposal) -> Result<Vec<u8>, WireError> {
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&id) {
            return Err(WireError::CannotOpen(id));
        }
        let order = Order::Carry { id, proposal: proposal.clone() };
        let frame = frame(&order, LARGEST_ORDER)?;
        self.open.insert(id, 0);
        Ok(frame)
    }

    /// The frame that gives one up.
    ///
    /// # Errors
    /// When it is not open.
    pub fn cancel(&self, id: u64) -> Result<Vec<u8>, WireError> {
        self.open.get(&id).ok_or(WireError::NotOpen(id))?;
        frame(&Order::Cancel { id }, LARGEST_ORDER)
    }

    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// What was said next, if all of it has been read.
    ///
    /// # Errors
    /// When it may not be said. Nothing after that is worth hearing.
    pub fn hear(&mut self) -> Result<Option<Heard>, WireError> {
        let Some(report) = self.decoder.take()? else { return Ok(None) };
        match (self.ready, report) {
            (false, Report::Ready { version: VERSION }) => {
                self.ready = true;
                Ok(Some(Heard::Ready))
            }
            (_, Report::Ready { version }) => Err(WireError::Version { theirs: Some(version) }),
            (false, _) => Err(WireError::Version { theirs: None }),
            (true, Report::Progress { id, text }) => {
                let shown = self.open.get_mut(&id).ok_or(WireError::NotOpen(id))?;
                *shown += text.len();
                if *shown > MOST_PROGRESS {
                    return Err(WireError::Flood(id));
                }
                Ok(Some(Heard::Progress(id, text)))
            }
            (true, Report::Done { id, outcome }) => {
                self.open.remove(&id).ok_or(WireError::NotOpen(id))?;
                Ok(Some(Heard::Done(id, outcome)))
            }
        }
    }

    /// How many bytes wait for the rest of their frame.
    #[must_use]
    pub fn held(&self) -> usize {
        self.decoder.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(report: &Report) -> Vec<u8> {
        frame(report, LARGEST_REPORT).unwrap()
    }

    fn ready() -> Conversation {
        let mut conversation = Conversation::default();
        conversation.push(&report(&Report::Ready { version: VERSION }));
        assert_eq!(conversation.hear(), Ok(Some(Heard::Ready)));
        conversation.carry(1, &Proposal::List { path: None, offset: None }).unwrap();
        conversation
    }

    #[test]
    fn what_was_asked_for_is_heard_byte_by_byte() {
        let mut conversation = ready();
        let progress = report(&Report::Progress { id: 1, text: "a".to_owned() });
        let done = report(&Report::Done { id: 1, outcome: Outcome::done("x") });
        let mut heard = Vec::new();
        for byte in [progress, done].concat() {
            conversation.push(&[byte]);
            heard.extend(conversation.hear().unwrap());
        }
        let expected = [Heard::Progress(1, "a".into()), Heard::Done(1, Outcome::done("x"))];
        assert_eq!(heard, expected);
        assert_eq!(conversation.held(), 0);
    }

    #[test]
    fn lies_have_names() {
        let done = Report::Done { id: 1, outcome: Outcome::default() };
        let other = Report::Done { id: 2, outcome: Outcome::default() };
        let flood = Report::Progress { id: 1, text: "x".repeat(MOST_PROGRESS + 1) };
        let old = Report::Ready { version: 0 };
        for (said, error) in [
            (&[done.clone(), done][..], WireError::NotOpen(1)),
            (&[other], WireError::NotOpen(2)),
            (&[flood], WireError::Flood(1)),
            (&[old], WireError::Version { theirs: Some(0) }),
            (&[Report::Ready { version: VERSION }], WireError::Version { theirs: Some(VERSION) }),
        ] {
            let mut conversation = ready();
            said.iter().for_each(|said| conversation.push(&report(said)));
            let found = std::iter::repeat_with(|| conversation.hear()).find_map(Result::err);
            assert_eq!(found, Some(error));
        }
    }

    #[test]
    fn what_is_said_before_the_version_is_not_heard() {
        let mut conversation = Conversation::default();
        conversation.carry(1, &Proposal::List { path: None, offset: None }).unwrap();
        conversation.push(&report(&Report::Done { id: 1, outcome: Outcome::default() }));
        assert_eq!(conversation.hear(), Err(WireError::Version { theirs: None }));
    }

    #[test]
    fn no_frame_is_waited_for_that_is_too_long() {
        let mut conversation = ready();
        conversation.push(&u32::MAX.to_le_bytes());
        let limit = LARGEST_REPORT;
        let too_large = WireError::TooLarge { bytes: u32::MAX.into(), limit };
        assert_eq!(conversation.hear(), Err(too_large));
    }

    #[test]
    fn numbers_are_used_once_at_a_time_and_not_without_end() {
        let mut conversation = ready();
        let list = Proposal::List { path: None, offset: None };
        assert_eq!(conversation.carry(1, &list), Err(WireError::CannotOpen(1)));
        let most = u64::try_from(MOST_OPEN).unwrap();
        (2..=most).for_each(|id| drop(conversation.carry(id, &list).unwrap()));
        assert_eq!(conversation.carry(most + 1, &list), Err(WireError::CannotOpen(most + 1)));
        assert_eq!(conversation.cancel(most + 1), Err(WireError::NotOpen(most + 1)));
    }

    #[test]
    fn a_proposal_that_is_too_large_is_not_sent() {
        let content = "x".repeat(LARGEST_ORDER);
        let write = Proposal::Write { path: "a".into(), content, expected: None };
        let sent = Conversation::default().carry(1, &write);
        assert!(matches!(sent, Err(WireError::TooLarge { .. })));
    }
}
