//! Warm sandboxes: `loop exec --session NAME` and `loop stop NAME`.

use testkit::{Ran, Remains, Repository, World};

crate::tests![
    the_next_command_sees_what_the_first_did,
    stopping_seals_one_run,
    the_second_command_has_the_same_walls,
    commands_run_side_by_side,
    two_that_start_it_at_once_share_it,
    exit_codes_and_timeouts_are_each_commands_own,
    an_unknown_session_cannot_be_stopped,
    after_a_stop_a_new_one_starts,
    a_killed_session_is_noticed,
];

fn warm(world: &World, project: &Repository<'_>, script: &str) -> Ran {
    world.exec_with(project, &["--quiet", "--session", "dev"], &["sh", "-c", script]).run()
}

fn stop(world: &World, project: &Repository<'_>) -> Ran {
    world.run_loop(project, &["stop", "dev", "--json"]).run()
}

fn the_next_command_sees_what_the_first_did() {
    let world = World::new();
    let project = world.repository("project");
    warm(&world, &project, "echo kept > kept.txt; echo kept > /tmp/kept").expect_code(0);
    warm(&world, &project, "cat kept.txt /tmp/kept").expect_code(0).expect_out("kept\nkept");
    assert_eq!(project.status(), "");
    stop(&world, &project).expect_code(0);
}

fn stopping_seals_one_run() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    for number in 1..=3 {
        warm(&world, &project, &format!("echo {number} > f{number}")).expect_code(0);
    }
    let report = stop(&world, &project).expect_code(0).json();
    assert_eq!(report["commands"], 3);
    assert_eq!(report["changes"]["added"], 3);
    remains.expect_none();
    assert_eq!(world.runs().len(), 1);
    let receipt = report["receipt"].as_str().unwrap();
    world
        .run_loop(&project, &["receipt", "verify", receipt, "--allow", "unverified"])
        .run()
        .expect_code(0);
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(project.read("f3"), "3\n");
}

fn the_second_command_has_the_same_walls() {
    let world = World::new();
    let project = world.repository("project");
    let look = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; readlink /proc/self/ns/user /proc/self/ns/mnt /proc/self/ns/net; id -u; env | cut -d= -f1 | sort; ls /proc/self/fd";
    let first = warm(&world, &project, look).expect_code(0).out();
    let second = warm(&world, &project, look).expect_code(0).out();
    assert_eq!(first, second);
    stop(&world, &project).expect_code(0);
}

fn commands_run_side_by_side() {
    let world = World::new();
    let project = world.repository("project");
    warm(&world, &project, "mkfifo pipe").expect_code(0);
    let start = |script: &str| {
        world.exec_with(&project, &["--quiet", "--session", "dev"], &["sh", "-c", script]).start()
    };
    let reader = start("cat pipe");
    let writer = start("echo through > pipe");
    writer.wait().expect_code(0);
    reader.wait().expect_code(0).expect_out("through");
    stop(&world, &project).expect_code(0);
}

fn two_that_start_it_at_once_share_it() {
    let world = World::new();
    let project = world.repository("project");
    let start = || {
        world
            .exec_with(
                &project,
                &["--quiet", "--session", "dev"],
                &["sh", "-c", "echo x >> together"],
            )
            .start()
    };
    for running in [start(), start(), start(), start()] {
        running.wait().expect_code(0);
    }
    assert_eq!(stop(&world, &project).expect_code(0).json()["commands"], 4);
    assert_eq!(world.runs().len(), 1);
}

fn exit_codes_and_timeouts_are_each_commands_own() {
    let world = World::new();
    let project = world.repository("project");
    warm(&world, &project, "exit 7").expect_code(7);
    world
        .exec_with(&project, &["--session", "dev", "--timeout", "300ms"], &["sleep", "1000"])
        .run()
        .expect_code(124);
    warm(&world, &project, "echo alive").expect_code(0).expect_out("alive");
    stop(&world, &project).expect_code(0);
}

fn an_unknown_session_cannot_be_stopped() {
    let world = World::new();
    let project = world.repository("project");
    world.run_loop(&project, &["stop", "nobody"]).run().expect_code(127).expect_err("nobody");
}

fn after_a_stop_a_new_one_starts() {
    let world = World::new();
    let project = world.repository("project");
    warm(&world, &project, "echo 1 > one").expect_code(0);
    stop(&world, &project).expect_code(0);
    warm(&world, &project, "ls").expect_code(0).expect_out("README.md");
    stop(&world, &project).expect_code(0);
    assert_eq!(world.runs().len(), 2);
}

fn a_killed_session_is_noticed() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    warm(&world, &project, "echo kept > kept.txt").expect_code(0);
    for process in remains.processes().into_keys().filter_map(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
    remains.expect_none();
    warm(&world, &project, "echo new").expect_code(0).expect_out("new");
    stop(&world, &project).expect_code(0);
    remains.expect_none();
}
