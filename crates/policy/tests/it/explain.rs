//! Verdicts as people read them, and the corners of evaluation.

use policy::{Authority, Outcome};

use crate::support::{action, authority, outcome, request, verdict, with_owner, with_profile};

fn explained(authority: &Authority, texts: &[&str]) -> String {
    let explain = |text: &&str| {
        let action = action(text);
        authority.decide(&action).explain(&action)
    };
    texts.iter().map(explain).collect::<Vec<_>>().join("\n")
}

const PROFILE: &str = r#"
[profile]
name = "team"
extends = "develop"

[git]
push = ["loop/**"]

[[network]]
host = "api.example.com"
ports = [443]
methods = ["GET", "POST"]
paths = ["/v1/**"]

[[rule]]
id = "ask-before-publish"
action = "exec"
program = "cargo"
args = ["publish", "**"]
verdict = "ask"
reason = "publishing can't be undone"

[[rule]]
id = "cargo-is-fine"
action = "exec"
program = "cargo"
verdict = "allow"

[[rule]]
action = "open"
path = "~/.ssh/**"
verdict = "deny"

[[rule]]
id = "no-delete"
action = "http"
host = "api.example.com"
paths = ["/v1/admin/**"]
verdict = "deny"
reason = "administration is for people"
"#;

#[test]
fn by_rules() {
    let team = authority(with_profile(PROFILE));
    insta::assert_snapshot!(explained(
        &team,
        &[
            "exec cargo publish --dry-run",
            "exec cargo build",
            "open /home/ann/.ssh/id_ed25519 read",
            "http GET api.example.com/v1/admin/users",
            "git-push github.com/ann/site loop/fix",
            "connect 169.254.169.254:80",
            "mount /run/docker.sock write",
        ]
    ));
}

#[test]
fn by_default() {
    let team = authority(with_profile(PROFILE));
    insta::assert_snapshot!(explained(
        &team,
        &[
            "exec ls",
            "open /etc/passwd",
            "connect example.org:8443",
            "resolve example.org",
            "http PUT example.org/x",
            "git-push github.com/ann/site main",
            "docker container/create alpine",
            "lease github api.github.com",
            "tool bash",
            "apply 261129-k7m2qd",
            "mount /srv",
        ]
    ));
}

/// What a verdict tells to add does allow the action when it is added.
#[test]
fn remedies_work() {
    let closed = "[defaults]\nexec = \"deny\"\nopen = \"ask\"\nmount = \"deny\"\napply = \"deny\"\n\
                  undo = \"deny\"\n";
    let before = authority(with_profile(closed));
    for text in [
        "exec 'a b'",
        "open '/a \"b\" c' write",
        "open /a",
        "mount /srv scratch",
        "connect example.org:8443",
        "connect 203.0.113.7:80",
        "resolve example.org",
        "http PUT example.org:80/x",
        "git-push github.com/ann/site main create",
        "git-push github.com/ann/site main force",
        "git-push github.com/ann/site refs/tags/v1 delete",
        "docker container/create library/alpine:3",
        "docker version",
        "tool bash",
        "apply",
        "undo",
    ] {
        let refused = verdict(&before, text);
        assert_ne!(refused.outcome, Outcome::Allow, "{text}");
        let remedy = refused.remedy.unwrap_or_else(|| panic!("{text} has a remedy"));
        let (_, added) = remedy.split_once(" with ").unwrap();
        let added = added
            .replacen("] ", "]\n", 1)
            .replace("\", ", "\"\n")
            .replace("], ", "]\n")
            .replace("', ", "'\n");
        let owner_only = text.contains("203.0.113.7");
        let after = if owner_only {
            authority(with_owner(with_profile(closed), &added))
        } else {
            authority(with_profile(&format!("{closed}{added}")))
        };
        assert_eq!(outcome(&after, text), Outcome::Allow, "{text}: {added}");
    }
}

#[test]
fn near_misses_name_what_is_lacking() {
    let team = authority(with_profile(PROFILE));
    insta::assert_snapshot!(explained(
        &team,
        &[
            "connect api.example.com:22",
            "http DELETE api.example.com/v1/x",
            "http GET api.example.com/v2/x",
            "http GET api.example.com:80/v1/x",
        ]
    ));
}

#[test]
fn what_is_not_plain_is_denied() {
    let team = authority(with_profile(PROFILE));
    insta::assert_snapshot!(explained(
        &team,
        &["open /a/../b", "exec /usr/bin/../x", "mount /srv/../run"]
    ));
}

