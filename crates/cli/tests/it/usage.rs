//! The command line itself: help, what is refused, and what a request becomes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use api::exit;
use clap::{CommandFactory as _, Parser as _};

use crate::fake::{Demo, Fake};
use crate::play::{play, play_without_engine, play_words};

#[test]
fn the_table_is_consistent() {
    cli::Cli::command().debug_assert();
}

#[test]
fn every_command_has_help_and_every_argument_says_what_it_is() {
    fn check(command: &clap::Command) {
        assert!(command.get_about().is_some(), "{} says nothing", command.get_name());
        for argument in command.get_arguments() {
            let (name, of) = (argument.get_id(), command.get_name());
            assert!(argument.get_help().is_some(), "{name} of {of} says nothing");
        }
        command.get_subcommands().for_each(check);
    }
    check(&cli::Cli::command());
}

#[test]
fn help_fits_a_terminal() {
    fn check(command: &mut clap::Command, name: &str) {
        let text = command.render_long_help().to_string();
        let long: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{name}: {long:?}");
        for sub in command.get_subcommands_mut() {
            let name = format!("{name} {}", sub.get_name());
            check(sub, &name);
        }
    }
    let mut table = cli::Cli::command().term_width(80);
    table.build();
    check(&mut table, "loop");
}

#[test]
fn help() {
    for words in [
        "--help",
        "exec --help",
        "apply --help",
        "approvals --help",
        "approve --help",
        "deny --help",
        "receipt verify --help",
        "receipt witness --help",
        "trust --help",
        "-h",
    ] {
        let played = play_without_engine(words);
        assert_eq!(played.code, 0, "{words}");
        insta::assert_snapshot!(
            format!("help_{}", words.replace([' ', '-'], "_")),
            played.told(words)
        );
    }
}

#[test]
fn what_is_wrong_with_a_command_line_is_said() {
    for words in ["", "exce", "exec", "exec --mode hot -- true", "exec --env X -- true", "stop"] {
        let played =
            play_words(words.split_whitespace().map(OsString::from).collect(), Fake::default());
        let code = if words.starts_with("exec") { exit::UNSAFE } else { exit::USAGE };
        assert_eq!((played.code, played.out.as_str()), (code, ""), "{words}");
        insta::assert_snapshot!(
            format!("usage_{}", words.replace([' ', '-'], "_")),
            played.told(words)
        );
    }
}

/// What the engine was asked, in the end.
fn asked(words: &[&OsStr]) -> String {
    let fake = Fake { problem: Some(echo()), ..Fake::default() };
    let asked = fake.asked.clone();
    play_words(words.iter().map(|word| (*word).to_owned()).collect(), fake);
    asked.borrow().last().cloned().unwrap_or_default()
}

fn asked_by(words: &str) -> String {
    asked(&words.split(' ').map(OsStr::new).collect::<Vec<_>>())
}

fn echo() -> api::Problem {
    api::Problem::new(exit::UNSAFE, "asked")
}

#[test]
fn json_after_an_action_is_no_part_of_it() {
    let json = |words: &str| play(words, Fake::default()).out.starts_with('{');
    let request = |action: &[&str]| {
        let action = action.iter().map(|&word| word.to_owned()).collect();
        format!("{:?}", api::ExplainRequest { action, ..api::ExplainRequest::default() })
    };
    let git = ["exec", "git", "push", "--force"];
    for words in [
        "policy explain exec git push --force --json",
        "policy explain --json exec git push --force",
    ] {
        assert_eq!(asked_by(words), request(&git), "{words}");
        assert!(json(words), "{words}");
    }
    let words = "policy explain exec git push --force";
    assert!(!json(words) && asked_by(words) == request(&git));
    let words = "policy explain -- exec cargo metadata --json";
    assert_eq!(asked_by(words), request(&["exec", "cargo", "metadata", "--json"]));
    let words = "policy explain exec cargo test -- --json";
    assert_eq!(asked_by(words), request(&["exec", "cargo", "test", "--", "--json"]));
    assert!(!json(words));
    assert_eq!(asked_by("policy explain --json"), "");
}

fn published((outside, port): (u16, u16)) -> api::Publication {
    let port_of = |number| names::Port::try_from(number).unwrap();
    api::Publication { outside: port_of(outside), port: port_of(port) }
}

#[test]
fn what_is_no_port_is_not_published() {
    for text in ["", "0", "3000:0", ":3000", "3000:", "65536", "03", "+3", "1:2:3", "127.0.0.1:3"] {
        let line = ["loop", "exec", "--publish", text, "--", "true"];
        assert!(cli::Cli::try_parse_from(line).is_err(), "{text}");
    }
}

#[test]
fn a_command_line_becomes_a_request() {
    let words = "exec -p mine.toml -m read-only -C d -e A=b=c -e D= -t 5m \
                 --lease one --lease two --publish 3000 --publish 8080:80 --agent codex --session s --check one \
                 --check two --contract c.toml -- make -j2";
    let request = api::ExecRequest {
        profile: Some("mine.toml".into()),
        agent: Some(api::Agent::Codex),
        mode: Some(api::Mode::ReadOnly),
        dir: Some("d".into()),
        environment: vec![("A".into(), "b=c".into()), ("D".into(), String::new())],
        timeout: Some("5m".into()),
        leases: vec!["one".into(), "two".into()],
        publish: [(3000, 3000), (8080, 80)].map(published).into(),
        session: Some("s".into()),
        checks: vec!["one".into(), "two".into()],
        contract: Some("c.toml".into()),
        learn: false,
        command: ["make", "-j2"].map(OsString::from).into(),
    };
    assert_eq!(asked_by(words), format!("{request:?}"));
    assert_eq!(asked_by("exec -- true"), {
        let command = vec![OsString::from("true")];
        format!("{:?}", api::ExecRequest { command, ..api::ExecRequest::default() })
    });
}

