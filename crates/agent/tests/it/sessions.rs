//! Sessions: a crash at every entry, files cut anywhere, resume, fork, rewind.

use agent::{Entry, Interrupt, Said, Session, SessionError, What};
use api::event::{End, Fault};
use hands::proposal::Proposal;
use models::{Message, Part, Request};
use names::Timestamp;

use crate::world::{Fake, Memory, World, call, calls, says, shown};

/// A model that has three steps to do and goes by what it sees.
fn steady() -> Fake {
    Fake::new(|request, _, _| {
        let step = |n: usize| {
            let line = |n: usize| format!(r#"{{"command":"step {n}"}}"#);
            calls(vec![
                call(&format!("{n}a"), "bash", &line(n * 2)),
                call(&format!("{n}b"), "bash", &line(n * 2 + 1)),
            ])
        };
        Ok(match made(request) {
            done if done < 6 => step(done / 2),
            _ => says("all steps are done"),
        })
    })
}

fn made(request: &Request) -> usize {
    let parts = request.messages.iter().flat_map(Message::parts);
    parts.filter(|part| matches!(part, Part::ToolCall(_))).count()
}

fn lines(world: &World) -> Vec<String> {
    let line = |(_, proposal): &(_, Proposal)| match proposal {
        Proposal::Bash { command, .. } => command.clone(),
        other => format!("{other:?}"),
    };
    world.desk.carried.iter().map(line).collect()
}

fn read(text: &str) -> Session {
    Session::read(text.as_bytes()).unwrap().session
}

#[test]
fn after_a_crash_at_any_entry_nothing_is_carried_out_twice() {
    let mut whole = World::new(steady());
    assert_eq!(whole.turn("go").end, End::Finished("all steps are done".into()));
    let entries = whole.journal.entries.len();
    for crash in 1..entries {
        let mut world = World::new(steady());
        world.journal.breaks_after = Some(crash);
        let end = world.turn("go").end;
        assert!(matches!(end, End::Failed(Fault::Journal(_))), "{crash}: {end:?}");
        let session = read(&world.journal.text());
        world.journal.breaks_after = None;
        let end = world.go_on(&session, |conversation| {
            conversation.turn(Said::words("go on"), &Interrupt::new()).end
        });
        assert_eq!(end, End::Finished("all steps are done".into()), "{crash}");
        let mut carried = lines(&world);
        let all = carried.len();
        carried.sort();
        carried.dedup();
        assert_eq!(carried.len(), all, "{crash}");
        assert_one_result_each(&read(&world.journal.text()), crash);
    }
}

fn assert_one_result_each(session: &Session, crash: usize) {
    let mut asked = Vec::new();
    let mut results = Vec::new();
    for entry in session.path() {
        match &entry.what {
            What::Assistant { parts } => asked.extend(parts.iter().filter_map(|part| match part {
                Part::ToolCall(call) => Some(call.id.clone()),
                _ => None,
            })),
            What::Result { call, .. } => results.push(call.0.clone()),
            _ => {}
        }
    }
    assert_eq!(asked, results, "{crash}");
}

#[test]
fn a_call_in_flight_at_the_crash_has_an_unknown_outcome() {
    let mut world = World::new(steady());
    // start, user, spent, assistant, call: the result is not kept any more.
    world.journal.breaks_after = Some(5);
    let _ = world.turn("go");
    assert_eq!(lines(&world), ["step 0"]);
    let session = read(&world.journal.text());
    world.journal = Memory::default();
    let context = world.go_on(&session, |conversation| shown(conversation.messages()));
    insta::assert_snapshot!(context, @r#"
    person: <instructions from="AGENTS.md">
    Use tabs.
    </instructions>
    person: go
    model: call 0a bash {"command":"step 0"}
    model: call 0b bash {"command":"step 1"}
    person: result 0a failed: outcome unknown: interrupted
    person: result 0b failed: not carried out: interrupted
    "#);
}

#[test]
fn a_file_cut_anywhere_reads_back_as_what_was_whole() {
    let mut world = World::new(steady());
    let _ = world.turn("go");
    let text = world.journal.text();
    for cut in 0..text.len() {
        match Session::read(&text.as_bytes()[..cut]) {
            Ok(back) => {
                let kept = back.session.entries();
                assert_eq!(kept, &world.journal.entries[..kept.len()]);
                let lines: String = kept.iter().map(Entry::line).collect();
                assert_eq!(back.whole, lines.len());
                assert!(cut - back.whole <= text.lines().map(str::len).max().unwrap());
            }
            Err(error) => {
                assert_eq!(error, SessionError::Empty);
                assert!(cut <= text.find('\n').unwrap(), "{cut}");
            }
        }
    }
}

#[test]
fn damage_in_the_middle_is_named() {
    let mut world = World::new(steady());
    let _ = world.turn("go");
    let text = world.journal.text();
    let lines: Vec<_> = text.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        Session::read((lines.join("\n") + "\n").as_bytes()).unwrap_err()
    };
    assert!(matches!(with(1, "{"), SessionError::Line { line: 2, .. }));
    assert_eq!(with(2, r#"{"schema":2}"#), SessionError::Newer { line: 3, schema: 2 });
    assert_eq!(with(3, lines[2]), SessionError::Misplaced { line: 4 });
}

#[test]
fn a_session_goes_on_with_what_was_said() {
    let mut world = World::script(vec![says("first answer")]);
    let _ = world.turn("first");
    let session = read(&world.journal.text());
    assert_eq!((session.id(), session.turns(), session.task()), (Some("s1"), 1, Some("first")));
    assert_eq!(session.spent().steps, 1);
    let context = world.go_on(&session, |conversation| {
        let _ = conversation.turn(Said::words("second"), &Interrupt::new());
        shown(conversation.messages())
    });
    insta::assert_snapshot!(context, @r#"
    person: <instructions from="AGENTS.md">
    Use tabs.
    </instructions>
    person: first
    model: first answer
    person: second
    model: done
    "#);
    let again = read(&world.journal.text());
    assert_eq!((again.turns(), again.spent().steps), (2, 2));
}

#[test]
fn a_fork_shares_turns_and_a_rewind_leaves_a_branch() {
    let mut world = World::script(vec![says("one"), says("two"), says("three")]);
    world.talk(|conversation| {
        for words in ["first", "second"] {
            let _ = conversation.turn(Said::words(words), &Interrupt::new());
        }
    });
    let mut session = read(&world.journal.text());
    let now = Timestamp::from_millis(5);
    let forked = session.fork(Some(1), "s2", now).unwrap();
    assert_eq!((forked.id(), forked.turns()), (Some("s2"), 1));
    let text: String = forked.entries().iter().map(Entry::line).collect();
    assert_eq!(read(&text), forked);
    assert_eq!(session.fork(Some(3), "s2", now), Err(SessionError::NoTurn(3)));

    let branch = session.rewind(1, now).unwrap();
    world.journal.entries.push(branch);
    let context = world.go_on(&session, |conversation| {
        let _ = conversation.turn(Said::words("another second"), &Interrupt::new());
        shown(conversation.messages())
    });
    assert!(context.contains("another second") && !context.contains("person: second"));
    let again = read(&world.journal.text());
    assert_eq!(again.entries().len(), world.journal.entries.len());
    assert!(again.path().len() < again.entries().len());
    assert_eq!(again.turns(), 2);
}

#[test]
fn nothing_counts_that_could_not_be_kept() {
    let mut world = World::new(steady());
    world.journal.breaks_after = Some(4);
    let end = world.turn("go").end;
    assert_eq!(end, End::Failed(Fault::Journal("the disk is full".into())));
    assert!(world.desk.carried.is_empty());
}
