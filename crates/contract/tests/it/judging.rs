//! The rows of "Checks and contracts" of the behaviours to hold, and what else decides.

use contract::{Flag, Pair, Ran, Verdict, judge};

use crate::support::{judged, of, oracle, pair, ran, read};

fn expecting(expect: &str) -> contract::Contract {
    read(&format!("[[check]]\nname = \"c\"\nrun = \"x\"\nexpect = {{ {expect} }}"))
}

#[test]
fn exit_codes_are_compared_exactly() {
    for (expect, code, passes) in [
        ("exit = 0", 0, true),
        ("exit = 0", 1, false),
        ("exit = 3", 3, true),
        ("exit = 3", 4, false),
        ("exit = 3", 0, false),
        ("exit = \"nonzero\"", 3, true),
        ("exit = \"nonzero\"", 0, false),
        // Nothing was run: the command wasn't there, or was no program.
        ("exit = \"nonzero\"", 127, false),
        ("exit = \"nonzero\"", 126, false),
        ("exit = 127", 127, true),
    ] {
        let judgement = judged(&expecting(expect), ran(code, ""), ran(code, ""));
        assert_eq!(judgement.checks[0].passed, passes, "{expect} {code}");
    }
}

#[test]
fn expected_text_is_looked_for_in_standard_output_only() {
    let contract = expecting("stdout = \"all good\"");
    assert!(judged(&contract, ran(0, ""), ran(0, "so: all good\n")).checks[0].passed);
    let said = Ran { stderr: b"all good".to_vec(), ..ran(0, "") };
    let judgement = judged(&contract, ran(0, ""), said);
    assert_eq!(judgement.checks[0].reasons, ["standard output does not hold `all good`"]);
    assert!(!judged(&contract, ran(0, ""), ran(1, "all good")).checks[0].passed);
}

