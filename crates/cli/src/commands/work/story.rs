//! What the agent does, for a person who watches: a line or a few for each thing.
//!
//! All of it is text from the model and the sandbox, so all of it is made harmless first.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Write as _};

use api::VerificationView;
use api::event::{Event, Item, Shown, Status, Task, TaskState};
use names::printable_lines;

use crate::commands::{checking, verification};
use crate::console::{Console, Paint, Stream, shortened, shown};
use crate::person::LastLine;

/// Lines of a command's output that are shown.
const OUTPUT: usize = 8;
/// The tool that asks the person.
const ASK: &str = "ask";
/// The width of a line that only says what goes on: such that no usual window wraps it.
const PASSING: usize = 40;

/// A story that is told as it happens.
pub(super) struct Story<'a> {
    paint: Paint,
    columns: usize,
    /// Whether a line can be erased again.
    live: bool,
    last_line: &'a Cell<LastLine>,
    /// What was told last.
    last: Option<Part>,
    /// What is being written, if its last line is open.
    writing: Option<Writing>,
    /// What was written as it came.
    written: BTreeMap<String, Part>,
}

/// What belongs together, and apart from anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Message,
    Reasoning,
    Work,
}

/// A text that is told as it comes.
struct Writing {
    id: String,
    part: Part,
    /// White space that is only written if more follows.
    held: String,
    begun: bool,
}

impl<'a> Story<'a> {
    pub(super) fn new(console: &Console, last_line: &'a Cell<LastLine>) -> Self {
        Self {
            paint: console.err.paint,
            columns: console.columns,
            live: console.prompts && console.err.terminal,
            last_line,
            last: None,
            writing: None,
            written: BTreeMap::new(),
        }
    }

    /// Tells one event.
    pub(super) fn tell(&mut self, event: &Event, to: &mut Stream<'_>) -> io::Result<()> {
        match event {
            Event::ThreadStarted { model, .. } => {
                self.begin(Part::Head, to)?;
                writeln!(to, "{} {}", self.paint.dim("loop: model"), shown(model))?;
            }
            Event::ItemStarted { item } => self.start(item, to)?,
            Event::ItemUpdated { item } => self.more(&item.id, &item.delta, to)?,
            Event::ItemCompleted { item } => {
                self.tell_item(item, to)?;
                self.pass("waiting for the model", to)?;
            }
            Event::TurnStarted { .. } => self.pass("waiting for the model", to)?,
            Event::TurnCompleted { .. } | Event::TurnFailed { .. } => self.leave(to)?,
            Event::CheckStarted { check } => self.pass(&checking(check), to)?,
            Event::VerificationCompleted { verification, .. } => self.verified(verification, to)?,
        }
        to.flush()
    }

    fn verified(&mut self, view: &VerificationView, to: &mut Stream<'_>) -> io::Result<()> {
        self.begin(Part::Work, to)?;
        for (mark, told) in verification::told(view, self.paint) {
            writeln!(to, "{mark} {}", self.short(&told))?;
        }
        Ok(())
    }

    fn start(&mut self, item: &Item, to: &mut Stream<'_>) -> io::Result<()> {
        match &item.what {
            Shown::Message { text } => self.write(&item.id, Part::Message, text, to),
            Shown::Reasoning { text } => self.write(&item.id, Part::Reasoning, text, to),
            // Who asks says so.
            Shown::ToolCall { tool, .. } if tool == ASK => self.leave(to),
            Shown::ToolCall { tool, words, .. } | Shown::FileChange { tool, words, .. } => {
                self.pass(&format!("{tool} {words}"), to)
            }
            Shown::Command { command, .. } => self.pass(&format!("$ {command}"), to),
            Shown::Todo { .. } | Shown::Compaction { .. } | Shown::Error { .. } => Ok(()),
        }
    }

    /// Begins a text that is told as it comes.
    fn write(&mut self, id: &str, part: Part, text: &str, to: &mut Stream<'_>) -> io::Result<()> {
        self.written.insert(id.to_owned(), part);
        self.more(id, text, to)
    }

