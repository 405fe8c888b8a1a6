//! Looking for lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};

use super::Done;
use super::file::{Found, open};
use super::list::{start, told};
use super::place::Project;
use super::read::{Kind, kind_of};
use super::walk::{Pattern, files};
use crate::proposal::{GrepMode, Outcome};

/// Results that are told at once: lines, or files.
const PAGE: usize = 200;
/// Bytes of lines that are told at once.
const MOST: usize = 48 << 10;
/// Results after which nobody counts on.
const COUNTED: usize = 10_000;
/// Bytes of a line that are looked at, and told.
const LOOKED_AT: u64 = 1 << 20;
const LONGEST_LINE: usize = 500;
/// Lines around a match, at most.
const MOST_CONTEXT: u32 = 20;
/// Bytes that a compiled pattern may take.
const PATTERN: usize = 4 << 20;

/// What is looked for, and where.
pub(crate) struct Search<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) path: Option<&'a str>,
    pub(crate) glob: Option<&'a str>,
    pub(crate) ignore_case: bool,
    pub(crate) context: u32,
    pub(crate) mode: GrepMode,
    pub(crate) offset: u64,
}

/// Looks for it.
pub(crate) fn grep(project: &Project, search: &Search<'_>) -> Done {
    let pattern = compile(search)?;
    let names = search.glob.map(Pattern::read).transpose()?;
    let root = project.path(search.path.unwrap_or("."));
    std::fs::metadata(&root).map_err(|error| project.explain(&root, &error))?;
    let mut found = Results::new(project, search);
    let wanted = |file: &Path| names.as_ref().is_none_or(|names| names.matches(&root, file));
    for file in files(&root).filter(|file| wanted(file)) {
        if found.total >= COUNTED {
            break;
        }
        found.look(&file, &pattern);
    }
    Ok(found.outcome())
}

fn compile(search: &Search<'_>) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(search.pattern);
    builder.case_insensitive(search.ignore_case).size_limit(PATTERN).dfa_size_limit(PATTERN);
    builder.build().map_err(|error| format!("the pattern is not a regular expression: {error}"))
}

/// What was found so far, and the page of it that is told.
struct Results<'a> {
    project: &'a Project,
    mode: GrepMode,
    context: usize,
    from: usize,
    page: Vec<String>,
    /// Results on the page; lines of context are none.
    told: usize,
    bytes: usize,
    total: usize,
}

impl<'a> Results<'a> {
    fn new(project: &'a Project, search: &Search<'_>) -> Self {
        let context = search.context.min(MOST_CONTEXT) as usize;
        let from = start(search.offset);
        let (mode, page) = (search.mode, Vec::new());
        Self { project, mode, context, from, page, told: 0, bytes: 0, total: 0 }
    }

    /// Looks into one file. One that can't be read, or is no text, has no lines.
    fn look(&mut self, path: &Path, pattern: &Regex) {
        let Some(mut lines) = TextLines::open(path) else { return };
        let mut count = 0_usize;
        let mut before = VecDeque::new();
        let mut after = 0;
        while let Some((number, line)) = lines.next_line() {
            if pattern.is_match(line) {
                count += 1;
                if self.mode == GrepMode::Files {
                    break;
                }
                after = self.context;
                if self.mode == GrepMode::Lines {
                    self.line(path, number, line, &mut before);
                }
                if self.total >= COUNTED {
                    break;
                }
            } else if self.mode == GrepMode::Lines && self.context > 0 {
                self.around(path, number, line, &mut before, &mut after);
            }
        }
        if count > 0 && self.mode != GrepMode::Lines {
            let shown = self.project.show(path);
            let text =
                if self.mode == GrepMode::Files { shown } else { format!("{shown}:{count}") };
            self.result(text);
        }
    }

    fn line(
        &mut self,
        path: &Path,
        number: u64,
        line: &[u8],
        before: &mut VecDeque<(u64, String)>,
    ) {
        let is_told = self.has_room() && self.total >= self.from;
        for (number, line) in before.drain(..).filter(|_| is_told) {
            self.tell(format!("{}-{number}-{line}", self.project.show(path)));
        }
        self.result(format!("{}:{number}:{}", self.project.show(path), cut(line)));
    }

    /// A line that does not match is told if it is near one that does.
    fn around(
        &mut self,
        path: &Path,
        number: u64,
        line: &[u8],
        before: &mut VecDeque<(u64, String)>,
        after: &mut usize,
    ) {
        if *after > 0 {
            *after -= 1;
            if self.total > self.from && self.has_room() {
                self.tell(format!("{}-{number}-{}", self.project.show(path), cut(line)));
            }
            return;
        }
        if before.len() == self.context {
            before.pop_front();
        }
        before.push_back((number, cut(line)));
    }

    fn result(&mut self, text: String) {
        if self.total >= self.from && self.has_room() {
            self.told += 1;
            self.tell(text);
        }
        self.total += 1;
    }

    fn tell(&mut self, text: String) {
        self.bytes += text.len();
        self.page.push(text);
    }

    /// Once something did not fit, nothing after it is told either, so that pages join.
    fn has_room(&self) -> bool {
        let complete = self.total.saturating_sub(self.from) <= self.told;
        complete && self.told < PAGE && self.bytes < MOST
    }

    fn outcome(self) -> Outcome {
        let from = self.from as u64;
        let mut outcome = told(&self.page, self.told, self.total, from, "nothing matches");
        if let Some(truncated) = outcome.truncated.as_mut().filter(|_| self.total >= COUNTED) {
            truncated.total = None;
        }
        outcome
    }
}

/// A line as it is told.
fn cut(line: &[u8]) -> String {
    let start = line.get(..LONGEST_LINE).unwrap_or(line);
    let more = if line.len() > LONGEST_LINE { " […]" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(start))
}

/// The lines of a file that is text.
struct TextLines {
    from: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

impl TextLines {
    fn open(path: &Path) -> Option<Self> {
        let Ok(Found::File(file, _)) = open(path) else { return None };
        let mut from = BufReader::with_capacity(64 << 10, file);
        let is_text = matches!(kind_of(from.fill_buf().ok()?), Kind::Text);
        is_text.then(|| Self { from, line: Vec::new(), number: 0 })
    }

    /// The next line without its end; of one that is very long, the beginning.
    fn next_line(&mut self) -> Option<(u64, &[u8])> {
        self.line.clear();
        let count = self.from.by_ref().take(LOOKED_AT).read_until(b'\n', &mut self.line).ok()?;
        if count == 0 {
            return None;
        }
        if count as u64 == LOOKED_AT && !self.line.ends_with(b"\n") {
            self.from.skip_until(b'\n').ok()?;
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Some((self.number, line.strip_suffix(b"\r").unwrap_or(line)))
    }
}
