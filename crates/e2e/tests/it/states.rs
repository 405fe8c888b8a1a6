//! Where a run stands, whatever happens to it: killed, told to end, and looked at in every state
//! in which a process is at it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Ran, Remains, Repository, Running, World, wait_until};

use crate::approvals::ASK;

crate::tests![
    killed_while_it_prepares,
    told_to_end_while_it_prepares,
    killed_at_work,
    told_to_end_at_work,
    killed_while_a_person_is_asked,
    told_to_end_while_a_person_is_asked,
    killed_while_it_verifies,
    told_to_end_while_it_verifies,
    killed_while_it_seals,
    a_killed_keeper_leaves_an_interrupted_run,
    a_keeper_that_is_told_to_end_seals_its_run,
    killed_while_it_applies_the_project_is_half_done_and_says_so,
    killed_while_it_undoes,
    a_signal_does_not_cut_an_apply_short,
    records_that_cannot_follow_each_other_are_called_broken,
];

/// So many files that writing them takes longer than noticing that it began.
const MANY: usize = 500;
/// How often that is tried, with twice as many files each time.
const TRIES: u32 = 5;

/// Tries something to so many files until it was done to them in the middle of their way.
#[track_caller]
fn until_it_comes_in_time(mut came_in_time: impl FnMut(usize) -> bool) {
    let hit = (0..TRIES).any(|time| came_in_time(MANY << time));
    assert!(hit, "it came too late each time");
}

fn run_directory(world: &World) -> PathBuf {
    world.runs().pop().unwrap()
}

fn runs(world: &World, project: &Repository<'_>) -> Value {
    world.run_loop(project, &["runs", "--json"]).run().expect_code(0).json()
}

fn state(world: &World, project: &Repository<'_>) -> String {
    let runs = runs(world, project);
    let shown = world.run_loop(project, &["show", "--json"]).run().expect_no_panic();
    let newest = &runs[0]["state"];
    if shown.code() == Some(0) {
        assert_eq!(shown.json()["state"], *newest);
    }
    newest.as_str().unwrap().to_owned()
}

/// The whole records of the newest run.
fn records(world: &World) -> Vec<Value> {
    let Some(run) = world.runs().pop() else { return Vec::new() };
    let Ok(text) = fs::read_to_string(run.join("ledger.jsonl")) else { return Vec::new() };
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn has(world: &World, kind: &str) -> bool {
    records(world).iter().any(|record| record["kind"] == kind)
}

/// What whoever found a run after a crash wrote of it.
fn recovered(world: &World) -> Vec<(String, String)> {
    let records = records(world).into_iter().filter(|record| record["kind"] == "recovered");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records
        .map(|record| (text(&record["body"]["interrupted"]), text(&record["body"]["state"])))
        .filter(|(interrupted, _)| !interrupted.is_empty())
        .collect()
}

fn found(interrupted: &str, state: &str) -> Vec<(String, String)> {
    vec![(interrupted.to_owned(), state.to_owned())]
}

/// The receipt holds, and says that nothing is claimed.
fn sealed_as(world: &World, project: &Repository<'_>, outcome: &str) {
    let report = world.run_loop(project, &["receipt", "show", "--json"]).run().expect_code(0);
    assert_eq!(report.json()["statement"]["predicate"]["outcome"], outcome);
}

fn kill(running: Running) {
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal(), Some(9));
}

fn told_to_end(running: Running, signal: Signal) -> Ran {
    running.signal(signal);
    running.wait().expect_no_panic()
}

