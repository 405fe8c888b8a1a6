//! What a person reads of an ask. All of it may be text from the sandbox: it is shown inert, on
//! lines that can't be taken for others, and what is too long is cut and says so.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use api::AskView;
use names::{Digest, printable};

use crate::console::{Paint, shown, shown_command};
use crate::failure::shown_rule;

/// Where values begin.
const INDENT: usize = 13;
/// Before what continues a value. Nothing of the sandbox's can begin a line.
const CONTINUED: &str = "           | ";
/// Lines of one value, from many to few.
const VALUE_LINES: [usize; 6] = [12, 8, 6, 4, 2, 1];
/// Narrower than this, nothing can be laid out.
const LEAST_COLUMNS: usize = 40;

/// How much room there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Lines for all of it.
    pub(crate) rows: usize,
    /// Columns of each.
    pub(crate) columns: usize,
}

/// What would happen, as lines.
pub(crate) fn lines(ask: &AskView, room: Room, paint: Paint) -> Vec<String> {
    let room = Room { columns: room.columns.max(LEAST_COLUMNS), ..room };
    let for_fields = if ask.diff.is_some() { room.rows - room.rows / 2 } else { room.rows };
    let mut lines = field_lines(&fields(ask), Room { rows: for_fields, ..room }, paint);
    if let Some(diff) = &ask.diff {
        let left = room.rows.saturating_sub(lines.len());
        lines.extend(diff_lines(diff, Room { rows: left, ..room }, paint));
    }
    lines
}

/// The fields, each with as many lines as there is room for.
fn field_lines(fields: &[Field], room: Room, paint: Paint) -> Vec<String> {
    let with = |most| -> Vec<String> {
        fields.iter().flat_map(|field| field.lines(most, room.columns, paint)).collect()
    };
    let fitting = VALUE_LINES.into_iter().map(with).find(|lines| lines.len() <= room.rows);
    fitting.unwrap_or_else(|| {
        let mut lines = with(1);
        lines.truncate(room.rows.saturating_sub(1));
        lines.push(paint.yellow("  [cut; `loop approvals --json` has it whole]"));
        lines
    })
}

/// What would happen, in a line.
pub(crate) fn title(ask: &AskView) -> String {
    let what = match ask.action.as_str() {
        "exec" => "wants to run a program",
        "open" => "wants to open a file",
        "connect" => "wants to connect",
        "http" => "wants to send a request",
        "git-push" => "wants to push",
        "lease" => "wants to use a credential",
        "docker" => "wants to use Docker",
        _ => "wants to do something",
    };
    format!("run {} {what}", ask.run)
}

/// The action in a line, cut to `width`.
pub(crate) fn brief(ask: &AskView, width: usize) -> String {
    let whole = shown(format!("{} {}", ask.action, ask.what));
    match wrapped(&whole, width.max(LEAST_COLUMNS), 2).as_slice() {
        [only] => only.clone(),
        [first, ..] => format!("{first}…"),
        [] => String::new(),
    }
}

/// A name and its value.
struct Field {
    name: &'static str,
    /// Inert.
    text: String,
    /// Of what it stands for, if that is the sandbox's to make long.
    whole: Option<(usize, Digest)>,
}

impl Field {
    fn of(name: &'static str, text: String) -> Self {
        Self { name, text, whole: None }
    }

    /// A value that may be as long as the sandbox likes.
    fn long(name: &'static str, text: String, bytes: &[u8]) -> Self {
        Self { name, text, whole: Some((bytes.len(), Digest::of(bytes))) }
    }

    fn lines(&self, most: usize, columns: usize, paint: Paint) -> Vec<String> {
        let mut parts = wrapped(&self.text, columns - INDENT, most + 1);
        let cut = parts.len() > most;
        parts.truncate(most);
        let mut lines = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            let head = match number {
                0 => format!("  {}", paint.dim(&format!("{:<11}", self.name))),
                _ => paint.dim(CONTINUED),
            };
            lines.push(head + &part);
        }
        if cut {
            let told = self.whole.map(|(bytes, digest)| format!(": {bytes} bytes, {digest}"));
            let note = format!("[cut{}]", told.unwrap_or_default());
            lines.extend(note_lines(&note, columns, paint));
        }
        lines
    }
}

fn fields(ask: &AskView) -> Vec<Field> {
    let mut fields = Vec::new();
    match &ask.command {
        Some(command) => {
            let program = command.program.as_os_str();
            fields.push(Field::long("program", shown(program), program.as_bytes()));
            // Its own name says nothing new.
            let called: Vec<_> = command.called.iter().map(OsString::as_os_str).collect();
            let known = |name: &&OsStr| Some(*name) == command.program.file_name();
            if !called.iter().all(known) {
                let joined = called.join(OsStr::new("\0"));
                let called = shown_command(&called);
                fields.push(Field::long("called", called, joined.as_bytes()));
            }
            let joined = command.args.join("\0");
            let args = match command.args.is_empty() {
                true => "none".to_owned(),
                false => shown_command(&command.args),
            };
            fields.push(Field::long("arguments", args, joined.as_bytes()));
            let directory = command.directory.as_os_str();
            fields.push(Field::long("directory", shown(directory), directory.as_bytes()));
        }
        None => fields.push(text_field("what", &format!("{} {}", ask.action, ask.what))),
    }
    fields.extend(ask.started_by.iter().take(4).map(|by| text_field("started by", by)));
    fields.extend(ask.rules.iter().map(|rule| Field::of("rule", shown_rule(rule))));
    fields.push(Field::of("reason", shown(&ask.reason)));
    fields.extend(ask.notes.iter().map(|note| text_field("note", note)));
    fields
}

fn text_field(name: &'static str, text: &str) -> Field {
    Field::long(name, shown(text), text.as_bytes())
}

/// What was left out of something.
fn note_lines(note: &str, columns: usize, paint: Paint) -> Vec<String> {
    let parts = wrapped(note, columns - INDENT, usize::MAX).into_iter();
    parts.map(|part| paint.dim(CONTINUED) + &paint.yellow(&part)).collect()
}

fn diff_lines(diff: &str, room: Room, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for line in diff.lines().take(room.rows + 1) {
        let painted = |part: &str| match line.as_bytes().first() {
            Some(b'+') => paint.green(part),
            Some(b'-') => paint.red(part),
            _ => part.to_owned(),
        };
        let parts = wrapped(&printable(line.as_bytes()), room.columns - INDENT, room.rows + 1);
        lines.extend(parts.iter().map(|part| paint.dim(CONTINUED) + &painted(part)));
    }
    if lines.len() > room.rows {
        let (all, bytes) = (diff.lines().count(), diff.len());
        let digest = Digest::of(diff.as_bytes());
        let note = format!("[cut: {all} lines, {bytes} bytes, {digest}]");
        let mut note = note_lines(&note, room.columns, paint);
        note.truncate(room.rows);
        lines.truncate(room.rows.saturating_sub(note.len()));
        lines.extend(note);
    }
    lines
}

/// The first lines of a text, each of at most so many columns. A character that isn't ASCII may
/// take two.
fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let width = if character.is_ascii() { 1 } else { 2 };
        if used + width > columns {
            if lines.len() == most {
                break;
            }
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.push(character);
        }
        used += width;
    }
    lines
}

/// The name of a user or a file that was typed, inert.
pub(crate) fn quoted(text: impl AsRef<OsStr>) -> String {
    shown_command(&[text])
}
