//! A session that goes on: what became of its earlier changes, and what the agent is told of it.

use testkit::Ran;

use super::{Desk, report};

crate::tests![
    a_session_goes_on_with_its_changes,
    the_later_run_is_applied_after_the_earlier,
    the_last_of_many_is_applied_after_the_first,
    what_was_decided_on_is_not_carried_over,
    a_run_that_holds_nothing_leaves_them_where_they_are,
    a_fork_carries_from_the_end_only,
    what_a_killed_run_left_is_carried_over,
];

const FIRST: &str = r##"
[[turn]]
call = [{ name = "bash", arguments = { command = "echo one > made.txt; rm README.md; mkdir -m 750 d; ln made.txt d/twin; git add -A" } }]

[[turn]]
text = "Made."
"##;

const SECOND: &str = r##"
[[turn]]
expect = { anywhere = "Your earlier changes were carried over" }
call = [{ name = "bash", arguments = { command = "set -e; cat made.txt d/twin; test ! -e README.md; git diff --cached --stat; echo two > made.txt; echo two > more.txt" } }]

[[turn]]
expect = { results = 1, failed = false, last = ["one\none\n", "made.txt"] }
text = "Gone on."
"##;

/// Expects to be told this, and finds the project as the person has it.
fn told(text: &str, test: &str) -> String {
    format!(
        "[[turn]]\nexpect = {{ anywhere = \"{text}\" }}\ncall = [{{ name = \"bash\", arguments = \
         {{ command = \"{test}\" }} }}]\n\n[[turn]]\nexpect = {{ failed = false }}\ntext = \"I see.\"\n"
    )
}

fn run_of(ran: &Ran) -> String {
    report(ran)["run"]["run"].as_str().unwrap().to_owned()
}

fn begun(desk: &Desk) -> String {
    run_of(&desk.run(FIRST, &["--json"], "make").run().expect_code(0))
}

fn resumed(desk: &Desk, script: &str, flags: &[&str]) -> String {
    let flags = [&["--json", "--resume"], flags].concat();
    run_of(&desk.run(script, &flags, "go on").run().expect_code(0))
}

fn paths(desk: &Desk, run: &str) -> Vec<String> {
    let diff = desk.command(&["diff", run, "--json"]).expect_code(0).json();
    let entries = diff["entries"].as_array().unwrap().iter();
    let paths = entries.map(|entry| entry["path"].as_str().unwrap().to_owned());
    paths.filter(|path| !path.starts_with(".git/")).collect()
}

fn continues(desk: &Desk, run: &str) -> Option<String> {
    let shown = desk.command(&["show", run, "--json"]).expect_code(0).json();
    Some(shown["continues"]["run"].as_str()?.to_owned())
}

fn a_session_goes_on_with_its_changes() {
    let desk = Desk::new();
    let first = begun(&desk);
    let next = resumed(&desk, SECOND, &[]);
    assert_eq!(continues(&desk, &next).as_deref(), Some(first.as_str()));
    assert_eq!(continues(&desk, &first), None);
    let shown = desk.command(&["show", &next]).expect_code(0);
    assert!(shown.out().contains(&format!("goes on from  run {first}")), "{shown}");
    assert_eq!(paths(&desk, &first), ["README.md", "d", "d/twin", "made.txt"]);
    assert_eq!(paths(&desk, &next), ["README.md", "d", "d/twin", "made.txt", "more.txt"]);
    // Applied by itself, the later one brings both.
    desk.command(&["apply", &next]).expect_code(0);
    assert_eq!((desk.read("made.txt"), desk.read("more.txt")), ("two\n".into(), "two\n".into()));
    assert!(!desk.project.join("README.md").exists());
    desk.command(&["discard", &first]).expect_code(0);
}

