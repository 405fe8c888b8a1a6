//! An overlay's upper directory, read against its base.
//!
//! The upper belongs to whoever ran inside: every name, mode, size, attribute and link in it is
//! taken for an attack. It is only ever read, through descriptors, and costs by what is in it:
//! a directory of the base is listed only where the run hid or deleted it.
//!
//! The overlay is mounted with `userxattr` and without `metacopy` and `redirect_dir`
//! (Documentation/filesystems/overlayfs.rst of the kernel), so its marks are: a character device
//! 0:0, or an empty file with `user.overlay.whiteout`, hides a name; `user.overlay.opaque` = `y`
//! on a directory hides everything below it. Any other mark is refused.

use std::fs::File;
use std::io;
use std::path::Path;

use names::WorkspacePath;
use rustix::fs::{FileType, Stat as FileStat};
use rustix::io::Errno;

use crate::WorkspaceRoot;
use crate::change::{Change, ChangeSet, Kind};
use crate::content::{Content, Text, scan};
use crate::flags;
use crate::lines;
use crate::node::{LinkTarget, Mode, Node, SIZE_MAX, Special};
use crate::protect::Protected;
use crate::rename;
use crate::shown;
use crate::tree::{Cursor, Dir, file_lifting};

/// How much is read before the whole is refused. Nothing is ever left out instead.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Levels of directories.
    pub depth: usize,
    /// Entries of the change set.
    pub entries: usize,
    /// Bytes of all paths together.
    pub paths: usize,
    /// Bytes of all files together, holes included.
    pub contents: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { depth: 16_384, entries: 4_000_000, paths: 512 << 20, contents: 1 << 40 }
    }
}

/// What reading took. It depends on what the run changed, not on what the base holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Directories listed.
    pub listings: u64,
    /// Names looked up.
    pub lookups: u64,
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// Where the reader was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In what the run wrote.
    Upper,
    /// In what was there before.
    Base,
}

/// A change set that can't be read. There is no partial one.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The system refused.
    #[error("can't read {path} of the {}: {source}", match side { Side::Upper => "run's writes", Side::Base => "base" })]
    Read {
        /// Where.
        side: Side,
        /// Which path, made printable.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Deeper than [`Caps::depth`].
    #[error("{path} is more than {max} levels deep")]
    Depth {
        /// Which path, made printable.
        path: String,
        /// The cap.
        max: usize,
    },
    /// More than [`Caps::entries`].
    #[error("more than {max} paths changed")]
    Entries {
        /// The cap.
        max: usize,
    },
    /// Longer than [`Caps::paths`].
    #[error("the changed paths are longer than {max} bytes together")]
    Paths {
        /// The cap.
        max: usize,
    },
    /// More than [`Caps::contents`].
    #[error("the changed files are longer than {max} bytes together, at {path}")]
    Contents {
        /// Which path, made printable.
        path: String,
        /// The cap.
        max: u64,
    },
    /// A mark of a kind of overlay that Loop does not mount.
    #[error("{path} has the overlay mark {mark}, which no run leaves")]
    Mark {
        /// Which path, made printable.
        path: String,
        /// Its attribute.
        mark: &'static str,
    },
}

/// Reads what a run changed: `upper` is the overlay's upper directory, `base` its lower one, at
/// the path at which the run saw it. Nothing may write to `upper` meanwhile.
///
/// # Errors
/// See [`ChangeError`].
pub fn read_changes(
    upper: &Path,
    base: &Path,
    protect: &Protected,
) -> Result<ChangeSet, ChangeError> {
    read_changes_within(upper, base, protect, Caps::default()).map(|(changes, _)| changes)
}