fn killed_while_it_prepares() {
    let mut never_stood = 0;
    for _ in 0..10 {
        let world = World::new();
        let project = world.repository("project");
        let remains = Remains::watch();
        let running = world.exec(&project, &["sleep", "1000"]).start();
        wait_until("a run begins", || {
            world.runs().first().is_some_and(|run| run.join("run.json").exists())
        });
        kill(running);
        remains.expect_none();
        let shown = runs(&world, &project);
        // It may have been killed before its ledger was there.
        if let Some(run) = shown.get(0) {
            assert_eq!(run["state"], "interrupted");
        }
        let applied = world.run_loop(&project, &["apply"]).run().expect_no_panic();
        assert_ne!(applied.code(), Some(0));
        if shown.get(0).is_some() && !has(&world, "enforcement") {
            never_stood += 1;
            applied.expect_code(125).expect_err("loop discard");
            world.run_loop(&project, &["discard"]).run().expect_code(0);
            // Where nothing was on record yet, it is gone.
            if !world.runs().is_empty() {
                assert_eq!(recovered(&world).pop().unwrap().1, "never stood");
                assert_eq!(state(&world, &project), "discarded");
            }
        }
        assert_eq!(project.status(), "");
    }
    assert!(never_stood > 0);
}

fn told_to_end_while_it_prepares() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let end_soon = |running: Running, step: u64| {
        std::thread::sleep(Duration::from_millis(step * 4));
        running.signal(Signal::TERM);
        let ran = running.wait();
        assert_ne!(ran.code(), Some(0), "{ran}");
        remains.expect_none();
    };
    let mut in_time = 0;
    for step in 0..4 {
        // At first the signal finds a process that has not yet taken it over, and ends it.
        end_soon(world.exec(&project, &["sleep", "1000"]).start(), step);
        let known = world.runs().len();
        let running = world.exec(&project, &["sleep", "1000"]).start();
        wait_until("a run begins", || world.runs().len() > known);
        let ledger = run_directory(&world).join("ledger.jsonl");
        end_soon(running, step);
        let records = fs::read_to_string(ledger).unwrap_or_default();
        in_time += u32::from(!records.contains("exec.intent"));
    }
    assert!(in_time > 0, "it came too late each time");
    // Each is gone, or sealed as stopped: none is left behind.
    for run in runs(&world, &project).as_array().unwrap() {
        assert_eq!((&run["state"], &run["outcome"]), (&json!("unchanged"), &json!("stopped")));
    }
    assert_eq!(world.runs().len(), runs(&world, &project).as_array().unwrap().len());
}

/// At work, with something written and something in flight.
fn at_work(world: &World, project: &Repository<'_>) -> Running {
    // dash loses an interrupt that comes while it starts another program.
    let script = "echo half > half.txt; (setsid sleep 1000 &); echo ready; exec sleep 1000";
    let running = world.exec_with(project, &["--quiet"], &["sh", "-c", script]).start();
    running.expect_output("ready");
    running
}

fn killed_at_work() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let running = at_work(&world, &project);
    assert_eq!(state(&world, &project), "working");
    kill(running);
    remains.expect_none();
    assert_eq!(state(&world, &project), "interrupted");
    let diff = world.run_loop(&project, &["diff", "--stat"]).run().expect_code(0);
    assert!(diff.out().contains("half.txt"), "{diff}");
    // Looking changes nothing.
    assert!(recovered(&world).is_empty());

    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(project.read("half.txt"), "half\n");
    assert_eq!(recovered(&world), found("working", "interrupted"));
    assert_eq!(state(&world, &project), "applied");
    sealed_as(&world, &project, "stopped");
    // What was in flight has no outcome, and was not done again.
    let audit = world.run_loop(&project, &["audit", "--json"]).run().expect_code(0).json();
    let of = |kind: &str| {
        let records = audit["records"].as_array().unwrap().iter();
        records.filter(|record| record["kind"] == kind).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("exec.intent").len(), 1);
    assert_eq!(of("exec.intent")[0]["outcome_unknown"], true);
    assert_eq!(of("exec.result").len(), 0);
    assert_eq!(project.status(), "?? half.txt");
}

fn told_to_end_at_work() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let world = World::new();
        let project = world.repository("project");
        let remains = Remains::watch();
        let ran = told_to_end(at_work(&world, &project), signal);
        assert_ne!(ran.code(), Some(0), "{ran}");
        remains.expect_none();
        assert_eq!(state(&world, &project), "ready");
        sealed_as(&world, &project, "stopped");
        world.run_loop(&project, &["discard"]).run().expect_code(0);
        assert_eq!(state(&world, &project), "discarded");
    }
}

