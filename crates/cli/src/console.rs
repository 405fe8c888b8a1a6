//! Where text goes: two streams, whether each is a terminal, and colour.
//!
//! Nothing in this crate prints in another way, so every rendering can be looked at in a test.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use names::{Timestamp, is_invisible, printable};

/// The streams of one invocation, and what is known about them.
pub struct Console<'a> {
    /// Standard output.
    pub out: Stream<'a>,
    /// Standard error.
    pub err: Stream<'a>,
    /// Standard input, where a person answers.
    pub input: &'a mut dyn BufRead,
    /// Whether it is a terminal, so that nothing is read from it unasked.
    pub typed: bool,
    /// Whether something comes on it, or its end, within so long.
    pub comes: &'a dyn Fn(Duration) -> bool,
    /// Whether a person can answer on it.
    pub answers: bool,
    /// Whether the person's terminal can show a prompt on a screen of its own.
    pub prompts: bool,
    /// The width of the terminal, in columns.
    pub columns: usize,
    /// The time now, for ages.
    pub now: Timestamp,
}

/// One stream.
pub struct Stream<'a> {
    writer: &'a mut dyn Write,
    /// Whether it is a terminal: then outside text is made harmless before it is written.
    pub terminal: bool,
    /// How it is coloured.
    pub paint: Paint,
}

impl<'a> Stream<'a> {
    /// A stream that writes to `writer`.
    pub fn new(writer: &'a mut dyn Write, terminal: bool, colour: bool) -> Self {
        Self { writer, terminal, paint: Paint { colour } }
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Colours text, or leaves it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    colour: bool,
}

impl Paint {
    /// Whether it colours.
    pub fn colours(self) -> bool {
        self.colour
    }

    /// For what was held, is wrong, or is removed.
    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// For what worked, or is added.
    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what needs a look.
    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// For places in a file.
    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// For headings.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For what can be skipped.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Whether to colour a stream: `NO_COLOR` wins, then `CLICOLOR_FORCE`, then a terminal that isn't dumb.
pub fn wants_colour(terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let off = |name: &str| variable(name).is_some_and(|value| value == "0");
    if set("NO_COLOR") {
        return false;
    }
    if set("CLICOLOR_FORCE") && !off("CLICOLOR_FORCE") {
        return true;
    }
    terminal && !off("CLICOLOR") && variable("TERM").is_none_or(|term| term != "dumb")
}

/// Outside text, harmless on a terminal.
pub(crate) fn shown(text: impl AsRef<std::ffi::OsStr>) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    printable(text.as_ref().as_bytes())
}

/// A command as a person would type it, harmless on a terminal.
pub(crate) fn shown_command<T: AsRef<std::ffi::OsStr>>(words: &[T]) -> String {
    let quoted = words.iter().map(|word| {
        let text = shown(word);
        let plain = |c: char| c.is_alphanumeric() || "-_=+./:@%,".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// `text`, shortened to `width` characters with an ellipsis.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A number with its noun: `1 change`, `2 changes`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A duration in milliseconds, as a person says it.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..=59 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..=3599 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// How long ago `then` was: `5 min ago`.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    since(now, then) + " ago"
}

/// The time since `then`: `5 min`.
pub(crate) fn since(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_millis().saturating_sub(then.as_millis()).max(0) / 1000;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min", seconds / 60),
        3600..=86_399 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Rows in aligned columns, two spaces apart. A cell is a text and its painted form.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// One cell of a [`Table`].
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    plain_width: usize,
    text: String,
}

impl Cell {
    /// A cell of plain text.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { plain_width: text.chars().count(), text }
    }

    /// A cell whose text is painted.
    pub(crate) fn painted(text: &str, paint: impl FnOnce(&str) -> String) -> Self {
        Self { plain_width: text.chars().count(), text: paint(text) }
    }
}

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Columns of a row, with the space that divides it from what stands beside it.
    pub(crate) fn width(&self) -> usize {
        self.widths().iter().map(|width| width + 2).sum()
    }

    /// The same with one more column.
    pub(crate) fn beside(mut self, column: impl IntoIterator<Item = Cell>) -> Self {
        self.rows.iter_mut().zip(column).for_each(|(row, cell)| row.push(cell));
        self
    }

    /// Writes the rows, each after `indent` spaces.
    pub(crate) fn write(&self, to: &mut dyn Write, indent: usize) -> io::Result<()> {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&cell.text);
                line.push_str(&" ".repeat(width - cell.plain_width.min(*width) + 2));
            }
            writeln!(to, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cell = |row: &Vec<Cell>| row.get(column).map(|cell| cell.plain_width);
            self.rows.iter().filter_map(cell).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

/// Writes `value` as JSON, indented, with a line feed at its end. Characters that a terminal obeys or
/// doesn't show are written `\uXXXX`, which is the same JSON.
pub(crate) fn write_json(to: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(to, "{}", escaped(&serde_json::to_string_pretty(value)?))
}

/// The same on one line, written at once.
pub(crate) fn write_json_line(to: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(to, "{}", escaped(&serde_json::to_string(value)?))?;
    to.flush()
}

fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\n' => text.push('\n'),
            odd if odd.is_control() || is_invisible(odd) => push_escape(&mut text, odd),
            plain => text.push(plain),
        }
    }
    text
}

fn push_escape(text: &mut String, character: char) {
    let mut units = [0; 2];
    for unit in character.encode_utf16(&mut units) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(terminal: bool, variables: &[(&str, &str)]) -> bool {
        wants_colour(terminal, &|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colour_follows_the_terminal_and_the_variables() {
        assert!(colour(true, &[]));
        assert!(!colour(false, &[]));
        assert!(!colour(true, &[("NO_COLOR", "1")]));
        assert!(colour(true, &[("NO_COLOR", "")]));
        assert!(!colour(true, &[("CLICOLOR", "0")]));
        assert!(colour(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!colour(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!colour(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(!colour(true, &[("TERM", "dumb")]));
    }

    #[test]
    fn durations_read_well() {
        let said: Vec<_> = [0, 999, 1200, 59_999, 61_000, 3_600_000].map(duration).into();
        assert_eq!(said, ["0 ms", "999 ms", "1.2 s", "59.9 s", "1 min 01 s", "1 h 00 min"]);
    }

    #[test]
    fn a_command_reads_as_it_would_be_typed() {
        assert_eq!(shown_command(&["sh", "-c", "echo 'a' \x1b[31m", ""]), {
            let escape = shown("\x1b");
            format!(r"sh -c 'echo '\''a'\'' {escape}[31m' ''")
        });
    }

    #[test]
    fn json_is_inert_and_the_same() {
        let value = "\u{202e}\u{e0041}\u{9b}31m\x1b[0m\n\"ü\u{7f}";
        let mut written = Vec::new();
        write_json(&mut written, &value).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(text.trim_end().chars().all(|c| !c.is_control() && !is_invisible(c)), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }

    #[test]
    fn columns_line_up_whatever_is_painted() {
        let paint = Paint { colour: true };
        let mut table = Table::default();
        table.row([Cell::painted("ab", |t| paint.red(t)), Cell::plain("x")]);
        table.row([Cell::plain("abcd"), Cell::plain("y")]);
        let mut written = Vec::new();
        table.write(&mut written, 1).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), " \x1b[31mab\x1b[0m    x\n abcd  y\n");
    }
}
