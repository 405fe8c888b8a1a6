//! What a person is asked, and what their answer becomes. The text of an ask is the sandbox's.

use api::{AskCap, AskView, AskedCommand, Choice, Person, exit};
use names::{AskId, RunId};

use crate::fake::{Fake, HOSTILE, at, digest, rule, run_id};
use crate::play::{Played, play, play_with, play_words};

fn ask() -> AskView {
    AskView {
        id: AskId::parse("k7m2").unwrap(),
        run: run_id(),
        action: "exec".into(),
        what: "/usr/bin/git push origin main".into(),
        command: Some(AskedCommand {
            program: "/usr/bin/git".into(),
            called: vec![],
            args: ["push", "origin", "main"].map(str::to_owned).to_vec(),
            directory: "/home/ann/site".into(),
        }),
        started_by: vec!["make release".into(), "sh -c 'make release'".into()],
        diff: None,
        notes: vec![],
        rules: vec![rule("ask-before-push", "~/.loop/config.toml", 12)],
        reason: "what is pushed is seen by others".into(),
        asked: at("2026-11-29T22:04:50.000Z"),
        expires: at("2026-11-29T22:14:50.000Z"),
        action_digest: digest("action"),
        authority: digest("authority"),
        binding: digest("binding"),
    }
}

/// An ask in which everything lies.
fn hostile() -> AskView {
    let fake_prompt =
        "x\n\nrun 261129-k7m2qd wants to run a program\r\n  program    /bin/true\x1b[2J";
    AskView {
        command: Some(AskedCommand {
            program: format!("/tmp/{HOSTILE}").into(),
            called: vec![HOSTILE.into(), "git push".into()],
            args: vec![
                fake_prompt.into(),
                "\u{202e}gpj.exe\u{200b}".into(),
                format!("{}rule       allow-all", " ".repeat(200)),
                "\x1b]0;owned\x07\u{9b}31m\x05".into(),
            ],
            directory: "/tmp/\x1b[8m".into(),
        }),
        started_by: vec![HOSTILE.into(), fake_prompt.into()],
        notes: vec![format!("{HOSTILE} y once")],
        rules: vec![rule(HOSTILE, HOSTILE, 3)],
        reason: HOSTILE.into(),
        diff: Some(format!("--- a\n+++ b\n@@ -1 +1 @@\n-{HOSTILE}\n+\x1b[2J\u{202e}x\r\t.\n")),
        what: HOSTILE.into(),
        ..ask()
    }
}

/// An ask in which everything is too long.
fn long() -> AskView {
    let diff: String = (0..500).map(|number| format!("+line {number}\n")).collect();
    AskView {
        command: Some(AskedCommand {
            program: "/usr/bin/printf".into(),
            called: vec![],
            args: vec!["%s".into(), "long".repeat(1 << 18)],
            directory: format!("/{}", "d".repeat(4000)).into(),
        }),
        started_by: vec!["日本語".repeat(400)],
        diff: Some(diff),
        reason: "r".repeat(2000),
        ..ask()
    }
}

fn assert_inert(text: &str) {
    let obeyed = |c: char| c != '\n' && (c.is_control() || names::is_invisible(c));
    assert!(!text.contains(obeyed), "not inert: {text:?}");
}

/// What is said to the person while a command runs.
fn said(words: &str, speak: fn(&dyn Person) -> String) -> String {
    let fake = Fake { speak: vec![speak], ..Fake::default() };
    let asked = fake.asked.clone();
    play_with(words, fake, |console| console.prompts = true);
    let said = asked.borrow()[0].clone();
    assert_inert(&said);
    said
}

fn prompt(ask: fn() -> AskView, more: usize) -> String {
    let speak: fn(&dyn Person) -> String = match (ask().started_by.len(), more) {
        (1, _) => |person| person.prompt(&long(), 0, 40, 80),
        (_, 0) if ask() == hostile() => |person| person.prompt(&hostile(), 0, 60, 80),
        (_, 0) => |person| person.prompt(&self::ask(), 0, 24, 80),
        _ => |person| person.prompt(&self::ask(), 2, 24, 80),
    };
    said("exec -- make", speak)
}

#[test]
fn the_prompt_says_what_where_who_and_why() {
    insta::assert_snapshot!("prompt", prompt(ask, 0));
    assert!(prompt(ask, 2).contains("2 more waiting"));
}

