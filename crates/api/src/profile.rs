//! Profiles: `loop policy check`, `show`, `explain` and `test`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use names::Digest;
use serde::{Deserialize, Serialize};

use crate::{Finding, IgnoredKey, Mode, RuleRef, text};

/// Asks whether a profile can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyCheckRequest {
    /// The file.
    #[serde(with = "text")]
    pub file: PathBuf,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// Whether a profile can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// The file.
    #[serde(with = "text")]
    pub file: PathBuf,
    /// The profile's name; `None` if it couldn't be read.
    pub name: Option<String>,
    /// Everything wrong with it; empty is a profile that loads.
    pub findings: Vec<Finding>,
    /// How many rules it has, with those it extends.
    pub rules: u64,
    /// How many self-tests it has.
    pub expectations: u64,
}

/// Asks what a profile amounts to here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyShowRequest {
    /// A name or a file; `None` is the default of `exec`.
    pub profile: Option<String>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// An authority: what a run under this profile, here and now, would be frozen to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityView {
    /// The profile's name.
    pub profile: String,
    /// Its digest.
    pub digest: Digest,
    /// Who it would run for.
    pub subject: String,
    /// The project.
    #[serde(with = "text")]
    pub project: PathBuf,
    /// How the workspace is treated.
    pub mode: Mode,
    /// What is visible besides the project and the system.
    pub mounts: Vec<MountView>,
    /// The environment.
    pub environment: EnvironmentView,
    /// The limits: key to value, as a profile writes them.
    pub limits: BTreeMap<String, String>,
    /// How a person is asked: key to value, as the owner's file writes them; empty if nothing asks.
    #[serde(default)]
    pub approvals: BTreeMap<String, String>,
    /// The hosts that can be reached.
    pub network: Vec<NetworkView>,
    /// The credentials that are lent.
    #[serde(default)]
    pub leases: Vec<LentView>,
    /// The rules.
    pub rules: Vec<RuleView>,
    /// Further grants that are on: `toolchains`, `user-namespaces`.
    pub grants: Vec<String>,
    /// The gates it asks for that this version doesn't have; a run would be refused.
    pub unmet: Vec<NeedView>,
    /// The texts it was made from, strongest first.
    pub layers: Vec<LayerView>,
    /// What an untrusted project configuration asks for and does not get.
    pub ignored_project_keys: Vec<IgnoredKey>,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountView {
    /// The path, inside and outside.
    #[serde(with = "text")]
    pub path: PathBuf,
    /// `read`, `write` or `scratch`.
    pub access: String,
    /// Where it comes from.
    pub origin: RuleRef,
}

/// The environment of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentView {
    /// Variables passed from outside.
    pub pass: Vec<String>,
    /// Variables with a value of their own.
    pub set: BTreeMap<String, String>,
}

/// One host that can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkView {
    /// The host or pattern.
    pub host: String,
    /// The ports.
    pub ports: Vec<u16>,
    /// The HTTP methods; empty is all.
    pub methods: Vec<String>,
    /// Where it comes from.
    pub origin: RuleRef,
}

/// One credential that is lent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LentView {
    /// Its name, destination and header, in a line.
    pub lease: String,
    /// Where it is asked for.
    pub origin: RuleRef,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleView {
    /// Its id and place.
    pub rule: RuleRef,
    /// The kind of action it is about.
    pub action: String,
    /// What it matches, in a line: `cargo publish **`.
    pub matches: String,
    /// What it says.
    pub verdict: Decision,
    /// Why.
    pub reason: Option<String>,
}

/// Something an authority asks for and this version can't give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedView {
    /// The gate: `egress`, `syscall-gate`.
    pub gate: String,
    /// What asks for it.
    pub origin: RuleRef,
}

/// One text an authority was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerView {
    /// `pinned`, `owner`, `named`, `project` or `flags`.
    pub layer: String,
    /// The file, or the name of a text compiled in.
    pub source: String,
    /// The digest of its text.
    pub digest: Digest,
}

/// Allow, ask or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It happens.
    Allow,
    /// A person is asked.
    Ask,
    /// It doesn't happen.
    Deny,
}

/// Asks what would be decided about an action.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainRequest {
    /// A name or a file; `None` is the default of `exec`.
    pub profile: Option<String>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
    /// The action in words: `exec git push origin main`, `connect example.com:443`.
    pub action: Vec<String>,
}

/// What would be decided about an action, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The action, as it was understood.
    pub action: String,
    /// What else its program is called: the links that lead to its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// The profile's name.
    pub profile: String,
    /// What would be decided.
    pub decision: Decision,
    /// The rules that decide.
    pub decided_by: Vec<RuleRef>,
    /// The rules that match and lose.
    pub lost: Vec<LostRule>,
    /// Why.
    pub reason: String,
    /// The smallest change that would allow it.
    pub remedy: Option<String>,
}

/// A rule that matches an action and decides nothing about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRule {
    /// The rule.
    pub rule: RuleRef,
    /// What it says.
    pub says: Decision,
    /// Why it loses: `deny beats allow`.
    pub why: String,
}

/// Runs a profile's self-tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyTestRequest {
    /// A name or a file; `None` is the default of `exec`.
    pub profile: Option<String>,
    /// The project directory; `None` is the current one.
    #[serde(with = "text::maybe")]
    pub dir: Option<PathBuf>,
}

/// The results of a profile's self-tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyTestReport {
    /// The profile's name.
    pub profile: String,
    /// One result an expectation, in the order of the file.
    pub results: Vec<ExpectationResult>,
}

/// One self-test of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectationResult {
    /// The action.
    pub action: String,
    /// What the profile says it expects.
    pub expected: Decision,
    /// What is decided.
    pub decided: Decision,
    /// The rules that decide.
    pub decided_by: Vec<RuleRef>,
    /// Where the expectation stands.
    pub origin: RuleRef,
}
