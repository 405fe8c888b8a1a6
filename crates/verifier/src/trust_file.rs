//! The trust file: which keys count, and for what. TOML, read whole or refused with every fault and
//! its line.

use std::fmt;
use std::ops::Range;

use ledger::{Outcome, ProjectPattern, Revoked, TrustedKey, VerifyingKey};
use names::Timestamp;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// No trust file is longer, in bytes.
pub const LONGEST: usize = 1 << 20;

const KEYS: [&str; 6] = ["name", "public", "projects", "outcomes", "until", "revoked"];
const REVOKED: [&str; 2] = ["on", "why"];
const OUTCOMES: [Outcome; 4] =
    [Outcome::Verified, Outcome::Unverified, Outcome::Failed, Outcome::Stopped];

/// One thing that is wrong with a trust file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}:{line}: {what}; {next}")]
pub struct Fault {
    /// What the file is called.
    pub origin: String,
    /// Its line, from 1.
    pub line: u32,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

/// Everything that is wrong with a trust file, in the order of its lines; never nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&faults.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// Reads the text of a trust file; `origin` is what it is called.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_trust(text: &str, origin: &str) -> Result<Vec<TrustedKey>, Faults> {
    let mut reader = Reader { text, origin, faults: Vec::new() };
    let keys = reader.keys();
    reader.contradictions(&keys);
    let Reader { mut faults, .. } = reader;
    if faults.is_empty() {
        return Ok(keys.into_iter().map(|(_, key)| key).collect());
    }
    faults.sort_by_key(|fault| fault.line);
    Err(Faults(faults))
}