    /// More of it. White space at either end of the whole is left out.
    fn more(&mut self, id: &str, delta: &str, to: &mut Stream<'_>) -> io::Result<()> {
        let Some(part) = self.written.get(id).copied() else { return Ok(()) };
        let mut writing = match self.writing.take() {
            Some(writing) if writing.id == id => writing,
            _ => {
                self.leave(to)?;
                Writing { id: id.to_owned(), part, held: String::new(), begun: false }
            }
        };
        let text = std::mem::take(&mut writing.held) + delta;
        let told = text.trim_end();
        writing.held.push_str(text.get(told.len()..).unwrap_or_default());
        let told = if writing.begun { told } else { told.trim_start() };
        if !told.is_empty() {
            if !writing.begun {
                self.begin(writing.part, to)?;
                writing.begun = true;
            }
            let told = lines(told);
            let told = match writing.part {
                Part::Reasoning => self.paint.dim(&told),
                _ => told,
            };
            write!(to, "{told}")?;
            self.last_line.set(LastLine::Text);
        } else if !writing.begun {
            writing.held.clear();
        }
        self.writing = Some(writing);
        Ok(())
    }

    /// Begins a part, with a blank line before it where it is another, or a text.
    fn begin(&mut self, part: Part, to: &mut Stream<'_>) -> io::Result<()> {
        self.leave(to)?;
        let apart = part != Part::Work || self.last != Some(part);
        if self.last.is_some() && apart {
            writeln!(to)?;
        }
        self.last = Some(part);
        Ok(())
    }

    /// Says what goes on, on a line that the next thing takes away.
    fn pass(&mut self, what: &str, to: &mut Stream<'_>) -> io::Result<()> {
        if !self.live || self.writing.is_some() {
            return Ok(());
        }
        self.leave(to)?;
        let words: Vec<_> = what.split_whitespace().collect();
        let width = PASSING.min(self.columns.saturating_sub(1));
        let line = shortened(&format!("… {}", shown(words.join(" "))), width);
        write!(to, "{}", self.paint.dim(&line))?;
        self.last_line.set(LastLine::Passing);
        Ok(())
    }

    /// Goes to the beginning of a line.
    fn leave(&mut self, to: &mut Stream<'_>) -> io::Result<()> {
        self.writing = None;
        write!(to, "{}", self.last_line.take().left())
    }

    fn tell_item(&mut self, item: &Item, to: &mut Stream<'_>) -> io::Result<()> {
        if self.written.remove(&item.id).is_some() {
            // All of it was seen as it came.
            let open = self.writing.as_ref().is_some_and(|writing| writing.id == item.id);
            return if open { self.leave(to) } else { Ok(()) };
        }
        let paint = self.paint;
        match &item.what {
            Shown::Message { text } => {
                self.begin(Part::Message, to)?;
                writeln!(to, "{}", lines(text).trim())
            }
            Shown::Reasoning { text } => {
                self.begin(Part::Reasoning, to)?;
                writeln!(to, "{}", paint.dim(lines(text).trim()))
            }
            // Who answered has seen it.
            Shown::ToolCall { tool, status: Status::Completed, .. } if tool == ASK => {
                self.begin(Part::Work, to)
            }
            what => {
                self.begin(Part::Work, to)?;
                self.tell_work(what, to)
            }
        }
    }

    fn tell_work(&self, what: &Shown, to: &mut Stream<'_>) -> io::Result<()> {
        let paint = self.paint;
        match what {
            Shown::ToolCall { tool, words, arguments, output, status } => {
                let words = if words.is_empty() { arguments } else { words };
                self.head(&format!("{} {}", shown(tool), self.short(words)), *status, to)?;
                self.if_refused(output, *status, to)
            }
            Shown::Command { command, output, exit_code, status } => {
                let code = exit_code.filter(|code| *code != 0).map(|code| format!("  exit {code}"));
                let code = code.map(|code| paint.red(&code)).unwrap_or_default();
                let head = format!("{} {}{code}", paint.bold("$"), self.short(command));
                self.head(&head, *status, to)?;
                let told = exit_code.map(|code| format!("[exit code {code}]")).unwrap_or_default();
                let output = output.trim_end();
                self.output(output.strip_suffix(&told).unwrap_or(output), to)
            }
            Shown::FileChange { tool, path, words, output, status } => {
                let path = path.as_deref().unwrap_or(words);
                self.head(
                    &format!("{} {}", shown(tool), paint.bold(&self.short(path))),
                    *status,
                    to,
                )?;
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
            Shown::Message { .. } | Shown::Reasoning { .. } => Ok(()),
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
