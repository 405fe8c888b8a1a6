//! Things that break at the worst moment: killed processes, full disks, homes that cannot be written.

use std::time::Duration;

use ledger::{Expect, verify_ledger};
use rustix::process::{Pid, Signal, kill_process};
use testkit::{Launch, Remains, Repository, World, mounts_under, on_small_disk};

crate::tests![
    the_control_plane_killed_at_any_moment,
    every_process_of_a_sandbox_killed_in_turn,
    a_stopped_control_plane_allows_nothing,
    killed_while_it_applies,
    a_full_disk_refuses_or_fails_cleanly,
    a_home_that_cannot_be_written,
    out_of_descriptors,
    an_interrupted_run_is_told_and_can_be_dropped,
];

/// What every fault must leave behind: no process, no mount, a ledger that verifies, and a next command that works.
fn nothing_remains(world: &World, project: &Repository<'_>, remains: &Remains) {
    remains.expect_none();
    assert_eq!(mounts_under(world.path()), Vec::<String>::new());
    for run in world.runs() {
        let Ok(bytes) = std::fs::read(run.join("ledger.jsonl")) else { continue };
        // The line that was being written may be torn: it was acknowledged to nobody.
        let whole =
            bytes.iter().rposition(|byte| *byte == b'\n').map_or(&bytes[..0], |end| &bytes[..=end]);
        let holds = whole.is_empty() || verify_ledger(whole, Expect::default()).holds();
        assert!(holds, "{}:\n{}", run.display(), String::from_utf8_lossy(&bytes));
    }
    let next =
        world.exec_with(project, &["--quiet"], &["sh", "-c", "echo next; cat README.md"]).run();
    next.expect_code(0).expect_out("next\n# A project");
    world.run_loop(project, &["runs", "--json"]).run().expect_code(0).json();
    assert_eq!(project.status(), "");
}

/// Moments spread over the life of a run, denser at its beginning; the same in every run of the test.
fn moments() -> impl Iterator<Item = Duration> {
    (0..24).map(|step: u32| Duration::from_micros(u64::from(step * step) * 200))
}

fn busy(world: &World, project: &Repository<'_>) -> Launch {
    let script = "sleep 1000 & (setsid sleep 1000 &); echo up; while :; do echo x >> file; done";
    world.exec_with(project, &["--quiet"], &["sh", "-c", script])
}

fn the_control_plane_killed_at_any_moment() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    for moment in moments() {
        let running = busy(&world, &project).start();
        std::thread::sleep(moment);
        running.signal(Signal::KILL);
        assert_eq!(running.wait().signal(), Some(9));
        remains.expect_none();
    }
    nothing_remains(&world, &project, &remains);
}

fn every_process_of_a_sandbox_killed_in_turn() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    for turn in 0..6 {
        for moment in [Duration::from_millis(3), Duration::from_millis(300)] {
            let running = busy(&world, &project).start();
            std::thread::sleep(moment);
            let own = running.id().as_raw_nonzero().get();
            let below: Vec<i32> =
                remains.processes().into_keys().filter(|process| *process != own).collect();
            let Some(victim) = below.get(turn).copied().and_then(Pid::from_raw) else {
                running.signal(Signal::TERM);
                running.wait();
                continue;
            };
            let _ = kill_process(victim, Signal::KILL);
            std::thread::sleep(Duration::from_millis(50));
            // A victim that was one of the command's own children leaves the run as it is.
            let _ = kill_process(running.id(), Signal::TERM);
            let ran = running.wait().expect_no_panic();
            assert_ne!(ran.code(), Some(0), "{ran}");
            remains.expect_none();
        }
    }
    nothing_remains(&world, &project, &remains);
}

fn a_stopped_control_plane_allows_nothing() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let running = busy(&world, &project).start();
    running.expect_output("up");
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(project.status(), "");
    running.signal(Signal::KILL);
    running.signal(Signal::CONT);
    running.wait();
    nothing_remains(&world, &project, &remains);
}

