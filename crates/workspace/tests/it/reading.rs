//! What the change set says of particular changes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use workspace::{Caps, ChangeError, ChangeSet, Flag, Kind, Node, Protected, Special};
use workspace::{read_changes, read_changes_within};

use crate::overlay::Overlay;

pub(crate) fn read(overlay: &Overlay) -> ChangeSet {
    read_changes(&overlay.upper(), &overlay.base(), &Protected::default()).unwrap()
}

/// Each entry on a line: kind, path, flags, lines added and removed.
fn summary(set: &ChangeSet) -> Vec<String> {
    set.entries()
        .iter()
        .map(|entry| {
            let kind = match &entry.kind {
                Kind::Add => "add".to_owned(),
                Kind::Edit => "edit".to_owned(),
                Kind::Delete => "delete".to_owned(),
                Kind::Mode => "mode".to_owned(),
                Kind::Rename { from } => format!("rename {from} to"),
            };
            let flags: String = entry.flags.iter().map(|flag| format!(" {flag:?}")).collect();
            let stat = entry.stat.map(|s| format!(" +{} -{}", s.added, s.removed));
            format!("{kind} {}{flags}{}", entry.path, stat.unwrap_or_default())
        })
        .collect()
}

#[test]
fn nothing_done_is_nothing_changed() {
    let overlay = Overlay::with(&[("a", "1\n"), ("d/b", "2\n")]);
    overlay.sh("cat a d/b; touch a d/b d; chmod 600 a; mkdir x; rmdir x; echo 2 > y; rm y");
    assert_eq!(summary(&read(&overlay)), Vec::<String>::new());
}

