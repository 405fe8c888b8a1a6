//! Every shipped case, by group: its check can fail.
//!
//! Through a launcher that confines nothing, every attack must be seen; through one that runs
//! nothing, no neighbour and no work may pass.

use corpus::{Arm, ArmResult, CaseReport, Corpus, Kind, Launcher, Runner};

fn reports(group: &str, launcher: &str) -> Vec<CaseReport> {
    let runner = Runner::new(Launcher::via(launcher).unwrap());
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
    for report in reports(group, "env").iter().filter(|report| could_run(report)) {
        let told = serde_json::to_string_pretty(report).unwrap();
        assert_eq!(arm(report, Arm::Bare).result, ArmResult::Passed, "{told}");
        assert_eq!(arm(report, Arm::Neighbour).result, ArmResult::Passed, "{told}");
        if report.kind == Kind::Attack {
            assert!(report.escaped(), "{told}");
        }
    }
}

fn nothing_passes_that_did_not_run(group: &str) {
    for report in reports(group, "false").iter().filter(|report| could_run(report)) {
        for arm in report.arms.iter().filter(|arm| arm.arm != Arm::Bare) {
            let told = serde_json::to_string_pretty(report).unwrap();
            assert!(matches!(arm.result, ArmResult::Failed { .. }), "{told}");
        }
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
        }
    )+

        /// The groups that are tried above.
        const GROUPS: &[&str] = &[$($group),+];
    };
}

groups! {
    persistence "A", paths "B", sockets "C", calls "D", work "W",
}

#[test]
fn no_group_is_left_out() {
    let corpus = Corpus::load().unwrap();
    for case in corpus.cases() {
        assert!(GROUPS.contains(&case.group()), "{}", case.id());
    }
}
