//! The person at the terminal of a command: what the prompt says, and what a key means.

use std::cell::Cell;
use std::path::Path;

use api::event::Question;
use api::{AskCap, AskView, CheckProgress, Choice, Person, Publication};

use crate::ask::{self, Room};
use crate::commands::checking;
use crate::console::{Paint, shortened, shown};

/// Lines of a prompt besides what it is about: the title, what else waits, the keys, and between.
const FRAME: usize = 6;
/// On a smaller screen nobody can read what they approve.
const LEAST_ROWS: u16 = 12;
const LEAST_COLUMNS: u16 = 60;
/// What the keyboard sends for Ctrl-C.
const INTERRUPT: u8 = 3;

/// What is on the last line of the person's terminal and not ended yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// Nothing.
    #[default]
    Empty,
    /// Something that only says what goes on.
    Passing,
    /// The beginning of a line that goes on.
    Text,
}

impl LastLine {
    /// What brings whoever writes next to the beginning of a line.
    pub(crate) fn left(self) -> &'static str {
        match self {
            Self::Empty => "",
            Self::Passing => "\r\x1b[K",
            Self::Text => "\n",
        }
    }
}

/// How this client speaks to the person.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtTerminal<'a> {
    /// What their terminal shows meanwhile.
    pub(crate) last_line: &'a Cell<LastLine>,
    /// Whether their terminal can show a prompt.
    pub(crate) prompts: bool,
    /// Whether they can answer a question with a line.
    pub(crate) questions: bool,
    /// Whether they want to be told nothing but prompts.
    pub(crate) quiet: bool,
    /// The columns for a line beside a command's output.
    pub(crate) columns: usize,
    /// How it is coloured.
    pub(crate) paint: Paint,
}

impl AtTerminal<'_> {
    fn aside(&self, text: &str) -> String {
        match self.quiet {
            true => String::new(),
            false => format!("{}{} {text}\n", self.last_line.get().left(), self.paint.dim("loop:")),
        }
    }

    fn keys(&self) -> String {
        let key = |key: &str, meaning: &str| format!("{} {meaning}", self.paint.bold(key));
        let keys = [
            key("y", "once"),
            key("a", "for this run"),
            key("n", "deny"),
            key("s", "deny and stop the run"),
        ];
        format!("  {}", keys.join("   "))
    }
}

impl Person for AtTerminal<'_> {
    fn can_be_asked(&self, rows: u16, columns: u16) -> bool {
        self.prompts && rows >= LEAST_ROWS && columns >= LEAST_COLUMNS
    }

    fn prompt(&self, ask: &AskView, more: usize, rows: u16, columns: u16) -> String {
        let rows = usize::from(rows).saturating_sub(FRAME);
        let room = Room { rows, columns: columns.into() };
        let id = self.paint.dim(&format!("ask {}", ask.id));
        let mut lines = vec![format!("{}  {id}", self.paint.bold(&ask::title(ask))), String::new()];
        lines.extend(ask::lines(ask, room, self.paint));
        let waits = match more {
            0 => String::new(),
            1 => "1 more waiting, ".to_owned(),
            more => format!("{more} more waiting, "),
        };
        let time = ask.expires.to_string();
        let clock = time.split_once('T').map_or(time.as_str(), |(_, clock)| clock);
        let clock = clock.split('.').next().unwrap_or(clock);
        lines.push(String::new());
        lines.push(self.paint.dim(&format!("  {waits}denied at {clock} UTC if nobody answers")));
        lines.push(String::new());
        lines.push(self.keys() + " ");
        lines.join("\n")
    }

    fn choice(&self, key: u8) -> Option<Choice> {
        match key {
            b'y' => Some(Choice::Once),
            b'a' => Some(Choice::Run),
            b'n' => Some(Choice::Deny { reason: None }),
            b's' | INTERRUPT => Some(Choice::Stop { reason: None }),
            _ => None,
        }
    }

    fn chosen(&self, ask: &AskView, choice: &Choice) -> String {
        let what = ask::brief(ask, self.columns.saturating_sub(30));
        self.aside(&format!("{}: {what}", chosen(choice, self.paint)))
    }

    fn gone(&self, ask: &AskView) -> String {
        self.aside(&format!(
            "no longer waits: {}",
            ask::brief(ask, self.columns.saturating_sub(30))
        ))
    }

    fn not_counted(&self, _: &AskView, why: &str) -> String {
        self.aside(&format!("{}: {}", self.paint.yellow("the answer does not count"), shown(why)))
    }

    fn waits(&self, ask: &AskView) -> String {
        let what = ask::brief(ask, self.columns.saturating_sub(20));
        let id = &ask.id;
        let told = format!("{} {what}", self.paint.yellow("waits for you:"));
        self.aside(&told) + &self.aside(&format!("  `loop approve {id}` or `loop deny {id}`"))
    }

    fn published(&self, publish: &[Publication]) -> String {
        let line = |&Publication { outside, port }: &Publication| {
            let inside = match outside == port {
                true => String::new(),
                false => format!(", port {port} inside"),
            };
            self.aside(&format!("{} 127.0.0.1:{outside}{inside}", self.paint.green("published")))
        };
        publish.iter().map(line).collect()
    }

    fn held_to(&self, contract: &Path) -> String {
        self.aside(&format!("held to {}, which you trust", shown(contract)))
    }

    fn checking(&self, check: &CheckProgress) -> String {
        let what = shortened(&checking(check), self.columns.saturating_sub(6));
        self.aside(&self.paint.dim(&what))
    }

    fn capped(&self, cap: &AskCap) -> String {
        let key = shown(&cap.key);
        self.aside(&format!(
            "{}: {key} is {}, so more are denied unasked",
            self.paint.yellow("too many asks"),
            cap.limit
        ))
    }

    fn question(&self, question: &Question) -> Option<String> {
        if !self.questions {
            return None;
        }
        let text = names::printable_lines(question.text.as_bytes());
        let left = self.last_line.get().left();
        let asks = self.paint.bold("the agent asks:");
        let mut said = format!("{left}{asks} {}\n", text.trim_end());
        for option in &question.options {
            said.push_str(&format!("  - {}\n", shown(option)));
        }
        said.push_str(&self.paint.dim("your answer, or nothing to decline: "));
        Some(said)
    }
}

/// What was chosen, as a person says it.
pub(crate) fn chosen(choice: &Choice, paint: Paint) -> String {
    match choice {
        Choice::Once => paint.green("approved once"),
        Choice::Run => paint.green("approved for this run"),
        Choice::Deny { .. } => paint.red("denied"),
        Choice::Stop { .. } => paint.red("denied, and the run is stopped"),
    }
}