/// As [`read_changes`], with caps of the caller's, and says what it took.
///
/// # Errors
/// See [`ChangeError`].
pub fn read_changes_within(
    upper: &Path,
    base: &Path,
    protect: &Protected,
    caps: Caps,
) -> Result<(ChangeSet, Cost), ChangeError> {
    let mut reader = Reader::new(upper, base, caps, &|_| true)?;
    reader.walk()?;
    let (mut entries, cost) = (std::mem::take(&mut reader.entries), reader.cost);
    // The upper's permission bits are as the run left them again.
    drop(reader);
    rename::detect(&mut entries);
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let trees = flags::Trees {
        upper: &open(upper, Side::Upper)?,
        base: &open(base, Side::Base)?,
        root: &WorkspaceRoot::new(base),
    };
    let failed = |source| ChangeError::Read { side: Side::Base, path: shown(b"."), source };
    flags::mark(&mut entries, &trees, protect).map_err(failed)?;
    Ok((ChangeSet::new(entries), cost))
}

/// A path at which a run left something else than its base holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    /// Which.
    pub path: WorkspacePath,
    /// Whether the base holds something there.
    pub existed: bool,
}

/// As [`read_changes`], but says only which paths changed, of those that are `sought`; sorted.
/// Nothing is read of any other path.
///
/// # Errors
/// See [`ChangeError`].
pub fn changed_among(
    upper: &Path,
    base: &Path,
    sought: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<Touched>, ChangeError> {
    let mut reader = Reader::new(upper, base, Caps::default(), sought)?;
    reader.walk()?;
    let touched = |entry: Change| Touched { existed: entry.before.is_some(), path: entry.path };
    let mut all: Vec<_> = std::mem::take(&mut reader.entries).into_iter().map(touched).collect();
    all.sort_unstable();
    Ok(all)
}

fn open(path: &Path, side: Side) -> Result<Dir, ChangeError> {
    let failed = |source| ChangeError::Read { side, path: shown(b"."), source };
    Dir::root(path).map_err(failed)
}

struct Reader<'a> {
    caps: Caps,
    /// Which paths are compared.
    sought: &'a dyn Fn(&[u8]) -> bool,
    cost: Cost,
    entries: Vec<Change>,
    /// Bytes of the paths of `entries`.
    paths: usize,
    /// The directory in which both cursors are.
    path: Vec<u8>,
    upper: Cursor,
    base: Cursor,
}

/// In which trees a directory is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sides {
    /// The run's directory lets the base's show through.
    Merged,
    /// The run's directory hides the base's.
    Replaced,
    /// Only the run has one.
    Upper,
    /// Only the base has one.
    Base,
}

impl Sides {
    fn upper(self) -> bool {
        self != Self::Base
    }

    fn base(self) -> bool {
        self != Self::Upper
    }
}

/// A directory to enter.
struct Child {
    name: Vec<u8>,
    sides: Sides,
}

/// A directory that was entered.
struct Frame {
    sides: Sides,
    /// Length of the path without this directory.
    parent: usize,
    /// Those still to enter, in reverse.
    children: Vec<Child>,
}

/// What one side holds at a name.
struct Found {
    node: Node,
    text: Option<Text>,
}

impl<'a> Reader<'a> {
    fn new(
        upper: &Path,
        base: &Path,
        caps: Caps,
        sought: &'a dyn Fn(&[u8]) -> bool,
    ) -> Result<Self, ChangeError> {
        Ok(Self {
            caps,
            sought,
            cost: Cost::default(),
            entries: Vec::new(),
            paths: 0,
            path: Vec::new(),
            upper: Cursor::new(open(upper, Side::Upper)?),
            base: Cursor::new(open(base, Side::Base)?),
        })
    }

    /// Visits every directory that can hold a change, without recursion.
    fn walk(&mut self) -> Result<(), ChangeError> {
        let sides = self.sides_of_entered(Sides::Merged)?;
        let children = self.visit(sides)?;
        let mut frames = vec![Frame { sides, parent: 0, children }];
        while let Some(frame) = frames.last_mut() {
            let Some(child) = frame.children.pop() else {
                let Some(done) = frames.pop() else { break };
                self.leave(&done)?;
                continue;
            };
            if frames.len() > self.caps.depth {
                let path = shown(&self.at(&child.name));
                return Err(ChangeError::Depth { path, max: self.caps.depth });
            }
            let frame = self.enter(&child)?;
            frames.push(frame);
        }
        Ok(())
    }

