//! Checks in fresh sandboxes, on the real kernel.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use api::{CheckView, Engine as _, ExecReport, ExecRequest, Nobody, RunRequest};
use names::Digest;

use crate::shell;
use crate::world::World;

/// A run that did `work`, with checks that are pairs of what they run, as TOML, and whatever else
/// the contract says of them.
fn tried(world: &World, work: &str, checks: &[(&str, &str)]) -> Tried {
    let mut text = String::new();
    for (number, (run, more)) in checks.iter().enumerate() {
        let expect = "expect = { exit = 0 }";
        writeln!(text, "[[check]]\nname = \"{number}\"\nrun = {run}\n{expect}\n{more}").unwrap();
    }
    let contract = world.homes().home.join("contract.toml");
    fs::write(&contract, text).unwrap();
    let request = ExecRequest { contract: Some(contract), ..shell(work) };
    let report = world.engine().exec(request, &Nobody).unwrap();
    let checks = report.verification.clone().unwrap().checks;
    Tried { report, checks }
}

/// The same with one check, a line of shell.
fn one(world: &World, work: &str, line: &str) -> Tried {
    tried(world, work, &[(&format!("'''{line}'''"), "")])
}

struct Tried {
    report: ExecReport,
    checks: Vec<CheckView>,
}

impl Tried {
    /// What was printed in the sandbox of that number, from 1: output and errors.
    fn printed(&self, number: usize) -> (String, String) {
        let place = self.report.directory.join("checks").join(number.to_string());
        let text = |name: &str| fs::read_to_string(place.join(name)).unwrap();
        (text("stdout"), text("stderr"))
    }
}

fn sorted(world: &World, directory: &std::path::Path) -> Vec<String> {
    let mut names = world.names(directory);
    names.sort();
    names
}

/// The kinds of the records of a ledger that holds, in which every intent has a result.
fn records(world: &World) -> Vec<String> {
    let audit = world.engine().audit(RunRequest::default()).unwrap();
    assert!(audit.chain.intact, "{:?}", audit.chain);
    assert!(audit.records.iter().all(|record| !record.outcome_unknown));
    audit.records.into_iter().map(|record| record.kind).collect()
}

fn count(kinds: &[String], kind: &str) -> usize {
    kinds.iter().filter(|it| *it == kind).count()
}

pub(crate) fn a_check_sees_the_base_and_then_the_base_with_what_the_run_left() {
    let world = World::new();
    world.file("a", "base\n");
    world.file("tests/t", "base\n");
    let work = "echo run > a; echo run > tests/t; mkdir .git; echo x > .git/config; echo new > n; \
                echo 1 > /tmp/left; echo 1 > ~/left";
    let line = "cat a tests/t; ls -A; test -e /tmp/left -o -e ~/left || echo clean; \
                echo oops >&2; cat; exit 3";
    let tried = one(&world, work, line);
    let printed = |output: &str| (output.to_owned(), "oops\n".to_owned());
    assert_eq!(tried.printed(1), printed("base\nbase\na\ntests\nclean\n"));
    assert_eq!(tried.printed(2), printed("run\nbase\na\nn\ntests\nclean\n"));
    let check = &tried.checks[0];
    assert_eq!((check.base.exit_code, check.result.exit_code), (Some(3), Some(3)));
    // The work, and two checks, in sandboxes that measured the same.
    let kinds = records(&world);
    assert_eq!((count(&kinds, "exec.intent"), count(&kinds, "exec.result")), (3, 3));
    assert_eq!(count(&kinds, "enforcement"), 1);
}

pub(crate) fn what_one_check_writes_no_other_sees_and_nobody_keeps() {
    let world = World::new();
    world.file("a", "base\n");
    let writes = "'echo x | tee made a /tmp/made ~/made'";
    let looks = "'cat a; test ! -e made -a ! -e /tmp/made -a ! -e ~/made && echo ok'";
    let tried = tried(&world, "echo work > w", &[(writes, ""), (looks, "")]);
    let printed = [1, 2, 3, 4].map(|number| tried.printed(number).0);
    assert_eq!(printed, ["x\n", "x\n", "base\nok\n", "base\nok\n"]);
    assert_eq!(world.text("a"), "base\n");
    let changes = tried.report.changes.unwrap();
    assert_eq!((changes.added, changes.edited), (1, 0));
    let run = &tried.report.directory;
    assert_eq!(sorted(&world, &run.join("checks")), ["1", "2", "3", "4"]);
    assert_eq!(sorted(&world, &run.join("checks/4")), ["stderr", "stdout"]);
    assert!(!run.join("work").exists() && !run.join("scratch").exists());
}

