//! The agent replaced by a program that proposes at random: every guarantee still holds.

use broker::{Act, Broker, Permit, Refusal};
use names::{Digest, RunId, Timestamp};
use policy::{Action, Apply, Discard, Exec, Outcome, Undo};
use proptest::prelude::*;
use serde_json::Value;

use crate::scene::{Medium, authority, broker};

fn text() -> impl Strategy<Value = String> {
    let known = || prop::sample::select(vec!["publish", "-r", ".", "..", "", "/", "--", "**"]);
    prop_oneof![known().prop_map(str::to_owned), any::<String>()]
}

fn program() -> impl Strategy<Value = String> {
    let known = ["/usr/bin/rm", "/usr/bin/cargo", "/bin/sh", "rm", "/usr/bin/../bin/rm", ""];
    prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), any::<String>()]
}

fn run() -> impl Strategy<Value = RunId> {
    (0i64..4_000_000_000_000, any::<[u8; 4]>())
        .prop_map(|(at, random)| RunId::from_parts(Timestamp::from_millis(at), random))
}

/// One proposal of any kind that there are permits for.
#[derive(Debug, Clone)]
enum Proposal {
    Exec(Exec),
    Apply(Apply),
    Discard(Discard),
    Undo(Undo),
}

fn proposal() -> impl Strategy<Value = Proposal> {
    let exec = (program(), prop::collection::vec(text(), 0..4), program())
        .prop_map(|(program, args, cwd)| Exec::new(program, args, cwd));
    let apply = (run(), any::<[u8; 32]>(), any::<u64>(), prop::collection::vec(text(), 0..3))
        .prop_map(|(run, digest, paths, flagged)| Apply {
            run,
            change_set: Digest::from_bytes(digest),
            paths,
            flagged,
        });
    prop_oneof![
        4 => exec.prop_map(Proposal::Exec),
        2 => apply.prop_map(Proposal::Apply),
        1 => run().prop_map(|run| Proposal::Discard(Discard { run })),
        1 => run().prop_map(|run| Proposal::Undo(Undo { run })),
    ]
}

/// What a request led to, as far as an observer of the medium can tell.
fn propose(broker: &Broker, medium: &Medium, proposal: &Proposal) -> Result<(), TestCaseError> {
    match proposal.clone() {
        Proposal::Exec(act) => observe(broker, medium, act, false),
        Proposal::Apply(act) => observe(broker, medium, act, true),
        Proposal::Discard(act) => observe(broker, medium, act, true),
        Proposal::Undo(act) => observe(broker, medium, act, true),
    }
}

/// A permit implies a verdict of allow and a matching intent on the medium: at once for what
/// leaves, after the next sync for what stays. A refusal implies no new intent.
fn observe<A: Act>(
    broker: &Broker,
    medium: &Medium,
    act: A,
    leaves: bool,
) -> Result<(), TestCaseError> {
    let action = act.action();
    let before = intents(medium);
    match broker.request(act) {
        Ok(permit) => {
            if !leaves && broker.ledger().sync().is_err() {
                return Ok(());
            }
            prop_assert_eq!(authority().decide(&action).outcome, Outcome::Allow);
            check_intent(medium, &permit, &action)
        }
        Err(Refusal::Denied { verdict, .. }) => {
            prop_assert_eq!(verdict.outcome, Outcome::Deny);
            prop_assert_eq!(intents(medium), before);
            Ok(())
        }
        Err(Refusal::Unanswered { verdict, .. }) => {
            prop_assert_eq!(verdict.outcome, Outcome::Ask);
            prop_assert_eq!(intents(medium), before);
            Ok(())
        }
        Err(Refusal::Unrecorded(_)) => Ok(()),
        Err(refusal) => {
            prop_assert!(false, "nobody can be asked here: {refusal:?}");
            Ok(())
        }
    }
}

fn check_intent<A: Act>(
    medium: &Medium,
    permit: &Permit<A>,
    action: &Action,
) -> Result<(), TestCaseError> {
    let durable = medium.durable();
    let seq = usize::try_from(permit.record().seq).unwrap();
    prop_assert!(seq < durable.len(), "the intent is not durable");
    let (kind, body) = &durable[seq];
    prop_assert_eq!(kind, &format!("{}.intent", A::KIND));
    prop_assert_eq!(&permit.act().action(), action);
    let recorded: Action = serde_json::from_value(body["action"].clone()).unwrap();
    prop_assert_eq!(&recorded, action);
    prop_assert_eq!(&body["action_digest"], &Value::from(action.digest().to_string()));
    prop_assert_eq!(&body["outcome"], "allow");
    Ok(())
}

fn intents(medium: &Medium) -> usize {
    medium.durable().iter().filter(|(kind, _)| kind.ends_with(".intent")).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_permit_implies_a_verdict_and_a_record(
        proposals in prop::collection::vec(proposal(), 1..12),
        fails_after in prop::option::of(0u64..20),
    ) {
        let (broker, medium) = broker();
        if let Some(calls) = fails_after {
            medium.fail_after(calls);
        }
        for proposal in &proposals {
            propose(&broker, &medium, proposal)?;
        }
    }
}
