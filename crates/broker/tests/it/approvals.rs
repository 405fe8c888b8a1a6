//! Asks and answers: what waits, what counts, and what is on record of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use broker::{Answer, AnswerError, Binding, Context, Refusal};
use names::{Digest, Span, Timestamp, system_clock};
use policy::AskLimits;
use serde_json::json;

use crate::scene::{Asking, LIMITS, ann, asking, authority, exec, publish};

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: Some(reason.to_owned()) }
}

#[test]
fn an_approved_action_is_asked_answered_and_intended_in_that_order() {
    let asking = asking(LIMITS, system_clock);
    let (permit, ask) = thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        assert_eq!(asking.count("exec.intent"), 0);
        assert_eq!(asking.count("approval.asked"), 1);
        asking.approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding()).unwrap();
        (requested.join().unwrap().unwrap(), ask)
    });
    asking.broker.ledger().sync().unwrap();
    let durable = asking.medium.durable();
    let kinds: Vec<_> = durable.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["genesis", "approval.asked", "approval.answered", "exec.intent"]);
    let [asked, answered, intent] = [1, 2, 3].map(|at| durable[at].1.clone());
    assert_eq!(asked["binding"], json!(ask.binding()));
    assert_eq!(answered["binding"], asked["binding"]);
    assert_eq!(answered["answer"], "once");
    assert_eq!(answered["by"], json!({"user": "ann", "via": "command"}));
    assert_eq!((&intent["outcome"], &intent["approval"]), (&json!("ask"), &json!(2)));
    assert_eq!(intent["action_digest"], answered["action_digest"]);
    assert_eq!(permit.record().seq, 3);
    assert!(asking.approvals.pending().is_empty());
}

#[test]
fn a_denial_carries_what_the_person_said() {
    let asking = asking(LIMITS, system_clock);
    let refusal = answered(&asking, &deny("not on a \x1b[31mfriday"));
    let Refusal::ByPerson { verdict, .. } = &refusal else { panic!("{refusal:?}") };
    assert_eq!(verdict.decided_by[0].rule, "ask-before-publish");
    let told = "denied by ann: not on a \\x1b[31mfriday";
    assert_eq!(refusal.to_string(), told);
    let denied = asking.last("denied");
    assert_eq!((&denied["because"], &denied["outcome"]), (&json!("person"), &json!("ask")));
    assert_eq!(denied["said"], "not on a \x1b[31mfriday");
    assert_eq!(denied["approval"], 2);
    assert_eq!(asking.count("exec.intent"), 0);
}

/// What a request comes to when it is answered so.
fn answered(asking: &Asking, answer: &Answer) -> Refusal {
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        asking.approvals.answer(&ask.id, answer.clone(), &ann(), &ask.binding()).unwrap();
        requested.join().unwrap().unwrap_err()
    })
}

#[test]
fn an_answer_for_the_run_holds_for_exactly_the_same() {
    let asking = asking(AskLimits { timeout: Span::from_millis(50), ..LIMITS }, system_clock);
    let patient = asking_for_the_run();
    // The same again, from two sides at once, without another question.
    for _ in 0..2 {
        drop(patient.broker.request(publish()).unwrap());
    }
    patient.broker.ledger().sync().unwrap();
    assert_eq!(patient.count("approval.asked"), 1);
    assert_eq!(patient.count("exec.intent"), 3);
    assert_eq!(patient.last("exec.intent")["approval"], 2);
    // Another run knows nothing of it.
    assert!(matches!(asking.broker.request(publish()), Err(Refusal::TimedOut { .. })));
    // Nor does it hold for other arguments, another directory, or other bytes.
    let other = exec("/usr/bin/cargo", &["publish", "--dry-run"]);
    let elsewhere = policy::Exec { cwd: "/elsewhere".into(), ..publish() };
    let bytes = Context { diff: Some("+x".to_owned()), ..Context::default() };
    for (act, context) in
        [(other, Context::default()), (elsewhere, Context::default()), (publish(), bytes)]
    {
        thread::scope(|scope| {
            let requested = scope.spawn(|| patient.broker.request_with(act, context));
            let ask = patient.waiting(1).remove(0);
            let binding = ask.binding();
            patient.approvals.answer(&ask.id, deny("no"), &ann(), &binding).unwrap();
            assert!(requested.join().unwrap().is_err());
        });
    }
}

