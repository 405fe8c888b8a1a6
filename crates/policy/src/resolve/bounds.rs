//! What a project may add: what the owner's configuration leaves open.
//!
//! Where the owner lists destinations, mounts, variables or references, a project's stay inside
//! that list. Where the owner states that a kind of action isn't allowed by default, a project adds
//! no rule that allows it. What the owner denies stays denied anyway, because deny beats allow.

use super::Ignored;
use crate::action::{Kind, RefChange, shown};
use crate::authority::{Mount, name_covers};
use crate::raw::{Raw, Stated};
use crate::rule::{Match, NetworkGrant, Origin, Outcome, Rule, Target};

/// The owner's bounds, and what they cut off.
pub(super) struct Bounds<'a> {
    owner: Option<&'a Raw>,
    pub(super) ignored: Vec<Ignored>,
}

impl<'a> Bounds<'a> {
    pub(super) fn new(owner: Option<&'a Raw>) -> Self {
        Self { owner, ignored: Vec::new() }
    }

    pub(super) fn ignore(&mut self, origin: &Origin, why: String) {
        self.ignored.push(Ignored { origin: origin.clone(), why });
    }

    /// What is left of a project's configuration.
    pub(super) fn bound(&mut self, project: &Raw) -> Raw {
        let Some(owner) = self.owner else { return project.clone() };
        let mut left = project.clone();
        left.network = left.network.map(|grants| self.grants(owner, grants));
        left.rules = left.rules.into_iter().flat_map(|rule| self.rule(owner, rule)).collect();
        left.push = left
            .push
            .map(|rules| rules.into_iter().flat_map(|rule| self.rule(owner, rule)).collect());
        left.mounts = left.mounts.map(|mounts| self.mounts(owner, mounts));
        left.pass = left.pass.map(|names| self.names(owner, names));
        left
    }

    fn grants(&mut self, owner: &Raw, grants: Vec<NetworkGrant>) -> Vec<NetworkGrant> {
        if let Some(closed) = closed(owner, &[Kind::Connect, Kind::Resolve, Kind::Http]) {
            grants.iter().for_each(|grant| self.ignore(&grant.origin, closed_by(closed)));
            return Vec::new();
        }
        let Some(listed) = &owner.network else { return grants };
        grants.iter().flat_map(|grant| self.grant(listed, grant)).collect()
    }

    fn grant(&mut self, listed: &[NetworkGrant], grant: &NetworkGrant) -> Vec<NetworkGrant> {
        let narrow = |bound: &NetworkGrant| {
            Some(NetworkGrant {
                target: bound.target.intersect(&grant.target)?,
                max_bytes: bound.max_bytes.into_iter().chain(grant.max_bytes).min(),
                addresses: bound.addresses.clone(),
                dial: bound.dial,
                ca_file: bound.ca_file.clone(),
                ..grant.clone()
            })
        };
        let left: Vec<_> = listed.iter().filter_map(narrow).collect();
        let targets: Vec<_> = left.iter().map(|grant| grant.target.clone()).collect();
        self.tell_narrowed(&grant.origin, &grant.target, listed, &targets);
        left
    }

    fn tell_narrowed(
        &mut self,
        origin: &Origin,
        wish: &Target,
        listed: &[NetworkGrant],
        left: &[Target],
    ) {
        if listed.iter().any(|bound| bound.target.covers(wish)) {
            return;
        }
        let left: Vec<_> = left.iter().map(ToString::to_string).collect();
        let why = if left.is_empty() {
            format!("{wish} is outside of what the owner's configuration lists")
        } else {
            format!("of {wish} the owner's configuration leaves {}", left.join(", "))
        };
        self.ignore(origin, why);
    }

