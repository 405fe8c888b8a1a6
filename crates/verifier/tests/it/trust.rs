//! Trust files: what each says, and every way to be wrong.

use ledger::{Outcome, SigningKey};
use verifier::read_trust;

fn public(seed: u8) -> String {
    SigningKey::generate([seed; 32]).verifying().to_text().trim_end().to_owned()
}

fn entry(name: &str, seed: u8, more: &str) -> String {
    format!("[[key]]\nname = \"{name}\"\npublic = \"{}\"\n{more}", public(seed))
}

#[test]
fn what_a_key_may_sign_for_is_read() {
    let text = [
        entry("ada", 1, ""),
        entry(
            "ci",
            2,
            "projects = [\"**/parser\", \"/srv/*/web\"]\noutcomes = [\"verified\"]\n\
             until = 2027-01-31\n",
        ),
        entry(
            "old",
            3,
            "until = 2026-11-20T12:00:00Z\n\
             revoked = { on = 2026-11-20, why = \"the laptop was stolen\" }\n",
        ),
        entry("witness", 4, "outcomes = []\n"),
    ]
    .concat();
    let keys = read_trust(&text, "trust.toml").unwrap();
    assert!(keys[0].projects.is_none() && keys[0].outcomes.is_none() && keys[0].until.is_none());
    assert_eq!(keys[1].outcomes, Some(vec![Outcome::Verified]));
    assert_eq!(keys[1].until.unwrap().to_string(), "2027-01-31T23:59:59.999Z");
    let may =
        |project: &str| keys[1].projects.as_ref().unwrap().iter().any(|it| it.matches(project));
    assert!(may("/home/ada/src/parser") && may("/parser") && may("/srv/www/web"));
    assert!(!may("/home/ada/parser2") && !may("/srv/a/b/web") && !may("/srv/web"));
    let revoked = keys[2].revoked.as_ref().unwrap();
    assert_eq!(revoked.on.to_string(), "2026-11-20T00:00:00.000Z");
    assert_eq!(revoked.why, "the laptop was stolen");
    assert_eq!(keys[3].outcomes, Some(vec![]));
    assert_eq!(read_trust("", "trust.toml").unwrap(), []);
}

#[test]
fn a_pattern_matches_whole_names() {
    let matches = |pattern: &str, project: &str| {
        ledger::ProjectPattern::parse(pattern).unwrap().matches(project)
    };
    for (pattern, project, is) in [
        ("/a/b", "/a/b", true),
        ("/a/b", "/a/b/c", false),
        ("/a/**", "/a/b/c", true),
        ("/a/**", "/a", true),
        ("/**/c", "/a/b/c", true),
        ("/**/c", "/c", true),
        ("/a/*-x-*", "/a/1-x-2", true),
        ("/a/*-x-*", "/a/1-x2", false),
        ("/a/x*x", "/a/x", false),
        ("/a/*", "/a/", true),
        ("**/b", "/a/b", true),
        ("**/b", "/ab", false),
    ] {
        assert_eq!(matches(pattern, project), is, "{pattern} {project}");
    }
    for bad in ["", "a", "a/b", "~/a", "/a//b", "/a/", "/a/../b", "/a/./b", "/a/**b", "*/b"] {
        assert!(ledger::ProjectPattern::parse(bad).is_err(), "{bad}");
    }
}

/// Every fault at once, each with its line and what to do.
#[test]
fn a_wrong_file_is_refused_with_every_line() {
    let text = format!(
        "trusted = 1\n\
         [[key]]\n\
         name = 7\n\
         friend = true\n\
         [[key]]\n\
         name = \"a\"\n\
         public = \"loop-ed25519 AAAA\"\n\
         [[key]]\n\
         name = \"b\"\n\
         public = \"{secret}\"\n\
         projects = [\"parser\"]\n\
         outcomes = [\"good\"]\n\
         until = \"2027-01-01\"\n\
         revoked = {{ on = 2026-11-20 }}\n\
         [[key]]\n\
         name = \"c\"\n\
         public = \"{one}\"\n\
         until = 2027-01-01T00:00:00+01:00\n",
        secret = SigningKey::generate([9; 32]).to_text().expose().trim_end(),
        one = public(1),
    );
    let faults = read_trust(&text, "trust.toml").unwrap_err();
    insta::assert_snapshot!(faults, @r#"
    trust.toml:1: unknown key `trusted`; the file has only [[key]]
    trust.toml:2: `public` is missing; add the line of `loop key show`
    trust.toml:3: `name` is no text; write it in quotes
    trust.toml:4: unknown key `friend`; [[key]] has only name, public, projects, outcomes, until, revoked
    trust.toml:7: not a key: its base64 is not 32 bytes; write the line that `loop key show` prints
    trust.toml:10: this is a secret key; a public key is expected here; write the line that `loop key show` prints
    trust.toml:11: the project "parser" is neither an absolute path nor begins with `**/`; write `/home/ada/parser`, `/home/*/parser` or `**/parser`
    trust.toml:12: "good" is no outcome; write one of verified, unverified, failed, stopped
    trust.toml:13: `until` is no date and no time in UTC; write 2026-11-20 or 2026-11-20T12:00:00Z, without quotes
    trust.toml:14: `revoked` says not when and why; write `revoked = { on = 2026-11-20, why = "…" }`
    trust.toml:18: `until` is no date and no time in UTC; write 2026-11-20 or 2026-11-20T12:00:00Z, without quotes
    "#);
    let secret = SigningKey::generate([9; 32]).to_text().expose()[20..].trim_end().to_owned();
    assert!(!faults.to_string().contains(&secret));
}

#[test]
fn entries_that_contradict_each_other_are_named() {
    let told = |text: &[String]| read_trust(&text.concat(), "t").unwrap_err().to_string();
    let same_key = told(&[entry("a", 1, ""), entry("b", 1, "outcomes = []\n")]);
    assert_eq!(
        same_key,
        "t:4: the key is that of \"a\", too; say everything about a key in one entry"
    );
    let same_name = told(&[entry("a", 1, ""), entry("a", 2, "")]);
    assert_eq!(same_name, "t:4: two keys are called \"a\"; give each a name of its own");
    assert!(told(&["[[key]\n".to_owned()]).starts_with("t:1: "));
    assert!(told(&["key = 1\n".to_owned()]).contains("write `[[key]]`"));
    assert!(told(&["key = [1]\n".to_owned()]).contains("is no table"));
    let long = "#".repeat(verifier::LONGEST + 1);
    assert!(told(&[long]).contains("at most"));
}
