//! `loop policy propose`: what a run would have needed.

use std::path::PathBuf;

use names::RunId;
use serde::{Deserialize, Serialize};

use crate::{Decision, RuleRef, text};

/// What to add to the profile of a run, what that makes possible, and what can't be added. Nothing
/// is added by this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalReport {
    /// The run.
    pub run: RunId,
    /// Whether it was a learning run; of another one only what was refused is known.
    pub learning: bool,
    /// The profile it ran under.
    pub profile: String,
    /// Where the text belongs.
    pub place: ProposalPlace,
    /// The text to add, as TOML; empty if there is nothing to propose.
    pub text: String,
    /// What the text consists of, in its order.
    pub additions: Vec<ProposedRule>,
    /// What it makes possible, a line each.
    pub gained: Vec<String>,
    /// Rules that no addition outweighs.
    pub obstacles: Vec<ObstacleView>,
    /// What else is not proposed.
    pub left_out: Vec<Unproposed>,
    /// How many different actions the profile allows by now.
    pub allowed: u64,
    /// What the person should know of the evidence.
    pub notes: Vec<String>,
}

/// Where an addition belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalPlace {
    /// The file.
    #[serde(with = "text")]
    pub file: PathBuf,
    /// Whether it is to be made, because the profile is built in; otherwise it is appended to.
    pub create: bool,
}

/// One rule or destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedRule {
    /// Its id, or `network HOST`.
    pub id: String,
    /// What it allows, in a line.
    pub allows: String,
    /// How often what it allows was attempted.
    pub times: u64,
    /// One of the attempts, in the language of `policy explain`.
    pub example: String,
    /// What can come of it.
    pub risks: Vec<RiskView>,
}

/// One thing that can come of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskView {
    /// Its class: `runs-code`, `writes-what-runs`, `publishes`, `sends-data`, `credentials`,
    /// `destroys`.
    pub class: String,
    /// How it can come of it.
    pub why: String,
}

/// A rule that asks or denies, and so stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObstacleView {
    /// The rule.
    pub rule: RuleRef,
    /// Its layer: `pinned`, `owner`, `named`, `project`.
    pub layer: String,
    /// What it says.
    pub says: Decision,
    /// How often it stood in the way.
    pub times: u64,
    /// One of the attempts.
    pub example: String,
    /// Why, in the words of its author.
    pub reason: String,
    /// What would be possible without it; `None` if it is not the profile's to lift.
    pub lifting: Option<Vec<String>>,
}

/// An action that nothing is proposed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproposed {
    /// The action, in a line.
    pub action: String,
    /// How often it was attempted.
    pub times: u64,
    /// Why nothing is proposed.
    pub why: String,
}