fn asking_for_the_run() -> Asking {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        asking.approvals.answer(&ask.id, Answer::ForRun, &ann(), &ask.binding()).unwrap();
        drop(requested.join().unwrap().unwrap());
    });
    asking
}

#[test]
fn an_answer_for_the_run_reaches_everybody_who_waits_with_the_same() {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let same: Vec<_> =
            (0..5).map(|_| scope.spawn(|| asking.broker.request(publish()))).collect();
        let other =
            scope.spawn(|| asking.broker.request(exec("/usr/bin/cargo", &["publish", "x"])));
        let asks = asking.waiting(6);
        let ask = asks.iter().find(|ask| ask.action == policy::Action::from(publish())).unwrap();
        asking.approvals.answer(&ask.id, Answer::ForRun, &ann(), &ask.binding()).unwrap();
        for requested in same {
            drop(requested.join().unwrap().unwrap());
        }
        let left = asking.approvals.pending();
        assert_eq!(left.len(), 1);
        asking.approvals.answer(&left[0].id, deny("no"), &ann(), &left[0].binding()).unwrap();
        other.join().unwrap().unwrap_err();
    });
}

#[test]
fn an_answer_counts_once() {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        asking.approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding()).unwrap();
        drop(requested.join().unwrap().unwrap());
        let again = asking.approvals.answer(&ask.id, Answer::ForRun, &ann(), &ask.binding());
        assert!(matches!(again, Err(AnswerError::Answered(_))), "{again:?}");
        assert_eq!(asking.last("approval.refused")["because"], "answered");
        // The same action again is another ask, and the old answer is not for it.
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let next = asking.waiting(1).remove(0);
        assert_ne!(next.id, ask.id);
        let foreign = asking.approvals.answer(&next.id, Answer::Once, &ann(), &ask.binding());
        assert!(matches!(foreign, Err(AnswerError::OtherBinding(_))), "{foreign:?}");
        asking.approvals.answer(&next.id, deny("no"), &ann(), &next.binding()).unwrap();
        requested.join().unwrap().unwrap_err();
    });
}

#[test]
fn answers_that_race_count_once_together() {
    let asking = asking(LIMITS, system_clock);
    for _ in 0..20 {
        thread::scope(|scope| {
            let requested = scope.spawn(|| asking.broker.request(publish()));
            let ask = asking.waiting(1).remove(0);
            let answers: Vec<_> = (0..8)
                .map(|_| {
                    let (approvals, ask) = (&asking.approvals, Arc::clone(&ask));
                    scope.spawn(move || {
                        approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding()).is_ok()
                    })
                })
                .collect();
            let counted = answers.into_iter().map(|it| it.join().unwrap());
            let counted = counted.filter(|counted| *counted).count();
            assert_eq!(counted, 1);
            drop(requested.join().unwrap().unwrap());
        });
    }
}

#[test]
fn nobody_answers_a_question_that_was_not_asked() {
    let asking = asking(LIMITS, system_clock);
    let id = names::AskId::parse("k7m2").unwrap();
    let binding = Binding::from_digest(Digest::of(b"x"));
    let refused = asking.approvals.answer(&id, Answer::Once, &ann(), &binding);
    assert!(matches!(refused, Err(AnswerError::NoSuchAsk(_))), "{refused:?}");
    let record = asking.last("approval.refused");
    assert_eq!((&record["because"], &record["ask"]), (&json!("no-such-ask"), &json!("k7m2")));
}

#[test]
fn what_nobody_answers_is_denied_in_time() {
    let limits = AskLimits { timeout: Span::from_millis(20), ..LIMITS };
    let asking = asking(limits, system_clock);
    let refusal = asking.broker.request(publish()).unwrap_err();
    assert!(matches!(refusal, Refusal::TimedOut { .. }), "{refusal:?}");
    assert!(refusal.to_string().ends_with("and nobody answered within 20ms"), "{refusal}");
    let denied = asking.last("denied");
    assert_eq!((&denied["because"], &denied["asked"]), (&json!("timeout"), &json!(1)));
    assert!(asking.approvals.pending().is_empty());
}

/// Time as this file's one test of the clock sets it.
static NOW: AtomicI64 = AtomicI64::new(1_000_000);

