//! Verified completion: checks on the base and on the base plus the changes, in fresh sandboxes.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Launch, ModelServer, Ran, Remains, World, need, wait_until};

crate::tests![
    a_run_whose_checks_pass_is_verified_and_anyone_can_check_it,
    a_new_failure_fails_the_run,
    a_criterion_without_a_passing_check_is_not_met,
    what_failed_before_too_does_not_fail_the_run,
    a_command_that_fails_or_is_stopped_is_not_checked,
    the_oracle_is_the_bases_whatever_the_run_did,
    what_git_ignores_is_left_out_unless_the_contract_wants_it,
    each_check_has_a_copy_of_its_own,
    a_home_and_git_metadata_of_the_run_steer_no_check,
    what_can_not_be_run_is_a_failure_and_no_crash,
    a_flag_keeps_a_run_from_being_verified,
    tests_of_python_and_cargo_are_counted,
    it_is_refused_where_it_can_not_hold,
    a_faulty_contract_is_told_whole,
    the_projects_contract_counts_once_it_is_trusted,
    an_agent_goes_on_until_its_checks_pass,
    an_agent_that_never_mends_it_ends_with_its_rounds,
    a_reviewer_can_object_and_not_accept,
    a_reviewer_that_is_silent_holds_nobody,
    a_person_ends_the_checks,
    a_crash_among_the_checks_leaves_a_run_that_was_stopped,
    time_for_checks_is_the_runs,
    a_run_is_verified_again_later,
    what_comes_out_otherwise_later_is_named,
    an_export_is_verified_elsewhere,
    what_was_exported_and_changed_is_refused,
];

/// A person with a project: `a.txt`, a test, and a file that Git ignores.
struct Desk {
    world: World,
    project: PathBuf,
}

impl Desk {
    fn new() -> Self {
        Self::of(World::new())
    }

    fn of(world: World) -> Self {
        let repository = world.repository("project");
        repository.write("a.txt", "one\n");
        repository.write("tests/a.sh", "grep -q two a.txt\n");
        repository.write(".gitignore", "cache/\n");
        repository.commit("base");
        let project = repository.path().to_owned();
        Self { world, project }
    }

    fn exec(&self, flags: &[&str], line: &str) -> Launch {
        self.world.exec_with(&self.project, flags, &["sh", "-c", line])
    }

    fn command(&self, words: &[&str]) -> Ran {
        self.world.run_loop(&self.project, words).run()
    }

    /// A contract beside the project.
    fn contract(&self, text: &str) -> String {
        self.world.write("contract.toml", text).to_str().unwrap().to_owned()
    }

    /// The last run, as `loop show --json` has it.
    fn shown(&self) -> Value {
        self.command(&["show", "--json"]).expect_code(0).json()
    }

    fn newest(&self) -> PathBuf {
        let written = |run: &PathBuf| {
            run.join("ledger.jsonl").metadata().and_then(|it| it.modified()).unwrap()
        };
        self.world.runs().into_iter().max_by_key(written).unwrap()
    }

    /// The newest receipt verifies, with no more allowed than these.
    fn receipt(&self, allow: &[&str]) -> Ran {
        let receipt = self.newest().join("receipt.json");
        let allow: Vec<_> = allow.iter().flat_map(|what| ["--allow", what]).collect();
        let words = [&["receipt", "verify", receipt.to_str().unwrap()], &allow[..]].concat();
        self.command(&words)
    }

    /// `loop run` with a scripted model.
    fn agent(&self, script: &str, flags: &[&str]) -> Launch {
        let script = self.world.write("script.toml", format!("name = \"s\"\n{script}"));
        let model = format!("scripted:{}", script.display());
        let words = [&["run", "--model", &model], flags, &["--", "make a.txt say two"]].concat();
        self.world.run_loop(&self.project, &words)
    }
}

fn verification(shown: &Value) -> &Value {
    &shown["verification"]
}

