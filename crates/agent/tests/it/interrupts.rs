//! A person ends the turn, or the run, at any point.

use agent::{Carried, Ended, Interrupt, Said};
use api::event::{End, Reason};
use hands::proposal;
use models::ModelError;

use crate::world::{Fake, World, bash, call, calls, says, shown};

#[test]
fn a_press_ends_an_answer_and_the_next_turn_may_begin() {
    let interrupt = Interrupt::new();
    let pressed = interrupt.clone();
    let mut first = true;
    let mut world = World::new(Fake::new(move |_, cancel, sink| {
        if std::mem::take(&mut first) {
            sink(models::Event::Text("I'll".into()));
            assert_eq!(pressed.press(), Ended::Turn);
            assert!(cancel.is_cancelled());
            return Err(ModelError::Cancelled);
        }
        Ok(says("ok"))
    }));
    let ends = world.talk(|conversation| {
        let first = conversation.turn(Said::words("one"), &interrupt);
        let second = conversation.turn(Said::words("two"), &interrupt);
        (first.end, second.end)
    });
    assert_eq!(ends, (End::Stopped(Reason::Interrupted), End::Finished("ok".into())));
    assert!(world.journal.text().contains(r#""text":"I'll""#));
}

#[test]
fn calls_that_were_not_carried_out_are_told_so() {
    let interrupt = Interrupt::new();
    let pressed = interrupt.clone();
    let line = |id: &str| call(id, "bash", r#"{"command":"x"}"#);
    let mut world = World::script(vec![calls(vec![line("1"), line("2"), line("3")]), says("ok")]);
    world.desk.bash = Box::new(move |_| {
        pressed.end_turn();
        Carried::Outcome(proposal::Outcome::failed("killed"))
    });
    let context = world.talk(|conversation| {
        let end = conversation.turn(Said::words("one"), &interrupt).end;
        assert_eq!(end, End::Stopped(Reason::Interrupted));
        let _ = conversation.turn(Said::words("two"), &Interrupt::new());
        shown(conversation.messages())
    });
    assert_eq!(world.desk.carried.len(), 1);
    insta::assert_snapshot!(context, @r#"
    person: <instructions from="AGENTS.md">
    Use tabs.
    </instructions>
    person: one
    model: call 1 bash {"command":"x"}
    model: call 2 bash {"command":"x"}
    model: call 3 bash {"command":"x"}
    person: result 1 failed: killed
    person: result 2 failed: not carried out: interrupted
    person: result 3 failed: not carried out: interrupted
    person: two
    model: ok
    "#);
}

#[test]
fn two_presses_end_the_run() {
    let interrupt = Interrupt::new();
    let pressed = interrupt.clone();
    let mut world = World::script((0..9).map(|n| bash(&n.to_string(), "x")).collect());
    world.desk.bash = Box::new(move |_| {
        let _ = (pressed.press(), pressed.press());
        Carried::Outcome(proposal::Outcome::failed("killed"))
    });
    let ends = world.talk(|conversation| {
        let first = conversation.turn(Said::words("one"), &interrupt).end;
        (first, conversation.turn(Said::words("two"), &interrupt).end)
    });
    assert_eq!(ends, (End::Stopped(Reason::Ended), End::Stopped(Reason::Ended)));
    assert_eq!(world.desk.carried.len(), 1);
}
