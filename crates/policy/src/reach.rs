//! What one authority reaches that another doesn't.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::action::{Kind, shown};
use crate::authority::{Authority, Limits, name_covers};
use crate::lease::LeaseGrant;
use crate::rule::{Match, NetworkGrant, Outcome, Rule, Target};

/// One thing that can be reached or done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reach {
    /// The setting it comes from: `network`, `limits.memory`, `rule`.
    pub what: String,
    /// What exactly, in a line.
    pub subject: String,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.subject)
    }
}

/// The difference of two authorities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachDiff {
    /// What only the later one reaches.
    pub gained: Vec<Reach>,
    /// What only the earlier one reaches.
    pub lost: Vec<Reach>,
}

impl ReachDiff {
    /// Whether both reach the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty()
    }
}

/// A line for each difference, `+` for what is gained.
impl fmt::Display for ReachDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.gained.iter().try_for_each(|reach| writeln!(f, "+ {reach}"))?;
        self.lost.iter().try_for_each(|reach| writeln!(f, "- {reach}"))
    }
}

/// Compares what two authorities reach. It may call something gained that the earlier one reaches
/// through several grants together; it leaves nothing out: an action that the later authority
/// decides more freely about has a gain. Values of variables are no reach.
#[must_use]
pub fn reach_diff(before: &Authority, after: &Authority) -> ReachDiff {
    ReachDiff { gained: gained(before, after), lost: gained(after, before) }
}

fn gained(from: &Authority, to: &Authority) -> Vec<Reach> {
    let mut gains = Gains(Vec::new());
    gains.scalars(from, to);
    gains.limits(&from.limits, &to.limits);
    gains.mounts(from, to);
    gains.variables(from, to);
    gains.network(from, to);
    gains.leases(from, to);
    gains.rules(from, to);
    gains.widened(from, to);
    gains.0.sort();
    gains.0.dedup();
    gains.0
}

struct Gains(Vec<Reach>);

impl Gains {
    fn add(&mut self, what: &str, subject: &dyn ToString) {
        self.0.push(Reach { what: what.to_owned(), subject: subject.to_string() });
    }

    fn scalars(&mut self, from: &Authority, to: &Authority) {
        if to.mode > from.mode {
            self.add("workspace.mode", &to.mode);
        }
        if to.grants.toolchains && !from.grants.toolchains {
            self.add("sandbox.toolchains", &true);
        }
        if to.grants.user_namespaces && !from.grants.user_namespaces {
            self.add("sandbox.user_namespaces", &true);
        }
        for kind in Kind::ALL {
            let verdict = default_of(to, kind);
            if verdict < default_of(from, kind) {
                self.add("defaults", &format!("{kind} {verdict}"));
            }
        }
    }

    fn limits(&mut self, from: &Limits, to: &Limits) {
        self.limit("limits.memory", from.memory, to.memory);
        self.limit("limits.cpus", from.cpus, to.cpus);
        self.limit("limits.processes", from.processes, to.processes);
        self.limit("limits.disk", from.disk, to.disk);
        self.limit("limits.wall", from.wall, to.wall);
        self.limit("limits.output", from.output, to.output);
        self.limit("limits.steps", from.steps, to.steps);
        self.limit("limits.tokens", from.tokens, to.tokens);
        self.limit("limits.money", from.money, to.money);
    }

    fn limit<T: Ord + ToString>(&mut self, what: &str, from: Option<T>, to: Option<T>) {
        match (from, to) {
            (Some(from), Some(to)) if to > from => self.add(what, &to),
            (Some(_), None) => self.add(what, &"no limit"),
            _ => {}
        }
    }

    fn mounts(&mut self, from: &Authority, to: &Authority) {
        for mount in &to.mounts {
            let had = from
                .mounts
                .iter()
                .any(|other| mount.path.starts_with(&other.path) && mount.access <= other.access);
            if !had {
                self.add("mount", &format!("{} {}", shown(&mount.path), mount.access));
            }
        }
    }

    fn variables(&mut self, from: &Authority, to: &Authority) {
        for name in &to.environment.pass {
            if !from.environment.pass.iter().any(|other| name_covers(other, name)) {
                self.add("environment.pass", &name);
            }
        }
        for name in &from.environment.deny {
            if !to.environment.deny.iter().any(|other| name_covers(other, name)) {
                self.add("environment.deny", &format!("without {name}"));
            }
        }
    }

