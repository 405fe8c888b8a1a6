//! The tools of Loop's own agent, carried out in a real sandbox: as root and as an ordinary user.

use std::time::{Duration, Instant};

use hands::proposal::{GrepMode, JobAct, Proposal, Replacement};
use names::Digest;
use policy::Tool;
use sandbox::protocol::Ending;
use sandbox::{HandsError, Limit, tool_action};

use crate::scene::{Scene, bash};

crate::tests!(
    every_tool_works_in_a_sandbox,
    what_tools_write_is_in_the_upper_directory_only,
    a_tool_needs_the_permit_for_exactly_that,
    what_tools_do_is_recorded,
    hands_that_are_killed_are_named_and_start_again,
    the_streams_of_hands_are_out_of_reach_inside,
    the_program_inside_can_not_be_changed,
    a_flood_of_output_is_held,
    a_line_is_given_up_from_outside,
    a_limit_ends_the_sandbox_between_two_tools,
    what_is_started_ends_with_the_hands,
);

/// The number of the program's process, as a command below a worker sees it.
const HANDS: &str = "h=$(awk '{print $4}' /proc/$PPID/stat); ";

fn every_tool_works_in_a_sandbox() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let path = || "a.txt".to_owned();
    let edits = vec![Replacement { old: "two".into(), new: "three".into(), all: false }];
    let patch = "*** Begin Patch\n*** Add File: b/c.txt\n+new\n*** End Patch".to_owned();
    let grep = Proposal::Grep {
        pattern: "new".into(),
        path: None,
        glob: None,
        ignore_case: false,
        context: 0,
        mode: GrepMode::Lines,
        offset: None,
    };
    let write = Proposal::Write { path: "d".into(), content: "x".into(), expected: None };
    let background = Proposal::Bash {
        command: "echo job".into(),
        timeout: None,
        background: true,
        terminal: true,
    };
    let wait = Proposal::Job { id: "j1".into(), act: JobAct::Wait { timeout: None } };
    for (proposal, text) in [
        (
            Proposal::Read { path: path(), offset: None, limit: None, most: None },
            "     1\tone\n     2\ttwo\n",
        ),
        (Proposal::Edit { path: path(), edits, expected: None }, "edited a.txt at line 2"),
        (Proposal::Patch { patch }, "added b/c.txt"),
        (write, "wrote d: 1 line, 1 byte"),
        (grep, "b/c.txt:1:new"),
        (Proposal::Glob { pattern: "c.*".into(), path: None, offset: None }, "b/c.txt"),
        (Proposal::List { path: None, offset: None }, "a.txt  10 bytes\nb/\nd  1 byte"),
        (bash("cat a.txt; id -u >&2; test $(id -u) != 0 && pwd | xargs basename; rm d"), ""),
        (background, "runs as job j1"),
        (wait, "job\n"),
    ] {
        let outcome = hands.carry(&proposal).unwrap();
        assert!(outcome.ok, "{}", outcome.text());
        if text.is_empty() {
            let text = outcome.text();
            assert!(text.starts_with("one\nthree\n") && text.ends_with("\nproject\n"), "{text}");
        } else {
            assert_eq!(outcome.text(), text);
        }
    }
    let fetch = hands
        .carry(&Proposal::Fetch { url: "http://example.com/".into(), offset: None, most: None })
        .unwrap();
    assert!(!fetch.ok, "this sandbox has no network: {}", fetch.text());
}

fn what_tools_write_is_in_the_upper_directory_only() {
    let mut scene = Scene::new();
    let (project, upper) = (scene.project(), scene.upper());
    let mut hands = scene.hands(|_| {});
    let expected = Some(Digest::of(b"one\ntwo\n"));
    let write = Proposal::Write { path: "a.txt".into(), content: "changed".into(), expected };
    assert!(hands.carry(&write).unwrap().ok);
    assert_eq!(std::fs::read_to_string(upper.join("a.txt")).unwrap(), "changed");
    assert_eq!(std::fs::read_to_string(project.join("a.txt")).unwrap(), "one\ntwo\n");
}

fn a_tool_needs_the_permit_for_exactly_that() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let permit = hands.broker.request(tool_action(&bash("true"))).unwrap();
    let outcome = hands.hands.carry_out(&permit, 1, &bash("false"), &|| false, &mut |_| {});
    assert!(matches!(outcome, Err(HandsError::OtherPermit)), "{outcome:?}");
    let denied = hands.broker.request(Tool::named("switch-the-sandbox-off"));
    assert!(denied.is_err());
}

