//! What is known of models by the beginning of their names, read from `known.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Abilities, Effort, LongPrompt, MicroUsd, Price, Rates};

const TABLE: &str = include_str!("known.toml");

/// What is known of one model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) abilities: Abilities,
    pub(crate) thinking: Thinking,
    /// The steps of effort that it knows, as its provider calls them, from the least.
    efforts: Vec<String>,
}

/// How a model of Anthropic is told to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thinking {
    /// Not at all.
    #[default]
    Untold,
    /// By a number of tokens.
    Budget,
    /// It decides, by the effort.
    Adaptive,
    /// The same, and its thinking is bound to what came before it.
    Preserved,
}

impl Known {
    /// What is known of this model of this provider.
    pub(crate) fn of(provider: &str, name: &str) -> Self {
        let rows = TABLE_READ.iter().filter(|row| row.provider == provider && row.fits(name));
        let row = rows.max_by_key(|row| row.prefix.len());
        row.map(Row::known).unwrap_or_default()
    }

    /// The step of effort that is nearest to the one asked for.
    pub(crate) fn nearest(&self, effort: Effort) -> Option<&str> {
        let distance = |name: &&String| rank(name).abs_diff(steps(effort));
        self.efforts.iter().min_by_key(distance).map(String::as_str)
    }
}

/// The provider whose models are called so.
pub(crate) fn provider_of(name: &str) -> Option<&'static str> {
    TABLE_READ.iter().find(|row| row.fits(name)).map(|row| row.provider.as_str())
}

/// The models of a provider that are worth listing, the default first.
pub(crate) fn listed(provider: &str) -> Vec<&'static str> {
    let rows = TABLE_READ.iter().filter(|row| row.provider == provider && row.listed);
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| !row.default);
    rows.into_iter().map(|row| row.prefix.as_str()).collect()
}

/// Efforts on one scale, with room for what providers know in between.
fn rank(name: &str) -> u32 {
    match name {
        "minimal" => 0,
        "low" => 2,
        "medium" => 4,
        "high" => 6,
        "xhigh" => 7,
        _ => 8,
    }
}

fn steps(effort: Effort) -> u32 {
    rank(effort.name())
}

#[derive(Deserialize)]
struct Table {
    model: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    prefix: String,
    context: Option<u64>,
    max_output: Option<u64>,
    #[serde(default)]
    thinking: Thinking,
    #[serde(default)]
    efforts: Vec<String>,
    price: Option<Dollars>,
    long: Option<LongDollars>,
    #[serde(default)]
    listed: bool,
    #[serde(default)]
    default: bool,
}

#[derive(Deserialize)]
struct Dollars {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

#[derive(Deserialize)]
struct LongDollars {
    above: u64,
    #[serde(flatten)]
    price: Dollars,
}

static TABLE_READ: LazyLock<Vec<Row>> =
    // A test reads it; were it broken, nothing would be known.
    LazyLock::new(|| {
        toml::from_str::<Table>(TABLE).map(|table| table.model).unwrap_or_default()
    });

impl Row {
    fn fits(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.prefix.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':', '[']))
    }

    fn known(&self) -> Known {
        let long = self.long.as_ref();
        let long = long.map(|long| LongPrompt { above: long.above, rates: long.price.rates() });
        let price = self.price.as_ref().map(|price| Price { rates: price.rates(), long });
        Known {
            abilities: Abilities {
                context: self.context,
                max_output: self.max_output,
                images: true,
                effort: !self.efforts.is_empty() || self.thinking == Thinking::Budget,
                price,
            },
            thinking: self.thinking,
            efforts: self.efforts.clone(),
        }
    }
}

impl Dollars {
    fn rates(&self) -> Rates {
        Rates {
            input: micro(self.input),
            output: micro(self.output),
            cache_read: micro(self.cache_read),
            cache_write: micro(self.cache_write),
        }
    }
}

/// A float becomes the nearest integer, and no less than zero.
fn micro(dollars: f64) -> MicroUsd {
    MicroUsd((dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table: Table = toml::from_str(TABLE).unwrap();
        for row in &table.model {
            let known = Known::of(&row.provider, &row.prefix);
            assert_eq!(known.abilities.context, row.context, "{}", row.prefix);
            for pair in row.efforts.windows(2) {
                assert!(rank(&pair[0]) < rank(&pair[1]), "{}", row.prefix);
            }
        }
        for provider in ["anthropic", "openai"] {
            let defaults = table.model.iter().filter(|row| row.provider == provider && row.default);
            assert_eq!(defaults.count(), 1, "{provider}");
        }
    }

    #[test]
    fn the_longest_prefix_counts_and_ends_at_a_word() {
        let price = |name| {
            let price = Known::of("openai", name).abilities.price;
            price.map(|price| price.rates.input)
        };
        assert_eq!(price("gpt-5-mini-2025-08-07"), Some(MicroUsd(250_000)));
        assert_eq!(price("gpt-5-2025-08-07"), Some(MicroUsd(1_250_000)));
        assert_eq!(price("gpt-5.9"), None);
        assert_eq!(Known::of("anthropic", "claude-haiku-5-5").abilities.context, Some(1_000_000));
        assert!(Known::of("openai", "gpt-7").abilities.effort);
        assert!(!Known::of("openai", "gpt-4.1").abilities.effort);
    }

    #[test]
    fn an_effort_is_brought_to_the_nearest_step() {
        let step = |name, effort| Known::of("openai", name).nearest(effort).unwrap().to_owned();
        assert_eq!(step("gpt-6.2-sol", Effort::Minimal), "low");
        assert_eq!(step("gpt-5", Effort::Minimal), "minimal");
        assert_eq!(step("gpt-5.2", Effort::Max), "xhigh");
        assert_eq!(step("gpt-5.1", Effort::Max), "high");
        assert_eq!(Known::of("openai", "gpt-4.1").nearest(Effort::High), None);
    }

    #[test]
    fn a_bare_name_tells_its_provider() {
        assert_eq!(provider_of("claude-next-9"), Some("anthropic"));
        assert_eq!(provider_of("o3"), Some("openai"));
        assert_eq!(provider_of("llama3"), None);
        assert_eq!(listed("anthropic").first(), Some(&"claude-sonnet-5-5"));
    }
}
