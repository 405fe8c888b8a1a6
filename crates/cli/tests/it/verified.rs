//! What the checks of a contract came to, as a person reads it.

use std::path::Path;

use api::*;
use names::RunId;

use crate::fake::{Fake, HOSTILE, digest, ended_well};
use crate::play::{Played, play, play_with};

fn show(name: &str, words: &str, played: &Played) {
    played.assert_inert();
    insta::assert_snapshot!(name, played.told(words));
}

fn checked(passed: bool, tests: Option<TestCounts>) -> CheckedView {
    CheckedView {
        passed,
        exit_code: Some(if passed { 0 } else { 101 }),
        signal: None,
        timed_out: false,
        tests,
        output: digest("output"),
        took_ms: 3_100,
    }
}

fn counts(passed: u64, failed: u64, skipped: u64) -> Option<TestCounts> {
    Some(TestCounts { passed, failed, skipped })
}

fn check(name: &str, command: &str, result: CheckedView, base: CheckedView) -> CheckView {
    let (name, command) = (name.to_owned(), command.to_owned());
    CheckView {
        name,
        command,
        result,
        base,
        pre_existing: false,
        reasons: Vec::new(),
        last_printed: Vec::new(),
    }
}

fn criterion(id: &str, text: &str, checks: &[&str], met: bool) -> CriterionView {
    let checks = checks.iter().map(|&name| name.to_owned()).collect();
    CriterionView { id: id.to_owned(), text: text.to_owned(), checks, met }
}

/// Everything went well.
fn well() -> VerificationView {
    VerificationView {
        contract: digest("contract"),
        round: 1,
        criteria: vec![
            criterion("parser", "empty input parses", &["test"], true),
            criterion("lint", "", &["lint"], true),
        ],
        checks: vec![
            check("test", "cargo test", checked(true, counts(12, 0, 0)), checked(false, None)),
            check("lint", "cargo clippy", checked(true, None), checked(true, None)),
        ],
        held: Vec::new(),
        left_out: Vec::new(),
        used_ignored: Vec::new(),
        flags: Vec::new(),
        review: None,
        reasons: Vec::new(),
    }
}

/// Something of everything.
pub(crate) fn view() -> VerificationView {
    let old = CheckView {
        pre_existing: true,
        ..check("docs", "make docs", checked(false, None), checked(false, None))
    };
    let slow = CheckedView {
        exit_code: None,
        signal: Some(9),
        timed_out: true,
        ..checked(false, counts(3, 2, 1))
    };
    let new = CheckView {
        reasons: vec!["it ran out of time".into(), format!("2 tests failed: {HOSTILE}")],
        last_printed: vec!["  File \"test.py\", line 3".into(), HOSTILE.into(), "x".repeat(200)],
        ..check("a-check-with-a-long-name", HOSTILE, slow, checked(true, counts(6, 0, 0)))
    };
    let flag = |path: &str, line| SteeringView {
        path: path.to_owned(),
        line,
        why: format!("changes how checks run {HOSTILE}"),
    };
    VerificationView {
        round: 2,
        criteria: vec![
            criterion(
                "parser",
                "the parser accepts empty input, and says so in its error",
                &["a-check-with-a-long-name", "docs"],
                false,
            ),
            criterion("lint", HOSTILE, &["lint"], true),
        ],
        checks: vec![
            new,
            old,
            check("lint", "lint", checked(true, None), checked(true, None)),
            check("guard", "make guard", checked(true, None), checked(true, None)),
        ],
        held: ["a", "b", "c", "d", "e", HOSTILE].map(str::to_owned).into(),
        left_out: vec![".git/config".into()],
        used_ignored: vec!["node_modules/x".into()],
        flags: vec![flag("Makefile", Some(3)), flag(HOSTILE, None)],
        review: Some(ReviewView {
            model: "scripted:play".into(),
            veto: true,
            reason: format!("it removes a test {HOSTILE}"),
        }),
        reasons: vec!["the criterion \"parser\" is not met".into()],
        ..well()
    }
}