/// A world in which something waits for a person.
fn asking() -> World {
    let world = World::new();
    world.write(world.loop_home().join("config.toml"), ASK);
    world
}

fn waits(world: &World, project: &Repository<'_>) -> Running {
    let running =
        world.exec(project, &["sh", "-c", "echo half > half.txt; date; sleep 1000"]).start();
    wait_until("it asks", || has(world, "approval.asked"));
    running
}

fn killed_while_a_person_is_asked() {
    let world = asking();
    let project = world.repository("project");
    let remains = Remains::watch();
    let running = waits(&world, &project);
    assert_eq!(state(&world, &project), "waiting");
    let shown = world.run_loop(&project, &["show"]).run().expect_code(0);
    assert!(shown.out().contains("loop approvals"), "{shown}");
    kill(running);
    remains.expect_none();
    assert_eq!(state(&world, &project), "interrupted");
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(recovered(&world), found("waiting", "interrupted"));
    assert_eq!(
        (state(&world, &project), project.read("half.txt")),
        ("applied".into(), "half\n".into())
    );
}

fn told_to_end_while_a_person_is_asked() {
    let world = asking();
    let project = world.repository("project");
    let remains = Remains::watch();
    let ran = told_to_end(waits(&world, &project), Signal::TERM);
    assert_ne!(ran.code(), Some(0), "{ran}");
    remains.expect_none();
    assert_eq!(state(&world, &project), "ready");
    sealed_as(&world, &project, "stopped");
}

/// Among its checks.
fn verifies(world: &World, project: &Repository<'_>) -> Running {
    let flags = ["--quiet", "--check", "sleep 1000"];
    let running = world.exec_with(project, &flags, &["sh", "-c", "echo half > half.txt"]).start();
    wait_until("a check runs", || {
        let records = records(world);
        let begun = records.iter().position(|record| record["kind"] == "verification.start");
        begun.is_some_and(|at| records[at..].iter().any(|it| it["kind"] == "exec.intent"))
    });
    running
}

fn killed_while_it_verifies() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let running = verifies(&world, &project);
    assert_eq!(state(&world, &project), "checking");
    kill(running);
    remains.expect_none();
    assert_eq!(state(&world, &project), "interrupted");
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(recovered(&world), found("checking", "interrupted"));
    sealed_as(&world, &project, "stopped");
    assert_eq!(project.read("half.txt"), "half\n");
}

fn told_to_end_while_it_verifies() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let ran = told_to_end(verifies(&world, &project), Signal::TERM);
    ran.expect_code(130);
    remains.expect_none();
    assert_eq!(state(&world, &project), "ready");
    sealed_as(&world, &project, "stopped");
}

fn killed_while_it_seals() {
    until_it_comes_in_time(|files| is_interrupted_after_its_command(files, Duration::ZERO));
    for millis in [20, 40, 80] {
        // Later, a fast machine may be done. What is left is whole all the same.
        is_interrupted_after_its_command(MANY, Duration::from_millis(millis));
    }
}

/// Kills a run this long after its command has ended; whether that was before its receipt.
fn is_interrupted_after_its_command(files: usize, delay: Duration) -> bool {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let script = format!("mkdir d; cd d; for i in $(seq {files}); do echo $i > f$i; done");
    let running = world.exec_with(&project, &["--quiet"], &["sh", "-c", &script]).start();
    wait_until("the command has ended", || has(&world, "exec.result"));
    std::thread::sleep(delay);
    running.signal(Signal::KILL);
    running.wait();
    remains.expect_none();
    let state_then = state(&world, &project);
    assert!(["interrupted", "ready"].contains(&state_then.as_str()), "{state_then}");
    let interrupted = state_then == "interrupted";
    assert_eq!(run_directory(&world).join("receipt.json").exists(), !interrupted);
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(!recovered(&world).is_empty(), interrupted, "{:?}", records(&world));
    assert_eq!(state(&world, &project), "applied");
    assert_eq!(fs::read_dir(project.path().join("d")).unwrap().count(), files);
    world.run_loop(&project, &["undo"]).run().expect_code(0);
    assert_eq!(state(&world, &project), "undone");
    assert_eq!(project.status(), "");
    interrupted
}

