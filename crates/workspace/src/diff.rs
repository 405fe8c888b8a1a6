//! A change set, for people: unified diffs and the table of lines.
//!
//! Everything shown is inert: names and lines have control characters, characters that show
//! nothing and bytes that are no text as escapes. So a diff is for reading, not for patching.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use names::{Digest, WorkspacePath, printable, printable_lines};

use crate::apply::KeptContents;
use crate::change::{Change, ChangeSet, Flag, Kind};
use crate::content::{Text, scan};
use crate::lines::Comparison;
use crate::node::{Node, SIZE_MAX, Special};
use crate::read::{ChangeError, Side};
use crate::shown;
use crate::tree::{Dir, open_lifting};

/// What to show.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Lines around a change, as many as these on each side.
    pub context: u32,
    /// Only these paths and what is below them; everything if none.
    pub paths: Option<Vec<WorkspacePath>>,
    /// The run's directory: what the base held before an apply is read from there.
    pub store: Option<PathBuf>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { context: 3, paths: None, store: None }
    }
}

/// What became of one path, shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The path after the run.
    pub path: WorkspacePath,
    /// The lines before the content, as Git writes them.
    pub header: Vec<String>,
    /// The content.
    pub body: Body,
}

/// The content of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The header says it all.
    Nothing,
    /// The places that differ.
    Hunks(Vec<Hunk>),
    /// One sentence, because lines can't be shown.
    Note(String),
}

/// A place that differs, with what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -1,2 +1,3 @@`.
    pub header: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whose it is.
    pub kind: LineKind,
    /// Its text, without the line feed.
    pub text: String,
}

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Both have it.
    Context,
    /// Only the new text has it.
    Added,
    /// Only the old text has it.
    Removed,
    /// Says that the line before has no line feed.
    Note,
}

impl LineKind {
    /// The character that a unified diff writes before the line.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
            Self::Note => '\\',
        }
    }
}

impl fmt::Display for FileDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.header {
            writeln!(f, "{line}")?;
        }
        match &self.body {
            Body::Nothing => Ok(()),
            Body::Note(note) => writeln!(f, "{note}"),
            Body::Hunks(hunks) => hunks.iter().try_for_each(|hunk| write!(f, "{hunk}")),
        }
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header)?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{}{}", line.kind.sign(), line.text))
    }
}

/// Shows what the entries of a change set are about. `upper` and `base` are those that it was
/// read from; their bytes are verified against it. Directories are shown if nothing is in them.
///
/// # Errors
/// [`ChangeError::Read`] if the system refuses. A file that is not what the change set says is no
/// error, but a note.
pub fn unified_diff(
    set: &ChangeSet,
    upper: &Path,
    base: &Path,
    options: &DiffOptions,
) -> Result<Vec<FileDiff>, ChangeError> {
    let open = |path: &Path, side| {
        let failed = |source| ChangeError::Read { side, path: shown(b"."), source };
        Dir::root(path).map_err(failed)
    };
    let sources = Sources {
        upper: open(upper, Side::Upper)?,
        base: open(base, Side::Base)?,
        kept: options.store.as_deref().map(KeptContents::open),
    };
    let filled = filled_dirs(set);
    let wanted = set.entries().iter().filter(|entry| {
        let meant = |paths: &Vec<WorkspacePath>| {
            entry.paths().any(|path| paths.iter().any(|directory| path.starts_with(directory)))
        };
        let dull = is_dir_only(entry) && filled.contains(entry.path.as_bytes());
        options.paths.as_ref().is_none_or(meant) && !dull
    });
    wanted.map(|entry| sources.diff(entry, options.context as usize)).collect()
}

/// The directories that have entries in them, which say enough.
fn filled_dirs(set: &ChangeSet) -> HashSet<&[u8]> {
    let paths = set.entries().iter().flat_map(Change::paths).map(WorkspacePath::as_bytes);
    let parents = paths.filter_map(|path| {
        let slash = path.iter().rposition(|byte| *byte == b'/')?;
        path.get(..slash)
    });
    parents.collect()
}

/// Where the bytes are.
struct Sources {
    upper: Dir,
    base: Dir,
    kept: Option<KeptContents>,
}

