//! The body of a receive-pack request: shallow lines, commands with capabilities, the flush, and
//! the head of the pack (gitprotocol-pack(5), "Reference update request and packfile transfer").
//! No I/O.

use std::collections::HashSet;

use names::{NameError, ObjectId, RefName};
use policy::guarded::fold;

use super::pkt::{self, Pkt};

/// Most references of one push. Each has records of its own, on disk before anything is sent.
pub const MOST_REFS: usize = 256;
/// Most shallow lines of one push.
const MOST_SHALLOW: usize = 4096;
/// Most bytes of everything before the pack.
pub const MOST_BYTES: usize = 256 * 1024;
/// Bytes of a pack's head: `PACK`, version, number of objects (gitformat-pack(5)).
const PACK_HEAD: usize = 12;

/// Why bytes are not a push that means one thing only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// Not four lower case hexadecimal digits, or a length that no packet has.
    #[error("the length of a packet is malformed")]
    Length,
    /// Not `OLD NEW REF`.
    #[error("a command is malformed")]
    Command,
    /// A name that Git refuses, or that is no full name.
    #[error("{0}")]
    Name(#[from] NameError),
    /// A capability that isn't known, so that what follows may mean something else.
    #[error("the capability `{0}` is not one that Loop knows")]
    Capability(String),
    /// Options for the server's hooks.
    #[error("push options are not carried, because a server may act on them")]
    Options,
    /// A signed push.
    #[error("signed pushes are not carried")]
    Signed,
    /// Over [`MOST_REFS`].
    #[error("one push changes more than {MOST_REFS} references")]
    TooManyRefs,
    /// Over [`MOST_BYTES`].
    #[error("the list of references is larger than 256 KiB")]
    TooLarge,
    /// A reference twice, whatever the case.
    #[error("{0} is named twice, or in two cases")]
    Twice(RefName),
    /// From an id to the same one.
    #[error("{0} would not change")]
    Unchanged(RefName),
    /// SHA-1 and SHA-256 mixed.
    #[error("the object ids have different lengths")]
    Mixed,
    /// No commands, but something else.
    #[error("the push changes nothing")]
    Empty,
    /// Bytes after the end.
    #[error("there are bytes after the end of the push")]
    Trailing,
    /// Neither version 2 nor 3 of a pack.
    #[error("what follows the commands is not a pack")]
    Pack,
    /// The bytes ended before the push did.
    #[error("the push ended in its middle")]
    Cut,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Where the reference pointed, as the client says. The server moves it from there only.
    pub old: ObjectId,
    /// Where it is to point.
    pub new: ObjectId,
    /// The reference.
    pub reference: RefName,
}

/// How the server is to report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reporting {
    /// The status of each reference is reported.
    pub status: bool,
    /// The answer is multiplexed.
    pub side_band: bool,
}

/// A push, up to its pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushHead {
    /// What it changes, in its order; never empty.
    pub commands: Vec<Command>,
    /// What the server answers with.
    pub reporting: Reporting,
    /// Bytes before the pack.
    pub length: usize,
}

impl PushHead {
    /// Whether a pack follows: unless everything is deleted.
    #[must_use]
    pub fn has_pack(&self) -> bool {
        self.commands.iter().any(|command| !command.new.is_null())
    }
}

/// Bytes that are no push that is carried, and how far they were read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unread {
    /// What is wrong.
    pub why: PushError,
    /// The commands before.
    pub commands: Vec<Command>,
    /// How their client wants to be told.
    pub reporting: Reporting,
}

impl From<PushError> for Unread {
    fn from(why: PushError) -> Self {
        Self { why, commands: Vec::new(), reporting: Reporting::default() }
    }
}

/// What a body begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// Four zeros and nothing else, with which a client finds out whether it may push at all.
    Probe,
    /// A push, with the head of its pack.
    Push(PushHead),
}

