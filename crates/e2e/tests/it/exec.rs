//! `loop exec`: its streams, its exit codes, its summary.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use testkit::World;

crate::tests![
    the_exit_code_is_the_commands,
    a_signal_that_ends_the_command_is_told,
    a_program_that_is_not_there_is_127,
    a_file_that_cannot_be_executed_is_126,
    out_of_time_is_124,
    standard_input_arrives_whole,
    much_output_arrives_whole,
    output_and_errors_stay_apart,
    a_reader_that_goes_away_ends_the_command,
    the_summary_names_run_changes_and_receipt,
    quiet_says_nothing,
    the_report_says_what_the_summary_says,
    a_report_that_cannot_be_written_stops_before_the_command,
    arguments_arrive_byte_for_byte,
    the_directory_is_where_it_really_is,
    a_subdirectory_stays_the_working_directory,
    the_environment_is_not_inherited,
    variables_are_set_on_request,
    a_termination_signal_reaches_the_command,
    an_interrupt_ends_the_run,
    what_the_caller_ignores_does_not_reach_the_command,
    runs_side_by_side_do_not_see_each_other,
    a_directory_without_git_works,
    a_detached_child_does_not_hold_the_run,
];

fn the_exit_code_is_the_commands() {
    let world = World::new();
    let project = world.repository("project");
    for code in [0, 1, 3, 42, 124, 125, 255] {
        world.exec(&project, &["sh", "-c", &format!("exit {code}")]).run().expect_code(code);
    }
}

fn a_signal_that_ends_the_command_is_told() {
    let world = World::new();
    let project = world.repository("project");
    world
        .exec(&project, &["sh", "-c", "kill -TERM $$"])
        .run()
        .expect_code(143)
        .expect_err("signal 15");
    world
        .exec(&project, &["sh", "-c", "kill -KILL $$"])
        .run()
        .expect_code(137)
        .expect_err("signal 9");
}

fn a_program_that_is_not_there_is_127() {
    let world = World::new();
    let project = world.repository("project");
    world.exec(&project, &["no-such-program"]).run().expect_code(127).expect_err("no-such-program");
    world.exec(&project, &["./no/such/program"]).run().expect_code(127);
}

fn a_file_that_cannot_be_executed_is_126() {
    let world = World::new();
    let project = world.repository("project");
    project.write("plain.txt", "text");
    world.exec(&project, &["./plain.txt"]).run().expect_code(126).expect_err("plain.txt");
}

fn out_of_time_is_124() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec_with(&project, &["--timeout", "300ms"], &["sleep", "1000"]).run();
    ran.expect_code(124).expect_err("wall");
}

fn standard_input_arrives_whole() {
    let world = World::new();
    let project = world.repository("project");
    let input: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let ran = world.exec(&project, &["cat"]).input(input.clone()).run().expect_code(0);
    assert!(ran.stdout == input, "{} bytes came back of {}", ran.stdout.len(), input.len());
    world.exec(&project, &["cat"]).run().expect_code(0).expect_out("");
}

fn much_output_arrives_whole() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world
        .exec(&project, &["sh", "-c", "head -c 67108864 /dev/zero; head -c 1048576 /dev/zero >&2"])
        .run();
    let ran = ran.expect_code(0);
    assert_eq!(ran.stdout.len(), 67_108_864);
    assert!(ran.stderr.len() > 1_048_576);
}

fn output_and_errors_stay_apart() {
    let world = World::new();
    let project = world.repository("project");
    let ran =
        world.exec_with(&project, &["--quiet"], &["sh", "-c", "echo out; echo err >&2"]).run();
    let ran = ran.expect_code(0).expect_out("out");
    assert_eq!(ran.err(), "err");
}

fn a_reader_that_goes_away_ends_the_command() {
    let world = World::new();
    let project = world.repository("project");
    // The exit code of a pipe is that of its end; what counts is that `yes` ends at all.
    let line = world.exec_with(&project, &["--quiet"], &["yes"]).into_command();
    let program = line.get_program().to_str().unwrap().to_owned();
    let script = format!("'{program}' exec --quiet -- yes | head -n 1");
    world.outside(&project, &["sh", "-c", &script]).run().expect_code(0).expect_out("y");
}

fn the_summary_names_run_changes_and_receipt() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec(&project, &["sh", "-c", "echo new > new.txt"]).run().expect_code(0);
    let runs = world.runs();
    let id = runs[0].file_name().unwrap().to_str().unwrap();
    for part in [id, "1 change", "1 added", "receipt", "loop diff"] {
        assert!(ran.err().contains(part), "{part} is missing\n{ran}");
    }
    assert_eq!(ran.out(), "");
}

fn quiet_says_nothing() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec_with(&project, &["--quiet"], &["true"]).run().expect_code(0);
    assert_eq!((ran.out(), ran.err()), (String::new(), String::new()));
}

fn the_report_says_what_the_summary_says() {
    let world = World::new();
    let project = world.repository("project");
    let report = world.path().join("report.json");
    let flags = ["--quiet", "--report", report.to_str().unwrap()];
    world
        .exec_with(&project, &flags, &["sh", "-c", "rm README.md; echo new > new.txt; exit 9"])
        .run()
        .expect_code(9);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["exit_code"], 9);
    assert_eq!(report["changes"]["added"], 1);
    assert_eq!(report["changes"]["deleted"], 1);
    assert_eq!(report["enforcement"]["syscall_filter"], true);
    let tests = report["enforcement"]["self_test"].as_array().unwrap();
    assert!(!tests.is_empty() && tests.iter().all(|test| test["held"] == true), "{tests:?}");
    assert!(std::path::Path::new(report["receipt"].as_str().unwrap()).is_file());
}

