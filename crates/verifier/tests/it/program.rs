//! `loop-verify`, as a person calls it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The vectors of the ledger.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ledger/tests/vectors")
}

fn cases() -> Vec<Value> {
    let bytes = std::fs::read(directory().join("cases.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the program under test is a program")]
fn verify(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop-verify"));
    command.args(words).current_dir(directory()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const WHOLE: [&str; 7] = [
    "good.receipt.json",
    "--key",
    "trusted.pub",
    "--ledger",
    "intact.ledger",
    "--changes",
    "changes.json",
];

#[test]
fn a_good_receipt_is_accepted_aloud() {
    let output = verify(&WHOLE);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(text(&output), @r"
    receipt of run 261129-k7m2qd, outcome verified
    form          holds
    signature     holds
    chain         holds
    subjects      holds
    policy        holds
    completeness  holds
    outcome       holds
    note: 2 more in the ledger than the receipt covers
    accepted
    ");
}

#[test]
fn a_receipt_alone_is_not_enough() {
    let output = verify(&["stripped.receipt.json"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output), @r"
    receipt of run 261129-k7m2qd, outcome verified
    form          holds
    signature     not checked: no trusted key was given
    chain         not checked: no ledger was given
    subjects      not checked: no change set was given
    policy        not checked: no ledger was given
    completeness  not checked: no ledger was given
    outcome       holds
    not accepted: signature, chain, subjects, policy, completeness
    ");
}

#[test]
fn a_ledger_alone_says_where() {
    let output = verify(&["--ledger", "swapped.ledger"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output), @r"
    broken: record 5 was moved to the place of record 4
    4 records hold
    run 261129-k7m2qd
    ");
    let output = verify(&["--ledger", "clock-set-back.ledger"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(text(&output), @r"
    intact: 11 records, head sha256:11c3eec9d00f6e299f60a0851b4c936d83ab21465e75d8d3412c44f198756925
    run 261129-k7m2qd
    length unknown: records may be missing at the end
    note: the clock was set back before record 6
    ");
}

/// A receipt whose keys have no limits; what is said of others depends on the trust file.
fn is_plain(case: &Value) -> bool {
    case.get("receipt").is_some() && case.get("trust").is_none() && case.get("now").is_none()
}

/// The exit code follows from the verdict, for every receipt vector.
#[test]
fn exit_codes_are_those_of_the_vectors() {
    for case in cases().iter().filter(|case| is_plain(case)) {
        let mut words = vec![case["receipt"].as_str().unwrap()];
        let keys: Vec<_> = case["keys"].as_array().unwrap().iter().collect();
        keys.iter().for_each(|key| words.extend(["--key", key.as_str().unwrap()]));
        for (flag, member) in [
            ("--ledger", "ledger"),
            ("--changes", "changes"),
            ("--heads", "heads"),
            ("--witness", "witness"),
        ] {
            case[member].as_str().iter().for_each(|file| words.extend([flag, file]));
        }
        let allow: Vec<String> = serde_json::from_value(case["allow"].clone()).unwrap();
        let allow = allow.join(",");
        if !allow.is_empty() {
            words.extend(["--allow", &allow]);
        }
        words.push("--json");
        let output = verify(&words);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["accepted"], case["expect"]["accepted"], "{}", case["name"]);
        let code = i32::from(case["expect"]["accepted"] != true);
        assert_eq!(output.status.code(), Some(code), "{}", case["name"]);
    }
}

#[test]
fn heads_and_runs_can_be_given() {
    let report = verify(&["--ledger", "intact.ledger", "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let head = format!("{}:{}", report["head"]["count"], report["head"]["hash"].as_str().unwrap());
    let code = |words: &[&str]| {
        let all = [&["--ledger", "intact.ledger"], words].concat();
        verify(&all).status.code()
    };
    assert_eq!(code(&["--head", &head]), Some(0));
    assert_eq!(code(&["--head", &head.replacen("11", "9", 1)]), Some(1));
    assert_eq!(code(&["--head", &head.replacen("11", "12", 1)]), Some(1));
    assert_eq!(code(&["--run", "261129-k7m2qd"]), Some(0));
    assert_eq!(code(&["--run", "261129-zzzzzz"]), Some(1));
}

#[test]
fn wrong_usage_is_told_from_a_verdict() {
    for words in [
        &[][..],
        &["--unknown"],
        &["a", "b"],
        &["good.receipt.json", "--key"],
        &["good.receipt.json", "--key", "none.pub"],
        &["good.receipt.json", "--key", "cases.json"],
        &["none.receipt.json"],
        &["good.receipt.json", "--allow", "everything"],
        &["good.receipt.json", "--head", "1:x"],
        &["good.receipt.json", "--run", "261129-k7m2qd"],
        &["--ledger", "intact.ledger", "--key", "trusted.pub"],
        &["--ledger", "intact.ledger", "--head", "ten"],
        &["--ledger", "intact.ledger", "--ledger", "intact.ledger"],
    ] {
        let output = verify(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("loop-verify: "), "{text}");
    }
    let help = verify(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help).contains("Exit codes"));
}