fn a_run_whose_checks_pass_is_verified_and_anyone_can_check_it() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let flags = ["--check", "sh tests/a.sh", "--check", "true"];
    let ran = desk.exec(&flags, "echo two > a.txt").run().expect_code(0);
    remains.expect_none();
    assert!(ran.err().contains("verified: 2 of 2 criteria met"), "{ran}");
    let shown = desk.shown();
    assert_eq!(shown["outcome"], "verified");
    let checks = verification(&shown)["checks"].as_array().unwrap();
    let passed = |at: usize, on: &str| checks[at][on]["passed"].clone();
    assert_eq!([passed(0, "base"), passed(0, "result"), passed(1, "base")], [false, true, true]);
    desk.receipt(&[]).expect_code(0);
    let left = std::fs::read_dir(desk.newest().join("checks/1")).unwrap();
    let mut left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["stderr", "stdout"]);
    desk.command(&["apply"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(desk.project.join("a.txt")).unwrap(), "two\n");
}

fn a_new_failure_fails_the_run() {
    let desk = Desk::new();
    let ran = desk.exec(&["--check", "grep -q one a.txt"], "echo two > a.txt").run().expect_code(1);
    assert!(ran.err().contains("failed: 0 of 1 criterion met"), "{ran}");
    assert_eq!(desk.shown()["outcome"], "failed");
    desk.receipt(&["unverified"]).expect_code(1);
}

fn a_criterion_without_a_passing_check_is_not_met() {
    let desk = Desk::new();
    desk.exec(&["--check", "grep -q three a.txt"], "echo two > a.txt").run().expect_code(3);
    assert_eq!(desk.shown()["outcome"], "unverified");
    desk.receipt(&[]).expect_code(1);
    desk.receipt(&["unverified"]).expect_code(0);
}

fn what_failed_before_too_does_not_fail_the_run() {
    let desk = Desk::new();
    let flags = ["--check", "exit 7", "--check", "grep -q two a.txt"];
    let ran = desk.exec(&flags, "echo two > a.txt").run().expect_code(3);
    assert!(ran.err().contains("as before"), "{ran}");
    let shown = desk.shown();
    let checks = &verification(&shown)["checks"];
    assert_eq!(
        (&checks[0]["pre_existing"], &checks[1]["result"]["passed"]),
        (&true.into(), &true.into())
    );
}

fn a_command_that_fails_or_is_stopped_is_not_checked() {
    let desk = Desk::new();
    let ran = desk.exec(&["--check", "true"], "exit 7").run().expect_code(1);
    assert!(ran.err().contains("not run, because the command ended with 7"), "{ran}");
    let shown = desk.shown();
    assert_eq!((&shown["outcome"], &shown["verification"]), (&"failed".into(), &Value::Null));
    desk.exec(&["--check", "true", "--timeout", "1s"], "sleep 100").run().expect_code(124);
    assert_eq!(desk.shown()["outcome"], "stopped");
}

fn the_oracle_is_the_bases_whatever_the_run_did() {
    for cheat in [
        "echo true > tests/a.sh",
        "rm tests/a.sh; printf 'exit 0' > tests/a.sh",
        "rm -r tests; mkdir tests; echo exit 0 > tests/a.sh",
        "rm -r tests; mkdir elsewhere; echo true > elsewhere/a.sh; ln -s elsewhere tests",
        "mv tests gone",
        "rm tests/a.sh; mkdir tests/a.sh",
    ] {
        let desk = Desk::new();
        let ran = desk.exec(&["--check", "sh tests/a.sh"], cheat).run();
        assert_eq!(ran.code(), Some(3), "{cheat}: {ran}");
        assert!(ran.err().contains("held by the oracle"), "{cheat}: {ran}");
        let honest = format!("{cheat}; echo two > a.txt");
        let ran = desk.exec(&["--check", "sh tests/a.sh"], &honest).run();
        assert_eq!(ran.code(), Some(0), "{honest}: {ran}");
    }
}

