//! Checks in fresh sandboxes, on the real kernel.

use std::path::PathBuf;

use api::{Engine as _, RunRequest};
use contract::{Check, Command, Exit, Expect, Ran};
use names::{Digest, Span, WorkspacePath};
use run::try_checks;

use crate::shell;
use crate::world::World;

fn check(line: &str) -> Check {
    Check {
        name: "check".to_owned(),
        run: Command::Shell(line.to_owned()),
        directory: None,
        expect: Expect { exit: Exit::Code(0), stdout: None, tests: None },
        timeout: None,
    }
}

fn tried(world: &World, work: &str, checks: &[Check]) -> Vec<[Ran; 2]> {
    let pairs = try_checks(world.settings(), &shell(work), checks).unwrap();
    pairs.into_iter().map(|pair| pair.map(|(ran, ..)| ran)).collect()
}

fn one(world: &World, work: &str, line: &str) -> [Ran; 2] {
    tried(world, work, &[check(line)]).remove(0)
}

fn text(ran: &Ran) -> (&str, &str) {
    (str::from_utf8(&ran.stdout).unwrap(), str::from_utf8(&ran.stderr).unwrap())
}

/// The directory of the only run.
fn run_directory(world: &World) -> PathBuf {
    let runs = world.homes().state.join("run");
    let names = world.names(&runs);
    assert_eq!(names.len(), 1, "{names:?}");
    runs.join(&names[0])
}

fn names(world: &World, directory: PathBuf) -> Vec<String> {
    let mut names = world.names(&directory);
    names.sort();
    names
}

/// The ledger holds, and every intent in it has a result.
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
                echo oops >&2; exit 3";
    let [base, result] = one(&world, work, line);
    assert_eq!(text(&base), ("base\nbase\na\ntests\nclean\n", "oops\n"));
    assert_eq!(text(&result), ("run\nbase\na\nn\ntests\nclean\n", "oops\n"));
    for ran in [base, result] {
        assert_eq!((ran.exit, ran.signal, ran.timed_out, ran.cut), (Some(3), None, false, false));
        assert_eq!((ran.not_started, ran.touched_oracle), (None, vec![]));
    }
    // The work, and two checks.
    let kinds = records(&world);
    assert_eq!((count(&kinds, "exec.intent"), count(&kinds, "exec.result")), (3, 3));
    assert_eq!(count(&kinds, "enforcement"), 1);
}

pub(crate) fn what_one_check_writes_no_other_sees_and_nobody_keeps() {
    let world = World::new();
    world.file("a", "base\n");
    let writes = "echo mine > made; echo mine > a; echo x > /tmp/made; echo x > ~/made; echo ok";
    let looks = "cat a; test ! -e made -a ! -e /tmp/made -a ! -e ~/made && echo ok";
    let pairs = tried(&world, "echo work > w", &[check(writes), check(looks)]);
    let printed: Vec<_> = pairs.iter().flatten().map(|ran| text(ran).0).collect();
    assert_eq!(printed, ["ok\n", "ok\n", "base\nok\n", "base\nok\n"]);
    assert_eq!(world.text("a"), "base\n");
    let shown = world.engine().show(RunRequest::default()).unwrap();
    assert_eq!((shown.summary.changes.added, shown.summary.changes.edited), (1, 0));
    let run = run_directory(&world);
    assert_eq!(names(&world, run.join("checks")), ["0", "1", "2", "3"]);
    assert_eq!(names(&world, run.join("checks/3")), ["stderr", "stdout"]);
    assert_eq!(std::fs::read_to_string(run.join("checks/3/stdout")).unwrap(), "base\nok\n");
}

pub(crate) fn a_check_that_changes_what_it_rests_on_is_told() {
    let world = World::new();
    for name in ["tests/a", "tests/b", "tests/c", "src/d"] {
        world.file(name, "1\n");
    }
    let line = "touch tests/a; echo 2 > tests/b; rm tests/c; echo 2 > src/d; mkdir -p target/x; \
                echo 3 > tests/new; printf '1\\n' > tests/a";
    let [base, result] = one(&world, "echo 9 > tests/a; echo 9 > src/d; rm tests/b", line);
    let changed = ["tests/b", "tests/c", "tests/new"];
    assert_eq!(
        (base.touched_oracle, result.touched_oracle),
        (changed.map(String::from).into(), changed.map(String::from).into())
    );
}

pub(crate) fn time_that_is_up_ends_a_check_and_nothing_else() {
    let world = World::new();
    let slow =
        Check { timeout: Some(Span::parse("200ms").unwrap()), ..check("echo begun; sleep 600") };
    let pairs = tried(&world, "true", &[slow, check("echo on")]);
    let [base, _] = &pairs[0];
    assert_eq!((base.timed_out, base.exit, base.signal), (true, None, None));
    assert_eq!(text(base), ("begun\n", ""));
    assert_eq!(text(&pairs[1][1]), ("on\n", ""));
    assert_eq!(count(&records(&world), "exec.result"), 5);
}

