//! Entries of a change set as a client sees them: what was there, what is there, why it is held.

use api::{ChangeFlag, ChangeKind, ChangeView, LineStat};
use workspace::{Change, Flag, Kind, Node, Special, Why};

/// An entry.
pub(crate) fn change(change: &Change) -> ChangeView {
    let (kind, from) = match &change.kind {
        Kind::Add => (ChangeKind::Add, None),
        Kind::Edit => (ChangeKind::Edit, None),
        Kind::Delete => (ChangeKind::Delete, None),
        Kind::Mode => (ChangeKind::Mode, None),
        Kind::Rename { from } => (ChangeKind::Rename, Some(from.clone())),
    };
    ChangeView {
        path: change.path.clone(),
        kind,
        from,
        before: change.before.as_ref().map(node),
        after: change.after.as_ref().map(node),
        directory: change.is_directory(),
        flags: change.flags.iter().map(flag).collect(),
        lines: change.stat.map(|stat| LineStat { added: stat.added, removed: stat.removed }),
    }
}

/// An entry that was selected and not applied. What holds it besides its own flags is added to them.
pub(crate) fn held(entry: &Change, why: &Why) -> ChangeView {
    let mut view = change(entry);
    let reason = match why {
        Why::NeedsApproval(_) | Why::Never(_) => return view,
        Why::Without(directory) => format!("its directory {directory} is not applied"),
        Why::Holds(path) => format!("{path} stays in it"),
    };
    view.flags.push(ChangeFlag { flag: "depends".to_owned(), why: reason, approvable: false });
    view
}

/// What is at a path, in words.
fn node(node: &Node) -> String {
    match node {
        Node::File { mode, .. } => format!("file {:o}", mode.bits()),
        Node::Link { target } => format!("link to {target}"),
        Node::Dir { .. } => "directory".to_owned(),
        Node::Special { what } => special(*what).to_owned(),
    }
}

fn special(what: Special) -> &'static str {
    match what {
        Special::Fifo => "named pipe",
        Special::Socket => "socket",
        Special::Device => "device",
        Special::Unreadable => "something unreadable",
    }
}

fn flag(flag: &Flag) -> ChangeFlag {
    let (name, why) = match flag {
        Flag::Protected(what) => ("protected", format!("the host may execute or trust it: {what}")),
        Flag::InstructionFile => ("instruction-file", "agents take it as instructions".to_owned()),
        Flag::LeavesRoot => ("leaves-root", "a link that leads out of the project".to_owned()),
        Flag::SetId => ("set-id", "it would run as another user; that bit is lost".to_owned()),
        Flag::InvisibleCharacters => {
            ("invisible-characters", "characters that don't show, or reorder what shows".to_owned())
        }
        Flag::Ignored => ("ignored", "Git ignores it, so no review would show it".to_owned()),
        Flag::GitMetadata => {
            (ChangeView::GIT_METADATA, "it belongs to a repository's metadata".to_owned())
        }
        Flag::Device => ("device", "devices are never made here".to_owned()),
        Flag::Fifo => ("fifo", "named pipes are never made here".to_owned()),
        Flag::Socket => ("socket", "sockets are never made here".to_owned()),
        Flag::Unreadable => {
            ("unreadable", "what was there can't be read, so it couldn't be restored".to_owned())
        }
    };
    ChangeFlag { flag: name.to_owned(), why, approvable: !flag.is_final() }
}
