//! Counting what passed and what failed.

use std::fmt;

/// Results that were really obtained: nothing is counted that did not run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    /// What failed, by name.
    pub(crate) failed: Vec<String>,
}

impl Tally {
    /// One thing that passed.
    pub(crate) fn one() -> Self {
        Self { passed: 1, failed: Vec::new() }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
    }

    pub(crate) fn holds(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_every_name() {
        let mut sum = Tally::one();
        sum.add(Tally { passed: 2, failed: vec!["x".into()] });
        assert_eq!(sum.to_string(), "3 passed, 1 failed");
        assert!(!sum.holds());
    }
}
