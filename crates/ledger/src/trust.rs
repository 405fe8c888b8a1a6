//! Whose signature counts, and for what. This is data; whoever reads it from a file is elsewhere.
//!
//! What a receipt says about itself is the word of whoever signed it. So a key that was revoked
//! counts for nothing: whoever has stolen it writes any date.

use names::Timestamp;

use crate::flaw::Flaw;
use crate::keys::VerifyingKey;
use crate::receipt::{Outcome, Predicate};

/// A public key that is trusted, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// What people call it.
    pub name: String,
    /// The key.
    pub key: VerifyingKey,
    /// The projects it may sign for; `None` is any.
    pub projects: Option<Vec<ProjectPattern>>,
    /// The outcomes it may sign for; `None` is any.
    pub outcomes: Option<Vec<Outcome>>,
    /// The last moment at which what it signs counts.
    pub until: Option<Timestamp>,
    /// Nothing that it signed counts any more.
    pub revoked: Option<Revoked>,
}

/// That a key is trusted no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// Since when.
    pub on: Timestamp,
    /// For what reason.
    pub why: String,
}

impl From<VerifyingKey> for TrustedKey {
    /// Trusts the key for everything.
    fn from(key: VerifyingKey) -> Self {
        let name = key.id().to_string();
        Self { name, key, projects: None, outcomes: None, until: None, revoked: None }
    }
}

impl TrustedKey {
    /// Why a signature of this key over `receipt` does not count, if it doesn't.
    pub(crate) fn objects_to(&self, receipt: &Predicate) -> Option<Flaw> {
        self.objects_at(receipt.ended)
            .or_else(|| self.objects_to_project(&receipt.project))
            .or_else(|| self.objects_to_outcome(receipt.outcome))
    }

    /// Why nothing that it signed at `time` counts, if so.
    pub(crate) fn objects_at(&self, time: Timestamp) -> Option<Flaw> {
        let key = self.shown();
        match (&self.revoked, self.until) {
            (Some(Revoked { on, why }), _) => {
                let why = names::printable(why.as_bytes());
                Some(Flaw::KeyRevoked { key, on: *on, reason: why })
            }
            (None, Some(until)) if time > until => Some(Flaw::KeyExpired { key, until, time }),
            _ => None,
        }
    }

    fn objects_to_project(&self, project: &str) -> Option<Flaw> {
        let patterns = self.projects.as_ref()?;
        let may = patterns.iter().any(|pattern| pattern.matches(project));
        (!may).then(|| {
            let project = names::printable(project.as_bytes());
            Flaw::KeyForOtherProject { key: self.shown(), project }
        })
    }

    fn objects_to_outcome(&self, outcome: Outcome) -> Option<Flaw> {
        let may = self.outcomes.as_ref()?.contains(&outcome);
        (!may).then(|| Flaw::KeyNotForOutcome { key: self.shown(), outcome })
    }

    fn shown(&self) -> String {
        names::printable(self.name.as_bytes())
    }
}

/// Projects by their directory: `/home/ada/parser`, `/home/*/parser`, `**/parser`.
///
/// `*` is any text within one name, `**` any number of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPattern(String);

impl ProjectPattern {
    /// Reads a pattern: an absolute path, or one that begins with `**/`.
    ///
    /// # Errors
    /// What it has to be, if it is something else.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text.strip_prefix('/').or_else(|| text.strip_prefix("**/"));
        let rest = rest.ok_or("is neither an absolute path nor begins with `**/`")?;
        let name = |name: &str| match name {
            "" | "." | ".." => false,
            "**" => true,
            name => !name.contains("**"),
        };
        match rest.split('/').all(name) {
            true => Ok(Self(text.to_owned())),
            false => Err("has a name that is empty, `.`, `..`, or more than just `**`"),
        }
    }

    /// Does it mean the project in this directory?
    #[must_use]
    pub fn matches(&self, project: &str) -> bool {
        let pattern: Vec<_> = self.0.split('/').collect();
        let names: Vec<_> = project.split('/').collect();
        matches_names(&pattern, &names)
    }
}

impl std::fmt::Display for ProjectPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&names::printable(self.0.as_bytes()))
    }
}

/// For each pattern in turn, which beginnings of `names` it leads to: no backtracking, so the time
/// is bounded by both lengths.
fn matches_names(pattern: &[&str], names: &[&str]) -> bool {
    let mut reached = vec![false; names.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in pattern {
        let mut next = vec![false; names.len() + 1];
        let mut any = false;
        for (at, (to, from)) in next.iter_mut().zip(&reached).enumerate() {
            any |= from;
            let before = at.checked_sub(1);
            let one = before.is_some_and(|before| {
                reached.get(before).copied().unwrap_or(false)
                    && names.get(before).is_some_and(|name| matches_name(part, name))
            });
            *to = if *part == "**" { any } else { one };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// `*` is any text, the empty one too.
fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
