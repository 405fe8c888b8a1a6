//! The vectors under `tests/vectors`: as committed, as the crate judges them, and as a second
//! verifier in Python does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use ledger::{
    Allow, Expect, LedgerReport, LedgerRequirements, ProjectPattern, Report, Requirements, Revoked,
    TrustedKey, VerifyingKey,
};
use serde_json::{Value, json};

use crate::cases;

pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn committed() -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(directory()).unwrap().map(|file| file.unwrap());
    let read = |file: std::fs::DirEntry| {
        (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
    };
    files.map(read).collect()
}

pub(crate) fn cases() -> Vec<Value> {
    let bytes = std::fs::read(directory().join("cases.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn are_what_the_generator_writes() {
    let (committed, made) = (committed(), cases::files());
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    let how = "run `cargo run -p ledger --example vectors`";
    assert_eq!(names(&committed), names(&made), "{how}");
    for (name, bytes) in &made {
        assert!(committed[name] == *bytes, "{name} differs: {how}");
    }
}

#[test]
fn the_crate_agrees() {
    for case in cases() {
        assert_eq!(judge(&directory(), &case), case["expect"], "{}", case["name"]);
    }
}

#[test]
fn every_code_has_a_vector() {
    let expected: BTreeSet<String> = cases()
        .iter()
        .flat_map(|case| case["expect"].as_object().unwrap().values().cloned().collect::<Vec<_>>())
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect();
    for code in [
        "empty",
        "not-a-ledger",
        "unknown-schema",
        "foreign-run",
        "torn",
        "not-canonical",
        "duplicate-key",
        "not-a-record",
        "edited",
        "moved",
        "duplicated",
        "inserted",
        "missing",
        "unlinked",
        "truncated",
        "replaced",
        "unsigned",
        "unknown-key",
        "bad-signature",
        "subject-missing",
        "subject-extra",
        "changes-differ",
        "result-differs",
        "changes-unreadable",
        "fact-differs",
        "record-missing",
        "unreadable",
        "not-allowed",
        "learning",
        "learned-differ",
        "omission",
        "denials-differ",
        "approvals-differ",
        "outcome-unknown",
        "stray-result",
        "outcome",
        "no-evidence",
        "check-failed",
        "criterion-unmet",
        "others-checked",
        "flagged",
        "vetoed",
        "not-an-envelope",
        "payload-type",
        "payload-encoding",
        "not-a-statement",
        "key-revoked",
        "key-expired",
        "key-for-other-project",
        "key-not-for-outcome",
        "from-the-future",
        "head-malformed",
        "head-signature",
        "not-vouched-for",
    ] {
        assert!(expected.contains(code), "{code}");
    }
}

#[test]
fn python_agrees() {
    let said = python(&directory());
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        assert_eq!(said[name], case["expect"], "{name}");
    }
}

/// What the second verifier says about every case of a directory, by name.
#[expect(clippy::disallowed_methods, reason = "the second verifier is a program")]
pub(crate) fn python(directory: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify.py");
    let output = Command::new("python3").arg(script).arg(directory).output();
    let output = output.expect("python3 is needed for the second verifier");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the crate says about a case, in the words of `cases.json`.
pub(crate) fn judge(directory: &Path, case: &Value) -> Value {
    let read = |member: &str| {
        case[member].as_str().map(|name| std::fs::read(directory.join(name)).unwrap())
    };
    let (ledger, changes) = (read("ledger"), read("changes"));
    let (heads, witness) = (read("heads"), read("witness"));
    match read("receipt") {
        None => {
            let requirements = LedgerRequirements {
                expect: expect(case),
                keys: trusted(directory, case),
                heads: heads.as_deref(),
                witness: witness.as_deref(),
            };
            ledger_words(&LedgerReport::on(&ledger.unwrap(), &requirements))
        }
        Some(receipt) => {
            let requirements = Requirements {
                keys: trusted(directory, case),
                ledger: ledger.as_deref(),
                change_set: changes.as_deref(),
                heads: heads.as_deref(),
                witness: witness.as_deref(),
                allow: words(case, "allow").iter().map(|word| word.parse().unwrap()).collect(),
                now: case.get("now").map(|now| serde_json::from_value(now.clone()).unwrap()),
                ..Requirements::default()
            };
            receipt_words(&Report::on(&receipt, &requirements))
        }
    }
}

fn words(case: &Value, member: &str) -> Vec<String> {
    let words = case.get(member).cloned().unwrap_or_else(|| json!([]));
    serde_json::from_value(words).unwrap()
}

/// The keys of a case, and those with limits.
fn trusted(directory: &Path, case: &Value) -> Vec<TrustedKey> {
    let mut keys: Vec<TrustedKey> =
        words(case, "keys").iter().map(|name| key(&directory.join(name)).into()).collect();
    for one in case.get("trust").and_then(Value::as_array).into_iter().flatten() {
        let text = |member: &str| one[member].as_str().unwrap();
        let time = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        keys.push(TrustedKey {
            name: text("name").to_owned(),
            key: key(&directory.join(text("key"))),
            projects: one.get("projects").map(|_| {
                let patterns = words(one, "projects");
                patterns.iter().map(|text| ProjectPattern::parse(text).unwrap()).collect()
            }),
            outcomes: one.get("outcomes").map(|all| serde_json::from_value(all.clone()).unwrap()),
            until: one.get("until").map(time),
            revoked: one.get("revoked").map(|revoked| Revoked {
                on: time(&revoked["on"]),
                why: revoked["why"].as_str().unwrap().to_owned(),
            }),
        });
    }
    keys
}

fn key(path: &Path) -> VerifyingKey {
    VerifyingKey::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn expect(case: &Value) -> Expect {
    let read = |member: &str| case.get(member).cloned();
    Expect {
        run: read("run").map(|run| serde_json::from_value(run).unwrap()),
        head: read("head").map(|head| serde_json::from_value(head).unwrap()),
        heads: vec![],
    }
}

fn ledger_words(report: &LedgerReport) -> Value {
    let report = serde_json::to_value(report).unwrap();
    let mut words = if report["ledger"] == "broken" {
        let record = verdict_record(&report);
        json!({"ledger": "broken", "code": report["broken"]["code"], "record": record})
    } else {
        json!({
            "ledger": "intact", "length": report["length"], "count": report["head"]["count"],
        })
    };
    if words["ledger"] == "intact" && report["notes"] != json!([]) {
        words["notes"] = report["notes"].clone();
    }
    for aspect in ["heads", "witness"] {
        if let Some(found) = report.get(aspect) {
            words[aspect] = word(found);
        }
    }
    words
}

/// A verdict in a word: how it is, or what is wrong.
fn word(found: &Value) -> Value {
    match found["verdict"].as_str().unwrap() {
        "fails" => found["why"]["code"].clone(),
        word => word.into(),
    }
}

/// The first record that does not hold is the one after those that do.
fn verdict_record(report: &Value) -> Value {
    let broken = &report["broken"];
    let record = broken.get("record").or(broken.get("count"));
    record.cloned().unwrap_or_else(|| 0.into())
}

fn receipt_words(report: &Report) -> Value {
    let report = serde_json::to_value(report).unwrap();
    let mut words = json!({"accepted": report["accepted"]});
    for aspect in ["form", "signature", "chain", "subjects", "policy", "completeness", "outcome"] {
        // The outcome is both a fact of the receipt and an aspect of the verdict.
        words[aspect] = word(&report["verdict"][aspect]);
    }
    for aspect in ["heads", "witness"] {
        if let Some(found) = report["verdict"].get(aspect) {
            words[aspect] = word(found);
        }
    }
    words
}

#[test]
fn what_may_be_allowed_is_a_closed_list() {
    assert_eq!(Allow::WORDS.len(), 5);
    assert!("everything".parse::<Allow>().is_err());
}