/// Reads the beginning of a body; `None` if more bytes are needed. `is_whole`: there are no more.
///
/// `bytes` may end anywhere in the pack; of the pack only its head is looked at.
pub fn opening(bytes: &[u8], is_whole: bool) -> Result<Option<Opening>, Unread> {
    if bytes.starts_with(b"0000") {
        return match bytes.len() {
            4 if is_whole => Ok(Some(Opening::Probe)),
            4 => Ok(None),
            _ => Err(PushError::Empty.into()),
        };
    }
    let mut reader = Reader::default();
    let length = match reader.head(bytes, is_whole) {
        Ok(Some(length)) => length,
        Ok(None) => return Ok(None),
        Err(why) => return Err(reader.unread(why)),
    };
    let head = PushHead { commands: reader.commands, reporting: reader.reporting, length };
    let rest = bytes.get(length..).unwrap_or_default();
    match follows(&head, rest, is_whole) {
        Ok(true) => Ok(Some(Opening::Push(head))),
        Ok(false) => Ok(None),
        Err(why) => {
            let PushHead { commands, reporting, .. } = head;
            Err(Unread { why, commands, reporting })
        }
    }
}

/// Whether what follows the commands is there, as far as it is looked at.
fn follows(head: &PushHead, rest: &[u8], is_whole: bool) -> Result<bool, PushError> {
    match (head.has_pack(), rest) {
        (false, []) => Ok(is_whole),
        (false, _) => Err(PushError::Trailing),
        (true, rest) => match pack(rest)? {
            false if is_whole => Err(PushError::Cut),
            found => Ok(found),
        },
    }
}

/// Whether the head of a pack is whole.
fn pack(bytes: &[u8]) -> Result<bool, PushError> {
    let expected = b"PACK\0\0\0";
    let begins = bytes.iter().zip(expected).all(|(byte, expected)| byte == expected);
    let version = bytes.get(7).is_none_or(|version| matches!(version, 2 | 3));
    if begins && version { Ok(bytes.len() >= PACK_HEAD) } else { Err(PushError::Pack) }
}

#[derive(Default)]
struct Reader {
    commands: Vec<Command>,
    names: HashSet<String>,
    shallow: usize,
    reporting: Reporting,
    id_length: Option<usize>,
    /// Options were asked for; the commands are read all the same, to be answered.
    has_options: bool,
}

impl Reader {
    /// Reads everything up to the flush; gives its length, if it is there.
    fn head(&mut self, bytes: &[u8], is_whole: bool) -> Result<Option<usize>, PushError> {
        let mut length = 0;
        while let Some((packet, taken)) = pkt::read(bytes.get(length..).unwrap_or_default())? {
            length += taken;
            if length > MOST_BYTES {
                return Err(PushError::TooLarge);
            }
            match packet {
                Pkt::Flush => return self.finish().map(|()| Some(length)),
                Pkt::Data(line) => self.line(line)?,
            }
        }
        match is_whole {
            _ if bytes.len() > MOST_BYTES => Err(PushError::TooLarge),
            true => Err(PushError::Cut),
            false => Ok(None),
        }
    }