struct Reader<'a> {
    text: &'a str,
    origin: &'a str,
    faults: Vec<Fault>,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn fault(&mut self, span: &Range<usize>, what: impl Into<String>, next: impl Into<String>) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        self.faults.push(Fault {
            origin: names::printable(self.origin.as_bytes()),
            line: u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1),
            what: what.into(),
            next: next.into(),
        });
    }

    /// The entries that could be read, each with its place.
    fn keys(&mut self) -> Vec<(Range<usize>, TrustedKey)> {
        if self.text.len() > LONGEST {
            let what = format!("the file has {} bytes", self.text.len());
            self.fault(&(0..0), what, format!("at most {LONGEST} are read"));
            return Vec::new();
        }
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let message = names::printable(error.message().as_bytes());
            self.fault(&error.span().unwrap_or(0..0), message, "write it as TOML wants it");
        }
        let mut keys = Vec::new();
        if !errors.is_empty() {
            return keys;
        }
        for (name, value) in table.get_ref() {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("key", DeValue::Array(entries)) => {
                    keys.extend(entries.iter().filter_map(|entry| self.entry(entry)));
                }
                ("key", _) => {
                    self.fault(&name.span(), "`key` is no list of tables", "write `[[key]]`");
                }
                (other, _) => self.unknown(&name.span(), other, "the file", &["[[key]]"]),
            }
        }
        keys
    }

    fn unknown(&mut self, span: &Range<usize>, name: &str, place: &str, known: &[&str]) {
        let name = names::printable(name.as_bytes());
        let next = format!("{place} has only {}", known.join(", "));
        self.fault(span, format!("unknown key `{name}`"), next);
    }

    fn entry(&mut self, entry: &Value<'_>) -> Option<(Range<usize>, TrustedKey)> {
        let DeValue::Table(table) = entry.get_ref() else {
            self.fault(&entry.span(), "an entry of `key` is no table", "write `[[key]]`");
            return None;
        };
        self.only(table, "[[key]]", &KEYS);
        let name = self.required(table, entry, "name", "what people call the key");
        let public = self.required(table, entry, "public", "the line of `loop key show`");
        let key = public.and_then(|public| self.public(&public));
        let projects = table.get("projects").map(|value| self.projects(value));
        let outcomes = table.get("outcomes").map(|value| self.outcomes(value));
        let until = table.get("until").map(|value| self.time(value, "until", Moment::Last));
        let revoked = table.get("revoked").map(|value| self.revoked(value));
        let trusted = TrustedKey {
            name: name?.into_inner(),
            key: key?,
            projects: flatten(projects)?,
            outcomes: flatten(outcomes)?,
            until: flatten(until)?,
            revoked: flatten(revoked)?,
        };
        Some((entry.span(), trusted))
    }

    fn only(&mut self, table: &DeTable<'_>, place: &str, known: &[&str]) {
        for (name, _) in table {
            if !known.contains(&name.get_ref().as_ref()) {
                self.unknown(&name.span(), name.get_ref(), place, known);
            }
        }
    }

    fn required(
        &mut self,
        table: &DeTable<'_>,
        entry: &Value<'_>,
        name: &str,
        meaning: &str,
    ) -> Option<Spanned<String>> {
        match table.get(name) {
            Some(value) => self.text(value, name),
            None => {
                self.fault(&entry.span(), format!("`{name}` is missing"), format!("add {meaning}"));
                None
            }
        }
    }

    fn text(&mut self, value: &Value<'_>, name: &str) -> Option<Spanned<String>> {
        match value.get_ref().as_str() {
            Some(text) if !text.is_empty() => Some(Spanned::new(value.span(), text.to_owned())),
            _ => {
                self.fault(&value.span(), format!("`{name}` is no text"), "write it in quotes");
                None
            }
        }
    }

    fn public(&mut self, text: &Spanned<String>) -> Option<VerifyingKey> {
        match VerifyingKey::parse(text.get_ref()) {
            Ok(key) => Some(key),
            Err(error) => {
                let next = "write the line that `loop key show` prints";
                self.fault(&text.span(), error.to_string(), next);
                None
            }
        }
    }

    fn texts(&mut self, value: &Value<'_>, name: &str) -> Option<Vec<Spanned<String>>> {
        let DeValue::Array(items) = value.get_ref() else {
            let next = format!("write `{name} = [\"…\"]`");
            self.fault(&value.span(), format!("`{name}` is no list"), next);
            return None;
        };
        let texts: Vec<_> = items.iter().map(|item| self.text(item, name)).collect();
        texts.into_iter().collect()
    }

    fn projects(&mut self, value: &Value<'_>) -> Option<Vec<ProjectPattern>> {
        let texts = self.texts(value, "projects")?;
        let patterns = texts.iter().map(|text| match ProjectPattern::parse(text.get_ref()) {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                let pattern = names::printable(text.get_ref().as_bytes());
                let next = "write `/home/ada/parser`, `/home/*/parser` or `**/parser`";
                self.fault(&text.span(), format!("the project \"{pattern}\" {why}"), next);
                None
            }
        });
        let patterns: Vec<_> = patterns.collect();
        patterns.into_iter().collect()
    }

    fn outcomes(&mut self, value: &Value<'_>) -> Option<Vec<Outcome>> {
        let texts = self.texts(value, "outcomes")?;
        let outcomes = texts.iter().map(|text| {
            let known = OUTCOMES.into_iter().find(|outcome| outcome.as_str() == text.get_ref());
            if known.is_none() {
                let word = names::printable(text.get_ref().as_bytes());
                let next = format!("write one of {}", OUTCOMES.map(Outcome::as_str).join(", "));
                self.fault(&text.span(), format!("\"{word}\" is no outcome"), next);
            }
            known
        });
        let outcomes: Vec<_> = outcomes.collect();
        outcomes.into_iter().collect()
    }

    fn revoked(&mut self, value: &Value<'_>) -> Option<Revoked> {
        let form = "write `revoked = { on = 2026-11-20, why = \"…\" }`";
        let DeValue::Table(table) = value.get_ref() else {
            self.fault(&value.span(), "`revoked` is no table", form);
            return None;
        };
        self.only(table, "`revoked`", &REVOKED);
        let on = table.get("on").map(|on| self.time(on, "on", Moment::First));
        let why = table.get("why").map(|why| self.text(why, "why"));
        if on.is_none() || why.is_none() {
            self.fault(&value.span(), "`revoked` says not when and why", form);
        }
        Some(Revoked { on: on??, why: why??.into_inner() })
    }

    /// A date, of which a moment is meant, or a time in UTC.
    fn time(&mut self, value: &Value<'_>, name: &str, of_day: Moment) -> Option<Timestamp> {
        let time = value.get_ref().as_datetime().and_then(|time| timestamp(time, of_day));
        if time.is_none() {
            let next = "write 2026-11-20 or 2026-11-20T12:00:00Z, without quotes";
            self.fault(&value.span(), format!("`{name}` is no date and no time in UTC"), next);
        }
        time
    }

    /// What two entries say about one key contradicts itself, whatever it is.
    fn contradictions(&mut self, keys: &[(Range<usize>, TrustedKey)]) {
        for (at, (span, key)) in keys.iter().enumerate() {
            for (_, earlier) in keys.iter().take(at) {
                let name = names::printable(earlier.name.as_bytes());
                if earlier.key == key.key {
                    let what = format!("the key is that of \"{name}\", too");
                    self.fault(span, what, "say everything about a key in one entry");
                } else if earlier.name == key.name {
                    let what = format!("two keys are called \"{name}\"");
                    self.fault(span, what, "give each a name of its own");
                }
            }
        }
    }
}

/// Which moment of a day a date means.
#[derive(Clone, Copy)]
enum Moment {
    First,
    Last,
}

fn timestamp(time: &toml::value::Datetime, of_day: Moment) -> Option<Timestamp> {
    let date = time.date.as_ref()?;
    let clock = match (&time.time, &time.offset, of_day) {
        (None, None, Moment::First) => "00:00:00.000".to_owned(),
        (None, None, Moment::Last) => "23:59:59.999".to_owned(),
        (Some(time), Some(toml::value::Offset::Z), _) => {
            let (second, nano) = (time.second.unwrap_or(0), time.nanosecond.unwrap_or(0));
            let milli = nano / 1_000_000;
            format!("{:02}:{:02}:{second:02}.{milli:03}", time.hour, time.minute)
        }
        _ => return None,
    };
    let date = format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    Timestamp::parse(&format!("{date}T{clock}Z")).ok()
}

/// An absent value is fine; one that could not be read is not.
fn flatten<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(None) => None,
        Some(read) => Some(read),
    }
}