/// What `loop verify` says.
pub(crate) fn again(reproduced: bool) -> VerifyReport {
    let difference = "check test: passed, and by the receipt it failed".to_owned();
    let outcome = if reproduced { Outcome::Verified } else { Outcome::Failed };
    VerifyReport {
        schema: 1,
        of: RunId::parse("261128-a2b3cd").unwrap(),
        claimed: Outcome::Verified,
        trusted: reproduced.then(|| "ed25519:0011223344556677".to_owned()).into_iter().collect(),
        reproduced,
        differences: (!reproduced).then_some(difference).into_iter().collect(),
        run: ExecReport {
            outcome,
            exit_code: u8::from(!reproduced),
            verification: Some(well()),
            ..ended_well()
        },
    }
}

fn exec(verification: VerificationView, outcome: Outcome, exit_code: u8) -> Fake {
    let report =
        ExecReport { outcome, exit_code, verification: Some(verification), ..ended_well() };
    Fake { exec: Some(report), ..Fake::default() }
}

#[test]
fn a_verified_run_shows_criteria_checks_and_evidence() {
    let words = "exec --check true -- make";
    let played = play(words, exec(well(), Outcome::Verified, 0));
    assert_eq!(played.code, 0);
    show("verified", words, &played);
}

#[test]
fn what_is_not_verified_says_why_at_any_width() {
    let words = "exec --contract c.toml -- make";
    for columns in [80, 140] {
        let fake = exec(view(), Outcome::Unverified, exit::UNVERIFIED);
        let played = play_with(words, fake, |console| console.columns = columns);
        assert_eq!(played.code, 3);
        show(&format!("unverified_{columns}"), words, &played);
        let table = played.err.lines().filter(|line| line.starts_with("loop:   "));
        assert!(table.map(|line| line.chars().count()).all(|width| width <= columns));
    }
    let quiet = "exec --quiet --contract c.toml -- make";
    let played = play(quiet, exec(view(), Outcome::Failed, 1));
    assert_eq!((played.code, played.err.as_str()), (1, ""));
}

#[test]
fn a_run_that_was_verified_shows_it_later() {
    show("show_verified", "show verified", &play("show verified", Fake::default()));
}

#[test]
fn verifying_again_says_whether_it_comes_out_the_same() {
    for words in ["verify", "verify k7m2 --dir elsewhere", "verify --json"] {
        let played = play(words, Fake::default());
        assert_eq!(played.code, u8::from(words.contains("elsewhere")));
        show(&words.replace([' ', '-'], "_"), words, &played);
    }
    assert_eq!(play("verify --quiet", Fake::default()).out, "");
}

#[test]
fn an_export_says_how_to_use_it() {
    for words in ["receipt export evidence", "receipt export k7m2 evidence"] {
        let fake = Fake::default();
        let asked = fake.asked.clone();
        let played = play(words, fake);
        let run = words.contains("k7m2").then(|| "k7m2".to_owned());
        let run = RunRequest { run, dir: None };
        let request = ExportRequest { run, to: "evidence".into() };
        assert_eq!(asked.borrow().last(), Some(&format!("{request:?}")));
        assert_eq!(played.code, 0);
    }
    let words = "receipt export evidence";
    show("export", words, &play(words, Fake::default()));
    // Who names a run alone does not want the newest one in a directory of that name.
    let words = "receipt export k7m2";
    let played = play(words, Fake::default());
    assert_eq!(played.code, exit::USAGE);
    show("export_run_alone", words, &played);
    assert_eq!(play("receipt export ./k7m2", Fake::default()).code, 0);
}

#[test]
fn what_goes_on_is_said() {
    let fake = Fake {
        speak: vec![|person| {
            let progress = |on| CheckProgress {
                round: 1,
                name: "test".into(),
                command: format!("cargo test {HOSTILE}"),
                on,
            };
            let held = person.held_to(Path::new("/h/project/.loop/contract.toml"));
            held + &person.checking(&progress(CheckOn::Base))
                + &person.checking(&progress(CheckOn::Result))
        }],
        ..Fake::default()
    };
    let asked = fake.asked.clone();
    play("exec --check true -- make", fake);
    insta::assert_snapshot!("checking", asked.borrow()[0]);
}