    fn unread(self, why: PushError) -> Unread {
        Unread { why, commands: self.commands, reporting: self.reporting }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), PushError> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if line.starts_with(b"push-cert") {
            return Err(PushError::Signed);
        }
        if let Some(id) = line.strip_prefix(b"shallow ") {
            return self.shallow(id);
        }
        let command = match line.iter().position(|byte| *byte == 0) {
            Some(at) if self.commands.is_empty() => {
                let (command, capabilities) = line.split_at_checked(at).unwrap_or_default();
                self.capabilities(capabilities.get(1..).unwrap_or_default())?;
                command
            }
            Some(_) => return Err(PushError::Command),
            None => line,
        };
        self.command(command)
    }

    fn shallow(&mut self, id: &[u8]) -> Result<(), PushError> {
        self.shallow += 1;
        if !self.commands.is_empty() {
            return Err(PushError::Command);
        }
        if self.shallow > MOST_SHALLOW {
            return Err(PushError::TooLarge);
        }
        self.id(id).map(drop)
    }

    fn command(&mut self, line: &[u8]) -> Result<(), PushError> {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (Some(old), Some(new), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(PushError::Command);
        };
        let (old, new) = (self.id(old)?, self.id(new)?);
        let reference = RefName::from_bytes(name)?;
        if self.commands.len() >= MOST_REFS {
            return Err(PushError::TooManyRefs);
        }
        if old == new {
            return Err(PushError::Unchanged(reference));
        }
        if !self.names.insert(folded(&reference)) {
            return Err(PushError::Twice(reference));
        }
        self.commands.push(Command { old, new, reference });
        Ok(())
    }

    fn id(&mut self, bytes: &[u8]) -> Result<ObjectId, PushError> {
        let text = str::from_utf8(bytes).map_err(|_| PushError::Command)?;
        let id = ObjectId::parse(text)?;
        if *self.id_length.get_or_insert(text.len()) != text.len() {
            return Err(PushError::Mixed);
        }
        Ok(id)
    }

    fn capabilities(&mut self, bytes: &[u8]) -> Result<(), PushError> {
        let text = str::from_utf8(bytes).map_err(|_| PushError::Command)?;
        text.split(' ').filter(|word| !word.is_empty()).try_for_each(|word| self.capability(word))
    }

    fn capability(&mut self, word: &str) -> Result<(), PushError> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match (name, value) {
            ("report-status" | "report-status-v2", "") => self.reporting.status = true,
            ("side-band-64k", "") => self.reporting.side_band = true,
            ("quiet" | "atomic" | "ofs-delta" | "delete-refs", "") => {}
            ("agent" | "session-id", _) | ("object-format", "sha1" | "sha256") => {}
            ("push-options", "") => self.has_options = true,
            _ => return Err(PushError::Capability(names::printable(name.as_bytes()))),
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), PushError> {
        match (self.commands.is_empty(), self.has_options) {
            (true, _) => Err(PushError::Empty),
            (false, true) => Err(PushError::Options),
            (false, false) => Ok(()),
        }
    }
}

