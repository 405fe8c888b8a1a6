//! Budgets: what ends a run, and that nothing crosses.

use api::event::{BudgetKind, End, Reason};
use std::time::Duration;

use agent::{Limits, Reserve};
use models::{Answer, Event, MicroUsd, ModelError};
use names::Span;

use crate::world::{Fake, World, bash, says, used};

fn busy(step: Answer) -> World {
    let mut count = 0;
    World::new(Fake::new(move |_, _, _| {
        count += 1;
        let named = bash(&format!("c{count}"), &format!("step {count}"));
        Ok(Answer { usage: step.usage, ..named })
    }))
}

fn stopped(kind: BudgetKind) -> End {
    End::Stopped(Reason::Budget(kind))
}

#[test]
fn steps_run_out() {
    let mut world = busy(says(""));
    world.brief.limits.steps = Some(5);
    let outcome = world.turn("go");
    assert_eq!((outcome.end, outcome.spent.steps), (stopped(BudgetKind::Steps), 5));
    assert_eq!((world.model.asked(), world.desk.carried.len()), (5, 5));
}

#[test]
fn the_authority_clamps_the_request() {
    let mut world = busy(says(""));
    world.brief.limits.steps = Some(1_000);
    world.brief.authority = Limits { steps: Some(2), ..Limits::default() };
    assert_eq!(world.turn("go").spent.steps, 2);
}

#[test]
fn tokens_run_out_before_they_are_crossed() {
    let mut world = busy(Answer { usage: Some(used(3_000, 200)), ..says("") });
    world.brief.limits.tokens = Some(40_000);
    world.brief.reserve = Reserve { tokens: 8_000, ..Reserve::default() };
    let outcome = world.turn("go");
    assert_eq!(outcome.end, stopped(BudgetKind::Tokens));
    let total = outcome.spent.usage.total();
    assert!((20_000..=32_000).contains(&total), "{total}");
}

#[test]
fn money_runs_out_before_it_is_crossed() {
    let mut world = busy(Answer { usage: Some(used(3_000, 200)), ..says("") });
    world.brief.limits.money = Some(MicroUsd(60_000));
    let outcome = world.turn("go");
    assert_eq!(outcome.end, stopped(BudgetKind::Money));
    assert!(outcome.spent.cost.0 > 40_000 && outcome.spent.cost.0 <= 60_000);
}

#[test]
fn missing_usage_is_charged_no_less_than_text_can_be() {
    let mut world = busy(Answer { usage: None, ..says("") });
    world.brief.limits.tokens = Some(100_000);
    let outcome = world.turn("go");
    assert_eq!(outcome.end, stopped(BudgetKind::Tokens));
    // A first request has some kilobytes, and text has two bytes to a token at least.
    assert!(outcome.spent.usage.total() / outcome.spent.steps > 3_000);
    let estimated = world.journal.text().matches(r#""estimated":true"#).count();
    assert_eq!(estimated as u64, outcome.spent.steps);
}

#[test]
fn a_budget_ends_an_answer_that_is_retried_for_ever() {
    let mut world = World::new(Fake::new(|_, cancel, sink| {
        let mut attempt = 1;
        while !cancel.is_cancelled() {
            attempt += 1;
            let why = "overloaded".to_owned();
            let after = Duration::from_secs(1);
            sink(Event::Retrying { after, attempt, why, may_cost: true });
            assert!(attempt < 100);
        }
        Err(ModelError::Cancelled)
    }));
    world.brief.limits.steps = Some(4);
    let outcome = world.turn("go");
    assert_eq!(outcome.end, stopped(BudgetKind::Steps));
    assert!(world.journal.text().contains(r#""purpose":"retry""#));
}

#[test]
fn an_attempt_that_reached_nobody_is_a_step_and_nothing_more() {
    let mut world = World::new(Fake::new(|_, _, sink| {
        let (after, why) = (Duration::from_secs(1), "no connection".to_owned());
        sink(Event::Retrying { after, attempt: 2, why: why.clone(), may_cost: false });
        Err(ModelError::Unreachable(why))
    }));
    let spent = world.turn("go").spent;
    assert_eq!((spent.steps, spent.usage.total()), (2, 0));
}

#[test]
fn time_ends_a_run_between_and_within_answers() {
    let mut world = busy(says(""));
    world.brief.limits.wall = Some(Span::from_secs(10));
    world.desk.bash = Box::new(|_| agent::Carried::Outcome(hands::proposal::Outcome::done("x")));
    let clock = std::rc::Rc::new(std::cell::Cell::new(0));
    let ticking = clock.clone();
    let outcome = {
        let World { model, desk, person, journal, brief, .. } = &mut world;
        let now = move || {
            ticking.set(ticking.get() + 100);
            names::Timestamp::from_millis(ticking.get())
        };
        let outside =
            agent::Outside { model, hands: desk, person, journal, clock: &now, watch: &mut |_| {} };
        let mut conversation = agent::Conversation::begin(outside, brief.clone()).unwrap();
        conversation.turn(agent::Said::words("go"), &agent::Interrupt::new())
    };
    assert_eq!(outcome.end, stopped(BudgetKind::Wall));
    assert!(world.model.asked() > 1 && world.desk.carried.len() < 100);
}

#[test]
fn a_command_gets_no_more_time_than_the_run_has() {
    let mut world = World::script(vec![bash("1", "sleep 1000")]);
    world.brief.limits.wall = Some(Span::from_secs(10));
    let _ = world.turn("go");
    let hands::proposal::Proposal::Bash { timeout, .. } = &world.desk.carried[0].1 else {
        panic!("{:?}", world.desk.carried)
    };
    assert_eq!(*timeout, Some(Span::from_secs(10)));
}

#[test]
fn the_reserve_is_there_for_the_checks() {
    let mut world = busy(Answer { usage: Some(used(3_000, 200)), ..says("") });
    world.brief.limits.tokens = Some(40_000);
    world.brief.reserve = Reserve { tokens: 8_000, ..Reserve::default() };
    let left = world.talk(|conversation| {
        let _ = conversation.turn(agent::Said::words("go"), &agent::Interrupt::new());
        conversation.budget().left_for_checks().tokens
    });
    assert!(left.unwrap() >= 8_000);
}
