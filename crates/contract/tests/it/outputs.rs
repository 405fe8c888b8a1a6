//! What the known runners print is read as they mean it. The texts are those of the runners.

use crate::support::{judged, of, ran};

/// Passed, failed and skipped tests of an output, on either stream.
fn counted(command: &str, output: &str) -> Option<(u64, u64, u64)> {
    let judgement = judged(&of(&[command]), ran(0, ""), ran(0, output));
    let on_error = contract::Ran { stderr: output.as_bytes().to_vec(), ..ran(0, "") };
    let other = judged(&of(&[command]), ran(0, ""), on_error);
    assert_eq!(judgement.checks[0].tests, other.checks[0].tests);
    judgement.checks[0].tests.map(|tests| (tests.passed, tests.failed, tests.skipped))
}

#[test]
fn last_lines_are_read() {
    for (output, expected) in [
        // cargo test: a block for each binary
        (
            "running 2 tests\ntest a ... ok\ntest b ... ignored, slow\n\ntest result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests a\n\nrunning 1 test\ntest src/lib.rs - f (line 3) ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s\n",
            (2, 0, 1),
        ),
        (
            "running 1 test\ntest a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n",
            (0, 1, 0),
        ),
        // cargo nextest
        (
            "        PASS [   0.004s] a tests::b\n        FAIL [   0.004s] a tests::c\n------------\n     Summary [   0.009s] 2 tests run: 1 passed, 1 failed, 3 skipped\n        FAIL [   0.004s] a tests::c\n",
            (1, 1, 3),
        ),
        // pytest
        (
            "======================== 3 passed, 1 skipped in 0.12s =========================\n",
            (3, 0, 1),
        ),
        (
            "=========== 1 failed, 2 passed, 1 xfailed, 2 warnings, 1 error in 1.02s ===========\n",
            (2, 2, 1),
        ),
        ("3 passed in 0.01s\n", (3, 0, 0)),
        ("===== 12 passed, 1 deselected in 61.20s (0:01:01) =====\n", (12, 0, 0)),
        ("no tests ran in 0.00s\n", (0, 0, 0)),
        // unittest
        ("...\n----------\nRan 3 tests in 0.001s\n\nOK\n", (3, 0, 0)),
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", (2, 2, 1)),
        ("Ran 2 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", (0, 0, 2)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0)),
        // node --test, as TAP and for people
        (
            "TAP version 13\nok 1 - a\n1..1\n# tests 2\n# suites 1\n# pass 1\n# fail 0\n# cancelled 1\n# skipped 0\n# todo 0\n# duration_ms 5\n",
            (1, 1, 0),
        ),
        (
            "✔ a (0.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
            (1, 0, 0),
        ),
        // Jest
        (
            "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 2 passed, 4 total\nSnapshots:   0 total\n",
            (2, 1, 1),
        ),
        ("Test Suites: 1 failed, 1 total\nTests:       0 total\n", (0, 1, 0)),
        // Vitest
        (
            " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n",
            (2, 1, 1),
        ),
        (" Test Files  1 failed (1)\n      Tests  no tests\n", (0, 1, 0)),
        // Mocha
        ("  a\n    ✓ b\n\n  2 passing (5ms)\n  1 pending\n  1 failing\n", (2, 1, 1)),
        // Deno and Bun
        ("ok | 3 passed | 0 failed (12ms)\n", (3, 0, 0)),
        ("FAILED | 1 passed (2 steps) | 1 failed | 1 ignored (5ms)\n", (1, 1, 1)),
        (" 3 pass\n 1 fail\n 4 expect() calls\nRan 4 tests across 1 files. [9.00ms]\n", (3, 1, 0)),
        // Go, by package and by test
        (
            "ok  \ta.com/b\t0.003s\nFAIL\ta.com/c\t0.004s\n?   \ta.com/d\t[no test files]\nFAIL\n",
            (1, 1, 0),
        ),
        ("FAIL\ta.com/c [build failed]\n", (0, 1, 0)),
        (
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    a_test.go:3: later\n--- SKIP: TestB (0.00s)\nPASS\nok  \ta.com/b\t0.003s\n",
            (1, 0, 1),
        ),
        (
            "{\"Time\":\"t\",\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"TestA\",\"Elapsed\":0}\n{\"Time\":\"t\",\"Action\":\"pass\",\"Package\":\"a\",\"Elapsed\":0}\n",
            (1, 0, 0),
        ),
        // CTest
        (
            "1/2 Test #1: a ......   Passed    0.00 sec\n2/2 Test #2: b ......***Failed    0.00 sec\n\n50% tests passed, 1 tests failed out of 2\n",
            (1, 1, 0),
        ),
        // RSpec, Minitest, PHPUnit, Pest
        ("Finished in 0.1 seconds\n4 examples, 1 failure, 1 pending\n", (2, 1, 1)),
        ("0 examples, 0 failures, 1 error occurred outside of examples\n", (0, 1, 0)),
        ("4 runs, 5 assertions, 1 failures, 1 errors, 1 skips\n", (1, 2, 1)),
        ("OK (3 tests, 5 assertions)\n", (3, 0, 0)),
        ("Tests: 4, Assertions: 3, Failures: 1, Errors: 1, Skipped: 1.\n", (1, 2, 1)),
        ("  Tests:    1 failed, 2 passed (5 assertions)\n  Duration: 0.1s\n", (2, 1, 0)),
        // Gradle, Maven, .NET, ScalaTest
        ("3 tests completed, 1 failed, 1 skipped\n\nBUILD FAILED in 3s\n", (1, 1, 1)),
        (
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in a.B\n[INFO] \n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS\n",
            (2, 0, 1),
        ),
        (
            "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 3 ms - a.dll (net8.0)\n",
            (2, 1, 1),
        ),
        ("[info] Tests: succeeded 2, failed 1, canceled 0, ignored 1, pending 0\n", (2, 1, 1)),
        // ExUnit, bats, Zig, TAP, prove
        ("1 doctest, 3 tests, 1 failure, 1 skipped\n", (2, 1, 1)),
        ("All 3 tests passed.\n", (3, 0, 0)),
        ("1..4\nok 1 - a\nnot ok 2 - b\nok 3 # skip later\nnot ok 4 # TODO soon\n", (1, 1, 2)),
        ("1..1\nok 1\nBail out! no database\n", (1, 1, 0)),
        (
            "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=3,  0 wallclock secs\nResult: PASS\n",
            (3, 0, 0),
        ),
        // With colours
        ("\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m\n", (3, 0, 0)),
    ] {
        assert_eq!(counted("make test", output), Some(expected), "{output}");
    }
}