fn what_git_ignores_is_left_out_unless_the_contract_wants_it() {
    let desk = Desk::new();
    let line = "mkdir -p cache; echo two > cache/answer";
    let check = "grep -q two cache/answer";
    let ran = desk.exec(&["--check", check], line).run().expect_code(3);
    assert!(ran.err().contains("left out, so taken from the base: cache"), "{ran}");
    let text = format!(
        "ignored = [\"cache/**\"]\n[[check]]\nname = \"c\"\nrun = \"{check}\"\nexpect = {{ exit = 0 }}\n"
    );
    let contract = desk.contract(&text);
    let ran = desk.exec(&["--contract", &contract], line).run();
    assert!(ran.err().contains("used although Git ignores it: cache"), "{ran}");
}

fn each_check_has_a_copy_of_its_own() {
    let desk = Desk::new();
    let flags = [
        "--check",
        "echo > made; echo > /tmp/made; echo > ~/made",
        "--check",
        "test ! -e made && test ! -e /tmp/made && test ! -e ~/made && grep -q two a.txt",
    ];
    desk.exec(&flags, "echo two > a.txt").run().expect_code(0);
    assert!(!desk.project.join("made").exists());
    assert_eq!(desk.shown()["changes"]["added"], 0);
}

fn a_home_and_git_metadata_of_the_run_steer_no_check() {
    let desk = Desk::new();
    // Where the run works, both steer.
    let line = "set -e; mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0' > ~/bin/grep; chmod +x ~/bin/grep; \
                echo 'export PATH=~/bin:$PATH' > ~/.profile; bash -lc 'grep -q two a.txt'; \
                git config core.hooksPath hooks; test \"$(git config core.hooksPath)\" = hooks; \
                echo 'exit 0' > .git/hooks/pre-commit";
    let home = "bash -lc 'grep -q two a.txt'";
    let git = "git rev-parse --quiet --verify HEAD && test ! -e .git/hooks/pre-commit && \
               test -z \"$(git config core.hooksPath)\"";
    desk.exec(&["--check", home, "--check", git], line).run().expect_code(3);
    let shown = desk.shown();
    assert_eq!(verification(&shown)["left_out"], json!([".git"]));
    let checks = &verification(&shown)["checks"];
    let passed = [0, 1].map(|at| checks[at]["result"]["passed"].clone());
    assert_eq!(passed, [false, true], "{checks}");
    assert_eq!(checks[0]["result"]["exit_code"], 1, "{checks}");
}

