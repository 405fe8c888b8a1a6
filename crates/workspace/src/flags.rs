//! Marks what a person must see: by name, by kind, by where a link leads.

use std::collections::HashMap;
use std::io;

use names::{WorkspacePath, is_invisible};

use crate::WorkspaceRoot;
use crate::change::{Change, Flag, Kind};
use crate::links::{Leads, Seen, resolve};
use crate::node::Node;
use crate::protect::{Namer, Protected};
use crate::tree::Dir;

/// Adds to every entry the flags it must have.
pub(crate) fn mark(
    entries: &mut [Change],
    base: &Dir,
    root: &WorkspaceRoot,
    protect: &Protected,
) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut found = {
        let view = View { entries: by_path(entries), base };
        let aliases = aliases(&view, root, protect)?;
        let mut marker = Marker { view, root, aliases, names: Namer::new(protect) };
        let flags = entries.iter().map(|entry| marker.flags(entry));
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
    base: &'a Dir,
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
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = match slash.and_then(|at| path.split_at_checked(at)) {
            Some((parent, name)) => (parent, name.strip_prefix(b"/").unwrap_or(name)),
            None => (b"".as_slice(), path),
        };
        let target = match parent {
            b"" => self.base.target(name),
            parent => self.base.beneath(parent).and_then(|dir| dir.target(name)),
        };
        match target {
            Ok(target) => Ok(Seen::Link(target)),
            Err(error) if is_no_link(&error) => Ok(Seen::Other),
            Err(error) => Err(error),
        }
    }
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
fn aliases(view: &View<'_>, root: &WorkspaceRoot, protect: &Protected) -> io::Result<Vec<Alias>> {
    let mut found = Vec::new();
    let mut heads: Vec<&str> = protect.heads().collect();
    heads.sort_unstable();
    heads.dedup();
    for head in heads {
        let Seen::Link(target) = view.look_in_base(head.as_bytes())? else { continue };
        let look = &mut |path: &[u8]| view.look_in_base(path);
        match resolve(look, root, b"", &target)? {
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
    root: &'a WorkspaceRoot,
    aliases: Vec<Alias>,
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
        match resolve(look, self.root, from, target)? {
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

/// Has the name a character that shows nothing, turns the writing direction or moves the cursor?
fn hides(name: &[u8]) -> bool {
    let plain = name.iter().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    let bad = |c: char| c.is_control() || is_invisible(c);
    !plain && name.utf8_chunks().any(|chunk| chunk.valid().chars().any(bad))
}
