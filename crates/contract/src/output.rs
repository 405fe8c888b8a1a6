//! What the output of a check says about tests. The output is hostile: whatever it says can only
//! make a check fail.
//!
//! Every line that a known runner ends with is read, whichever runner the command names, because
//! `make test` may run any. A command that names a runner has to show its result.

mod lines;
mod runners;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::terms::Command;

/// Tests, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// That passed.
    pub passed: u64,
    /// That failed.
    pub failed: u64,
    /// That were skipped or ignored.
    pub skipped: u64,
}

impl Tests {
    /// How many were run.
    #[must_use]
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Skipped,
}

/// What an output says about tests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    /// The runners that the command names.
    named: Vec<&'static str>,
    /// The runners that told a result.
    seen: BTreeSet<&'static str>,
    /// What the runners' last lines say, together.
    total: Option<Tests>,
    /// Single tests, by name; a name may stand for several.
    ends: BTreeMap<String, Vec<End>>,
    /// Whether a runner has said that all is well without saying how many.
    pub(crate) uncounted: bool,
    /// What does not fit together in it.
    pub(crate) flaw: Option<String>,
}

impl Report {
    /// The tests, if it tells of any runner's result.
    pub(crate) fn tests(&self) -> Option<Tests> {
        self.total
    }

    /// A runner that the command names and that told no result.
    pub(crate) fn silent(&self) -> Option<&'static str> {
        self.named.iter().copied().find(|runner| !runners::is_shown(runner, self))
    }

    /// Whether the single tests are all those that were counted, so that their names mean something.
    fn is_named(&self) -> bool {
        let count =
            |wanted: End| self.ends.values().flatten().filter(|end| **end == wanted).count() as u64;
        self.total.is_some_and(|total| {
            total.ran() > 0
                && count(End::Passed) == total.passed
                && count(End::Failed) == total.failed
        })
    }

    fn names(&self, of: impl Fn(End) -> bool) -> BTreeMap<&str, usize> {
        let counted = self
            .ends
            .iter()
            .map(|(name, ends)| (name.as_str(), ends.iter().filter(|end| of(**end)).count()));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Tests that ran before and now do not, where both outputs name them all.
    pub(crate) fn gone_since(&self, base: &Self) -> Vec<String> {
        if !self.is_named() || !base.is_named() || self.total.is_some_and(|total| total.failed > 0)
        {
            return Vec::new();
        }
        let ran = |end: End| end != End::Skipped;
        let now = self.names(ran);
        let before = base.names(ran);
        let gone = before
            .into_iter()
            .filter(|(name, count)| now.get(name).is_none_or(|running| running < count));
        gone.map(|(name, _)| name.to_owned()).collect()
    }

    /// The tests that failed, where the output names them all.
    pub(crate) fn failed_names(&self) -> Option<BTreeSet<String>> {
        self.is_named()
            .then(|| self.names(|end| end == End::Failed).into_keys().map(str::to_owned).collect())
    }
}

/// Reads the output of a command.
pub(crate) fn read(command: &Command, stdout: &[u8], stderr: &[u8]) -> Report {
    let mut report = Report { named: runners::named_by(command), ..Report::default() };
    for stream in [stdout, stderr] {
        runners::read(&lines::of(stream), &mut report);
    }
    report
}
