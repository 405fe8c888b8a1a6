//! Host patterns against a small universe of hosts in which everything can be tried.

use names::{Host, HostPattern};
use proptest::prelude::*;

fn pattern(text: &str) -> HostPattern {
    HostPattern::parse(text).unwrap()
}

fn matches(of: &str, host: &str) -> bool {
    pattern(of).matches(&Host::parse(host).unwrap())
}

#[test]
fn wildcards_count_labels() {
    for (of, host, expected) in [
        ("example.com", "example.com", true),
        ("example.com", "EXAMPLE.com.", true),
        ("example.com", "www.example.com", false),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false),
        ("*.example.com", "evilexample.com", false),
        ("**.example.com", "a.b.example.com", true),
        ("**.example.com", "a.example.com", true),
        ("**.example.com", "example.com", false),
        ("**.example.com", "example.com.evil.net", false),
        ("*.BÜCHER.example", "a.xn--bcher-kva.example", true),
    ] {
        assert_eq!(matches(of, host), expected, "{of} {host}");
    }
}

#[test]
fn what_would_mean_too_much_is_refused() {
    for text in [
        "*",
        "**",
        "*.com",
        "**.com",
        "*.co.uk",
        "co.uk",
        "com",
        "*.github.io",
        "**.公司.cn",
        "*.",
        "*.*.example.com",
        "a.*.example.com",
        "a*.example.com",
        "*a.example.com",
        "***.example.com",
        "*.localhost",
        "**.internal",
        "*.10.0.0.1",
        "*.example.com:443",
        "",
        "10.0.0",
        "[::1]",
    ] {
        assert!(HostPattern::parse(text).is_err(), "{text}");
    }
    for text in ["github.io", "me.github.io", "*.me.github.io", "**.example.com"] {
        assert_eq!(pattern(text).to_string(), text);
    }
}

#[test]
fn an_address_is_only_itself() {
    let named = pattern("203.0.113.7");
    assert!(named.matches(&Host::parse_address("203.0.113.7").unwrap()));
    assert!(!named.matches(&Host::parse_address("203.0.113.8").unwrap()));
    assert!(!pattern("**.example.com").matches(&Host::parse_address("203.0.113.7").unwrap()));
    assert!(HostPattern::parse("127.1").is_err());
}

#[test]
fn lists_intersect_by_meaning() {
    let list = |texts: &[&str]| texts.iter().map(|text| pattern(text)).collect::<Vec<_>>();
    for (left, right, both) in [
        (
            &["example.com", "uploads.example.net"][..],
            &["*.example.com", "uploads.example.net"][..],
            &["uploads.example.net"][..],
        ),
        (&["**.example.com"], &["*.a.example.com", "b.a.example.com"], &["*.a.example.com"]),
        (&["*.example.com"], &["**.a.example.com"], &[]),
        (&["a.example.com"], &[], &[]),
    ] {
        assert_eq!(HostPattern::intersect_lists(&list(left), &list(right)), list(both));
        assert_eq!(HostPattern::intersect_lists(&list(right), &list(left)), list(both));
    }
}

/// Every host with up to six labels a or b in front of example.com: three more than any pattern
/// of the strategy names, so that `*` and `**` can be told apart.
fn universe() -> Vec<Host> {
    let mut names = vec!["example.com".to_owned()];
    let mut from = 0;
    for _ in 0..6 {
        let end = names.len();
        for at in from..end {
            names.extend([format!("a.{}", names[at]), format!("b.{}", names[at])]);
        }
        from = end;
    }
    names.iter().map(|name| Host::parse(name).unwrap()).collect()
}

fn any_pattern() -> impl Strategy<Value = HostPattern> {
    ("(|\\*\\.|\\*\\*\\.)([ab]\\.){0,3}").prop_map(|head| pattern(&format!("{head}example.com")))
}

proptest! {
    #[test]
    fn algebra_agrees_with_trying_every_host(left in any_pattern(), right in any_pattern()) {
        let both = left.intersect(&right);
        let mut covered = true;
        for host in universe() {
            let expected = left.matches(&host) && right.matches(&host);
            prop_assert_eq!(both.as_ref().is_some_and(|both| both.matches(&host)), expected, "{}", host);
            covered &= left.matches(&host) || !right.matches(&host);
        }
        prop_assert_eq!(left.covers(&right), covered);
        prop_assert_eq!(&both, &right.intersect(&left));
        prop_assert_eq!(pattern(&left.to_string()), left);
    }
}
