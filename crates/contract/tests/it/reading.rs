//! What a contract says is read exactly, and what is wrong with one is named with line and key.

use contract::{Command, Contract, Exit, of_commands};

use crate::support::{of, read};

const WHOLE: &str = r#"task = "the parser accepts empty input"
oracle = ["expected/**"]
may_change = ["tests/new/**", "Cargo.toml"]
ignored = ["node_modules/**"]
rounds = 2

[[criterion]]
id = "parser"
text = "empty input parses"
checks = ["test", "says"]

[[check]]
name = "test"
run = "cargo test"
directory = "sub/dir"
expect = { exit = 0, tests = 3 }
timeout = "5m"

[[check]]
name = "says"
run = ["./say", "a b"]
expect = { exit = "nonzero", stdout = "no" }

[limits]
wall = "30m"
steps = 40
tokens = 4000
money = "2.50"

[reserve]
tokens = 800
wall = "2m"

[review]
model = "anthropic:some"
"#;

#[test]
fn everything_is_read() {
    let contract = read(WHOLE);
    assert_eq!(contract.task.as_deref(), Some("the parser accepts empty input"));
    assert_eq!((contract.rounds, contract.checks.len()), (2, 2));
    let test = &contract.checks[0];
    assert_eq!(test.run, Command::Shell("cargo test".to_owned()));
    assert_eq!(test.run.argv(), ["sh", "-c", "cargo test"]);
    assert_eq!((test.expect.exit, test.expect.tests), (Exit::Code(0), Some(3)));
    assert_eq!(test.directory.as_ref().unwrap().text(), "sub/dir");
    assert_eq!(test.timeout.unwrap().as_millis(), 300_000);
    let says = &contract.checks[1];
    assert_eq!(says.run.argv(), ["./say", "a b"]);
    assert_eq!(says.expect.exit, Exit::Nonzero);
    assert_eq!(contract.limits.tokens, Some(4000));
    assert_eq!(contract.reserve.tokens, Some(800));
    assert_eq!(contract.limits.money.unwrap().0, 2_500_000);
    assert_eq!(contract.review.as_ref().unwrap().model, "anthropic:some");
}

#[test]
fn canonical_json_comes_back_and_its_plain_digest_names_it() {
    for contract in [read(WHOLE), of(&["cargo test", "true"])] {
        let bytes = contract.to_bytes();
        assert_eq!(Contract::from_bytes(&bytes).unwrap(), contract);
        assert_eq!(contract.digest(), names::Digest::of(&bytes));
    }
    let other = read(&WHOLE.replace("rounds = 2", "rounds = 3"));
    assert_ne!(other.digest(), read(WHOLE).digest());
}