#[test]
fn hostile_text_is_inert() {
    let team = authority(with_profile(PROFILE));
    let shown = explained(&team, &["exec ls 'a\n  allow: yes\u{1b}[31m\u{202e}'"]);
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

#[test]
fn a_default_can_be_made_stricter() {
    let text = r#"
        [defaults]
        exec = "deny"
        open = "ask"
        [[rule]]
        id = "only-make"
        action = "exec"
        program = "/usr/bin/make"
        verdict = "allow"
    "#;
    let strict = authority(with_profile(text));
    assert_eq!(outcome(&strict, "exec make"), Outcome::Allow);
    assert_eq!(outcome(&strict, "exec /tmp/make"), Outcome::Deny);
    assert_eq!(outcome(&strict, "open /x"), Outcome::Ask);
    assert_eq!(strict.needs()[0].gate, policy::Gate::SyscallGate);
    insta::assert_snapshot!(explained(&strict, &["exec ls", "open /x"]));
}

#[test]
fn unclear_url_paths_fall_to_the_strict_side() {
    let team = authority(with_profile(PROFILE));
    assert_eq!(outcome(&team, "http GET api.example.com/v1/x"), Outcome::Allow);
    assert_eq!(outcome(&team, "http GET api.example.com/v1/x?next=/../.."), Outcome::Allow);
    for path in [
        "/v1/%61dmin/users",
        "/v1/x/../admin",
        "/v1//admin",
        "/v1/x%2f..%2fadmin",
        "/v1/x;y",
        "/v1/%2e%2e/v2",
    ] {
        let unclear = verdict(&team, &format!("http GET api.example.com{path}"));
        assert_eq!(unclear.outcome, Outcome::Deny, "{path}");
        assert_eq!(unclear.decided_by[0].rule, "no-delete", "{path}");
    }
}

#[test]
fn rules_about_connections_carry_names_and_requests() {
    let text = r#"
        [[rule]]
        id = "ask-example"
        action = "connect"
        host = "example.com"
        ports = [443]
        verdict = "ask"
        [[rule]]
        id = "no-evil"
        action = "connect"
        host = "**.evil.org"
        verdict = "deny"
        [[rule]]
        id = "ask-post"
        action = "http"
        host = "api.example.net"
        methods = ["POST"]
        verdict = "ask"
    "#;
    let asking = authority(with_profile(text));
    for (text, expected) in [
        ("connect example.com", Outcome::Ask),
        ("connect example.com:80", Outcome::Deny),
        ("resolve example.com", Outcome::Allow),
        ("http GET example.com/", Outcome::Allow),
        ("resolve a.evil.org", Outcome::Deny),
        ("connect api.example.net", Outcome::Allow),
        ("resolve api.example.net", Outcome::Allow),
        ("http POST api.example.net/", Outcome::Ask),
        ("http GET api.example.net/", Outcome::Deny),
    ] {
        assert_eq!(outcome(&asking, text), expected, "{text}");
    }
    let gates: Vec<_> = asking.needs().into_iter().map(|need| need.gate).collect();
    assert_eq!(gates, [policy::Gate::Egress]);
}

#[test]
fn push_grants_neither_force_nor_delete() {
    let team = authority(with_profile(PROFILE));
    for (text, expected) in [
        ("git-push github.com/ann/site loop/a/b create", Outcome::Allow),
        ("git-push github.com/ann/site loop/a update", Outcome::Allow),
        ("git-push github.com/ann/site loop/a force", Outcome::Deny),
        ("git-push github.com/ann/site loop/a delete", Outcome::Deny),
        ("git-push github.com/ann/site main", Outcome::Deny),
        ("git-push github.com/ann/site refs/tags/loop", Outcome::Deny),
        ("git-push github.com/ann/site LOOP/a", Outcome::Deny),
    ] {
        assert_eq!(outcome(&team, text), expected, "{text}");
    }
}

#[test]
fn flagged_applies_can_have_their_own_rule() {
    let text = r#"
        [[rule]]
        id = "no-flagged"
        action = "apply"
        flagged = true
        verdict = "deny"
        reason = "flagged entries are reviewed elsewhere"
    "#;
    let strict = authority(with_owner(request("offline"), text));
    assert_eq!(outcome(&strict, "apply 261129-k7m2qd"), Outcome::Allow);
    assert_eq!(outcome(&strict, "apply 261129-k7m2qd AGENTS.md"), Outcome::Deny);
}

#[test]
fn an_authority_without_a_default_denies() {
    let mut bare = authority(request("offline"));
    bare.defaults.clear();
    for text in ["exec ls", "open /x", "apply", "connect example.com"] {
        assert_eq!(outcome(&bare, text), Outcome::Deny, "{text}");
    }
}

#[test]
fn an_unclear_path_has_no_remedy() {
    let text = "[[network]]\nhost = \"api.example.com\"\npaths = [\"/v1/**\"]";
    let narrow = authority(with_profile(text));
    let refused = verdict(&narrow, "http GET api.example.com/v1/x/../y");
    assert_eq!(refused.reason, "a server may read the path in more than one way");
    assert_eq!(refused.remedy, None);
}
