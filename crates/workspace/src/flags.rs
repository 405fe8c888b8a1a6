//! Marks what a person must see: by name, by kind, by where a link leads.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};

use names::{WorkspacePath, is_invisible};

use crate::WorkspaceRoot;
use crate::change::{Change, Flag, Kind};
use crate::ignore::{self, Ignores};
use crate::links::{Leads, Seen, resolve};
use crate::node::Node;
use crate::protect::{Namer, Protected, is_git_metadata};
use crate::tree::{Dir, open_lifting};

/// Where entries come from.
pub(crate) struct Trees<'a> {
    pub(crate) upper: &'a Dir,
    pub(crate) base: &'a Dir,
    /// Where the run saw the base.
    pub(crate) root: &'a WorkspaceRoot,
}

/// Adds to every entry the flags it must have. Entries are sorted by path.
pub(crate) fn mark(
    entries: &mut [Change],
    trees: &Trees<'_>,
    protect: &Protected,
) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut found = {
        let view = View { entries: by_path(entries), trees };
        let aliases = aliases(&view, protect)?;
        let bare = bare_repositories(&view, entries)?;
        let ignored = ignored(&view, entries)?;
        let mut marker = Marker { view, aliases, bare, names: Namer::new(protect) };
        let flags = entries.iter().zip(ignored).map(|(entry, ignored)| {
            let mut flags = marker.flags(entry)?;
            flags.extend(ignored.then_some(Flag::Ignored));
            Ok(flags)
        });
        flags.collect::<io::Result<Vec<_>>>()?
    };
    for (entry, flags) in entries.iter_mut().zip(&mut found) {
        entry.flags.append(flags);
        entry.flags.sort_unstable();
        entry.flags.dedup();
    }
    Ok(())
}

fn by_path(entries: &[Change]) -> HashMap<&[u8], Option<&Node>> {
    let mut map: HashMap<&[u8], Option<&Node>> = HashMap::with_capacity(entries.len());
    for entry in entries {
        if let Kind::Rename { from } = &entry.kind {
            map.entry(from.as_bytes()).or_insert(None);
        }
        map.insert(entry.path.as_bytes(), entry.after.as_ref());
    }
    map
}

/// The workspace as the run left it, for looking single paths up.
struct View<'a> {
    entries: HashMap<&'a [u8], Option<&'a Node>>,
    trees: &'a Trees<'a>,
}

impl View<'_> {
    fn look(&self, path: &[u8]) -> io::Result<Seen> {
        match self.entries.get(path) {
            Some(Some(Node::Link { target })) => Ok(Seen::Link(target.as_bytes().to_vec())),
            Some(_) => Ok(Seen::Other),
            None => self.look_in_base(path),
        }
    }

    /// Looks where the run changed nothing. A way that the base does not have, or that may not be
    /// looked at, has no link.
    fn look_in_base(&self, path: &[u8]) -> io::Result<Seen> {
        match self.in_base(path, Dir::target) {
            Ok(target) => Ok(Seen::Link(target)),
            Err(error) if is_no_link(&error) => Ok(Seen::Other),
            Err(error) => Err(error),
        }
    }

    fn in_base<T>(
        &self,
        path: &[u8],
        look: impl FnOnce(&Dir, &[u8]) -> io::Result<T>,
    ) -> io::Result<T> {
        match split(path) {
            (b"", name) => look(self.trees.base, name),
            (parent, name) => look(&self.trees.base.beneath(parent)?, name),
        }
    }

    /// Is anything there?
    fn holds(&self, path: &[u8]) -> io::Result<bool> {
        match self.entries.get(path) {
            Some(node) => Ok(node.is_some()),
            None => match self.in_base(path, Dir::stat) {
                Err(error) if is_no_link(&error) => Ok(false),
                found => Ok(found?.is_some()),
            },
        }
    }

    /// The bytes of a small file as the run left it; none if there is none.
    fn text(&self, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match self.entries.get(path) {
            Some(Some(Node::File { .. })) => {
                let path = WorkspacePath::from_bytes(path).map_err(io::Error::other)?;
                read(open_lifting(self.trees.upper, &path))
            }
            Some(_) => Ok(None),
            None => self.text_in_base(path),
        }
    }

    /// The same as the base has it.
    fn text_in_base(&self, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
        read(self.in_base(path, Dir::file))
    }
}

