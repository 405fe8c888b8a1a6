//! A model that answers anything, and hands that do anything: the loop ends within its budget,
//! pairs every call, and reads back as it was.

use api::event::End;
use std::collections::VecDeque;

use agent::{Carried, Interrupt, Limits, Said, Session, TOOLS};
use hands::proposal::{Outcome, Piece};
use models::{Answer, Message, ModelError, Part, Stop, ToolCall, Usage};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::world::{Fake, World, shown};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        ".{0,40}",
        (1_usize..60_000).prop_map(|length| "ö".repeat(length)),
    ]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ab]", ".{0,6}", Just("x".repeat(5_000))]
}

fn name() -> impl Strategy<Value = String> {
    let tools: Vec<_> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    prop_oneof![4 => proptest::sample::select(tools), 1 => ".{0,8}"]
}

fn arguments() -> impl Strategy<Value = String> {
    let sensible = prop_oneof![
        Just(r#"{"path":"a"}"#),
        Just(r#"{"path":"a","content":"x"}"#),
        Just(r#"{"path":"a","edits":[{"old":"x","new":"y"}]}"#),
        Just(r#"{"command":"ls"}"#),
        Just(r#"{"pattern":"x"}"#),
        Just(r#"{"items":[{"text":"t","state":"open"}]}"#),
        Just(r#"{"question":"why"}"#),
    ];
    prop_oneof![
        3 => sensible.prop_map(str::to_owned),
        1 => text(),
        1 => (1_usize..50_000).prop_map(|n| format!(r#"{{"command":"{}"}}"#, "x".repeat(n))),
        1 => (1_usize..3_000).prop_map(|depth| "[".repeat(depth)),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let called = (id(), name(), arguments())
        .prop_map(|(id, name, arguments)| Part::ToolCall(ToolCall { id, name, arguments }));
    prop_oneof![
        4 => called,
        2 => text().prop_map(Part::Text),
        1 => text().prop_map(|text| Part::Reasoning { text, opaque: None }),
        1 => id().prop_map(|call| Part::ToolResult { call, parts: vec![], failed: false }),
    ]
}

fn answer() -> impl Strategy<Value = Result<Answer, ModelError>> {
    let stop = prop_oneof![
        3 => Just(Stop::Done),
        3 => Just(Stop::Tools),
        1 => Just(Stop::Length),
        1 => Just(Stop::Other("odd".into())),
    ];
    let usage =
        proptest::option::of((0_u64..9_000, 0_u64..900).prop_map(|(input, output)| Usage {
            input,
            output,
            ..Usage::default()
        }));
    let whole = (vec(part(), 0..6), stop, usage)
        .prop_map(|(parts, stop, usage)| Ok(Answer { parts, stop, usage }));
    let broken = prop_oneof![
        Just(ModelError::Interrupted("cut".into())),
        Just(ModelError::Malformed("odd".into())),
        Just(ModelError::TooLong("long".into())),
        Just(ModelError::Overloaded("busy".into())),
    ];
    prop_oneof![8 => whole, 1 => broken.prop_map(Err)]
}

fn carried() -> impl Strategy<Value = Carried> {
    let outcome =
        (any::<bool>(), text(), proptest::option::of(0..3)).prop_map(|(ok, text, exit)| {
            Carried::Outcome(Outcome {
                ok,
                parts: vec![Piece::text(text)],
                exit,
                ..Outcome::default()
            })
        });
    let denied = text().prop_map(|reason| Carried::Denied { reason, rule: None, next: None });
    prop_oneof![6 => outcome, 1 => denied, 1 => text().prop_map(Carried::Lost)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_loop_holds(
        answers in vec(answer(), 1..12),
        outcomes in vec(carried(), 1..12),
        turns in vec(text(), 1..4),
        window in prop_oneof![Just(6_000_u64), Just(12_000), Just(200_000)],
        steps in 1_u64..14,
    ) {
        let mut answers: VecDeque<_> = answers.into();
        let mut fake = Fake::new(move |request, _, _| {
            let size: usize = request.messages.iter().flat_map(Message::parts).map(size).sum();
            let output = u64::from(request.max_output.unwrap());
            assert!(size as u64 / 4 + output <= window, "{size} bytes do not fit");
            let answer = answers.pop_front().unwrap();
            answers.push_back(answer.clone());
            answer
        });
        fake.abilities.context = Some(window);
        let mut world = World::new(fake);
        let mut outcomes: VecDeque<_> = outcomes.into();
        world.desk.bash = Box::new(move |_| {
            let carried = outcomes.pop_front().unwrap();
            outcomes.push_back(carried.clone());
            carried
        });
        world.brief.limits = Limits { steps: Some(steps), ..Limits::default() };
        let (messages, spent) = world.talk(|conversation| {
            for words in &turns {
                let outcome = conversation.turn(Said::words(words), &Interrupt::new());
                if let End::Failed(api::event::Fault::Journal(_)) = outcome.end {
                    panic!("the journal never breaks");
                }
            }
            (conversation.messages().to_vec(), conversation.budget().spent())
        });
        prop_assert!(spent.steps <= steps);
        prop_assert!(world.model.asked() as u64 <= steps);
        let log = world.journal.text();
        let session = Session::read(log.as_bytes()).unwrap().session;
        prop_assert_eq!(session.entries(), &world.journal.entries[..]);
        let again = world.go_on(&session, |conversation| conversation.messages().to_vec());
        prop_assert_eq!(shown(&again), shown(&messages));
    }
}

fn size(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Reasoning { text, .. } => text.len(),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult { parts, .. } => parts.iter().map(size).sum(),
        Part::Image { .. } => 0,
    }
}