    /// What is left of one rule: itself, narrower ones, or nothing.
    fn rule(&mut self, owner: &Raw, rule: Rule) -> Vec<Rule> {
        if rule.verdict == Outcome::Deny {
            return vec![rule];
        }
        if let Some(closed) = closed(owner, &implied(rule.when.kind()))
            && closed.value > rule.verdict
        {
            self.ignore(&rule.origin, closed_by(closed));
            return Vec::new();
        }
        let left = match (&rule.when, &owner.network, &owner.push) {
            (Match::Connect(target), Some(listed), _) => {
                self.targets(listed, target, &rule.origin, Match::Connect)
            }
            (Match::Resolve(target), Some(listed), _) => {
                self.targets(listed, target, &rule.origin, Match::Resolve)
            }
            (Match::Http(target), Some(listed), _) => {
                self.targets(listed, target, &rule.origin, Match::Http)
            }
            (push @ Match::GitPush { .. }, _, Some(listed)) => {
                if !listed.iter().any(|bound| covers_push(&bound.when, push)) {
                    let why = "outside of what the owner's configuration lists for git push";
                    self.ignore(&rule.origin, why.to_owned());
                    return Vec::new();
                }
                vec![rule.when.clone()]
            }
            (when, _, _) => vec![when.clone()],
        };
        left.into_iter().map(|when| Rule { when, ..rule.clone() }).collect()
    }

    fn targets(
        &mut self,
        listed: &[NetworkGrant],
        wish: &Target,
        origin: &Origin,
        when: fn(Target) -> Match,
    ) -> Vec<Match> {
        let left: Vec<_> = listed.iter().filter_map(|bound| bound.target.intersect(wish)).collect();
        self.tell_narrowed(origin, wish, listed, &left);
        left.into_iter().map(when).collect()
    }

    fn mounts(&mut self, owner: &Raw, mounts: Vec<Mount>) -> Vec<Mount> {
        let Some(listed) = &owner.mounts else { return mounts };
        let inside = |mount: &Mount| {
            listed
                .iter()
                .any(|bound| mount.path.starts_with(&bound.path) && mount.access <= bound.access)
        };
        let (left, cut): (Vec<_>, Vec<_>) = mounts.into_iter().partition(inside);
        for mount in cut {
            let path = shown(&mount.path);
            let why = format!("{path} is outside of what the owner's configuration mounts");
            self.ignore(&mount.origin, why);
        }
        left
    }

    fn names(&mut self, owner: &Raw, names: Vec<Stated<String>>) -> Vec<Stated<String>> {
        let Some(listed) = &owner.pass else { return names };
        let inside = |name: &Stated<String>| {
            listed.iter().any(|bound| name_covers(&bound.value, &name.value))
        };
        let (left, cut): (Vec<_>, Vec<_>) = names.into_iter().partition(inside);
        for name in cut {
            let why = format!("the owner's configuration doesn't pass {}", name.value);
            self.ignore(&name.origin, why);
        }
        left
    }
}

/// The kinds that a rule of this kind widens.
fn implied(kind: Kind) -> Vec<Kind> {
    match kind {
        Kind::Connect | Kind::Resolve | Kind::Http => {
            vec![Kind::Connect, Kind::Resolve, Kind::Http]
        }
        other => vec![other],
    }
}

/// The strictest default that the owner states for one of these kinds.
fn closed<'a>(owner: &'a Raw, kinds: &[Kind]) -> Option<&'a Stated<Outcome>> {
    let stated = kinds.iter().filter_map(|kind| owner.defaults.get(kind));
    stated.filter(|default| default.value != Outcome::Allow).max_by_key(|default| default.value)
}

fn closed_by(default: &Stated<Outcome>) -> String {
    format!("{} says {}", default.origin, default.value)
}

/// Whether the owner's push rule is at least as wide.
fn covers_push(bound: &Match, wish: &Match) -> bool {
    let (
        Match::GitPush { refs: Some(bound_refs), changes: Some(bound_changes), .. },
        Match::GitPush { refs: Some(refs), changes, .. },
    ) = (bound, wish)
    else {
        return false;
    };
    let changes: &[RefChange] = match changes {
        Some(changes) => changes,
        None => return false,
    };
    refs.iter().all(|wish| bound_refs.iter().any(|bound| bound.covers(wish)))
        && changes.iter().all(|change| bound_changes.contains(change))
}