    fn enter(&mut self, child: &Child) -> Result<Frame, ChangeError> {
        let parent = self.path.len();
        if child.sides.upper() {
            let done = self.upper.down_lifting(&child.name);
            done.map_err(|error| self.failed(Side::Upper, &child.name, error))?;
        }
        if child.sides.base() {
            let done = self.base.down(&child.name);
            done.map_err(|error| self.failed(Side::Base, &child.name, error))?;
        }
        self.path = self.at(&child.name);
        let sides = self.sides_of_entered(child.sides)?;
        let children = self.visit(sides)?;
        Ok(Frame { sides, parent, children })
    }

    fn leave(&mut self, frame: &Frame) -> Result<(), ChangeError> {
        if self.path.is_empty() {
            return Ok(());
        }
        if frame.sides.upper() {
            let done = self.upper.up();
            done.map_err(|error| self.failed_here(Side::Upper, error))?;
        }
        if frame.sides.base() {
            let done = self.base.up();
            done.map_err(|error| self.failed_here(Side::Base, error))?;
        }
        self.path.truncate(frame.parent);
        Ok(())
    }

    /// Looks whether the run's directory hides the base's.
    fn sides_of_entered(&mut self, sides: Sides) -> Result<Sides, ChangeError> {
        if !sides.upper() {
            return Ok(sides);
        }
        let dir = self.upper.dir();
        let marks = mark(dir, c"user.overlay.redirect").and_then(|redirect| {
            Ok((redirect.is_some(), mark(dir, c"user.overlay.opaque")?.as_deref() == Some(b"y")))
        });
        let (redirect, opaque) = marks.map_err(|error| self.failed_here(Side::Upper, error))?;
        if redirect {
            let (path, mark) = (shown(&self.path), "user.overlay.redirect");
            return Err(ChangeError::Mark { path, mark });
        }
        Ok(if opaque && sides == Sides::Merged { Sides::Replaced } else { sides })
    }

    /// Compares every name of the directory that can have changed. Returns the directories below
    /// that can hold more, in reverse.
    fn visit(&mut self, sides: Sides) -> Result<Vec<Child>, ChangeError> {
        let mut children = Vec::new();
        for name in self.names(sides)? {
            if !(self.sought)(&self.at(&name)) {
                children.extend(self.pass_by(sides, &name)?);
                continue;
            }
            let after = if sides.upper() { self.upper_node(&name)? } else { None };
            let through = is_dir(after.as_ref()) && sides == Sides::Merged;
            let before = if sides.base() { self.base_node(&name, through)? } else { None };
            let dirs = (is_dir(before.as_ref()), is_dir(after.as_ref()));
            children.extend(below(sides, dirs, &name));
            self.compare(&name, before, after)?;
        }
        children.reverse();
        Ok(children)
    }

    /// Of a name that is not sought, only whether something below it can be.
    fn pass_by(&mut self, sides: Sides, name: &[u8]) -> Result<Option<Child>, ChangeError> {
        let is_dir = |dir: &Dir| {
            let kind = dir.stat(name)?.map(|stat| FileType::from_raw_mode(stat.st_mode));
            Ok(kind == Some(FileType::Directory))
        };
        self.cost.lookups += 1;
        let after = if sides.upper() { is_dir(self.upper.dir()) } else { Ok(false) };
        let after = after.map_err(|error| self.failed(Side::Upper, name, error))?;
        let before = if sides.base() { is_dir(self.base.dir()) } else { Ok(false) };
        let before = before.map_err(|error| self.failed(Side::Base, name, error))?;
        let through = after && sides == Sides::Merged;
        // One that can't be entered holds nothing that could be compared.
        let before = before && (through || self.base.dir().child(name).is_ok());
        Ok(below(sides, (before, after), name))
    }

