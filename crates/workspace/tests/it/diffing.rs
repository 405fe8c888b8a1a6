//! What people are shown.

use std::fs;

use workspace::{DiffOptions, stat_table, unified_diff};

use crate::overlay::Overlay;
use crate::reading::read;

fn diff(overlay: &Overlay) -> String {
    let set = read(overlay);
    let options = DiffOptions::default();
    let diffs = unified_diff(&set, &overlay.upper(), &overlay.base(), &options).unwrap();
    diffs.iter().map(ToString::to_string).collect()
}

#[test]
fn lines_with_context() {
    let numbers: String = (1..=30).map(|n| format!("{n}\n")).collect();
    let overlay = Overlay::with(&[("n", &numbers), ("end", "a\nb")]);
    overlay.sh("sed -i -e 2d -e 's/^7$/seven/' -e '25a more' n; printf 'a\\nb\\n' > end");
    assert_eq!(
        diff(&overlay),
        "\
diff --git a/end b/end
--- a/end
+++ b/end
@@ -1,2 +1,2 @@
 a
-b
\\ No newline at end of file
+b
diff --git a/n b/n
--- a/n
+++ b/n
@@ -1,10 +1,9 @@
 1
-2
 3
 4
 5
 6
-7
+seven
 8
 9
 10
@@ -23,6 +22,7 @@
 23
 24
 25
+more
 26
 27
 28
"
    );
}

#[test]
fn every_kind() {
    let overlay =
        Overlay::with(&[("gone", "x\n"), ("run", "#!\n"), ("here", "moved\n"), ("bin", "")]);
    fs::write(overlay.base().join("bin"), b"\0\x01").unwrap();
    overlay.sh("rm gone; chmod +x run; mv here there; printf '\\0\\2' > bin; ln -s run link
        mkdir empty; mkfifo pipe; mkdir full; echo new > full/file; : > void");
    assert_eq!(
        diff(&overlay),
        "\
diff --git a/bin b/bin
binary files differ: 2 bytes (b413f47d13ee) → 2 bytes (fcf0a6c700dd)
diff --git a/empty b/empty
new directory mode 040000
diff --git a/full/file b/full/file
new file mode 100644
--- /dev/null
+++ b/full/file
@@ -0,0 +1 @@
+new
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+run
\\ No newline at end of file
diff --git a/pipe b/pipe
new file mode 000000
a named pipe, never applied
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/here b/there
similarity index 100%
rename from here
rename to there
diff --git a/void b/void
new file mode 100644
"
    );
    assert_eq!(
        stat_table(&read(&overlay), 40),
        " bin          | 2 → 2 bytes
 full/file    |   1 +
 gone         |   1 -
 link         |   1 +
 pipe         | special
 run          |   0
 here → there |   0
 void         |   0
 8 paths changed, +2 −1 lines
"
    );
}

#[test]
fn nothing_shown_moves_the_cursor() {
    let overlay = Overlay::with(&[]);
    overlay.sh(
        "printf 'a\\033[2Jb\\r\\n\\ttab\\342\\200\\256\\n\\377\\n' > \"$(printf 'n\\033[31m\\n\\377')\"
        ln -s \"$(printf '\\033]0;x\\007')\" l",
    );
    let shown = diff(&overlay);
    assert_eq!(
        shown,
        "\
diff --git a/l b/l
new file mode 120000
--- /dev/null
+++ b/l
@@ -0,0 +1 @@
+\\x1b]0;x\\x07
\\ No newline at end of file
diff --git a/n\\x1b[31m\\n\\xff b/n\\x1b[31m\\n\\xff
new file mode 100644
--- /dev/null
+++ b/n\\x1b[31m\\n\\xff
@@ -0,0 +1,3 @@
+a\\x1b[2Jb\\r
+\ttab\\u{202e}
+\\xff
"
    );
    assert!(!stat_table(&read(&overlay), 80).contains('\x1b'));
}

#[test]
fn a_file_that_changed_since_is_not_shown_as_if_it_had_not() {
    let overlay = Overlay::with(&[("a", "1\n"), ("b", "1\n")]);
    overlay.sh("echo 2 > a; echo 2 > b");
    let set = read(&overlay);
    fs::write(overlay.base().join("a"), "other\n").unwrap();
    fs::write(overlay.upper().join("b"), "other\n").unwrap();
    let options = DiffOptions::default();
    let diffs = unified_diff(&set, &overlay.upper(), &overlay.base(), &options).unwrap();
    let text: String = diffs.iter().map(ToString::to_string).collect();
    assert!(text.contains("the project's file changed since the run; files differ: 2 bytes"));
    assert!(text.contains("the run's file changed since the run; files differ: 2 bytes"));
    assert!(!text.contains("other"));
}
