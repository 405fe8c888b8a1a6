//! What the agent does, for a person who watches: a line or a few for each thing.
//!
//! All of it is text from the model and the sandbox, so all of it is made harmless first.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use api::event::{Event, Item, Shown, Status, Task, TaskState};
use names::printable_lines;

use crate::console::{Paint, Stream, shortened, shown};

/// Lines of a command's output that are shown.
const OUTPUT: usize = 8;

/// A story that is told as it happens.
pub(super) struct Story {
    paint: Paint,
    columns: usize,
    /// What is being written, if its last line is open.
    writing: Option<String>,
    /// What was written as it came.
    written: BTreeSet<String>,
}

impl Story {
    pub(super) fn new(paint: Paint, columns: usize) -> Self {
        Self { paint, columns, writing: None, written: BTreeSet::new() }
    }

    /// Tells one event.
    pub(super) fn tell(&mut self, event: &Event, to: &mut Stream<'_>) -> io::Result<()> {
        match event {
            Event::ThreadStarted { model, .. } => {
                writeln!(to, "{} {}", self.paint.dim("loop: model"), shown(model))?;
            }
            Event::ItemUpdated { item } if self.writing.as_ref() == Some(&item.id) => {
                write!(to, "{}", printable_lines(item.delta.as_bytes()))?;
            }
            Event::ItemStarted {
                item: Item { id, what: Shown::Message { text } | Shown::Reasoning { text } },
            } => {
                self.close(to)?;
                self.writing = Some(id.clone());
                self.written.insert(id.clone());
                write!(to, "{}", printable_lines(text.as_bytes()))?;
            }
            Event::ItemCompleted { item } => self.tell_item(item, to)?,
            Event::ItemStarted { .. }
            | Event::ItemUpdated { .. }
            | Event::TurnStarted { .. }
            | Event::TurnCompleted { .. }
            | Event::TurnFailed { .. } => {}
        }
        to.flush()
    }

    /// Ends the line of a message that is being written.
    fn close(&mut self, to: &mut Stream<'_>) -> io::Result<()> {
        match self.writing.take() {
            Some(_) => writeln!(to),
            None => Ok(()),
        }
    }

    fn tell_item(&mut self, item: &Item, to: &mut Stream<'_>) -> io::Result<()> {
        if self.written.remove(&item.id) {
            // All of it was seen as it came.
            return if self.writing.as_ref() == Some(&item.id) { self.close(to) } else { Ok(()) };
        }
        self.close(to)?;
        let paint = self.paint;
        match &item.what {
            Shown::Message { text } => writeln!(to, "{}", lines(text).trim_end()),
            Shown::Reasoning { text } => writeln!(to, "{}", paint.dim(lines(text).trim_end())),
            Shown::ToolCall { tool, arguments, output, status } => {
                self.head(&format!("{} {}", shown(tool), self.short(arguments)), *status, to)?;
                self.if_refused(output, *status, to)
            }
            Shown::Command { command, output, exit_code, status } => {
                let code = exit_code.filter(|code| *code != 0).map(|code| format!("  exit {code}"));
                let code = code.map(|code| paint.red(&code)).unwrap_or_default();
                let head = format!("{} {}{code}", paint.bold("$"), self.short(command));
                self.head(&head, *status, to)?;
                self.output(output, to)
            }
            Shown::FileChange { tool, path, output, status } => {
                let path = path.as_deref().unwrap_or("files");
                self.head(&format!("{} {}", shown(tool), paint.bold(&shown(path))), *status, to)?;
                self.if_refused(output, *status, to)
            }
            Shown::Todo { items } => items.iter().try_for_each(|task| self.task(task, to)),
            Shown::Compaction { before, after, .. } => {
                let told = format!("made room: {before} tokens of context became {after}");
                writeln!(to, "{}", paint.dim(&told))
            }
            Shown::Error { message } => {
                writeln!(to, "{} {}", paint.yellow("!"), lines(message).trim_end())
            }
        }
    }

    fn head(&self, text: &str, status: Status, to: &mut Stream<'_>) -> io::Result<()> {
        let paint = self.paint;
        let mark = match status {
            Status::InProgress => paint.dim("…"),
            Status::Completed => paint.green("·"),
            Status::Failed => paint.red("×"),
            Status::Denied => paint.red("denied"),
            Status::Unknown => paint.yellow("?"),
        };
        writeln!(to, "{mark} {text}")
    }

    fn task(&self, task: &Task, to: &mut Stream<'_>) -> io::Result<()> {
        let mark = match task.state {
            TaskState::Open => "[ ]",
            TaskState::Doing => "[>]",
            TaskState::Done => "[x]",
        };
        writeln!(to, "  {} {}", self.paint.dim(mark), self.short(&task.text))
    }

    /// Why something did not happen; what did is not repeated.
    fn if_refused(&self, output: &str, status: Status, to: &mut Stream<'_>) -> io::Result<()> {
        match status {
            Status::Completed | Status::InProgress => Ok(()),
            Status::Failed | Status::Denied | Status::Unknown => self.output(output, to),
        }
    }

    /// The end of an output.
    fn output(&self, output: &str, to: &mut Stream<'_>) -> io::Result<()> {
        let text = lines(output);
        let all: Vec<_> = text.trim_end().lines().collect();
        let hidden = all.len().saturating_sub(OUTPUT);
        if hidden > 0 {
            writeln!(to, "  {}", self.paint.dim(&format!("… {hidden} lines before")))?;
        }
        let width = self.columns.saturating_sub(2);
        all.iter()
            .skip(hidden)
            .try_for_each(|line| writeln!(to, "  {}", self.paint.dim(&shortened(line, width))))
    }

    /// On a line.
    fn short(&self, text: &str) -> String {
        let words: Vec<_> = text.split_whitespace().collect();
        shortened(&shown(words.join(" ")), self.columns.saturating_sub(12))
    }
}

fn lines(text: &str) -> String {
    printable_lines(text.as_bytes())
}
