//! What rules say about pushes.

use names::{Host, ObjectId};
use policy::{Action, Outcome, RefMove};

use crate::support::{action, authority, outcome, with_profile};

const PROFILE: &str = "[git]\npush = [\"refs/heads/**\"]\n\
    [[rule]]\nid = \"main\"\naction = \"git-push\"\nrefs = [\"refs/heads/main\"]\nverdict = \"deny\"\n\
    [[rule]]\nid = \"site\"\naction = \"git-push\"\nrepository = \"ann/secret\"\nverdict = \"deny\"\n";

#[test]
fn what_is_denied_is_denied_in_every_case() {
    let authority = authority(with_profile(PROFILE));
    for denied in
        ["refs/heads/main", "refs/heads/MAIN", "refs/heads/Main.", "refs/heads/ma\u{200b}in"]
    {
        let Ok(push) = Action::parse(&format!("git-push github.com/ann/site {denied}")) else {
            continue;
        };
        assert_eq!(authority.decide(&push).outcome, Outcome::Deny, "{denied}");
    }
    let denied = "git-push github.com/Ann/SECRET refs/heads/x";
    assert_eq!(outcome(&authority, denied), Outcome::Deny);
    // What is allowed is allowed as it is written.
    assert_eq!(outcome(&authority, "git-push github.com/ann/site refs/heads/x"), Outcome::Allow);
    assert_eq!(outcome(&authority, "git-push github.com/ann/site refs/HEADS/x"), Outcome::Deny);
}

#[test]
fn a_host_that_pushes_could_go_to() {
    let host = |name| Host::parse(name).unwrap();
    let none = authority(with_profile("[git]\npush = []\n"));
    assert!(!none.may_push(&host("github.com"), None));
    let any = authority(with_profile(PROFILE));
    assert!(any.may_push(&host("github.com"), None));
    let one = authority(with_profile(
        "[[rule]]\nid = \"a\"\naction = \"git-push\"\nhost = \"github.com\"\n\
         repository = \"ann/*\"\nverdict = \"ask\"\n",
    ));
    assert!(one.may_push(&host("github.com"), Some("ann/site")));
    assert!(!one.may_push(&host("github.com"), Some("eve/site")));
    assert!(one.may_push(&host("github.com"), None) && !one.may_push(&host("gitlab.com"), None));
}

#[test]
fn an_approval_is_for_exactly_these_objects() {
    let Action::GitPush(push) = action("git-push github.com/ann/site refs/heads/x") else {
        panic!("a push")
    };
    let id = |digit: &str| ObjectId::parse(&digit.repeat(40)).unwrap();
    let moved = |new: &str| {
        let moves = Some(RefMove { old: id("0"), new: id(new) });
        Action::GitPush(policy::GitPush { moves, ..push.clone() })
    };
    assert_ne!(moved("1").digest(), moved("2").digest());
    let json = serde_json::to_value(moved("1")).unwrap();
    assert_eq!(json["moves"]["new"], "1".repeat(40));
    assert_eq!(serde_json::from_value::<Action>(json).unwrap(), moved("1"));
    let plain = serde_json::to_value(Action::GitPush(push.clone())).unwrap();
    assert!(plain.get("moves").is_none());
}
