//! One file's content: what it says, each value parsed, before it meets other files.

mod approvals;
mod expect;
mod lease;
mod limits;
mod network;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use names::Digest;

use crate::action::{Access, Kind, Place};
use crate::authority::{LayerDigest, Mode, Mount};
use crate::layers::Source;
use crate::lease::Narrowed;
use crate::problem::{Problem, ProfileError};
use crate::read::{At, Document, Entry, Problems, read};
use crate::rule::{Layer, NetworkGrant, Origin, Outcome, Rule};

pub(crate) use approvals::RawApprovals;
pub(crate) use expect::Expectation;
pub(crate) use limits::RawLimits;

/// Longest value of a variable that a profile sets, in bytes.
const LONGEST_VALUE: usize = 128 << 10;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stated<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// What one file says. `None` is a key that it doesn't have; an empty list is one that it has.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) digest: LayerDigest,
    pub(crate) name: Option<Stated<String>>,
    pub(crate) extends: Option<Stated<String>>,
    pub(crate) mode: Option<Stated<Mode>>,
    pub(crate) mounts: Option<Vec<Mount>>,
    pub(crate) limits: RawLimits,
    pub(crate) approvals: RawApprovals,
    pub(crate) pass: Option<Vec<Stated<String>>>,
    pub(crate) set: BTreeMap<String, Stated<String>>,
    pub(crate) deny: Vec<Stated<String>>,
    pub(crate) toolchains: Option<Stated<bool>>,
    pub(crate) user_namespaces: Option<Stated<bool>>,
    pub(crate) network: Option<Vec<NetworkGrant>>,
    pub(crate) leases: Option<Vec<Narrowed>>,
    /// The allow rules of `[git] push`.
    pub(crate) push: Option<Vec<Rule>>,
    pub(crate) defaults: BTreeMap<Kind, Stated<Outcome>>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) expectations: Vec<Expectation>,
}

/// Where paths of a file are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) home: &'a Path,
    pub(crate) project: &'a Path,
}

impl Surroundings<'_> {
    fn place(self) -> Place {
        Place { cwd: self.project.to_owned(), home: self.home.to_owned() }
    }
}

impl Raw {
    /// Reads a file. With problems, what it returns is what could be read.
    pub(crate) fn read(source: &Source, around: Surroundings<'_>) -> (Self, Vec<ProfileError>) {
        let mut problems = Problems::new(&source.name);
        let document = read(&source.text, source.layer, &mut problems);
        let mut file = File { layer: source.layer, around, problems };
        let raw = file.raw(source, document);
        (raw, file.problems.errors)
    }
}

/// A file while it is read.
struct File<'a> {
    layer: Layer,
    around: Surroundings<'a>,
    problems: Problems,
}

