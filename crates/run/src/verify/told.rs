//! What a round of checks came to, in the forms of the ledger, the receipt and a client.

use api::{
    CheckOn, CheckView, CheckedView, CriterionView, ReviewView, SteeringView, TestCounts,
    VerificationView,
};
use contract::{CheckVerdict, Contract, Flag, Judgement, Pair, Ran, Tests};
use ledger::{Check, Criterion, FlaggedChange, OnBase, Verification, Verified};
use names::Digest;

use super::sieve::Told;
use crate::records::Checked;

/// Lines of each stream of a failed check that a client is told.
const LAST_LINES: usize = 6;

/// What is known of a round besides its checks.
pub(super) struct Round<'a> {
    pub(super) number: u32,
    pub(super) changes: Digest,
    pub(super) sieve: Told,
    pub(super) flags: &'a [Flag],
    pub(super) review: Option<ledger::Review>,
}

/// What the ledger and the receipt state.
pub(super) fn stated(
    contract: &Contract,
    judgement: &Judgement,
    pairs: &[Pair],
    round: Round<'_>,
) -> Verified {
    let checks = contract.checks.iter().zip(pairs).zip(&judgement.checks);
    let checks = checks.map(|((check, pair), verdict)| Check {
        name: check.name.clone(),
        command: check.run.shown(),
        passed: verdict.passed,
        exit: pair.result.exit,
        output: pair.result.output,
        base: Some(OnBase {
            passed: verdict.base_passed,
            exit: pair.base.exit,
            output: pair.base.output,
        }),
        pre_existing: verdict.pre_existing,
    });
    let criteria = judgement.criteria.iter().map(|criterion| Criterion {
        id: criterion.id.clone(),
        checks: criterion.checks.clone(),
        met: criterion.met,
    });
    let flags = round.flags.iter().map(|flag| FlaggedChange {
        path: flag.path.clone(),
        line: flag.line,
        why: flag.why.clone(),
    });
    let Told { held, left_out, used_ignored } = round.sieve;
    Verified {
        checks: checks.collect(),
        verification: Verification {
            contract: contract.digest(),
            changes: round.changes,
            round: round.number,
            criteria: criteria.collect(),
            held,
            left_out,
            used_ignored,
            flags: flags.collect(),
            review: round.review,
        },
    }
}

/// The record of a check on the base alone.
pub(super) fn on_base(round: u32, pair: &Pair, verdict: &CheckVerdict) -> Checked {
    let passed = verdict.base_passed;
    let tests = verdict.base_tests;
    checked(round, pair, &pair.base, CheckOn::Base, (passed, tests, Vec::new()))
}

/// The record of a check on the base plus the changes.
pub(super) fn on_result(round: u32, pair: &Pair, verdict: &CheckVerdict) -> Checked {
    let found = (verdict.passed, verdict.tests, verdict.reasons.clone());
    checked(round, pair, &pair.result, CheckOn::Result, found)
}

fn checked(
    round: u32,
    pair: &Pair,
    ran: &Ran,
    on: CheckOn,
    (passed, tests, reasons): (bool, Option<Tests>, Vec<String>),
) -> Checked {
    Checked {
        round,
        name: pair.name.clone(),
        on,
        exit: ran.exit,
        signal: ran.signal,
        timed_out: ran.timed_out,
        output: ran.output,
        passed,
        reasons,
        tests: tests.map(counts),
        took_ms: ran.took_ms,
    }
}

fn counts(tests: Tests) -> TestCounts {
    let Tests { passed, failed, skipped } = tests;
    TestCounts { passed, failed, skipped }
}

/// For a client: what the receipt states, with what the ledger says of each execution, and the
/// words of the contract where it is there.
pub(crate) fn view(
    contract: Option<&Contract>,
    stated: &Verified,
    checked: &[Checked],
    reasons: &[String],
) -> VerificationView {
    let Verified { checks, verification } = stated;
    let text = |id: &str| {
        let criteria = contract.map(|contract| contract.criteria.as_slice()).unwrap_or_default();
        let known = criteria.iter().find(|criterion| criterion.id == id);
        known.map(|criterion| criterion.text.clone()).unwrap_or_default()
    };
    let criteria = verification.criteria.iter().map(|criterion| CriterionView {
        id: criterion.id.clone(),
        text: text(&criterion.id),
        checks: criterion.checks.clone(),
        met: criterion.met,
    });
    let flags = verification.flags.iter().map(|flag| SteeringView {
        path: flag.path.clone(),
        line: flag.line,
        why: flag.why.clone(),
    });
    VerificationView {
        contract: verification.contract,
        round: verification.round,
        criteria: criteria.collect(),
        checks: checks.iter().map(|check| check_view(check, checked)).collect(),
        held: verification.held.clone(),
        left_out: verification.left_out.clone(),
        used_ignored: verification.used_ignored.clone(),
        flags: flags.collect(),
        review: verification.review.as_ref().map(|review| ReviewView {
            model: format!("{}:{}", review.provider, review.name),
            veto: review.veto,
            reason: review.reason.clone(),
        }),
        reasons: reasons.to_vec(),
    }
}

fn check_view(check: &Check, checked: &[Checked]) -> CheckView {
    let last = |on: CheckOn| {
        checked.iter().rev().find(|record| record.name == check.name && record.on == on)
    };
    let result = last(CheckOn::Result);
    let base = check.base.as_ref();
    CheckView {
        name: check.name.clone(),
        command: check.command.clone(),
        result: checked_view(check.passed, check.exit, check.output, result),
        base: checked_view(
            base.is_some_and(|base| base.passed),
            base.and_then(|base| base.exit),
            base.map_or_else(|| Digest::of(b""), |base| base.output),
            last(CheckOn::Base),
        ),
        pre_existing: check.pre_existing,
        reasons: result.map(|record| record.reasons.clone()).unwrap_or_default(),
        last_printed: Vec::new(),
    }
}

/// The same, with what checks that failed printed at the end.
pub(super) fn with_last_printed(mut view: VerificationView, pairs: &[Pair]) -> VerificationView {
    for (check, pair) in view.checks.iter_mut().zip(pairs) {
        if !check.result.passed {
            check.last_printed = contract::last_printed(&pair.result, LAST_LINES);
        }
    }
    view
}

fn checked_view(
    passed: bool,
    exit_code: Option<i32>,
    output: Digest,
    record: Option<&Checked>,
) -> CheckedView {
    CheckedView {
        passed,
        exit_code,
        signal: record.and_then(|record| record.signal),
        timed_out: record.is_some_and(|record| record.timed_out),
        tests: record.and_then(|record| record.tests),
        output,
        took_ms: record.map_or(0, |record| record.took_ms),
    }
}