#[test]
fn json_that_does_not_hold_together_is_no_contract() {
    let text = String::from_utf8(of(&["true"]).to_bytes()).unwrap();
    for (from, to) in [
        ("\"checks\":[\"true\"]", "\"checks\":[\"other\"]"),
        ("\"checks\":[\"true\"]", "\"checks\":[]"),
        ("\"rounds\":3", "\"rounds\":0"),
        ("\"rounds\":3", "\"rounds\":3,\"more\":1"),
        ("\"exit\":0", "\"exit\":\"zero\""),
        ("\"exit\":0", "\"exit\":256"),
        ("\"run\":\"true\"", "\"run\":[]"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(Contract::from_bytes(changed.as_bytes()).is_err(), "{changed}");
    }
    assert!(Contract::from_bytes(b"{}").is_err());
    assert!(Contract::from_bytes(format!("{text} ").as_bytes()).is_err());
}

/// Each fault of a text, in a line and its fix in the next.
fn faults(text: &str) -> String {
    let faults = contract::read(text, "c.toml").unwrap_err();
    faults.iter().map(|fault| format!("{fault}\n    {}\n", fault.next)).collect()
}

#[test]
fn faults_name_line_key_and_what_to_do() {
    insta::assert_snapshot!("faults", [
        "",
        "check = []",
        "tests = 1\n[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }",
        "[[check]]\nname = \"a\"\nrun = \"x\"",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = {}",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = \"zero\" }",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 1.5 }",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 256, tests = 0 }",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { stdout = \"\" }",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpct = { exit = 0 }",
        "[[check]]\nrun = \"\"\nexpect = { exit = 0 }",
        "[[check]]\nname = \" a\"\nrun = [\"\", \"b\"]\nexpect = { exit = 0 }",
        "[[check]]\nname = \"a\"\nrun = 3\nexpect = 0\ntimeout = \"5\"\ndirectory = \"/etc\"",
        "oracle = [\"/etc/**\", \"../x\", \"a//b\", \"tests/[ab]\", 3]\nmay_change = \"x\"\nignored = [\"\"]\n\
         [[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }\ndirectory = \"a/../b\"",
        "[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }\n\
         [[check]]\nname = \"a\"\nrun = \"y\"\nexpect = { exit = 0 }",
        "[[criterion]]\nid = \"c\"\ntext = \"t\"\nchecks = [\"tset\"]\n\
         [[criterion]]\nid = \"d\"\ntext = \"t\"\nchecks = []\n\
         [[criterion]]\nid = \"c\"\nchecks = [\"test\", \"test\"]\n\
         [[check]]\nname = \"test\"\nrun = \"x\"\nexpect = { exit = 0 }\n\
         [[check]]\nname = \"lint\"\nrun = \"x\"\nexpect = { exit = 0 }",
        "[[criterion]]\nid = \"c\"\ntext = \"t\"\n[[check]]\nname = \"test\"\nrun = \"x\"\nexpect = { exit = 0 }",
        "rounds = 0\n[limits]\nsteps = -1\nwall = \"0s\"\nmoney = 3\nmemory = \"1GiB\"\n[reserve]\ntokens = \"x\"\n\
         [review]\nmodel = \"some\"\n[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 0 }",
        "[check]\nname = \"a\"",
        "task = \"a\"\ntask = \"b\"",
        "x = [",
    ]
    .map(|text| format!("{text}\n=>\n{}", faults(text)))
    .join("\n---\n"));
}

#[test]
fn a_file_without_criteria_has_one_for_each_check() {
    let contract = read("[[check]]\nname = \"a\"\nrun = \"x\"\nexpect = { exit = 3 }");
    assert_eq!(contract.criteria.len(), 1);
    assert_eq!(contract.criteria[0].checks, ["a"]);
    assert_eq!(contract.rounds, 3);
}

#[test]
fn commands_are_criteria_of_their_own() {
    let contract = of(&["cargo test", "cargo clippy -- -D warnings"]);
    let names: Vec<_> = contract.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["cargo test", "cargo clippy -- -D warnings"]);
    assert!(contract.criteria.iter().zip(&names).all(|(one, name)| one.checks == [*name]));

    let both = read(WHOLE).and_commands(&["true".to_owned(), "x\ny".to_owned()]).unwrap();
    let names: Vec<_> = both.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["test", "says", "true", "check 4"]);
    assert_eq!(both.criteria.len(), 3);
    assert_eq!(Contract::from_bytes(&both.to_bytes()).unwrap(), both);

    let same = read("[[check]]\nname = \"true\"\nrun = \"x\"\nexpect = { exit = 0 }");
    let both = same.and_commands(&["true".to_owned()]).unwrap();
    assert_eq!(both.checks[1].name, "check 2");
}

#[test]
fn a_command_that_is_none_is_refused() {
    for bad in [&[][..], &[""], &["  "], &["a\0b"], &["true", "true"]] {
        let commands: Vec<String> = bad.iter().map(ToString::to_string).collect();
        let fault = of_commands(&commands).unwrap_err();
        assert!(fault.to_string().starts_with("--check: "), "{fault}");
        assert!(!fault.next.is_empty());
    }
    let many: Vec<String> = (0..300).map(|number| format!("x {number}")).collect();
    assert!(of_commands(&many).is_err());
}
