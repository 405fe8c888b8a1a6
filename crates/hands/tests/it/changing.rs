//! write, edit, patch.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use hands::proposal::{Proposal, Replacement};
use names::Digest;

use crate::client::{Hands, bash};

crate::tests!(
    a_file_is_written_with_its_parents,
    only_what_was_read_is_replaced,
    a_replaced_file_keeps_mode_and_link,
    what_is_no_file_is_not_written,
    an_edit_is_exact,
    a_file_that_changed_is_not_edited,
    what_is_no_text_is_not_edited,
    a_patch_changes_many_files,
    a_unified_diff_is_applied,
    what_git_diffs_is_applied,
    a_patch_is_all_or_nothing,
    a_patch_that_does_not_fit_says_where,
    what_is_no_patch_says_where,
    nothing_is_left_beside_a_file,
);

fn write(path: &str, content: &str, expected: Option<Digest>) -> Proposal {
    Proposal::Write { path: path.into(), content: content.into(), expected }
}

fn edit(path: &str, old: &str, new: &str) -> Proposal {
    let edits = vec![Replacement { old: old.into(), new: new.into(), all: false }];
    Proposal::Edit { path: path.into(), edits, expected: None }
}

fn patch(text: &str) -> Proposal {
    Proposal::Patch { patch: text.to_owned() }
}

fn a_file_is_written_with_its_parents() {
    let mut hands = Hands::start();
    let outcome = hands.works(&write("a/b/c.txt", "one\ntwo\n", None));
    assert_eq!(outcome.text(), "wrote a/b/c.txt: 2 lines, 8 bytes");
    assert_eq!(outcome.digest, Some(Digest::of(b"one\ntwo\n")));
    assert_eq!(hands.content("a/b/c.txt"), "one\ntwo\n");
}

fn only_what_was_read_is_replaced() {
    let mut hands = Hands::start();
    hands.put("a", "old");
    assert_eq!(hands.fails(&write("a", "new", None)), "a exists already: read it first");
    let other = Some(Digest::of(b"other"));
    let why = hands.fails(&write("a", "new", other));
    assert_eq!(why, "a has changed since it was read: read it again");
    assert_eq!(hands.fails(&write("b", "new", other)), "b is gone");
    assert_eq!(hands.content("a"), "old");
    hands.works(&write("a", "new", Some(Digest::of(b"old"))));
    assert_eq!(hands.content("a"), "new");
}

fn a_replaced_file_keeps_mode_and_link() {
    let mut hands = Hands::start();
    hands.put("script", "old");
    let file = hands.root().join("script");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o751)).unwrap();
    symlink("script", hands.root().join("link")).unwrap();
    hands.works(&edit("link", "old", "new"));
    assert_eq!(hands.content("script"), "new");
    assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o751);
    assert!(hands.root().join("link").is_symlink());
}

fn what_is_no_file_is_not_written() {
    let mut hands = Hands::start();
    hands.works(&bash("mkfifo pipe; ln -s nowhere lost; mkdir dir"));
    for (path, why) in [
        ("pipe", "pipe is a named pipe"),
        ("lost", "lost is a link to nothing"),
        ("dir", "dir is a directory"),
        ("dir/", "dir is a directory"),
        ("new/", "new names no file"),
        ("/proc/self/x", "/proc/self/x: "),
    ] {
        let told = hands.fails(&write(path, "x", None));
        assert!(told.starts_with(why), "{told}");
    }
}

fn an_edit_is_exact() {
    let mut hands = Hands::start();
    hands.put("a", "one\r\ntwo\r\none");
    let why = hands.fails(&edit("a", "one", "1"));
    let expected = "a: the text is there 2 times, at lines 1, 3: give more of what is around it, \
        or replace all; nothing was changed";
    assert_eq!(why, expected);
    let edits = vec![
        Replacement { old: "one\ntwo".into(), new: "1\n2".into(), all: false },
        Replacement { old: "one".into(), new: "3".into(), all: true },
    ];
    let outcome = hands.works(&Proposal::Edit { path: "a".into(), edits, expected: None });
    assert_eq!(outcome.text(), "edited a at lines 1, 3");
    assert_eq!(hands.content("a"), "1\r\n2\r\n3");
    assert_eq!(outcome.digest, Some(Digest::of(b"1\r\n2\r\n3")));
}

