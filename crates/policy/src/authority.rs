//! What a run may do, resolved and frozen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use names::{ByteSize, Digest, Host, MicroUsd, Port, Span};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::action::{Access, Action, Connect, FileAccess, Kind, word_enum};
use crate::decide::{self, Compiled, Verdict};
use crate::lease::LeaseGrant;
use crate::path_text;
use crate::rule::{Layer, Match, NetworkGrant, Origin, Outcome, Rule};

/// The schema of [`Authority`].
pub const SCHEMA: u32 = 1;

/// How the project directory is treated. The order is from strict to loose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing can be changed.
    ReadOnly,
    /// Changes are kept apart until they are applied.
    Overlay,
    /// Changes land in the project.
    Direct,
}

word_enum!(Mode: "read-only" => ReadOnly, "overlay" => Overlay, "direct" => Direct);

/// A path that the run sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The path, absolute, inside as outside.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What it gives.
    pub access: Access,
    /// Where it was written.
    pub origin: Origin,
}

/// A number of processors, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milli(pub u32);

impl std::fmt::Display for Milli {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What a run may use up. `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory of all processes together.
    pub memory: Option<ByteSize>,
    /// Processors' worth of time.
    pub cpus: Option<Milli>,
    /// Processes at a time.
    pub processes: Option<u32>,
    /// What the run may write to disk.
    pub disk: Option<ByteSize>,
    /// Time from start to end.
    pub wall: Option<Span>,
    /// Standard output and standard error together.
    pub output: Option<ByteSize>,
    /// Calls of a model by Loop's own agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tokens that Loop's own agent uses, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money that Loop's own agent spends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<MicroUsd>,
}

/// How a person is asked, where the verdict is ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskLimits {
    /// How long an action waits for an answer; then it is denied.
    pub timeout: Span,
    /// How many actions may wait at a time.
    pub max_waiting: u32,
    /// How many actions a person may be asked about in a minute.
    pub max_per_minute: u32,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { timeout: Span::from_secs(600), max_waiting: 16, max_per_minute: 30 }
    }
}

/// The environment variables of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Names whose values are taken over from outside; a trailing `*` is any rest. Sorted.
    pub pass: Vec<String>,
    /// Names and values.
    pub set: BTreeMap<String, String>,
    /// Names that are never taken over; a trailing `*` is any rest. Sorted.
    pub deny: Vec<String>,
}

impl Environment {
    /// Whether the value that `name` has outside is taken over.
    #[must_use]
    pub fn passes(&self, name: &str) -> bool {
        let among = |list: &[String]| list.iter().any(|pattern| name_matches(pattern, name));
        among(&self.pass) && !among(&self.deny)
    }
}

/// Whether a variable's name is meant by `NAME` or `START*`.
pub(crate) fn name_matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Whether every variable that `narrow` means is meant by `wide` too.
pub(crate) fn name_covers(wide: &str, narrow: &str) -> bool {
    match (wide.strip_suffix('*'), narrow.strip_suffix('*')) {
        (Some(wide), narrow_start) => narrow_start.unwrap_or(narrow).starts_with(wide),
        (None, None) => wide == narrow,
        (None, Some(_)) => false,
    }
}

/// Further grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Toolchains in the home directory are visible.
    pub toolchains: bool,
    /// Programs may create user namespaces of their own.
    pub user_namespaces: bool,
}

impl Default for Grants {
    fn default() -> Self {
        Self { toolchains: true, user_namespaces: false }
    }
}

/// What holds for a kind of action that no rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClassDefault {
    /// The verdict.
    pub verdict: Outcome,
    /// The layer that decided it.
    pub layer: Layer,
    /// Where it was written.
    pub origin: Origin,
}

/// One text that an authority was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerDigest {
    /// The layer.
    pub layer: Layer,
    /// The file, or the name of a text compiled in.
    pub source: String,
    /// The digest of its text.
    pub digest: Digest,
}

/// What one run may do. It comes from [`crate::resolve`] or from a run's record, and stays as it
/// is: [`Authority::decide`] indexes the rules once, so a rule added to an authority that has
/// decided already has no effect. A clone starts without an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// [`SCHEMA`]; a record of another schema can't be read.
    #[serde(deserialize_with = "known_schema")]
    pub schema: u32,
    /// The profile's name.
    pub profile: String,
    /// Who the run is for.
    pub subject: String,
    /// The project directory.
    #[serde(with = "path_text")]
    pub project: PathBuf,
    /// How it is treated.
    pub mode: Mode,
    /// What else is visible, sorted by path.
    pub mounts: Vec<Mount>,
    /// The environment.
    pub environment: Environment,
    /// The limits.
    pub limits: Limits,
    /// How a person is asked. Records of before there were approvals have none.
    #[serde(default)]
    pub approvals: AskLimits,
    /// The destinations that can be reached.
    pub network: Vec<NetworkGrant>,
    /// The credentials that are lent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseGrant>,
    /// The ports that are published, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publish: Vec<Publication>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// What holds where no rule does. A kind that is missing is denied.
    pub defaults: BTreeMap<Kind, ClassDefault>,
    /// Further grants.
    pub grants: Grants,
    /// The texts it was made from, strongest first.
    pub layers: Vec<LayerDigest>,
    #[serde(skip)]
    pub(crate) compiled: Compiled,
}

fn known_schema<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        SCHEMA => Ok(SCHEMA),
        other => Err(D::Error::custom(format!("the authority's schema is {other}, not {SCHEMA}"))),
    }
}

/// A port of the sandbox that can be connected to at this machine's loopback addresses. Only the
/// command line says so; no file can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// The port on this machine.
    pub outside: Port,
    /// The port inside.
    pub port: Port,
}

/// A gate that an authority asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Mediation of system calls.
    SyscallGate,
    /// The network gate.
    Egress,
    /// The Git gate.
    Git,
    /// The Docker gate.
    Docker,
    /// Lending of credentials.
    Lease,
}

word_enum!(
    Gate: "syscall-gate" => SyscallGate, "egress" => Egress, "git" => Git, "docker" => Docker,
    "lease" => Lease,
);

/// A gate that an authority asks for, and what asks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Need {
    /// The gate.
    pub gate: Gate,
    /// The first thing that asks for it.
    pub origin: Origin,
}

impl Authority {
    /// The digest that approvals and receipts are bound to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        crate::digest_of("loop-authority-v1", self)
    }

    /// Decides about an action. It needs no more than this authority, and no action can make it
    /// fail: what makes no sense is denied.
    #[must_use]
    pub fn decide(&self, action: &Action) -> Verdict {
        decide::decide(self, action)
    }

    /// Whether what an action does stays in the sandbox: no program that starts leaves it, and what
    /// is written stays in the run, unless the file is of the project in direct mode or below a
    /// mount that writes to this machine.
    #[must_use]
    pub fn keeps_inside(&self, action: &Action) -> bool {
        match action {
            Action::Exec(_) => true,
            Action::Open(open) if open.access == FileAccess::Write => !self.exposes(&open.path),
            Action::Open(_) => true,
            _ => false,
        }
    }

    /// Whether what is written to a path is written on this machine.
    fn exposes(&self, path: &Path) -> bool {
        let project = self.mode == Mode::Direct && path.starts_with(&self.project);
        let mounted =
            |mount: &Mount| mount.access == Access::Write && path.starts_with(&mount.path);
        project || self.mounts.iter().any(mounted)
    }

    /// Whether a gate of a run may have to ask a person. What becomes of a change set and of commits
    /// is the person's own command.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        let persons = [Kind::Mount, Kind::Apply, Kind::Discard, Kind::Undo, Kind::Branch];
        let gated = |kind| !persons.contains(&kind);
        let asks = |kind, verdict| verdict == Outcome::Ask && gated(kind);
        // In direct mode guarded files ask.
        self.mode == Mode::Direct
            || self.rules.iter().any(|rule| asks(rule.when.kind(), rule.verdict))
            || self.defaults.iter().any(|(kind, default)| asks(*kind, default.verdict))
    }

    /// The grants that let a connection happen, for their caps and addresses.
    #[must_use]
    pub fn grants_for(&self, connect: &Connect) -> Vec<&NetworkGrant> {
        self.network.iter().filter(|grant| decide::reaches(grant, connect)).collect()
    }

    /// Whether requests over a connection have to be seen to be decided about: nothing that opens
    /// it allows every request, or a rule says more about some of them.
    #[must_use]
    pub fn narrows(&self, connect: &Connect) -> bool {
        decide::narrows(self, connect)
    }

    /// Whether a push to this host, and to this repository there, could be allowed or asked about.
    /// Nothing to such a host may pass unread.
    #[must_use]
    pub fn may_push(&self, host: &Host, repository: Option<&str>) -> bool {
        let allows = |rule: &&Rule| rule.verdict != Outcome::Deny;
        let about = |rule: &Rule| match &rule.when {
            Match::GitPush { host: hosts, repository: repositories, .. } => {
                let named = repositories.as_ref().zip(repository);
                hosts.as_ref().is_none_or(|pattern| pattern.matches(host))
                    && named.is_none_or(|(pattern, repository)| pattern.matches(repository))
            }
            _ => false,
        };
        let default = self.defaults.get(&Kind::GitPush);
        default.is_some_and(|default| default.verdict != Outcome::Deny)
            || self.rules.iter().filter(allows).any(about)
    }

    /// The gates without which this authority can't be held, each once. A rule that only denies
    /// what the view or the missing network denies anyway asks for none.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let mut needs: BTreeMap<Gate, Origin> = BTreeMap::new();
        let mut need = |gate, origin: &Origin| {
            needs.entry(gate).or_insert_with(|| origin.clone());
        };
        if self.mode == Mode::Direct {
            need(Gate::SyscallGate, &self.mode_origin());
        }
        for (kind, default) in &self.defaults {
            if let Some(gate) = gate_of(*kind, default.verdict) {
                need(gate, &default.origin);
            }
        }
        for grant in self.network.iter().filter(|grant| !grant.target.is_empty()) {
            need(Gate::Egress, &grant.origin);
        }
        for lease in &self.leases {
            need(Gate::Lease, &lease.origin);
        }
        for rule in &self.rules {
            if let Some(gate) = gate_of(rule.when.kind(), rule.verdict) {
                need(gate, &rule.origin);
            }
        }
        needs.into_iter().map(|(gate, origin)| Need { gate, origin }).collect()
    }

    fn mode_origin(&self) -> Origin {
        let source = format!("profile {}", self.profile);
        Origin { source, line: 0, key: "workspace.mode".to_owned() }
    }
}

/// The gate that upholds a verdict which isn't what holds without any gate.
fn gate_of(kind: Kind, verdict: Outcome) -> Option<Gate> {
    let gate = match kind {
        Kind::Exec | Kind::Open => (verdict != Outcome::Allow).then_some(Gate::SyscallGate)?,
        Kind::Connect | Kind::Resolve | Kind::Http => Gate::Egress,
        Kind::GitPush => Gate::Git,
        Kind::Docker => Gate::Docker,
        Kind::Lease => Gate::Lease,
        // What is published says so itself; a rule only narrows it.
        Kind::Mount
        | Kind::Publish
        | Kind::Tool
        | Kind::Apply
        | Kind::Discard
        | Kind::Undo
        | Kind::Branch => {
            return None;
        }
    };
    let held_anyway = gate != Gate::SyscallGate && verdict == Outcome::Deny;
    (!held_anyway).then_some(gate)
}
