//! What came out, ready to be shown or written as JSON.

use serde::Serialize;

use crate::Kind;

/// How a case is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Without a launcher.
    Bare,
    /// The attack, through the launcher.
    Confined,
    /// The legitimate variant, through the launcher.
    Neighbour,
}

impl Arm {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Confined => "confined",
            Self::Neighbour => "neighbour",
        }
    }
}

/// Whether an arm went as it must.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum ArmResult {
    /// It did.
    Passed,
    /// It didn't.
    Failed {
        /// What went otherwise.
        reason: String,
    },
    /// It could not be tried here; this is never a pass.
    CannotRun {
        /// What is missing.
        reason: String,
    },
}

/// A forbidden effect that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// Which of the case's attempts had it.
    pub probe: String,
    /// What was seen.
    pub detail: String,
}

/// One arm.
#[derive(Debug, Clone, Serialize)]
pub struct ArmReport {
    /// Which.
    pub arm: Arm,
    /// Whether it went as it must.
    #[serde(flatten)]
    pub result: ArmResult,
    /// What was attempted, by the names of the case's probes.
    pub attempted: Vec<String>,
    /// The forbidden effects that were seen. In the bare arm they are wanted.
    pub effects: Vec<Effect>,
    /// Bare arm: attempts without an effect on this machine, so that their absence in the confined
    /// arm shows nothing.
    pub unproven: Vec<String>,
    /// How the command ended: `exit 0`, `signal 9`, `out of time`; empty if it never started.
    pub ended: String,
    /// The end of what was written, by file; only where the arm did not pass.
    pub output: Option<String>,
    /// Processes that were still there at the end and had to be killed, by command line.
    pub left_behind: Vec<String>,
    /// How long it took, in milliseconds, with its set-up.
    pub duration_ms: u64,
}

/// What is said of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every arm passed.
    Pass,
    /// An arm failed.
    Fail,
    /// No arm failed, and at least one could not run.
    Cannot,
}

/// One case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub id: String,
    /// What it is, in a line.
    pub title: String,
    /// Attack or work.
    pub kind: Kind,
    /// Public evidence that this has happened.
    pub source: Vec<String>,
    /// What is said of it.
    pub outcome: Outcome,
    /// Why it did not pass, with the arm it happened in.
    pub reason: Option<String>,
    /// Its arms, in order.
    pub arms: Vec<ArmReport>,
}

impl CaseReport {
    /// Whether an attack's effect was seen through the launcher: it got out.
    pub fn escaped(&self) -> bool {
        self.arms.iter().any(|arm| arm.arm == Arm::Confined && !arm.effects.is_empty())
    }
}

/// Several cases through one launcher.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The launcher, as a line.
    pub launcher: String,
    /// How many passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many could not run.
    pub cannot: usize,
    /// All of them.
    pub cases: Vec<CaseReport>,
}

impl Summary {
    /// Counts the reports.
    pub fn new(launcher: String, cases: Vec<CaseReport>) -> Self {
        let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
        Self {
            launcher,
            passed: count(Outcome::Pass),
            failed: count(Outcome::Fail),
            cannot: count(Outcome::Cannot),
            cases,
        }
    }
}
