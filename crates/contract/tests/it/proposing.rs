//! A draft says what was found, and is a contract.

use contract::{Listing, notes, propose};

use crate::support::{of, read};

fn draft(task: &str, files: &[(&str, &str)]) -> contract::Draft {
    let mut paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    paths.sort();
    let read = |path: &str| {
        files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    };
    propose(task, &Listing { paths: &paths, read: &read })
}

#[test]
fn the_usual_projects_are_known() {
    for (files, commands) in [
        (
            &[("Cargo.toml", ""), ("src/lib.rs", "")][..],
            &["cargo test", "cargo clippy --all-targets -- -D warnings"][..],
        ),
        (&[("go.mod", "")], &["go test ./...", "go vet ./..."]),
        (
            &[
                ("package.json", r#"{"scripts":{"test":"vitest","lint":"eslint ."}}"#),
                ("pnpm-lock.yaml", ""),
            ],
            &["pnpm test", "pnpm run lint"],
        ),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            )],
            &[],
        ),
        (&[("package.json", "{")], &[]),
        (
            &[("pyproject.toml", "[tool.pytest]"), ("tests/test_a.py", ""), ("uv.lock", "")],
            &["uv run python -m pytest"],
        ),
        (&[("tests/test_a.py", "import unittest")], &["python3 -m unittest discover -s tests"]),
        (
            &[("tests/test_a.py", "import unittest"), ("tests/__init__.py", "")],
            &["python3 -m unittest"],
        ),
        (&[("Makefile", "all:\n\ntest: all\n\t./t\nlint:\n")], &["make test", "make lint"]),
        (
            &[("CMakeLists.txt", "enable_testing()")],
            &["cmake -S . -B build && cmake --build build && ctest --test-dir build"],
        ),
        (&[("pom.xml", ""), ("mvnw", "")], &["./mvnw test"]),
        (&[("test.sh", "")], &["sh test.sh"]),
        (&[("README.md", "")], &[]),
    ] {
        let draft = draft("", files);
        let found: Vec<_> = draft.checks.iter().map(|check| check.command.as_str()).collect();
        assert_eq!(found, commands, "{files:?}");
        assert_eq!(
            contract::read(&draft.text, "draft").is_ok(),
            draft.checks.iter().any(|check| check.tests),
            "{}",
            draft.text
        );
    }
}

#[test]
fn projects_inside_are_checked_where_they_are() {
    let files = [
        ("web/package.json", r#"{"scripts":{"test":"jest"}}"#),
        ("Cargo.toml", ""),
        ("crates/a/Cargo.toml", ""),
    ];
    let draft = draft("do \"it\"\nwell \u{202e}", &files);
    insta::assert_snapshot!("draft", draft.text);
    let contract = contract::read(&draft.text, "draft").unwrap();
    assert_eq!(contract.task.as_deref(), Some("do \"it\"\nwell \u{202e}"));
    assert_eq!(contract.checks.len(), 2);
    assert_eq!(contract.checks[1].directory.as_ref().unwrap().text(), "web");
}

#[test]
fn a_directory_that_no_name_can_carry_is_left_out_of_it() {
    let long = format!("{}/test.sh", "d".repeat(130));
    let files = ["a/test.sh", " /test.sh", "\u{202e}/test.sh", "\0/test.sh", "../test.sh", &long];
    let draft = draft("", &files.map(|path| (path, "")));
    let contract = contract::read(&draft.text, "draft").unwrap();
    let checks = contract.checks.iter().map(|check| {
        (check.name.as_str(), check.directory.as_ref().unwrap().text().chars().take(2).collect())
    });
    let expected = [
        ("test", " ".to_owned()),
        ("test in a", "a".to_owned()),
        ("test 2", "dd".to_owned()),
        ("test 3", "\u{202e}".to_owned()),
    ];
    assert_eq!(checks.collect::<Vec<(&str, String)>>(), expected);
}

#[test]
fn notes_say_what_may_not_be_meant() {
    let contract = of(&["python3 solve.py", "make test || true"]);
    let told = notes(&contract, &|path| path == "solve.py");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("may_change = [\"solve.py\"]"), "{told:?}");
    assert!(notes(&of(&["cargo test"]), &|path| path == "Cargo.toml").is_empty());
    let text = "[[criterion]]\nid = \"a\"\ntext = \"a\"\nchecks = [\"a\"]\n\
                [[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }\n\
                [[check]]\nname = \"b\"\nrun = \"x\"\nexpect = { exit = 0 }";
    let guards = "no criterion names the check b: it may fail if it failed before the work";
    assert_eq!(notes(&read(text), &|_| false), [guards]);
}
