//! The engine on the real kernel, through its trait, as root and as an ordinary user.
//!
//! No harness: this file is also the confining program, which must start without threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod fresh;
mod world;

use api::{
    ApplyRequest, Availability, DiffRequest, Engine, ExecRequest, Nobody, Outcome, RunRequest,
    RunState, RunsRequest, StopRequest, exit,
};
use libtest_mimic::{Arguments, Failed, Trial};
use names::WorkspacePath;
use world::World;

fn main() {
    if confine::is_confine_process() {
        confine::main();
    }
    let tests: &[(&str, fn())] = &[
        ("this_machine_is_ready_and_stays_as_it_was", this_machine_is_ready_and_stays_as_it_was),
        ("a_run_from_its_command_to_its_undo", a_run_from_its_command_to_its_undo),
        ("a_commands_exit_code_is_the_runs", a_commands_exit_code_is_the_runs),
        ("a_program_that_is_not_there_is_127", a_program_that_is_not_there_is_127),
        ("read_only_changes_nothing", read_only_changes_nothing),
        ("an_untrusted_project_is_told_and_ignored", an_untrusted_project_is_told_and_ignored),
        ("time_that_is_up_ends_the_run", time_that_is_up_ends_the_run),
        ("what_no_gate_can_hold_is_refused", what_no_gate_can_hold_is_refused),
        ("nothing_of_a_refused_run_is_left", nothing_of_a_refused_run_is_left),
        ("a_session_that_is_not_there", a_session_that_is_not_there),
        ("another_persons_directories", another_persons_directories),
        (
            "a_check_sees_the_base_and_then_the_base_with_what_the_run_left",
            fresh::a_check_sees_the_base_and_then_the_base_with_what_the_run_left,
        ),
        (
            "what_one_check_writes_no_other_sees_and_nobody_keeps",
            fresh::what_one_check_writes_no_other_sees_and_nobody_keeps,
        ),
        (
            "a_check_that_changes_what_it_rests_on_is_told",
            fresh::a_check_that_changes_what_it_rests_on_is_told,
        ),
        (
            "time_that_is_up_ends_a_check_and_nothing_else",
            fresh::time_that_is_up_ends_a_check_and_nothing_else,
        ),
        (
            "whatever_keeps_a_check_from_running_is_a_result",
            fresh::whatever_keeps_a_check_from_running_is_a_result,
        ),
        ("a_denied_check_is_a_result_and_a_record", fresh::a_denied_check_is_a_result_and_a_record),
        ("all_that_a_check_prints_is_digested", fresh::all_that_a_check_prints_is_digested),
        ("a_limit_ends_a_check", fresh::a_limit_ends_a_check),
        (
            "a_check_has_the_network_of_the_run_and_a_gate_of_its_own",
            fresh::a_check_has_the_network_of_the_run_and_a_gate_of_its_own,
        ),
    ];
    let trials =
        tests.iter().map(|&(name, test)| Trial::test(name, move || passed(test))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A test fails by panicking.
#[allow(clippy::unnecessary_wraps, reason = "the form of a trial")]
fn passed(test: fn()) -> Result<(), Failed> {
    test();
    Ok(())
}

fn this_machine_is_ready_and_stays_as_it_was() {
    let world = World::new();
    let report = world.engine().doctor().unwrap();
    assert!(report.ready, "{report:#?}");
    let required = report.checks.iter().filter(|check| check.required);
    for check in required {
        assert!(matches!(check.availability, Availability::Available(_)), "{check:?}");
    }
    assert_eq!(world.names(&world.homes().state), Vec::<String>::new());
    assert_eq!(world.names(&world.homes().config), Vec::<String>::new());
}

fn a_run_from_its_command_to_its_undo() {
    let world = World::new();
    world.file("a.txt", "one\n");
    let engine = world.engine();
    let report = engine
        .exec(
            shell("echo two > a.txt; mkdir d; echo new > d/b.txt; echo obey > AGENTS.md"),
            &Nobody,
        )
        .unwrap();
    assert_eq!((report.exit_code, report.outcome), (0, Outcome::Unverified));
    let changes = report.changes.unwrap();
    assert_eq!((changes.added, changes.edited), (2, 1));
    assert_eq!(world.text("a.txt"), "one\n");

    let newest = RunRequest::default;
    let told = engine.show(newest()).unwrap();
    assert_eq!(told.summary.run, report.run);
    assert_eq!(told.summary.state, RunState::Ready);
    assert_eq!(told.enforcement.as_ref(), Some(&report.enforcement));
    assert!(told.chain.intact && told.chain.notes.is_empty(), "{:?}", told.chain);
    let audit = engine.audit(newest()).unwrap();
    assert!(audit.records.iter().all(|record| !record.outcome_unknown));
    let diff = engine.diff(DiffRequest { run: newest(), texts: true }).unwrap();
    assert!(diff.files.iter().any(|file| file.text.contains("+two")));
    assert_eq!(engine.receipt(newest()).unwrap().keys, [engine.key_show().unwrap().id]);

    let agents = WorkspacePath::parse("AGENTS.md").unwrap();
    let applied =
        engine.apply(ApplyRequest { flagged: vec![agents], ..Default::default() }).unwrap();
    assert_eq!((applied.held, applied.left_out), (vec![], 0));
    assert_eq!((world.text("a.txt"), world.text("d/b.txt")), ("two\n".into(), "new\n".into()));
    engine.undo(newest()).unwrap();
    assert_eq!(world.text("a.txt"), "one\n");
    assert!(!world.project().join("d").exists());
    engine.discard(newest()).unwrap();
    assert_eq!(engine.show(newest()).unwrap().summary.state, RunState::Discarded);
    assert_eq!(engine.apply(ApplyRequest::default()).unwrap_err().code, exit::UNSAFE);
}

fn a_commands_exit_code_is_the_runs() {
    let world = World::new();
    let report = world.engine().exec(shell("exit 7"), &Nobody).unwrap();
    assert_eq!((report.exit_code, report.outcome), (7, Outcome::Failed));
    let summary = world.engine().show(RunRequest::default()).unwrap().summary;
    assert_eq!((summary.exit_code, summary.state), (Some(7), RunState::Unchanged));
}

fn a_program_that_is_not_there_is_127() {
    let world = World::new();
    let problem = world.engine().exec(command(&["no-such-program"]), &Nobody).unwrap_err();
    assert_eq!(problem.code, exit::NOT_FOUND, "{problem:?}");
}

fn read_only_changes_nothing() {
    let world = World::new();
    let mode = Some(api::Mode::ReadOnly);
    let report =
        world.engine().exec(ExecRequest { mode, ..shell("! echo x > a.txt") }, &Nobody).unwrap();
    assert_eq!(report.exit_code, 0);
    let diff = DiffRequest { texts: true, ..Default::default() };
    assert_eq!(world.engine().diff(diff).unwrap().entries, []);
    assert_eq!(world.engine().apply(ApplyRequest::default()).unwrap_err().code, exit::NO);
}

fn an_untrusted_project_is_told_and_ignored() {
    let world = World::new();
    world.file(".loop/config.toml", "[environment]\nset = { WHO = \"project\" }\n");
    let script = "test -z \"$WHO\"";
    let report = world.engine().exec(shell(script), &Nobody).unwrap();
    assert_eq!(report.exit_code, 0);
    assert_eq!(report.ignored_project_keys[0].key, "environment.set");
    let told = world.engine().show(RunRequest::default()).unwrap();
    assert_eq!(told.ignored_project_keys, report.ignored_project_keys);
    let look = api::TrustRequest {
        dir: None,
        file: api::TrustedFile::Configuration,
        decision: api::TrustDecision::Look,
    };
    let seen = world.engine().trust(look).unwrap().digest.unwrap();
    let trust = api::TrustRequest {
        dir: None,
        file: api::TrustedFile::Configuration,
        decision: api::TrustDecision::Trust { seen },
    };
    world.engine().trust(trust).unwrap();
    assert_eq!(world.engine().exec(shell(script), &Nobody).unwrap().exit_code, 1);
}

fn time_that_is_up_ends_the_run() {
    let world = World::new();
    let timeout = Some("300ms".to_owned());
    let report =
        world.engine().exec(ExecRequest { timeout, ..shell("sleep 600") }, &Nobody).unwrap();
    assert_eq!((report.exit_code, report.outcome), (exit::TIMEOUT, Outcome::Stopped));
    let limit = report.limit.unwrap();
    assert_eq!((limit.limit.as_str(), limit.allowed.as_str()), ("wall", "300ms"));
    let told = world.engine().show(RunRequest::default()).unwrap();
    assert_eq!(told.limit, Some(limit));
}

fn what_no_gate_can_hold_is_refused() {
    let world = World::new();
    let state = world.homes().state;
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(
        state.join("config.toml"),
        "[[rule]]\naction = \"docker\"\nverdict = \"allow\"\n",
    )
    .unwrap();
    let problem = world.engine().exec(shell("true"), &Nobody).unwrap_err();
    assert_eq!(problem.code, exit::UNSAFE);
    assert!(problem.what.contains("Docker gate"), "{}", problem.what);
}

fn nothing_of_a_refused_run_is_left() {
    let world = World::new();
    let dir = Some(world.homes().home);
    let problem = world.engine().exec(ExecRequest { dir, ..shell("true") }, &Nobody).unwrap_err();
    assert_eq!(problem.code, exit::UNSAFE, "{problem:?}");
    let all = RunsRequest { all: true, ..Default::default() };
    assert_eq!(world.engine().runs(all).unwrap(), []);
    assert_eq!(world.names(&world.homes().state.join("run")), Vec::<String>::new());
}

fn a_session_that_is_not_there() {
    let world = World::new();
    let request = StopRequest { session: "nobody".to_owned(), dir: None };
    assert_eq!(world.engine().stop(request).unwrap_err().code, exit::NOT_FOUND);
}

fn another_persons_directories() {
    let (world, other) = (World::new(), World::new());
    let engine: Box<dyn Engine> = world.engine().at(other.homes()).unwrap();
    engine.exec(shell("true"), &Nobody).unwrap();
    assert_eq!(engine.runs(RunsRequest::default()).unwrap().len(), 1);
    assert_eq!(world.engine().runs(RunsRequest::default()).unwrap(), []);
}

fn shell(script: &str) -> ExecRequest {
    command(&["sh", "-c", script])
}

fn command(words: &[&str]) -> ExecRequest {
    ExecRequest { command: words.iter().map(Into::into).collect(), ..Default::default() }
}
