//! Which rules can match an action at all, found by what they name literally.
//!
//! The index may offer a rule that doesn't match; it never leaves out one that does.

use std::collections::{BTreeMap, HashMap};

use names::{Host, HostPattern};

use super::Entry;
use super::says::bytes;
use crate::action::{Action, Kind};
use crate::authority::Authority;
use crate::pattern::{PathPattern, ProgramPattern, Segment, file_name, segments_of};
use crate::rule::{Match, Rule};

/// The place in an authority: of a rule; after the rules of a grant, then of a lease, then of a
/// published port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At(usize);

impl At {
    pub(super) fn entry(self, authority: &Authority) -> Option<Entry<'_>> {
        let Authority { rules, network, leases, publish, .. } = authority;
        let Some(grant) = self.0.checked_sub(rules.len()) else {
            return rules.get(self.0).map(Entry::Rule);
        };
        let Some(lease) = grant.checked_sub(network.len()) else {
            return network.get(grant).map(Entry::Grant);
        };
        let Some(publication) = lease.checked_sub(leases.len()) else {
            return leases.get(lease).map(Entry::Lease);
        };
        publish.get(publication).map(Entry::Publication)
    }
}

/// An index of one authority.
#[derive(Debug, Default)]
pub(super) struct Index {
    programs: HashMap<Vec<u8>, Vec<At>>,
    program_paths: Paths,
    opens: Paths,
    hosts: Hosts,
    others: BTreeMap<Kind, Vec<At>>,
}

impl Index {
    pub(super) fn build(authority: &Authority) -> Self {
        let mut index = Self::default();
        for (at, rule) in authority.rules.iter().enumerate() {
            index.add_rule(At(at), rule);
        }
        for (at, grant) in authority.network.iter().enumerate() {
            index.hosts.add(At(authority.rules.len() + at), &grant.target.host);
        }
        let before = authority.rules.len() + authority.network.len();
        let mut after = (before..).map(At);
        for (kind, count) in
            [(Kind::Lease, authority.leases.len()), (Kind::Publish, authority.publish.len())]
        {
            index.others.entry(kind).or_default().extend(after.by_ref().take(count));
        }
        index
    }

    fn add_rule(&mut self, at: At, rule: &Rule) {
        match &rule.when {
            Match::Exec { program: ProgramPattern::Name(name), .. } => {
                self.programs.entry(name.clone().into_bytes()).or_default().push(at);
            }
            Match::Exec { program: ProgramPattern::Path(path), .. } => {
                self.program_paths.add(at, path);
            }
            Match::Exec { program: ProgramPattern::Any, .. } => {
                self.program_paths.anywhere.push(at);
            }
            Match::Open { path, .. } => self.opens.add(at, path),
            Match::Connect(target) | Match::Resolve(target) | Match::Http(target) => {
                self.hosts.add(at, &target.host);
            }
            other => self.others.entry(other.kind()).or_default().push(at),
        }
    }

    /// The rules and grants that may match, in no order, some perhaps twice.
    pub(super) fn candidates(&self, action: &Action) -> Vec<At> {
        let mut found = Vec::new();
        match action {
            Action::Exec(exec) => {
                for program in std::iter::once(&exec.program).chain(&exec.called) {
                    let program = bytes(program);
                    extend(&mut found, self.programs.get(file_name(program)));
                    self.program_paths.find(program, &mut found);
                }
            }
            Action::Open(open) => self.opens.find(bytes(&open.path), &mut found),
            Action::Connect(connect) => self.hosts.find(&connect.host, &mut found),
            Action::Resolve(resolve) => self.hosts.find(&resolve.host, &mut found),
            Action::Http(http) => self.hosts.find(&http.host, &mut found),
            other => extend(&mut found, self.others.get(&other.kind())),
        }
        found
    }
}

fn extend(found: &mut Vec<At>, more: Option<&Vec<At>>) {
    found.extend(more.into_iter().flatten());
}

/// Rules about paths, by the directory that their pattern starts with, or else by one name that
/// the path must contain, or else by nothing.
#[derive(Debug, Default)]
struct Paths {
    below: HashMap<Vec<u8>, Vec<At>>,
    containing: HashMap<Vec<u8>, Vec<At>>,
    anywhere: Vec<At>,
}

impl Paths {
    fn add(&mut self, at: At, pattern: &PathPattern) {
        let start: Vec<u8> =
            pattern.glob().literal_start().flat_map(|name| [b"/", name].concat()).collect();
        if !start.is_empty() {
            return self.below.entry(start).or_default().push(at);
        }
        let names = pattern.glob().segments().iter().filter_map(|segment| match segment {
            Segment::Literal(name) => Some(name),
            Segment::One | Segment::Many => None,
        });
        match names.max_by_key(|name| name.len()) {
            Some(name) => {
                self.containing.entry(name.clone().into_bytes()).or_default().push(at);
            }
            None => self.anywhere.push(at),
        }
    }

    fn find(&self, path: &[u8], found: &mut Vec<At>) {
        found.extend(&self.anywhere);
        if !self.below.is_empty() {
            for directory in ancestors(path) {
                extend(found, self.below.get(directory));
            }
        }
        if !self.containing.is_empty() {
            for name in segments_of(path) {
                extend(found, self.containing.get(name));
            }
        }
    }
}

/// `/a`, `/a/b` and `/a/b/c` for `/a/b/c`.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
    ends.filter_map(|(end, _)| path.get(..end)).chain(std::iter::once(path))
}

/// Rules about hosts, by the host, or by the name below which their hosts are.
#[derive(Debug, Default)]
struct Hosts {
    exact: HashMap<String, Vec<At>>,
    below: HashMap<String, Vec<At>>,
}

impl Hosts {
    fn add(&mut self, at: At, pattern: &HostPattern) {
        let text = pattern.to_string();
        match text.strip_prefix("**.").or_else(|| text.strip_prefix("*.")) {
            Some(parent) => self.below.entry(parent.to_owned()).or_default().push(at),
            None => self.exact.entry(text).or_default().push(at),
        }
    }

    fn find(&self, host: &Host, found: &mut Vec<At>) {
        extend(found, self.exact.get(host.as_str()));
        if self.below.is_empty() {
            return;
        }
        let mut rest = host.as_str();
        while let Some((_, parent)) = rest.split_once('.') {
            extend(found, self.below.get(parent));
            rest = parent;
        }
    }
}
