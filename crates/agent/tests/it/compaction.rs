//! Long conversations: what matters is never lost, and a turn costs what a turn costs.

use api::event::{Event, Shown};
use std::sync::{Arc, Mutex};

use agent::{Interrupt, Said, Session};
use models::{Answer, Message, ModelError, Part, Request};

use crate::world::{Fake, World, bash, call, calls, says, shown, used};

fn is_summary(request: &Request) -> bool {
    let last = request.messages.last().and_then(|message| message.parts().last());
    matches!(last, Some(Part::Text(text)) if text.contains("Only the summary"))
}

/// A model that reads much, keeps a list, and writes summaries.
fn reader(summaries: Result<(), ModelError>) -> Fake {
    let mut count = 0;
    let mut fake = Fake::new(move |request, _, _| {
        let text = shown(&request.messages);
        let fits = request.messages.iter().flat_map(Message::parts).map(size).sum::<usize>() / 4;
        assert!(fits <= 16_000, "{fits} tokens");
        if is_summary(request) {
            return summaries.clone().map(|()| says("The build needs make 4."));
        }
        assert!(text.contains("Use tabs."), "instructions are lost");
        assert!(text.contains("the very first task"), "the task is lost");
        count += 1;
        if count > 1 {
            assert!(text.contains("release version 7"), "the open list is lost:\n{text}");
        }
        let todo = r#"{"items":[{"text":"release version 7","state":"doing"}]}"#;
        Ok(match count {
            1 => calls(vec![call("todo", "todo", todo)]),
            n if n % 3 == 0 => says(&format!("turn done {n}")),
            n => Answer {
                usage: Some(used(text.len() as u64 / 4, 20)),
                ..bash(&n.to_string(), &format!("cat {n}"))
            },
        })
    });
    fake.abilities.context = Some(16_000);
    fake.abilities.max_output = Some(2_000);
    fake
}

fn size(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult { parts, .. } => parts.iter().map(size).sum(),
        _ => 0,
    }
}

fn turns(world: &mut World, turns: u32) -> String {
    let mut count = 0;
    world.desk.bash = Box::new(move |line| {
        count += 1;
        let text = format!("{line} {count}\n{}", "some output\n".repeat(150));
        agent::Carried::Outcome(hands::proposal::Outcome::done(text))
    });
    world.talk(|conversation| {
        for turn in 1..=turns {
            let words = match turn {
                1 => "the very first task".to_owned(),
                n => format!("task {n}"),
            };
            let outcome = conversation.turn(Said::words(&words), &Interrupt::new());
            assert!(
                matches!(outcome.end, api::event::End::Finished(_)),
                "{turn}: {:?}",
                outcome.end
            );
            let text = shown(conversation.messages());
            assert!(text.contains(&words), "the words of the last turn are lost");
        }
        shown(conversation.messages())
    })
}

fn compactions(world: &World) -> (usize, usize) {
    let of = |with: bool| {
        let is = |event: &&Event| {
            matches!(event, Event::ItemCompleted { item }
                if matches!(&item.what, Shown::Compaction { summary, .. } if summary.is_some() == with))
        };
        world.events.iter().filter(is).count()
    };
    (of(true), of(false))
}

#[test]
fn a_hundred_turns_keep_what_matters() {
    let mut world = World::new(reader(Ok(())));
    let context = turns(&mut world, 100);
    let (summaries, _) = compactions(&world);
    assert!(summaries > 2, "{summaries}");
    assert!(context.contains("The build needs make 4."));
    assert!(context.contains("task 57"), "a person's words are never lost");
    same_after_reading_back(&mut world, &context);
}

#[test]
fn without_a_summary_outputs_make_room() {
    let mut world = World::new(reader(Err(ModelError::Refused("no".into()))));
    let context = turns(&mut world, 100);
    let (summaries, others) = compactions(&world);
    assert!(summaries == 0 && others > 2, "{summaries} {others}");
    assert!(context.contains("made room"));
    same_after_reading_back(&mut world, &context);
}