pub(crate) fn a_check_that_changes_what_it_rests_on_is_told() {
    let world = World::new();
    for name in ["tests/a.py", "tests/b.py", "src/d.py"] {
        world.file(name, "1\n");
    }
    let line = "test ! -e new || { touch tests/a.py; echo 2 > tests/b.py; echo 2 > src/d.py; }";
    let tried =
        one(&world, "echo 9 > tests/a.py; echo 9 > src/d.py; rm tests/b.py; echo > new", line);
    assert_eq!(tried.checks[0].reasons, ["it changed tests/b.py while it ran"]);
}

pub(crate) fn time_that_is_up_ends_a_check_and_nothing_else() {
    let world = World::new();
    let checks = [("'echo begun; sleep 600'", "timeout = \"300ms\""), ("'echo on'", "")];
    let tried = tried(&world, "true", &checks);
    let base = &tried.checks[0].base;
    assert_eq!((base.timed_out, base.exit_code, base.signal), (true, None, None));
    assert_eq!(tried.printed(1).0, "begun\n");
    assert_eq!(tried.printed(4).0, "on\n");
    assert_eq!(count(&records(&world), "exec.result"), 5);
}

pub(crate) fn whatever_keeps_a_check_from_running_is_a_result() {
    let world = World::new();
    world.file("d/here", "");
    symlink("/nowhere", world.project().join("dangling")).unwrap();
    let checks = [
        ("[\"no-such-program\"]", ""),
        ("'true'", "directory = \"dangling\""),
        ("'true'", "directory = \"not/there\""),
        ("'ls'", "directory = \"d\""),
        ("'./dangling'", ""),
        ("'kill -SEGV $$'", ""),
    ];
    let tried = tried(&world, "rm -r d; ln -s .. d", &checks);
    for (number, why) in [
        (0, "no-such-program: No such file or directory"),
        (1, "dangling: No such file or directory"),
        (2, "not/there: No such file or directory"),
    ] {
        let reasons = tried.checks[number].reasons.join("\n");
        assert!(reasons.contains(why), "{reasons}");
    }
    assert_eq!(tried.printed(7).0, "here\n");
    assert_eq!(tried.checks[4].base.exit_code, Some(127));
    assert_eq!((tried.checks[5].base.exit_code, tried.checks[5].base.signal), (None, Some(11)));
    assert_eq!(count(&records(&world), "exec.intent"), 13);
}

pub(crate) fn a_denied_check_is_a_result_and_a_record() {
    let world = World::new();
    let rule = "[[rule]]\nid = \"no-env\"\naction = \"exec\"\nprogram = \"/usr/bin/env\"\n\
                verdict = \"deny\"\nreason = \"not here\"\n";
    world.owner(rule);
    let tried = tried(&world, "true", &[("[\"env\"]", ""), ("'env; echo $?'", "")]);
    let reasons = tried.checks[0].reasons.join("\n");
    assert!(reasons.contains("denied: not here"), "{reasons}");
    assert_eq!(tried.printed(4).0, "126\n");
    assert_eq!(count(&records(&world), "denied"), 4);
    assert!(sorted(&world, &tried.report.directory.join("checks/1")).is_empty());
}

pub(crate) fn all_that_a_check_prints_is_digested() {
    let world = World::new();
    let line = "echo first; yes $(printf %500s | tr ' ' y) | tee /dev/stderr | head -c 6000000";
    let tried = one(&world, "true", line);
    let (output, error) = tried.printed(2);
    assert_eq!(output.len(), 6_000_006);
    assert!(error.len() > 5_000_000);
    assert_eq!(tried.checks[0].result.output, Digest::of(output.as_bytes()));
}

pub(crate) fn a_limit_ends_a_check() {
    let world = World::new();
    world.owner("[limits]\noutput = \"100KiB\"\ndisk = \"1MiB\"\n");
    let much = [
        ("'yes | head -c 300000; sleep 600'", ""),
        ("'head -c 9000000 /dev/zero > big; sleep 600'", ""),
    ];
    let tried = tried(&world, "true", &much);
    for check in &tried.checks {
        for ran in [&check.base, &check.result] {
            assert_eq!((ran.exit_code, ran.signal, ran.timed_out), (None, Some(9), false));
        }
    }
}

pub(crate) fn a_check_has_the_network_of_the_run_and_a_gate_of_its_own() {
    let world = World::new();
    world.owner("[[network]]\nhost = \"one.example.com\"\nports = [443]\n");
    let line = "getent hosts one.example.com two.example.com; echo $SSL_CERT_FILE";
    let tried = one(&world, line, line);
    for number in [1, 2] {
        let (printed, _) = tried.printed(number);
        assert!(printed.starts_with("198.18."), "{printed}");
        assert!(!printed.contains("two") && printed.contains("/run/loop/"), "{printed}");
    }
    assert_eq!(count(&records(&world), "egress.end"), 3);
}