fn set_time() -> Timestamp {
    Timestamp::from_millis(NOW.load(Ordering::SeqCst))
}

#[test]
fn an_answer_after_the_expiry_is_refused() {
    let asking = asking(LIMITS, set_time);
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        assert_eq!(ask.expires_at.as_millis() - ask.asked_at.as_millis(), 3_600_000);
        NOW.fetch_add(3_599_999, Ordering::SeqCst);
        assert_eq!(asking.approvals.pending().len(), 1);
        NOW.fetch_add(1, Ordering::SeqCst);
        let late = asking.approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding());
        assert!(matches!(late, Err(AnswerError::Expired(_))), "{late:?}");
        assert!(asking.approvals.pending().is_empty());
        let refusal = requested.join().unwrap().unwrap_err();
        assert!(matches!(refusal, Refusal::TimedOut { .. }), "{refusal:?}");
    });
}

#[test]
fn a_flood_is_capped_and_hides_nobody() {
    let limits = AskLimits { max_waiting: 8, ..LIMITS };
    let asking = asking(limits, system_clock);
    thread::scope(|scope| {
        let first = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        let approvals = &asking.approvals;
        let flood: Vec<_> = (0..100)
            .map(|number| {
                let act = exec("/usr/bin/cargo", &["publish", &number.to_string()]);
                let broker = &asking.broker;
                scope.spawn(move || broker.request(act).unwrap_err())
            })
            .collect();
        asking.waiting(8);
        while asking.count("denied") < 93 {
            thread::sleep(Duration::from_millis(1));
        }
        let pending = approvals.pending();
        assert_eq!(pending.len(), 8);
        assert_eq!(pending[0].id, ask.id);
        // Said once, on record once, whatever the number.
        let (number, capped) = approvals.capped().unwrap();
        assert_eq!((number, capped.key), (1, "approvals.max_waiting"));
        assert_eq!(asking.count("approval.capped"), 1);
        approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding()).unwrap();
        drop(first.join().unwrap().unwrap());
        approvals.stop();
        let refusals: Vec<_> = flood.into_iter().map(|it| it.join().unwrap()).collect();
        let capped = |it: &&Refusal| matches!(it, Refusal::Capped { .. });
        assert_eq!(refusals.iter().filter(capped).count(), 93);
        let told = refusals.iter().find(capped).unwrap().to_string();
        assert!(told.ends_with("approvals.max_waiting is 8"), "{told}");
    });
    assert_eq!(asking.last("approval.capped")["key"], "approvals.max_waiting");
}

#[test]
fn more_asks_in_a_minute_than_the_owner_wants_are_denied() {
    let limits = AskLimits { max_per_minute: 3, timeout: Span::from_millis(1), ..LIMITS };
    let asking = asking(limits, system_clock);
    for _ in 0..3 {
        let refusal = asking.broker.request(publish()).unwrap_err();
        assert!(matches!(refusal, Refusal::TimedOut { .. }), "{refusal:?}");
    }
    let refusal = asking.broker.request(publish()).unwrap_err();
    assert!(matches!(refusal, Refusal::Capped { .. }), "{refusal:?}");
    let denied = asking.last("denied");
    let told = (&denied["because"], &denied["cap"]);
    assert_eq!(told, (&json!("rate-cap"), &json!("approvals.max_per_minute")));
}

#[test]
fn stopping_denies_whatever_waits_and_whatever_comes() {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let others: Vec<_> = (0..4)
            .map(|number| {
                let act = exec("/usr/bin/cargo", &["publish", &number.to_string()]);
                let broker = &asking.broker;
                scope.spawn(move || broker.request(act).unwrap_err())
            })
            .collect();
        let ask = asking.waiting(4).remove(2);
        let stop = Answer::DenyAndStop { reason: None };
        assert!(!asking.approvals.wants_stop());
        asking.approvals.answer(&ask.id, stop, &ann(), &ask.binding()).unwrap();
        assert!(asking.approvals.wants_stop());
        let refusals: Vec<_> = others.into_iter().map(|it| it.join().unwrap()).collect();
        let by_person = refusals.iter().filter(|it| matches!(it, Refusal::ByPerson { .. }));
        assert_eq!(by_person.count(), 1);
        let stopped = refusals.iter().filter(|it| matches!(it, Refusal::Stopped { .. }));
        assert_eq!(stopped.count(), 3);
    });
    let allowed = exec("/usr/bin/make", &[]);
    assert!(matches!(asking.broker.request(allowed), Err(Refusal::Stopped { .. })));
    assert_eq!(asking.last("denied")["because"], "stopped");
}

