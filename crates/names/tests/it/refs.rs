//! Ref names against git itself.

use names::RefName;
use proptest::prelude::*;

#[expect(clippy::disallowed_methods, reason = "git is the oracle")]
fn git_accepts(name: &str) -> bool {
    let mut git = std::process::Command::new("git");
    git.args(["check-ref-format", name]).status().expect("git is installed").success()
}

#[test]
fn rules_of_check_ref_format() {
    let good = [
        "refs/heads/main",
        "refs/heads/a/b",
        "refs/tags/v1.0",
        "refs/heads/@",
        "refs/heads/-x",
        "refs/heads/grün",
        "refs/heads/a.lock.b",
        "a/b",
        "refs/heads/{x}",
        "refs/heads/a@b",
    ];
    let bad = [
        "",
        "main",
        "HEAD",
        "@",
        "/a/b",
        "a/b/",
        "a//b",
        "a/.b",
        ".a/b",
        "a/b.lock",
        "a.lock/b",
        "a..b/c",
        "a/b.",
        "a/b c",
        "a/b~1",
        "a/b^",
        "a/b:c",
        "a/b?",
        "a/b*",
        "a/b[",
        "a/b\\c",
        "a/@{1}",
        "a/b\t",
        "a/b\x7f",
        "refs/heads/loop/../main",
        "a/..",
        "refs/heads/",
    ];
    for name in good {
        assert!(RefName::parse(name).is_ok() && git_accepts(name), "{name}");
    }
    for name in bad {
        assert!(RefName::parse(name).is_err() && !git_accepts(name), "{name}");
    }
    assert!(RefName::parse("a/b\0").is_err());
    assert!(RefName::from_bytes(b"a/\xff").is_err());
}

#[test]
fn branches_and_tags() {
    let main = RefName::parse("refs/heads/main").unwrap();
    assert_eq!((main.branch(), main.tag()), (Some("main"), None));
    let tag = RefName::parse("refs/tags/v1").unwrap();
    assert_eq!((tag.branch(), tag.tag()), (None, Some("v1")));
    assert_ne!(RefName::parse("refs/heads/Main").unwrap(), main);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Mostly what the rules are about; never a leading '-', which git takes for an option.
    #[test]
    fn agrees_with_git(name in "([ab/.@{~^:?*\\[ \\\\\u{1}-]|\\.lock|[^\u{0}]){0,8}") {
        prop_assume!(!name.starts_with('-'));
        prop_assert_eq!(RefName::parse(&name).is_ok(), git_accepts(&name));
    }
}