#[test]
fn no_tests_are_a_failure_though_the_exit_code_is_0() {
    for (command, output) in [
        (
            "cargo test",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ),
        (
            "cargo test",
            "running 2 tests\ntest a ... ignored\ntest b ... ignored\n\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ),
        ("pytest", "===== no tests ran in 0.01s =====\n"),
        ("python3 -m unittest", "\n-----\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
        ("node --test", "TAP version 13\n1..0\n# tests 0\n# pass 0\n# fail 0\n"),
        ("npx jest --passWithNoTests", "No tests found, exiting with code 0\n"),
        ("go test ./...", "?   \texample.com/a\t[no test files]\n"),
        ("go test ./...", "ok  \texample.com/a\t0.001s [no tests to run]\n"),
        ("ctest", "No tests were found!!!\n"),
        (
            "make test",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ),
    ] {
        let judgement = judged(&of(&[command]), ran(0, output), ran(0, output));
        let check = &judgement.checks[0];
        assert!(!check.passed, "{command}: {check:?}");
        assert_ne!(judgement.verdict, Verdict::Verified);
    }
}

#[test]
fn a_runner_without_a_result_has_shown_nothing() {
    let judgement = judged(&of(&["cargo test"]), ran(0, ""), ran(0, "Compiling\n"));
    assert_eq!(judgement.checks[0].reasons, ["cargo test printed no result of tests"]);
    // Each that is named has to.
    let one = "===== 3 passed in 0.01s =====\n";
    assert!(!judged(&of(&["pytest && cargo test"]), ran(0, one), ran(0, one)).checks[0].passed);
    // Who only builds or lists need not.
    assert!(judged(&of(&["cargo test --no-run"]), ran(0, ""), ran(0, "")).checks[0].passed);
}

const ONE_FAILS: &str =
    "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";

#[test]
fn a_failed_test_fails_a_check_that_exits_with_0() {
    let output = format!("running 3 tests\n{ONE_FAILS}");
    for command in ["cargo test", "make test", "cargo test || true"] {
        let judgement = judged(&of(&[command]), ran(0, PASSES), ran(0, &output));
        assert_eq!(judgement.checks[0].reasons, ["a test failed"], "{command}");
        assert_eq!(judgement.verdict, Verdict::Failed);
    }
}

#[test]
fn who_leaves_in_the_middle_has_not_passed() {
    let cut_short = "running 5 tests\ntest a ... ok\n";
    let judgement = judged(&of(&["make test"]), ran(0, ""), ran(0, cut_short));
    assert!(!judgement.checks[0].passed, "{judgement:?}");
    let planned = "1..3\nok 1 - a\n";
    assert!(!judged(&of(&["make test"]), ran(0, ""), ran(0, planned)).checks[0].passed);
    let ran_only = "Ran 3 tests in 0.001s\n";
    assert!(!judged(&of(&["sh t"]), ran(0, ""), ran(0, ran_only)).checks[0].passed);
}

#[test]
fn what_failed_on_the_base_too_stands_in_no_criterions_way_but_its_own() {
    let text = "[[criterion]]\nid = \"a\"\ntext = \"it works\"\nchecks = [\"test\"]\n\
                [[check]]\nname = \"test\"\nrun = \"true\"\nexpect = { exit = 0 }\n\
                [[check]]\nname = \"lint\"\nrun = \"false\"\nexpect = { exit = 0 }\n";
    let contract = read(text);
    let pair = |name: &str, base, result| Pair { name: name.into(), base, result };
    let works = || pair("test", ran(1, ""), ran(0, ""));
    let old = judge(&contract, &[works(), pair("lint", ran(1, ""), ran(1, ""))], &[]);
    assert_eq!(old.verdict, Verdict::Verified, "{old:?}");
    assert!(old.checks[1].pre_existing && !old.checks[1].passed && old.reasons.is_empty());
    let new = judge(&contract, &[works(), pair("lint", ran(0, ""), ran(1, ""))], &[]);
    assert_eq!(new.verdict, Verdict::Failed);
}

#[test]
fn what_failed_on_the_base_too_does_not_block_and_is_not_met() {
    let failing = "running 3 tests\ntest a ... ok\ntest b ... ok\ntest c ... FAILED\n\
                   test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let judgement = judged(&of(&["cargo test"]), ran(101, failing), ran(101, failing));
    let check = &judgement.checks[0];
    assert!(!check.passed && check.pre_existing && !check.base_passed);
    assert_eq!(judgement.verdict, Verdict::Unverified);
    assert!(!judgement.criteria[0].met);
    // Another test fails now, though just as many.
    let other = failing.replace("a ... ok", "a ... FAILED").replace("c ... FAILED", "c ... ok");
    let judgement = judged(&of(&["cargo test"]), ran(101, failing), ran(101, &other));
    assert!(!judgement.checks[0].pre_existing);
    assert_eq!(judgement.verdict, Verdict::Failed);
    // It does not even build any more.
    let broken = Ran { stderr: b"error: expected `;`".to_vec(), ..ran(101, "") };
    assert_eq!(
        judged(&of(&["cargo test"]), ran(101, failing), broken.clone()).verdict,
        Verdict::Failed
    );
    // It did not build, and now a test fails.
    assert_eq!(
        judged(&of(&["cargo test"]), broken, ran(101, failing)).verdict,
        Verdict::Unverified
    );
}

#[test]
fn a_new_failure_blocks_whatever_else_passed() {
    let contract = of(&["true", "false"]);
    let passed = || ran(0, "");
    let pairs = [pair("true", passed(), passed()), pair("false", passed(), ran(1, ""))];
    let judgement = judge(&contract, &pairs, &[]);
    assert_eq!(judgement.verdict, Verdict::Failed);
    assert!(judgement.criteria[0].met && !judgement.criteria[1].met);
    assert_eq!(judgement.reasons[0], "check false failed: exit code 1, not 0");
}

#[test]
fn criteria_need_all_their_checks_and_checks_need_to_run() {
    let contract = read(
        "[[criterion]]\nid = \"both\"\ntext = \"t\"\nchecks = [\"a\", \"b\"]\n\
         [[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }\n\
         [[check]]\nname = \"b\"\nrun = \"y\"\nexpect = { exit = 0 }\n",
    );
    let good = |name: &str| pair(name, ran(0, ""), ran(0, ""));
    assert_eq!(judge(&contract, &[good("a"), good("b")], &[]).verdict, Verdict::Verified);
    let judgement = judge(&contract, &[good("a")], &[]);
    assert!(!judgement.criteria[0].met);
    assert_eq!(judgement.checks[1].reasons, ["it was not run"]);
    assert_eq!(judge(&contract, &[], &[]).verdict, Verdict::Failed);
}

#[test]
fn no_other_check_stands_for_the_contracts() {
    let contract = of(&["cargo test"]);
    let good = || pair("cargo test", ran(0, ""), ran(0, PASSES));
    // A pair of another name is nobody's; of two of one name, neither counts.
    assert_ne!(
        judge(&contract, &[Pair { name: "mine".into(), ..good() }], &[]).verdict,
        Verdict::Verified
    );
    assert_ne!(judge(&contract, &[good(), good()], &[]).verdict, Verdict::Verified);
    assert_eq!(judge(&contract, &[good()], &[]).verdict, Verdict::Verified);
}

const PASSES: &str = "running 3 tests\ntest a ... ok\ntest b ... ok\ntest c ... ok\n\n\
    test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";

#[test]
fn a_flag_makes_unverified_and_never_failed() {
    let contract = of(&["cargo test"]);
    let flag = Flag { path: "Makefile".into(), line: Some(3), why: "it steers".into() };
    let pairs = [pair("cargo test", ran(0, PASSES), ran(0, PASSES))];
    let judgement = judge(&contract, &pairs, &[flag]);
    assert_eq!(judgement.verdict, Verdict::Unverified);
    assert_eq!(judgement.reasons, ["Makefile:3: it steers"]);
    assert!(judgement.criteria[0].met);
}

#[test]
fn tests_that_ran_before_have_to_run() {
    let contract = of(&["cargo test"]);
    let skipped = PASSES
        .replace("c ... ok", "c ... ignored")
        .replace("3 passed; 0 failed; 0 ignored", "2 passed; 0 failed; 1 ignored");
    // Others instead, just as many.
    let other = PASSES.replace("test c", "test mine");
    let fewer = PASSES
        .replace("test c ... ok\n", "")
        .replace("running 3", "running 2")
        .replace("3 passed", "2 passed");
    for output in [&skipped, &other, &fewer] {
        let judgement = judged(&contract, ran(0, PASSES), ran(0, output));
        assert_eq!(judgement.checks[0].reasons, ["the test c ran on the base, and now does not"]);
        assert_eq!(judgement.verdict, Verdict::Failed);
    }
    // Those that failed ran, too.
    let failed = PASSES
        .replace("c ... ok", "c ... FAILED")
        .replace("ok. 3 passed; 0", "FAILED. 2 passed; 1");
    assert!(!judged(&contract, ran(101, &failed), ran(0, &fewer)).checks[0].passed);
    let judgement = judged(&contract, ran(101, &failed), ran(0, PASSES));
    assert_eq!(judgement.verdict, Verdict::Verified);
    // A new one is welcome.
    let more = PASSES
        .replace("test c ... ok\n", "test c ... ok\ntest d ... ok\n")
        .replace("running 3", "running 4")
        .replace("3 passed", "4 passed");
    assert_eq!(judged(&contract, ran(0, PASSES), ran(0, &more)).verdict, Verdict::Verified);
    // None are told of at all, by a command of which nobody knows that it runs tests.
    let silent =
        judged(&of(&["make test"]), ran(0, PASSES), ran(0, "make: 'test' is up to date.\n"));
    assert!(!silent.checks[0].passed);
    // Without names, the count.
    let (three, two) = ("== 3 passed in 0.01s ==\n", "== 2 passed, 1 skipped in 0.01s ==\n");
    let judgement = judged(&of(&["pytest"]), ran(0, three), ran(0, two));
    assert_eq!(judgement.checks[0].reasons, ["3 tests ran on the base, and now 2"]);
}

#[test]
fn a_contract_that_says_how_many_tests_has_said_so_itself() {
    let contract = expecting("exit = 0, tests = 2");
    let (three, two, one) = (
        "== 3 passed in 0.01s ==\n",
        "== 2 passed, 1 skipped in 0.01s ==\n",
        "== 1 passed in 0.01s ==\n",
    );
    assert!(judged(&contract, ran(0, three), ran(0, two)).checks[0].passed);
    assert!(!judged(&contract, ran(0, three), ran(0, one)).checks[0].passed);
    assert!(!judged(&contract, ran(0, three), ran(0, "fine\n")).checks[0].passed);
}

#[test]
fn what_did_not_end_by_itself_is_a_recorded_failure() {
    let contract = of(&["true"]);
    for bad in [
        Ran { timed_out: true, signal: Some(9), ..Ran::default() },
        Ran { signal: Some(11), ..Ran::default() },
        Ran { not_started: Some("dangling link \x1b[2J".into()), ..Ran::default() },
        Ran::default(),
    ] {
        let judgement = judged(&contract, ran(0, ""), bad.clone());
        assert_eq!(judgement.verdict, Verdict::Failed);
        assert!(!judgement.checks[0].reasons[0].contains('\x1b'));
        // The same on both sides is nobody's new fault, and shows nothing.
        assert_eq!(judged(&contract, bad.clone(), bad).verdict, Verdict::Unverified);
    }
}

#[test]
fn a_check_that_changes_its_own_oracle_fails() {
    let contract = of(&["sh check.sh"]);
    let touched = || Ran { touched_oracle: vec!["tests/want.txt".into()], ..ran(0, "") };
    let judgement = judged(&contract, ran(0, ""), touched());
    assert_eq!(judgement.checks[0].reasons, ["it changed tests/want.txt while it ran"]);
    assert_eq!(judgement.verdict, Verdict::Failed);
    // What it does on the base alone, too, is its habit.
    assert_eq!(judged(&contract, touched(), touched()).verdict, Verdict::Verified);
    // No failure of the base excuses it.
    assert_eq!(judged(&contract, ran(1, ""), touched()).verdict, Verdict::Failed);
}

#[test]
fn what_runners_leave_behind_is_no_change_of_the_oracle() {
    let contract = of(&["pytest"]);
    let oracle = oracle(&contract, &[]);
    for (path, existed, touched) in [
        ("tests/test_a.py", true, true),
        ("tests/__pycache__/test_a.cpython-312.pyc", false, false),
        ("tests/out/new.txt", false, false),
        ("conftest.py", false, true),
        ("src/a.py", true, false),
        ("tests/.pytest_cache/v", false, false),
        ("target/debug/x", true, false),
    ] {
        assert_eq!(oracle.touched(path.as_bytes(), existed), touched, "{path}");
    }
}
