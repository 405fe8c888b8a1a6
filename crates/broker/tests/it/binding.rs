//! An answer is for exactly what was shown: any other action, authority, run, kind or time refuses.

use std::thread;

use broker::{Answer, AnswerError, Ask, Binding, Context};
use names::{AskId, Digest, RunId, Timestamp, system_clock};
use policy::{Action, Discard, Exec, Tool};
use proptest::prelude::*;

use crate::scene::{LIMITS, ann, asking, publish};

/// One way in which what is answered differs from what was asked.
#[derive(Debug, Clone)]
enum Change {
    Id(AskId),
    Run(RunId),
    Action(Action),
    Authority(Digest),
    Expiry(i64),
    Context(Context),
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest::from_bytes)
}

fn run() -> impl Strategy<Value = RunId> {
    (0i64..4_000_000_000_000, any::<[u8; 4]>())
        .prop_map(|(at, random)| RunId::from_parts(Timestamp::from_millis(at), random))
}

fn action() -> impl Strategy<Value = Action> {
    let exec = (any::<String>(), prop::collection::vec(any::<String>(), 0..4), any::<String>())
        .prop_map(|(program, args, cwd)| Action::from(Exec::new(program, args, cwd)));
    let nearly = prop::sample::select(vec![
        Exec { args: vec!["publish".into(), String::new()], ..publish() },
        Exec { args: vec!["publish ".into()], ..publish() },
        Exec { args: vec!["pub".into(), "lish".into()], ..publish() },
        Exec { args: vec![], ..publish() },
        Exec { cwd: "/home/ann".into(), ..publish() },
        Exec { called: vec!["/bin/other".into()], ..publish() },
        Exec { program: "/usr/local/bin/cargo".into(), ..publish() },
    ])
    .prop_map(Action::from);
    prop_oneof![
        exec,
        nearly,
        run().prop_map(|run| Action::from(Discard { run })),
        any::<[String; 2]>().prop_map(|[name, words]| {
            let proposal = Some(names::Digest::of(words.as_bytes())).filter(|_| words.len() > 3);
            Action::from(Tool { name, words, proposal })
        }),
    ]
}

fn context() -> impl Strategy<Value = Context> {
    let texts = || prop::collection::vec(any::<String>(), 0..3);
    (texts(), prop::option::of(any::<String>()), texts())
        .prop_map(|(started_by, diff, notes)| Context { started_by, diff, notes })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        digest().prop_map(|of| Change::Id(AskId::from_digest(&of))),
        run().prop_map(Change::Run),
        action().prop_map(Change::Action),
        digest().prop_map(Change::Authority),
        prop_oneof![Just(-1), Just(1), any::<i64>()].prop_map(Change::Expiry),
        context().prop_map(Change::Context),
    ]
}

fn changed(ask: &Ask, change: &Change) -> Ask {
    let ask = ask.clone();
    match change.clone() {
        Change::Id(id) => Ask { id, ..ask },
        Change::Run(run) => Ask { run, ..ask },
        Change::Action(action) => Ask { action_digest: action.digest(), action, ..ask },
        Change::Authority(authority) => Ask { authority, ..ask },
        Change::Expiry(by) => {
            let expiry = ask.expires_at.as_millis().saturating_add(by);
            Ask { expires_at: Timestamp::from_millis(expiry), ..ask }
        }
        Change::Context(context) => Ask { context, ..ask },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_ask_has_another_binding(
        context in context(),
        changes in prop::collection::vec(change(), 1..3),
    ) {
        let asking = asking(LIMITS, system_clock);
        thread::scope(|scope| {
            let requested = scope.spawn(|| asking.broker.request_with(publish(), context).is_ok());
            let ask = asking.waiting(1).remove(0);
            let other = changes.iter().fold(Ask::clone(&ask), |ask, change| changed(&ask, change));
            let answered =
                asking.approvals.answer(&ask.id, Answer::ForRun, &ann(), &other.binding());
            let same = other == *ask;
            let refused = matches!(answered, Err(AnswerError::OtherBinding(_)));
            let recorded = asking.count("approval.refused");
            asking.approvals.stop();
            let approved = requested.join().unwrap();
            prop_assert_eq!(refused, !same, "{:?}", answered);
            prop_assert_eq!(approved, same);
            prop_assert_eq!(recorded, usize::from(!same));
            Ok(())
        })?;
    }

    #[test]
    fn no_digest_but_its_own_is_the_binding_of_an_ask(guess in digest()) {
        let asking = asking(LIMITS, system_clock);
        thread::scope(|scope| {
            let requested = scope.spawn(|| asking.broker.request(publish()).is_ok());
            let ask = asking.waiting(1).remove(0);
            let binding = Binding::from_digest(guess);
            let answered = asking.approvals.answer(&ask.id, Answer::Once, &ann(), &binding);
            asking.approvals.stop();
            prop_assert!(answered.is_err());
            prop_assert!(!requested.join().unwrap());
            Ok(())
        })?;
    }
}