    fn names(&mut self, sides: Sides) -> Result<Vec<Vec<u8>>, ChangeError> {
        let mut names = Vec::new();
        if sides.upper() {
            self.cost.listings += 1;
            let listed = self.upper.dir().names();
            names = listed.map_err(|error| self.failed_here(Side::Upper, error))?;
        }
        if matches!(sides, Sides::Replaced | Sides::Base) {
            self.cost.listings += 1;
            let listed = self.base.dir().names();
            names.extend(listed.map_err(|error| self.failed_here(Side::Base, error))?);
            names.sort_unstable();
            names.dedup();
        }
        Ok(names)
    }

    /// What the run left at `name`; none if that is a whiteout.
    fn upper_node(&mut self, name: &[u8]) -> Result<Option<Found>, ChangeError> {
        self.cost.lookups += 1;
        let stat = self.upper.dir().stat(name);
        let Some(stat) = stat.map_err(|error| self.failed(Side::Upper, name, error))? else {
            return Ok(None);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.upper_file(name, &stat),
            FileType::CharacterDevice if stat.st_rdev == 0 => Ok(None),
            other => {
                let found = plain(self.upper.dir(), name, other, &stat);
                found.map(Some).map_err(|error| self.failed(Side::Upper, name, error))
            }
        }
    }

    fn upper_file(&mut self, name: &[u8], stat: &FileStat) -> Result<Option<Found>, ChangeError> {
        let marks = |file: &File| {
            let metacopy = mark(file, c"user.overlay.metacopy")?.is_some();
            Ok((metacopy, mark(file, c"user.overlay.whiteout")?.is_some()))
        };
        let opened = file_lifting(self.upper.dir(), name, marks);
        let (file, (metacopy, whiteout)) =
            opened.map_err(|error| self.failed(Side::Upper, name, error))?;
        if metacopy {
            let path = shown(&self.at(name));
            return Err(ChangeError::Mark { path, mark: "user.overlay.metacopy" });
        }
        if stat.st_size == 0 && whiteout {
            return Ok(None);
        }
        self.file(Side::Upper, name, &file, stat).map(Some)
    }

    /// What the base holds at `name`. `through` says that a directory there shows through one of
    /// the run's, so that nothing of it is deleted yet.
    fn base_node(&mut self, name: &[u8], through: bool) -> Result<Option<Found>, ChangeError> {
        self.cost.lookups += 1;
        let stat = self.base.dir().stat(name);
        let Some(stat) = stat.map_err(|error| self.failed(Side::Base, name, error))? else {
            return Ok(None);
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let found = match kind {
            FileType::RegularFile => match self.base.dir().file(name) {
                Ok(file) => return self.file(Side::Base, name, &file, &stat).map(Some),
                Err(error) => Err(error),
            },
            FileType::Directory if !through => {
                self.base.dir().child(name).and_then(|_| plain(self.base.dir(), name, kind, &stat))
            }
            _ => plain(self.base.dir(), name, kind, &stat),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Some(Found { node: Node::Special { what: Special::Unreadable }, text: None }))
            }
            found => found.map(Some).map_err(|error| self.failed(Side::Base, name, error)),
        }
    }

    fn file(
        &mut self,
        side: Side,
        name: &[u8],
        file: &File,
        stat: &FileStat,
    ) -> Result<Found, ChangeError> {
        let left = self.caps.contents.min(SIZE_MAX).saturating_sub(self.cost.bytes);
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let content = if size > left { Ok(None) } else { scan(file, left) };
        let content = content.map_err(|error| self.failed(side, name, error))?;
        let Some(Content { size, digest, text }) = content else {
            let path = shown(&self.at(name));
            return Err(ChangeError::Contents { path, max: self.caps.contents });
        };
        self.cost.files += 1;
        self.cost.bytes += size;
        let node = Node::File { mode: Mode::of(stat.st_mode), size, digest };
        Ok(Found { node, text: Some(text) })
    }

    /// Records what became of `name`, unless nothing did.
    fn compare(
        &mut self,
        name: &[u8],
        before: Option<Found>,
        after: Option<Found>,
    ) -> Result<(), ChangeError> {
        let kind = match (&before, &after) {
            (None, None) => return Ok(()),
            (Some(before), Some(after)) if before.node.same(&after.node) => return Ok(()),
            (None, Some(_)) => Kind::Add,
            (Some(_), None) => Kind::Delete,
            (Some(before), Some(after)) => kind_of_edit(&before.node, &after.node),
        };
        let path = self.at(name);
        if self.entries.len() >= self.caps.entries {
            return Err(ChangeError::Entries { max: self.caps.entries });
        }
        self.paths += path.len();
        if self.paths > self.caps.paths {
            return Err(ChangeError::Paths { max: self.caps.paths });
        }
        // A name that the kernel listed has no slash and no NUL, so the path is one.
        let path = WorkspacePath::from_bytes(&path)
            .map_err(|_| self.failed(Side::Upper, name, Errno::INVAL.into()))?;
        let (stat, invisible) =
            lines::weigh(&side_text(before.as_ref()), &side_text(after.as_ref()));
        let mut flags = Vec::new();
        if invisible {
            flags.push(crate::Flag::InvisibleCharacters);
        }
        let (before, after) = (before.map(|found| found.node), after.map(|found| found.node));
        self.entries.push(Change { path, kind, before, after, flags, stat });
        Ok(())
    }

    fn at(&self, name: &[u8]) -> Vec<u8> {
        if self.path.is_empty() {
            name.to_vec()
        } else {
            [&self.path, b"/".as_slice(), name].concat()
        }
    }

    fn failed(&self, side: Side, name: &[u8], source: io::Error) -> ChangeError {
        ChangeError::Read { side, path: shown(&self.at(name)), source }
    }

    fn failed_here(&self, side: Side, source: io::Error) -> ChangeError {
        ChangeError::Read { side, path: shown(&self.path), source }
    }
}