#[test]
fn what_is_no_result_is_not_taken_for_one() {
    for output in [
        "",
        "ok\n",
        "1 passed\n",
        "OK\n",
        "FAILED\n",
        "ok 1 - a\n",
        "3 failing grades\n",
        "Tests: all of them\n",
        "wrote 3 tests\n",
        "pass 3\n",
        "PASS\n",
        "test result: fine\n",
    ] {
        assert_eq!(counted("make test", output), None, "{output}");
    }
}

#[test]
fn runners_are_known_in_the_commands_that_start_them() {
    for command in [
        "cargo test --workspace",
        "cargo +nightly test",
        "cargo nextest run",
        "CI=1 npx jest --ci",
        "yarn jest",
        "pnpm exec vitest run",
        "python -m pytest -q",
        "uv run pytest",
        "poetry run python -m unittest",
        "cd sub && go test ./...",
        "bundle exec rspec",
        "./vendor/bin/phpunit",
        "node --test test/",
        "./gradlew test",
        "mvn -q verify",
        "dotnet test",
        "timeout 60 ctest --test-dir build",
        "sh -c 'pytest'",
        "deno test -A",
        "true; pytest",
    ] {
        let judgement = judged(&of(&[command]), ran(0, ""), ran(0, "nothing to see\n"));
        assert!(judgement.checks[0].reasons[0].contains("printed no result"), "{command}");
    }
    for command in
        ["cargo build", "go vet ./...", "npm test", "make", "pytest --version", "./pytest.sh"]
    {
        let judgement = judged(&of(&[command]), ran(0, ""), ran(0, "nothing to see\n"));
        assert!(judgement.checks[0].passed, "{command}");
    }
}

#[test]
fn gradle_counts_only_what_failed() {
    let good = "> Task :compileJava\n> Task :test\n\nBUILD SUCCESSFUL in 3s\n3 actionable tasks: 3 executed\n";
    let check = |output: &str| {
        judged(&of(&["gradle test"]), ran(0, output), ran(0, output)).checks[0].passed
    };
    assert!(check(good));
    for idle in ["NO-SOURCE", "UP-TO-DATE", "FROM-CACHE"] {
        assert!(!check(&good.replace(":test", &format!(":test {idle}"))), "{idle}");
    }
}

#[test]
fn a_test_in_documentation_may_move() {
    let block = |line: u32| {
        format!(
            "running 1 test\ntest src/lib.rs - f (line {line}) ... ok\n\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        )
    };
    let judgement = judged(&of(&["cargo test"]), ran(0, &block(3)), ran(0, &block(9)));
    assert!(judgement.checks[0].passed, "{judgement:?}");
}
