//! A running answer ends at once.

use models::{Cancel, Event, ModelError};
use testkit::ModelServer;

use crate::support::{PROVIDERS, model, request};

#[test]
fn while_nothing_comes() {
    for provider in PROVIDERS {
        let server = ModelServer::start(
            "name = 'x'\n[[turn]]\ntext = 'x'\nfault = { kind = 'silent', times = 9 }",
        );
        let cancel = Cancel::new();
        let other = cancel.clone();
        let model = model(provider, &server);
        let answering =
            std::thread::spawn(move || model.answer(&request("go"), &other, &mut |_| {}));
        testkit::wait_until("the request has come", || !server.asked().is_empty());
        cancel.cancel();
        assert_eq!(answering.join().unwrap(), Err(ModelError::Cancelled));
    }
}

#[test]
fn while_it_speaks() {
    for provider in PROVIDERS {
        let server =
            ModelServer::start("name = 'x'\n[[turn]]\ntext = 'one two three'\npace = '30ms'");
        let cancel = Cancel::new();
        let mut seen = Vec::new();
        let answer = model(provider, &server).answer(&request("go"), &cancel, &mut |event| {
            seen.push(event);
            cancel.cancel();
        });
        assert_eq!(answer, Err(ModelError::Cancelled));
        assert_eq!(seen, [Event::Text("one ".into())]);
    }
}

#[test]
fn before_it_begins_nothing_is_sent() {
    for provider in PROVIDERS {
        let server = ModelServer::start("name = 'x'\n[[turn]]\ntext = 'x'");
        let cancel = Cancel::new();
        cancel.cancel();
        let answer = model(provider, &server).answer(&request("go"), &cancel, &mut |_| {});
        assert_eq!(answer, Err(ModelError::Cancelled));
        assert!(server.requests().is_empty());
    }
}

#[test]
fn between_two_attempts() {
    for provider in PROVIDERS {
        let server = ModelServer::start(
            "name = 'x'\n[[turn]]\ntext = 'x'\nfault = { kind = 'server-error', times = 9 }",
        );
        let cancel = Cancel::new();
        let answer = model(provider, &server).answer(&request("go"), &cancel, &mut |event| {
            assert!(matches!(event, Event::Retrying { attempt: 2, .. }));
            cancel.cancel();
        });
        assert_eq!(answer, Err(ModelError::Cancelled));
        assert_eq!(server.asked().len(), 1);
    }
}