impl File<'_> {
    fn raw(&mut self, source: &Source, mut document: Document) -> Raw {
        let mut profile = document.take("profile");
        let mut workspace = document.take("workspace");
        let mut sandbox = document.take("sandbox");
        let mut environment = document.take("environment");
        let mut name = |key: &str| {
            let text = profile.as_mut().and_then(|profile| profile.text(key))?;
            self.profile_name(text, &format!("profile.{key}"))
        };
        let (name, extends) = (name("name"), name("extends"));
        let mode = workspace.as_mut().and_then(|entry| entry.text("mode"));
        let pass = environment.as_mut().and_then(|entry| entry.texts("pass"));
        let deny = environment.as_mut().and_then(|entry| entry.texts("deny"));
        let set = environment.as_mut().and_then(|entry| entry.map("set"));
        let mut switch = |key: &str| {
            let switch = sandbox.as_mut().and_then(|entry| entry.switch(key))?;
            Some(self.stated(switch, &format!("sandbox.{key}")))
        };
        let (toolchains, user_namespaces) = (switch("toolchains"), switch("user_namespaces"));
        let raw = Raw {
            digest: LayerDigest {
                layer: self.layer,
                source: source.name.clone(),
                digest: Digest::of(source.text.as_bytes()),
            },
            name,
            extends,
            mode: mode
                .and_then(|mode| self.word(&mode, "workspace.mode", Mode::WORDS, Mode::of_word)),
            mounts: document.states("mount").then(|| self.mounts(document.take_all("mount"))),
            limits: self.limits(document.take("limits")),
            approvals: self.approvals(document.take("approvals")),
            pass: pass.map(|names| self.variables(names.value, "environment.pass")),
            deny: deny.map(|names| self.denied(names.value)).unwrap_or_default(),
            set: set.map(|set| self.values(set.value)).unwrap_or_default(),
            toolchains,
            user_namespaces,
            network: document.states("network").then(|| self.network(document.take_all("network"))),
            leases: document.states("lease").then(|| self.leases(document.take_all("lease"))),
            push: self.push(document.take("git")),
            defaults: self.defaults(document.take("defaults")),
            rules: self.rules(document.take_all("rule")),
            expectations: self.expectations(document.take_all("expect")),
        };
        self.check_within(&raw);
        raw
    }

    /// What can be told about one file alone.
    fn check_within(&mut self, raw: &Raw) {
        for pass in raw.pass.iter().flatten() {
            if raw.set.contains_key(&pass.value) {
                let problem = Problem::PassAndSet(pass.value.clone());
                self.problems.errors.push(ProfileError { origin: pass.origin.clone(), problem });
            }
        }
        self.problems.errors.extend(raw.contradictions());
    }

    fn stated<T>(&self, at: At<T>, key: &str) -> Stated<T> {
        Stated { value: at.value, origin: self.problems.origin(at.line, key) }
    }

    /// Reads one of a few words.
    fn word<T>(
        &mut self,
        text: &At<String>,
        key: &str,
        words: &[&'static str],
        of_word: impl Fn(&str) -> Option<T>,
    ) -> Option<Stated<T>> {
        match of_word(&text.value) {
            Some(value) => Some(self.stated(At { line: text.line, value }, key)),
            None => {
                let near = names::nearest(&text.value, words.iter().copied());
                let given = names::printable(text.value.as_bytes());
                let problem = Problem::UnknownWord { given, near, words: words.to_vec() };
                self.problems.add(text.line, key, problem);
                None
            }
        }
    }

    /// Reads a value through its own parser.
    fn parsed<T, E: Into<Problem>>(
        &mut self,
        text: &At<String>,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(&text.value).map_err(|error| self.problems.add(text.line, key, error)).ok()
    }

    fn profile_name(&mut self, text: At<String>, key: &str) -> Option<Stated<String>> {
        if is_id(&text.value) {
            return Some(self.stated(text, key));
        }
        let problem = Problem::NotAProfileName(names::printable(text.value.as_bytes()));
        self.problems.add(text.line, key, problem);
        None
    }

    fn mounts(&mut self, entries: Vec<Entry>) -> Vec<Mount> {
        entries.into_iter().filter_map(|entry| self.mount(entry)).collect()
    }

    fn mount(&mut self, mut entry: Entry) -> Option<Mount> {
        let mut access = Some(Access::Read);
        if let Some(text) = entry.text("access") {
            access = self
                .word(&text, "mount.access", Access::WORDS, Access::of_word)
                .map(|stated| stated.value);
        }
        let text = entry.text("path")?;
        let path = self.path(&text, "mount.path", "a mount")?;
        let origin = self.problems.origin(text.line, "mount.path");
        Some(Mount { path, access: access?, origin })
    }

    /// Reads a path that is one path: absolute or below the home directory.
    fn path(&mut self, text: &At<String>, key: &str, what: &'static str) -> Option<PathBuf> {
        let given = &text.value;
        if given.contains('*') {
            self.problems.add(text.line, key, Problem::NoWildcards(what));
            return None;
        }
        let path = if given == "~" || given.starts_with("~/") {
            crate::action::absolute(given, &self.around.place())
        } else {
            PathBuf::from(given)
        };
        let control = given.chars().any(char::is_control);
        // `Path::join` would hide an empty segment, so the text itself is looked at.
        let double = given.contains("//") || given.len() > 1 && given.ends_with('/');
        if control || double || !crate::decide::is_plain(&path) {
            let given = names::printable(given.as_bytes());
            self.problems.add(text.line, key, Problem::NotAPath(given));
            return None;
        }
        Some(path)
    }

    /// Reads names of variables, of which a `*` may end each.
    fn variables(&mut self, names: Vec<At<String>>, key: &str) -> Vec<Stated<String>> {
        names.into_iter().filter_map(|name| self.variable(name, key)).collect()
    }

    fn variable(&mut self, name: At<String>, key: &str) -> Option<Stated<String>> {
        let problem = match name.value.strip_suffix('*') {
            Some("") => Some(Problem::PassEverything),
            Some(start) if is_variable(start) => None,
            None if is_variable(&name.value) => None,
            _ => Some(Problem::NotAVariable(names::printable(name.value.as_bytes()))),
        };
        match problem {
            None => Some(self.stated(name, key)),
            Some(problem) => {
                self.problems.add(name.line, key, problem);
                None
            }
        }
    }

    /// Names that aren't passed; here a single `*` makes sense.
    fn denied(&mut self, names: Vec<At<String>>) -> Vec<Stated<String>> {
        let (all, some): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.value == "*");
        let mut denied = self.variables(some, "environment.deny");
        denied.extend(all.into_iter().map(|name| self.stated(name, "environment.deny")));
        denied
    }

    fn values(&mut self, set: Vec<(String, At<String>)>) -> BTreeMap<String, Stated<String>> {
        let mut values = BTreeMap::new();
        for (name, value) in set {
            let key = format!("environment.set.{}", names::printable(name.as_bytes()));
            match value_fault(&name, &value.value) {
                Some(problem) => self.problems.add(value.line, key, problem),
                None => {
                    values.insert(name, self.stated(value, &key));
                }
            }
        }
        values
    }

    fn defaults(&mut self, entry: Option<Entry>) -> BTreeMap<Kind, Stated<Outcome>> {
        let Some(mut entry) = entry else { return BTreeMap::new() };
        let mut defaults = BTreeMap::new();
        for kind in Kind::ALL {
            let Some(text) = entry.text(kind.word()) else { continue };
            let key = format!("defaults.{kind}");
            let line = text.line;
            let verdict = self.word(&text, &key, Outcome::WORDS, Outcome::of_word);
            if kind == Kind::Mount && verdict.as_ref().is_some_and(|v| v.value == Outcome::Ask) {
                self.problems.add(line, key, Problem::AskAboutMount);
                continue;
            }
            defaults.extend(verdict.map(|verdict| (kind, verdict)));
        }
        defaults
    }
}

/// What is wrong with a variable and its value, whoever sets it.
pub(crate) fn value_fault(name: &str, value: &str) -> Option<Problem> {
    if !is_variable(name) {
        return Some(Problem::NotAVariable(names::printable(name.as_bytes())));
    }
    if value.len() > LONGEST_VALUE {
        let (least, most) = ("0 bytes".to_owned(), format!("{LONGEST_VALUE} bytes"));
        let given = format!("a value of {} bytes", value.len());
        return Some(Problem::OutOfRange { given, least, most });
    }
    value.contains('\0').then_some(Problem::NulInValue)
}

pub(crate) fn is_variable(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// Whether a text can be the name of a rule or a profile.
pub(crate) fn is_id(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-')
}
