//! Warm sandboxes: `loop exec --session NAME` and `loop stop NAME`.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use testkit::{Launch, Ran, Remains, World};

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

/// A project with a warm sandbox that ends with the test, however the test ends.
struct Warm {
    world: World,
    remains: Remains,
}

impl Warm {
    fn new() -> Self {
        let warm = Self { world: World::new(), remains: Remains::watch() };
        warm.world.repository("project");
        warm
    }

    fn project(&self) -> PathBuf {
        self.world.path().join("project")
    }

    fn start(&self, script: &str) -> Launch {
        let flags = ["--quiet", "--session", "dev"];
        self.world.exec_with(self.project(), &flags, &["sh", "-c", script])
    }

    fn run(&self, script: &str) -> Ran {
        self.start(script).run()
    }

    /// Ends the session: what `loop stop` says, after which nothing of it is left.
    fn stop(&self) -> serde_json::Value {
        let report = self.world.run_loop(self.project(), &["stop", "dev", "--json"]).run();
        let report = report.expect_code(0).json();
        self.remains.expect_none();
        report
    }
}

fn the_next_command_sees_what_the_first_did() {
    let warm = Warm::new();
    warm.run("echo kept > kept.txt; echo kept > /tmp/kept").expect_code(0);
    warm.run("cat kept.txt /tmp/kept").expect_code(0).expect_out("kept\nkept");
    assert!(!warm.project().join("kept.txt").exists());
    warm.stop();
}

fn stopping_seals_one_run() {
    let warm = Warm::new();
    for number in 1..=3 {
        warm.run(&format!("echo {number} > f{number}")).expect_code(0);
    }
    let report = warm.stop();
    assert_eq!(report["commands"], 3);
    assert_eq!(report["changes"]["added"], 3);
    assert_eq!(warm.world.runs().len(), 1);
    let receipt = report["receipt"].as_str().unwrap();
    let verify = ["receipt", "verify", receipt, "--allow", "unverified"];
    warm.world.run_loop(warm.project(), &verify).run().expect_code(0);
    warm.world.run_loop(warm.project(), &["apply"]).run().expect_code(0);
    assert_eq!(std::fs::read_to_string(warm.project().join("f3")).unwrap(), "3\n");
}

fn the_second_command_has_the_same_walls() {
    let warm = Warm::new();
    let look = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; \
        readlink /proc/self/ns/user /proc/self/ns/mnt /proc/self/ns/net; \
        id -u; env | cut -d= -f1 | sort; ls /proc/self/fd";
    let first = warm.run(look).expect_code(0).out();
    let second = warm.run(look).expect_code(0).out();
    assert_eq!(first, second);
    warm.stop();
}

fn commands_run_side_by_side() {
    let warm = Warm::new();
    warm.run("mkfifo pipe").expect_code(0);
    let reader = warm.start("cat pipe").start();
    let writer = warm.start("echo through > pipe").start();
    writer.wait().expect_code(0);
    reader.wait().expect_code(0).expect_out("through");
    warm.stop();
}

fn two_that_start_it_at_once_share_it() {
    let warm = Warm::new();
    let running = [0; 4].map(|_| warm.start("echo x >> together").start());
    for running in running {
        running.wait().expect_code(0);
    }
    assert_eq!(warm.stop()["commands"], 4);
    assert_eq!(warm.world.runs().len(), 1);
}

fn exit_codes_and_timeouts_are_each_commands_own() {
    let warm = Warm::new();
    warm.run("exit 7").expect_code(7);
    let flags = ["--session", "dev", "--timeout", "300ms"];
    warm.world.exec_with(warm.project(), &flags, &["sleep", "1000"]).run().expect_code(124);
    warm.run("echo alive").expect_code(0).expect_out("alive");
    warm.stop();
}

fn an_unknown_session_cannot_be_stopped() {
    let world = World::new();
    let project = world.repository("project");
    world.run_loop(&project, &["stop", "nobody"]).run().expect_code(127).expect_err("nobody");
}

fn after_a_stop_a_new_one_starts() {
    let warm = Warm::new();
    warm.run("echo 1 > one").expect_code(0);
    warm.stop();
    warm.run("ls").expect_code(0).expect_out("README.md");
    warm.stop();
    assert_eq!(warm.world.runs().len(), 2);
}

fn a_killed_session_is_noticed() {
    let warm = Warm::new();
    warm.run("echo kept > kept.txt").expect_code(0);
    for process in warm.remains.processes().into_keys().filter_map(Pid::from_raw) {
        let _ = kill_process(process, Signal::KILL);
    }
    warm.remains.expect_none();
    warm.run("echo new").expect_code(0).expect_out("new");
    warm.stop();
}