/// The name without what some server takes for no difference.
#[must_use]
pub fn folded(reference: &RefName) -> String {
    let parts: Vec<_> = reference.as_str().split('/').map(|part| fold(part.as_bytes())).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: &str = "0000000000000000000000000000000000000000";
    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";
    const PACK: &[u8] = b"PACK\0\0\0\x02\0\0\0\0";

    fn body(lines: &[&str], rest: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        lines.iter().for_each(|line| pkt::write(&mut bytes, line.as_bytes()));
        pkt::flush(&mut bytes);
        bytes.extend(rest);
        bytes
    }

    fn read(lines: &[&str], rest: &[u8]) -> Result<Option<Opening>, PushError> {
        opening(&body(lines, rest), true).map_err(|unread| unread.why)
    }

    fn create(name: &str) -> String {
        format!("{ZERO} {ONE} {name}")
    }

    #[test]
    fn a_push_as_git_sends_it() {
        let first = format!(
            "{ZERO} {ONE} refs/heads/loop/a\0 report-status-v2 side-band-64k object-format=sha1 agent=git/2.47.3"
        );
        let second = format!("{ONE} {TWO} refs/heads/loop/b");
        let bytes = body(&[&first, &second], PACK);
        for cut in 0..bytes.len() {
            assert_eq!(opening(&bytes[..cut], false), Ok(None), "{cut}");
        }
        let Ok(Some(Opening::Push(head))) = opening(&bytes, false) else { panic!("a push") };
        assert_eq!(head.reporting, Reporting { status: true, side_band: true });
        assert_eq!(head.length, bytes.len() - PACK.len());
        assert_eq!(head.commands[1].reference.as_str(), "refs/heads/loop/b");
        assert_eq!(head.commands[1].old.as_str(), ONE);
        // As libgit2 ends its lines, and from a shallow clone.
        let shallow = format!("shallow {TWO}");
        assert!(read(&[&shallow, &format!("{}\n", create("refs/heads/x"))], PACK).is_ok());
    }

    #[test]
    fn a_probe_is_four_zeros() {
        assert_eq!(opening(b"0000", true), Ok(Some(Opening::Probe)));
        assert_eq!(opening(b"0000", false), Ok(None));
        assert_eq!(opening(b"00000000", false), Err(PushError::Empty.into()));
        assert_eq!(opening(b"", true), Err(PushError::Cut.into()));
    }

    #[test]
    fn deletes_have_no_pack() {
        let delete = format!("{ONE} {ZERO} refs/heads/x");
        assert!(matches!(read(&[&delete], b""), Ok(Some(Opening::Push(_)))));
        assert_eq!(read(&[&delete], b"0"), Err(PushError::Trailing));
        assert_eq!(read(&[&delete, &create("refs/heads/y")], b""), Err(PushError::Cut));
    }

    #[test]
    fn what_git_never_sends_is_refused() {
        let good = create("refs/heads/x");
        let cases: &[(&[&str], &[u8], PushError)] = &[
            (&[&good, &good], PACK, PushError::Twice(RefName::parse("refs/heads/x").unwrap())),
            (
                &[&good, &create("refs/heads/X")],
                PACK,
                PushError::Twice(RefName::parse("refs/heads/X").unwrap()),
            ),
            (
                &[&format!("{ONE} {ONE} refs/heads/x")],
                PACK,
                PushError::Unchanged(RefName::parse("refs/heads/x").unwrap()),
            ),
            (&[&format!("{good}\0push-options")], PACK, PushError::Options),
            (&[&format!("{good}\0new-thing")], PACK, PushError::Capability("new-thing".to_owned())),
            (&[&good, &format!("{}\0atomic", create("refs/heads/y"))], PACK, PushError::Command),
            (&["push-cert\0push-cert=1\n", &good], PACK, PushError::Signed),
            (&[&good, &format!("shallow {ONE}")], PACK, PushError::Command),
            (&[&format!("shallow {ONE}")], PACK, PushError::Empty),
            (&["nonsense"], PACK, PushError::Command),
            (&[&good], b"0000PACK", PushError::Pack),
            (&[&good], b"PACK\0\0\0\x04\0\0\0\0", PushError::Pack),
            (&[&good], b"PACK", PushError::Cut),
            (
                &[&good, &format!("{} {} refs/heads/y", "0".repeat(64), "1".repeat(64))],
                PACK,
                PushError::Mixed,
            ),
        ];
        for (lines, rest, error) in cases {
            assert_eq!(read(lines, rest).as_ref(), Err(error), "{lines:?}");
        }
        for name in ["HEAD", "refs/heads/loop/../main", "refs/heads/a b", "refs/heads/.x", "main"] {
            let read = read(&[&create(name)], PACK);
            assert!(matches!(read, Err(PushError::Name(_))), "{name} {read:?}");
        }
        let upper = format!("{ZERO} {} refs/heads/x", "A".repeat(40));
        assert!(matches!(read(&[&upper], PACK), Err(PushError::Name(_))));
    }

    #[test]
    fn a_list_without_end_is_refused_early() {
        let mut bytes = Vec::new();
        for number in 0..1_000_000 {
            pkt::write(&mut bytes, create(&format!("refs/heads/{number}")).as_bytes());
        }
        let unread = opening(&bytes, false).unwrap_err();
        assert_eq!((unread.why, unread.commands.len()), (PushError::TooManyRefs, MOST_REFS));
        let shallow = body(&vec![&*format!("shallow {ONE}"); MOST_SHALLOW + 1], b"");
        assert_eq!(opening(&shallow, false).unwrap_err().why, PushError::TooLarge);
    }

    #[test]
    fn who_is_refused_can_be_told() {
        let first = format!("{}\0report-status push-options side-band-64k", create("refs/heads/x"));
        let unread = opening(&body(&[&first], b"0005x0000PACK"), false).unwrap_err();
        assert_eq!(unread.why, PushError::Options);
        assert_eq!(unread.commands[0].reference.as_str(), "refs/heads/x");
        assert!(unread.reporting.status && unread.reporting.side_band);
    }
}
