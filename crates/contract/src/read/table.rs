//! A table of TOML whose keys are known: each is taken once, in the type that it has to have.

use std::borrow::Cow;
use std::ops::Range;

use names::printable;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::Fault;
use crate::terms::Command;
use names::nearest;

/// A value and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) line: u32,
    pub(super) value: T,
}

/// Where faults are collected.
pub(super) struct Faults {
    source: String,
    /// Where the lines end.
    ends: Vec<usize>,
    all: Vec<Fault>,
}

impl Faults {
    pub(super) fn of(text: &str, source: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let source = printable(source.as_bytes());
        Self { source, ends: ends.map(|(end, _)| end).collect(), all: Vec::new() }
    }

    pub(super) fn line_of(&self, span: &Range<usize>) -> u32 {
        let before = self.ends.partition_point(|end| *end < span.start);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    pub(super) fn add(
        &mut self,
        line: u32,
        key: &str,
        what: impl Into<String>,
        next: impl Into<String>,
    ) {
        self.all.push(Fault {
            source: self.source.clone(),
            line: Some(line),
            key: key.to_owned(),
            what: what.into(),
            next: next.into(),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a check may be missing because something is wrong with it.
    pub(super) fn spoils_a_check(&self) -> bool {
        self.all.iter().any(|fault| fault.key.starts_with("check"))
    }

    pub(super) fn in_order(mut self) -> Vec<Fault> {
        self.all.sort_by_key(|fault| fault.line);
        self.all
    }
}

/// A table, and what it is called in faults.
pub(super) struct Table<'t> {
    entries: &'t DeTable<'t>,
    pub(super) line: u32,
    name: &'static str,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Table<'t> {
    /// Takes a table; a key that is not among `keys` is a fault.
    pub(super) fn new(
        entries: &'t DeTable<'t>,
        line: u32,
        name: &'static str,
        keys: &[&'static str],
        faults: &mut Faults,
    ) -> Self {
        let table = Self { entries, line, name };
        for key in entries.keys() {
            let given: &Cow<'_, str> = key.get_ref();
            if keys.contains(&&**given) {
                continue;
            }
            let line = faults.line_of(&key.span());
            let full = table.full(&printable(given.as_bytes()));
            let next = match nearest(given, keys.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("what can stand here: {}", keys.join(", ")),
            };
            faults.add(line, &full, "there is no such key", next);
        }
        table
    }

    fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    fn value(&self, key: &str) -> Option<&'t Value<'t>> {
        self.entries.get(key)
    }

    /// Whether the key is there, be it with a value that is wrong.
    pub(super) fn states(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn wrong(&self, key: &str, value: &Value<'_>, wanted: &str, faults: &mut Faults) {
        let line = faults.line_of(&value.span());
        let what = format!("the value is {}, not {wanted}", found(value.get_ref()));
        faults.add(line, &self.full(key), what, format!("write {wanted}"));
    }

    pub(super) fn text(&mut self, key: &str, faults: &mut Faults) -> Option<At<String>> {
        let value = self.value(key)?;
        let line = faults.line_of(&value.span());
        match value.get_ref().as_str() {
            Some(text) => Some(At { line, value: text.to_owned() }),
            None => {
                self.wrong(key, value, "a text", faults);
                None
            }
        }
    }

    pub(super) fn needed_text(&mut self, key: &str, faults: &mut Faults) -> Option<At<String>> {
        if !self.states(key) {
            let what = format!("[[{}]] lacks it", self.name);
            faults.add(self.line, &self.full(key), what, format!("write: {key} = \"…\""));
        }
        self.text(key, faults)
    }

    pub(super) fn whole(
        &mut self,
        key: &str,
        (least, most): (i64, i64),
        faults: &mut Faults,
    ) -> Option<At<i64>> {
        let value = self.value(key)?;
        let line = faults.line_of(&value.span());
        if !matches!(value.get_ref(), DeValue::Integer(_)) {
            self.wrong(key, value, "a whole number", faults);
            return None;
        }
        match whole(value.get_ref()) {
            Some(number) if (least..=most).contains(&number) => Some(At { line, value: number }),
            _ => {
                let what = format!("the number is not between {least} and {most}");
                faults.add(line, &self.full(key), what, "write a number of that range");
                None
            }
        }
    }

    /// A number, or what stands there instead; a text in quotes.
    pub(super) fn number_or_word(
        &self,
        key: &str,
        faults: &Faults,
    ) -> Option<At<Result<i64, String>>> {
        let value = self.value(key)?;
        let line = faults.line_of(&value.span());
        let read = match value.get_ref() {
            DeValue::String(text) => Err(format!("`{}`", printable(text.as_bytes()))),
            other => whole(other).ok_or_else(|| format!("the value is {}", found(other))),
        };
        Some(At { line, value: read })
    }

    pub(super) fn texts(&mut self, key: &str, faults: &mut Faults) -> Option<Vec<At<String>>> {
        let value = self.value(key)?;
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, value, "a list of texts", faults);
            return None;
        };
        let mut texts = Vec::new();
        for item in items {
            let line = faults.line_of(&item.span());
            match item.get_ref().as_str() {
                Some(text) => texts.push(At { line, value: text.to_owned() }),
                None => self.wrong(key, item, "a text", faults),
            }
        }
        Some(texts)
    }

    /// A line, or a list of program and arguments.
    pub(super) fn command(&mut self, key: &str, faults: &mut Faults) -> Option<At<Command>> {
        let Some(value) = self.value(key) else {
            let what = format!("[[{}]] lacks it", self.name);
            faults.add(self.line, &self.full(key), what, format!("write: {key} = \"cargo test\""));
            return None;
        };
        let line = faults.line_of(&value.span());
        match value.get_ref() {
            DeValue::String(text) => {
                Some(At { line, value: Command::Shell(text.clone().into_owned()) })
            }
            DeValue::Array(_) => {
                let words = self.texts(key, faults)?.into_iter().map(|at| at.value).collect();
                Some(At { line, value: Command::Argv(words) })
            }
            _ => {
                self.wrong(key, value, "a line, or a list of program and arguments", faults);
                None
            }
        }
    }

    /// `[key]`.
    pub(super) fn table(
        &mut self,
        key: &'static str,
        keys: &[&'static str],
        faults: &mut Faults,
    ) -> Option<Table<'t>> {
        let value = self.value(key)?;
        let line = faults.line_of(&value.span());
        let name = if self.name == "check" { "check.expect" } else { key };
        match value.get_ref() {
            DeValue::Table(table) => Some(Table::new(table, line, name, keys, faults)),
            _ => {
                self.wrong(key, value, "a table", faults);
                None
            }
        }
    }

    /// `[[key]]`, each of them.
    pub(super) fn tables(
        &mut self,
        key: &'static str,
        keys: &[&'static str],
        most: usize,
        faults: &mut Faults,
    ) -> Vec<Table<'t>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, value, &format!("tables headed [[{key}]]"), faults);
            return Vec::new();
        };
        if items.is_empty() || items.len() > most {
            let what = format!("there are {} of them, not 1 to {most}", items.len());
            faults.add(faults.line_of(&value.span()), key, what, format!("write [[{key}]]"));
        }
        let mut tables = Vec::new();
        for item in items.iter().take(most) {
            let line = faults.line_of(&item.span());
            match item.get_ref() {
                DeValue::Table(table) => tables.push(Table::new(table, line, key, keys, faults)),
                _ => self.wrong(key, item, &format!("a table headed [[{key}]]"), faults),
            }
        }
        tables
    }
}

fn whole(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// What a person would call the value.
fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
