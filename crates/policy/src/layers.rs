//! The texts an authority is made from: compiled in, the owner's, profiles that extend each other,
//! the project's.

use crate::lease::LeaseTerms;
use crate::problem::{Problem, ProfileError};
use crate::raw::{Raw, RawLimits, Surroundings, is_id};
use crate::rule::{Layer, Origin};
use names::nearest;

/// Most profiles that may extend each other.
const DEEPEST: usize = 16;

const BUILT_IN: &[(&str, &str)] = &[
    ("read-only", include_str!("../profiles/read-only.toml")),
    ("offline", include_str!("../profiles/offline.toml")),
    ("develop", include_str!("../profiles/develop.toml")),
    ("agent", include_str!("../profiles/agent.toml")),
    ("claude", include_str!("../profiles/claude.toml")),
    ("codex", include_str!("../profiles/codex.toml")),
    ("opencode", include_str!("../profiles/opencode.toml")),
];

/// The text of a built-in profile.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the built-in profiles, from the strictest on.
#[must_use]
pub fn built_in_names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// One text and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its layer.
    pub layer: Layer,
    /// The file's path, or the name of a text compiled in.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    pub(crate) fn compiled_in(layer: Layer, name: &str, text: &str) -> Self {
        Self { layer, name: format!("built-in {name}"), text: text.to_owned() }
    }

    pub(crate) fn pinned() -> Self {
        Self::compiled_in(Layer::Pinned, "pinned", include_str!("../profiles/pinned.toml"))
    }
}

/// Where profiles that aren't built in are looked up by name.
pub trait Library {
    /// The profile of this name; `None` if there is none; the reason if it can't be read. The name
    /// is one of `a-z`, `0-9` and hyphens, so it can stand in a path.
    fn find(&self, name: &str) -> Result<Option<Source>, String>;

    /// The terms of the lease of this name, as for [`Library::find`]. A library without leases has
    /// none.
    fn lease(&self, name: &str) -> Result<Option<LeaseTerms>, String> {
        let _ = name;
        Ok(None)
    }
}

/// A library without profiles.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLibrary;

impl Library for NoLibrary {
    fn find(&self, _: &str) -> Result<Option<Source>, String> {
        Ok(None)
    }
}

/// Reads a profile and those it extends, the chosen one first.
pub(crate) struct Chain<'a> {
    pub(crate) library: &'a dyn Library,
    pub(crate) around: Surroundings<'a>,
    pub(crate) errors: Vec<ProfileError>,
}

impl Chain<'_> {
    /// Reads the profile that is given, or else the one of this name; and on top of it that of the
    /// agent, unless it extends it already.
    pub(crate) fn read(
        &mut self,
        given: Option<Source>,
        name: &str,
        agent: Option<&str>,
    ) -> Vec<Raw> {
        let (mut chain, names) = self.extended(given, name);
        let agent = agent.filter(|agent| !names.iter().any(|seen| seen == agent));
        if let Some(raw) = agent.and_then(|agent| self.on_top(agent)) {
            chain.insert(0, raw);
        }
        chain
    }

    /// The profile of an agent for another base than its own. Its self-tests are about its own.
    fn on_top(&mut self, agent: &str) -> Option<Raw> {
        let origin = Origin::flag("--agent");
        let source = self.look_up(agent, &origin)?;
        let (mut raw, errors) = Raw::read(&source, self.around);
        self.errors.extend(errors);
        raw.expectations.clear();
        Some(raw)
    }

    /// A profile and those it extends, and what they are called.
    fn extended(&mut self, given: Option<Source>, name: &str) -> (Vec<Raw>, Vec<String>) {
        let origin = Origin::flag("--profile");
        let first = match given {
            Some(source) => Some((Source { layer: Layer::Named, ..source }, None)),
            None => self.look_up(name, &origin).map(|source| (source, Some(name.to_owned()))),
        };
        let mut chain = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut next = first;
        while let Some((source, looked_up)) = next.take() {
            let (raw, errors) = Raw::read(&source, self.around);
            self.errors.extend(errors);
            self.check_name(&raw, looked_up.as_deref());
            names.push(called(&raw, looked_up));
            if let Some(extends) = &raw.extends {
                next = self.follow(&extends.value, &extends.origin, &names);
            }
            chain.push(raw);
        }
        (chain, names)
    }

    fn follow(
        &mut self,
        name: &str,
        origin: &Origin,
        names: &[String],
    ) -> Option<(Source, Option<String>)> {
        if names.iter().any(|seen| seen == name) {
            let mut cycle = names.to_vec();
            cycle.push(name.to_owned());
            self.add(origin, Problem::Cycle(cycle));
            return None;
        }
        if names.len() >= DEEPEST {
            self.add(origin, Problem::TooDeep(DEEPEST));
            return None;
        }
        self.look_up(name, origin).map(|source| (source, Some(name.to_owned())))
    }

    fn look_up(&mut self, name: &str, origin: &Origin) -> Option<Source> {
        if !is_id(name) {
            self.add(origin, Problem::NotAProfileName(names::printable(name.as_bytes())));
            return None;
        }
        let found = match self.library.find(name) {
            Ok(found) => found,
            Err(why) => {
                let why = names::printable(why.as_bytes());
                self.add(origin, Problem::Unreadable { name: name.to_owned(), why });
                return None;
            }
        };
        match (built_in(name), found) {
            (None, Some(source)) => Some(Source { layer: Layer::Named, ..source }),
            (Some(text), None) => Some(Source::compiled_in(Layer::Named, name, text)),
            (Some(_), Some(source)) => {
                let origin = Origin { source: source.name, line: 1, key: String::new() };
                self.add(&origin, Problem::BuiltInName(name.to_owned()));
                None
            }
            (None, None) => {
                let near = nearest(name, built_in_names());
                self.add(origin, Problem::UnknownProfile { given: name.to_owned(), near });
                None
            }
        }
    }

    /// A file must not pass for another profile.
    fn check_name(&mut self, raw: &Raw, looked_up: Option<&str>) {
        let Some(says) = &raw.name else { return };
        let compiled_in = raw.digest.source.starts_with("built-in ");
        let problem = match looked_up {
            Some(looked_up) if says.value != looked_up => {
                Problem::OtherName { says: says.value.clone(), looked_up: looked_up.to_owned() }
            }
            _ if built_in(&says.value).is_some() && !compiled_in => {
                Problem::BuiltInName(says.value.clone())
            }
            _ => return,
        };
        self.add(&says.origin, problem);
    }

    fn add(&mut self, origin: &Origin, problem: Problem) {
        self.errors.push(ProfileError { origin: origin.clone(), problem });
    }
}

