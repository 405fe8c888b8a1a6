//! bash, jobs, cancelling, and what a command may try against the program.

use hands::proposal::{JobAct, Outcome, Piece, Proposal};
use hands::wire::MOST_PROGRESS;
use names::Span;

use crate::client::{Hands, bash};

crate::tests!(
    output_and_errors_keep_their_order,
    every_line_starts_in_the_project,
    a_signal_is_an_exit_code,
    nobody_waits_for_input,
    what_takes_too_long_is_killed_with_its_children,
    what_is_left_behind_ends_with_the_line,
    a_flood_is_held_and_kept_in_a_file,
    output_is_shown_while_it_comes,
    what_is_given_up_is_killed_and_answered,
    a_hanging_tool_is_given_up,
    a_job_runs_beside_other_things,
    a_job_is_waited_for,
    a_job_is_stopped,
    a_job_reads_what_is_typed,
    a_job_that_nobody_has_is_named,
    there_is_a_terminal_if_one_is_wanted,
    the_streams_of_the_program_are_out_of_reach,
    a_killed_worker_is_told,
);

fn background(command: &str) -> Proposal {
    Proposal::Bash { command: command.to_owned(), timeout: None, background: true, terminal: false }
}

fn job(id: &str, act: JobAct) -> Proposal {
    Proposal::Job { id: id.to_owned(), act }
}

fn wait(id: &str) -> Proposal {
    job(id, JobAct::Wait { timeout: None })
}

fn within(command: &str, millis: u64) -> Proposal {
    Proposal::Bash {
        command: command.to_owned(),
        timeout: Some(Span::from_millis(millis)),
        background: false,
        terminal: false,
    }
}

fn output_and_errors_keep_their_order() {
    let mut hands = Hands::start();
    let outcome = hands.works(&bash("echo 1; echo 2 >&2; echo 3; exit 3"));
    assert_eq!(outcome.text(), "1\n2\n3\n[exit code 3]");
    assert_eq!(outcome.exit, Some(3));
    let quiet = hands.works(&bash("true"));
    assert_eq!((quiet.text().as_str(), quiet.exit), ("[no output]", Some(0)));
    let color = hands.works(&bash(r"printf '\033[31mred\033[0m\n'; printf $TERM"));
    assert_eq!(color.text(), "red\ndumb");
}

fn every_line_starts_in_the_project() {
    let mut hands = Hands::start();
    let root = format!("{}\n", hands.root().canonicalize().unwrap().display());
    assert_eq!(hands.works(&bash("pwd -P; cd /")).text(), root);
    assert_eq!(hands.works(&bash("pwd -P")).text(), root);
}

fn a_signal_is_an_exit_code() {
    let outcome = Hands::start().works(&bash("kill -TERM $$"));
    assert_eq!(outcome.exit, Some(128 + 15));
    assert_eq!(outcome.text(), "[killed by signal 15]");
}

fn nobody_waits_for_input() {
    let outcome = Hands::start().works(&bash("cat; read x || echo none"));
    assert_eq!(outcome.text(), "none\n");
}

/// A script that starts a process which leaves its session and its parent, and says its number.
const DAEMON: &str = "(setsid sh -c 'echo $$ > daemon; exec sleep 1000' > /dev/null 2>&1 &); \
    until test -s daemon; do sleep 0.01; done; ";

