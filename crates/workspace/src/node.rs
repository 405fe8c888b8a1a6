//! What a path holds: a file, a link, a directory, or something that is never carried over.

use std::fmt::{self, Write as _};

use names::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Longest link target that Linux makes, in bytes: `PATH_MAX` − 1.
const TARGET_MAX: usize = 4095;

/// Largest size that JSON carries exactly (RFC 8785, section 3.2.2.3), in bytes.
pub(crate) const SIZE_MAX: u64 = (1 << 53) - 1;

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Node {
    /// A regular file.
    File {
        /// Its permission bits.
        mode: Mode,
        /// Its length in bytes.
        size: u64,
        /// The digest of its bytes.
        digest: Digest,
    },
    /// A symbolic link, as a link.
    Link {
        /// Where it points, as written.
        target: LinkTarget,
    },
    /// A directory.
    Dir {
        /// Its permission bits.
        mode: Mode,
    },
    /// Something that apply never makes, replaces or removes.
    Special {
        /// Which.
        what: Special,
    },
}

/// The things that apply never makes, replaces or removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something of the base that the owner of the run may not read, so that it can't be recorded.
    Unreadable,
}

impl Node {
    /// Its permission bits; none for links and special files.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::File { mode, .. } | Self::Dir { mode } => Some(*mode),
            Self::Link { .. } | Self::Special { .. } => None,
        }
    }

    /// Do both hold the same, as far as a change set is concerned? Of the permission bits of a
    /// file only "executable" and set-id count, of a directory none.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { mode: a, size: m, digest: x },
                Self::File { mode: b, size: n, digest: y },
            ) => {
                m == n
                    && x == y
                    && a.is_executable() == b.is_executable()
                    && a.is_set_id() == b.is_set_id()
            }
            (Self::Dir { .. }, Self::Dir { .. }) => true,
            (Self::Special { what: Special::Unreadable }, _) => false,
            (a, b) => a == b,
        }
    }

    /// The mode as Git writes it: 100644, 100755, 120000, 040000; 000000 for special files.
    #[must_use]
    pub fn git_mode(&self) -> &'static str {
        match self {
            Self::File { mode, .. } if mode.is_executable() => "100755",
            Self::File { .. } => "100644",
            Self::Link { .. } => "120000",
            Self::Dir { .. } => "040000",
            Self::Special { .. } => "000000",
        }
    }
}

/// Permission bits with set-id and sticky, as `chmod` takes them. Its text is four octal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mode(u16);

impl Mode {
    /// Takes the permission bits of a `st_mode`.
    #[must_use]
    pub fn of(st_mode: u32) -> Self {
        // At most twelve bits remain, so they fit.
        Self(u16::try_from(st_mode & 0o7777).unwrap_or(0))
    }

    /// The bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        u32::from(self.0)
    }

    /// May the owner execute it?
    #[must_use]
    pub fn is_executable(self) -> bool {
        self.0 & 0o100 != 0
    }

    /// Would it run as another user or group?
    #[must_use]
    pub fn is_set_id(self) -> bool {
        self.0 & 0o6000 != 0
    }

    /// The mode that apply gives to a new file: never set-id, sticky or writable by others, and
    /// always readable by its owner, so that undo can check it.
    #[must_use]
    pub fn for_new_file(self) -> Self {
        Self(self.0 & 0o755 | 0o400)
    }

    /// The mode that apply gives to a new directory.
    #[must_use]
    pub fn for_new_dir(self) -> Self {
        Self(self.0 & 0o755 | 0o700)
    }

    /// The mode that apply leaves on a file that had `self` and got `after` in the sandbox: only
    /// "executable" is carried over, for everybody who may read, and set-id is lost.
    #[must_use]
    pub fn carry(self, after: Self) -> Self {
        let kept = self.0 & 0o777;
        match (self.is_executable(), after.is_executable()) {
            (false, true) => Self(kept | (kept & 0o444) >> 2 | 0o100),
            (true, false) => Self(kept & 0o666),
            _ => Self(kept),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let octal = text.len() == 4 && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
        let bits = octal.then(|| u16::from_str_radix(&text, 8).ok()).flatten();
        bits.map(Self).ok_or_else(|| D::Error::custom("a mode is four octal digits"))
    }
}

/// Where a link points: any bytes but NUL, 1 to 4,095 of them. Its text has `%`, control bytes and
/// bytes that are not UTF-8 as `%XX`; every target has exactly one text.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkTarget(Vec<u8>);

impl LinkTarget {
    /// Takes a target as the file system has it; none if no file system could.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let fits = !bytes.is_empty() && bytes.len() <= TARGET_MAX && !bytes.contains(&0);
        fits.then(|| Self(bytes.to_owned()))
    }

    /// Reads the text form, and only the one form that a target has.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let target = Self::from_bytes(&unescape(text.as_bytes())?)?;
        (target.to_string() == text).then_some(target)
    }

    /// The bytes that the file system has.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            plain => plain,
        });
    }
    Some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl fmt::Display for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match u8::try_from(c) {
                    Ok(byte) if byte == b'%' || byte.is_ascii_control() => {
                        write!(f, "%{byte:02X}")?;
                    }
                    _ => f.write_char(c)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LinkTarget {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LinkTarget {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a link target"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_executable_bit_is_carried() {
        let carry = |before, after| Mode(before).carry(Mode(after)).0;
        assert_eq!(carry(0o640, 0o755), 0o750);
        assert_eq!(carry(0o600, 0o777), 0o700);
        assert_eq!(carry(0o755, 0o600), 0o644);
        assert_eq!(carry(0o664, 0o600), 0o664);
        assert_eq!(carry(0o4755, 0o4755), 0o755);
        assert_eq!(Mode(0o7777).for_new_file().0, 0o755);
        assert_eq!(Mode(0o000).for_new_file().0, 0o400);
        assert_eq!(Mode(0o2777).for_new_dir().0, 0o755);
    }

    #[test]
    fn a_mode_has_one_text() {
        let read = |text: &str| serde_json::from_str::<Mode>(&format!("\"{text}\"")).ok();
        assert_eq!(read("0644"), Some(Mode(0o644)));
        for bad in ["644", "00644", "0648", "+644", "10000", ""] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn targets_survive_as_text(bytes in prop::collection::vec(1u8.., 1..40)) {
            let target = LinkTarget::from_bytes(&bytes).unwrap();
            prop_assert_eq!(LinkTarget::parse(&target.to_string()), Some(target));
        }

        #[test]
        fn only_one_text_is_read(text in "[%0-9a-fA-Fxé/.]{0,8}") {
            if let Some(target) = LinkTarget::parse(&text) {
                prop_assert_eq!(target.to_string(), text);
            }
        }
    }
}
