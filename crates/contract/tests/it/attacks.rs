//! Ways to a green check without the work: each is held or flagged. Case J6, and further.

use contract::{Altered, Entry, flags};

use crate::support::{NONE, flagged, flagged_in, is_caught, of, oracle, read};

#[test]
fn files_that_decide_come_from_the_base() {
    let contract = of(&["cargo test"]);
    let oracle = oracle(&contract, &[]);
    for path in [
        "tests/it.rs", // an edited or deleted test
        "conftest.py",
        "sitecustomize.py",
        "sub/usercustomize.py",
        "evil.pth",
        "pytest.py", // in the place of the runner
        "unittest/__init__.py",
        ".cargo/config.toml", // a runner of its own
        "crates/a/.cargo/config",
        ".github/workflows/ci.yml",
        ".git/hooks/pre-commit", // a Git hook
        ".git/config",
        ".husky/pre-commit",
        ".githooks/pre-push",
        "jest.config.js",
        "clippy.toml",
        "node_modules/.bin/jest", // a program in the place of another
        ".venv/bin/pytest",
        "vendor/bin/phpunit",
        "target/debug/deps/a-1", // results of an earlier time
        "__pycache__/a.cpython-312.pyc",
        ".pytest_cache/v/cache/lastfailed",
        "x.egg-info/entry_points.txt", // a plug-in
        ".loop/contract.toml",
    ] {
        assert!(oracle.holds(path.as_bytes()), "{path}");
    }
}

#[test]
fn nothing_lets_git_metadata_change() {
    let text = "may_change = [\"**\"]\n[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }";
    let oracle = oracle(&read(text), &[]);
    assert!(oracle.holds(b".git/hooks/pre-commit") && !oracle.holds(b"tests/a.rs"));
}

#[test]
fn a_parent_that_is_replaced_is_held() {
    let contract = of(&["sh ci/check.sh"]);
    let oracle = oracle(&contract, &["ci/check.sh"]);
    let entry =
        |path: &'static str, leaves_directory| Entry { path: path.as_bytes(), leaves_directory };
    // `pkg` became a link, and the tests beneath it are gone with it.
    let entries = [
        entry("pkg", false),
        entry("pkg/tests/a.py", false),
        entry("pkg/src/a.py", false),
        entry("ci", false),
        entry("new", true),
        entry("new/tests", true),
        entry("new/tests/a.py", false),
        entry("other", false),
    ];
    assert_eq!(oracle.held(&entries), [true, true, false, true, false, true, true, false]);
}

#[test]
fn what_the_command_names_comes_from_the_base() {
    let contract = of(&["sh check.sh && ./bin/app", "make test"]);
    let oracle = oracle(&contract, &["check.sh", "bin/app"]);
    assert!(oracle.holds(b"check.sh") && oracle.holds(b"bin/app"));
    // A file of this name would keep `make` from doing anything.
    assert!(oracle.holds(b"test"));
    assert!(!oracle.holds(b"src/app.py") && !oracle.holds(b"Makefile"));
}

