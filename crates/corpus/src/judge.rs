//! From what was seen to a result. Pure, so that every way to pass is tested.

use std::collections::BTreeSet;

use crate::case::{Expect, Refusal};
use crate::process::Ended;
use crate::protocol::Mark;
use crate::report::{Arm, ArmReport, ArmResult, Effect, Outcome};

/// What was seen of one arm.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    /// How the command ended.
    pub(crate) ended: Ended,
    /// What its scripts said, on both sides of the launcher.
    pub(crate) marks: Vec<Mark>,
    /// Why the look from outside could not be taken.
    pub(crate) trace_problem: Option<String>,
    /// Everything the command wrote.
    pub(crate) said: String,
    /// The limit that Loop's report names.
    pub(crate) limit: Option<String>,
}

impl Observed {
    /// What was attempted, each once, in order.
    pub(crate) fn attempted(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Trying(probe) if seen.insert(probe) => Some(probe.clone()),
                _ => None,
            })
            .collect()
    }

    /// The forbidden effects that were seen.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Effect { probe, detail } => {
                    Some(Effect { probe: probe.clone(), detail: detail.clone() })
                }
                _ => None,
            })
            .collect()
    }

    /// The attempts that had no effect.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let real: BTreeSet<String> =
            self.effects().into_iter().map(|effect| effect.probe).collect();
        self.attempted().into_iter().filter(|probe| !real.contains(probe)).collect()
    }

    fn cannot(&self) -> Option<&str> {
        self.marks.iter().find_map(|mark| match mark {
            Mark::Cannot(reason) => Some(reason.as_str()),
            _ => None,
        })
    }
}

fn failed(reason: impl Into<String>) -> ArmResult {
    ArmResult::Failed { reason: reason.into() }
}

/// An attack without a launcher: it must succeed, or the case shows nothing.
pub(crate) fn bare_attack(seen: &Observed) -> ArmResult {
    if let Some(problem) = &seen.trace_problem {
        return failed(problem.clone());
    }
    if !seen.effects().is_empty() {
        return ArmResult::Passed;
    }
    match seen.cannot() {
        Some(reason) => ArmResult::CannotRun { reason: reason.to_owned() },
        None => failed(format!(
            "the effect did not happen without a launcher either ({}), so the case shows nothing",
            seen.ended
        )),
    }
}

/// An attack through the launcher: tried as fully as without it, and without effect.
pub(crate) fn confined_attack(
    seen: &Observed,
    tried_bare: &[String],
    expect: Option<&Expect>,
) -> ArmResult {
    if let Some(effect) = seen.effects().first() {
        return failed(format!(
            "the forbidden effect happened: {}: {}",
            effect.probe, effect.detail
        ));
    }
    if let Some(problem) = &seen.trace_problem {
        return failed(problem.clone());
    }
    let started = !seen.attempted().is_empty();
    if let Some(reason) = seen.cannot().filter(|_| !started) {
        return ArmResult::CannotRun { reason: reason.to_owned() };
    }
    let fault = match expect.map_or(Refusal::Never, |expect| expect.refusal) {
        Refusal::Must if started => Some("the command was started, not refused".to_owned()),
        Refusal::May if started => {
            return untried(seen, tried_bare).map_or(ArmResult::Passed, failed);
        }
        Refusal::Must | Refusal::May => None,
        Refusal::Never => untried(seen, tried_bare),
    };
    let fault = fault.or_else(|| expect.and_then(|expect| unexpected(seen, expect)));
    fault.map_or(ArmResult::Passed, failed)
}

/// Why an attack without effect shows nothing: it wasn't carried out.
fn untried(seen: &Observed, tried_bare: &[String]) -> Option<String> {
    let tried = seen.attempted();
    if tried.is_empty() {
        return Some(format!("the attack was not tried ({})", seen.ended));
    }
    if seen.ended == Ended::OutOfTime {
        return Some("the attack did not come to an end".to_owned());
    }
    let missing: Vec<&str> =
        tried_bare.iter().filter(|probe| !tried.contains(probe)).map(String::as_str).collect();
    (!missing.is_empty()).then(|| {
        format!("part of the attack was not tried ({}): {}", seen.ended, missing.join(", "))
    })
}