fn the_later_run_is_applied_after_the_earlier() {
    let desk = Desk::new();
    let first = begun(&desk);
    let next = resumed(&desk, SECOND, &[]);
    desk.command(&["apply", &first]).expect_code(0);
    assert_eq!(desk.read("made.txt"), "one\n");
    desk.command(&["apply", &next]).expect_code(0);
    assert_eq!((desk.read("made.txt"), desk.read("more.txt")), ("two\n".into(), "two\n".into()));
    desk.command(&["undo", &next]).expect_code(0);
    assert_eq!(desk.read("made.txt"), "one\n");
    desk.command(&["undo", &first]).expect_code(0);
    assert!(desk.project.join("README.md").exists() && !desk.project.join("made.txt").exists());
    // What the person changed besides is refused as ever.
    std::fs::write(desk.project.join("made.txt"), "mine\n").unwrap();
    desk.command(&["apply", &next]).expect_code(125).expect_err("made.txt");
}

/// Ids of one day are in no order: hardly ever are all of these in that of their time.
fn the_last_of_many_is_applied_after_the_first() {
    let desk = Desk::new();
    let first = begun(&desk);
    let on = told("Your earlier changes were carried over", "echo more >> made.txt");
    for _ in 0..3 {
        resumed(&desk, &on, &[]);
    }
    let last = resumed(&desk, &on, &[]);
    desk.command(&["apply", &first]).expect_code(0);
    desk.command(&["apply", &last]).expect_code(0);
    assert_eq!(desk.read("made.txt"), "one\n".to_owned() + &"more\n".repeat(4));
}

fn what_was_decided_on_is_not_carried_over() {
    let desk = Desk::new();
    let first = begun(&desk);
    desk.command(&["apply", &first]).expect_code(0);
    let next = resumed(&desk, &told("changes were applied", "test -e made.txt"), &[]);
    assert_eq!((continues(&desk, &next), paths(&desk, &next).len()), (None, 0));
    let desk = Desk::new();
    let first = begun(&desk);
    desk.command(&["discard", &first]).expect_code(0);
    let next = resumed(&desk, &told("changes were discarded", "test ! -e made.txt"), &[]);
    assert_eq!((continues(&desk, &next), paths(&desk, &next).len()), (None, 0));
}

fn a_run_that_holds_nothing_leaves_them_where_they_are() {
    let desk = Desk::new();
    let first = begun(&desk);
    let waits = told(&format!("they wait in run {first}"), "test ! -e made.txt");
    let looked = resumed(&desk, &waits, &["--mode", "read-only"]);
    assert_eq!(continues(&desk, &looked), None);
    let next = resumed(&desk, SECOND, &[]);
    assert_eq!(continues(&desk, &next), Some(first));
}

fn a_fork_carries_from_the_end_only() {
    let desk = Desk::new();
    let first = begun(&desk);
    let next = resumed(&desk, SECOND, &[]);
    let fork = |script: &str, of: &str| {
        run_of(&desk.run(script, &["--json", "--fork", of], "fork").run().expect_code(0))
    };
    let early = fork(&told("goes on from turn 1", "test ! -e made.txt"), &format!("{first}@1"));
    assert_eq!(continues(&desk, &early), None);
    let carried = told("were carried over", "grep -q two more.txt");
    assert_eq!(continues(&desk, &fork(&carried, &first)), Some(next.clone()));
    assert_eq!(continues(&desk, &fork(&carried, &format!("{first}@2"))), Some(next));
}

fn what_a_killed_run_left_is_carried_over() {
    let desk = Desk::new();
    let script = FIRST.replace("git add -A", "touch .git/there; sleep 60");
    let running = desk.run(&script, &["--json"], "make").start();
    testkit::wait_until("it has worked", || {
        desk.world.runs().iter().any(|run| run.join("upper/.git/there").exists())
    });
    running.signal(rustix::process::Signal::KILL);
    assert!(running.wait().code().is_none());
    let carried = told("were carried over", "grep one made.txt && test ! -e README.md");
    resumed(&desk, &carried, &[]);
}