#[test]
fn changed_builds_are_flagged() {
    let npm = r#"{"name":"a","scripts":{"test":"node --test"},"devDependencies":{"jest":"^29"}}"#;
    for (path, before, after) in [
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"true"},"devDependencies":{"jest":"^29"}}"#,
        ),
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"node --test","pretest":"x"},"devDependencies":{"jest":"^29"}}"#,
        ),
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"node --test","postinstall":"x"},"devDependencies":{"jest":"^29"}}"#,
        ),
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"node --test"},"devDependencies":{"jest":"file:./fake"}}"#,
        ),
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"node --test"},"devDependencies":{"jest":"^29"},"jest":{"testMatch":[]}}"#,
        ),
        (
            "package.json",
            npm,
            r#"{"name":"a","scripts":{"test":"node --test"},"devDependencies":{"jest":"^29"},"overrides":{"jest":"x"}}"#,
        ),
        ("package.json", npm, "{"),
        ("package.json", npm, NONE),
        ("sub/package.json", npm, r#"{"scripts":{"test":"true"}}"#),
        ("Makefile", "test:\n\tcargo test\n", "test:\n\ttrue\n"),
        ("Makefile", NONE, "test:\n\ttrue\n"),
        ("justfile", "test:\n  cargo test\n", "test:\n  true\n"),
        ("build.rs", "fn main() {}\n", "fn main() { x() }\n"),
        ("rust-toolchain.toml", NONE, "[toolchain]\npath = \"x\"\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\n[lib]\ntest = false\n",
        ),
        ("Cargo.toml", "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\nautotests = false\n"),
        ("Cargo.toml", "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\nbuild = \"x.rs\"\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\n[[test]]\nname = \"it\"\nharness = false\n",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\n[profile.dev]\ndebug-assertions = false\n",
        ),
        (
            "Cargo.toml",
            "[dependencies]\nserde = \"1\"\n",
            "[dependencies]\nserde = { path = \"mine\" }\n",
        ),
        (
            "Cargo.toml",
            "[dependencies]\nserde = \"1\"\n",
            "[dependencies]\nserde = \"1\"\nstd = { path = \"mine\" }\n",
        ),
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"b\"]\n",
            "[workspace]\nmembers = [\"a\"]\n",
        ),
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\"]\n",
            "[workspace]\nmembers = [\"a\"]\nexclude = [\"b\"]\n",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\n[patch.crates-io]\nserde = { path = \"x\" }\n",
        ),
        ("Cargo.toml", "[lints.clippy]\nall = \"deny\"\n", "[lints.clippy]\nall = \"allow\"\n"),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\n",
            "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-k none\"\n",
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\n",
            "[project]\nname = \"a\"\n[project.entry-points.pytest11]\nx = \"x\"\n",
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\n",
            "[project]\nname = \"a\"\n[project.scripts]\npytest = \"a:main\"\n",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n",
            "[metadata]\nname = a\n[tool:pytest]\naddopts = --co\n",
        ),
        (
            "go.mod",
            "module a\n\nrequire b.com/c v1.0.0\n",
            "module a\n\nrequire b.com/c v1.0.0\nreplace b.com/c => ./c\n",
        ),
        ("CMakeLists.txt", "add_test(NAME a COMMAND a)\n", "add_test(NAME a COMMAND true)\n"),
        ("pom.xml", "<a>\n", "<a>\n<skipTests>true</skipTests>\n"),
        ("build.gradle", "dependencies {\n}\n", "dependencies {\n}\ntest { exclude '**' }\n"),
        (".npmrc", NONE, "ignore-scripts=true\n"),
        ("tsconfig.json", "{}", "{\"compilerOptions\":{\"paths\":{\"vitest\":[\"x\"]}}}"),
        ("requirements.txt", "pytest\n", "-e ./pytest\n"),
        ("Gemfile", "gem 'rspec'\n", "gem 'rspec', path: 'x'\n"),
    ] {
        assert!(is_caught(&["npm test"], path, before, after), "{path}: {after}");
    }
}

#[test]
fn ways_to_leave_with_success_are_flagged() {
    for (path, line) in [
        ("src/a.py", "    os._exit(0)"),
        ("src/a.py", "import atexit"),
        ("src/a.py", "    sys.exit(0)"),
        ("src/a.py", "raise SystemExit"),
        ("src/a.js", "process.on('exit', () => { process.exitCode = 0 })"),
        ("src/a.js", "  process.exit(0);"),
        ("src/a.ts", "process.exitCode = 0;"),
        ("src/lib.rs", "    unsafe { libc::_exit(0) }"),
        ("src/lib.rs", "#[ctor::ctor]"),
        ("src/lib.rs", "#[link_section = \".init_array\"]"),
        ("src/lib.rs", "    std::process::exit(0);"),
        ("pkg/a.go", "\tsyscall.Exit(0)"),
        ("pkg/a.go", "\tos.Exit(0)"),
        ("src/a.c", "__attribute__((constructor)) static void f(void) {"),
        ("src/a.c", "  _exit(0);"),
        ("lib/a.rb", "at_exit { exit! 0 }"),
        ("src/a.php", "register_shutdown_function(fn() => exit(0));"),
        ("src/A.java", "Runtime.getRuntime().halt(0);"),
        ("a.lua", "os.exit(0)"),
    ] {
        let found = flagged(&["sh check.sh"], path, "", &format!("x\n{line}\n"));
        assert_eq!(found.first().and_then(|flag| flag.line), Some(2), "{path}: {line}: {found:?}");
        assert!(found[0].why.contains("may_change = ["), "{found:?}");
    }
}