/// The process that keeps a warm sandbox: whoever holds the lock of its run.
fn keeper(remains: &Remains) -> Pid {
    let processes = remains.processes();
    // It was started first, so its number is the lowest.
    processes.keys().next().copied().and_then(Pid::from_raw).unwrap()
}

fn warm(world: &World, project: &Repository<'_>) {
    let flags = ["--quiet", "--session", "warm"];
    let script = "echo kept > kept.txt";
    world.exec_with(project, &flags, &["sh", "-c", script]).run().expect_code(0);
    assert_eq!(state(world, project), "working");
}

fn a_killed_keeper_leaves_an_interrupted_run() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    warm(&world, &project);
    kill_process(keeper(&remains), Signal::KILL).unwrap();
    wait_until("it is gone", || runs(&world, &project)[0]["state"] != "working");
    remains.expect_none();
    assert_eq!(state(&world, &project), "interrupted");
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(recovered(&world), found("working", "interrupted"));
    assert_eq!(project.read("kept.txt"), "kept\n");
}

fn a_keeper_that_is_told_to_end_seals_its_run() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    warm(&world, &project);
    kill_process(keeper(&remains), Signal::TERM).unwrap();
    wait_until("it is sealed", || runs(&world, &project)[0]["state"] == "ready");
    remains.expect_none();
    assert!(recovered(&world).is_empty());
}

/// A run that waits to be applied, with so many files.
fn ready(world: &World, project: &Repository<'_>, files: usize) {
    let script = format!("for i in $(seq {files}); do echo $i > f$i; done; echo new > old");
    world.exec_with(project, &["--quiet"], &["sh", "-c", &script]).run().expect_code(0);
    assert_eq!(state(world, project), "ready");
}

/// What the run's directory says of its change set.
fn directory(world: &World) -> String {
    let file = run_directory(world).join("apply/state.json");
    let text = fs::read_to_string(file).unwrap_or_else(|_| "{\"state\":\"open\"}".to_owned());
    let state: Value = serde_json::from_str(&text).unwrap_or_default();
    state["state"].as_str().unwrap_or_default().to_owned()
}

/// Starts the command, stops it once it has begun to move names, and looks at it there; and
/// whether it was half way.
fn stopped(world: &World, project: &Repository<'_>, word: &str, during: &str) -> (Running, bool) {
    // The one is moved first, the other last; to undo, it is the other way round.
    let ends = || ["f1", "f99"].map(|name| project.has(name));
    let before = ends();
    let running = world.run_loop(project, &[word]).start();
    wait_until("the first name is moved", || ends() != before);
    running.signal(Signal::STOP);
    let seen = state(world, project);
    let is_half_way = directory(world) == during;
    assert!(seen == during || !is_half_way, "{seen}");
    (running, is_half_way)
}

/// Lets what was stopped go on, with a signal that waits for it.
fn goes_on_with(running: Running, signal: Signal) -> Ran {
    running.signal(signal);
    told_to_end(running, Signal::CONT)
}

fn all_or_nothing(project: &Repository<'_>, files: usize) -> bool {
    let present = (1..=files).filter(|i| project.has(format!("f{i}"))).count();
    let is_new = project.read("old") == "new\n";
    assert!(present == if is_new { files } else { 0 }, "{present} of {files}, new: {is_new}");
    is_new
}

fn with_old(world: &World) -> Repository<'_> {
    let project = world.repository("project");
    project.write("old", "old\n");
    project.commit("Old");
    project
}

