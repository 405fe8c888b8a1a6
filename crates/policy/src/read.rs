//! The text of a profile, checked against the table of settings: sections, keys, types, places.
//!
//! Every problem is collected; a value with a problem is left out, so that what follows sees only
//! values of the right shape.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Problem, ProfileError};
use crate::rule::{Layer, Origin};
use crate::settings::{SECTIONS, Section, Setting, Shape, Within, section};
use names::nearest;

/// Longest profile, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// A value and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) line: u32,
    pub(crate) value: T,
}

/// The value of a key, of the shape that the table of settings says.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Switch(bool),
    Whole(i64),
    Number(f64),
    Texts(Vec<At<String>>),
    Wholes(Vec<At<i64>>),
    Map(Vec<(String, At<String>)>),
}

/// One section as it stands in a file.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) section: &'static Section,
    pub(crate) line: u32,
    values: BTreeMap<&'static str, At<Value>>,
    refused: Vec<&'static str>,
}

/// A file's sections, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) entries: Vec<Entry>,
    /// Sections written as an empty list.
    pub(crate) emptied: Vec<&'static str>,
}

impl Document {
    /// The section, if the file has it.
    pub(crate) fn take(&mut self, name: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.section.name == name)?;
        Some(self.entries.remove(at))
    }

    /// The sections of this name, in order.
    pub(crate) fn take_all(&mut self, name: &str) -> Vec<Entry> {
        self.entries.extract_if(.., |entry| entry.section.name == name).collect()
    }

    /// Whether the file has the section, be it as an empty list.
    pub(crate) fn states(&self, name: &str) -> bool {
        self.emptied.contains(&name) || self.entries.iter().any(|entry| entry.section.name == name)
    }
}

macro_rules! take_as {
    ($name:ident, $variant:ident, $type:ty) => {
        /// The key's value, if the file has it in that shape.
        pub(crate) fn $name(&mut self, key: &str) -> Option<At<$type>> {
            match self.values.remove(key) {
                Some(At { line, value: Value::$variant(value) }) => Some(At { line, value }),
                _ => None,
            }
        }
    };
}

impl Entry {
    take_as!(text, Text, String);
    take_as!(switch, Switch, bool);
    take_as!(whole, Whole, i64);
    take_as!(number, Number, f64);
    take_as!(texts, Texts, Vec<At<String>>);
    take_as!(wholes, Wholes, Vec<At<i64>>);
    take_as!(map, Map, Vec<(String, At<String>)>);

    /// The keys that nobody took, with their lines.
    pub(crate) fn rest(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.values.iter().map(|(key, at)| (*key, at.line))
    }

    /// Whether the key's value could be read and nobody took it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The line of the key, if its value is an empty list.
    pub(crate) fn empty_list(&self, key: &str) -> Option<u32> {
        let at = self.values.get(key)?;
        match &at.value {
            Value::Texts(list) => list.is_empty().then_some(at.line),
            Value::Wholes(list) => list.is_empty().then_some(at.line),
            _ => None,
        }
    }

    /// Whether the file has the key, be it with a value that was refused.
    pub(crate) fn mentions(&self, key: &str) -> bool {
        self.values.contains_key(key) || self.refused.contains(&key)
    }
}

/// Where problems are collected.
#[derive(Debug)]
pub(crate) struct Problems {
    source: String,
    pub(crate) errors: Vec<ProfileError>,
}

impl Problems {
    pub(crate) fn new(source: &str) -> Self {
        Self { source: source.to_owned(), errors: Vec::new() }
    }

    pub(crate) fn origin(&self, line: u32, key: impl Into<String>) -> Origin {
        Origin { source: self.source.clone(), line, key: key.into() }
    }

    pub(crate) fn add(&mut self, line: u32, key: impl Into<String>, problem: impl Into<Problem>) {
        let origin = self.origin(line, key);
        self.errors.push(ProfileError { origin, problem: problem.into() });
    }
}

