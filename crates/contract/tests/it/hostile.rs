//! Outputs and paths that somebody made to keep whoever reads them busy: reading ends. A test that
//! does not end, or that runs out of memory, is the failure; none looks at a clock.

use contract::{Entry, judge, last_printed, report_to_agent};

use crate::support::{of, oracle, pair, ran};

/// Bytes of an output that is tried with every runner.
const SHORT: usize = 4 << 10;
/// Bytes of an output that names many tests: so many that a step for each two of them would not
/// end.
const LONG: usize = 256 << 10;

/// What is repeated.
const PARTS: &[&str] = &[
    "{",
    "(",
    "a",
    " ",
    "\n",
    "\r",
    "\u{1b}[",
    "\u{1b}]",
    "\u{1b}[31ma\n",
    "a\n",
    "test a ... ok\n",
    "test a (line 1) ... FAILED\n",
    "running 1 test\n",
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n",
    "PASS [ 0.1s] a\n",
    "FAIL [ 0.1s] a\n",
    "Summary [ 0.1s] 1 test run: 1 passed, 0 skipped\n",
    "=== RUN a\n--- PASS: a (0.1s)\n",
    "ok \ta\t0.1s\n",
    "{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"b\"}\n",
    "1/1 Test #1: a ... Passed 0.1 sec\n",
    "100% tests passed, 0 tests failed out of 1\n",
    "> Task :test\nA > a PASSED\nBUILD SUCCESSFUL\n",
    "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n",
    "Passed!  - Failed: 0, Passed: 1, Skipped: 0, Total: 1\n",
    "Tests: succeeded 1, failed 0, canceled 0, ignored 0, pending 0\n",
    "All 1 tests passed.\n",
    "1 passed in 0.1s\n",
    "1 failed, 1 passed, ",
    "a.py::a PASSED [ 1%]\n",
    "a (b) ... ok\nRan 1 test in 0.1s\n\nOK\n",
    "# tests 1\n# pass 1\n",
    "Tests: 1 passed, 1 total\nTest Suites: 1 failed, 1 total\n",
    " Tests  1 passed (1)\n Test Files  1 passed (1)\n",
    "  1 passing (1ms)\n",
    "ok | 1 passed | 0 failed (1ms)\n",
    " 1 pass\nRan 1 tests across 1 files\n",
    "1 example, 0 failures\n",
    "1 runs, 1 assertions, 0 failures, 0 errors, 0 skips\n",
    "OK (1 test, 1 assertion)\nTests: 1, Assertions: 1, Failures: 0.\n",
    "  Tests:  1 passed (1 assertions)\n",
    "1 doctest, 1 property, 1 test, 0 failures\n",
    "1..1\nok 1 - a # skip\n",
    "not ok a\n",
    "Files=1, Tests=1,\nResult: PASS\n",
];

/// What names a test.
const NAMING: &[&str] = &[
    "test a ... ok\n",
    "PASS [ 0.1s] a\n",
    "FAIL [ 0.1s] a\n",
    "--- PASS: a (0.1s)\n",
    "{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"b\"}\n",
    "a.py::a PASSED\n",
    "ok - a\n",
];

/// A part over and over.
fn repeated(part: &str, size: usize) -> String {
    part.repeat(size / part.len())
}

/// The same, with a number each time.
fn numbered(part: &str, size: usize) -> String {
    let times = size / (part.len() + 4);
    (0..times).map(|at| part.replace('a', &format!("a{at}"))).collect()
}

fn read(command: &str, output: &str) {
    let contract = of(&[command]);
    let (half, _) = output.split_at(output.floor_char_boundary(output.len() / 2));
    for (base, result) in [(output, half), (half, output)] {
        let pairs = [pair(command, ran(0, base), ran(1, result))];
        let judgement = judge(&contract, &pairs, &[]);
        assert!(!judgement.reasons.is_empty());
        assert!(report_to_agent(&contract, &judgement, &pairs).len() < 64 << 10);
    }
    assert!(last_printed(&ran(0, output), 6).len() <= 6);
}

#[test]
fn reading_an_output_ends() {
    for command in ["make test", "cargo test"] {
        for part in PARTS {
            read(command, &repeated(part, SHORT));
            read(command, &numbered(part, SHORT));
        }
    }
}

#[test]
fn reading_many_names_ends() {
    let ends = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n\
                Summary [ 0.1s] 1 test run: 1 passed, 0 skipped\nok a 0.1s\n1..1\n";
    for part in NAMING {
        read("make test", &format!("=== RUN a\n{}{ends}", numbered(part, LONG)));
    }
}

#[test]
fn sorting_deep_paths_ends() {
    let deep = "d/".repeat(1500);
    let paths: Vec<String> = (0..10_000).map(|at| format!("tests/{deep}{at}")).collect();
    let mut entries: Vec<Entry<'_>> =
        paths.iter().map(|path| Entry { path: path.as_bytes(), leaves_directory: false }).collect();
    entries.push(Entry { path: b"tests/d/d", leaves_directory: false });
    entries.push(Entry { path: b"other/d/d", leaves_directory: false });
    let held = oracle(&of(&["cargo test"]), &[]).held(&entries);
    assert_eq!(held.iter().filter(|held| **held).count(), paths.len() + 1);
}