fn what_can_not_be_run_is_a_failure_and_no_crash() {
    let desk = Desk::new();
    let text = "[[check]]\nname = \"gone\"\nrun = [\"./no-such-program\"]\nexpect = { exit = 0 }\n\
                [[check]]\nname = \"slow\"\nrun = \"sleep 100\"\nexpect = { exit = 0 }\ntimeout = \"1s\"\n\
                [[check]]\nname = \"killed\"\nrun = \"kill -9 $$\"\nexpect = { exit = 0 }\n\
                [[check]]\nname = \"link\"\nrun = [\"./link\"]\nexpect = { exit = 0 }\n";
    let contract = desk.contract(text);
    let ran = desk.exec(&["--contract", &contract], "ln -s nowhere link").run().expect_no_panic();
    assert!(matches!(ran.code(), Some(1 | 3)), "{ran}");
    let shown = desk.shown();
    let checks = verification(&shown)["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 4);
    assert!(checks.iter().all(|check| check["result"]["passed"] == false), "{checks:?}");
    assert_eq!(checks[1]["result"]["timed_out"], true);
    assert_eq!(checks[2]["result"]["signal"], 9);
}

fn a_flag_keeps_a_run_from_being_verified() {
    let desk = Desk::new();
    let make = "printf 'check:\\n\\ttrue\\n' > Makefile";
    let ran = desk.exec(&["--check", "true"], make).run().expect_code(3);
    assert!(ran.err().contains("because Makefile"), "{ran}");
    desk.receipt(&[]).expect_code(1);
    let text = "may_change = [\"Makefile\"]\n\
                [[check]]\nname = \"c\"\nrun = \"true\"\nexpect = { exit = 0 }\n";
    let contract = desk.contract(text);
    desk.exec(&["--contract", &contract], make).run().expect_code(0);
}

fn tests_of_python_and_cargo_are_counted() {
    ["python3", "cargo"].into_iter().for_each(need);
    let desk = Desk::of(World::with_real_home());
    let write = |path: &str, text: &str| desk.world.write(desk.project.join(path), text);
    write(
        "tests/test_a.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        \
         self.assertEqual(open('a.txt').read(), 'two\\n')\n",
    );
    write("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    write(
        "src/lib.rs",
        "#[test]\nfn it() { assert_eq!(std::fs::read_to_string(\"a.txt\").unwrap(), \"two\\n\"); }\n\
         #[test]\nfn other() {}\n#[test]\n#[ignore]\nfn slow() {}\n",
    );
    for (check, nothing, counts) in [
        (
            "python3 -m unittest discover -s tests",
            "python3 -m unittest discover -s .git",
            json!({"passed": 1, "failed": 0, "skipped": 0}),
        ),
        (
            "cargo test --offline",
            "cargo test --offline no_such_test",
            json!({"passed": 2, "failed": 0, "skipped": 1}),
        ),
    ] {
        desk.exec(&["--check", check], "echo two > a.txt").run().expect_code(0);
        let shown = desk.shown();
        assert_eq!(verification(&shown)["checks"][0]["result"]["tests"], counts, "{shown}");
        // A runner that finds nothing to run.
        let ran = desk.exec(&["--check", nothing], "echo two > a.txt").run().expect_code(3);
        assert!(ran.err().contains("no test was run"), "{ran}");
    }
}

fn it_is_refused_where_it_can_not_hold() {
    let desk = Desk::new();
    for flags in
        [&["--mode", "direct"][..], &["--mode", "read-only"], &["--session", "dev"], &["--learn"]]
    {
        let all = [&["--check", "true"], flags].concat();
        let ran = desk.exec(&all, "echo two > a.txt").run().expect_code(125);
        assert!(ran.err().contains("can't be verified where"), "{ran}");
        assert!(ran.err().contains("next"), "{ran}");
    }
    assert!(desk.world.runs().is_empty());
    assert_eq!(std::fs::read_to_string(desk.project.join("a.txt")).unwrap(), "one\n");
}

fn a_faulty_contract_is_told_whole() {
    let desk = Desk::new();
    let contract = desk.contract("wrong = 1\n[[check]]\nname = \"c\"\nrun = \"true\"\n");
    let ran = desk.exec(&["--contract", &contract], "true").run().expect_code(125);
    for part in ["contract.toml", "wrong", "expect"] {
        assert!(ran.err().contains(part), "{part}: {ran}");
    }
    desk.exec(&["--contract", "nowhere.toml"], "true").run().expect_code(127);
    assert!(desk.world.runs().is_empty());
}

/// Writes two, once.
const MENDS: &str = "[[turn]]\n\
    call = [{ name = \"bash\", arguments = { command = \"echo two > a.txt\" } }]\n\
    [[turn]]\ntext = \"It is done.\"\n";

fn the_projects_contract_counts_once_it_is_trusted() {
    let desk = Desk::new();
    let text = "[[check]]\nname = \"c\"\nrun = \"sh tests/a.sh\"\nexpect = { exit = 0 }\n";
    std::fs::create_dir_all(desk.project.join(".loop")).unwrap();
    std::fs::write(desk.project.join(".loop/contract.toml"), text).unwrap();
    let ran = desk.agent(MENDS, &[]).run().expect_code(0);
    assert!(ran.err().contains("not trusted"), "{ran}");
    assert_eq!(desk.shown()["outcome"], "unverified");
    desk.command(&["trust", "--contract", "--yes"]).expect_code(0);
    desk.agent(MENDS, &[]).run().expect_code(0);
    assert_eq!(desk.shown()["outcome"], "verified");
    // A plain command has no contract, unless one is asked for.
    desk.exec(&[], "true").run().expect_code(0);
    assert_eq!(desk.shown()["verification"], Value::Null);
}

/// Is done at once, hears what failed, and mends it.
const SECOND_TRY: &str = "[[turn]]\ntext = \"It is done.\"\n\
    [[turn]]\n\
    expect = { anywhere = [\"sh tests/a.sh\"] }\n\
    call = [{ name = \"bash\", arguments = { command = \"echo two > a.txt\" } }]\n\
    [[turn]]\ntext = \"Now it is.\"\n";

fn an_agent_goes_on_until_its_checks_pass() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let ran = desk.agent(SECOND_TRY, &["--json", "--check", "sh tests/a.sh"]).run().expect_code(0);
    remains.expect_none();
    let lines: Vec<Value> =
        ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rounds: Vec<_> =
        lines.iter().filter(|line| line["type"] == "verification.completed").collect();
    let outcomes: Vec<_> = rounds.iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["unverified", "verified"], "{ran}");
    let report = &lines.last().unwrap()["report"];
    assert_eq!(report["end"]["finished"], "Now it is.");
    assert_eq!(report["run"]["verification"]["round"], 2);
    assert_eq!(desk.shown()["outcome"], "verified");
    desk.receipt(&[]).expect_code(0);
}

