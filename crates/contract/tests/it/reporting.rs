//! What the agent is told for its next round.

use contract::{Ran, report_to_agent};

use crate::support::{judged, of, pair, ran};

#[test]
fn the_agent_is_told_what_failed_and_nothing_it_could_use_against_it() {
    let contract = of(&["cargo test"]);
    let output = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\x1b[31mthread 'b' panicked\x1b[0m\n\n\
                  test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let bad = Ran { stderr: b"error: test failed".to_vec(), ..ran(101, output) };
    let judgement = judged(&contract, ran(0, ""), bad.clone());
    let report = report_to_agent(&contract, &judgement, &[pair("cargo test", ran(0, ""), bad)]);
    insta::assert_snapshot!("report", report);
    for word in ["may_change", "oracle", "flag", "contract"] {
        assert!(!report.contains(word), "{word}");
    }
}

#[test]
fn a_long_output_is_cut_to_its_end() {
    let contract = of(&["x"]);
    let long: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
    let bad = ran(1, &long);
    let judgement = judged(&contract, ran(0, ""), bad.clone());
    let report = report_to_agent(&contract, &judgement, &[pair("x", ran(0, ""), bad)]);
    assert!(report.len() < 16 << 10 && report.contains("line 99999\n"));
    assert!(!report.contains("line 99000\n"));
}
