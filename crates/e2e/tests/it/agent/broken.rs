//! Providers that fail: the turn recovers, or ends with their fault named.

use testkit::{Launch, ModelServer, Ran, Remains};

use super::{CANARY, Desk, items, report};
use crate::network::WITH_DUMPS;

crate::tests![
    a_provider_that_is_busy_is_asked_again,
    an_answer_that_breaks_off_is_asked_for_again,
    a_provider_that_stays_broken_is_named,
    a_provider_that_is_not_there_costs_nothing,
    a_key_that_is_not_taken_is_said_and_not_told,
    a_silent_provider_ends_with_the_time,
    a_crash_with_a_providers_key_leaves_no_dump,
];

fn serve(turns: &str) -> ModelServer {
    ModelServer::start(&format!("name = \"broken\"\n{turns}"))
}

fn ask(desk: &Desk, server: &ModelServer, flags: &[&str]) -> Launch {
    let flags = [&["--json"], flags].concat();
    let launch = desk.with_model("anthropic:claude-x", &flags, "go");
    launch.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", CANARY)
}

/// Ran to its end, and nothing of it is left.
fn asked(desk: &Desk, server: &ModelServer, code: i32) -> Ran {
    let remains = Remains::watch();
    let ran = ask(desk, server, &[]).run().expect_code(code);
    remains.expect_none();
    assert!(!ran.out().contains(CANARY), "{ran}");
    ran
}

fn a_provider_that_is_busy_is_asked_again() {
    let desk = Desk::new();
    let server = serve(
        "[[turn]]\nfault = { kind = \"rate-limit\", times = 2, after = \"1s\" }\ntext = \"Here.\"\n",
    );
    let ran = asked(&desk, &server, 0);
    assert_eq!(server.asked().len(), 3);
    let told: Vec<_> = items(&ran).into_iter().filter(|item| item["type"] == "error").collect();
    assert_eq!(told.len(), 2, "{ran}");
    // What the provider asked for is waited for, and not what would be without its word.
    assert!(told[0]["message"].as_str().unwrap().contains("attempt 2 in 1.0 s"), "{ran}");
    assert_eq!(report(&ran)["steps"], 3);
}

fn an_answer_that_breaks_off_is_asked_for_again() {
    let desk = Desk::new();
    for fault in ["disconnect", "half-event", "malformed", "error-event", "reset"] {
        let server = serve(&format!(
            "[[turn]]\nfault = {{ kind = \"{fault}\" }}\ntext = \"It is a long answer, in many words.\"\n"
        ));
        let ran = asked(&desk, &server, 0);
        assert_eq!(server.asked().len(), 2, "{fault}\n{ran}");
        assert!(items(&ran).iter().any(|item| item["type"] == "error"), "{fault}\n{ran}");
        let end = &report(&ran)["end"]["finished"];
        assert_eq!(end, "It is a long answer, in many words.", "{fault}");
    }
}

fn a_provider_that_stays_broken_is_named() {
    let desk = Desk::new();
    for (fault, kind) in [("server-error", "overloaded"), ("malformed", "malformed")] {
        let server = serve(&format!(
            "[[turn]]\nfault = {{ kind = \"{fault}\", times = 99 }}\ntext = \"It is a long answer, in many words.\"\n"
        ));
        let ran = asked(&desk, &server, 1);
        let fault = &report(&ran)["end"]["failed"]["model"];
        assert_eq!(fault["kind"], kind, "{ran}");
        assert_eq!(fault["model"], "anthropic:claude-x");
        desk.receipt("failed");
    }
}

fn a_provider_that_is_not_there_costs_nothing() {
    let desk = Desk::new();
    let server = serve("");
    let gone = server.url();
    drop(server);
    let launch = desk.with_model("anthropic:claude-x", &["--json", "--steps", "2"], "go");
    let launch = launch.env("ANTHROPIC_BASE_URL", gone).env("ANTHROPIC_API_KEY", CANARY);
    let ran = launch.run().expect_code(1);
    let report = report(&ran);
    assert_eq!(report["end"]["stopped"]["budget"], "steps", "{ran}");
    assert_eq!(report["usage"]["input_tokens"], 0, "{ran}");
    let told = items(&ran);
    assert!(told[0]["message"].as_str().unwrap().contains("no connection to"), "{ran}");
}

fn a_key_that_is_not_taken_is_said_and_not_told() {
    let desk = Desk::new();
    let server = serve("[[turn]]\nfault = { kind = \"unauthorized\", times = 99 }\ntext = \"x\"\n");
    let ran = asked(&desk, &server, 1);
    assert_eq!(server.asked().len(), 1);
    assert_eq!(report(&ran)["end"]["failed"]["model"]["kind"], "unauthorized", "{ran}");
    let launch = desk.with_model("anthropic:claude-x", &[], "go");
    let launch = launch.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", CANARY);
    launch.run().expect_code(1).expect_err("store one with `loop login anthropic`");
}

/// What gives no events is ended by the clock all the same.
fn a_silent_provider_ends_with_the_time() {
    let desk = Desk::new();
    let server = serve("[[turn]]\nfault = { kind = \"silent\", times = 99 }\ntext = \"x\"\n");
    let remains = Remains::watch();
    let ran = ask(&desk, &server, &["--timeout", "2s"]).run().expect_code(124);
    remains.expect_none();
    let report = report(&ran);
    assert_eq!(report["end"]["stopped"]["budget"], "wall", "{ran}");
    assert_eq!(report["run"]["limit"]["limit"], "wall", "{ran}");
    desk.receipt("stopped");
}

fn a_crash_with_a_providers_key_leaves_no_dump() {
    let crash = |running: testkit::Running| {
        running.signal(rustix::process::Signal::ABORT);
        running.wait()
    };
    let desk = Desk::new();
    // A process like any other does leave one, so this machine writes dumps.
    let exec = desk.world.exec(&desk.project, &["sh", "-c", "echo up; sleep 60"]);
    let plain = exec.through(&WITH_DUMPS).start();
    plain.expect_output("up");
    let plain = crash(plain);
    assert!(plain.left_core(), "no process leaves a dump here, so this shows nothing: {plain}");

    let server = serve("[[turn]]\nfault = { kind = \"silent\", times = 99 }\ntext = \"x\"\n");
    let running = ask(&desk, &server, &[]).through(&WITH_DUMPS).start();
    testkit::wait_until("the model is asked", || !server.asked().is_empty());
    let ran = crash(running);
    assert!(!ran.left_core(), "{ran}");
    assert!(!format!("{ran}").contains(CANARY), "{ran}");
}