#[test]
fn what_nobody_wants_any_more_is_withdrawn() {
    let asking = asking(LIMITS, system_clock);
    let wanted = AtomicBool::new(true);
    thread::scope(|scope| {
        let still = || wanted.load(Ordering::SeqCst);
        let broker = &asking.broker;
        let requested =
            scope.spawn(move || broker.request_while(publish(), Context::default(), &still));
        let ask = asking.waiting(1).remove(0);
        wanted.store(false, Ordering::SeqCst);
        let refusal = requested.join().unwrap().unwrap_err();
        assert!(matches!(refusal, Refusal::Withdrawn { .. }), "{refusal:?}");
        assert_eq!(asking.last("denied")["because"], "withdrawn");
        let late = asking.approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding());
        assert!(matches!(late, Err(AnswerError::Expired(_))), "{late:?}");
    });
}

#[test]
fn what_waits_stalls_nobody_else() {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asking.broker.request(publish()).unwrap_err());
        asking.waiting(1);
        for _ in 0..100 {
            drop(asking.broker.request(exec("/usr/bin/make", &[])).unwrap());
            asking.broker.request(exec("/usr/bin/rm", &[])).unwrap_err();
        }
        assert_eq!(asking.approvals.pending().len(), 1);
        asking.approvals.stop();
        waiting.join().unwrap();
    });
}

#[test]
fn what_is_too_large_to_be_read_is_refused_and_says_so() {
    let asking = asking(LIMITS, system_clock);
    let long = "x".repeat((1 << 20) + 1);
    let refusal = asking.broker.request(exec("/usr/bin/cargo", &["publish", &long])).unwrap_err();
    assert!(matches!(refusal, Refusal::TooLarge { .. }), "{refusal:?}");
    let denied = asking.last("denied");
    assert_eq!((&denied["because"], &denied["cut"]), (&json!("too-large"), &json!(true)));
    let told = denied["action"]["args"][0].as_str().unwrap();
    assert!(told.starts_with("[2 arguments, 1048584 bytes, sha256:"), "{told}");
    let whole = policy::Action::from(exec("/usr/bin/cargo", &["publish", &long])).digest();
    assert_eq!(denied["action_digest"], whole.to_string());
}

#[test]
fn an_ask_that_cannot_be_recorded_is_a_refusal_that_nobody_saw() {
    let asking = asking(LIMITS, system_clock);
    asking.medium.fail();
    assert!(matches!(asking.broker.request(publish()), Err(Refusal::Unrecorded(_))));
    assert!(asking.approvals.pending().is_empty());
}

#[test]
fn an_answer_that_cannot_be_recorded_does_not_count() {
    let asking = asking(LIMITS, system_clock);
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        let ask = asking.waiting(1).remove(0);
        asking.medium.fail();
        let answered = asking.approvals.answer(&ask.id, Answer::Once, &ann(), &ask.binding());
        assert!(matches!(answered, Err(AnswerError::Unrecorded(_))), "{answered:?}");
        assert!(matches!(requested.join().unwrap(), Err(Refusal::Unrecorded(_))));
    });
}

#[test]
fn a_watch_is_readable_after_every_change() {
    use std::os::fd::AsFd as _;
    let asking = asking(LIMITS, system_clock);
    let watch = asking.approvals.watch().unwrap();
    let is_readable = || {
        let copy = watch.as_fd().try_clone_to_owned().unwrap();
        let stream = std::os::unix::net::UnixStream::from(copy);
        let mut byte = [0];
        // It does not block, so an empty one is an error.
        std::io::Read::read(&mut &stream, &mut byte).is_ok()
    };
    assert!(is_readable(), "whoever begins to watch looks first");
    watch.clear();
    assert!(!is_readable());
    thread::scope(|scope| {
        let requested = scope.spawn(|| asking.broker.request(publish()));
        asking.waiting(1);
        assert!(is_readable());
        watch.clear();
        asking.approvals.stop();
        requested.join().unwrap().unwrap_err();
        assert!(is_readable());
    });
    assert_eq!(authority().approvals, AskLimits::default());
}
