//! A learning run lets through what stays inside, says so, and lets nothing else through.

use std::sync::Arc;

use broker::{Act as _, Broker, Refusal};
use ledger::Ledger;
use names::system_clock;
use policy::{Authority, Outcome};

use crate::scene::{Medium, apply, authority, broker, exec, run};

fn learning(authority: Authority) -> (Broker, Medium) {
    let medium = Medium::default();
    let ledger = Ledger::over(Box::new(medium.clone()), &run(), system_clock).unwrap();
    (Broker::new(Arc::new(authority), ledger).learning(), medium)
}

#[test]
fn what_would_be_asked_or_denied_is_recorded_and_let_through() {
    let (broker, medium) = learning(authority());
    let cases = [("cargo", "ask", "ask-before-publish"), ("rm", "deny", "no-removal")];
    for (program, outcome, rule) in cases {
        let act = exec(&format!("/usr/bin/{program}"), &["publish"]);
        let permit = broker.request(act.clone()).unwrap();
        let intent = usize::try_from(permit.record().seq).unwrap();
        broker.ledger().sync().unwrap();
        let durable = medium.durable();
        let ((learned, said), (kind, body)) = (&durable[intent - 1], &durable[intent]);
        assert_eq!((learned.as_str(), kind.as_str()), ("learned", "exec.intent"));
        assert_eq!(said["action"], serde_json::to_value(act.action()).unwrap());
        assert_eq!(
            (&said["outcome"], &said["decided_by"][0]["rule"]),
            (&outcome.into(), &rule.into())
        );
        assert_eq!(body["outcome"], outcome, "the intent doesn't claim to be allowed");
        assert_eq!(body["learned"], intent - 1);
        assert_eq!(said["action_digest"], body["action_digest"]);
        broker.complete(permit, &"done").unwrap();
    }
}

#[test]
fn what_is_allowed_is_recorded_as_in_any_run() {
    let (broker, medium) = learning(authority());
    drop(broker.request(exec("/usr/bin/make", &[])).unwrap());
    broker.ledger().sync().unwrap();
    let kinds: Vec<_> = medium.durable().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["genesis", "exec.intent"]);
}

#[test]
fn what_leaves_the_sandbox_is_refused_as_always() {
    let mut strict = authority();
    strict.defaults.get_mut(&policy::Kind::Apply).unwrap().verdict = Outcome::Deny;
    let (broker, medium) = learning(strict);
    let Err(Refusal::Denied { .. }) = broker.request(apply()) else { panic!("it is let through") };
    assert_eq!(medium.durable().last().unwrap().0, "denied");
}

#[test]
fn what_is_pinned_or_malformed_is_refused_as_always() {
    let mut pinned = authority();
    for rule in &mut pinned.rules {
        rule.layer = policy::Layer::Pinned;
    }
    let (broker, _) = learning(pinned);
    assert!(matches!(broker.request(exec("/usr/bin/rm", &[])), Err(Refusal::Denied { .. })));
    let (broker, _) = learning(authority());
    assert!(matches!(broker.request(exec("rm", &[])), Err(Refusal::Denied { .. })));
}

#[test]
fn a_ledger_that_fails_lets_nothing_through() {
    let (broker, medium) = learning(authority());
    broker.ledger().sync().unwrap();
    medium.fail();
    let _ = broker.request(exec("/usr/bin/rm", &[]));
    let _ = broker.ledger().sync();
    let refused = broker.request(exec("/usr/bin/rm", &[]));
    assert!(matches!(refused, Err(Refusal::Unrecorded(_))));
}

#[test]
fn an_enforced_run_learns_nothing() {
    let (broker, _) = broker();
    assert!(!broker.is_learning());
    assert!(matches!(broker.request(exec("/usr/bin/rm", &[])), Err(Refusal::Denied { .. })));
}