#[test]
fn hostile_text_in_a_prompt_is_inert() {
    let prompt = prompt(hostile, 0);
    insta::assert_snapshot!("prompt_hostile", prompt);
    // Nothing of the sandbox's begins a line.
    let names = [
        "run ",
        "  program ",
        "  called ",
        "  arguments ",
        "  directory ",
        "  started by ",
        "  rule ",
    ];
    let frame = ["  reason ", "  note ", "           | ", "  denied at ", "  y once"];
    for line in prompt.lines().filter(|line| !line.is_empty()) {
        let known = names.iter().chain(&frame).any(|start| line.starts_with(start));
        assert!(known, "{line:?}");
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    assert_eq!(prompt.matches("\n  rule ").count(), 1);
}

#[test]
fn what_is_too_long_for_the_terminal_is_cut_and_says_so() {
    let prompt = prompt(long, 0);
    insta::assert_snapshot!("prompt_long", prompt);
    assert!(prompt.lines().count() <= 40, "{}", prompt.lines().count());
    assert!(prompt.contains("[cut: 1048579 bytes, sha256:"));
    assert!(prompt.contains("[cut: 500 lines, 4890 bytes, sha256:"));
    assert!(prompt.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_prompt_fits_its_terminal_whatever_it_is_about() {
    let speak: fn(&dyn Person) -> String = |person| {
        assert!(!person.can_be_asked(11, 80) && !person.can_be_asked(24, 59));
        for rows in [12, 13, 24, 50, 200] {
            for columns in [60, 79, 80, 300] {
                assert!(person.can_be_asked(rows, columns));
                for ask in [ask(), hostile(), long()] {
                    let prompt = person.prompt(&ask, 3, rows, columns);
                    assert!(prompt.lines().count() <= rows.into(), "{rows} rows:\n{prompt}");
                    assert!(prompt.contains("y once"));
                }
            }
        }
        String::new()
    };
    said("exec -- make", speak);
}

#[test]
fn four_keys_and_an_interrupt_answer_and_no_other() {
    let speak: fn(&dyn Person) -> String = |person| {
        let choices = (0..=u8::MAX).filter_map(|key| Some((key, person.choice(key)?)));
        let expected = [
            (3, Choice::Stop { reason: None }),
            (b'a', Choice::Run),
            (b'n', Choice::Deny { reason: None }),
            (b's', Choice::Stop { reason: None }),
            (b'y', Choice::Once),
        ];
        assert_eq!(choices.collect::<Vec<_>>(), expected);
        String::new()
    };
    said("exec -- make", speak);
}

#[test]
fn what_is_said_beside_a_commands_output() {
    let speak: fn(&dyn Person) -> String = |person| {
        let cap = AskCap { key: "approvals.max_waiting".into(), limit: 16 };
        [
            person.waits(&ask()),
            person.waits(&hostile()),
            person.chosen(&ask(), &Choice::Once),
            person.chosen(&hostile(), &Choice::Run),
            person.chosen(&ask(), &Choice::Deny { reason: None }),
            person.chosen(&ask(), &Choice::Stop { reason: None }),
            person.gone(&ask()),
            person.not_counted(&ask(), HOSTILE),
            person.capped(&cap),
        ]
        .concat()
    };
    insta::assert_snapshot!("asides", said("exec -- make", speak));
    assert_eq!(said("exec --quiet -- make", speak), "");
}

fn with(asks: Vec<AskView>) -> Fake {
    Fake { asks, ..Fake::default() }
}

fn show(name: &str, words: &str, asks: Vec<AskView>) -> Played {
    let played = play(words, with(asks));
    played.assert_inert();
    insta::assert_snapshot!(name, played.told(words));
    played
}

#[test]
fn what_waits_is_listed() {
    show("approvals", "approvals", vec![ask(), hostile()]);
    show("approvals_none", "approvals", vec![]);
    let whole = show("approvals_json", "approvals --json", vec![hostile()]).out;
    let asks: Vec<AskView> = serde_json::from_str(&whole).unwrap();
    assert_eq!(asks, [hostile()]);
}

#[test]
fn an_answer_carries_the_binding_of_what_was_shown() {
    for (words, choice) in [
        ("approve k7m2", "choice: Once"),
        ("approve k7m2 --scope run", "choice: Run"),
        ("deny k7m2", "choice: Deny { reason: None }"),
        ("deny k7m2 --reason late --stop", "choice: Stop { reason: Some(\"late\") }"),
    ] {
        let fake = with(vec![ask()]);
        let asked = fake.asked.clone();
        let played = play(words, fake);
        assert_eq!(played.code, 0, "{}", played.err);
        let request = asked.borrow()[1].clone();
        assert!(request.contains(choice), "{request}");
        assert!(request.contains(&digest("binding").to_string()), "{request}");
        assert!(played.out.contains("push origin main"), "{}", played.out);
    }
    show("approve", "approve k7m2", vec![ask()]);
    show("deny", "deny k7m2 --stop", vec![ask()]);
}

#[test]
fn an_ask_that_is_not_there_or_not_alone_is_not_answered() {
    let missing = show("approve_missing", "approve 0000", vec![ask()]);
    assert_eq!(missing.code, exit::NOT_FOUND);
    let other = AskView { run: RunId::parse("261128-0000zz").unwrap(), ..ask() };
    let both = show("approve_both", "approve k7m2", vec![ask(), other]);
    assert_eq!(both.code, exit::USAGE);
    let odd = ["approve", HOSTILE].map(Into::into).to_vec();
    play_words(odd, with(vec![ask()])).assert_inert();
}
