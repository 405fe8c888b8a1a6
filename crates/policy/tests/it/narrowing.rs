//! Whether requests over a connection have to be seen.

use names::{Host, Port};
use policy::{Action, Authority, Connect, Outcome};

use crate::support::{action, authority, outcome, request, with_owner, with_profile};

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