#[test]
fn changes_to_what_tests_are_run_by_are_flagged() {
    for (path, line) in [
        ("src/a.py", "import unittest"),
        ("src/a.py", "from _pytest import runner"),
        ("src/a.py", "sys.modules['parser'] = fake"),
        ("src/a.py", "if 'PYTEST_CURRENT_TEST' in os.environ:"),
        ("src/a.py", "builtins.print = lambda *a: None"),
        ("src/a.py", "    def __eq__(self, other): return True"),
        ("src/a.py", "print('Ran 3 tests in 0.001s')"),
        ("src/a.js", "assert.strictEqual = () => {};"),
        ("src/a.js", "require.cache[x] = y;"),
        ("src/a.js", "if (process.env.JEST_WORKER_ID) return 4;"),
        ("src/a.js", "console.log('# pass 3');"),
        ("src/lib.rs", "macro_rules! assert_eq { ($($x:tt)*) => {} }"),
        ("src/lib.rs", "use crate::fake::yes as assert_eq;"),
        ("src/lib.rs", "use fake_macros::test;"),
        ("src/lib.rs", "    if cfg!(test) { return 4; }"),
        ("src/lib.rs", "#[cfg(not(test))]"),
        ("src/lib.rs", "    println!(\"test result: ok. 3 passed\");"),
        ("src/lib.rs", "    fn eq(&self, _: &Self) -> bool { true }"),
        ("pkg/a.go", "import \"testing\""),
        ("pkg/a.go", "\tif testing.Testing() {"),
        ("src/a.h", "#define assert(x) ((void)0)"),
        ("lib/a.rb", "RSpec.configure { |c| c.filter_run_excluding all: true }"),
    ] {
        let found = flagged(&["sh check.sh"], path, "", &format!("x\n{line}\n"));
        assert_eq!(found.first().and_then(|flag| flag.line), Some(2), "{path}: {line}: {found:?}");
    }
}

#[test]
fn new_files_in_the_place_of_others_are_flagged() {
    let check = &["python3 -m pytest"];
    for path in
        ["argparse.py", "src/re.py", "traceback.py", "json/__init__.py", "src/os/__init__.py"]
    {
        assert!(!flagged(check, path, NONE, "x = 1\n").is_empty(), "{path}");
    }
    for path in ["src/app/types.py", "app/logging.py", "src/parser.py", "app/json/__init__.py"] {
        assert!(flagged(check, path, NONE, "x = 1\n").is_empty(), "{path}");
    }
    assert!(!flagged(&["make"], "check", NONE, "").is_empty());
    assert!(!flagged(&["make unit"], "lint", NONE, "").is_empty());
}

#[test]
fn what_cannot_be_looked_at_is_flagged_where_it_could_run() {
    let contract = of(&["pytest"]);
    let oracle = oracle(&contract, &[]);
    let opaque = |path: &str| {
        let altered = Altered { path: path.as_bytes(), before: None, after: None, opaque: true };
        !flags(&contract, &oracle, &altered).is_empty()
    };
    for path in ["src/a.py", "package.json", "lib/fast.so", "Makefile", "src/lib.rs"] {
        assert!(opaque(path), "{path}");
    }
    for path in ["docs/picture.png", "data/big.csv", "README.md"] {
        assert!(!opaque(path), "{path}");
    }
}

const RUST: &str = "\
pub fn double(x: u32) -> u32 { x * 2 }

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> u32 { 4 }

    #[test]
    fn doubles() {
        assert_eq!(double(2), four());
        assert_eq!(double(0), 0);
    }

    #[tokio::test]
    async fn slowly() { assert!(double(1) == 2); }
}
";

#[test]
fn tests_inside_sources_of_rust_stay_as_they_were() {
    for (what, after) in [
        ("an assertion gone", RUST.replace("        assert_eq!(double(0), 0);\n", "")),
        ("an assertion weaker", RUST.replace("assert_eq!(double(0), 0)", "assert_eq!(0, 0)")),
        ("ignored", RUST.replace("    #[test]\n", "    #[test]\n    #[ignore]\n")),
        ("no test any more", RUST.replace("    #[test]\n", "")),
        ("a return before", RUST.replace("doubles() {\n", "doubles() {\n        return;\n")),
        (
            "in a comment",
            RUST.replace("    #[test]", "    /* #[test]").replace("    #[tokio", "*/ #[tokio"),
        ),
        (
            "in a string",
            RUST.replace("    #[test]", "const X: &str = r#\"#[test]")
                .replace("    #[tokio", "\"#; #[tokio"),
        ),
        ("never built", RUST.replace("#[cfg(test)]", "#[cfg(all(test, feature = \"x\"))]")),
        ("the file never built", format!("#![cfg(any())]\n{RUST}")),
        ("a helper changed", RUST.replace("{ 4 }", "{ double(2) }")),
        (
            "another meaning by import",
            RUST.replace("use super::*;", "use super::*;\n    use crate::fake::double;"),
        ),
        (
            "another meaning by item",
            RUST.replace("fn four()", "fn double(_: u32) -> u32 { 4 }\n    fn four()"),
        ),
        ("imports gone", RUST.replace("use super::*;", "use crate::fake::*;")),
        ("should panic", RUST.replace("    #[test]\n", "    #[test]\n    #[should_panic]\n")),
        (
            "a module around",
            RUST.replace(
                "#[cfg(test)]\nmod tests",
                "#[cfg(any())]\nmod m { #[cfg(test)]\nmod tests",
            ) + "}",
        ),
        ("all gone", "pub fn double(x: u32) -> u32 { x * 2 }\n".to_owned()),
        ("the file gone", NONE.to_owned()),
    ] {
        assert_ne!(after, RUST, "{what}");
        let found = flagged(&["cargo test"], "src/lib.rs", RUST, &after);
        assert!(!found.is_empty(), "{what}:\n{after}");
    }
    let module = "#[test]\nfn a() { assert!(true); }\nfn help() -> u8 { 3 }\n";
    let weaker = module.replace("{ 3 }", "{ 4 }");
    assert!(!flagged(&["cargo test"], "src/x/tests.rs", module, &weaker).is_empty());
    let declared = "#[cfg(test)]\nmod tests;\n";
    assert!(!flagged(&["cargo test"], "src/lib.rs", declared, "mod x;\n").is_empty());
}

