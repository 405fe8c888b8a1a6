//! Requests over a connection: what the rules and grants about it make of them together.
//!
//! A rule that asks about a connection lets requests over it, because the person was asked already.
//! That is a word about the connection, not about its requests: where something else allows the
//! connection, what that lists is what may be requested. Likewise a rule that asks about some paths
//! makes stricter what is allowed; of a path that can be read in two ways it allows none.

use super::Entry;
use super::says::{has_port, says};
use super::{candidates, plain};
use crate::action::{Action, Connect, Http};
use crate::authority::Authority;
use crate::rule::{Match, Outcome, Target};

/// Takes from what matches a request that which has no say about it.
pub(super) fn keep_to_what_is_allowed(
    authority: &Authority,
    http: &Http,
    matching: &mut Vec<(Outcome, Entry<'_>)>,
) {
    let connect = Connect { host: http.host.clone(), port: http.port };
    if is_allowed(authority, &connect) {
        matching.retain(|(_, entry)| !asks_about_connections(*entry));
    }
    if matching.iter().all(|(says, _)| *says != Outcome::Allow) {
        matching.retain(|(_, entry)| !asks_about_unclear(*entry, http));
    }
}

/// Whether something allows a connection unasked, and so says which requests it is for.
fn is_allowed(authority: &Authority, connect: &Connect) -> bool {
    let action = Action::Connect(connect.clone());
    candidates(authority, &action).any(|entry| {
        let unasked = match entry {
            Entry::Rule(rule) => rule.verdict == Outcome::Allow && !is_empty(&rule.when),
            Entry::Grant(_) => true,
            Entry::Lease(_) | Entry::Publication(_) => false,
        };
        unasked && says(entry, &action) == Some(Outcome::Allow)
    })
}

fn is_empty(when: &Match) -> bool {
    matches!(when, Match::Connect(target) | Match::Http(target) if target.is_empty())
}

fn asks_about_connections(entry: Entry<'_>) -> bool {
    let Entry::Rule(rule) = entry else { return false };
    rule.verdict == Outcome::Ask && matches!(rule.when, Match::Connect(_))
}

fn asks_about_unclear(entry: Entry<'_>, http: &Http) -> bool {
    let Entry::Rule(rule) = entry else { return false };
    let lists_paths = matches!(&rule.when, Match::Http(target) if target.paths.is_some());
    rule.verdict == Outcome::Ask && lists_paths && plain::url_path(&http.path).is_none()
}

/// See [`Authority::narrows`].
pub(crate) fn narrows(authority: &Authority, connect: &Connect) -> bool {
    let asked = !is_allowed(authority, connect);
    let mut opened = false;
    for entry in candidates(authority, &Action::Connect(connect.clone())) {
        let (target, outcome, is_about_requests) = match entry {
            Entry::Grant(grant) => (&grant.target, Outcome::Allow, false),
            Entry::Rule(rule) => match &rule.when {
                Match::Connect(target) => (target, rule.verdict, false),
                Match::Http(target) => (target, rule.verdict, true),
                _ => continue,
            },
            Entry::Lease(_) | Entry::Publication(_) => continue,
        };
        if !target.host.matches(&connect.host) || !has_port(&target.ports, connect.port) {
            continue;
        }
        if is_about_requests && outcome != Outcome::Allow {
            return true;
        }
        let opens = outcome == Outcome::Allow || outcome == Outcome::Ask && asked;
        opened |= opens && takes_every_request(target);
    }
    !opened
}

fn takes_every_request(target: &Target) -> bool {
    target.methods.is_none() && target.paths.is_none()
}