fn killed_while_it_applies_the_project_is_half_done_and_says_so() {
    until_it_comes_in_time(|files| {
        let world = World::new();
        let project = with_old(&world);
        let remains = Remains::watch();
        ready(&world, &project, files);
        let (running, is_half_way) = stopped(&world, &project, "apply", "applying");
        running.signal(Signal::KILL);
        running.wait();
        remains.expect_none();
        assert_eq!(state(&world, &project) == "half-applied", is_half_way);
        if is_half_way {
            is_taken_back(&world, &project);
            assert!(!all_or_nothing(&project, files));
            world.run_loop(&project, &["apply"]).run().expect_code(0);
        }
        assert!(all_or_nothing(&project, files));
        assert_eq!(state(&world, &project), "applied");
        is_half_way
    });
}

/// What can't happen to a half applied run takes it back all the same, and says so.
fn is_taken_back(world: &World, project: &Repository<'_>) {
    let shown = world.run_loop(project, &["show"]).run().expect_code(0);
    assert!(shown.out().contains("half applied: the project may hold a part of it"), "{shown}");
    assert_ne!(project.status(), "", "nothing was half done");
    let undone = world.run_loop(project, &["undo"]).run().expect_no_panic();
    assert_ne!(undone.code(), Some(0), "{undone}");
    assert_eq!(recovered(world), found("applying", "ready"));
    assert_eq!(state(world, project), "ready");
    assert_eq!(project.status(), "");
}

fn killed_while_it_undoes() {
    until_it_comes_in_time(|files| {
        let world = World::new();
        let project = with_old(&world);
        let remains = Remains::watch();
        ready(&world, &project, files);
        world.run_loop(&project, &["apply"]).run().expect_code(0);
        let (running, is_half_way) = stopped(&world, &project, "undo", "undoing");
        running.signal(Signal::KILL);
        running.wait();
        remains.expect_none();
        assert_eq!(state(&world, &project) == "half-undone", is_half_way);
        if is_half_way {
            world.run_loop(&project, &["undo"]).run().expect_code(0);
            assert_eq!(recovered(&world), found("undoing", "applied"));
        }
        assert!(!all_or_nothing(&project, files));
        assert_eq!((state(&world, &project), project.status()), ("undone".into(), String::new()));
        is_half_way
    });
}

fn a_signal_does_not_cut_an_apply_short() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        until_it_comes_in_time(|files| {
            let world = World::new();
            let project = with_old(&world);
            ready(&world, &project, files);
            let (applying, is_half_way) = stopped(&world, &project, "apply", "applying");
            goes_on_with(applying, signal).expect_code(0);
            assert!(all_or_nothing(&project, files));
            let (undoing, is_half_back) = stopped(&world, &project, "undo", "undoing");
            goes_on_with(undoing, signal).expect_code(0);
            assert!(!all_or_nothing(&project, files));
            assert_eq!(state(&world, &project), "undone");
            assert!(recovered(&world).is_empty());
            is_half_way && is_half_back
        });
    }
}

/// Somebody puts back what a run's directory says, or takes away what its ledger says.
fn records_that_cannot_follow_each_other_are_called_broken() {
    let world = World::new();
    let project = world.repository("project");
    world.exec_with(&project, &["--quiet"], &["sh", "-c", "echo a > a"]).run().expect_code(0);
    let sealed = fs::read(run_directory(&world).join("ledger.jsonl")).unwrap();
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    fs::write(run_directory(&world).join("ledger.jsonl"), sealed).unwrap();
    assert_eq!(state(&world, &project), "broken");
    let shown = world.run_loop(&project, &["show"]).run().expect_code(0);
    assert!(shown.out().contains("the ledger is cut short: "), "{shown}");
    // Who cuts off the signed heads as well is told by what the run's directory holds.
    fs::remove_file(run_directory(&world).join("heads.jsonl")).unwrap();
    assert_eq!(state(&world, &project), "broken");
    let shown = world.run_loop(&project, &["show"]).run().expect_code(0);
    assert!(shown.out().contains("apply/state.json says \"applied\""), "{shown}");
    for word in ["undo", "discard", "apply", "diff"] {
        let ran = world.run_loop(&project, &[word]).run().expect_code(125);
        assert!(ran.err().contains("apply/state.json"), "{ran}");
    }
    assert_eq!(project.read("a"), "a\n");
}
