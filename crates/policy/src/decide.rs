//! Action and authority in, verdict out.
//!
//! Among the rules that match, deny beats ask beats allow, whatever their order; if none matches,
//! the default of the action's kind holds. An action that no gate should have produced, such as a
//! path that isn't resolved, is denied. There is no I/O, no clock, no panic.

mod index;
mod plain;
mod remedy;
mod requests;
mod says;
mod verdict;

use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use crate::action::{Action, Connect, FileAccess, Http};
use crate::authority::{Authority, Mode, Publication};
use crate::guarded::{self, Meaning};
use crate::lease::LeaseGrant;
use crate::rule::{NetworkGrant, Outcome, Rule, Target};

use index::Index;
pub(crate) use plain::{is_plain, url_path};
pub(crate) use requests::narrows;
pub use verdict::{Cause, Verdict};

/// The index of an authority's rules, built at the first decision. It is no part of what the
/// authority says: all are equal, and a clone has none.
#[derive(Debug, Default)]
pub(crate) struct Compiled(OnceLock<Index>);

impl Clone for Compiled {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Compiled {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Compiled {}

/// Something that may match: a rule or a grant.
#[derive(Clone, Copy)]
pub(crate) enum Entry<'a> {
    /// A rule.
    Rule(&'a Rule),
    /// A destination, which is an allow rule.
    Grant(&'a NetworkGrant),
    /// A lease, which is an allow rule for its lending.
    Lease(&'a LeaseGrant),
    /// A published port, which is an allow rule for connecting to it.
    Publication(&'a Publication),
}

/// See [`Authority::decide`].
pub(crate) fn decide(authority: &Authority, action: &Action) -> Verdict {
    if let Some(fault) = plain::fault(action) {
        return verdict::malformed(action, fault);
    }
    let matching = matching(authority, action);
    if let Some(meaning) = guarded(authority, action)
        && matching.iter().all(|(outcome, _)| *outcome != Outcome::Deny)
    {
        return verdict::by_guard(meaning, &matching);
    }
    match matching.iter().map(|(outcome, _)| *outcome).max() {
        Some(outcome) => verdict::by_rules(authority, action, outcome, &matching),
        None => verdict::by_default(authority, action, &grants_near(authority, action)),
    }
}

/// In direct mode the project is the host's own, and so is what its files mean.
fn guarded(authority: &Authority, action: &Action) -> Option<Meaning> {
    let Action::Open(open) = action else { return None };
    let is_write = authority.mode == Mode::Direct && open.access == FileAccess::Write;
    let below = open.path.strip_prefix(&authority.project).ok().filter(|_| is_write)?;
    guarded::meaning(below.as_os_str().as_bytes())
}

/// The grants about the host of an action, whether they match or not.
fn grants_near<'a>(authority: &'a Authority, action: &Action) -> Vec<&'a NetworkGrant> {
    let about = |entry| match entry {
        Entry::Grant(grant) => Some(grant),
        Entry::Rule(_) | Entry::Lease(_) | Entry::Publication(_) => None,
    };
    candidates(authority, action).filter_map(about).collect()
}

/// Every rule and grant that matches and has a say, with what it says, in the authority's order.
fn matching<'a>(authority: &'a Authority, action: &Action) -> Vec<(Outcome, Entry<'a>)> {
    let entries = candidates(authority, action);
    let mut matching: Vec<_> =
        entries.filter_map(|entry| Some((says::says(entry, action)?, entry))).collect();
    if let Action::Http(http) = action {
        requests::keep_to_what_is_allowed(authority, http, &mut matching);
    }
    matching
}

/// Every rule and grant that may match, once, in the authority's order.
fn candidates<'a>(authority: &'a Authority, action: &Action) -> impl Iterator<Item = Entry<'a>> {
    let index = authority.compiled.0.get_or_init(|| Index::build(authority));
    let mut candidates = index.candidates(action);
    candidates.sort_unstable();
    candidates.dedup();
    candidates.into_iter().filter_map(|at| at.entry(authority))
}

/// Whether a request is one of the target's, in every way that a server may read its path.
pub(crate) fn carries(target: &Target, http: &Http) -> bool {
    says::carries(target, http, false)
}

/// Whether a grant lets a connection happen.
pub(crate) fn reaches(grant: &NetworkGrant, connect: &Connect) -> bool {
    says::says(Entry::Grant(grant), &Action::Connect(connect.clone())).is_some()
}