#[test]
fn examples_of_documentation_stay_as_they_were() {
    let before =
        "/// Doubles.\n/// ```\n/// assert_eq!(a::double(2), 4);\n/// ```\npub fn double() {}\n";
    for after in [
        before.replace("(2), 4", "(2), 5"),
        before.replace("/// ```\n/// assert", "/// ```ignore\n/// assert"),
        before.replace("/// ```\n/// assert", "/// ```no_run\n/// assert"),
        "pub fn double() {}\n".to_owned(),
    ] {
        assert!(!flagged(&["cargo test"], "src/lib.rs", before, &after).is_empty(), "{after}");
    }
}

#[test]
fn tests_inside_sources_of_other_languages_stay_as_they_were() {
    let python =
        "def f():\n    return 1\n\n@mark\ndef test_f():\n    assert f() == 1\n\n    assert f()\n";
    for after in [
        python.replace("    assert f() == 1\n", ""),
        python.replace("@mark", "@skip"),
        python.replace("def test_f", "def tests_f"),
        "def f():\n    return 1\n".to_owned(),
    ] {
        assert!(!flagged(&["pytest app.py"], "app/x.py", python, &after).is_empty(), "{after}");
    }
    let vitest = "export const f = 1\nif (import.meta.vitest) {\n  expect(f).toBe(1)\n}\n";
    assert!(!flagged(&["vitest"], "src/a.ts", vitest, "export const f = 2\n").is_empty());
    let zig = "fn f() u8 { return 1; }\ntest \"f\" {\n    try expect(f() == 1);\n}\n";
    let weaker = zig.replace("f() == 1", "true");
    assert!(!flagged(&["zig test a.zig"], "src/a.zig", zig, &weaker).is_empty());
    let doc = "def f():\n    \"\"\"\n    >>> f()\n    1\n    \"\"\"\n    return 1\n";
    let weaker = doc.replace(">>> f()\n    1", ">>> 1\n    1");
    assert!(!flagged(&["python -m doctest a.py"], "src/a.py", doc, &weaker).is_empty());
    assert!(!flagged(&["cargo test"], "src/snapshots/a.snap", "1\n", "2\n").is_empty());
}

#[test]
fn a_lint_is_not_switched_off_for_a_whole_file() {
    for (check, path, line) in [
        ("cargo clippy -- -D warnings", "src/lib.rs", "#![allow(clippy::all)]"),
        ("npx eslint .", "src/a.js", "/* eslint-disable */"),
        ("ruff check .", "src/a.py", "# ruff: noqa"),
        ("npx tsc --noEmit", "src/a.ts", "// @ts-nocheck"),
        ("npm run lint", "src/a.js", "/* eslint-disable no-undef */"),
    ] {
        let after = format!("{line}\nx\n");
        assert!(!flagged(&[check], path, "x\n", &after).is_empty(), "{line}");
        assert!(flagged(&["sh check.sh"], path, "x\n", &after).is_empty(), "{line}");
    }
}

#[test]
fn what_the_contract_lets_change_is_not_flagged() {
    let text = "may_change = [\"package.json\", \"app/?id?/**\"]\n\
                [[check]]\nname = \"a\"\nrun = \"npm test\"\nexpect = { exit = 0 }";
    let contract = read(text);
    let scripts = r#"{"scripts":{"test":"x"}}"#;
    assert!(flagged_in(&contract, "package.json", "{}", scripts).is_empty());
    let odd = flagged(&["npm test"], "app/[id]/a.js", "", "process.exit(0)\n");
    assert!(odd[0].why.contains("may_change = [\"app/?id?/a.js\"]"), "{odd:?}");
    assert!(flagged_in(&contract, "app/[id]/a.js", "", "process.exit(0)\n").is_empty());
}
