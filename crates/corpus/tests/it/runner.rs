//! The runner itself: what it selects, reports, bounds and leaves.

use std::fs;

use corpus::{ArmResult, Corpus, CorpusError, Launcher, Outcome, Progress, Runner, Summary};

fn bare() -> Launcher {
    Launcher::via("env").unwrap()
}

#[test]
fn selects_by_id_row_and_group() {
    let corpus = Corpus::load().unwrap();
    let ids = |names: &[&str]| -> Vec<String> {
        corpus.select(names).unwrap().iter().map(|case| case.id().to_owned()).collect()
    };
    assert_eq!(ids(&["c3"]), ["C3-abstract-sockets"]);
    assert_eq!(ids(&["c3-ABSTRACT-sockets"]), ["C3-abstract-sockets"]);
    assert!(ids(&["W"]).contains(&"W2-several-repositories".to_owned()));
    assert_eq!(ids(&[]).len(), corpus.cases().len());
    assert!(matches!(corpus.select(&["Z9"]), Err(CorpusError::Unknown(name)) if name == "Z9"));
}

#[test]
fn says_how_it_goes_on_and_leaves_nothing() {
    let corpus = Corpus::load().unwrap();
    let case = corpus.select(&["C3-abstract-sockets"]).unwrap()[0];
    let parent = tempfile::tempdir().unwrap();
    let mut heard = Vec::new();
    let report = Runner::new(bare()).scratch_in(parent.path()).run(case, &mut |progress| {
        heard.push(match progress {
            Progress::CaseStarted(case) => format!("start {}", case.id()),
            Progress::ArmStarted(_, arm) => arm.name().to_owned(),
            Progress::ArmEnded(_, arm) => format!("{} done", arm.arm.name()),
            Progress::CaseEnded(report) => format!("end {:?}", report.outcome),
        });
    });
    assert_eq!(
        heard,
        [
            "start C3-abstract-sockets",
            "bare",
            "bare done",
            "confined",
            "confined done",
            "neighbour",
            "neighbour done",
            "end Fail",
        ]
    );
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    assert!(report.arms.iter().all(|arm| arm.left_behind.is_empty()), "{report:?}");
}

#[test]
fn a_failure_carries_what_was_seen() {
    let corpus = Corpus::load().unwrap();
    let case = corpus.select(&["C3-abstract-sockets"]).unwrap()[0];
    let report = corpus::run(case, &bare(), &mut |_| {});
    assert_eq!(report.outcome, Outcome::Fail);
    assert!(report.reason.as_ref().unwrap().starts_with("confined: the forbidden effect happened"));
    let confined = &report.arms[1];
    assert!(confined.output.as_ref().unwrap().contains("canary-"), "{confined:?}");
    let summary = Summary::new("env".into(), vec![report]);
    assert_eq!((summary.passed, summary.failed, summary.cannot), (0, 1, 0));
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["cases"][0]["arms"][1]["result"], "failed");
    assert_eq!(json["cases"][0]["outcome"], "fail");
}

#[test]
fn a_launcher_that_is_not_there_is_no_pass() {
    let corpus = Corpus::load().unwrap();
    let case = corpus.select(&["C3-abstract-sockets"]).unwrap()[0];
    let report = corpus::run(case, &Launcher::via("/nonexistent/launcher").unwrap(), &mut |_| {});
    assert_eq!(report.outcome, Outcome::Fail);
    assert!(matches!(report.arms[1].result, ArmResult::Failed { .. }));
}
