//! From what checks showed, on the base and on the result, to a verdict with reasons.

mod check;

use names::Digest;
use serde::{Deserialize, Serialize};

use crate::flags::Flag;
use crate::output::Tests;
use crate::terms::Contract;

/// How one command ran. All of it comes out of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code, if it ended by itself.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    /// Why it could not be started.
    pub not_started: Option<String>,
    /// What it printed, as far as it was kept.
    pub stdout: Vec<u8>,
    /// What it printed on standard error, as far as it was kept.
    pub stderr: Vec<u8>,
    /// The digest of all of its standard output.
    pub output: Digest,
    /// Whether more was printed than was kept.
    pub cut: bool,
    /// What of the oracle it changed while it ran ([`crate::Oracle::touched`]).
    pub touched_oracle: Vec<String>,
    /// How long it ran, in milliseconds.
    pub took_ms: u64,
}

/// A run that printed nothing, and of which nobody knows how it ended.
impl Default for Ran {
    fn default() -> Self {
        Self {
            exit: None,
            signal: None,
            timed_out: false,
            not_started: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            output: Digest::of(b""),
            cut: false,
            touched_oracle: Vec::new(),
            took_ms: 0,
        }
    }
}

/// One check on the base alone, and on the base with the change set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pair {
    /// The check's name.
    pub name: String,
    /// On the base alone.
    pub base: Ran,
    /// On the base with the change set.
    pub result: Ran,
}

/// What the evidence amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every criterion is met, and nothing stands against it.
    Verified,
    /// It was not shown.
    Unverified,
    /// A check fails that did not fail so before.
    Failed,
}

/// One check, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckVerdict {
    /// Its name.
    pub name: String,
    /// Whether it passed on the result.
    pub passed: bool,
    /// Whether it failed, and no worse than on the base.
    pub pre_existing: bool,
    /// Why it did not pass; empty if it did.
    pub reasons: Vec<String>,
    /// The tests that its output tells of, on the result.
    pub tests: Option<Tests>,
    /// Whether it passed on the base.
    pub base_passed: bool,
    /// The tests that its output tells of, on the base.
    pub base_tests: Option<Tests>,
}

/// One criterion, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionVerdict {
    /// Its name.
    pub id: String,
    /// What has to be so.
    pub text: String,
    /// The checks that all have to pass.
    pub checks: Vec<String>,
    /// Whether they did.
    pub met: bool,
}

/// What the checks amount to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict on the checks and flags. Whoever orchestrates may know of more that stands
    /// against it (a veto, a change set that is another), never of more that speaks for it.
    pub verdict: Verdict,
    /// Each check of the contract, in its order.
    pub checks: Vec<CheckVerdict>,
    /// Each criterion of the contract, in its order.
    pub criteria: Vec<CriterionVerdict>,
    /// Why it is not verified; empty if it is.
    pub reasons: Vec<String>,
}

impl Judgement {
    /// The check of that name.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&CheckVerdict> {
        self.checks.iter().find(|check| check.name == name)
    }
}

/// Judges what the checks of a contract showed. A check without a pair was not run, and fails.
#[must_use]
pub fn judge(contract: &Contract, pairs: &[Pair], flags: &[Flag]) -> Judgement {
    let checks: Vec<CheckVerdict> = contract
        .checks
        .iter()
        .map(|check| {
            // Were there two of a name, no pair would be the check's.
            let mut own = pairs.iter().filter(|pair| pair.name == check.name);
            match (own.next(), own.next()) {
                (Some(pair), None) => check::judge(check, pair),
                _ => check::not_run(check),
            }
        })
        .collect();
    let passes = |name: &String| checks.iter().any(|check| check.name == *name && check.passed);
    let criteria: Vec<CriterionVerdict> = contract
        .criteria
        .iter()
        .map(|one| CriterionVerdict {
            id: one.id.clone(),
            text: one.text.clone(),
            checks: one.checks.clone(),
            met: !one.checks.is_empty() && one.checks.iter().all(passes),
        })
        .collect();
    let verdict = verdict(&checks, &criteria, flags);
    let reasons = reasons(&checks, &criteria, flags);
    Judgement { verdict, checks, criteria, reasons }
}

fn verdict(checks: &[CheckVerdict], criteria: &[CriterionVerdict], flags: &[Flag]) -> Verdict {
    let newly_failed = checks.iter().any(|check| !check.passed && !check.pre_existing);
    let met = !criteria.is_empty() && criteria.iter().all(|one| one.met);
    if newly_failed {
        Verdict::Failed
    } else if met && flags.is_empty() {
        Verdict::Verified
    } else {
        Verdict::Unverified
    }
}

fn reasons(checks: &[CheckVerdict], criteria: &[CriterionVerdict], flags: &[Flag]) -> Vec<String> {
    let counts = |check: &&CheckVerdict| {
        let wanted = criteria.iter().any(|one| one.checks.contains(&check.name));
        !check.passed && (wanted || !check.pre_existing)
    };
    let failed = checks.iter().filter(counts).map(|check| {
        let name = names::printable(check.name.as_bytes());
        let before = if check.pre_existing { ", as on the base" } else { "" };
        format!("check {name} failed{before}: {}", check.reasons.join("; "))
    });
    // Where a criterion is no more than its check, that says it all.
    let says_more = |one: &&CriterionVerdict| !one.met && one.checks != [one.id.clone()];
    let unmet = criteria
        .iter()
        .filter(says_more)
        .map(|one| format!("criterion {} is not met", names::printable(one.id.as_bytes())));
    failed.chain(unmet).chain(flags.iter().map(ToString::to_string)).collect()
}
