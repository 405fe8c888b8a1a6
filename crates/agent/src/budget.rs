//! What a run may use, what it has used, and whether the next call fits.
//!
//! A call is admitted by the most that it can cost, so one that would cross the budget isn't made.
//! A reserve is set aside first, for the checks that follow. Where a provider doesn't say what a
//! call used, it is charged an estimate that is no less.

use api::event::{BudgetKind, Tokens};
use models::{MicroUsd, Price, Rates, Usage};
use names::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// The most that may be used; `None`: as much as it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls of a model.
    pub steps: Option<u64>,
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<MicroUsd>,
    /// Time from the first turn's beginning.
    pub wall: Option<Span>,
}

impl Limits {
    /// The smaller of each: what is asked for, as far as the authority gives it.
    #[must_use]
    pub fn within(self, authority: &Self) -> Self {
        Self {
            steps: smaller(self.steps, authority.steps),
            tokens: smaller(self.tokens, authority.tokens),
            money: smaller(self.money, authority.money),
            wall: smaller(self.wall, authority.wall),
        }
    }
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// What is set aside for verification, out of the limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reserve {
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub money: MicroUsd,
    /// Time. Whoever watches the clock ends the work so much before the run's time is up.
    pub wall: Span,
}

/// What has been used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Calls of a model, those that failed included.
    pub steps: u64,
    /// Tokens.
    pub usage: Usage,
    /// Money, as far as prices are known.
    pub cost: MicroUsd,
    /// Time.
    pub wall: Span,
}

impl Spent {
    /// The tokens, as a client sees them.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let Usage { input, cache_read, cache_write, output, reasoning } = self.usage;
        Tokens {
            input_tokens: input.saturating_add(cache_read).saturating_add(cache_write),
            cached_input_tokens: cache_read,
            output_tokens: output,
            reasoning_output_tokens: reasoning,
        }
    }
}

impl std::ops::Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            usage: self.usage + other.usage,
            cost: self.cost.saturating_add(other.cost),
            wall: plus(self.wall, other.wall.as_millis()),
        }
    }
}

/// An answer shorter than this is not worth a call.
const LEAST_OUTPUT: u64 = 256;

/// The budget of one run.
#[derive(Debug, Clone)]
pub struct Budget {
    limits: Limits,
    reserve: Reserve,
    spent: Spent,
    price: Option<Price>,
    now: Timestamp,
}

impl Budget {
    /// Of these limits, `reserve` is set aside. Time counts from `now`.
    #[must_use]
    pub fn new(limits: Limits, reserve: Reserve, price: Option<Price>, now: Timestamp) -> Self {
        Self { limits, reserve, spent: Spent::default(), price, now }
    }

    /// What has been used.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// What is left for the work, the reserve set aside.
    #[must_use]
    pub fn left(&self) -> Limits {
        self.left_beside(self.reserve)
    }

    /// What is left for the checks: what was set aside for them, and the rest.
    #[must_use]
    pub fn left_for_checks(&self) -> Limits {
        self.left_beside(Reserve::default())
    }

    fn left_beside(&self, reserve: Reserve) -> Limits {
        let Self { limits, spent, .. } = self;
        let less =
            |limit: u64, used: u64, aside: u64| limit.saturating_sub(aside).saturating_sub(used);
        Limits {
            steps: limits.steps.map(|limit| less(limit, spent.steps, 0)),
            tokens: limits.tokens.map(|limit| less(limit, spent.usage.total(), reserve.tokens)),
            money: limits.money.map(|limit| MicroUsd(less(limit.0, spent.cost.0, reserve.money.0))),
            wall: limits.wall.map(|limit| {
                let left =
                    less(limit.as_millis(), spent.wall.as_millis(), reserve.wall.as_millis());
                Span::from_millis(left)
            }),
        }
    }

    /// Notes what time it is. A clock that is set back costs nothing.
    pub fn tick(&mut self, now: Timestamp) {
        let passed = now.as_millis().saturating_sub(self.now.as_millis());
        self.spent.wall = plus(self.spent.wall, u64::try_from(passed).unwrap_or(0));
        self.now = now;
    }

    /// As [`Budget::tick`], where checks took the time: it is the reserve's as long as that lasts.
    pub fn tick_checks(&mut self, now: Timestamp) {
        let before = self.spent.wall.as_millis();
        self.tick(now);
        let took = self.spent.wall.as_millis().saturating_sub(before);
        let rest = self.reserve.wall.as_millis().saturating_sub(took);
        self.reserve.wall = Span::from_millis(rest);
    }

    /// Whether a call with `input` tokens may be made, and how long its answer may be: at most
    /// `output` tokens.
    ///
    /// # Errors
    /// Which budget it would cross.
    pub fn admit(&self, input: u64, output: u64) -> Result<u64, BudgetKind> {
        let left = self.left();
        if left.steps == Some(0) {
            return Err(BudgetKind::Steps);
        }
        if left.wall == Some(Span::from_millis(0)) {
            return Err(BudgetKind::Wall);
        }
        let least = LEAST_OUTPUT.min(output);
        let tokens = left.tokens.map_or(u64::MAX, |tokens| tokens.saturating_sub(input));
        if tokens < least {
            return Err(BudgetKind::Tokens);
        }
        let money = left.money.map_or(Some(u64::MAX), |money| self.output_for(money, input));
        match money {
            Some(money) if money >= least => Ok(output.min(tokens).min(money)),
            _ => Err(BudgetKind::Money),
        }
    }