fn read(file: io::Result<File>) -> io::Result<Option<Vec<u8>>> {
    let file = match file {
        Err(error) if is_no_link(&error) => return Ok(None),
        file => file?,
    };
    let mut text = Vec::new();
    file.take(ignore::FILE_MAX + 1).read_to_end(&mut text)?;
    Ok(Some(text).filter(|text| text.len() as u64 <= ignore::FILE_MAX))
}

/// The directory of a path, empty for the root, and the name in it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    match slash.and_then(|at| path.split_at_checked(at)) {
        Some((parent, name)) => (parent, name.strip_prefix(b"/").unwrap_or(name)),
        None => (b"", path),
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Tells for each entry whether Git ignores it: by the rules of the base, or by those that the
/// run left. So a run can't put what it made into the project by editing the rules.
fn ignored(view: &View<'_>, entries: &[Change]) -> io::Result<Vec<bool>> {
    const RULES: &[u8] = b".gitignore";
    let exclude = view.text_in_base(b".git/info/exclude")?.unwrap_or_default();
    let before = |dir: &[u8]| view.text_in_base(&join(dir, RULES));
    let after = |dir: &[u8]| view.text(&join(dir, RULES));
    let mut all = vec![false; entries.len()];
    mark_ignored(entries, Ignores::new(&before, &exclude)?, &mut all)?;
    // Otherwise both answers are the same.
    if view.entries.keys().any(|path| split(path).1 == RULES) {
        mark_ignored(entries, Ignores::new(&after, &exclude)?, &mut all)?;
    }
    Ok(all)
}

fn mark_ignored(entries: &[Change], mut ignores: Ignores<'_>, all: &mut [bool]) -> io::Result<()> {
    for (entry, ignored) in entries.iter().zip(all) {
        let node = entry.after.as_ref().or(entry.before.as_ref());
        let is_dir = matches!(node, Some(Node::Dir { .. }));
        let path = entry.path.as_bytes();
        *ignored = *ignored || !is_git_metadata(&entry.path) && ignores.is_ignored(path, is_dir)?;
    }
    Ok(())
}

/// What a repository without a working tree consists of. Git takes every directory with the first
/// three for one, as soon as somebody enters it, and runs what the configuration there names.
const REPOSITORY_PARTS: [&str; 8] =
    ["head", "objects", "refs", "config", "config.worktree", "hooks", "info", "commondir"];

/// Directories that are a bare repository after the run, and of which it changed a part.
fn bare_repositories(view: &View<'_>, entries: &[Change]) -> io::Result<Vec<Vec<u8>>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut seen: HashSet<&[u8]> = HashSet::new();
    for entry in entries.iter().filter(|entry| entry.after.is_some()) {
        let (directory, name) = split(entry.path.as_bytes());
        if !is_part(name) || is_git_metadata(&entry.path) || !seen.insert(directory) {
            continue;
        }
        let held = |name: &[u8]| view.holds(&join(directory, name));
        if held(b"HEAD")? && held(b"objects")? && held(b"refs")? {
            found.push(directory.to_vec());
        }
    }
    Ok(found)
}

fn is_part(name: &[u8]) -> bool {
    REPOSITORY_PARTS.iter().any(|part| name.eq_ignore_ascii_case(part.as_bytes()))
}

/// Does the error say that there is no link, rather than that something broke?
fn is_no_link(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(
            Errno::INVAL
                | Errno::NOENT
                | Errno::NOTDIR
                | Errno::LOOP
                | Errno::ACCESS
                | Errno::NAMETOOLONG
        )
    )
}

/// Another name of a protected one: the base has a link there, and this is where it leads.
struct Alias {
    leads: Vec<u8>,
    name: Vec<u8>,
}