fn an_agent_that_never_mends_it_ends_with_its_rounds() {
    let desk = Desk::new();
    let text = "rounds = 2\n\
                [[check]]\nname = \"c\"\nrun = \"sh tests/a.sh\"\nexpect = { exit = 0 }\n";
    let contract = desk.contract(text);
    let script = "[[turn]]\ntext = \"Done.\"\n[[turn]]\ntext = \"Done, really.\"\n\
                  [[turn]]\nfail = \"a third round\"\n";
    let ran = desk.agent(script, &["--contract", &contract]).run().expect_code(3);
    assert!(ran.err().contains("unverified: 0 of 1 criterion met, in round 2"), "{ran}");
    desk.receipt(&["unverified"]).expect_code(0);
}

fn a_reviewer_can_object_and_not_accept() {
    let desk = Desk::new();
    let opinion = |veto: bool| {
        let text = format!("{{\\\"veto\\\":{veto},\\\"reason\\\":\\\"so it seems\\\"}}");
        let script = format!("name = \"r\"\n[[turn]]\ntext = \"{text}\"\n");
        let script = desk.world.write("reviewer.toml", script);
        let text = format!(
            "task = \"say two\"\n[review]\nmodel = \"scripted:{}\"\n\
             [[check]]\nname = \"c\"\nrun = \"sh tests/a.sh\"\nexpect = {{ exit = 0 }}\n",
            script.display()
        );
        desk.contract(&text)
    };
    let contract = opinion(true);
    let ran = desk.exec(&["--contract", &contract], "echo two > a.txt").run().expect_code(3);
    assert!(ran.err().contains("objects: so it seems"), "{ran}");
    desk.receipt(&[]).expect_code(1);
    let contract = opinion(false);
    let ran = desk.exec(&["--contract", &contract], "echo two > a.txt").run().expect_code(0);
    assert!(ran.err().contains("no objection"), "{ran}");
    // What the checks don't show, it can't make up for, and it is not asked.
    let ran = desk.exec(&["--contract", &contract], "echo three > a.txt").run().expect_code(3);
    assert!(!ran.err().contains("objection"), "{ran}");
    // Who says neither, or can't be asked, has not agreed.
    for (turn, why) in [
        ("text = \"Fine!\"", "objects: its answer is no verdict"),
        ("fail = \"nobody is there\"", "objects: it could not be asked"),
    ] {
        desk.world.write("reviewer.toml", format!("name = \"r\"\n[[turn]]\n{turn}\n"));
        let ran = desk.exec(&["--contract", &contract], "echo two > a.txt").run().expect_code(3);
        assert!(ran.err().contains(why), "{ran}");
    }
}