fn killed_while_it_applies() {
    for step in 0..12_u64 {
        let world = World::new();
        let project = world.repository("project");
        project.write("old", "old\n");
        project.commit("Old");
        let script = "for i in $(seq 300); do echo $i > f$i; done; echo new > old";
        world.exec_with(&project, &["--quiet"], &["sh", "-c", script]).run().expect_code(0);
        let running = world.run_loop(&project, &["apply"]).start();
        std::thread::sleep(Duration::from_millis(step * 4));
        running.signal(Signal::KILL);
        running.wait();
        // The next command finishes it or takes it back: all of it or nothing, never a part.
        world.run_loop(&project, &["runs"]).run().expect_code(0);
        world.exec_with(&project, &["--quiet"], &["true"]).run().expect_code(0);
        let applied = (1..=300).filter(|i| project.has(format!("f{i}"))).count();
        let old = project.read("old");
        assert!(
            (applied == 0 && old == "old\n") || (applied == 300 && old == "new\n"),
            "{applied} of 300 files, old is {old:?}"
        );
    }
}

fn a_full_disk_refuses_or_fails_cleanly() {
    for size in ["16k", "64k", "128k", "256k", "1m", "4m"] {
        let world = World::new();
        let project = world.repository("project");
        std::fs::create_dir_all(world.loop_home()).unwrap();
        let launcher = on_small_disk(&world.loop_home(), size);
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let script = "echo started; head -c 20000000 /dev/urandom > big 2>/dev/null || echo full";
        let ran =
            world.exec(&project, &["sh", "-c", script]).through(&launcher).run().expect_no_panic();
        match ran.code() {
            Some(125) => assert!(ran.err().to_lowercase().contains("space"), "{size}\n{ran}"),
            _ => assert!(ran.out().contains("full"), "{size}\n{ran}"),
        }
        assert_eq!(project.status(), "");
    }
}

fn a_home_that_cannot_be_written() {
    let world = World::new();
    let project = world.repository("project");
    let home = world.directory("read-only-home");
    let script = format!("mount -t tmpfs -o ro none '{}' && exec \"$@\"", home.display());
    let launcher = [
        "unshare",
        "--user",
        "--map-current-user",
        "--keep-caps",
        "--mount",
        "--",
        "sh",
        "-c",
        &script,
        "sh",
    ];
    for variable in ["LOOP_HOME", "XDG_CONFIG_HOME"] {
        let ran = world
            .exec(&project, &["echo", "ran"])
            .env(variable, home.join("x"))
            .through(&launcher)
            .run();
        ran.expect_no_panic().expect_code(125).expect_out("").expect_err("read-only-home");
    }
    world
        .exec(&project, &["echo", "ran"])
        .env("HOME", &home)
        .through(&launcher)
        .run()
        .expect_no_panic()
        .expect_out("ran");
}

fn out_of_descriptors() {
    let world = World::new();
    let project = world.repository("project");
    for limit in ["4", "6", "8", "10", "12", "16", "24"] {
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        let ran =
            world.exec(&project, &["echo", "ran"]).through(&["bash", "-c", &script, "bash"]).run();
        let ran = ran.expect_no_panic();
        assert!(
            ran.code() == Some(0) || ran.code() == Some(125) && ran.out().is_empty(),
            "{limit}\n{ran}"
        );
    }
}

fn an_interrupted_run_is_told_and_can_be_dropped() {
    let world = World::new();
    let project = world.repository("project");
    let remains = Remains::watch();
    let running = world
        .exec_with(
            &project,
            &["--quiet"],
            &["sh", "-c", "echo half > half.txt; echo ready; sleep 1000"],
        )
        .start();
    running.expect_output("ready");
    running.signal(Signal::KILL);
    running.wait();
    remains.expect_none();
    let runs = world.run_loop(&project, &["runs", "--json"]).run().expect_code(0).json();
    assert_eq!(runs[0]["state"], "interrupted", "{runs}");
    world.run_loop(&project, &["audit"]).run().expect_code(0).expect_no_panic();
    let diff = world.run_loop(&project, &["diff", "--stat"]).run().expect_no_panic();
    assert!(diff.code() != Some(0) || diff.out().contains("half.txt"), "{diff}");
    world.run_loop(&project, &["discard"]).run().expect_code(0);
    nothing_remains(&world, &project, &remains);
}
