//! Every fault of a server, and what becomes of it.

use std::time::Duration;

use models::{Answer, Event, ModelError};
use testkit::ModelServer;

use crate::support::{PROVIDERS, ask, model, request, with};

const TEXT: &str = "one two three four";

fn script(fault: &str) -> String {
    format!(
        r#"
        name = "faults"
        [[turn]]
        text = "{TEXT}"
        call = [{{ id = "c1", name = "bash", arguments = {{ command = "true; true; true" }} }}]
        fault = {{ {fault} }}
        "#
    )
}

/// What came of it: the answer, how many retries, and how much text was seen.
fn meet(provider: (&str, &str), fault: &str) -> (Result<Answer, ModelError>, usize, String) {
    let server = ModelServer::start(&script(fault));
    let (answer, events) = ask(model(provider, &server).as_ref(), &request("go"));
    let retries = events.iter().filter(|event| matches!(event, Event::Retrying { .. })).count();
    let seen = events.iter().filter_map(|event| match event {
        Event::Text(piece) => Some(piece.as_str()),
        _ => None,
    });
    server.verdict().unwrap();
    (answer, retries, seen.collect())
}

fn whole(answer: &Answer) {
    assert_eq!(answer.text(), TEXT);
    let call = answer.calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "bash"));
    assert_eq!(call.arguments, r#"{"command":"true; true; true"}"#);
}

#[test]
fn what_passes_is_sent_again() {
    for provider in PROVIDERS {
        for kind in ["rate-limit", "server-error", "overloaded", "overloaded-event", "reset"] {
            let (answer, retries, seen) = meet(provider, &format!("kind = '{kind}', times = 2"));
            whole(&answer.unwrap_or_else(|error| panic!("{provider:?} {kind}: {error}")));
            assert_eq!((retries, seen.as_str()), (2, TEXT), "{provider:?} {kind}");
        }
    }
}

#[test]
fn what_lasts_is_given_up_with_the_reason() {
    for provider in PROVIDERS {
        let (answer, retries, _) = meet(provider, "kind = 'rate-limit', times = 99, after = '7ms'");
        let Err(ModelError::RateLimited { said, after }) = answer else { panic!("{answer:?}") };
        assert!(said.contains("429"), "{said}");
        assert_eq!((retries, after), (5, Some(Duration::from_millis(7))));
        let (answer, retries, _) = meet(provider, "kind = 'server-error', times = 99");
        assert!(matches!(answer, Err(ModelError::Overloaded(_))), "{answer:?}");
        assert_eq!(retries, 5);
    }
}

#[test]
fn longer_than_anybody_waits_is_not_waited_for() {
    for provider in PROVIDERS {
        let (answer, retries, _) = meet(provider, "kind = 'rate-limit', after = '1h'");
        assert!(matches!(answer, Err(ModelError::RateLimited { .. })), "{answer:?}");
        assert_eq!(retries, 0);
    }
}

#[test]
fn what_is_wrong_with_the_request_is_never_sent_again() {
    for provider in PROVIDERS {
        let (answer, retries, _) = meet(provider, "kind = 'unauthorized'");
        assert!(matches!(answer, Err(ModelError::Unauthorized(_))), "{answer:?}");
        assert_eq!(retries, 0);
        let (answer, retries, _) = meet(provider, "kind = 'too-long'");
        assert!(matches!(answer, Err(ModelError::TooLong(_))), "{answer:?}");
        assert_eq!(retries, 0);
    }
}

#[test]
fn an_answer_that_breaks_off_is_told_and_not_said_twice() {
    for provider in PROVIDERS {
        for kind in ["disconnect", "half-event", "error-event"] {
            let (answer, retries, seen) = meet(provider, &format!("kind = '{kind}'"));
            assert!(
                matches!(answer, Err(ModelError::Interrupted(_))),
                "{provider:?} {kind} {answer:?}"
            );
            assert_eq!(retries, 0);
            assert!(!seen.is_empty() && TEXT.starts_with(&seen), "{seen}");
        }
    }
}

#[test]
fn nonsense_is_the_providers_fault() {
    for provider in PROVIDERS {
        for kind in ["malformed", "wrong-ids"] {
            let (answer, ..) = meet(provider, &format!("kind = '{kind}'"));
            let Err(ModelError::Malformed(said)) = answer else {
                panic!("{provider:?} {kind} {answer:?}")
            };
            let name = provider.0.split(':').next().unwrap();
            assert!(said.starts_with(&format!("{name} at 127.0.0.1")), "{said}");
        }
    }
}

#[test]
fn what_changes_nothing_changes_nothing() {
    for provider in PROVIDERS {
        for kind in ["split", "unknown-events", "no-usage"] {
            let (answer, retries, seen) = meet(provider, &format!("kind = '{kind}'"));
            let answer = answer.unwrap_or_else(|error| panic!("{provider:?} {kind}: {error}"));
            whole(&answer);
            assert_eq!((retries, seen.as_str()), (0, TEXT));
            assert_eq!(answer.usage.is_none(), kind == "no-usage", "{provider:?} {kind}");
        }
    }
}

/// Compatible servers may not know how to stream; the others do.
#[test]
fn an_answer_in_one_piece_is_taken_from_compatible_servers_only() {
    for provider in PROVIDERS {
        let (answer, retries, seen) = meet(provider, "kind = 'unstreamed'");
        assert_eq!(retries, 0);
        match provider.0.starts_with("o") && !provider.0.starts_with("openai:") {
            true => {
                whole(&answer.unwrap());
                assert_eq!(seen, TEXT);
            }
            false => assert!(matches!(answer, Err(ModelError::Malformed(_))), "{answer:?}"),
        }
    }
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    for provider in PROVIDERS {
        let server = ModelServer::start(&script("kind = 'silent', times = 99"));
        let model = with(provider, &server, Duration::from_millis(20));
        let (answer, events) = ask(model.as_ref(), &request("go"));
        assert!(matches!(answer, Err(ModelError::Unanswered(_))), "{answer:?}");
        assert_eq!(events.len(), 5);
        // It may be at work all the same.
        let costs = |event: &Event| matches!(event, Event::Retrying { may_cost: true, .. });
        assert!(events.iter().all(costs), "{events:?}");
    }
}

#[test]
fn nobody_there_is_told() {
    for provider in PROVIDERS {
        let server = ModelServer::start("name = 'x'");
        let model = model(provider, &server);
        drop(server);
        let (answer, events) = ask(model.as_ref(), &request("go"));
        assert!(matches!(answer, Err(ModelError::Unreachable(_))), "{answer:?}");
        let is_free = |event: &Event| matches!(event, Event::Retrying { may_cost: false, .. });
        assert!(events.len() == 5 && events.iter().all(is_free), "{events:?}");
    }
}
