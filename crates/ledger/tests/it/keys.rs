//! Key files.

use std::os::unix::fs::PermissionsExt as _;

use ledger::{KeyError, SigningKey, VerifyingKey};

use crate::forge;

#[test]
fn texts_are_read_back() {
    let key = SigningKey::generate([7; 32]);
    let again = SigningKey::parse(key.to_text().expose()).unwrap();
    assert_eq!(again.id(), key.id());
    let public = VerifyingKey::parse(&key.verifying().to_text()).unwrap();
    assert_eq!(public, key.verifying());
    assert!(public.verifies(b"text", &key.sign(b"text")));
    assert!(!public.verifies(b"test", &key.sign(b"text")));
}

#[test]
fn the_id_is_that_of_the_second_writer() {
    let text = forge::public_text(&forge::key(7));
    let key = VerifyingKey::parse(&text).unwrap();
    assert_eq!(key.id().as_str(), forge::key_id(&forge::key(7)));
    assert_eq!(key, SigningKey::generate([7; 32]).verifying());
}

#[test]
fn nothing_prints_a_secret_key() {
    let key = SigningKey::generate([7; 32]);
    let secret = key.to_text();
    let canary = secret.expose().split(' ').nth(1).unwrap().trim();
    for text in [format!("{key:?}"), format!("{secret:?}"), format!("{:?}", key.verifying())] {
        assert!(!text.contains(canary), "{text}");
        assert!(!text.contains("7, 7"), "{text}");
    }
    let error = VerifyingKey::parse(secret.expose()).unwrap_err();
    assert!(matches!(error, KeyError::IsSecret));
    assert!(!format!("{error} {error:?}").contains(canary));
}

#[test]
fn other_texts_are_refused() {
    let good = SigningKey::generate([7; 32]).verifying().to_text();
    let body = good.split(' ').nth(1).unwrap().trim().to_owned();
    for bad in [
        String::new(),
        "\n".to_owned(),
        body.clone(),
        format!("loop-ed25519  {body}"),
        format!(" loop-ed25519 {body}"),
        format!("loop-ed25519 {body}\n\n"),
        format!("loop-ed25519 {body}\nloop-ed25519 {body}\n"),
        format!("loop-ed25519 {body}\r\n"),
        format!("loop-rsa {body}"),
        "loop-ed25519 AAAA".to_owned(),
        format!("loop-ed25519 {}", body.trim_end_matches('=')),
        // The identity and a point of small order, which accept signatures of anybody.
        "loop-ed25519 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned(),
        "loop-ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned(),
    ] {
        assert!(VerifyingKey::parse(&bad).is_err(), "{bad:?}");
    }
    assert!(VerifyingKey::parse(&format!("loop-ed25519 {body} ann's key, 2026")).is_ok());
}

#[test]
fn a_key_file_is_private_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let key = SigningKey::create(&path, [7; 32]).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(SigningKey::load(&path).unwrap().id(), key.id());
    assert!(matches!(SigningKey::create(&path, [8; 32]), Err(KeyError::File { .. })));

    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(SigningKey::load(&link), Err(KeyError::File { .. })));
    assert!(matches!(SigningKey::load(directory.path()), Err(KeyError::Exposed { .. })));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(SigningKey::load(&path), Err(KeyError::Exposed { .. })));
}