fn a_person_ends_the_checks() {
    let desk = Desk::new();
    let remains = Remains::watch();
    for signal in [Signal::INT, Signal::TERM] {
        let running = desk.exec(&["--check", "sleep 1000"], "echo two > a.txt").start();
        wait_until("the check runs", || {
            remains.processes().values().any(|line| line.starts_with("sleep"))
        });
        running.signal(signal);
        let ran = running.wait().expect_no_panic();
        assert_eq!(ran.code(), Some(130), "{ran}");
        remains.expect_none();
        let shown = desk.shown();
        assert_eq!((&shown["outcome"], &shown["verification"]), (&"stopped".into(), &Value::Null));
        desk.receipt(&["unverified"]).expect_code(1);
    }
    let running = desk.agent(MENDS, &["--check", "sleep 1000"]).start();
    wait_until("the check runs", || {
        remains.processes().values().any(|line| line.starts_with("sleep"))
    });
    running.signal(Signal::INT);
    running.wait().expect_code(130);
    remains.expect_none();
    assert_eq!(desk.shown()["outcome"], "stopped");
}

fn a_crash_among_the_checks_leaves_a_run_that_was_stopped() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let flags = ["--check", "true", "--check", "sleep 1000"];
    let running = desk.exec(&flags, "echo two > a.txt").start();
    wait_until("the second check runs", || {
        remains.processes().values().any(|line| line.starts_with("sleep"))
    });
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal(), Some(9));
    wait_until("nothing of the run is left", || remains.processes().is_empty());
    // Applying seals what was interrupted first; and what it left is still there.
    desk.command(&["apply"]).expect_code(0);
    let shown = desk.shown();
    assert_eq!((&shown["outcome"], &shown["verification"]), (&"stopped".into(), &Value::Null));
    assert_eq!(std::fs::read_to_string(desk.project.join("a.txt")).unwrap(), "two\n");
    let checks = desk.newest().join("checks");
    let left = checks.read_dir().unwrap().flatten().flat_map(|it| it.path().read_dir().unwrap());
    let left: Vec<_> = left.flatten().map(|it| it.file_name()).collect();
    assert!(left.iter().all(|name| name == "stdout" || name == "stderr"), "{left:?}");
}

fn time_for_checks_is_the_runs() {
    let desk = Desk::new();
    let flags = ["--timeout", "3s", "--check", "sleep 1000"];
    let ran = desk.exec(&flags, "echo two > a.txt").run().expect_code(124);
    assert!(ran.err().contains("wall"), "{ran}");
    assert_eq!(desk.shown()["outcome"], "stopped");
}

fn a_run_is_verified_again_later() {
    let desk = Desk::new();
    desk.exec(&["--check", "sh tests/a.sh"], "echo two > a.txt").run().expect_code(0);
    let ran = desk.command(&["verify"]).expect_code(0);
    assert!(ran.out().contains("reproduced: run"), "{ran}");
    let shown = desk.shown();
    assert_eq!((&shown["outcome"], &shown["state"]), (&"verified".into(), &"unchanged".into()));
    assert!(shown["verifies"]["run"].is_string(), "{shown}");
    desk.receipt(&[]).expect_code(0);
    let first = shown["verifies"]["run"].as_str().unwrap().to_owned();
    let told = desk.command(&["apply"]).expect_code(0);
    assert!(told.out().contains(&first), "{told}");
    let ran = desk.command(&["verify", &first]).expect_code(125);
    assert!(ran.err().contains("a.txt"), "{ran}");
}

fn what_comes_out_otherwise_later_is_named() {
    let desk = Desk::new();
    desk.exec(&["--check", "test ! -e b.txt"], "echo two > a.txt").run().expect_code(0);
    std::fs::write(desk.project.join("b.txt"), "").unwrap();
    let ran = desk.command(&["verify"]).expect_code(1);
    assert!(ran.out().contains("not reproduced"), "{ran}");
    assert!(ran.out().contains("by the receipt it passed"), "{ran}");
    // What nothing was checked of can't be checked again.
    desk.exec(&[], "true").run().expect_code(0);
    let ran = desk.command(&["verify"]).expect_code(1);
    assert!(ran.err().contains("--check"), "{ran}");
}

fn clone(desk: &Desk, name: &str) -> PathBuf {
    let to = desk.world.path().join(name);
    let line = ["git", "clone", "-q", desk.project.to_str().unwrap(), to.to_str().unwrap()];
    desk.world.outside(desk.world.path(), &line).run().expect_code(0);
    to
}