/// The bytes of one side.
enum Shown {
    Text(Vec<u8>),
    Note(&'static str),
}

impl Sources {
    fn diff(&self, entry: &Change, context: usize) -> Result<FileDiff, ChangeError> {
        let body = match (&entry.kind, special(entry)) {
            (_, Some(note)) => Body::Note(note.to_owned()),
            (Kind::Mode | Kind::Rename { .. }, None) => Body::Nothing,
            _ if is_dir_only(entry) => Body::Nothing,
            _ => self.body(entry, context)?,
        };
        Ok(FileDiff { path: entry.path.clone(), header: header(entry, &body), body })
    }

    fn body(&self, entry: &Change, context: usize) -> Result<Body, ChangeError> {
        let old = self.side(Side::Base, &entry.path, entry.before.as_ref())?;
        let new = self.side(Side::Upper, &entry.path, entry.after.as_ref())?;
        Ok(match (old, new) {
            (Shown::Text(old), Shown::Text(new)) => Body::Hunks(hunks(&old, &new, context)),
            (Shown::Note(note), _) | (_, Shown::Note(note)) => Body::Note(format!(
                "{note}: {} → {}",
                about(entry.before.as_ref()),
                about(entry.after.as_ref())
            )),
        })
    }

    fn side(
        &self,
        side: Side,
        path: &WorkspacePath,
        node: Option<&Node>,
    ) -> Result<Shown, ChangeError> {
        let (size, digest) = match node {
            Some(Node::File { size, digest, .. }) => (*size, digest),
            Some(Node::Link { target }) => return Ok(Shown::Text(target.as_bytes().to_vec())),
            _ => return Ok(Shown::Text(Vec::new())),
        };
        if size > crate::content::TEXT_MAX as u64 {
            return Ok(Shown::Note("files too long to show differ"));
        }
        let found = match side {
            Side::Upper => scan_at(open_lifting(&self.upper, path), digest),
            Side::Base => match scan_at(open_plain(&self.base, path), digest) {
                Ok(None) => match self.kept.as_ref().and_then(|kept| kept.before(path)) {
                    Some(file) => scan_at(Ok(file), digest),
                    None => Ok(None),
                },
                found => found,
            },
        };
        let failed = |source| ChangeError::Read { side, path: shown(path.as_bytes()), source };
        Ok(match found.map_err(failed)? {
            Some(Text::Whole(text)) => Shown::Text(text),
            Some(Text::Long { .. }) => Shown::Note("files too long to show differ"),
            Some(Text::Binary) => Shown::Note("binary files differ"),
            None => Shown::Note(match side {
                Side::Base => "the project's file changed since the run; files differ",
                Side::Upper => "the run's file changed since the run; files differ",
            }),
        })
    }
}

fn open_plain(root: &Dir, path: &WorkspacePath) -> io::Result<std::fs::File> {
    let parent = path.parent();
    root.beneath(parent.as_ref().map(WorkspacePath::as_bytes).unwrap_or_default())?
        .file(path.file_name())
}

/// Reads a file if it is the one that the digest says.
fn scan_at(file: io::Result<std::fs::File>, digest: &Digest) -> io::Result<Option<Text>> {
    let file = match file {
        Err(error) if crate::tree::is_elsewhere(&error) => return Ok(None),
        file => file?,
    };
    let content = scan(&file, SIZE_MAX)?;
    Ok(content.filter(|content| content.digest == *digest).map(|content| content.text))
}

/// What one side is, in a few words.
fn about(node: Option<&Node>) -> String {
    match node {
        Some(Node::File { size, digest, .. }) => {
            let start: String = digest.hex().chars().take(12).collect();
            format!("{size} bytes ({start})")
        }
        Some(Node::Link { .. }) => "a link".to_owned(),
        Some(Node::Dir { .. }) => "a directory".to_owned(),
        Some(Node::Special { .. }) => "a special file".to_owned(),
        None => "nothing".to_owned(),
    }
}

fn special(entry: &Change) -> Option<&'static str> {
    [&entry.before, &entry.after].into_iter().flatten().find_map(|node| match node {
        Node::Special { what: Special::Fifo } => Some("a named pipe, never applied"),
        Node::Special { what: Special::Socket } => Some("a socket, never applied"),
        Node::Special { what: Special::Device } => Some("a device, never applied"),
        Node::Special { what: Special::Unreadable } => {
            Some("the project's file can't be read, so this is never applied")
        }
        _ => None,
    })
}

