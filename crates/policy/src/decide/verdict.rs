//! Verdicts: what is decided, by which rules, and what would change it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{Entry, plain, remedy};
use crate::action::{Action, Kind};
use crate::authority::Authority;
use crate::guarded::Meaning;
use crate::rule::{Layer, NetworkGrant, Origin, Outcome, Target};

/// A rule, grant or default that had a say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cause {
    /// The rule's id, `network HOST`, or `default KIND`.
    pub rule: String,
    /// Its layer.
    pub layer: Layer,
    /// What it says.
    pub says: Outcome,
    /// Where it was written.
    pub origin: Option<Origin>,
}

impl Cause {
    fn of(outcome: Outcome, entry: Entry<'_>) -> Self {
        let (rule, layer, origin) = match entry {
            Entry::Rule(rule) => (rule.id.clone(), rule.layer, rule.origin.clone()),
            Entry::Grant(grant) => {
                (format!("network {}", grant.target.host), grant.layer, grant.origin.clone())
            }
            Entry::Lease(lease) => {
                (format!("lease {}", lease.name), lease.layer, lease.origin.clone())
            }
            Entry::Publication(publication) => {
                let rule = format!("publish {}", publication.port);
                (rule, Layer::Flags, Origin::flag("--publish"))
            }
        };
        Self { rule, layer, says: outcome, origin: Some(origin) }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.rule)?;
        self.origin.iter().try_for_each(|origin| write!(f, ", {origin}"))
    }
}

/// What is decided about one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// The decision.
    pub outcome: Outcome,
    /// The rules that decided, in the authority's order; one default if no rule matched.
    pub decided_by: Vec<Cause>,
    /// The rules that matched and lost to stronger ones.
    pub lost: Vec<Cause>,
    /// Why, in a sentence's worth.
    pub reason: String,
    /// The smallest change that would allow it; `None` if it is allowed, or can't be.
    pub remedy: Option<String>,
}

/// What the guard of direct mode is called among the causes.
const GUARD: &str = "guarded path";

impl Verdict {
    /// Whether a person is asked because of what a file means to the host, and no rule wants it.
    #[must_use]
    pub fn rests_on_guard_alone(&self) -> bool {
        let guard = |cause: &Cause| cause.layer == Layer::Pinned && cause.rule == GUARD;
        self.decided_by.iter().all(guard)
            && self.lost.iter().all(|cause| cause.says != Outcome::Ask)
    }

    /// The whole verdict about `action`, as people read it.
    #[must_use]
    pub fn explain(&self, action: &Action) -> String {
        let mut text = format!("{action}\n  {}: {}\n", self.outcome, self.reason);
        for cause in &self.decided_by {
            // Writing into a String can't fail.
            let _ = writeln!(text, "  decided by {cause}");
        }
        for cause in &self.lost {
            let _ = writeln!(text, "  outweighed: {} by {cause}", cause.says);
        }
        if let Some(remedy) = &self.remedy {
            let _ = writeln!(text, "  to allow it: {remedy}");
        }
        text
    }
}

pub(super) fn malformed(action: &Action, fault: &str) -> Verdict {
    let kind = action.kind();
    let rule = format!("malformed {kind}");
    let cause = Cause { rule, layer: Layer::Pinned, says: Outcome::Deny, origin: None };
    Verdict {
        outcome: Outcome::Deny,
        decided_by: vec![cause],
        lost: vec![],
        reason: fault.to_owned(),
        remedy: None,
    }
}