fn exported(desk: &Desk) -> PathBuf {
    let line = "echo two > a.txt; mkdir d; echo x > d/new; ln -s a.txt link; chmod +x tests/a.sh";
    desk.exec(&["--check", "grep -q two link && test -f d/new"], line).run().expect_code(0);
    let to = desk.world.path().join("evidence");
    desk.command(&["receipt", "export", to.to_str().unwrap()]).expect_code(0);
    desk.command(&["receipt", "export", to.to_str().unwrap()]).expect_code(125);
    to
}

fn an_export_is_verified_elsewhere() {
    let desk = Desk::new();
    let (base, evidence) = (clone(&desk, "elsewhere"), exported(&desk));
    assert!(evidence.join("heads.jsonl").exists());
    let (base, evidence) = (base.to_str().unwrap(), evidence.to_str().unwrap());
    let ran = desk.command(&["verify", evidence, "--dir", base]).expect_code(0);
    assert!(ran.out().contains("reproduced"), "{ran}");
    let receipt = format!("{evidence}/receipt.json");
    desk.command(&["receipt", "verify", &receipt]).expect_code(0);
    // Somebody who does not trust the key can re-execute all the same, and is told.
    let stranger = World::new();
    let copied = stranger.path().join("evidence");
    let line = ["cp", "-r", evidence, copied.to_str().unwrap()];
    stranger.outside(stranger.path(), &line).run().expect_code(0);
    let words = ["verify", copied.to_str().unwrap(), "--dir", base];
    let ran = stranger.run_loop(stranger.path(), &words).run().expect_code(0);
    assert!(ran.out().contains("no key that you trust"), "{ran}");
}

fn what_was_exported_and_changed_is_refused() {
    let desk = Desk::new();
    let (base, evidence) = (clone(&desk, "elsewhere"), exported(&desk));
    let base = base.to_str().unwrap().to_owned();
    let again = |place: &Path| desk.command(&["verify", place.to_str().unwrap(), "--dir", &base]);
    let content = std::fs::read_dir(evidence.join("files")).unwrap().next().unwrap().unwrap();
    for name in ["receipt.json", "ledger.jsonl", "heads.jsonl", "changes.json", "contract.json"] {
        let path = evidence.join(name);
        let right = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, right.replacen("0", "1", 1)).unwrap();
        let ran = again(&evidence);
        assert!(matches!(ran.code(), Some(125)), "{name}: {ran}");
        std::fs::write(&path, right).unwrap();
    }
    std::fs::write(content.path(), "something else").unwrap();
    let ran = again(&evidence);
    assert!(matches!(ran.code(), Some(1)), "{ran}");
    std::fs::write(Path::new(&base).join("a.txt"), "other\n").unwrap();
    let ran = again(&evidence).expect_code(125);
    assert!(ran.err().contains("a.txt"), "{ran}");
}

/// Whoever ends the run while the reviewer is asked ends it, and so does the run's time.
fn a_reviewer_that_is_silent_holds_nobody() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let silent =
        "name = \"r\"\n[[turn]]\nfault = { kind = \"silent\", times = 99 }\ntext = \"x\"\n";
    let server = ModelServer::start(silent);
    let contract = desk.contract(&format!(
        "task = \"say two\"\n[review]\nmodel = \"openai-compatible:{}/v1#r\"\n\
         [[check]]\nname = \"c\"\nrun = \"sh tests/a.sh\"\nexpect = {{ exit = 0 }}\n",
        server.url()
    ));
    let start = |flags: &[&str]| {
        desk.exec(&[flags, &["--contract", &contract]].concat(), "echo two > a.txt").start()
    };
    for signal in [Signal::INT, Signal::TERM] {
        let asked = server.asked().len();
        let running = start(&[]);
        wait_until("the reviewer is asked", || server.asked().len() > asked);
        running.signal(signal);
        running.wait().expect_no_panic().expect_code(130);
    }
    // Longer than all before the review takes.
    start(&["--timeout", "10s"]).wait().expect_no_panic().expect_code(124);
    remains.expect_none();
    assert_eq!(desk.shown()["verification"], Value::Null);
    desk.receipt(&["unverified"]).expect_code(1);
}