fn what_tools_do_is_recorded() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    hands.shell("echo $((20 + 22))");
    drop(hands);
    scene.broker.ledger().commit("end", &()).unwrap();
    let ledger = scene.ledger();
    let digest = bash("echo $((20 + 22))").digest().to_string();
    assert!(ledger.contains(r#""kind":"tool.intent""#) && ledger.contains(&digest), "{ledger}");
    assert!(ledger.contains(r#""words":"echo $((20 + 22))""#), "{ledger}");
    assert!(ledger.contains(r#""kind":"tool.result""#), "{ledger}");
}

fn hands_that_are_killed_are_named_and_start_again() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let killed = hands.carry(&bash(&format!("{HANDS} kill -9 $h; sleep 1000")));
    assert!(matches!(killed, Err(HandsError::Ended(Ending::Killed(9)))), "{killed:?}");
    assert!(matches!(hands.carry(&bash("true")), Err(HandsError::Gone)));
    hands.restart().unwrap();
    assert_eq!(hands.shell("echo again"), "again\n");
}

fn the_streams_of_hands_are_out_of_reach_inside() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    for reach in ["echo x > /proc/$h/fd/1", "cat /proc/$h/environ", ": < /proc/$h/mem"] {
        let text = hands.shell(&format!("{HANDS} test -d /proc/$h && {reach} && echo reached"));
        assert!(text.contains("denied") && !text.contains("reached"), "{reach}: {text}");
    }
    let worker = hands.shell("echo x > /proc/$PPID/fd/3 && echo reached");
    assert!(worker.contains("denied") && !worker.contains("reached"), "{worker}");
}

fn the_program_inside_can_not_be_changed() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let own = std::env::current_exe().unwrap();
    let before = std::fs::metadata(&own).unwrap().len();
    for change in [
        "echo x > /run/loop/hands",
        "echo x >> /proc/self/exe",
        "chmod 777 /run/loop/hands",
        "rm -f /run/loop/hands",
        "mv /run/loop/hands /tmp/x",
        "touch /run/loop/other",
        "exec -a loop-confine /run/loop/hands < /dev/null",
    ] {
        let outcome = hands.carry(&bash(change)).unwrap();
        assert_ne!(outcome.exit, Some(0), "{change}: {}", outcome.text());
    }
    assert_eq!(std::fs::metadata(&own).unwrap().len(), before);
    assert_eq!(hands.shell("echo works"), "works\n");
}

fn a_flood_of_output_is_held() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let outcome = hands.carry(&bash("head -c 10485760 /dev/zero | tr '\\0' x")).unwrap();
    assert!(outcome.ok && outcome.text().len() < 40 << 10);
    assert_eq!(outcome.truncated.unwrap().total, Some(10 << 20));
    let text = hands.shell("cat /tmp/loop-output/*.txt | wc -c");
    assert_eq!(text, "10485760\n");
}

fn a_line_is_given_up_from_outside() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let outcome =
        hands.carry_until(&bash("echo begun; sleep 1000"), &|shown| shown.contains("begun"));
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.text().as_str()), (false, "begun\n[killed: it was given up]"));
    assert_eq!(hands.shell("pgrep -c sleep || true"), "0\n");
}

fn a_limit_ends_the_sandbox_between_two_tools() {
    let mut scene = Scene::new();
    let mut hands =
        scene.hands(|request| request.wall = Some(Instant::now() + Duration::from_secs(3)));
    let job = Proposal::Bash {
        command: "sleep 1000".into(),
        timeout: None,
        background: true,
        terminal: false,
    };
    assert!(hands.carry(&job).unwrap().ok);
    while hands.hands.limit_reached().is_none() {
        std::thread::yield_now();
    }
    let ended = hands.carry(&bash("true"));
    assert!(matches!(ended, Err(HandsError::Limit(Limit::Wall))), "{ended:?}");
}

fn what_is_started_ends_with_the_hands() {
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let job = Proposal::Bash {
        command: "setsid sleep 1234".into(),
        timeout: None,
        background: true,
        terminal: false,
    };
    assert!(hands.carry(&job).unwrap().ok);
    drop(hands);
    let mut hands = scene.hands(|_| {});
    let gone = "for i in $(seq 1000); do pgrep -f '^sleep 1234$' > /dev/null || exec echo gone; sleep 0.01; done";
    assert_eq!(hands.shell(gone), "gone\n");
}
