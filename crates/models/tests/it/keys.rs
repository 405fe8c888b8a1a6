//! A key is in its header and nowhere else.

use models::ModelError;
use testkit::ModelServer;

use crate::support::{KEY, PROVIDERS, ask, model, request};

#[test]
fn a_key_reaches_its_provider_and_shows_nowhere() {
    // A provider that repeats the key in its error, as some do.
    let script = format!("name = 'x'\n[[turn]]\nfail = 'wrong key {KEY}'");
    for provider in PROVIDERS {
        let server = ModelServer::start(&script);
        let model = model(provider, &server);
        let (answer, events) = ask(model.as_ref(), &request("go"));
        let asked = server.asked().remove(0);
        let carried = asked.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
        assert_eq!(carried, usize::from(!provider.0.starts_with("ollama")), "{provider:?}");
        assert!(!asked.body.to_string().contains(KEY));
        let error = answer.unwrap_err();
        assert!(matches!(error, ModelError::Refused(_)), "{error:?}");
        let shown = format!("{error} {error:?} {events:?} {:?}", model.id());
        if carried == 1 {
            assert!(!shown.contains(KEY), "{shown}");
            assert!(shown.contains("wrong key [secret]"), "{shown}");
        }
    }
}