fn same_after_reading_back(world: &mut World, context: &str) {
    let session = Session::read(world.journal.text().as_bytes()).unwrap().session;
    let again = world.go_on(&session, |conversation| shown(conversation.messages()));
    assert_eq!(again, *context);
}

#[test]
fn a_compacted_context_is_readable() {
    let mut world = World::new(reader(Ok(())));
    let context = turns(&mut world, 14);
    let head = context.split("\nmodel: ").next().unwrap();
    insta::assert_snapshot!("compacted_head", head);
}

#[test]
fn input_larger_than_the_window_is_cut_and_said_to_be() {
    let mut world = World::script(vec![says("ok")]);
    world.model.abilities.context = Some(8_000);
    let said = Said { input: Some("line\n".repeat(1_000_000)), ..Said::words("review this") };
    let context = world.talk(|conversation| {
        let end = conversation.turn(said, &Interrupt::new()).end;
        assert_eq!(end, api::event::End::Finished("ok".into()));
        shown(conversation.messages())
    });
    assert!(context.len() < 8_000 && context.contains("bytes left out"));
}

#[test]
fn a_task_larger_than_the_window_fails_before_any_call() {
    let mut world = World::script(vec![says("ok")]);
    world.model.abilities.context = Some(8_000);
    let end = world.turn(&"word ".repeat(100_000)).end;
    assert_eq!(end, api::event::End::Failed(api::event::Fault::Window { window: 8_000 }));
    assert_eq!(world.model.asked(), 0);
}

#[test]
fn a_provider_that_finds_it_too_long_gets_less() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = sizes.clone();
    let mut count = 0;
    let mut fake = Fake::new(move |request, _, _| {
        count += 1;
        let size = request.messages.iter().flat_map(Message::parts).map(size).sum::<usize>();
        seen.lock().unwrap().push(size);
        match count {
            1..=8 => {
                Ok(Answer { usage: None, ..bash(&count.to_string(), &format!("cat {count}")) })
            }
            _ if size > 14_000 => Err(ModelError::TooLong("prompt is too long".into())),
            _ => Ok(says("ok")),
        }
    });
    fake.abilities.context = Some(16_000);
    let mut world = World::new(fake);
    world.desk.bash = Box::new(|line| {
        let text = format!("{line}\n{}", "x".repeat(3_000));
        agent::Carried::Outcome(hands::proposal::Outcome::done(text))
    });
    assert_eq!(world.turn("go").end, api::event::End::Finished("ok".into()));
}

#[test]
fn a_turn_of_a_long_session_costs_what_an_early_one_does() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let seen = places.clone();
    let mut fake = Fake::new(move |request, _, _| {
        let text = |message: &Message| match message.parts().first() {
            Some(Part::Text(text)) => text.as_ptr() as usize,
            _ => 0,
        };
        seen.lock().unwrap().push(request.messages.iter().map(text).collect::<Vec<_>>());
        Ok(says("ok, this is done"))
    });
    fake.abilities.context = Some(10_000_000);
    let mut world = World::new(fake);
    let mut sizes = Vec::new();
    world.talk(|conversation| {
        for turn in 0..200 {
            let words = format!("task {turn:03}");
            let _ = conversation.turn(Said::words(words), &Interrupt::new());
        }
    });
    // Nothing that was said once is ever copied: it lies where it lay.
    let places = places.lock().unwrap();
    assert_eq!(places.len(), 200);
    for (earlier, later) in places.iter().zip(places.iter().skip(1)) {
        assert_eq!(earlier[..], later[..earlier.len()]);
    }
    // And what is kept of a turn does not grow.
    let mut size = 0;
    for entry in &world.journal.entries {
        size += entry.line().len();
        if matches!(entry.what, agent::What::End { .. }) {
            sizes.push(std::mem::take(&mut size));
        }
    }
    let (least, most) = (sizes[1..].iter().min().unwrap(), sizes[1..].iter().max().unwrap());
    assert!(most - least < 32, "{least} {most}");
}