/// Waits until a process that was killed is collected, too.
fn expect_gone(pid: &str) {
    let process = std::path::Path::new("/proc").join(pid.trim());
    let began = std::time::Instant::now();
    while process.exists() {
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{} stays", pid.trim());
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn what_takes_too_long_is_killed_with_its_children() {
    let mut hands = Hands::start();
    let outcome = hands.carry(&within(&format!("{DAEMON} echo some; sleep 1000"), 3000));
    assert_eq!(outcome.text(), "some\n[killed: it took longer than 3s]");
    assert_eq!((outcome.ok, outcome.exit), (false, Some(124)));
    expect_gone(&hands.content("daemon"));
}

fn what_is_left_behind_ends_with_the_line() {
    let mut hands = Hands::start();
    let outcome = hands.works(&bash(&format!("{DAEMON} sleep 1000 & echo $! > child")));
    assert_eq!(outcome.exit, Some(0));
    expect_gone(&hands.content("daemon"));
    expect_gone(&hands.content("child"));
}

fn a_flood_is_held_and_kept_in_a_file() {
    let mut hands = Hands::start();
    let outcome =
        hands.works(&bash("echo first; head -c 10485760 /dev/zero | tr '\\0' x; echo; echo last"));
    let text = outcome.text();
    assert!(text.len() < 40 << 10, "{}", text.len());
    assert!(text.starts_with("first\n") && text.ends_with("last\n"), "{text}");
    let truncated = outcome.truncated.unwrap();
    assert_eq!(truncated.total, Some(10_485_760 + 12));
    let file = text.split("all of it is in ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(std::fs::metadata(file).unwrap().len(), 10_485_760 + 12);
    std::fs::remove_file(file).unwrap();
    assert!(hands.shown.len() <= MOST_PROGRESS);
}

fn output_is_shown_while_it_comes() {
    let mut hands = Hands::start();
    // The line ends only after what it printed was shown.
    let id = hands.open(&bash("echo early; until test -e go; do sleep 0.01; done; echo late"));
    while !hands.shown.contains("early") {
        match hands.hear() {
            hands::wire::Heard::Progress(shown, text) if shown == id => hands.shown.push_str(&text),
            other => panic!("{other:?}"),
        }
    }
    hands.put("go", "");
    assert_eq!(hands.next_done().1.text(), "early\nlate\n");
}

fn what_is_given_up_is_killed_and_answered() {
    let mut hands = Hands::start();
    let id = hands.open(&bash(&format!("{DAEMON} echo ready > ready; sleep 1000")));
    while !hands.root().join("ready").exists() {
        std::thread::yield_now();
    }
    hands.cancel(id);
    let (done, outcome) = hands.next_done();
    assert_eq!((done, outcome.ok), (id, false));
    assert_eq!(outcome.text(), "[killed: it was given up]");
    expect_gone(&hands.content("daemon"));
    assert!(hands.works(&bash("true")).ok);
}

fn a_hanging_tool_is_given_up() {
    let mut hands = Hands::start();
    // A pattern over a tree that never ends: /proc is read as long as it takes.
    let grep = Proposal::Grep {
        pattern: "a".into(),
        path: Some("/proc".into()),
        glob: None,
        ignore_case: false,
        context: 0,
        mode: hands::proposal::GrepMode::Count,
        offset: None,
    };
    let id = hands.open(&grep);
    hands.cancel(id);
    let (done, _) = hands.next_done();
    assert_eq!(done, id);
    assert!(hands.works(&bash("true")).ok);
}

fn a_job_runs_beside_other_things() {
    let mut hands = Hands::start();
    let started = hands
        .works(&background("echo one; until test -e go; do sleep 0.01; done; echo two; exit 4"));
    assert_eq!((started.text().as_str(), started.job.as_deref()), ("runs as job j1", Some("j1")));
    let output = job("j1", JobAct::Output);
    let mut first = String::new();
    while !first.contains("one") {
        let outcome = hands.works(&output);
        assert_eq!(outcome.job.as_deref(), Some("j1"));
        first.push_str(&outcome.text());
    }
    hands.put("go", "");
    let last = hands.works(&wait("j1"));
    assert_eq!((last.text().as_str(), last.exit, last.job), ("two\n[exit code 4]", Some(4), None));
    assert_eq!(hands.fails(&output), "there is no job j1, nor any other");
}

fn a_job_is_waited_for() {
    let mut hands = Hands::start();
    hands.works(&background("sleep 1000"));
    let id = hands.open(&wait("j1"));
    assert_eq!(
        hands.fails_beside(&job("j1", JobAct::Output)),
        "job j1 is being attended to already"
    );
    hands.cancel(id);
    let (done, outcome) = hands.next_done();
    assert_eq!(done, id);
    assert_eq!(outcome.text(), "[job j1 is running]");
    let short = Some(Span::from_millis(1));
    let outcome = hands.works(&job("j1", JobAct::Wait { timeout: short }));
    assert_eq!(outcome.job.as_deref(), Some("j1"));
}

impl Hands {
    fn fails_beside(&mut self, proposal: &Proposal) -> String {
        self.fails(proposal)
    }
}

fn a_job_is_stopped() {
    let mut hands = Hands::start();
    hands.works(&background(&format!("{DAEMON} echo up; sleep 1000")));
    while !hands.root().join("daemon").exists() {
        std::thread::yield_now();
    }
    let outcome: Outcome = hands.works(&job("j1", JobAct::Stop));
    assert_eq!((outcome.exit, outcome.job), (Some(128 + 9), None));
    expect_gone(&hands.content("daemon"));
}

fn a_job_reads_what_is_typed() {
    let mut hands = Hands::start();
    hands.works(&background("read a; echo got $a; read b; echo and $b"));
    let typed = hands.works(&job("j1", JobAct::Input { text: "x\ny\n".into() }));
    assert_eq!(typed.text(), "typed 4 bytes");
    assert_eq!(hands.works(&wait("j1")).text(), "got x\nand y\n");
}

fn a_job_that_nobody_has_is_named() {
    let mut hands = Hands::start();
    assert_eq!(hands.fails(&job("j9", JobAct::Output)), "there is no job j9, nor any other");
    hands.works(&background("sleep 1000"));
    assert_eq!(hands.fails(&job("\n", JobAct::Stop)), "there is no job \\n; there is j1");
}

fn there_is_a_terminal_if_one_is_wanted() {
    let mut hands = Hands::start();
    let terminal = |command: &str, background| Proposal::Bash {
        command: command.to_owned(),
        timeout: None,
        background,
        terminal: true,
    };
    let outcome = hands.works(&terminal("test -t 0 && test -t 1 && test -t 2 && stty size", false));
    assert_eq!(outcome.text(), "40 120\n");
    hands.works(&terminal("read x; echo \"[$x]\"", true));
    hands.works(&job("j1", JobAct::Input { text: "typed\n".into() }));
    let text = hands.works(&wait("j1")).text();
    assert!(text.ends_with("[typed]\n"), "{text:?}");
}

/// Root may look into any process, so there it is only the descriptors that a command has.
fn the_streams_of_the_program_are_out_of_reach() {
    let mut hands = Hands::start();
    let descriptors = hands.works(&bash("ls /proc/self/fd | tr '\\n' ' '")).text();
    assert_eq!(descriptors, "0 1 2 3 ", "and 3 is the directory that is listed");
    let forged = format!("echo forged > /proc/{}/fd/1 && echo reached", hands.pid());
    if !is_root() {
        let outcome = hands.works(&bash(&forged));
        assert!(!outcome.text().contains("reached"), "{}", outcome.text());
    }
    let lie = r#"printf '\100\0\0\0{"done":{"id":1,"outcome":{"ok":true,"parts":[]}}}' >&2"#;
    let outcome = hands.works(&bash(lie));
    assert!(outcome.text().contains(r#"{"done":{"id":1"#));
    assert!(matches!(outcome.parts.as_slice(), [Piece::Text { .. }]));
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn a_killed_worker_is_told() {
    let mut hands = Hands::start();
    let why = hands.fails(&bash(&format!("{DAEMON} kill -9 $PPID; sleep 1000")));
    assert_eq!(why, "the process that carried it out was killed");
    expect_gone(&hands.content("daemon"));
    assert!(hands.works(&bash("true")).ok);
}