fn called(raw: &Raw, looked_up: Option<String>) -> String {
    let own = raw.name.as_ref().map(|name| name.value.clone());
    looked_up.or(own).unwrap_or_else(|| raw.digest.source.clone())
}

impl Raw {
    /// This file on top of the one it extends: single values replace, lists add, an empty list
    /// empties, rules and denied names stay.
    pub(crate) fn extending(self, base: &Raw) -> Raw {
        Raw {
            digest: self.digest,
            name: self.name,
            extends: self.extends,
            mode: self.mode.or_else(|| base.mode.clone()),
            mounts: add_mounts(base.mounts.as_ref(), self.mounts),
            limits: self.limits.or(&base.limits),
            approvals: self.approvals,
            pass: add(base.pass.as_ref(), self.pass),
            set: base.set.clone().into_iter().chain(self.set).collect(),
            deny: base.deny.iter().cloned().chain(self.deny).collect(),
            toolchains: self.toolchains.or_else(|| base.toolchains.clone()),
            user_namespaces: self.user_namespaces.or_else(|| base.user_namespaces.clone()),
            network: add(base.network.as_ref(), self.network),
            leases: add(base.leases.as_ref(), self.leases),
            push: add(base.push.as_ref(), self.push),
            defaults: base.defaults.clone().into_iter().chain(self.defaults).collect(),
            rules: base.rules.iter().cloned().chain(self.rules).collect(),
            expectations: self.expectations,
        }
    }
}

fn add<T: Clone>(base: Option<&Vec<T>>, own: Option<Vec<T>>) -> Option<Vec<T>> {
    match (base, own) {
        (_, Some(own)) if own.is_empty() => Some(own),
        (Some(base), Some(own)) => Some(base.iter().cloned().chain(own).collect()),
        (base, own) => own.or_else(|| base.cloned()),
    }
}

/// A path that both mount is mounted as the extending file says.
fn add_mounts(
    base: Option<&Vec<crate::authority::Mount>>,
    own: Option<Vec<crate::authority::Mount>>,
) -> Option<Vec<crate::authority::Mount>> {
    let own_paths: Vec<_> = own.iter().flatten().map(|mount| mount.path.clone()).collect();
    let base = base.map(|base| {
        base.iter().filter(|mount| !own_paths.contains(&mount.path)).cloned().collect()
    });
    add(base.as_ref(), own)
}

impl RawLimits {
    fn or(self, base: &Self) -> Self {
        Self {
            memory: self.memory.or_else(|| base.memory.clone()),
            cpus: self.cpus.or_else(|| base.cpus.clone()),
            processes: self.processes.or_else(|| base.processes.clone()),
            disk: self.disk.or_else(|| base.disk.clone()),
            wall: self.wall.or_else(|| base.wall.clone()),
            output: self.output.or_else(|| base.output.clone()),
            steps: self.steps.or_else(|| base.steps.clone()),
            tokens: self.tokens.or_else(|| base.tokens.clone()),
            money: self.money.or_else(|| base.money.clone()),
        }
    }
}
