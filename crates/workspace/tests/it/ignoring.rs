//! Ignored paths, against what Git says.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use workspace::{Flag, Selection};

use crate::overlay::Overlay;
use crate::permits::Person;
use crate::reading::read;

/// Which of `paths` Git ignores in a repository, whatever its index says.
#[expect(clippy::disallowed_methods, reason = "Git is the oracle")]
fn git_ignores(repository: &Path, paths: &[String]) -> BTreeSet<String> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "core.excludesFile=/dev/null"]).args(args).current_dir(repository);
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
        git
    };
    assert!(git(&["init", "-q"]).status().expect("git is needed").success());
    let mut check = git(&["check-ignore", "--no-index", "--stdin", "-z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = check.stdin.take().unwrap();
    input.write_all(paths.join("\0").as_bytes()).unwrap();
    drop(input);
    let output = check.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

fn rule() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        "*",
        "**",
        "?",
        "[ab]",
        "[!a]",
        "[a-c]x",
        "\\a",
        "\\*",
        "a*",
        "*b",
        "[[:alpha:]]",
        "**b",
        "[]a]",
        "[a",
        "\\ ",
        "a ",
    ]);
    let body = prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.join("/"));
    let sign = prop::sample::select(vec!["", "", "!", "/", "!/", "#", "\\!", "\\#"]);
    let tail = prop::sample::select(vec!["", "", "/", " ", "  ", "\\ ", "\r", "/**"]);
    (sign, body, tail).prop_map(|(sign, body, tail)| format!("{sign}{body}{tail}\n"))
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "ab", "cx", "*", "!a", "#a", "a ", "abb", "]"])
        .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn as_git_does(
        rules in prop::collection::vec((prop::sample::select(vec!["", "a/", "a/b/"]), prop::collection::vec(rule(), 0..5)), 0..4),
        exclude in prop::collection::vec(rule(), 0..2),
        files in prop::collection::vec(prop::collection::vec(name(), 1..5), 1..8),
    ) {
        let overlay = Overlay::new();
        for (dir, rules) in &rules {
            let dir = overlay.base().join(dir);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join(".gitignore"), rules.concat()).unwrap();
        }
        fs::create_dir_all(overlay.base().join(".git/info")).unwrap();
        fs::write(overlay.base().join(".git/info/exclude"), exclude.concat()).unwrap();
        for file in &files {
            if overlay.base().join(file.join("/")).is_dir() {
                continue;
            }
            let path = overlay.upper().join(file.join("/"));
            // A file may be in the way of a directory.
            let _made = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(path, "x"));
        }
        let set = read(&overlay);
        let paths: Vec<String> = set.entries().iter().map(|entry| entry.path.to_string()).collect();
        let flagged = set.entries().iter().filter(|entry| entry.flags.contains(&Flag::Ignored));
        let ours: BTreeSet<String> = flagged.map(|entry| entry.path.to_string()).collect();
        // Git looks at what is there to tell files from directories.
        for entry in set.entries() {
            let path = overlay.base().join(entry.path.as_path());
            let is_dir = matches!(entry.after, Some(workspace::Node::Dir { .. }));
            if is_dir { fs::create_dir_all(path).unwrap() } else { fs::write(path, "x").unwrap() }
        }
        prop_assert_eq!(ours, git_ignores(&overlay.base(), &paths));
    }
}

#[test]
fn what_is_ignored_stays_in_the_run_unless_it_is_named() {
    let overlay =
        Overlay::with(&[(".gitignore", "/target\n*.log\n"), ("src", "1\n"), ("target/old", "1\n")]);
    overlay.sh(
        "echo 2 > src; echo x > target/new; echo y > target/old; mkdir -p d; echo > d/a.log; echo > d/b
        echo '/made' > .gitignore; echo x > made",
    );
    let (set, person) = (read(&overlay), Person::new());
    let applied = person.apply(&overlay, &set, &Selection::all()).unwrap();
    let paths: Vec<_> = applied.paths.iter().map(ToString::to_string).collect();
    // Neither the rules that the run took away nor those that it added let anything through.
    assert_eq!(paths, [".gitignore", "d", "d/b", "src"]);
    person.undo(&overlay).unwrap();
    let named = Selection::all().with_flagged(vec![crate::permits::path("target")]);
    let applied = person.apply(&overlay, &set, &named).unwrap();
    assert!(applied.paths.contains(&crate::permits::path("target/new")));
}

#[test]
fn a_bare_repository_is_no_ordinary_directory() {
    let overlay = Overlay::with(&[("half/HEAD", "ref\n"), ("half/objects/x", "")]);
    overlay.sh(
        "mkdir -p evil/objects evil/refs evil/src half/refs; echo ref > evil/HEAD; echo x > evil/src/HEAD
        echo '[core] fsmonitor = evil' > evil/config; echo x > evil/readme",
    );
    let set = read(&overlay);
    let flag = Flag::Protected("bare repository".to_owned());
    let flagged = set.entries().iter().filter(|entry| entry.flags.contains(&flag));
    let flagged: Vec<_> = flagged.map(|entry| entry.path.to_string()).collect();
    assert_eq!(flagged, ["evil/HEAD", "evil/config", "evil/objects", "evil/refs", "half/refs"]);
}