fn a_file_that_changed_is_not_edited() {
    let mut hands = Hands::start();
    hands.put("a", "one");
    let mut proposal = edit("a", "one", "two");
    if let Proposal::Edit { expected, .. } = &mut proposal {
        *expected = Some(Digest::of(b"zero"));
    }
    assert!(hands.fails(&proposal).contains("has changed since it was read"));
    assert_eq!(hands.content("a"), "one");
}

fn what_is_no_text_is_not_edited() {
    let mut hands = Hands::start();
    hands.put("binary", b"a\0b");
    hands.put("latin", b"caf\xe9");
    assert_eq!(hands.fails(&edit("binary", "a", "b")), "binary is no text: it has null bytes");
    let why = hands.fails(&edit("latin", "a", "b"));
    assert_eq!(why, "latin is not UTF-8: change it with a command");
    let large = std::fs::File::create(hands.root().join("large")).unwrap();
    large.set_len(17 << 20).unwrap();
    let why = hands.fails(&edit("large", "a", "b"));
    assert_eq!(why, "large is larger than 16.0 MiB: change it with a command");
}

fn a_patch_changes_many_files() {
    let mut hands = Hands::start();
    hands.put("a.rs", "fn one() {\n    1\n}\n\nfn two() {\n    1\n}\n");
    hands.put("old", "x\n");
    hands.put("gone", "");
    let outcome = hands.works(&patch(
        "*** Begin Patch\n*** Update File: a.rs\n@@ fn two() {\n-    1\n+    2\n }\n\
         *** Add File: new/b\n+one\n+\n*** Update File: old\n*** Move to: moved\n@@\n-x\n+y\n\
         *** Delete File: gone\n*** End Patch\n",
    ));
    assert_eq!(
        outcome.text(),
        "changed a.rs at line 6\nadded new/b\nmoved old to moved, changed line 1\ndeleted gone"
    );
    assert_eq!(hands.content("a.rs"), "fn one() {\n    1\n}\n\nfn two() {\n    2\n}\n");
    assert_eq!(hands.content("new/b"), "one\n\n");
    assert_eq!(hands.content("moved"), "y\n");
    assert!(!hands.root().join("old").exists() && !hands.root().join("gone").exists());
}

fn a_unified_diff_is_applied() {
    let mut hands = Hands::start();
    hands.put("a", "x\none\nx\ntwo\nx");
    hands.works(&patch(
        "--- a\t2024-01-01\n+++ a\n@@ -1,2 +1,2 @@\n x\n-one\n+1\n@@ -4,2 +4,3 @@ context\n-two\n\
         -x\n\\ No newline at end of file\n+2\n+x\n+\n",
    ));
    assert_eq!(hands.content("a"), "x\n1\nx\n2\nx\n\n");
    // A line number that is wrong does no harm where the lines are there once.
    hands.works(&patch("--- a\n+++ a\n@@ -9 +9 @@\n-2\n+two\n"));
    assert_eq!(hands.content("a"), "x\n1\nx\ntwo\nx\n\n");
}

