//! Whether requests over a connection have to be seen.

use names::{Host, Port};
use policy::{Action, Authority, Connect, Outcome};

use crate::support::{action, authority, outcome, request, with_owner, with_profile, with_project};

fn to(host: &str, port: u16) -> Connect {
    Connect { host: Host::parse(host).unwrap(), port: Port::try_from(port).unwrap() }
}

fn of(text: &str) -> Authority {
    authority(with_profile(&format!("[profile]\nname = \"test\"\nextends = \"offline\"\n{text}")))
}

const OPEN: &str = "[[network]]\nhost = \"example.com\"\nports = [80, 443]\n";
const READ: &str = "[[network]]\nhost = \"*.example.com\"\nmethods = [\"GET\"]\n";

#[test]
fn a_grant_narrows_by_methods_and_paths() {
    assert!(!of(OPEN).narrows(&to("example.com", 443)));
    assert!(of(READ).narrows(&to("a.example.com", 443)));
    assert!(
        of("[[network]]\nhost = \"example.com\"\npaths = [\"/a/**\"]\n")
            .narrows(&to("example.com", 443))
    );
    // A wider grant for the same host leaves nothing to look for.
    let both = of(&format!("{READ}[[network]]\nhost = \"a.example.com\"\n"));
    assert!(!both.narrows(&to("a.example.com", 443)));
    assert!(both.narrows(&to("b.example.com", 443)));
    assert!(both.narrows(&to("a.example.com", 8080)));
}

#[test]
fn a_rule_about_requests_narrows() {
    for verdict in ["deny", "ask"] {
        let rule = format!(
            "{OPEN}[[rule]]\nid = \"r\"\naction = \"http\"\nhost = \"example.com\"\nports = [443]\n\
             methods = [\"POST\"]\nverdict = \"{verdict}\"\n"
        );
        let authority = of(&rule);
        assert!(authority.narrows(&to("example.com", 443)), "{verdict}");
        assert!(!authority.narrows(&to("example.com", 80)), "{verdict}");
    }
}

#[test]
fn the_registries_of_develop_are_narrowed() {
    let develop = authority(request("develop"));
    assert!(develop.narrows(&to("static.crates.io", 443)));
    let owner = "[[network]]\nhost = \"static.crates.io\"\n";
    let wider = authority(with_owner(request("develop"), owner));
    assert!(!wider.narrows(&to("static.crates.io", 443)));
}

/// What is not narrowed allows whatever is asked over it.
#[test]
fn what_is_not_narrowed_allows_every_request() {
    let authority = of(&format!("{OPEN}{READ}"));
    for (host, port) in [("example.com", 443), ("example.com", 80), ("a.example.com", 443)] {
        let connect = to(host, port);
        assert_eq!(authority.decide(&Action::from(connect.clone())).outcome, Outcome::Allow);
        let all = ["GET", "POST", "BREW"].iter().all(|method| {
            ["/", "/a/../b", "/a%2fb"].iter().all(|path| {
                let text = format!("http {method} {host}:{port}{path}");
                assert_eq!(action(&text).kind(), policy::Kind::Http);
                outcome(&authority, &text) == Outcome::Allow
            })
        });
        assert_eq!(all, !authority.narrows(&connect), "{host}:{port}");
    }
}

/// A rule that asks about a connection is a word about the connection. What is allowed over it
/// stays what the grant lists.
#[test]
fn an_asked_connection_stays_narrowed() {
    let asks = "[[rule]]\nid = \"a\"\naction = \"connect\"\nhost = \"**.example.com\"\nverdict = \"ask\"\n";
    let allows = "[[rule]]\nid = \"b\"\naction = \"http\"\nhost = \"a.example.com\"\n\
                  methods = [\"GET\"]\nverdict = \"allow\"\n";
    let connect = to("a.example.com", 443);
    for narrowing in [READ, allows] {
        let alone = of(narrowing);
        let asking = with_project(
            with_profile(&format!(
                "[profile]\nname = \"test\"\nextends = \"offline\"\n{narrowing}"
            )),
            asks,
        );
        for authority in [authority(asking), of(&format!("{narrowing}{asks}"))] {
            assert!(authority.narrows(&connect));
            assert_eq!(authority.decide(&Action::from(connect.clone())).outcome, Outcome::Ask);
            for request in ["GET", "POST"].map(|method| format!("http {method} a.example.com/x")) {
                assert_eq!(outcome(&authority, &request), outcome(&alone, &request), "{request}");
            }
        }
    }
    // Where nothing else allows it, the answer is for all of it.
    let only = of(asks);
    assert!(!only.narrows(&connect));
    assert_eq!(outcome(&only, "http POST a.example.com/x"), Outcome::Allow);
    // A grant of everything leaves nothing to look for.
    assert!(!of(&format!("{OPEN}{asks}")).narrows(&to("example.com", 443)));
}

/// Whoever asks about some paths does not open one that could be read as one of them.
#[test]
fn a_path_with_two_readings_is_never_asked_open() {
    let owner = "[[network]]\nhost = \"example.com\"\npaths = [\"/a/**\"]\n";
    let project = "[[rule]]\naction = \"http\"\nhost = \"example.com\"\nverdict = \"ask\"\n";
    let request = with_project(with_owner(request("offline"), owner), project);
    let authority = authority(request);
    assert_eq!(outcome(&authority, "http GET example.com/a/b"), Outcome::Ask);
    for path in ["/a/../c", "/a/%2e%2e/c", "/a%2fb", "/a//b", "/a/./b", "/a\\b", "/a/b;c", "//a/b"]
    {
        let text = format!("http GET example.com{path}");
        assert_eq!(outcome(&authority, &text), Outcome::Deny, "{path}");
    }
    // What is allowed anyway is asked about rather than let through.
    let asks = "[[network]]\nhost = \"example.com\"\n[[rule]]\naction = \"http\"\n\
                host = \"example.com\"\npaths = [\"/secret/**\"]\nverdict = \"ask\"\n";
    assert_eq!(outcome(&of(asks), "http GET example.com/a%2fb"), Outcome::Ask);
    assert_eq!(outcome(&of(asks), "http GET example.com/a/b"), Outcome::Allow);
}

/// What can be reached may be asked about, in one file: it says what it means.
#[test]
fn a_grant_and_a_question_about_it_are_no_contradiction() {
    for (kind, more) in [("connect", ""), ("connect", "ports = [443]\n"), ("http", "")] {
        let rule = format!(
            "[[rule]]\naction = \"{kind}\"\nhost = \"example.com\"\n{more}verdict = \"ask\"\n"
        );
        let authority = of(&format!("[[network]]\nhost = \"example.com\"\n{rule}"));
        assert_eq!(
            outcome(
                &authority,
                &format!("{kind} {}example.com", if kind == "http" { "GET " } else { "" })
            ),
            Outcome::Ask
        );
        assert_eq!(outcome(&authority, "resolve example.com"), Outcome::Allow);
    }
    let narrower = of("[[network]]\nhost = \"example.com\"\n[[rule]]\naction = \"http\"\n\
                       host = \"example.com\"\nmethods = [\"POST\"]\nverdict = \"deny\"\n");
    assert_eq!(outcome(&narrower, "http POST example.com/"), Outcome::Deny);
    assert_eq!(outcome(&narrower, "http GET example.com/"), Outcome::Allow);
}