#[test]
fn the_command_is_carried_exactly() {
    let odd = OsStr::from_bytes(b"a\xff\n%");
    let asked = asked(&["exec".as_ref(), "--".as_ref(), "rm".as_ref(), odd, "--json".as_ref()]);
    let command = vec![OsString::from("rm"), odd.to_owned(), "--json".into()];
    let request = api::ExecRequest { command, ..api::ExecRequest::default() };
    assert_eq!(asked, format!("{request:?}"));
}

#[test]
fn the_first_word_of_apply_is_a_run_only_if_a_run_begins_with_it() {
    let path = |text: &str| names::WorkspacePath::parse(text).unwrap();
    for (words, run, paths) in [
        ("apply", None, vec![]),
        ("apply k7m2qd src/ ./a", Some("k7m2qd"), vec![path("src"), path("a")]),
        ("apply 261128-00", Some("261128-00"), vec![]),
        ("apply abcd", None, vec![path("abcd")]),
        ("apply ./k7m2qd", None, vec![path("k7m2qd")]),
    ] {
        let fake = Fake::default();
        let asked = fake.asked.clone();
        play(words, fake);
        let request = api::ApplyRequest {
            run: api::RunRequest { run: run.map(str::to_owned), dir: None },
            paths,
            ..api::ApplyRequest::default()
        };
        assert_eq!(asked.borrow().last(), Some(&format!("{request:?}")), "{words}");
    }
    assert_eq!(play("apply ../up", Fake::default()).code, exit::USAGE);
}

#[test]
fn everything_after_the_command_is_the_commands() {
    for words in ["exec -- ls --help -q", "exec ls --help -q", "exec -q ls --json"] {
        let played = play(words, Fake::default());
        assert_eq!(played.code, 0, "{words}: {}", played.err);
    }
}

#[test]
fn a_report_is_written_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.json");
    let words = format!("exec --quiet --report {} -- true", file.display());
    let played = play(&words, Fake::default());
    assert_eq!((played.code, played.err.as_str()), (0, ""));
    let report: api::ExecReport = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report, crate::fake::ended_well());

    let fake = Fake { problem: Some(echo()), ..Fake::default() };
    assert_eq!(play(&words, fake).code, exit::UNSAFE);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["problem"]["what"], "asked");

    let words = format!("exec --report {} -- true", dir.path().display());
    let played = play(&words, Fake::default());
    assert_eq!(played.code, exit::UNSAFE);
    assert!(played.err.contains("nothing was run"), "{}", played.err);
}

#[test]
fn completions_and_pages_come_from_the_table() {
    for shell in ["bash", "zsh", "fish"] {
        let played = play_without_engine(&format!("completions {shell}"));
        assert_eq!(played.code, 0);
        assert!(played.out.contains("receipt"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    let played = play_without_engine(&format!("docs man {}", dir.path().join("man").display()));
    assert_eq!(played.code, 0, "{}", played.err);
    let page = std::fs::read_to_string(dir.path().join("man/loop-exec.1")).unwrap();
    assert!(page.contains(".TH loop-exec 1"), "{page}");
    let played = play_without_engine("docs man /dev/null/x");
    assert_eq!(played.code, exit::UNSAFE);
}

#[test]
fn cases_are_listed_and_selected() {
    let all = play_without_engine("attack --list");
    assert_eq!(all.code, 0, "{}", all.err);
    let first = all.out.split_whitespace().next().unwrap();
    let some = play_without_engine(&format!("attack --list --case {first} --json"));
    assert_eq!(some.code, 0);
    assert!(some.out.contains(&format!("\"id\": \"{first}\"")));
    assert_eq!(play_without_engine("attack --list --case Z99").code, exit::NOT_FOUND);
    let bad = play_words(["attack", "--via", " "].map(OsString::from).into(), Fake::default());
    assert_eq!(bad.code, exit::USAGE, "{}", bad.err);
}

#[test]
fn the_demonstration_sees_whether_anything_was_held() {
    let held = play("demo", Fake { demo: Some(Demo::Holds), ..Fake::default() });
    assert_eq!(held.code, 0, "{}{}", held.out, held.err);
    assert!(held.out.contains("everything was held"), "{}", held.out);
    assert!(!held.out.contains("FAIL"), "{}", held.out);

    let leaked = play("demo", Fake { demo: Some(Demo::Leaks), ..Fake::default() });
    assert_eq!(leaked.code, exit::NO);
    for line in [
        "FAIL  a connection arrived",
        "FAIL  ~/.bashrc was changed",
        "FAIL  a hook was planted",
        "FAIL  something planted arrived",
        "FAIL  its test fails",
        "FAIL  the bomb was not ended by its limit",
        "something was not held",
    ] {
        assert!(leaked.out.contains(line), "{line} is missing in {}", leaked.out);
    }
}