/// Reads a file of this layer.
pub(crate) fn read(text: &str, layer: Layer, problems: &mut Problems) -> Document {
    if text.len() > LONGEST {
        problems.add(1, "", Problem::TooLong { cap: LONGEST });
        return Document::default();
    }
    let lines = Lines::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = error.span().map_or(1, |span| lines.line_of(&span));
        let message = names::printable(error.message().as_bytes());
        problems.add(line, "", Problem::Syntax(message));
    }
    if !errors.is_empty() {
        // What the parser guesses from there on would only add noise.
        return Document::default();
    }
    let mut reader = Reader { lines, layer, problems, document: Document::default() };
    for (name, value) in table.get_ref() {
        reader.section(name, value);
    }
    let mut document = reader.document;
    document.entries.sort_by_key(|entry| entry.line);
    document
}

/// Where the lines of a text start.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(end, _)| end).collect())
    }

    fn line_of(&self, span: &Range<usize>) -> u32 {
        let before = self.0.partition_point(|end| *end < span.start);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }
}

struct Reader<'p> {
    lines: Lines,
    layer: Layer,
    problems: &'p mut Problems,
    document: Document,
}

type Name<'i> = Spanned<std::borrow::Cow<'i, str>>;

impl Reader<'_> {
    fn section(&mut self, name: &Name<'_>, value: &Spanned<DeValue<'_>>) {
        let line = self.lines.line_of(&name.span());
        let shown = names::printable(name.get_ref().as_bytes());
        let Some(section) = section(name.get_ref()) else {
            let near = nearest(name.get_ref(), SECTIONS.iter().map(|section| section.name));
            return self.problems.add(line, shown, Problem::UnknownSection { near });
        };
        if !self.may_stand(section.within) {
            return self.wrong_file(line, section.name.to_owned(), section.within);
        }
        match (section.many, value.get_ref()) {
            (false, DeValue::Table(table)) => self.entry(section, line, table),
            (true, DeValue::Array(tables)) => self.tables(section, tables),
            _ => self.problems.add(line, section.name, Problem::WrongHead { head: section.head() }),
        }
    }

    fn tables(&mut self, section: &'static Section, tables: &[Spanned<DeValue<'_>>]) {
        if tables.is_empty() {
            self.document.emptied.push(section.name);
        }
        for table in tables {
            let line = self.lines.line_of(&table.span());
            match table.get_ref() {
                DeValue::Table(table) => self.entry(section, line, table),
                _ => {
                    let head = section.head();
                    self.problems.add(line, section.name, Problem::WrongHead { head });
                }
            }
        }
    }

    fn entry(&mut self, section: &'static Section, line: u32, table: &DeTable<'_>) {
        let mut entry = Entry { section, line, values: BTreeMap::new(), refused: Vec::new() };
        for (name, value) in table {
            self.key(&mut entry, name, value);
        }
        for setting in section.settings.iter().filter(|setting| setting.required) {
            if !entry.mentions(setting.key) {
                let key = format!("{}.{}", section.name, setting.key);
                let (section, meaning) = (section.head(), setting.meaning);
                self.problems.add(line, key, Problem::Missing { section, meaning });
            }
        }
        self.document.entries.push(entry);
    }

    fn key(&mut self, entry: &mut Entry, name: &Name<'_>, value: &Spanned<DeValue<'_>>) {
        let line = self.lines.line_of(&name.span());
        let section = entry.section;
        let shown = || format!("{}.{}", section.name, names::printable(name.get_ref().as_bytes()));
        let Some(setting) = section.setting(name.get_ref()) else {
            let keys: Vec<_> = section.settings.iter().map(|setting| setting.key).collect();
            let near = nearest(name.get_ref(), keys.iter().copied());
            let key = shown();
            let section = section.head();
            return self.problems.add(line, key, Problem::UnknownKey { section, near, keys });
        };
        if !self.may_stand(setting.within) {
            entry.refused.push(setting.key);
            return self.wrong_file(line, shown(), setting.within);
        }
        match self.value(setting, &shown, value) {
            Some(value) => {
                entry.values.insert(setting.key, At { line, value });
            }
            None => entry.refused.push(setting.key),
        }
    }

    fn may_stand(&self, within: Within) -> bool {
        match within {
            Within::Any => true,
            Within::Named => self.layer == Layer::Named,
            Within::Persons => matches!(self.layer, Layer::Owner | Layer::Named),
            Within::Owner => matches!(self.layer, Layer::Owner | Layer::Pinned),
        }
    }

    fn wrong_file(&mut self, line: u32, key: String, within: Within) {
        let layer = match self.layer {
            Layer::Pinned => "a text compiled in",
            Layer::Owner => "the owner's configuration",
            Layer::Named => "a named profile",
            Layer::Project => "a project's configuration",
            Layer::Flags => "a flag",
        };
        self.problems.add(line, key, Problem::WrongFile { layer, within });
    }

    /// The value in the shape of its setting; `None`, with a problem, if it has another.
    fn value(
        &mut self,
        setting: &Setting,
        key: &dyn Fn() -> String,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let read = match (setting.shape, value.get_ref()) {
            (Shape::Texts, DeValue::Array(items)) => {
                return self.items(key, items, Shape::Text, text).map(Value::Texts);
            }
            (Shape::Wholes, DeValue::Array(items)) => {
                return self.items(key, items, Shape::Whole, whole).map(Value::Wholes);
            }
            (Shape::Map, DeValue::Table(table)) => return self.map(key, table),
            (Shape::Text, value) => text(value).map(Value::Text),
            (Shape::Switch, value) => value.as_bool().map(Value::Switch),
            (Shape::Whole, value) => whole(value).map(Value::Whole),
            (Shape::Number, value) => number(value).map(Value::Number),
            _ => None,
        };
        if read.is_none() {
            self.wrong_type(key, setting.shape, value);
        }
        read
    }

    fn items<T>(
        &mut self,
        key: &dyn Fn() -> String,
        items: &[Spanned<DeValue<'_>>],
        shape: Shape,
        read: fn(&DeValue<'_>) -> Option<T>,
    ) -> Option<Vec<At<T>>> {
        let mut all = Some(Vec::new());
        for item in items {
            let line = self.lines.line_of(&item.span());
            match read(item.get_ref()) {
                Some(value) => {
                    if let Some(all) = &mut all {
                        all.push(At { line, value });
                    }
                }
                None => {
                    all = None;
                    self.wrong_type(key, shape, item);
                }
            }
        }
        all
    }

    fn map(&mut self, key: &dyn Fn() -> String, table: &DeTable<'_>) -> Option<Value> {
        let mut all = Some(Vec::new());
        for (name, value) in table {
            let line = self.lines.line_of(&name.span());
            match (text(value.get_ref()), &mut all) {
                (Some(value), Some(all)) => {
                    all.push((name.get_ref().clone().into_owned(), At { line, value }));
                }
                (Some(_), None) => {}
                (None, _) => {
                    all = None;
                    let part = names::printable(name.get_ref().as_bytes());
                    self.wrong_type(&|| format!("{}.{part}", key()), Shape::Text, value);
                }
            }
        }
        all.map(Value::Map)
    }

    fn wrong_type(
        &mut self,
        key: &dyn Fn() -> String,
        wanted: Shape,
        value: &Spanned<DeValue<'_>>,
    ) {
        let line = self.lines.line_of(&value.span());
        let found = found(value.get_ref(), wanted).to_owned();
        self.problems.add(line, key(), Problem::WrongType { wanted, found });
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn whole(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => {
            float.as_str().parse().ok().filter(|number: &f64| number.is_finite())
        }
        value => whole(value).and_then(|whole| i32::try_from(whole).ok()).map(f64::from),
    }
}

/// What a person would call the value.
fn found(value: &DeValue<'_>, wanted: Shape) -> &'static str {
    match (value, wanted) {
        (DeValue::Integer(_), Shape::Whole | Shape::Number) => "a number that is too large",
        (DeValue::Float(_), Shape::Number) => "not finite",
        (DeValue::String(_), _) => "a string",
        (DeValue::Integer(_), _) => "a whole number",
        (DeValue::Float(_), _) => "a number with a fraction",
        (DeValue::Boolean(_), _) => "true or false",
        (DeValue::Datetime(_), _) => "a date or a time",
        (DeValue::Array(_), _) => "a list",
        (DeValue::Table(_), _) => "a table",
    }
}
