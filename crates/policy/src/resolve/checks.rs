//! The self-tests of profiles.

use std::path::PathBuf;

use super::Flags;
use super::merge::{Layers, Run, inherit};
use crate::action::Action;
use crate::authority::Authority;
use crate::decide::Verdict;
use crate::problem::{Problem, ProfileError};
use crate::raw::{Expectation, Raw};
use crate::rule::{Origin, Outcome};

/// One self-test and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Where it was written.
    pub origin: Origin,
    /// The action.
    pub action: Action,
    /// The verdict it must get.
    pub expected: Outcome,
    /// The rule that must be among the deciding.
    pub expected_rule: Option<String>,
    /// The verdict it gets.
    pub verdict: Verdict,
}

impl Checked {
    fn of(expectation: &Expectation, authority: &Authority) -> Self {
        Self {
            origin: expectation.origin.clone(),
            action: expectation.action.clone(),
            expected: expectation.verdict,
            expected_rule: expectation.rule.clone(),
            verdict: authority.decide(&expectation.action),
        }
    }

    /// Whether it went as expected.
    #[must_use]
    pub fn holds(&self) -> bool {
        let decided = |rule: &String| self.verdict.decided_by.iter().any(|by| by.rule == *rule);
        self.verdict.outcome == self.expected && self.expected_rule.as_ref().is_none_or(decided)
    }

    /// What to tell, if it didn't.
    #[must_use]
    pub fn failure(&self) -> Option<ProfileError> {
        let by = self.expected_rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
        let causes: Vec<_> = self.verdict.decided_by.iter().map(ToString::to_string).collect();
        let problem = Problem::Unexpected {
            action: self.action.to_string(),
            expected: format!("{}{by}", self.expected),
            found: self.verdict.outcome.to_string(),
            reason: format!("{} ({})", self.verdict.reason, causes.join("; ")),
        };
        (!self.holds()).then(|| ProfileError { origin: self.origin.clone(), problem })
    }
}

/// Tries all: those of a named profile on that profile alone, the others on what the run gets.
pub(super) fn check(layers: &Layers<'_>, profiles: &[Raw], authority: &Authority) -> Vec<Checked> {
    let mut checked = Vec::new();
    for (at, profile) in profiles.iter().enumerate() {
        if profile.expectations.is_empty() {
            continue;
        }
        let alone = alone(layers, profiles.get(at..).unwrap_or_default(), authority);
        checked.extend(profile.expectations.iter().map(|expect| Checked::of(expect, &alone)));
    }
    for raw in [Some(layers.pinned), layers.owner, layers.project.as_ref()].into_iter().flatten() {
        checked.extend(raw.expectations.iter().map(|expect| Checked::of(expect, authority)));
    }
    checked
}

/// A profile with those it extends, and nothing of the owner's or the project's.
fn alone(layers: &Layers<'_>, profiles: &[Raw], authority: &Authority) -> Authority {
    let layers = Layers { pinned: layers.pinned, owner: None, project: None };
    let run = Run {
        profile: authority.profile.clone(),
        subject: String::new(),
        project: PathBuf::from("/"),
    };
    // What is wrong with the files was told before.
    let mut errors = Vec::new();
    let named = inherit(profiles, &mut errors);
    layers.merge(named.as_ref(), profiles, &Flags::default(), run, &mut errors).0
}