fn kind_of_edit(before: &Node, after: &Node) -> Kind {
    if crate::change::is_mode_change(before, after) { Kind::Mode } else { Kind::Edit }
}

/// The directory to enter for what is below `name`, if it is one before or after. What hides a directory of the base
/// hides those in it, too, whatever their own marks.
fn below(parent: Sides, dirs: (bool, bool), name: &[u8]) -> Option<Child> {
    let sides = match dirs {
        (false, false) => return None,
        (true, true) => parent,
        (false, true) => Sides::Upper,
        (true, false) => Sides::Base,
    };
    Some(Child { name: name.to_vec(), sides })
}

fn is_dir(found: Option<&Found>) -> bool {
    found.is_some_and(|found| matches!(found.node, Node::Dir { .. }))
}

fn plain(dir: &Dir, name: &[u8], kind: FileType, stat: &FileStat) -> io::Result<Found> {
    let special = |what| Node::Special { what };
    let node = match kind {
        FileType::Directory => Node::Dir { mode: Mode::of(stat.st_mode) },
        FileType::Symlink => {
            let target = LinkTarget::from_bytes(&dir.target(name)?);
            Node::Link { target: target.ok_or(Errno::NAMETOOLONG)? }
        }
        FileType::Fifo => special(Special::Fifo),
        FileType::Socket => special(Special::Socket),
        _ => special(Special::Device),
    };
    Ok(Found { node, text: None })
}

/// What a diff shows of one side.
fn side_text(found: Option<&Found>) -> lines::Side<'_> {
    match found {
        Some(Found { text: Some(Text::Whole(text)), .. }) => lines::Side::Text(text),
        Some(Found { text: Some(Text::Long { invisible }), .. }) => {
            lines::Side::Long { invisible: *invisible }
        }
        Some(Found { text: Some(Text::Binary), .. }) => lines::Side::Binary,
        Some(Found { node: Node::Link { target }, .. }) => lines::Side::Text(target.as_bytes()),
        _ => lines::Side::Text(b""),
    }
}

/// The start of an extended attribute's value: enough to tell the marks of overlayfs.
fn mark(of: impl std::os::fd::AsFd, name: &std::ffi::CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = [0u8; 8];
    match rustix::fs::fgetxattr(of, name, &mut value) {
        Ok(length) => Ok(Some(value.get(..length).unwrap_or_default().to_vec())),
        Err(Errno::RANGE) => Ok(Some(Vec::new())),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
