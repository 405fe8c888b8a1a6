//! The difference of two authorities, as people read it.

use policy::reach_diff;

use crate::support::{authority, request, with_owner, with_profile};

#[test]
fn nothing_differs_from_itself() {
    for name in policy::built_in_names() {
        assert!(reach_diff(&authority(request(name)), &authority(request(name))).is_empty());
    }
}

#[test]
fn from_offline_to_develop() {
    let diff = reach_diff(&authority(request("offline")), &authority(request("develop")));
    assert!(diff.lost.is_empty());
    insta::assert_snapshot!(diff);
}

#[test]
fn everything_a_profile_can_widen() {
    let before = r#"
        [workspace]
        mode = "read-only"
        [limits]
        memory = "1GiB"
        cpus = 1.5
        [[mount]]
        path = "/srv"
        [[network]]
        host = "example.com"
        methods = ["GET"]
        [environment]
        pass = ["A_*"]
        [sandbox]
        toolchains = false
        [[rule]]
        id = "no-publish"
        action = "exec"
        program = "cargo"
        args = ["publish", "**"]
        verdict = "deny"
    "#;
    let after = r#"
        [workspace]
        mode = "overlay"
        [limits]
        memory = "2GiB"
        [[mount]]
        path = "/srv/data"
        access = "write"
        [[network]]
        host = "**.example.com"
        max_bytes = "1GiB"
        [[network]]
        host = "example.com"
        methods = ["GET", "HEAD"]
        [environment]
        pass = ["A_B", "C"]
        [sandbox]
        user_namespaces = true
        [git]
        push = ["loop/**"]
        [[rule]]
        id = "ask-publish"
        action = "exec"
        program = "cargo"
        args = ["publish", "**"]
        verdict = "ask"
    "#;
    let diff = reach_diff(&authority(with_profile(before)), &authority(with_profile(after)));
    insta::assert_snapshot!(diff);
}

#[test]
fn a_denial_is_a_loss() {
    let plain = authority(request("develop"));
    let owner = "[[rule]]\nid = \"no-npm\"\naction = \"connect\"\nhost = \"registry.npmjs.org\"\n\
                 verdict = \"deny\"";
    let strict = authority(with_owner(request("develop"), owner));
    let diff = reach_diff(&plain, &strict);
    assert!(diff.gained.is_empty());
    assert_eq!(diff.to_string(), "- rule: no deny for connect registry.npmjs.org\n");
}

#[test]
fn what_an_action_writes_stays_inside_or_does_not() {
    use policy::{Action, Mode};
    let text = "[[mount]]\npath = \"/srv/out\"\naccess = \"write\"\n\
                [[mount]]\npath = \"/srv/copy\"\naccess = \"scratch\"\n";
    let mut run = crate::support::authority(crate::support::with_profile(text));
    let keeps =
        |run: &policy::Authority, text: &str| run.keeps_inside(&Action::parse(text).unwrap());
    for inside in [
        "exec git push",
        "open /home/ann/work/site/a write",
        "open /srv/out/a read",
        "open /srv/copy/a write",
        "open /srv/outer write",
    ] {
        assert!(keeps(&run, inside), "{inside}");
    }
    for outside in ["open /srv/out/a write", "connect example.com", "apply", "tool bash"] {
        assert!(!keeps(&run, outside), "{outside}");
    }
    run.mode = Mode::Direct;
    assert!(!keeps(&run, "open /home/ann/work/site/a write"));
    assert!(keeps(&run, "open /tmp/a write"));
}