fn is_dir_only(entry: &Change) -> bool {
    let mut nodes = [&entry.before, &entry.after].into_iter().flatten();
    nodes.all(|node| matches!(node, Node::Dir { .. }))
}

/// The lines before the content, as Git writes them.
fn header(entry: &Change, body: &Body) -> Vec<String> {
    let new = printable(entry.path.as_bytes());
    let old = entry.paths().next().map_or_else(String::new, |path| printable(path.as_bytes()));
    let mut lines = vec![format!("diff --git a/{old} b/{new}")];
    match (&entry.kind, &entry.before, &entry.after) {
        (_, None, Some(node)) => lines.push(format!("new {} mode {}", noun(node), node.git_mode())),
        (_, Some(node), None) => {
            lines.push(format!("deleted {} mode {}", noun(node), node.git_mode()));
        }
        (_, Some(before), Some(after)) if before.git_mode() != after.git_mode() => {
            lines.push(format!("old mode {}", before.git_mode()));
            lines.push(format!("new mode {}", after.git_mode()));
        }
        _ => {}
    }
    if let Kind::Rename { .. } = entry.kind {
        lines.push("similarity index 100%".to_owned());
        lines.push(format!("rename from {old}"));
        lines.push(format!("rename to {new}"));
    }
    if entry.flags.contains(&Flag::SetId) {
        lines.push("set-id, which is never applied".to_owned());
    }
    if matches!(body, Body::Hunks(hunks) if !hunks.is_empty()) {
        let name = |side, name, node: &Option<Node>| match node {
            Some(_) => format!("{side}/{name}"),
            None => "/dev/null".to_owned(),
        };
        lines.push(format!("--- {}", name("a", &old, &entry.before)));
        lines.push(format!("+++ {}", name("b", &new, &entry.after)));
    }
    lines
}

fn noun(node: &Node) -> &'static str {
    match node {
        Node::Dir { .. } => "directory",
        _ => "file",
    }
}