/// What Git writes of any change is applied to the same result.
fn what_git_diffs_is_applied() {
    let mut hands = Hands::start();
    let script = r"
        git init -q repo; cd repo; git config user.email a@b; git config user.name a
        seq 100 > numbers; printf 'no end' > end; echo x > gone; echo same > moved; printf 'a\r\nb\r\n' > crlf
        git add .; git commit -qm one; cp -r . ../copy
        sed -i 's/^5$/five/; 50d; $a 101' numbers; printf 'end\n' > end; rm gone; git mv moved there
        printf 'a\r\nc\r\n' > crlf; printf 'new' > new; mkdir dir; echo 1 > dir/x; chmod +x dir/x
        git add -A; git diff --cached -M > ../patch; rm -rf ../copy/.git; mv ../copy/* ..; rm -r ../copy";
    hands.works(&bash(script));
    let text = hands.content("patch");
    hands.works(&patch(&text));
    let same = "rm patch; rm -rf repo/.git; mv repo ../repo-$$; diff -r . ../repo-$$; rm -r ../repo-$$; \
        test -x dir/x && echo same";
    assert_eq!(hands.works(&bash(same)).text(), "same\n");
}

fn a_patch_is_all_or_nothing() {
    let mut hands = Hands::start();
    hands.put("a", "one\n");
    hands.put("b", "two\n");
    let why = hands.fails(&patch(
        "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Add File: c\n+x\n\
         *** Update File: b\n@@\n-three\n+3\n*** End Patch",
    ));
    assert!(why.ends_with("nothing was changed"), "{why}");
    assert_eq!((hands.content("a"), hands.content("b")), ("one\n".into(), "two\n".into()));
    assert!(!hands.root().join("c").exists());
    // What fails when it is put in place takes back what was put before it.
    let why = hands.fails(&patch(
        "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Delete File: b\n\
         *** Add File: d\n+x\n*** Add File: d/e\n+x\n*** End Patch",
    ));
    assert!(why.ends_with("nothing was changed"), "{why}");
    assert_eq!((hands.content("a"), hands.content("b")), ("one\n".into(), "two\n".into()));
    let twice = "*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+x\n*** End Patch";
    assert!(hands.fails(&patch(twice)).ends_with("nothing was changed"));
}

fn a_patch_that_does_not_fit_says_where() {
    let mut hands = Hands::start();
    hands.put("a", "one\ntwo\none\ntwo\nend\n");
    let mut why = |hunk: &str| {
        let text = format!("*** Begin Patch\n*** Update File: a\n{hunk}*** End Patch");
        hands.fails(&patch(&text))
    };
    assert_eq!(
        why("@@\n one\n-three\n+3\n"),
        "a: hunk 1: line 2 is \"two\", not \"three\"; nothing was changed"
    );
    assert_eq!(
        why("@@\n one\n-two\n+2\n"),
        "a: hunk 1: its lines are at lines 1, 3: give more of what is around; nothing was changed"
    );
    assert_eq!(
        why("@@ fn x\n one\n-two\n+2\n"),
        "a: hunk 1: there is no line \"fn x\"; nothing was changed"
    );
}

fn what_is_no_patch_says_where() {
    let mut hands = Hands::start();
    for (text, why) in [
        ("", "line 0 of the patch: there is no change"),
        ("*** Begin Patch\nx", "line 2 of the patch: expected *** Add File"),
        ("*** Begin Patch\n*** Add File: a\nx", "line 3 of the patch: every line of a new file"),
        ("--- a\n+++ b\n@@ -1,2 +1 @@\n x\n", "line 4 of the patch: the hunk is cut off"),
        ("--- a\n+++ b\n@@ x @@\n", "line 3 of the patch: expected @@ -LINE"),
        ("--- a\nx", "line 2 of the patch: expected +++"),
        ("--- a\n+++ a\n", "line 3 of the patch: expected a hunk"),
    ] {
        let told = hands.fails(&patch(text));
        assert!(told.starts_with(why), "{told}");
    }
}

fn nothing_is_left_beside_a_file() {
    let mut hands = Hands::start();
    hands.put("a", "one\n");
    hands.works(&edit("a", "one", "two"));
    hands.fails(&edit("a", "one", "two"));
    hands.fails(&patch("*** Begin Patch\n*** Add File: b\n+x\n*** Add File: a\n+x\n*** End Patch"));
    let names: Vec<_> = std::fs::read_dir(hands.root()).unwrap().flatten().collect();
    let names: Vec<_> = names.iter().map(std::fs::DirEntry::file_name).collect();
    assert_eq!(names, ["a"]);
}
