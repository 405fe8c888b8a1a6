//! Every shipped case, by group: its check can fail.
//!
//! Through a launcher that confines nothing, every attack must be seen; through one that runs
//! nothing, no neighbour and no work may pass; a Loop that confines nothing passes none of the cases
//! that use Loop's own commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use corpus::{Arm, ArmResult, CaseReport, Corpus, Kind, Launcher, Outcome, Runner};

fn reports(group: &str, launcher: &str, arms: &[Arm]) -> Vec<CaseReport> {
    let runner = Runner::new(Launcher::via(launcher).unwrap()).only(arms);
    let corpus = Corpus::load().unwrap();
    let cases = corpus.select(&[group]).unwrap();
    cases.into_iter().map(|case| runner.run(case, &mut |_| {})).collect()
}

fn arm(report: &CaseReport, arm: Arm) -> &corpus::ArmReport {
    report.arms.iter().find(|report| report.arm == arm).unwrap()
}

fn could_run(report: &CaseReport) -> bool {
    !report.arms.iter().any(|arm| matches!(arm.result, ArmResult::CannotRun { .. }))
}

fn every_attack_is_seen(group: &str) {
    for report in reports(group, "env", &[Arm::Bare, Arm::Confined, Arm::Neighbour])
        .iter()
        .filter(|report| could_run(report))
    {
        let told = serde_json::to_string_pretty(report).unwrap();
        assert_eq!(arm(report, Arm::Bare).result, ArmResult::Passed, "{told}");
        assert_eq!(arm(report, Arm::Neighbour).result, ArmResult::Passed, "{told}");
        if report.kind == Kind::Attack {
            assert!(report.escaped(), "{told}");
        }
    }
}

fn nothing_passes_that_did_not_run(group: &str) {
    let arms = [Arm::Confined, Arm::Neighbour];
    for report in reports(group, "false", &arms).iter().filter(|report| could_run(report)) {
        for arm in &report.arms {
            let told = serde_json::to_string_pretty(report).unwrap();
            assert!(matches!(arm.result, ArmResult::Failed { .. }), "{told}");
        }
    }
}

/// A stand-in for Loop that confines nothing, applies nothing and accepts everything.
const CREDULOUS: &str = r#"#!/bin/bash
[ "$1" = exec ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"#;

/// Cases about applying: where nothing is applied, nothing forbidden is either.
const ABOUT_APPLYING: [&str; 2] = ["B11-swap-race", "B11-swapped-base"];

fn a_credulous_loop_passes_nothing(group: &str) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("loop");
    fs::write(&program, CREDULOUS).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let runner = Runner::new(Launcher::own(program));
    let corpus = Corpus::load().unwrap();
    let cases = corpus.select(&[group]).unwrap().into_iter().filter(|case| {
        let own = case.needs().iter().any(|need| need == "loop");
        own && case.kind() == Kind::Attack && !ABOUT_APPLYING.contains(&case.id())
    });
    for case in cases {
        let report = runner.run(case, &mut |_| {});
        let told = serde_json::to_string_pretty(&report).unwrap();
        assert_ne!(report.outcome, Outcome::Pass, "{told}");
    }
}

macro_rules! groups {
    ($($name:ident $group:literal),+ $(,)?) => {$(
        mod $name {
            #[test]
            fn every_attack_is_seen() {
                super::every_attack_is_seen($group);
            }

            #[test]
            fn nothing_passes_that_did_not_run() {
                super::nothing_passes_that_did_not_run($group);
            }

            #[test]
            fn a_credulous_loop_passes_nothing() {
                super::a_credulous_loop_passes_nothing($group);
            }
        }
    )+

        /// The groups that are tried above.
        const GROUPS: &[&str] = &[$($group),+];
    };
}

groups! {
    persistence "A", paths "B", sockets "C", calls "D", openness "E", names "F", credentials "G",
    git "H", evidence "J", work "W",
}

#[test]
fn no_group_is_left_out() {
    let corpus = Corpus::load().unwrap();
    for case in corpus.cases() {
        assert!(GROUPS.contains(&case.group()), "{}", case.id());
    }
}