    /// Charges a call.
    pub fn charge(&mut self, usage: Usage) -> Spent {
        let spent =
            Spent { steps: 1, usage, cost: self.cost_of(usage), wall: Span::from_millis(0) };
        self.spent = self.spent + spent;
        spent
    }

    /// What it costs, as far as prices are known.
    #[must_use]
    pub fn cost_of(&self, usage: Usage) -> MicroUsd {
        self.price.as_ref().map_or(MicroUsd(0), |price| usage.cost(price))
    }

    /// How many tokens of output the money buys besides the input; `None`: not even that, or
    /// nobody knows.
    fn output_for(&self, money: MicroUsd, input: u64) -> Option<u64> {
        let price = self.price?;
        let long = price.long.filter(|long| input > long.above);
        let rates = long.map_or(price.rates, |long| long.rates);
        let dearest = rates.input.max(rates.cache_write).max(rates.cache_read);
        let rates = Rates { input: dearest, ..rates };
        let prompt = Usage { input, ..Usage::default() };
        let rest = money.0.checked_sub(prompt.cost(&Price { rates, long: None }).0)?;
        let tokens = u128::from(rest) * 1_000_000;
        let tokens = tokens.checked_div(u128::from(rates.output.0)).unwrap_or(u128::MAX);
        Some(u64::try_from(tokens).unwrap_or(u64::MAX))
    }
}

fn plus(span: Span, millis: u64) -> Span {
    Span::from_millis(span.as_millis().saturating_add(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(limits: Limits, reserve: Reserve) -> Budget {
        let rates = Rates {
            input: MicroUsd(1_000_000),
            output: MicroUsd(10_000_000),
            cache_read: MicroUsd(100_000),
            cache_write: MicroUsd(2_000_000),
        };
        let price = Price { rates, long: None };
        Budget::new(limits, reserve, Some(price), Timestamp::from_millis(0))
    }

    fn used(input: u64) -> Usage {
        Usage { input, ..Usage::default() }
    }

    #[test]
    fn the_reserve_is_set_aside_first() {
        let limits = Limits { tokens: Some(4_000), ..Limits::default() };
        let mut budget = budget(limits, Reserve { tokens: 800, ..Reserve::default() });
        let _ = budget.charge(used(2_900));
        assert_eq!(budget.left().tokens, Some(300));
        assert_eq!(budget.left_for_checks().tokens, Some(1_100));
    }

    #[test]
    fn the_time_of_checks_is_the_reserves_as_long_as_that_lasts() {
        let limits = Limits { wall: Some(Span::from_millis(1_000)), ..Limits::default() };
        let wall = Span::from_millis(200);
        let mut budget = budget(limits, Reserve { wall, ..Reserve::default() });
        assert_eq!(budget.left().wall, Some(Span::from_millis(800)));
        budget.tick_checks(Timestamp::from_millis(150));
        assert_eq!(budget.left().wall, Some(Span::from_millis(800)));
        budget.tick_checks(Timestamp::from_millis(250));
        assert_eq!(budget.left().wall, Some(Span::from_millis(750)));
        assert_eq!(budget.left_for_checks().wall, Some(Span::from_millis(750)));
    }

    #[test]
    fn the_authority_clamps_what_is_asked_for() {
        let asked = Limits { steps: Some(9), tokens: Some(10), money: None, wall: None };
        let authority =
            Limits { steps: Some(5), tokens: None, money: Some(MicroUsd(7)), wall: None };
        let clamped =
            Limits { steps: Some(5), tokens: Some(10), money: Some(MicroUsd(7)), wall: None };
        assert_eq!(asked.within(&authority), clamped);
    }

    #[test]
    fn a_call_that_would_cross_a_budget_is_not_admitted() {
        let tokens = Limits { tokens: Some(1_000), ..Limits::default() };
        assert_eq!(budget(tokens, Reserve::default()).admit(100, 4_000), Ok(900));
        assert_eq!(budget(tokens, Reserve::default()).admit(800, 4_000), Err(BudgetKind::Tokens));
        // 100 tokens of input at the dearest, 2 µ$ each, leave 9,800 µ$: 980 tokens at 10 µ$.
        let money = Limits { money: Some(MicroUsd(10_000)), ..Limits::default() };
        assert_eq!(budget(money, Reserve::default()).admit(100, 4_000), Ok(980));
        assert_eq!(budget(money, Reserve::default()).admit(9_000, 4_000), Err(BudgetKind::Money));
        let steps = Limits { steps: Some(1), ..Limits::default() };
        let mut one = budget(steps, Reserve::default());
        assert_eq!(one.admit(1, 4_000), Ok(4_000));
        let _ = one.charge(used(1));
        assert_eq!(one.admit(1, 4_000), Err(BudgetKind::Steps));
    }

    #[test]
    fn money_without_a_price_admits_nothing() {
        let limits = Limits { money: Some(MicroUsd(u64::MAX)), ..Limits::default() };
        let budget = Budget::new(limits, Reserve::default(), None, Timestamp::from_millis(0));
        assert_eq!(budget.admit(1, 1), Err(BudgetKind::Money));
    }

    #[test]
    fn time_passes_only_forwards() {
        let limits = Limits { wall: Some(Span::from_millis(100)), ..Limits::default() };
        let mut budget = budget(limits, Reserve::default());
        for now in [60, 10, 40] {
            budget.tick(Timestamp::from_millis(now));
        }
        assert_eq!(budget.left().wall, Some(Span::from_millis(10)));
        budget.tick(Timestamp::from_millis(50));
        assert_eq!(budget.admit(1, 1), Err(BudgetKind::Wall));
    }
}