/// What Loop should have said and did not.
fn unexpected(seen: &Observed, expect: &Expect) -> Option<String> {
    if let Some(code) = expect.exit
        && seen.ended != Ended::Exit(code)
    {
        return Some(format!("it ended with {} instead of exit {code}", seen.ended));
    }
    if let Some(limit) = &expect.limit
        && seen.limit.as_ref() != Some(limit)
    {
        let named = seen.limit.as_deref().unwrap_or("no limit");
        return Some(format!("the report names {named} instead of {limit}"));
    }
    let said = seen.said.to_lowercase();
    let missing = expect.says.iter().find(|words| !said.contains(&words.to_lowercase()))?;
    Some(format!("its message does not name {missing:?}"))
}

/// Ordinary work, through the launcher or not: it must succeed.
pub(crate) fn work(seen: &Observed) -> ArmResult {
    if let Some(reason) = seen.cannot() {
        return ArmResult::CannotRun { reason: reason.to_owned() };
    }
    if seen.ended != Ended::Exit(0) {
        return failed(format!("ordinary work failed ({})", seen.ended));
    }
    match &seen.trace_problem {
        Some(problem) => failed(problem.clone()),
        None => ArmResult::Passed,
    }
}

/// Work without a launcher. Where it fails, the machine can't do it at all.
pub(crate) fn bare_work(seen: &Observed) -> ArmResult {
    match work(seen) {
        ArmResult::Failed { reason } => {
            ArmResult::CannotRun { reason: format!("{reason}, and that without a launcher") }
        }
        other => other,
    }
}

/// What is said of a case by its arms, and why.
pub(crate) fn outcome(arms: &[ArmReport]) -> (Outcome, Option<String>) {
    let mut cannot = None;
    for arm in arms {
        match &arm.result {
            ArmResult::Passed => {}
            ArmResult::Failed { reason } => return (Outcome::Fail, Some(told(arm.arm, reason))),
            ArmResult::CannotRun { reason } => {
                cannot.get_or_insert_with(|| told(arm.arm, reason));
            }
        }
    }
    match cannot {
        Some(reason) => (Outcome::Cannot, Some(reason)),
        None => (Outcome::Pass, None),
    }
}

