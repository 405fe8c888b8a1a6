//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use std::path::PathBuf;

use crate::{
    Action, Authority, Flags, Layer, NoLibrary, Outcome, Place, ProfileErrors, Request, Resolved,
    Source, Trust, reach_diff, resolve,
};

/// Actions that no text can allow.
const NEVER: &[&str] = &[
    "connect 169.254.169.254:80",
    "mount /run/docker.sock write",
    "mount /proc",
    "open /a/../b write",
];

/// Actions about which a project must not change an owner's denial.
const SOME: &[&str] = &[
    "exec /usr/bin/cargo publish --dry-run",
    "open /home/ann/.ssh/id write",
    "connect example.com:443",
    "resolve a.example.com",
    "http GET example.com/a/b",
    "http POST example.com/a/%2e%2e/b",
    "git-push github.com/ann/site main force",
    "docker container/create alpine",
    "lease github api.github.com",
    "tool bash",
    "mount /srv write",
    "apply 261129-k7m2qd AGENTS.md",
];

/// Whatever a text is taken for, it resolves or says what is wrong; what is compiled in holds; an
/// untrusted project changes nothing, and a trusted one no denial.
pub fn fuzz_profile(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let source =
        || Source { layer: Layer::Named, name: "fuzz.toml".to_owned(), text: text.to_owned() };
    let base = || Request {
        profile: None,
        profile_name: "offline".to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/site"),
        subject: "ann".to_owned(),
        library: &NoLibrary,
    };
    check(resolve(Request { profile: Some(source()), ..base() }));
    let owner = check(resolve(Request { owner: Some(source()), ..base() }));
    check(resolve(Request { project: Some((source(), Trust::Trusted)), ..base() }));
    let plain = check(resolve(base())).map(|resolved| resolved.authority);
    let untrusted =
        check(resolve(Request { project: Some((source(), Trust::Untrusted)), ..base() }));
    assert_eq!(untrusted.map(|resolved| resolved.authority), plain);
    if let Some(owner) = owner {
        under(&owner.authority, Request { owner: Some(source()), ..base() });
    }
    if let Ok(action) = Action::parse(text) {
        let place = Place { cwd: "/".into(), home: "/root".into() };
        assert!(!action.to_string().chars().any(char::is_control));
        assert!(plain.is_some_and(|plain| !plain.decide(&action).decided_by.is_empty()));
        let _ = Action::parse_at(text, &place).map(|again| assert_eq!(again, action));
    }
}

/// Holds a project that wants everything against the owner's denials.
fn under(owner: &Authority, request: Request<'_>) {
    const GREEDY: &str = r#"
        network = [{ host = "example.com" }, { host = "**.example.com", ports = [22, 443] }]
        mount = [{ path = "/srv", access = "write" }]
        git = { push = ["**"] }
        rule = [
            { action = "exec", verdict = "allow" },
            { action = "open", path = "**", verdict = "allow" },
        ]
    "#;
    let greedy =
        Source { layer: Layer::Project, name: "project".to_owned(), text: GREEDY.to_owned() };
    let project = Some((greedy, Trust::Trusted));
    let Some(resolved) = check(resolve(Request { project, ..request })) else { return };
    for text in SOME {
        let Ok(action) = Action::parse(text) else { unreadable(text) };
        let before = owner.decide(&action);
        let by_owner = before.decided_by.iter().any(|cause| cause.layer == Layer::Owner);
        if before.outcome == Outcome::Deny && by_owner {
            assert_eq!(resolved.authority.decide(&action).outcome, Outcome::Deny, "{text}");
        }
    }
}

fn check(result: Result<Resolved, ProfileErrors>) -> Option<Resolved> {
    match result {
        Ok(resolved) => {
            hold(&resolved.authority);
            Some(resolved)
        }
        Err(errors) => {
            assert!(!errors.errors().is_empty());
            for error in errors.errors() {
                assert!(!error.fix().is_empty(), "{error}");
                let shown = error.to_string();
                assert!(!shown.chars().any(char::is_control), "{shown:?}");
            }
            None
        }
    }
}

fn hold(authority: &Authority) {
    for text in NEVER {
        let Ok(action) = Action::parse(text) else { unreadable(text) };
        assert_eq!(authority.decide(&action).outcome, Outcome::Deny, "{text}");
    }
    assert!(!authority.environment.passes("LD_PRELOAD"));
    assert!(reach_diff(authority, authority).is_empty());
    if let Ok(bytes) = names::canonical::to_vec(authority) {
        assert_eq!(names::canonical::parse(&bytes).ok().as_ref(), Some(authority));
    }
}

#[expect(clippy::panic, reason = "the texts are this file's own")]
fn unreadable(text: &str) -> ! {
    panic!("{text} is an action")
}