pub(crate) fn whatever_keeps_a_check_from_running_is_a_result() {
    let world = World::new();
    world.file("d/here", "");
    std::os::unix::fs::symlink("/nowhere", world.project().join("dangling")).unwrap();
    let at = |path: &str| WorkspacePath::parse(path).ok();
    let missing = Check { run: Command::Argv(vec!["no-such-program".to_owned()]), ..check("") };
    let checks = [
        missing,
        Check { directory: at("dangling"), ..check("true") },
        Check { directory: at("not/there"), ..check("true") },
        Check { directory: at("d"), ..check("ls; cat") },
        check("./dangling"),
        check("kill -SEGV $$"),
    ];
    let pairs = tried(&world, "rm -r d; ln -s .. d", &checks);
    let why = |number: usize| pairs[number][0].not_started.clone().unwrap();
    assert_eq!(why(0), "no-such-program: No such file or directory (os error 2)");
    assert!(why(1).ends_with("dangling: No such file or directory (os error 2)"), "{}", why(1));
    assert!(why(2).ends_with("not/there: No such file or directory (os error 2)"), "{}", why(2));
    assert_eq!(text(&pairs[3][0]), ("here\n", ""));
    assert_eq!(pairs[4][0].exit, Some(127));
    assert_eq!((pairs[5][0].exit, pairs[5][0].signal), (None, Some(11)));
    assert_eq!(count(&records(&world), "exec.intent"), 13);
}

pub(crate) fn a_denied_check_is_a_result_and_a_record() {
    let world = World::new();
    let rule = "[[rule]]\nid = \"no-env\"\naction = \"exec\"\nprogram = \"/usr/bin/env\"\n\
                verdict = \"deny\"\nreason = \"not here\"\n";
    world.owner(rule);
    let direct = Check { run: Command::Argv(vec!["env".to_owned()]), ..check("") };
    let pairs = tried(&world, "true", &[direct, check("env; echo $?")]);
    let why = pairs[0][0].not_started.clone().unwrap();
    assert_eq!(why, "denied: not here");
    assert_eq!(text(&pairs[1][1]).0, "126\n");
    let kinds = records(&world);
    assert_eq!(count(&kinds, "denied"), 4);
    assert!(names(&world, run_directory(&world).join("checks/0")).is_empty());
}

pub(crate) fn of_much_output_the_ends_are_kept_and_all_of_it_is_digested() {
    let world = World::new();
    let line = "echo first; yes | head -c 6000000; echo; echo last; yes n | head -c 5000000 >&2";
    let [base, _] = one(&world, "true", line);
    assert!(base.cut && base.stdout.len() <= 4 << 20 && base.stderr.len() <= 4 << 20);
    assert!(base.stdout.starts_with(b"first\ny\n") && base.stdout.ends_with(b"y\n\nlast\n"));
    let file = std::fs::read(run_directory(&world).join("checks/0/stdout")).unwrap();
    assert_eq!(file.len(), 6_000_000 + 12);
    assert_eq!(base.output, Digest::of(&file));
}

pub(crate) fn a_limit_ends_a_check() {
    let world = World::new();
    world.owner("[limits]\noutput = \"100KiB\"\ndisk = \"1MiB\"\n");
    let checks = [
        check("yes | head -c 300000; sleep 600"),
        check("head -c 9000000 /dev/zero > big; sleep 600"),
    ];
    let pairs = try_checks(world.settings(), &shell("true"), &checks).unwrap();
    let limits: Vec<_> = pairs.iter().flatten().map(|(_, limit, _)| limit.unwrap()).collect();
    assert_eq!(limits, ["output", "output", "disk", "disk"]);
    for (ran, _, interrupted) in pairs.iter().flatten() {
        assert_eq!((ran.exit, ran.signal, ran.timed_out), (None, Some(9), false));
        assert!(!interrupted);
    }
}

pub(crate) fn a_check_has_the_network_of_the_run_and_a_gate_of_its_own() {
    let world = World::new();
    world.owner("[[network]]\nhost = \"one.example.com\"\nports = [443]\n");
    let line = "getent hosts one.example.com two.example.com; echo $SSL_CERT_FILE";
    let [base, result] = one(&world, line, line);
    for ran in [base, result] {
        let (printed, _) = text(&ran);
        assert!(printed.starts_with("198.18."), "{printed}");
        assert!(!printed.contains("two") && printed.contains("/run/loop/"), "{printed}");
    }
    assert_eq!(count(&records(&world), "egress.end"), 3);
}
