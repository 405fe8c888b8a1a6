//! What a model answers: events while it speaks, and the whole when it has ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Message, MicroUsd, Part, Price, Request, ToolCall};

/// What is seen of an answer while it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next piece of text.
    Text(String),
    /// The next piece of the reasoning that may be shown.
    Reasoning(String),
    /// A tool call began; its arguments are in the answer.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// The request failed before anything was seen of the answer, and is sent again.
    Retrying {
        /// How long until then.
        after: Duration,
        /// Which attempt comes, from 2.
        attempt: u32,
        /// What failed.
        why: String,
        /// Whether the provider may charge for it: [`crate::ModelError::may_cost`].
        may_cost: bool,
    },
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Texts, reasoning and tool calls, in the order in which the model wrote them. Sent back as
    /// [`Message::Assistant`], they are what the provider expects.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub stop: Stop,
    /// What it used, if the provider said so.
    pub usage: Option<Usage>,
}

impl Answer {
    /// All of its text.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().filter_map(text).collect()
    }

    /// Its tool calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model is done.
    Done,
    /// It waits for the results of its tool calls.
    Tools,
    /// The most output, or the context window, was reached: the answer is cut off.
    Length,
    /// The provider or the model would not answer; what it said.
    Refused(String),
    /// Anything else, as the provider calls it.
    Other(String),
}

/// Tokens that an answer used. The kinds don't overlap, but for `reasoning`, which is a part of
/// `output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was neither read from the cache nor written to it.
    pub input: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Output that was reasoning.
    pub reasoning: u64,
}

/// Bytes that are certainly no less than a token each, on average: text of any language has more.
const BYTES_PER_TOKEN: u64 = 2;
/// Tokens that an image costs at most.
const TOKENS_PER_IMAGE: u64 = 5_000;

impl Usage {
    /// What this costs, rounded up.
    #[must_use]
    pub fn cost(&self, price: &Price) -> MicroUsd {
        let prompt = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        let long = price.long.filter(|long| prompt > long.above);
        let rates = long.map_or(price.rates, |long| long.rates);
        let kinds = [
            (self.input, rates.input),
            (self.cache_read, rates.cache_read),
            (self.cache_write, rates.cache_write),
            (self.output, rates.output),
        ];
        let sum = kinds.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0));
        let micro = sum.fold(0, u128::saturating_add).div_ceil(1_000_000);
        MicroUsd(u64::try_from(micro).unwrap_or(u64::MAX))
    }

    /// What an exchange used at most, for when its provider doesn't say: estimated from its bytes.
    #[must_use]
    pub fn estimate(request: &Request, answer: &[Part]) -> Self {
        let tools = request.tools.iter().map(|tool| {
            bytes(&tool.name) + bytes(&tool.description) + bytes(&tool.parameters.to_string())
        });
        let messages = request.messages.iter().flat_map(Message::parts).map(tokens);
        let prompt = tokens_of(bytes(&request.system) + tools.sum::<u64>());
        Self {
            input: prompt + messages.sum::<u64>(),
            output: answer.iter().map(tokens).sum(),
            ..Self::default()
        }
    }

    /// All tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.input, self.cache_read, self.cache_write, self.output]
            .iter()
            .fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

fn tokens_of(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn tokens(part: &Part) -> u64 {
    match part {
        Part::Text(text) => tokens_of(bytes(text)),
        Part::Image { .. } => TOKENS_PER_IMAGE,
        Part::ToolCall(call) => {
            tokens_of(bytes(&call.id) + bytes(&call.name) + bytes(&call.arguments))
        }
        Part::ToolResult { call, parts, .. } => {
            tokens_of(bytes(call)) + parts.iter().map(tokens).sum::<u64>()
        }
        Part::Reasoning { text, opaque } => {
            let opaque = opaque.as_ref().map_or(0, |opaque| bytes(&opaque.to_string()));
            tokens_of(bytes(text) + opaque)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LongPrompt, Rates};

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let rates = Rates {
            input: MicroUsd(3_000_000),
            output: MicroUsd(15_000_000),
            cache_read: MicroUsd(300_000),
            cache_write: MicroUsd(3_750_000),
        };
        let price = Price { rates, long: None };
        let usage = Usage { input: 1, cache_read: 1, ..Usage::default() };
        assert_eq!(usage.cost(&price), MicroUsd(4));
        let usage = Usage { output: 1_000_000, reasoning: 900_000, ..Usage::default() };
        assert_eq!(usage.cost(&price), MicroUsd(15_000_000));
        let all = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(all.cost(&price), MicroUsd(u64::MAX));
        assert_eq!((all + all).total(), u64::MAX);
    }

    #[test]
    fn a_long_prompt_has_its_own_rates() {
        let usual = Rates { input: MicroUsd(1_000_000), ..Rates::default() };
        let rates = Rates { input: MicroUsd(2_000_000), ..Rates::default() };
        let price = Price { rates: usual, long: Some(LongPrompt { above: 100, rates }) };
        let cost = |input, cache_read| Usage { input, cache_read, ..Usage::default() }.cost(&price);
        assert_eq!(cost(100, 0), MicroUsd(100));
        assert_eq!(cost(100, 1), MicroUsd(200));
    }

    #[test]
    fn an_estimate_counts_everything_that_was_sent() {
        let image = Part::Image { media_type: "image/png".into(), data: vec![0; 9] };
        let result = Part::ToolResult { call: "c1".into(), parts: vec![image], failed: false };
        let request = Request {
            system: "1234".into(),
            messages: vec![Message::user("123456"), Message::User(vec![result])],
            ..Request::default()
        };
        let usage = Usage::estimate(&request, &[Part::Text("12345".into())]);
        assert_eq!((usage.input, usage.output), (2 + 3 + 1 + 5_000, 3));
    }
}