fn a_report_that_cannot_be_written_stops_before_the_command() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world
        .exec_with(&project, &["--report", "/no/such/directory/r.json"], &["echo", "ran"])
        .run();
    ran.expect_code(125).expect_out("").expect_err("/no/such/directory/r.json");
    assert!(world.runs().is_empty());
}

fn arguments_arrive_byte_for_byte() {
    let world = World::new();
    let project = world.repository("project");
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe \n\x1b[31m");
    let ran = world
        .exec_with(&project, &["--quiet"], &["printf", "<%s>", "a b", "", "*", "--help", "$HOME"])
        .arg(odd)
        .run();
    assert_eq!(ran.expect_code(0).stdout, b"<a b><><*><--help><$HOME><\xff\xfe \n\x1b[31m>");
}

fn the_directory_is_where_it_really_is() {
    let world = World::new();
    let project = world.repository("project");
    let here = project.path().to_str().unwrap();
    world.exec(&project, &["pwd", "-P"]).run().expect_code(0).expect_out(here);
    world
        .exec_with(world.path(), &["-C", here], &["pwd", "-P"])
        .run()
        .expect_code(0)
        .expect_out(here);
}

fn a_subdirectory_stays_the_working_directory() {
    let world = World::new();
    let project = world.repository("project");
    project.write("src/deep/file.txt", "text");
    let deep = project.path().join("src/deep");
    world.exec(&deep, &["cat", "file.txt"]).run().expect_code(0).expect_out("text");
}

fn the_environment_is_not_inherited() {
    let world = World::new();
    let project = world.repository("project");
    let mut launch = world.exec_with(&project, &["--quiet"], &["env"]);
    let canaries = [
        "SECRET_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "LD_AUDIT",
        "GIT_DIR",
        "NODE_OPTIONS",
        "PYTHONSTARTUP",
        "BASH_ENV",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
    ];
    for name in canaries {
        launch = launch.env(name, "canary");
    }
    let ran = launch.env("TZ", "Europe/Zurich").env("LANG", "C.UTF-8").run().expect_code(0);
    let out = ran.out();
    assert!(!out.contains("canary"), "{out}");
    for carried in ["TZ=Europe/Zurich", "LANG=C.UTF-8", "TERM=xterm-256color"] {
        assert!(out.lines().any(|line| line == carried), "{carried} is missing in\n{out}");
    }
}

fn variables_are_set_on_request() {
    let world = World::new();
    let project = world.repository("project");
    let flags = ["--env", "GREETING=hello world", "--env", "EMPTY="];
    let ran = world
        .exec_with(&project, &flags, &["sh", "-c", "echo \"$GREETING<${EMPTY-unset}>\""])
        .run();
    ran.expect_code(0).expect_out("hello world<>");
}

fn a_termination_signal_reaches_the_command() {
    let world = World::new();
    let project = world.repository("project");
    let script = "trap 'echo got it; exit 5' TERM; echo up; while :; do sleep 0.05; done";
    let running = world.exec_with(&project, &["--quiet"], &["sh", "-c", script]).start();
    running.expect_output("up");
    running.signal(Signal::TERM);
    running.wait().expect_code(5).expect_out("up\ngot it");
}

fn an_interrupt_ends_the_run() {
    let world = World::new();
    let project = world.repository("project");
    // dash loses an interrupt that comes while it starts another program.
    let running = world.exec(&project, &["sh", "-c", "echo up; exec sleep 1000"]).start();
    running.expect_output("up");
    running.signal(Signal::INT);
    running.wait().expect_code(130);
}

/// `nohup loop exec …` outlives a terminal; the command itself starts with a clean slate.
fn what_the_caller_ignores_does_not_reach_the_command() {
    let world = World::new();
    let project = world.repository("project");
    let script = "grep SigIgn /proc/self/status; echo up; sleep 1; echo through";
    let running = world
        .exec(&project, &["sh", "-c", script])
        .through(&["/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"])
        .start();
    running.expect_output("up");
    running.signal(Signal::INT);
    running.signal(Signal::HUP);
    running.wait().expect_code(0).expect_out("SigIgn:\t0000000000000000\nup\nthrough");
}

fn runs_side_by_side_do_not_see_each_other() {
    let world = World::new();
    let project = world.repository("project");
    let script = |name: &str| {
        format!(
            "echo {name} > mine.txt; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; cat mine.txt; done | sort -u"
        )
    };
    let launch =
        |name: &str| world.exec_with(&project, &["--quiet"], &["sh", "-c", &script(name)]).start();
    let running = ["a", "b", "c"].map(launch);
    for (running, name) in running.into_iter().zip(["a", "b", "c"]) {
        running.wait().expect_code(0).expect_out(name);
    }
    assert_eq!(world.runs().len(), 3);
    assert_eq!(project.status(), "");
}

fn a_directory_without_git_works() {
    let world = World::new();
    let directory = world.directory("several");
    world.write("several/one/a.txt", "a");
    world.write("several/two/b.txt", "b");
    world
        .exec(&directory, &["sh", "-c", "cat one/a.txt two/b.txt; echo c > c.txt"])
        .run()
        .expect_code(0)
        .expect_out("ab");
    world.run_loop(&directory, &["apply"]).run().expect_code(0);
    assert_eq!(std::fs::read_to_string(directory.join("c.txt")).unwrap(), "c\n");
    let mode = directory.join("c.txt").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

fn a_detached_child_does_not_hold_the_run() {
    let world = World::new();
    let project = world.repository("project");
    let script =
        "setsid sleep 1000 & setsid sh -c 'sleep 1000 >/dev/null 2>&1 </dev/null' & echo done";
    world
        .exec_with(&project, &["--quiet"], &["sh", "-c", script])
        .run()
        .expect_code(0)
        .expect_out("done");
}
