//! What is known of a model beforehand.

use std::fmt;
use std::str::FromStr;

use names::MicroUsd;
use serde::{Deserialize, Serialize};

/// What is known of a model. What nobody knows is `None`, and is for the caller to be careful
/// about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Tokens of input and output together.
    pub context: Option<u64>,
    /// Most tokens of one answer.
    pub max_output: Option<u64>,
    /// Whether it sees images.
    pub images: bool,
    /// Whether it can be told how much to think.
    pub effort: bool,
    /// What its tokens cost.
    pub price: Option<Price>,
}

/// What tokens cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// What they cost usually.
    #[serde(flatten)]
    pub rates: Rates,
    /// What all tokens of an exchange cost if its prompt is long.
    pub long: Option<LongPrompt>,
}

/// What a million tokens cost, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Plain input.
    pub input: MicroUsd,
    /// Output, reasoning included.
    pub output: MicroUsd,
    /// Input read from the cache.
    pub cache_read: MicroUsd,
    /// Input written to the cache.
    pub cache_write: MicroUsd,
}

/// The rates of long prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPrompt {
    /// A prompt of more tokens than this is long, cached ones included.
    pub above: u64,
    /// What its tokens cost.
    #[serde(flatten)]
    pub rates: Rates,
}

/// How much a model should think. A provider that knows fewer steps takes the nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// What is usual.
    Medium,
    /// Much.
    High,
    /// As much as possible.
    Max,
}

impl Effort {
    /// All of them, from the least.
    pub const ALL: [Self; 5] = [Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Max];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is no [`Effort`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is not one of minimal, low, medium, high, max", names::printable(.0.as_bytes()))]
pub struct NotAnEffort(String);

impl FromStr for Effort {
    type Err = NotAnEffort;

    fn from_str(text: &str) -> Result<Self, NotAnEffort> {
        let found = Self::ALL.into_iter().find(|effort| effort.name() == text);
        found.ok_or_else(|| NotAnEffort(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_read_by_its_name() {
        for effort in Effort::ALL {
            assert_eq!(effort.to_string().parse(), Ok(effort));
        }
        assert!("High".parse::<Effort>().is_err());
    }
}
