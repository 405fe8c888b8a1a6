//! Tests in sources of Rust: those of the base have to be there, item for item, in the same module,
//! behind the same attributes, and their names have to mean what they meant.

mod items;
mod lexer;

use std::collections::{BTreeMap, BTreeSet};

use names::Digest;

use super::{Found, MOST};
use items::{Import, Item, Module};

/// A test of a file, or what tests of a module share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    /// The modules around it, each with its attributes.
    place: Digest,
    /// Its words, without comments and layout.
    text: String,
}

/// What of a file is a test.
#[derive(Debug, Default)]
struct Parts {
    /// How often each is there, and what it is called.
    all: BTreeMap<Part, (usize, String)>,
    /// The line of the first of each name.
    lines: BTreeMap<String, u64>,
    /// By place: what is imported, and on which line.
    imports: BTreeMap<Digest, BTreeMap<Import, u64>>,
    /// By place: the names that items there define.
    defined: BTreeMap<Digest, BTreeMap<String, u64>>,
    /// By place: the names that the tests there use.
    used: BTreeMap<Digest, BTreeSet<String>>,
}

pub(super) fn look(path: &[u8], before: &str, after: &str) -> Vec<Found> {
    let whole = is_whole_test(path);
    let (base, now) = (Parts::of(before, whole), Parts::of(after, whole));
    let mut found: Vec<Found> = base
        .all
        .iter()
        .filter(|(part, (count, _))| now.all.get(part).is_none_or(|(left, _)| left < count))
        .take(MOST)
        .map(|(_, (_, name))| gone(name, &now))
        .collect();
    found.extend(renamed(&base, &now));
    found.extend(examples(before, after));
    found
}

fn gone(name: &str, now: &Parts) -> Found {
    let shown = names::printable(name.as_bytes());
    let why = format!("the base's test `{shown}` is gone, or not as it was");
    at(now.lines.get(name).copied(), why)
}

fn at(line: Option<u64>, why: String) -> Found {
    match line {
        Some(line) => Found::at(line, why),
        None => Found::whole(why),
    }
}

/// A file that its module declares for tests: `src/x/tests.rs`, and what is below such a directory.
fn is_whole_test(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| {
        matches!(name, b"tests" | b"test" | b"tests.rs" | b"test.rs")
            || name.ends_with(b"_tests.rs")
    })
}

impl Parts {
    fn of(text: &str, whole: bool) -> Self {
        let module = items::read(text);
        let mut parts = Self::default();
        parts.add_module(&module, Digest::of(gates(&module.inner).as_bytes()), whole);
        parts
    }

    fn add_module(&mut self, module: &Module, place: Digest, tests: bool) {
        for item in &module.items {
            let inside = tests || item.is_only_for_tests();
            if item.is_use() {
                if inside {
                    self.add_imports(item, place);
                }
                continue;
            }
            match &item.module {
                Some(inner) => {
                    let attributes = item.attributes.join(" ");
                    let own = format!("{attributes} {} {}", item.name, gates(&inner.inner));
                    let below = Digest::of_parts("module", &[place.bytes(), own.as_bytes()]);
                    self.add_module(inner, below, inside);
                }
                None if inside || item.is_test() => self.add(item, place),
                None => {}
            }
        }
    }

    fn add(&mut self, item: &Item, place: Digest) {
        let part = Part { place, text: item.text.clone() };
        self.all.entry(part).or_insert_with(|| (0, item.name.clone())).0 += 1;
        self.lines.entry(item.name.clone()).or_insert(item.line);
        self.defined.entry(place).or_default().insert(item.name.clone(), item.line);
        self.used.entry(place).or_default().extend(item.names.iter().cloned());
    }

    fn add_imports(&mut self, item: &Item, place: Digest) {
        let imports = items::imports(&item.text).into_iter().map(|import| (import, item.line));
        self.imports.entry(place).or_default().extend(imports);
    }
}

/// The attributes of a module that decide whether it is there.
fn gates(inner: &[String]) -> String {
    let gates = inner.iter().filter(|attribute| attribute.contains("cfg"));
    gates.cloned().collect::<Vec<_>>().join(" ")
}

/// Names that the base's tests use, and that mean something else now: imports that went, imports
/// and items that came and take their place.
fn renamed(base: &Parts, now: &Parts) -> Vec<Found> {
    let mut found = Vec::new();
    for (place, used) in &base.used {
        let none = BTreeMap::new();
        let before = base.imports.get(place).unwrap_or(&none);
        let after = now.imports.get(place).unwrap_or(&none);
        let went = before.keys().filter(|import| {
            !after.contains_key(*import) && (import.name == "*" || used.contains(&import.name))
        });
        found.extend(went.take(MOST).map(|import| changes_meaning(&import.shown, None)));
        let came = after.iter().filter(|(import, _)| {
            // What everything is imported from can't take a name that is imported by itself.
            !before.contains_key(*import) && used.contains(&import.name)
        });
        let came = came.take(MOST);
        found.extend(came.map(|(import, line)| changes_meaning(&import.shown, Some(*line))));
        let nothing = BTreeMap::new();
        let (old, new) = (
            base.defined.get(place).unwrap_or(&nothing),
            now.defined.get(place).unwrap_or(&nothing),
        );
        let defined =
            new.iter().filter(|(name, _)| !old.contains_key(*name) && used.contains(*name));
        let defined = defined.take(MOST);
        found.extend(defined.map(|(name, line)| changes_meaning(name, Some(*line))));
    }
    found
}

fn changes_meaning(name: &str, line: Option<u64>) -> Found {
    let name = names::printable(name.as_bytes());
    at(line, format!("`{name}` makes a name in the base's tests mean something else"))
}

/// Examples in documentation, which `cargo test` runs.
fn examples(before: &str, after: &str) -> Vec<Found> {
    let now: BTreeSet<String> = examples_of(after).into_iter().map(|(text, _)| text).collect();
    let gone = examples_of(before).into_iter().filter(|(example, _)| !now.contains(example));
    let why = "an example of the base, which is run as a test, is gone or not as it was";
    gone.map(|(_, line)| Found::at(line, why)).collect()
}

/// Fences of Rust in documentation that are run, and where they begin.
fn examples_of(text: &str) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    let mut open: Option<(bool, u64, Vec<&str>)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        let doc = doc.trim();
        let number = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        match (doc.strip_prefix("```"), &mut open) {
            (Some(_), Some((runs, begun, lines))) => {
                if *runs {
                    all.push((lines.join("\n"), *begun));
                }
                open = None;
            }
            (Some(info), None) => open = Some((is_run(info), number, Vec::new())),
            (None, Some((_, _, lines))) => lines.push(doc),
            (None, None) => {}
        }
    }
    all
}

/// Whether an example with these words after its fence is run.
fn is_run(info: &str) -> bool {
    const RUST: &[&str] =
        &["rust", "should_panic", "edition2015", "edition2018", "edition2021", "edition2024"];
    let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
    words.all(|word| RUST.contains(&word) || word.starts_with("edition"))
}