fn told(arm: Arm, reason: &str) -> String {
    format!("{}: {reason}", arm.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ended: Ended, marks: &[Mark]) -> Observed {
        Observed {
            ended,
            marks: marks.to_vec(),
            trace_problem: None,
            said: String::new(),
            limit: None,
        }
    }

    fn trying(probe: &str) -> Mark {
        Mark::Trying(probe.into())
    }

    fn effect(probe: &str) -> Mark {
        Mark::Effect { probe: probe.into(), detail: "seen".into() }
    }

    fn reason(result: ArmResult) -> String {
        match result {
            ArmResult::Passed => panic!("it passed"),
            ArmResult::Failed { reason } | ArmResult::CannotRun { reason } => reason,
        }
    }

    #[test]
    fn an_attack_without_effect_proves_nothing_when_bare() {
        let without = seen(Ended::Exit(0), &[trying("a")]);
        assert!(matches!(bare_attack(&without), ArmResult::Failed { .. }));
        let with = seen(Ended::Signal(9), &[trying("a"), trying("b"), effect("a")]);
        assert_eq!(bare_attack(&with), ArmResult::Passed);
        assert_eq!(with.without_effect(), ["b"]);
        let cannot = seen(Ended::Exit(77), &[Mark::Cannot("no such call".into())]);
        assert_eq!(bare_attack(&cannot), ArmResult::CannotRun { reason: "no such call".into() });
    }

    #[test]
    fn a_confined_attack_passes_only_when_all_of_it_was_tried_in_vain() {
        let bare = ["a".to_owned(), "b".to_owned()];
        let judge = |ended, marks: &[Mark]| confined_attack(&seen(ended, marks), &bare, None);
        assert_eq!(judge(Ended::Exit(1), &[trying("a"), trying("b")]), ArmResult::Passed);
        assert!(reason(judge(Ended::Exit(1), &[])).contains("not tried (exit 1)"));
        assert!(reason(judge(Ended::Exit(1), &[trying("a")])).ends_with(": b"));
        assert!(
            reason(judge(Ended::Exit(0), &[trying("a"), trying("b"), effect("b")]))
                .contains("b: seen")
        );
        assert!(reason(judge(Ended::OutOfTime, &[trying("a"), trying("b")])).contains("end"));
        let cannot = Mark::Cannot("no such call".into());
        let result = judge(Ended::Exit(77), std::slice::from_ref(&cannot));
        assert_eq!(result, ArmResult::CannotRun { reason: "no such call".into() });
        assert!(reason(judge(Ended::Exit(77), &[trying("a"), cannot])).ends_with(": b"));
    }

    #[test]
    fn a_look_that_could_not_be_taken_is_no_pass() {
        let mut blind = seen(Ended::Exit(0), &[trying("a")]);
        blind.trace_problem = Some("trace.sh: exit 2".into());
        assert_eq!(reason(confined_attack(&blind, &[], None)), "trace.sh: exit 2");
        assert_eq!(reason(work(&blind)), "trace.sh: exit 2");
    }

    #[test]
    fn a_refusal_must_come_before_the_command_with_its_code_and_name() {
        let expect = Expect {
            exit: Some(125),
            says: vec!["Landlock".into()],
            limit: None,
            refusal: Refusal::Must,
        };
        let judge = |ended, marks: &[Mark], said: &str| {
            let mut seen = seen(ended, marks);
            seen.said = said.into();
            confined_attack(&seen, &["a".into()], Some(&expect))
        };
        assert_eq!(judge(Ended::Exit(125), &[], "this kernel has no landlock"), ArmResult::Passed);
        assert!(reason(judge(Ended::Exit(125), &[trying("a")], "landlock")).contains("started"));
        assert!(reason(judge(Ended::Exit(1), &[], "landlock")).contains("instead of exit 125"));
        assert!(reason(judge(Ended::Exit(125), &[], "no")).contains("Landlock"));
    }

    #[test]
    fn what_may_be_refused_may_run_and_be_held() {
        let expect = Expect { exit: Some(125), refusal: Refusal::May, ..Expect::default() };
        let judge = |ended, marks: &[Mark]| {
            confined_attack(&seen(ended, marks), &["a".into()], Some(&expect))
        };
        assert_eq!(judge(Ended::Exit(125), &[]), ArmResult::Passed);
        assert_eq!(judge(Ended::Exit(0), &[trying("a")]), ArmResult::Passed);
        assert!(reason(judge(Ended::Exit(1), &[])).contains("instead of exit 125"));
        assert!(reason(judge(Ended::Exit(0), &[trying("a"), effect("a")])).contains("happened"));
    }

    #[test]
    fn a_limit_must_be_named() {
        let expect = Expect { limit: Some("memory".into()), ..Expect::default() };
        let mut seen = seen(Ended::Signal(9), &[trying("a")]);
        assert!(reason(confined_attack(&seen, &[], Some(&expect))).contains("no limit"));
        seen.limit = Some("memory".into());
        assert_eq!(confined_attack(&seen, &[], Some(&expect)), ArmResult::Passed);
    }

    #[test]
    fn work_that_fails_everywhere_cannot_run() {
        let broken = seen(Ended::Exit(2), &[]);
        assert!(matches!(work(&broken), ArmResult::Failed { .. }));
        assert!(matches!(bare_work(&broken), ArmResult::CannotRun { .. }));
        assert_eq!(work(&seen(Ended::Exit(0), &[])), ArmResult::Passed);
    }

    #[test]
    fn one_failed_arm_fails_a_case_and_no_absence_passes_it() {
        let arm = |arm, result| ArmReport {
            arm,
            result,
            attempted: Vec::new(),
            effects: Vec::new(),
            unproven: Vec::new(),
            ended: String::new(),
            output: None,
            left_behind: Vec::new(),
            duration_ms: 0,
        };
        let cannot = || ArmResult::CannotRun { reason: "no gcc".into() };
        let passed = arm(Arm::Confined, ArmResult::Passed);
        assert_eq!(outcome(std::slice::from_ref(&passed)), (Outcome::Pass, None));
        assert_eq!(
            outcome(&[arm(Arm::Bare, cannot()), passed.clone()]),
            (Outcome::Cannot, Some("bare: no gcc".into()))
        );
        assert_eq!(
            outcome(&[arm(Arm::Bare, cannot()), arm(Arm::Neighbour, failed("no"))]),
            (Outcome::Fail, Some("neighbour: no".into()))
        );
    }
}
