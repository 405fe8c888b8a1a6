//! Why Loop refused, in the words every client shows.

use serde::{Deserialize, Serialize};

/// Exit codes that Loop itself gives; any other code is the command's own.
pub mod exit {
    /// The answer is no: a receipt that doesn't hold, a profile with errors, a check that failed.
    pub const NO: u8 = 1;
    /// The command line couldn't be understood.
    pub const USAGE: u8 = 2;
    /// It ended well, and evidence that it is done is missing.
    pub const UNVERIFIED: u8 = 3;
    /// The command ran out of time.
    pub const TIMEOUT: u8 = 124;
    /// Loop could not do it safely.
    pub const UNSAFE: u8 = 125;
    /// A rule denied it, or the command can't be executed.
    pub const DENIED: u8 = 126;
    /// The command, run, profile or file doesn't exist.
    pub const NOT_FOUND: u8 = 127;
    /// The person interrupted.
    pub const INTERRUPTED: u8 = 130;
}

/// A refusal or a failure: what happened, which rule decided it, and what the person could do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The exit code; one of [`exit`].
    pub code: u8,
    /// What went wrong: lower case, no full stop.
    pub what: String,
    /// The rule that decided it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RuleRef>>,
    /// The single faults behind it, all at once: a profile with three errors has three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Problem {
    /// A problem with neither rule nor findings.
    pub fn new(code: u8, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), rule: None, findings: Vec::new(), next: None }
    }

    /// The same problem with a next step.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The same problem with the rule that decided it.
    #[must_use]
    pub fn with_rule(mut self, rule: RuleRef) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }
}

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The rule's id, or the name of the default that decided.
    pub id: String,
    /// The file, or the name of a text compiled in, such as `built-in offline`.
    pub file: String,
    /// The line, from 1; 0 where the source has no lines (a flag of this run).
    pub line: u32,
}

/// One fault of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The file, or the name of a text compiled in.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The key, as `limits.memory`.
    pub key: Option<String>,
    /// What is wrong with it.
    pub what: String,
    /// How to put it right.
    pub fix: Option<String>,
}
