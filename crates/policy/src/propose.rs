//! What a run would have needed: from actions that were not allowed to the smallest addition to
//! the profile that allows them.
//!
//! An addition says no more than what was seen makes it say: actions are listed one by one, and
//! only where they are too many for a person to read, arguments and directories are merged. It can't outweigh
//! a rule that asks or denies, whoever's it is; such rules are told, and never lifted. Nothing is
//! proposed that was not read back, resolved on top of the profile and found to allow what it is
//! for. Nothing is added here.

mod draft;
mod merge;
mod render;
mod risk;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::authority::Authority;
use crate::decide::{Cause, Verdict};
use crate::layers::Source;
use crate::problem::ProfileErrors;
use crate::reach::{Reach, ReachDiff, reach_diff};
use crate::resolve::{Request, resolve};
use crate::rule::{Layer, Outcome};

use draft::{Draft, Drafts};
pub use risk::{Risk, RiskClass};

/// An action that a run was refused, or that was let through while it learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The action.
    pub action: Action,
    /// How often.
    pub times: u64,
}

/// What to add to a profile, what that makes possible, and what can't be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Where the text belongs.
    pub place: Placement,
    /// The text to add, as TOML; empty if there is nothing to propose.
    pub text: String,
    /// What it consists of, in its order.
    pub additions: Vec<Addition>,
    /// Rules that no addition outweighs.
    pub obstacles: Vec<Obstacle>,
    /// What else is not proposed.
    pub left_out: Vec<LeftOut>,
    /// How many of the actions the profile allows by now.
    pub allowed: u64,
    /// What the addition makes possible.
    pub reach: ReachDiff,
}

/// Where an addition belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// At the end of this file.
    Append(String),
    /// In a new profile of this name, because what it extends is compiled in.
    Create(String),
}

/// One rule or grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addition {
    /// The rule's id, or `network HOST`.
    pub id: String,
    /// What it allows, in a line.
    pub allows: String,
    /// How often what it allows was attempted.
    pub times: u64,
    /// One of the attempts.
    pub example: String,
    /// What can come of it.
    pub risks: Vec<Risk>,
}

/// A rule that asks or denies, and so stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// The rule.
    pub rule: Cause,
    /// How often it stood in the way.
    pub times: u64,
    /// One of the attempts.
    pub example: String,
    /// Why, in the words of its author.
    pub reason: String,
    /// What would be possible without it; `None` if it is not the profile's to lift.
    pub lifting: Option<Vec<Reach>>,
}

/// An action that nothing is proposed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The action, in a line.
    pub action: String,
    /// How often it was attempted.
    pub times: u64,
    /// Why nothing is proposed.
    pub why: String,
}

impl LeftOut {
    fn of(observed: &Observed, why: impl Into<String>) -> Self {
        let Observed { action, times } = observed;
        Self { action: action.to_string(), times: *times, why: why.into() }
    }
}

/// Proposes the smallest addition to the profile of `request` that allows what was observed. A
/// profile that is compiled in is extended by a new one, called `name`.
///
/// # Errors
/// When the profile as it is can't be resolved.
pub fn propose(
    request: &Request<'_>,
    name: &str,
    observed: &[Observed],
) -> Result<Proposal, ProfileErrors> {
    let before = resolve(request.clone())?.authority;
    let base = Base::of(request, name);
    let mut sorted = Sorted::of(&before, observed);
    let drafts = Drafts::of(&sorted.wanted, &before, request);
    sorted.left_out.extend(drafts.left_out);
    let (kept, after) = base.hold(drafts.drafts, &mut sorted.left_out);
    if let Some(after) = &after {
        sorted.settle(after);
    }
    Ok(Proposal {
        text: base.addition(&kept),
        place: base.place,
        additions: kept.iter().map(Draft::addition).collect(),
        obstacles: sorted.obstacles,
        left_out: sorted.left_out,
        allowed: sorted.allowed,
        reach: after.map(|after| reach_diff(&before, &after)).unwrap_or_default(),
    })
}

