//! Published ports: only the command line names them, and rules narrow them.

use names::Port;
use policy::{Action, Flags, Layer, Outcome, Publication, Publish, Request};

use crate::support::{
    authority, errors, outcome, request, resolved, verdict, with_owner, with_profile, with_project,
};

fn port(number: u16) -> Port {
    Port::try_from(number).unwrap()
}

fn publishing(request: Request<'static>) -> Request<'static> {
    let at = |outside, inside| Publication { outside: port(outside), port: port(inside) };
    let publish = vec![at(8080, 80), at(3000, 3000), at(3000, 3000)];
    Request { flags: Flags { publish, ..Flags::default() }, ..request }
}

#[test]
fn what_the_command_line_publishes_is_allowed_and_frozen() {
    let without = authority(request("offline"));
    let with = authority(publishing(request("offline")));
    assert_eq!(with.publish.len(), 2);
    assert_ne!(with.digest(), without.digest());
    for (published, other) in [(3000, 3001), (80, 8080)] {
        let decide = |number| with.decide(&Action::from(Publish { port: port(number) }));
        let allowed = decide(published);
        assert_eq!(allowed.outcome, Outcome::Allow);
        assert_eq!(allowed.decided_by[0].layer, Layer::Flags);
        assert_eq!(decide(other).outcome, Outcome::Deny);
    }
    insta::assert_snapshot!(verdict(&without, "publish 3000").explain(&Action::parse("publish 3000").unwrap()), @"
    publish 3000
      deny: no rule allows this connection inside
      decided by default publish, built-in pinned:13
      to allow it: start the run with --publish 3000
    ");
    let recorded = serde_json::to_string(&with).unwrap();
    assert_eq!(serde_json::from_str::<policy::Authority>(&recorded).unwrap(), with);
}

#[test]
fn a_rule_narrows_it_whoever_wrote_it() {
    let rule = |ports: &str, verdict: &str| {
        format!("[[rule]]\naction = \"publish\"\n{ports}verdict = \"{verdict}\"\n")
    };
    let owner =
        authority(with_owner(publishing(request("offline")), &rule("ports = [3000]\n", "deny")));
    assert_eq!(outcome(&owner, "publish 3000"), Outcome::Deny);
    assert_eq!(outcome(&owner, "publish 80"), Outcome::Allow);
    let project = authority(with_project(publishing(request("offline")), &rule("", "ask")));
    assert_eq!(outcome(&project, "publish 80"), Outcome::Ask);
    assert!(project.may_ask());
}

#[test]
fn no_file_publishes() {
    let allow = "[[rule]]\naction = \"publish\"\nports = [3000]\nverdict = \"allow\"\n";
    let default = "[defaults]\npublish = \"allow\"\n";
    insta::assert_snapshot!(errors(with_profile(allow)), @r"
    test.toml:4: rule.verdict: no rule publishes a port; --publish does, for one run
      fix: write ask or deny, or remove it
    ");
    insta::assert_snapshot!(errors(with_owner(request("offline"), default)), @r"
    ~/.loop/config.toml:2: defaults.publish: allow is looser than deny, which built-in pinned:13 says
      fix: leave it out, or allow what is needed by rules
    ");
    insta::assert_snapshot!(errors(with_project(request("offline"), allow)), @r"
    .loop/config.toml:4: rule.verdict: no rule publishes a port; --publish does, for one run
      fix: write ask or deny, or remove it
    ");
    let expected = "[[expect]]\naction = \"publish\"\nport = 3000\nverdict = \"deny\"\n";
    assert!(resolved(with_profile(expected)).authority.publish.is_empty());
}
