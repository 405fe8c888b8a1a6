//! What is decided is recorded, before anything can happen.

use broker::{Act as _, Refusal};
use serde_json::json;

use crate::scene::{apply, authority, broker, discard, exec, undo};

#[test]
fn an_intent_that_leaves_is_durable_before_there_is_a_permit() {
    let (broker, medium) = broker();
    let permit = broker.request(apply()).unwrap();
    let durable = medium.durable();
    let (kind, body) = &durable[usize::try_from(permit.record().seq).unwrap()];
    assert_eq!(kind, "apply.intent");
    assert_eq!(body["action"], serde_json::to_value(apply().action()).unwrap());
    assert_eq!(body["action_digest"], apply().action().digest().to_string());
    assert_eq!(body["authority"], authority().digest().to_string());
    assert_eq!(body["outcome"], "allow");
    assert_eq!(permit.act(), &apply());
}

#[test]
fn results_name_their_intent() {
    let (broker, medium) = broker();
    let (one, two) = (broker.request(discard()).unwrap(), broker.request(undo()).unwrap());
    let (first, second) = (one.record().seq, two.record().seq);
    broker.complete(two, &json!({"paths": 2})).unwrap();
    broker.complete(one, &json!({"paths": 1})).unwrap();
    let durable = medium.durable();
    let last = |back: usize| durable[durable.len() - back].clone();
    let result = |intent, paths| json!({"intent": intent, "result": {"paths": paths}});
    assert_eq!(last(2), ("undo.result".to_owned(), result(second, 2)));
    assert_eq!(last(1), ("discard.result".to_owned(), result(first, 1)));
}

/// The result belongs to the ledger of the intent, whoever completes.
#[test]
fn a_permit_of_another_run_is_completed_there() {
    let ((ours, our_medium), (theirs, their_medium)) = (broker(), broker());
    let permit = theirs.request(apply()).unwrap();
    ours.complete(permit, &json!({})).unwrap();
    assert_eq!(our_medium.durable().len(), 1);
    assert_eq!(their_medium.durable().last().unwrap().0, "apply.result");
}

#[test]
fn what_stays_inside_is_sealed_by_the_next_sync() {
    let (broker, medium) = broker();
    let permit = broker.request(exec("/usr/bin/make", &["all"])).unwrap();
    let at = usize::try_from(permit.record().seq).unwrap();
    broker.complete(permit, &json!({"exit": 0})).unwrap();
    broker.ledger().sync().unwrap();
    let durable = medium.durable();
    assert_eq!(durable[at].0, "exec.intent");
    assert_eq!(durable[at + 1].0, "exec.result");
}

#[test]
fn a_denial_is_recorded_with_its_rule() {
    let (broker, medium) = broker();
    let refusal = broker.request(exec("/usr/bin/rm", &["-r", "."])).unwrap_err();
    let Refusal::Denied { verdict, record } = &refusal else { panic!("{refusal:?}") };
    assert_eq!(verdict.decided_by[0].rule, "no-removal");
    let (kind, body) = medium.durable()[usize::try_from(record.seq).unwrap()].clone();
    assert_eq!(kind, "denied");
    assert_eq!((&body["outcome"], &body["because"]), (&json!("deny"), &json!("verdict")));
    assert_eq!(body["action"]["action"], "exec");
    assert_eq!(body["decided_by"][0]["rule"], "no-removal");
}

#[test]
fn what_a_gate_refuses_is_a_denial_whatever_the_authority_says() {
    let (broker, medium) = broker();
    let make = exec("/usr/bin/make", &[]).action();
    let record = broker.record_denial(&make, "it is another program").unwrap();
    let (kind, body) = medium.durable()[usize::try_from(record.seq).unwrap()].clone();
    assert_eq!(kind, "denied");
    assert_eq!((&body["outcome"], &body["because"]), (&json!("deny"), &json!("gate")));
    assert_eq!(body["reason"], "it is another program");
    assert_eq!(body["action"]["action"], "exec");
    medium.fail();
    assert!(broker.record_denial(&make, "again").is_err());
}

#[test]
fn an_ask_that_nobody_answers_is_a_denial() {
    let (broker, medium) = broker();
    let refusal = broker.request(exec("/usr/bin/cargo", &["publish"])).unwrap_err();
    let Refusal::Unanswered { verdict, record } = &refusal else { panic!("{refusal:?}") };
    assert_eq!(verdict.decided_by[0].rule, "ask-before-publish");
    let (kind, body) = medium.durable()[usize::try_from(record.seq).unwrap()].clone();
    assert_eq!(kind, "denied");
    assert_eq!((&body["outcome"], &body["because"]), (&json!("ask"), &json!("unanswered")));
    assert!(refusal.to_string().contains("nobody is there to ask"), "{refusal}");
}

#[test]
fn a_ledger_that_fails_is_a_refusal() {
    let (broker, medium) = broker();
    medium.fail();
    assert!(matches!(broker.request(apply()), Err(Refusal::Unrecorded(_))));
    let rm = exec("/usr/bin/rm", &[]);
    assert!(matches!(broker.request(rm), Err(Refusal::Unrecorded(_))));
    let publish = exec("/usr/bin/cargo", &["publish"]);
    assert!(matches!(broker.request(publish), Err(Refusal::Unrecorded(_))));
    let make = exec("/usr/bin/make", &[]);
    assert!(matches!(broker.request(make), Err(Refusal::Unrecorded(_))));
    assert_eq!(medium.durable().len(), 1);
}

#[test]
fn a_finished_ledger_is_a_refusal() {
    let (broker, _) = broker();
    broker.ledger().clone().finish().unwrap();
    assert!(matches!(broker.request(apply()), Err(Refusal::Unrecorded(_))));
}

#[test]
fn an_action_too_large_to_record_is_refused() {
    let (broker, _) = broker();
    let long = "x".repeat(ledger::MAX_BODY);
    let refusal = broker.request(exec("/usr/bin/make", &[&long])).unwrap_err();
    assert!(matches!(refusal, Refusal::Unrecorded(_)), "{refusal:?}");
}