#[test]
fn files_links_and_modes() {
    let overlay =
        Overlay::with(&[("edit", "1\n2\n"), ("gone", "x\ny\n"), ("run", "#!\n"), ("l", "")]);
    overlay.sh("echo 3 >> edit; rm gone; chmod +x run; mkdir -p new/dir; printf 'a\\nb' > new/file
        rm l; ln -s new/file l; truncate -s 5 zeros");
    assert_eq!(
        summary(&read(&overlay)),
        [
            "edit edit +1 -0",
            "delete gone +0 -2",
            "edit l +1 -0",
            "add new +0 -0",
            "add new/dir +0 -0",
            "add new/file +2 -0",
            "mode run +0 -0",
            "add zeros",
        ]
    );
}

#[test]
fn renames_join_only_when_unambiguous() {
    let overlay = Overlay::with(&[
        ("a", "one\n"),
        ("b", "two\n"),
        ("c", "two\n"),
        ("e", ""),
        ("d/x", "deep\n"),
    ]);
    overlay.sh("mkdir new; mv a new/a; mv b new/b; mv c new/c; mv e new/e; mv d new/d");
    assert_eq!(
        summary(&read(&overlay)),
        [
            "delete b +0 -1",
            "delete c +0 -1",
            "delete d +0 -0",
            "delete e +0 -0",
            "add new +0 -0",
            "rename a to new/a +0 -0",
            "add new/b +1 -0",
            "add new/c +1 -0",
            "add new/d +0 -0",
            "rename d/x to new/d/x +0 -0",
            "add new/e +0 -0",
        ]
    );
}

#[test]
fn directories_replaced() {
    let overlay = Overlay::with(&[
        ("d/a", "1"),
        ("d/s/b", "2"),
        ("f", "3"),
        ("o/keep", "4"),
        ("o/drop", "5"),
    ]);
    overlay.sh("rm -r d; echo file > d; rm f; mkdir f; echo in > f/in
        cp o/keep k; rm -r o; mkdir o; mv k o/keep; echo new > o/new");
    assert_eq!(
        summary(&read(&overlay)),
        [
            "edit d +1 -0",
            "delete d/a +0 -1",
            "delete d/s +0 -0",
            "delete d/s/b +0 -1",
            "edit f +0 -1",
            "add f/in +1 -0",
            "delete o/drop +0 -1",
            "add o/new +1 -0",
        ]
    );
}

/// Overlayfs marks only the topmost directory that was made in the place of another.
#[test]
fn directories_within_a_replaced_one() {
    let overlay = Overlay::with(&[("a/b/c/f", "1"), ("a/b/g", "2")]);
    overlay.sh("rm -r a; mkdir -p a/b/c; echo new > a/b/c/n");
    assert_eq!(
        summary(&read(&overlay)),
        ["delete a/b/c/f +0 -1", "add a/b/c/n +1 -0", "delete a/b/g +0 -1"]
    );
}

#[test]
fn what_the_host_would_trust_is_flagged() {
    let overlay =
        Overlay::with(&[("CLAUDE.md", "be good\n"), ("docs/ai.md", "x\n"), (".git/HEAD", "ref\n")]);
    symlink("docs/ai.md", overlay.base().join("AGENTS.md")).unwrap();
    overlay.sh("mkdir -p .vscode vendor/a/b/c/.git/hooks .loop
        echo x > .vscode/tasks.json; echo x > .envrc; echo x > .loop/config.toml
        echo x > vendor/a/b/c/.git/hooks/pre-commit; echo x >> .git/config; echo more >> CLAUDE.md
        echo more >> docs/ai.md; echo 'gitdir: x' > vendor/.git");
    let set = read(&overlay);
    let flagged = summary(&set).into_iter().filter(|line| !line.starts_with("add vendor/a "));
    assert_eq!(
        flagged.collect::<Vec<_>>(),
        [
            r#"add .envrc Protected("directory environment") +1 -0"#,
            "add .git/config GitMetadata +1 -0",
            r#"add .loop Protected("loop configuration") +0 -0"#,
            r#"add .loop/config.toml Protected("loop configuration") +1 -0"#,
            r#"add .vscode Protected("editor settings") +0 -0"#,
            r#"add .vscode/tasks.json Protected("editor settings") +1 -0"#,
            "edit CLAUDE.md InstructionFile +1 -0",
            "edit docs/ai.md InstructionFile +1 -0",
            "add vendor +0 -0",
            "add vendor/.git GitMetadata +1 -0",
            "add vendor/a/b +0 -0",
            "add vendor/a/b/c +0 -0",
            "add vendor/a/b/c/.git GitMetadata +0 -0",
            "add vendor/a/b/c/.git/hooks GitMetadata +0 -0",
            "add vendor/a/b/c/.git/hooks/pre-commit GitMetadata +1 -0",
        ]
    );
    let counts = set.counts();
    assert_eq!((counts.flagged, counts.git, counts.directories), (5, 3, 8));
    assert_eq!((counts.added, counts.edited), (3, 2));
}

#[test]
fn special_files_and_set_id() {
    let overlay = Overlay::with(&[("tool", "x\n")]);
    overlay.sh("mkfifo pipe; echo y > suid; chmod 4755 suid tool; chmod 2755 suid
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' || mkfifo sock");
    let set = read(&overlay);
    let flags =
        |name: &str| set.entries().iter().find(|e| e.path.as_bytes() == name.as_bytes()).unwrap();
    assert_eq!(flags("pipe").flags, [Flag::Fifo]);
    assert_eq!(flags("pipe").after, Some(Node::Special { what: Special::Fifo }));
    assert_eq!(flags("suid").flags, [Flag::SetId]);
    assert_eq!(flags("tool").flags, [Flag::SetId]);
    assert_eq!(flags("tool").kind, Kind::Mode);
    assert!(flags("sock").is_final());
}

#[test]
fn links_that_leave() {
    let overlay = Overlay::with(&[("a/b/f", ""), ("here", "")]);
    symlink("/etc", overlay.base().join("out")).unwrap();
    symlink("../..", overlay.base().join("a/b/up")).unwrap();
    let inside = overlay.base().join("here");
    overlay.sh(&format!(
        "ln -s /etc/passwd l1; ln -s ../../x a/l2; ln -s out/passwd l3; ln -s up/../x a/b/l4
        ln -s here l5; ln -s ../here a/l6; ln -s {} l7; ln -s l8 l8; ln -s nowhere l9
        ln -s a/b/up/here la; ln -s .git/hooks lb; printf x > lc; rm lc; ln -s \"$(printf 'a\\033b')\" lc",
        inside.to_str().unwrap()
    ));
    let set = read(&overlay);
    let of = |flag: &Flag| -> Vec<String> {
        let having = set.entries().iter().filter(|entry| entry.flags.contains(flag));
        having.map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(of(&Flag::LeavesRoot), ["a/b/l4", "a/l2", "l1", "l3", "l8"]);
    assert_eq!(of(&Flag::Protected("git metadata".to_owned())), ["lb"]);
    assert_eq!(of(&Flag::InvisibleCharacters), ["lc"]);
}

#[test]
fn invisible_characters() {
    let overlay = Overlay::with(&[("old", "a\u{202e}b\n")]);
    overlay.sh("printf 'x\\n' >> old; printf 'a\\342\\200\\256b' > new; : > \"$(printf 'n\\342\\200\\213')\"; : > \"$(printf 'n\\nl')\"");
    assert_eq!(
        summary(&read(&overlay)),
        [
            "add n%0Al InvisibleCharacters +0 -0",
            "add new InvisibleCharacters +1 -0",
            "add n\u{200b} InvisibleCharacters +0 -0",
            "edit old +1 -0",
        ]
    );
}

#[test]
fn what_its_owner_closed_is_read_and_closed_again() {
    let overlay = Overlay::with(&[("d/f", "1")]);
    overlay.sh("echo 2 > d/f; mkdir n; echo 3 > n/g; chmod 000 n/g; chmod 000 n; chmod 000 d/f; chmod 111 d");
    assert_eq!(summary(&read(&overlay)), ["edit d/f +1 -1", "add n +0 -0", "add n/g +1 -0"]);
    let mode =
        |name: &str| fs::symlink_metadata(overlay.upper().join(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode("d"), mode("n")), (0o111, 0));
}

#[test]
fn hard_links_are_two_files_and_holes_are_zeros() {
    let overlay = Overlay::with(&[("a", "1\n")]);
    overlay.sh("ln a b; echo 2 >> a; truncate -s 64M hole");
    let set = read(&overlay);
    assert_eq!(summary(&set), ["edit a +1 -0", "add b +2 -0", "add hole"]);
    let size = |node: &Option<Node>| match node {
        Some(Node::File { size, .. }) => *size,
        _ => 0,
    };
    assert_eq!(size(&set.entries()[2].after), 64 << 20);
}

#[test]
fn cost_follows_the_change_not_the_base() {
    let few = Overlay::new();
    let many = Overlay::new();
    for (overlay, count) in [(&few, 1), (&many, 1_000)] {
        for dir in 0..100 {
            let dir = overlay.base().join(format!("d{dir}"));
            fs::create_dir(&dir).unwrap();
            // Names of one file: a hundred thousand inodes would only take longer to make.
            fs::write(dir.join("f0"), "x\n").unwrap();
            for file in 1..count {
                fs::hard_link(dir.join("f0"), dir.join(format!("f{file}"))).unwrap();
            }
        }
        overlay.sh("echo y > d7/f0; rm d8/f0; mkdir d9/new; echo z > d9/new/f");
    }
    let cost = |overlay: &Overlay| {
        let protect = Protected::default();
        let read =
            read_changes_within(&overlay.upper(), &overlay.base(), &protect, Caps::default());
        let (set, cost) = read.unwrap();
        assert_eq!(set.entries().len(), 4);
        cost
    };
    assert_eq!(cost(&few), cost(&many));
    // The root, three directories of the base with a change, and one new.
    assert_eq!(cost(&many).listings, 5);
}

#[test]
fn caps_refuse_the_whole() {
    let overlay = Overlay::new();
    overlay.sh("mkdir -p a/b/c; truncate -s 1M f");
    let read = |caps| {
        let protect = Protected::default();
        read_changes_within(&overlay.upper(), &overlay.base(), &protect, caps).map(drop)
    };
    let all = Caps::default();
    assert!(read(all).is_ok());
    assert!(
        matches!(read(Caps { depth: 2, ..all }), Err(ChangeError::Depth { path, .. }) if path == "a/b/c")
    );
    assert!(matches!(read(Caps { entries: 3, ..all }), Err(ChangeError::Entries { max: 3 })));
    assert!(matches!(read(Caps { paths: 8, ..all }), Err(ChangeError::Paths { max: 8 })));
    assert!(
        matches!(read(Caps { contents: 1000, ..all }), Err(ChangeError::Contents { path, .. }) if path == "f")
    );
}
