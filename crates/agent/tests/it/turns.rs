//! Turns that go well, and models that don't behave.

use agent::{Carried, Interrupt, Reply, Said, Schema, specs};
use api::event::{End, Event, Fault, ModelFault, Reason};
use hands::proposal::{self, Proposal};
use models::{Answer, ModelError, Part, Stop};
use serde_json::json;

use crate::world::{Fake, World, bash, brief, call, calls, says, shown, used};

fn seen(world: &mut World, words: &str) -> (End, String) {
    world.talk(|conversation| {
        let outcome = conversation.turn(Said::words(words), &Interrupt::new());
        (outcome.end, shown(conversation.messages()))
    })
}

#[test]
fn a_task_is_worked_on_until_it_is_done() {
    let mut world = World::script(vec![
        calls(vec![
            Part::Reasoning { text: "look first".into(), opaque: None },
            Part::Text("I'll look.".into()),
            call("1", "read", r#"{"path":"a.txt"}"#),
            call("2", "todo", r#"{"items":[{"text":"fix a","state":"doing"}]}"#),
        ]),
        calls(vec![call("3", "edit", r#"{"path":"a.txt","edits":[{"old":"x","new":"y"}]}"#)]),
        bash("4", "make test"),
        says("Fixed a.txt."),
    ]);
    world.desk.files.insert("a.txt".into(), "x\n".into());
    let (end, context) = seen(&mut world, "fix the test");
    assert_eq!(end, End::Finished("Fixed a.txt.".into()));
    assert_eq!(world.desk.files["a.txt"], "y\n");
    insta::assert_snapshot!("a_task_context", context);
    let events: Vec<_> =
        world.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    insta::assert_snapshot!("a_task_events", events.join("\n"));
    for event in &events {
        let read: Event = serde_json::from_str(event).unwrap();
        assert_eq!(&serde_json::to_string(&read).unwrap(), event);
    }
}

#[test]
fn the_first_request_is_small_and_readable() {
    let mut world = World::new(Fake::new(|request, _, _| {
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                })
            })
            .collect();
        let body = json!({
            "model": "a-model-with-a-long-name-20260102",
            "max_tokens": request.max_output,
            "stream": true,
            "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
            "tools": tools,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "fix it"}]}],
        });
        Ok(says(&body.to_string()))
    }));
    let outcome = world.turn("fix it");
    let End::Finished(body) = outcome.end else { panic!("{:?}", outcome.end) };
    assert!(body.len() <= 12 * 1024, "{} bytes", body.len());
    insta::assert_snapshot!("system_prompt", brief().setting.prompt());
    let tools = serde_json::to_string_pretty(&specs()).unwrap();
    insta::assert_snapshot!("tools", tools);
}