/// The observations by what can be done about them.
#[derive(Default)]
struct Sorted {
    allowed: u64,
    wanted: Vec<Observed>,
    obstacles: Vec<Obstacle>,
    left_out: Vec<LeftOut>,
}

impl Sorted {
    fn of(before: &Authority, observed: &[Observed]) -> Self {
        let mut sorted = Self::default();
        let mut obstacles: BTreeMap<Cause, Obstacle> = BTreeMap::new();
        for one in observed {
            let verdict = before.decide(&one.action);
            let rules = rules_of(&verdict);
            match verdict.outcome {
                Outcome::Allow => sorted.allowed = sorted.allowed.saturating_add(1),
                _ if is_malformed(&verdict) => {
                    sorted.left_out.push(LeftOut::of(one, verdict.reason));
                }
                _ if rules.is_empty() => sorted.wanted.push(one.clone()),
                _ => rules.into_iter().for_each(|cause| {
                    let obstacle = obstacles
                        .entry(cause.clone())
                        .or_insert_with(|| Obstacle::new(before, cause, one, &verdict));
                    obstacle.times = obstacle.times.saturating_add(one.times);
                }),
            }
        }
        sorted.obstacles = obstacles.into_values().collect();
        sorted
    }
}

impl Sorted {
    /// What one addition leaves out another one may allow.
    fn settle(&mut self, after: &Authority) {
        let allowed = |one: &&Observed| after.decide(&one.action).outcome == Outcome::Allow;
        let allowed: BTreeSet<String> =
            self.wanted.iter().filter(allowed).map(|one| one.action.to_string()).collect();
        self.left_out.retain(|out| !allowed.contains(&out.action));
    }
}

/// The rules that decided, without the default.
fn rules_of(verdict: &Verdict) -> Vec<Cause> {
    let by_rule = |cause: &&Cause| !cause.rule.starts_with("default ");
    verdict.decided_by.iter().filter(by_rule).cloned().collect()
}

fn is_malformed(verdict: &Verdict) -> bool {
    verdict.decided_by.iter().any(|cause| cause.rule.starts_with("malformed "))
}

impl Obstacle {
    fn new(before: &Authority, rule: Cause, observed: &Observed, verdict: &Verdict) -> Self {
        Self {
            lifting: lifting(before, &rule),
            rule,
            times: 0,
            example: observed.action.to_string(),
            reason: verdict.reason.clone(),
        }
    }
}

/// What would be possible without a rule of the profile's own. Those of the owner, of Loop and of a
/// compiled-in profile are not the profile's to lift.
fn lifting(before: &Authority, rule: &Cause) -> Option<Vec<Reach>> {
    let own = matches!(rule.layer, Layer::Named | Layer::Project);
    let origin =
        rule.origin.as_ref().filter(|origin| own && !origin.source.starts_with("built-in "))?;
    let mut without = before.clone();
    without.rules.retain(|other| other.id != rule.rule || other.origin != *origin);
    Some(reach_diff(before, &without).gained)
}

/// The profile that is added to.
struct Base<'a> {
    request: &'a Request<'a>,
    place: Placement,
    /// The text before the addition: the file, or the head of a new one.
    text: String,
}

impl<'a> Base<'a> {
    fn of(request: &'a Request<'a>, name: &str) -> Self {
        match &request.profile {
            Some(source) => Self {
                request,
                place: Placement::Append(source.name.clone()),
                text: source.text.clone(),
            },
            None => {
                let (own, extends) = (render::text(name), render::text(&request.profile_name));
                let text = format!("[profile]\nname = {own}\nextends = {extends}\n");
                Self { request, place: Placement::Create(name.to_owned()), text }
            }
        }
    }

    /// What a person adds: of a new file, all of it.
    fn addition(&self, drafts: &[Draft]) -> String {
        if drafts.is_empty() {
            return String::new();
        }
        let head = matches!(self.place, Placement::Create(_)).then(|| format!("{}\n", self.text));
        head.unwrap_or_default() + &sections(drafts)
    }

