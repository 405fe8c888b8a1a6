//! Encrypted connections, and only to whom the certificate names.

use models::ModelError;
use testkit::ModelServer;

use crate::support::{PROVIDERS, ask, model, request};

const SCRIPT: &str = "name = 'x'\n[[turn]]\ntext = 'hello'";

#[test]
fn a_trusted_authority_is_believed() {
    for provider in PROVIDERS {
        let server = ModelServer::start_encrypted(SCRIPT, &["127.0.0.1"]);
        let (answer, _) = ask(model(provider, &server).as_ref(), &request("go"));
        assert_eq!(answer.unwrap().text(), "hello");
    }
}

#[test]
fn another_name_is_not() {
    let server = ModelServer::start_encrypted(SCRIPT, &["example.com"]);
    let (answer, _) = ask(model(PROVIDERS[0], &server).as_ref(), &request("go"));
    let Err(ModelError::Unreachable(said)) = answer else { panic!("{answer:?}") };
    assert!(said.contains("certificate"), "{said}");
    assert!(server.requests().is_empty());
}