    fn network(&mut self, from: &Authority, to: &Authority) {
        for grant in to.network.iter().filter(|grant| !grant.target.is_empty()) {
            if !from.network.iter().any(|other| gives(other, grant)) {
                let cap = grant.max_bytes.map(|cap| format!(" up to {cap}")).unwrap_or_default();
                let ranges: String =
                    grant.addresses.iter().map(|range| format!(" at {range}")).collect();
                let dial = grant.dial.map(|dial| format!(" through {dial}")).unwrap_or_default();
                self.add("network", &format!("{}{cap}{ranges}{dial}", grant.target));
            }
        }
    }

    fn leases(&mut self, from: &Authority, to: &Authority) {
        for lease in &to.leases {
            if !from.leases.iter().any(|other| lends(other, lease)) {
                self.add("lease", &lease);
            }
        }
    }

    fn rules(&mut self, from: &Authority, to: &Authority) {
        let says = |rules: &[Rule], when: &Match, enough: &dyn Fn(Outcome) -> bool| {
            rules.iter().any(|rule| rule.when == *when && enough(rule.verdict))
        };
        for rule in to.rules.iter().filter(|rule| widens(rule, from)) {
            if !says(&from.rules, &rule.when, &|verdict| verdict <= rule.verdict) {
                let (kind, verdict) = (rule.when.kind(), rule.verdict);
                self.add("rule", &format!("{verdict} {kind} {}", rule.when));
            }
        }
        for rule in from.rules.iter().filter(|rule| rule.verdict > Outcome::Allow) {
            if !says(&to.rules, &rule.when, &|verdict| verdict >= rule.verdict) {
                let (kind, verdict) = (rule.when.kind(), rule.verdict);
                self.add("rule", &format!("no {verdict} for {kind} {}", rule.when));
            }
        }
    }

    /// A rule that asks about connections takes more requests where less is allowed unasked.
    fn widened(&mut self, from: &Authority, to: &Authority) {
        for rule in to.rules.iter().filter(|rule| rule.verdict == Outcome::Ask) {
            let Match::Connect(asked) = &rule.when else { continue };
            let asked = connections(asked);
            let still = |lost: &Target| unasked(to).any(|it| connections(it).covers(lost));
            for lost in unasked(from).map(connections).filter(|lost| !still(lost)) {
                if lost.intersect(&asked).is_some() {
                    let subject =
                        format!("ask connect {}, no longer narrowed at {lost}", rule.when);
                    self.add("rule", &subject);
                }
            }
        }
    }
}

/// A target without what narrows its requests.
fn connections(target: &Target) -> Target {
    Target { methods: None, paths: None, ..target.clone() }
}

/// The destinations that are allowed without asking.
fn unasked(authority: &Authority) -> impl Iterator<Item = &Target> {
    let grants = authority.network.iter().map(|grant| &grant.target);
    let rules = authority.rules.iter().filter(|rule| rule.verdict == Outcome::Allow);
    let all = grants.chain(rules.filter_map(|rule| match &rule.when {
        Match::Connect(target) | Match::Http(target) => Some(target),
        _ => None,
    }));
    all.filter(|target| !target.is_empty())
}

fn default_of(authority: &Authority, kind: Kind) -> Outcome {
    authority.defaults.get(&kind).map_or(Outcome::Deny, |default| default.verdict)
}

/// Whether a rule says less than what holds without it. Rules about the network say something about
/// names, connections and requests alike.
fn widens(rule: &Rule, from: &Authority) -> bool {
    let kinds = match rule.when.kind() {
        Kind::Connect | Kind::Resolve | Kind::Http => {
            vec![Kind::Connect, Kind::Resolve, Kind::Http]
        }
        other => vec![other],
    };
    kinds.into_iter().any(|kind| rule.verdict < default_of(from, kind))
}

/// Whether a lease lends all that another one does.
fn lends(wide: &LeaseGrant, narrow: &LeaseGrant) -> bool {
    (&wide.name, &wide.id, &wide.carrier) == (&narrow.name, &narrow.id, &narrow.carrier)
        && wide.target.covers(&narrow.target)
        && within(wide.lasts, narrow.lasts)
        && within(wide.until, narrow.until)
}

/// Whether `narrow` is no more than `wide`, where nothing is no bound.
fn within<T: PartialOrd>(wide: Option<T>, narrow: Option<T>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(wide), Some(narrow)) => narrow <= wide,
        (Some(_), None) => false,
    }
}

/// Whether a grant gives all that another one does.
fn gives(wide: &NetworkGrant, narrow: &NetworkGrant) -> bool {
    let capped = within(wide.max_bytes, narrow.max_bytes);
    let addresses = narrow.addresses.iter().all(|range| wide.addresses.contains(range));
    let way = narrow.dial == wide.dial && narrow.ca_file == wide.ca_file;
    wide.target.covers(&narrow.target) && capped && addresses && way
}