    /// The authority of the profile with these drafts added.
    fn with(&self, drafts: &[Draft]) -> Result<Authority, ProfileErrors> {
        let end = if self.text.ends_with('\n') || self.text.is_empty() { "\n" } else { "\n\n" };
        let text = format!("{}{end}{}", self.text, sections(drafts));
        let name = match &self.place {
            Placement::Append(file) => file.clone(),
            Placement::Create(name) => format!("{name}.toml"),
        };
        let profile = Source { layer: Layer::Named, name, text };
        resolve(Request { profile: Some(profile), ..self.request.clone() })
            .map(|resolved| resolved.authority)
    }

    /// Those drafts that load and allow what they are for, and the authority with them.
    fn hold(
        &self,
        drafts: Vec<Draft>,
        left_out: &mut Vec<LeftOut>,
    ) -> (Vec<Draft>, Option<Authority>) {
        if drafts.is_empty() {
            return (drafts, None);
        }
        match self.with(&drafts) {
            Ok(after) => self.allowing(drafts, after, left_out),
            Err(together) => {
                let (kept, refused): (Vec<_>, Vec<_>) = drafts
                    .into_iter()
                    .map(|draft| self.alone(draft))
                    .partition(|(_, why)| why.is_none());
                for (draft, why) in &refused {
                    draft.leave_out(&why.clone().unwrap_or_default(), left_out);
                }
                let kept: Vec<Draft> = kept.into_iter().map(|(draft, _)| draft).collect();
                match self.with(&kept) {
                    Ok(after) if !kept.is_empty() => self.allowing(kept, after, left_out),
                    _ => {
                        let why = first(&together);
                        kept.iter().for_each(|draft| draft.leave_out(&why, left_out));
                        (Vec::new(), None)
                    }
                }
            }
        }
    }

    /// A draft, and why the profile doesn't load with it.
    fn alone(&self, draft: Draft) -> (Draft, Option<String>) {
        let why = self.with(std::slice::from_ref(&draft)).err().map(|errors| first(&errors));
        (draft, why)
    }

    /// Drops what doesn't do what it is for. Another draft may have relied on it for a name or a
    /// connection, so what is left is held once more.
    fn allowing(
        &self,
        drafts: Vec<Draft>,
        after: Authority,
        left_out: &mut Vec<LeftOut>,
    ) -> (Vec<Draft>, Option<Authority>) {
        let denied = |draft: &Draft| {
            let verdicts = draft.observed.iter().map(|one| after.decide(&one.action));
            verdicts.into_iter().find(|verdict| verdict.outcome != Outcome::Allow)
        };
        let (kept, failed): (Vec<_>, Vec<_>) =
            drafts.into_iter().map(|draft| (denied(&draft), draft)).partition(|(v, _)| v.is_none());
        if failed.is_empty() {
            return (kept.into_iter().map(|(_, draft)| draft).collect(), Some(after));
        }
        for (verdict, draft) in failed {
            let why = verdict.map(|verdict| verdict.reason).unwrap_or_default();
            draft.leave_out(&why, left_out);
        }
        self.hold(kept.into_iter().map(|(_, draft)| draft).collect(), left_out)
    }
}

fn first(errors: &ProfileErrors) -> String {
    errors.errors().first().map(ToString::to_string).unwrap_or_default()
}

fn sections(drafts: &[Draft]) -> String {
    drafts.iter().map(Draft::section).collect::<Vec<_>>().join("\n")
}

/// Names for new rules that no other rule of the authority has.
struct Ids {
    taken: BTreeSet<String>,
    /// How often each name was given.
    given: BTreeMap<String, u64>,
}

impl Ids {
    fn of(authority: &Authority) -> Self {
        let taken = authority.rules.iter().map(|rule| rule.id.clone()).collect();
        Self { taken, given: BTreeMap::new() }
    }

    /// `learned-WORD`, or the same with a number.
    fn fresh(&mut self, word: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let word: String = word.chars().map(plain).take(40).collect();
        let word = word.trim_matches('-');
        let first = if word.is_empty() { "learned".to_owned() } else { format!("learned-{word}") };
        loop {
            let number = self.given.entry(first.clone()).or_default();
            *number = number.saturating_add(1);
            let id = if *number == 1 { first.clone() } else { format!("{first}-{number}") };
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}
