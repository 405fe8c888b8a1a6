//! Workspace paths: what they refuse, and that their text is exact.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use names::WorkspacePath;
use proptest::prelude::*;

fn path(bytes: &[u8]) -> WorkspacePath {
    WorkspacePath::from_bytes(bytes).unwrap()
}

#[test]
fn what_leaves_the_root_or_has_two_spellings_is_refused() {
    for bad in [
        &b""[..],
        b"/",
        b"/etc/passwd",
        b".",
        b"..",
        b"../a",
        b"a/..",
        b"a/../b",
        b"a//b",
        b"a/",
        b"./a",
        b"a/.",
        b"a\0b",
        b"\0",
    ] {
        assert!(WorkspacePath::from_bytes(bad).is_err(), "{bad:?}");
    }
    for good in [&b"a"[..], b"...", b"..a", b".git/config", b"a b/\n", b"\xff\xfe", b"-", b"~"] {
        assert_eq!(path(good).as_bytes(), good);
    }
}

#[test]
fn text_form() {
    let cases: [(&[u8], &str); 7] = [
        (b"src/main.rs", "src/main.rs"),
        (b"100%", "100%25"),
        (b"a\nb\x1b\x7f", "a%0Ab%1B%7F"),
        (b"\xff/\xc3\x28", "%FF/%C3("),
        ("grün/日本/\u{202e}".as_bytes(), "grün/日本/\u{202e}"),
        (b"a\\b\"c", "a\\b\"c"),
        (b"%41", "%2541"),
    ];
    for (bytes, text) in cases {
        assert_eq!(path(bytes).text(), text);
        assert_eq!(WorkspacePath::parse(text).unwrap().as_bytes(), bytes);
    }
    for bad in
        ["%", "%4", "%41", "%2f", "%2F", "%00", "%zz", "%0a", "a\nb", "%C3%BC", "%2E%2E", "../%25"]
    {
        assert!(WorkspacePath::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn relatives() {
    let file = path(b"a/b/c");
    let above: Vec<_> = file.ancestors().map(|path| path.text().into_owned()).collect();
    assert_eq!(above, ["a/b", "a"]);
    assert_eq!(file.parent(), Some(path(b"a/b")));
    assert_eq!(path(b"a").parent(), None);
    assert_eq!(file.file_name(), b"c");
    assert_eq!(file.components().collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    assert!(file.starts_with(&path(b"a/b")) && file.starts_with(&file));
    assert!(!file.starts_with(&path(b"a/bc")) && !path(b"ab").starts_with(&path(b"a")));
    assert_eq!(path(b"a").join(b"b/c").unwrap(), file);
    for bad in [&b""[..], b"..", b"/b", b"b/../c"] {
        assert!(path(b"a").join(bad).is_err());
    }
}

#[test]
fn deep_and_long_paths_are_carried() {
    let deep = vec!["d"; 4096].join("/");
    assert_eq!(path(deep.as_bytes()).components().count(), 4096);
    let long = [0xfe; 255];
    assert_eq!(WorkspacePath::parse(&path(&long).text()).unwrap(), path(&long));
}

/// What the standard library thinks of it.
fn is_plain(bytes: &[u8]) -> bool {
    let parts = Path::new(OsStr::from_bytes(bytes)).components();
    let parts: Option<Vec<&[u8]>> = parts
        .map(|part| match part {
            Component::Normal(part) => Some(part.as_bytes()),
            _ => None,
        })
        .collect();
    !bytes.contains(&0)
        && parts.is_some_and(|parts| !parts.is_empty() && parts.join(&b'/') == bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn agrees_with_the_standard_library(
        bytes in prop::collection::vec(prop::sample::select(b"/..a%\xff\n\0".as_slice()), 0..10)
    ) {
        prop_assert_eq!(WorkspacePath::from_bytes(&bytes).is_ok(), is_plain(&bytes));
    }

    #[test]
    fn json_is_exact(bytes: Vec<u8>) {
        prop_assume!(is_plain(&bytes));
        let json = serde_json::to_string(&path(&bytes)).unwrap();
        prop_assert_eq!(serde_json::from_str::<WorkspacePath>(&json).unwrap(), path(&bytes));
    }

    #[test]
    fn a_path_has_one_text(text in "[a/%0-9A-F\u{fc}\n]{1,9}") {
        if let Ok(path) = WorkspacePath::parse(&text) {
            prop_assert_eq!(path.text(), text);
        }
    }
}