#[test]
fn a_model_that_misbehaves_is_told_and_goes_on() {
    let mut world = World::script(vec![
        calls(vec![
            call("a", "read", r#"{"path":"none"}"#),
            call("a", "read", r#"{"path":"none"}"#),
            call("", "", ""),
            call("b", "rm -rf /", "{}"),
            call("c", "bash", "{\"command\": \"ls"),
            call("d", "edit", r#"{"path":"a","edits":[{"old":"x","new":"y"}]}"#),
            Part::ToolResult { call: "a".into(), parts: vec![], failed: false },
        ]),
        calls(vec![call("a", "ls", "{}")]),
        Answer { parts: vec![], stop: Stop::Done, usage: None },
        Answer { parts: vec![Part::Text("too lo".into())], stop: Stop::Length, usage: None },
        says("done at last"),
    ]);
    let (end, context) = seen(&mut world, "go");
    assert_eq!(end, End::Finished("done at last".into()));
    insta::assert_snapshot!("misbehaving_context", context);
}

#[test]
fn denied_and_lost_proposals_are_told() {
    let mut world = World::script(vec![bash("1", "curl"), bash("2", "kill"), says("ok")]);
    world.desk.bash = Box::new(|line| match line {
        "curl" => Carried::Denied {
            reason: "the host is not allowed".into(),
            rule: Some("default".into()),
            next: Some("add it to the profile".into()),
        },
        _ => Carried::Lost("the hands went away".into()),
    });
    let (end, context) = seen(&mut world, "go");
    assert_eq!(end, End::Finished("ok".into()));
    insta::assert_snapshot!("denied_context", context);
}

#[test]
fn hands_that_stay_lost_end_the_turn() {
    let mut world = World::script(vec![bash("1", "a"), bash("2", "b"), bash("3", "c")]);
    world.desk.bash = Box::new(|_| Carried::Lost("gone".into()));
    assert_eq!(world.turn("go").end, End::Failed(Fault::Hands("gone".into())));
    assert_eq!(world.desk.carried.len(), 2);
}

#[test]
fn a_file_is_not_overwritten_unseen() {
    let write = |id, content: &str| {
        let arguments = json!({"path": "/p/./a", "content": content}).to_string();
        calls(vec![call(id, "write", &arguments)])
    };
    let mut world = World::script(vec![
        write("1", "new"),
        calls(vec![call("2", "read", r#"{"path":"/p/./a"}"#)]),
        write("3", "newer"),
        write("4", "newest"),
    ]);
    world.desk.files.insert("/p/./a".into(), "old".into());
    assert_eq!(world.turn("go").end, End::Finished("done".into()));
    assert_eq!(world.desk.files["/p/./a"], "newest");
    let expected: Vec<_> = world
        .desk
        .carried
        .iter()
        .filter_map(|(_, proposal)| match proposal {
            Proposal::Write { expected, .. } => Some(expected.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(expected, [false, true, true]);
}

#[test]
fn a_flood_is_cut_and_the_turn_goes_on() {
    let mut world = World::script(vec![bash("1", "yes"), says("ok")]);
    world.desk.bash =
        Box::new(|_| Carried::Outcome(proposal::Outcome::done("y\n".repeat(5_000_000))));
    let (end, context) = seen(&mut world, "go");
    assert_eq!(end, End::Finished("ok".into()));
    assert!(context.len() < 64 * 1024 && context.contains("bytes left out"));
}

#[test]
fn many_results_of_one_answer_share_a_cap() {
    let many = (0..30).map(|n| call(&format!("c{n}"), "bash", r#"{"command":"yes"}"#)).collect();
    let mut world = World::script(vec![calls(many)]);
    world.desk.bash = Box::new(|_| Carried::Outcome(proposal::Outcome::done("y".repeat(100_000))));
    let (_, context) = seen(&mut world, "go");
    assert!(context.len() < 160 * 1024, "{}", context.len());
}

#[test]
fn the_same_failure_three_times_stops_the_turn() {
    let mut world = World::script((0..9).map(|n| bash(&n.to_string(), "make")).collect());
    world.desk.bash = Box::new(|_| {
        let failed = proposal::Outcome { exit: Some(2), ..proposal::Outcome::done("1 failed") };
        Carried::Outcome(failed)
    });
    let why = "the same call of bash failed in the same way for the third time".into();
    assert_eq!(world.turn("go").end, End::Stopped(Reason::NoProgress(why)));
    assert_eq!(world.desk.carried.len(), 3);
}

#[test]
fn a_changed_failure_is_progress() {
    let mut world = World::script((0..9).map(|n| bash(&n.to_string(), "make")).collect());
    let mut count = 0;
    world.desk.bash = Box::new(move |_| {
        count += 1;
        let text = format!("{count} failed");
        Carried::Outcome(proposal::Outcome { exit: Some(2), ..proposal::Outcome::done(text) })
    });
    assert_eq!(world.turn("go").end, End::Finished("done".into()));
    assert_eq!(world.desk.carried.len(), 9);
}

#[test]
fn the_third_identical_write_stops_the_turn() {
    let arguments = json!({"path": "a", "content": "x"}).to_string();
    let write = |n: u32| calls(vec![call(&n.to_string(), "write", &arguments)]);
    let mut world = World::script((0..9).map(write).collect());
    let why = "the same write of a for the third time".into();
    assert_eq!(world.turn("go").end, End::Stopped(Reason::NoProgress(why)));
    assert_eq!(world.desk.carried.len(), 2);
}

#[test]
fn a_question_is_put_to_the_person() {
    let ask = || calls(vec![call("1", "ask", r#"{"question":"Which?","options":["a","b"]}"#)]);
    for (reply, told) in [
        (Reply::Answer("b".into()), "result 1: b\n"),
        (Reply::Declined, "result 1 failed: the person does not want to answer"),
        (Reply::Nobody, "result 1 failed: nobody is there to answer"),
    ] {
        let mut world = World::script(vec![ask(), says("ok")]);
        world.person.0 = reply;
        let (end, context) = seen(&mut world, "go");
        assert_eq!(end, End::Finished("ok".into()));
        assert!(context.contains(told), "{context}");
    }
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let broken = || Err(ModelError::Interrupted("the connection was closed".into()));
    let mut half = true;
    let mut world = World::new(Fake::new(move |_, _, sink| {
        if std::mem::take(&mut half) {
            sink(models::Event::Text("Half of".into()));
            return broken();
        }
        Ok(says("Whole."))
    }));
    assert_eq!(world.turn("go").end, End::Finished("Whole.".into()));
    assert!(world.journal.text().contains(r#""kind":"cut","text":"Half of""#));
    assert_eq!(world.model.asked(), 2);
}

#[test]
fn the_providers_fault_is_named() {
    let nonsense = || Err(ModelError::Malformed("an event without a type".into()));
    let mut world = World::new(Fake::script(vec![nonsense(), nonsense(), nonsense()]));
    let fault = Fault::Model {
        model: "scripted:fake".into(),
        kind: ModelFault::Malformed,
        said: "an event without a type".into(),
    };
    assert_eq!(world.turn("go").end, End::Failed(fault));
    let mut world = World::new(Fake::script(vec![Err(ModelError::Unauthorized("401".into()))]));
    let end = world.turn("go").end;
    assert!(matches!(end, End::Failed(Fault::Model { kind: ModelFault::Unauthorized, .. })));
    assert_eq!(world.model.asked(), 1);
    let refused = Answer { stop: Stop::Refused("no".into()), ..says("I won't.") };
    let end = World::script(vec![refused]).turn("go").end;
    assert!(matches!(end, End::Failed(Fault::Model { kind: ModelFault::Refused, .. })));
}

#[test]
fn a_model_that_says_nothing_is_stopped() {
    let nothing = || Answer { parts: vec![], stop: Stop::Done, usage: Some(used(1, 1)) };
    let end = World::script((0..9).map(|_| nothing()).collect()).turn("go").end;
    assert_eq!(end, End::Stopped(Reason::NoProgress("the model answers nothing".into())));
}

#[test]
fn the_last_message_fits_the_schema_or_the_turn_fails() {
    let schema = Schema::read(&json!({
        "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
    }))
    .unwrap();
    let with = |answers: Vec<Answer>| {
        let mut world = World::script(answers);
        world.brief.schema = Some(schema.clone());
        let end = world.turn("go").end;
        (end, world.model.asked())
    };
    let good = r#"{"ok":true}"#;
    assert_eq!(with(vec![says(good)]), (End::Finished(good.into()), 1));
    assert_eq!(with(vec![says("yes"), says(good)]), (End::Finished(good.into()), 2));
    let failed = End::Failed(Fault::Schema(vec!["`ok` is missing".into()]));
    assert_eq!(with(vec![says("yes"), says("{}"), says(good)]), (failed, 2));
}
