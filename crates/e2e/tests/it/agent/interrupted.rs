//! Runs that end in the middle: by a person, by a crash.

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Remains, Running, wait_until};

use super::{Desk, lines, report};

crate::tests![
    an_interrupt_ends_the_turn_and_leaves_nothing,
    a_second_interrupt_ends_the_run,
    an_interrupt_ends_a_model_that_is_silent,
    a_crash_in_a_call_is_told_and_nothing_happens_twice,
];

const SLEEPS: &str = "[[turn]]\n\
    text = \"I begin.\"\n\
    call = [{ name = \"bash\", arguments = { command = \"echo once; sleep 1000\" } }]\n\n\
    [[turn]]\nfail = \"it went on\"\n";

/// A run in whose sandbox a command is at work.
fn at_work(desk: &Desk) -> Running {
    let running = desk.run(SLEEPS, &["--json"], "sleep").start();
    running.expect_output("once");
    running
}

fn last_turn(lines: &[Value]) -> &Value {
    lines.iter().find(|line| line["type"] == "turn.failed").unwrap()
}

fn an_interrupt_ends_the_turn_and_leaves_nothing() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let running = at_work(&desk);
    running.signal(Signal::INT);
    let ran = running.wait().expect_code(130);
    remains.expect_none();
    assert_eq!(last_turn(&lines(&ran))["error"]["detail"], "interrupted", "{ran}");
    assert_eq!(report(&ran)["end"]["stopped"], "interrupted");
    desk.receipt("stopped");
}

fn a_second_interrupt_ends_the_run() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let running = at_work(&desk);
    running.signal(Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(20));
    running.signal(Signal::INT);
    running.wait().expect_code(130);
    remains.expect_none();
    desk.receipt("stopped");
    let running = at_work(&desk);
    running.signal(Signal::TERM);
    let ran = running.wait().expect_code(130);
    assert_eq!(report(&ran)["end"]["stopped"], "ended", "{ran}");
    remains.expect_none();
}

fn an_interrupt_ends_a_model_that_is_silent() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let running =
        desk.run("[[turn]]\ndelay = \"1000s\"\ntext = \"Late.\"\n", &["--json"], "wait").start();
    running.expect_output("turn.started");
    running.signal(Signal::INT);
    running.wait().expect_code(130);
    remains.expect_none();
}

fn a_crash_in_a_call_is_told_and_nothing_happens_twice() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let running = at_work(&desk);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal(), Some(9));
    wait_until("nothing of the run is left", || remains.processes().is_empty());
    let script = "[[turn]]\n\
        expect = { anywhere = [\"I begin.\", \"outcome unknown: interrupted\"], last = \"Go on.\" }\n\
        text = \"I see.\"\n";
    let ran = desk.run(script, &["--json", "--resume"], "").run().expect_code(0);
    remains.expect_none();
    assert_eq!(report(&ran)["end"]["finished"], "I see.");
    assert!(desk.records("tool.intent").is_empty());
    let listed = desk.command(&["sessions", "--json"]).expect_code(0).json();
    assert_eq!(listed[0]["runs"].as_array().unwrap().len(), 2, "{listed}");
}
