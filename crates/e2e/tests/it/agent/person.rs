//! The person at the terminal of a run: what they see, are asked, and approve.

use std::thread::sleep;
use std::time::Duration;

use testkit::{Launch, Remains, Terminal};

use super::Desk;
use crate::approvals::ASK;

crate::tests![
    a_question_is_answered_at_the_terminal,
    a_question_can_be_declined,
    a_question_ends_with_the_turn,
    what_passes_on_a_terminal_is_taken_away,
    an_approval_is_asked_for_in_the_middle_of_a_run,
    what_the_agent_says_waits_while_the_person_reads,
    time_ends_a_run_at_its_prompt,
];

/// Longer than a prompt ignores keys for.
const SETTLED: Duration = Duration::from_millis(500);

const ASKS: &str = "[[turn]]\n\
    text = \"I wonder.\"\n\
    call = [{ name = \"ask\", arguments = { question = \"Tabs or spaces?\", options = [\"tabs\", \"spaces\"] } }]\n";

fn terminal(launch: Launch) -> Terminal {
    Terminal::start(&launch.into_command())
}

fn asking(desk: &Desk, then: &str) -> Terminal {
    let mut terminal = terminal(desk.run(&format!("{ASKS}\n[[turn]]\n{then}"), &[], "indent"));
    terminal.expect("the agent asks:");
    terminal.expect("Tabs or spaces?");
    terminal.expect("- spaces");
    terminal.expect("decline: ");
    terminal
}

fn a_question_is_answered_at_the_terminal() {
    let desk = Desk::new();
    let then = "expect = { last = \"spaces, four\", failed = false }\ntext = \"Spaces it is.\"\n";
    let mut terminal = asking(&desk, then);
    terminal.send("spaces, four\r");
    terminal.expect("Spaces it is.");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
}

fn a_question_can_be_declined() {
    let desk = Desk::new();
    let then =
        "expect = { last = \"does not want to answer\", failed = true }\ntext = \"I chose.\"\n";
    let mut terminal = asking(&desk, then);
    terminal.send("\r");
    terminal.expect("I chose.");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
}

fn a_question_ends_with_the_turn() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let mut terminal = asking(&desk, "fail = \"it went on\"\n");
    terminal.send("\x03");
    terminal.expect("stopped: interrupted");
    assert_eq!(terminal.wait().code(), Some(130), "{}", terminal.screen());
    remains.expect_none();
}

fn what_passes_on_a_terminal_is_taken_away() {
    let desk = Desk::new();
    let script = "[[turn]]\n\
        delay = \"300ms\"\n\
        text = \"I look.\"\n\
        call = [{ name = \"bash\", arguments = { command = \"echo ready\" } }]\n\n\
        [[turn]]\n\
        text = \"Seen.\"\n";
    let mut terminal = terminal(desk.run(script, &[], "look").env("NO_COLOR", "1"));
    terminal.expect("… waiting for the model");
    terminal.expect("\r\x1b[K");
    terminal.expect("I look.");
    terminal.expect("… $ echo ready");
    terminal.expect("\r\x1b[K");
    terminal.expect("· $ echo ready\r\n  ready\r\n");
    terminal.expect("Seen.");
    terminal.expect("the agent says it is done");
    assert_eq!(terminal.wait().code(), Some(0));
    let screen = terminal.screen();
    assert_eq!(screen.matches("Seen.").count(), 1, "{screen}");
}

const DATES: &str = "[[turn]]\n\
    call = [{ name = \"bash\", arguments = { command = \"date +first-%Y; date +second-%Y; echo code-$?\" } }]\n\n\
    [[turn]]\n\
    expect = { last = [\"first-2\", \"code-126\"], absent = \"second-2\" }\n\
    text = \"It is late.\"\n";

fn dating(desk: &Desk, flags: &[&str]) -> Terminal {
    let profile = format!("[profile]\nname = \"mine\"\nextends = \"agent\"\n{ASK}");
    let profile = desk.file("profile.toml", &profile);
    let flags = [&["--profile", profile.as_str()], flags].concat();
    let mut terminal = terminal(desk.run(DATES, &flags, "date"));
    terminal.expect("wants to run a program");
    terminal.expect("+first-%Y");
    sleep(SETTLED);
    terminal
}

fn an_approval_is_asked_for_in_the_middle_of_a_run() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let mut terminal = dating(&desk, &[]);
    terminal.send("y");
    terminal.expect("approved once");
    terminal.expect("+second-%Y");
    sleep(SETTLED);
    terminal.send("n");
    terminal.expect("denied");
    terminal.expect("It is late.");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
    remains.expect_none();
    let answered = desk.records("approval.answered");
    assert_eq!(answered[0]["by"]["via"], "terminal");
    desk.receipt("unverified");
}

fn what_the_agent_says_waits_while_the_person_reads() {
    let desk = Desk::new();
    let profile = format!("[profile]\nname = \"mine\"\nextends = \"agent\"\n{ASK}");
    let profile = desk.file("profile.toml", &profile);
    let script = "[[turn]]\n\
        call = [{ name = \"bash\", arguments = { command = \"date +first-%Y\", background = true } }]\n\n\
        [[turn]]\ndelay = \"1s\"\ntext = \"Meanwhile.\"\n\
        call = [{ name = \"job\", arguments = { id = \"j1\", do = \"wait\" } }]\n\n\
        [[turn]]\ntext = \"It is late.\"\n";
    let mut terminal = terminal(desk.run(script, &["--profile", &profile], "tell the date"));
    terminal.expect("+first-%Y");
    // By then the model has said it, and would have been seen before the answer.
    sleep(Duration::from_secs(2));
    terminal.send("y");
    terminal.expect("approved once");
    terminal.expect("Meanwhile.");
    terminal.expect("It is late.");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
}

fn time_ends_a_run_at_its_prompt() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let mut terminal = dating(&desk, &["--timeout", "4s"]);
    // The screen that was there before is back.
    terminal.expect("\x1b[?1049l");
    terminal.expect("stopped: the budget of time is used up");
    assert_eq!(terminal.wait().code(), Some(124), "{}", terminal.screen());
    remains.expect_none();
}
