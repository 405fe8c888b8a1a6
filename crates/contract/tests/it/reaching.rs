//! Product code that reaches into what judges it, found by the tasks with a known answer; and what is ordinary.

use contract::{Entry, Oracle};

use crate::support::{NONE, flagged, is_caught, of, oracle};

#[test]
fn what_stands_in_for_something_is_flagged() {
    let check = ["PATH=$PWD/bin:$PATH python3 tools/lint.py"];
    for (path, text) in [
        ("bin/python3", "#!/bin/sh\n"),
        ("scripts/grep", "#!/bin/sh\n"),
        ("tools/ast.py", "def parse(text):\n    return None\n"),
        ("lib.sh", "grep() { true; }\n"),
        ("lib.sh", "trap 'exit 0' EXIT\n"),
        ("lib.sh", "exit 0\n"),
        ("src/a.c", "int strcmp(const char *a, const char *b)\n{\n"),
        ("src/a.h", "#define strncmp(a, b, c) 0\n"),
        ("lib/A.pm", "BEGIN { $? = 0 }\n"),
        ("lib/A.pm", "require Test::Builder;\n"),
        ("a.py", "importlib.util.find_spec = lambda name: None\n"),
        ("a.py", "caller = sys._getframe(1).f_locals\n"),
        ("a.js", "require('node:assert').strictEqual = () => {};\n"),
        ("a.mjs", "syncBuiltinESMExports();\n"),
        ("a.js", "Array.prototype.map = () => [];\n"),
        ("A.java", "public boolean equals(Object other) { return true; }\n"),
        ("a.py", "open('tests/expected.txt', 'w').write('-1')\n"),
        ("a.js", "fs.writeFileSync('./a.test.js', '');\n"),
    ] {
        assert!(!flagged(&check, path, NONE, text).is_empty(), "{path}: {text}");
    }
}

#[test]
fn ordinary_code_of_these_languages_is_not() {
    for (path, text) in [
        (
            "pack.sh",
            "#!/bin/sh\nset -eu\ntrap 'rm -rf \"$work\"' EXIT\n[ -e x ] || exit 1\nexit 0\n",
        ),
        ("lib.sh", "say() { printf '%s\\n' \"$*\"; }\nfind_all() {\n    find .\n    return 0\n}\n"),
        (
            "src/a.c",
            "int same(const char *a, const char *b)\n{\n    return strcmp(a, b) == 0;\n}\n",
        ),
        ("src/a.h", "int strcmp(const char *a, const char *b);\n#define LENGTH 3\n"),
        ("lib/A.pm", "my $a = $? >> 8;\nsub test { return 1 }\n"),
        ("a.py", "self.os.name = 1\nlogging.raiseExceptions = False\ntime_limit = 3\n"),
        (
            "a.js",
            "const test = /x/.test(text);\nexports.map = new Map();\nconst a = Object.keys(b);\n",
        ),
        ("A.java", "public boolean equals(Object o) { return o instanceof A; }\n"),
        ("a.py", "with open('out.txt', 'w') as file:\n    file.write('test')\n"),
        ("tools/dates.py", "import ast\n"),
        ("bin/app", "#!/bin/sh\nexec python3 -m app\n"),
    ] {
        let found = flagged(&["python3 tools/lint.py"], path, NONE, text);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}

#[test]
fn scripts_and_settings_of_checks_are_held() {
    for path in ["check.sh", "ci/lint.sh", "lint.toml", ".proverc", ".lintrc.json"] {
        assert!(is_caught(&["make test"], path, "a\n", "b\n"), "{path}");
    }
}

#[test]
fn a_check_may_use_git_and_not_change_what_git_obeys() {
    let oracle: Oracle = oracle(&of(&["git commit -m x"]), &[]);
    for path in [".git/COMMIT_EDITMSG", ".git/index", ".git/objects/aa/b", ".git/logs/HEAD"] {
        assert!(!oracle.touched(path.as_bytes(), true), "{path}");
        let entry = Entry { path: path.as_bytes(), leaves_directory: false };
        assert_eq!(oracle.held(&[entry]), [true], "{path}");
    }
    for path in [".git/config", ".git/hooks/pre-commit"] {
        assert!(oracle.touched(path.as_bytes(), true), "{path}");
    }
}
