//! Actions in words, as data and as digests.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use names::Digest;
use policy::{Action, Exec, FileAccess, Kind, Open, Place};

use crate::support::{action, authority, with_profile};

#[test]
fn words_are_read() {
    let shown = |text: &str| action(text).to_string();
    assert_eq!(shown("exec git push origin main"), "exec /usr/bin/git push origin main");
    assert_eq!(shown("exec /opt/x 'a b' \"\" c\\ d"), "exec /opt/x 'a b' '' 'c d'");
    assert_eq!(shown("open ~/x"), "open /root/x read");
    assert_eq!(shown("open ./x/./y write"), "open /x/y write");
    assert_eq!(shown("mount /srv scratch"), "mount /srv scratch");
    assert_eq!(shown("connect WWW.Example.COM."), "connect www.example.com:443");
    assert_eq!(shown("connect example.com:22"), "connect example.com:22");
    assert_eq!(shown("connect 203.0.113.7:80"), "connect 203.0.113.7:80");
    assert_eq!(shown("connect [2001:db8::1]:80"), "connect 2001:db8::1:80");
    assert_eq!(shown("resolve example.com"), "resolve example.com");
    assert_eq!(shown("http GET https://example.com/a/b?c"), "http GET example.com:443/a/b?c");
    assert_eq!(
        shown("git-push https://github.com/ann/site.git main force"),
        "git-push github.com/ann/site refs/heads/main force"
    );
    assert_eq!(shown("docker container/create alpine"), "docker container/create alpine");
    assert_eq!(shown("docker version"), "docker version");
    assert_eq!(shown("lease github api.github.com"), "lease github api.github.com:443");
    assert_eq!(shown("tool bash"), "tool bash");
    assert_eq!(shown("apply 261129-k7m2qd AGENTS.md"), "apply 261129-k7m2qd AGENTS.md");
    assert_eq!(shown("undo 261129-k7m2qd"), "undo 261129-k7m2qd");
}

#[test]
fn relative_paths_are_read_where_they_are_said() {
    let place = Place { cwd: "/home/ann/site".into(), home: "/home/ann".into() };
    let at = |text: &str| Action::parse_at(text, &place).unwrap().to_string();
    assert_eq!(at("open src/lib.rs"), "open /home/ann/site/src/lib.rs read");
    assert_eq!(at("exec ./run.sh"), "exec /home/ann/site/run.sh");
    assert_eq!(at("open ~/.ssh/id"), "open /home/ann/.ssh/id read");
}

#[test]
fn what_is_no_action_is_told() {
    let texts = [
        "",
        "exce ls",
        "frobnicate",
        "exec",
        "open",
        "open /a wirte",
        "connect",
        "connect example.com:0",
        "connect example.com:65537",
        "connect evil@example.com",
        "connect com",
        "connect 127.1",
        "http GET",
        "git-push github.com main",
        "git-push github.com/ann/site a..b",
        "lease github",
        "exec 'a",
        "apply not-a-run",
    ];
    let mut told = String::new();
    for text in texts {
        let error = Action::parse(text).unwrap_err();
        told += &format!("{text:?}\n  {error}\n  fix: {}\n", error.fix());
    }
    insta::assert_snapshot!(told);
}

#[test]
fn records_are_exact() {
    let program = OsString::from_vec(b"/x/\xff%\n".to_vec());
    let exec = Action::Exec(Exec::new(program, vec!["a\u{0}b".into()], "/"));
    let bytes = names::canonical::to_vec(&exec).unwrap();
    assert_eq!(
        String::from_utf8(bytes.clone()).unwrap(),
        r#"{"action":"exec","args":["a\u0000b"],"cwd":"/","program":"/x/%FF%25%0A"}"#
    );
    assert_eq!(names::canonical::parse::<Action>(&bytes).unwrap(), exec);
    assert_eq!(exec.to_string(), r"exec /x/\xff%\n a\x00b");
}

#[test]
fn digests_tell_actions_apart() {
    let texts = [
        "exec ls",
        "exec ls ''",
        "exec ls a b",
        "exec ls 'a b'",
        "open /usr/bin/ls",
        "tool ls",
        "connect example.com",
        "resolve example.com",
        "lease ls example.com",
    ];
    let digests: std::collections::BTreeSet<_> =
        texts.iter().map(|text| action(text).digest()).collect();
    assert_eq!(digests.len(), texts.len());
    assert_eq!(action("exec ls").digest(), action("exec /usr/bin/ls").digest());
}

#[test]
fn what_a_file_will_hold_is_bound_and_decides_nothing() {
    let open = |content| {
        let path = "/home/ann/site/.git/config".into();
        Action::Open(Open { path, access: FileAccess::Write, content })
    };
    let holding = |bytes: &[u8]| open(Some(Digest::of(bytes)));
    let plain = names::canonical::to_vec(&open(None)).unwrap();
    assert_eq!(
        String::from_utf8(plain).unwrap(),
        r#"{"access":"write","action":"open","path":"/home/ann/site/.git/config"}"#
    );
    let bytes = names::canonical::to_vec(&holding(b"a")).unwrap();
    assert_eq!(names::canonical::parse::<Action>(&bytes).unwrap(), holding(b"a"));
    let digests = [open(None), holding(b"a"), holding(b"b")].map(|open| open.digest());
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    let guarding = authority(with_profile(
        "[[rule]]\naction = \"open\"\npath = \"**/.git/config\"\nverdict = \"ask\"\n",
    ));
    assert_eq!(guarding.decide(&open(None)), guarding.decide(&holding(b"a")));
}

#[test]
fn every_kind_has_its_word() {
    for kind in Kind::ALL {
        assert_eq!(Kind::of_word(kind.word()), Some(kind));
        let json = serde_json::to_string(&kind).unwrap();
        assert_eq!(json, format!("\"{kind}\""));
    }
}