/// Links at the root of the workspace under protected names, such as `CLAUDE.md` → `docs/ai.md`.
/// Who writes where they lead writes the protected file.
fn aliases(view: &View<'_>, protect: &Protected) -> io::Result<Vec<Alias>> {
    let mut found = Vec::new();
    let mut heads: Vec<&str> = protect.heads().collect();
    heads.sort_unstable();
    heads.dedup();
    for head in heads {
        let Seen::Link(target) = view.look_in_base(head.as_bytes())? else { continue };
        let look = &mut |path: &[u8]| view.look_in_base(path);
        match resolve(look, view.trees.root, b"", &target)? {
            Leads::Inside(leads) if !leads.is_empty() => {
                found.push(Alias { leads, name: head.as_bytes().to_vec() });
            }
            _ => {}
        }
    }
    Ok(found)
}

struct Marker<'a> {
    view: View<'a>,
    aliases: Vec<Alias>,
    bare: Vec<Vec<u8>>,
    names: Namer<'a>,
}

impl Marker<'_> {
    fn flags(&mut self, entry: &Change) -> io::Result<Vec<Flag>> {
        let mut flags = Vec::new();
        for path in entry.paths() {
            self.by_name(path, &mut flags);
        }
        for node in [&entry.before, &entry.after].into_iter().flatten() {
            if let Node::Special { what } = node {
                flags.push(Flag::from(*what));
            }
        }
        match &entry.after {
            Some(Node::File { mode, .. }) if mode.is_set_id() => flags.push(Flag::SetId),
            Some(Node::Link { target }) => {
                self.by_target(&entry.path, target.as_bytes(), &mut flags)?;
            }
            _ => {}
        }
        Ok(flags)
    }

    fn by_name(&mut self, path: &WorkspacePath, flags: &mut Vec<Flag>) {
        flags.extend(self.names.flags(path.as_bytes()));
        if hides(path.as_bytes()) {
            flags.push(Flag::InvisibleCharacters);
        }
        if self.bare.iter().any(|directory| is_part_of(directory, path.as_bytes())) {
            flags.push(Flag::Protected("bare repository".to_owned()));
        }
        for alias in &self.aliases {
            let below = path.as_bytes().strip_prefix(alias.leads.as_slice());
            if let Some(below) = below.filter(|below| below.is_empty() || below.starts_with(b"/")) {
                flags.extend(self.names.flags(&[&alias.name, below].concat()));
            }
        }
    }

    /// A link into protected ground, or out of the workspace.
    fn by_target(
        &mut self,
        path: &WorkspacePath,
        target: &[u8],
        flags: &mut Vec<Flag>,
    ) -> io::Result<()> {
        let parent = path.parent();
        let from = parent.as_ref().map(WorkspacePath::as_bytes).unwrap_or_default();
        let look = &mut |path: &[u8]| self.view.look(path);
        match resolve(look, self.view.trees.root, from, target)? {
            Leads::Outside => flags.push(Flag::LeavesRoot),
            Leads::Inside(leads) if leads.is_empty() => {}
            Leads::Inside(leads) => {
                // The link itself is no part of a repository's metadata.
                let named = self.names.flags(&leads).into_iter().map(|flag| match flag {
                    Flag::GitMetadata => Flag::Protected("git metadata".to_owned()),
                    flag => flag,
                });
                flags.extend(named);
            }
        }
        if hides(target) {
            flags.push(Flag::InvisibleCharacters);
        }
        Ok(())
    }
}

/// Is the path a part of the bare repository in `directory`, or in one?
fn is_part_of(directory: &[u8], path: &[u8]) -> bool {
    let below = match directory {
        b"" => Some(path),
        _ => path.strip_prefix(directory).and_then(|rest| rest.strip_prefix(b"/")),
    };
    below.is_some_and(|below| is_part(below.split(|byte| *byte == b'/').next().unwrap_or(below)))
}

/// Has the name a character that shows nothing, turns the writing direction or moves the cursor?
fn hides(name: &[u8]) -> bool {
    let plain = name.iter().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    let bad = |c: char| c.is_control() || is_invisible(c);
    !plain && name.utf8_chunks().any(|chunk| chunk.valid().chars().any(bad))
}