/// A person decides about what the host would act on, whatever a rule allows.
pub(super) fn by_guard(meaning: Meaning, matching: &[(Outcome, Entry<'_>)]) -> Verdict {
    let rule = GUARD.to_owned();
    let cause = Cause { rule, layer: Layer::Pinned, says: Outcome::Ask, origin: None };
    let what = match meaning {
        Meaning::Protected(what) => what,
        Meaning::Instructions => "instructions for agents",
    };
    Verdict {
        outcome: Outcome::Ask,
        decided_by: vec![cause],
        lost: matching.iter().map(|(says, entry)| Cause::of(*says, *entry)).collect(),
        reason: format!("the host acts on it later: {what}"),
        remedy: Some("say yes when asked, or use --mode overlay".to_owned()),
    }
}

pub(super) fn by_rules(
    authority: &Authority,
    action: &Action,
    outcome: Outcome,
    matching: &[(Outcome, Entry<'_>)],
) -> Verdict {
    let causes = |winning: bool| -> Vec<Cause> {
        let some = matching.iter().filter(|(says, _)| (*says == outcome) == winning);
        some.map(|(says, entry)| Cause::of(*says, *entry)).collect()
    };
    let decided_by = causes(true);
    let own =
        matching.iter().filter(|(says, _)| *says == outcome).find_map(|(_, entry)| match entry {
            Entry::Rule(rule) => rule.reason.clone(),
            Entry::Grant(_) | Entry::Lease(_) | Entry::Publication(_) => None,
        });
    let reason = own.unwrap_or_else(|| plain_reason(outcome, &decided_by));
    let remedy = remedy_against(authority, action, outcome, &decided_by);
    Verdict { outcome, lost: causes(false), decided_by, reason, remedy }
}

fn plain_reason(outcome: Outcome, decided_by: &[Cause]) -> String {
    let name = decided_by.first().map_or("a rule", |cause| cause.rule.as_str());
    match outcome {
        Outcome::Allow => format!("{name} allows it"),
        Outcome::Ask => format!("{name} wants a person to be asked"),
        Outcome::Deny => format!("{name} denies it"),
    }
}

/// Rules lose only where they stand: the change is to each of those that decided.
fn remedy_against(
    authority: &Authority,
    action: &Action,
    outcome: Outcome,
    decided_by: &[Cause],
) -> Option<String> {
    let pinned = decided_by.iter().any(|cause| cause.layer == Layer::Pinned);
    if outcome == Outcome::Allow || pinned {
        return None;
    }
    let places: Vec<String> = decided_by.iter().map(ToString::to_string).collect();
    let change = format!("change or remove {}", places.join("; and "));
    let asked = (outcome == Outcome::Ask).then(|| format!("say yes when asked, or {change}"));
    let denied_without = default_of(authority, action.kind()).is_none_or(|d| d != Outcome::Allow);
    let grants = outcome == Outcome::Deny && denied_without;
    asked.or_else(|| Some(if grants { format!("{change}, and allow it") } else { change }))
}

fn default_of(authority: &Authority, kind: Kind) -> Option<Outcome> {
    authority.defaults.get(&kind).map(|default| default.verdict)
}

pub(super) fn by_default(
    authority: &Authority,
    action: &Action,
    grants: &[&NetworkGrant],
) -> Verdict {
    let kind = action.kind();
    let default = authority.defaults.get(&kind);
    let outcome = default.map_or(Outcome::Deny, |default| default.verdict);
    let cause = Cause {
        rule: format!("default {kind}"),
        layer: default.map_or(Layer::Pinned, |default| default.layer),
        says: outcome,
        origin: default.map(|default| default.origin.clone()),
    };
    let near = if outcome == Outcome::Allow { None } else { near_miss(grants, action) };
    let (reason, remedy) = match near {
        Some(near) => near,
        None => (default_reason(outcome, kind), remedy::add_rule(authority, action, outcome)),
    };
    Verdict { outcome, decided_by: vec![cause], lost: vec![], reason, remedy }
}

fn default_reason(outcome: Outcome, kind: Kind) -> String {
    match (outcome, kind) {
        (Outcome::Allow, Kind::Exec) => "programs that the run can see may be started".to_owned(),
        (Outcome::Allow, Kind::Open) => "files that the run can see may be opened".to_owned(),
        (Outcome::Allow, Kind::Apply | Kind::Discard | Kind::Undo | Kind::Branch) => {
            "it is the person's own decision".to_owned()
        }
        (Outcome::Allow, _) => "no rule denies it".to_owned(),
        (Outcome::Ask, _) => format!("no rule allows this {}, so a person is asked", kind.noun()),
        (Outcome::Deny, _) => format!("no rule allows this {}", kind.noun()),
    }
}

/// A grant for the same host that stops short of this action, and what it lacks.
fn near_miss(grants: &[&NetworkGrant], action: &Action) -> Option<(String, Option<String>)> {
    let (host, port) = match action {
        Action::Connect(connect) => (&connect.host, connect.port),
        Action::Http(http) => (&http.host, http.port),
        _ => return None,
    };
    let grants = grants.iter().filter(|grant| grant.target.host.matches(host));
    let shut = |grant: &NetworkGrant| {
        grant.target.ports.as_ref().is_some_and(|ports| !ports.contains(&port))
    };
    let grant = grants.min_by_key(|grant| shut(grant))?;
    if shut(grant) {
        let reason = format!("{host} is allowed, but not on port {port}");
        return Some((reason, Some(lacking(grant, "ports", &port.to_string()))));
    }
    let Action::Http(http) = action else { return None };
    let lacks = |target: &Target| {
        target
            .methods
            .as_ref()
            .is_some_and(|list| list.iter().all(|listed| listed.word() != http.method))
    };
    let method = names::printable(http.method.as_bytes());
    if lacks(&grant.target) {
        let reason = format!("{host} is allowed, but not with the method {method}");
        return Some((reason, Some(lacking(grant, "methods", &format!("\"{method}\"")))));
    }
    if plain::url_path(&http.path).is_none() {
        return Some(("a server may read the path in more than one way".to_owned(), None));
    }
    let reason = format!("{host} is allowed, but not this path");
    Some((reason, Some(lacking(grant, "paths", "a pattern for it"))))
}

fn lacking(grant: &NetworkGrant, key: &str, value: &str) -> String {
    format!("add {value} to {key} of [[network]] {}, {}", grant.target.host, grant.origin)
}