/// A unified diff of two texts, without the lines that name files. `None` if either is no text.
/// What a terminal would act on is escaped.
#[must_use]
pub fn unified_text(old: &[u8], new: &[u8]) -> Option<String> {
    const CONTEXT: usize = 3;
    if !is_text(old) || !is_text(new) {
        return None;
    }
    let mut text = String::new();
    for hunk in hunks(old, new, CONTEXT) {
        text.push_str(&hunk.header);
        text.push('\n');
        for line in hunk.lines {
            text.push(line.kind.sign());
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    Some(text)
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn hunks(old: &[u8], new: &[u8], context: usize) -> Vec<Hunk> {
    let comparison = Comparison::new(old, new);
    let mut groups: Vec<Vec<imara_diff::Hunk>> = Vec::new();
    for hunk in comparison.diff.hunks() {
        let last = groups.last_mut();
        let near = |group: &&mut Vec<imara_diff::Hunk>| {
            let end = group.last().map_or(0, |last| last.before.end as usize);
            (hunk.before.start as usize).saturating_sub(end) <= 2 * context
        };
        match last.filter(near) {
            Some(group) => group.push(hunk),
            None => groups.push(vec![hunk]),
        }
    }
    groups
        .iter()
        .filter_map(|group| {
            Sheet { comparison: &comparison, lines: Vec::new() }.hunk(group, context)
        })
        .collect()
}

/// A hunk in the making.
struct Sheet<'a> {
    comparison: &'a Comparison<'a>,
    lines: Vec<Line>,
}

impl Sheet<'_> {
    fn hunk(mut self, group: &[imara_diff::Hunk], context: usize) -> Option<Hunk> {
        let (first, last) = (group.first()?, group.last()?);
        let lead = context.min(first.before.start as usize);
        let old_length = self.comparison.input.before.len();
        let tail = context.min(old_length.saturating_sub(last.before.end as usize));
        let old = first.before.start as usize - lead..last.before.end as usize + tail;
        let new = first.after.start as usize - lead..last.after.end as usize + tail;
        let mut at = old.start;
        for hunk in group {
            self.old_lines(at..hunk.before.start as usize, LineKind::Context);
            self.old_lines(hunk.before.start as usize..hunk.before.end as usize, LineKind::Removed);
            self.new_lines(hunk.after.start as usize..hunk.after.end as usize);
            at = hunk.before.end as usize;
        }
        self.old_lines(at..old.end, LineKind::Context);
        let header = format!("@@ -{} +{} @@", place(&old), place(&new));
        Some(Hunk { header, lines: self.lines })
    }

    fn old_lines(&mut self, range: Range<usize>, kind: LineKind) {
        let input = &self.comparison.input;
        for token in input.before.get(range).unwrap_or_default() {
            push(&mut self.lines, kind, input.interner[*token]);
        }
    }

    fn new_lines(&mut self, range: Range<usize>) {
        let input = &self.comparison.input;
        for token in input.after.get(range).unwrap_or_default() {
            push(&mut self.lines, LineKind::Added, input.interner[*token]);
        }
    }
}

fn push(lines: &mut Vec<Line>, kind: LineKind, line: &[u8]) {
    let text = line.strip_suffix(b"\n");
    lines.push(Line { kind, text: printable_lines(text.unwrap_or(line)) });
    if text.is_none() {
        let text = " No newline at end of file".to_owned();
        lines.push(Line { kind: LineKind::Note, text });
    }
}

/// A range of lines as unified diffs write it: counted from 1, and the line before if empty.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

/// The table of `--stat`, at most `columns` wide where names permit. Directories are left out.
#[must_use]
pub fn stat_table(set: &ChangeSet, columns: usize) -> String {
    let rows: Vec<(String, Cell)> = set
        .entries()
        .iter()
        .filter(|entry| !is_dir_only(entry))
        .map(|entry| (label(entry), cell(entry)))
        .collect();
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let most = rows.iter().map(|(_, cell)| cell.lines()).max().unwrap_or(0);
    let digits = most.to_string().len().max(3);
    let room = columns.saturating_sub(names + digits + 5).max(10) as u64;
    let mut out = String::new();
    let (mut added, mut removed) = (0, 0);
    for (name, cell) in &rows {
        let padding = " ".repeat(names - name.chars().count());
        let text = match cell {
            Cell::Lines(plus, minus) => {
                added += plus;
                removed += minus;
                let scaled =
                    |count: u64| if most <= room { count } else { (count * room).div_ceil(most) };
                let bar = |sign: &str, count: u64| {
                    sign.repeat(usize::try_from(scaled(count)).unwrap_or(0))
                };
                format!("{:>digits$} {}{}", plus + minus, bar("+", *plus), bar("-", *minus))
            }
            Cell::Word(word) => format!("{word:>digits$}"),
        };
        // Writing to a String has no error.
        let _ = writeln!(out, " {name}{padding} | {}", text.trim_end());
    }
    let _ = writeln!(out, " {} changed, +{added} −{removed} lines", plural(rows.len(), "path"));
    out
}

enum Cell {
    Lines(u64, u64),
    Word(String),
}

impl Cell {
    fn lines(&self) -> u64 {
        match self {
            Self::Lines(added, removed) => added + removed,
            Self::Word(_) => 0,
        }
    }
}

fn cell(entry: &Change) -> Cell {
    match (&entry.stat, special(entry)) {
        (_, Some(_)) => Cell::Word("special".to_owned()),
        (Some(stat), None) => Cell::Lines(stat.added, stat.removed),
        (None, None) => {
            let size = |node: &Option<Node>| match node {
                Some(Node::File { size, .. }) => *size,
                _ => 0,
            };
            Cell::Word(format!("{} → {} bytes", size(&entry.before), size(&entry.after)))
        }
    }
}

fn label(entry: &Change) -> String {
    let name = printable(entry.path.as_bytes());
    match &entry.kind {
        Kind::Rename { from } => format!("{} → {name}", printable(from.as_bytes())),
        _ => name,
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
