//! What holds of every judgement, held against a reader of its own.

use contract::{Flag, Listing, Pair, Ran, Verdict, judge, of_commands, propose};
use proptest::prelude::*;

fn a_run() -> impl Strategy<Value = Ran> {
    let output = prop_oneof![
        Just(String::new()),
        (0_u64..4, 0_u64..3, 0_u64..3).prop_map(|(passed, failed, ignored)| {
            let word = if failed == 0 { "ok" } else { "FAILED" };
            format!(
                "running {} tests\ntest result: {word}. {passed} passed; {failed} failed; \
                 {ignored} ignored; 0 measured; 0 filtered out\n",
                passed + failed + ignored
            )
        }),
        (0_u64..4).prop_map(|passed| format!("== {passed} passed in 0.01s ==\n")),
        Just("noise\n".to_owned()),
    ];
    let exit = prop_oneof![4 => Just(Some(0)), 1 => (1..3).prop_map(Some), 1 => Just(None)];
    (output, exit, any::<bool>(), prop::bool::weighted(0.1), prop::bool::weighted(0.1)).prop_map(
        |(output, exit, error, timed_out, touched)| {
            let bytes = output.into_bytes();
            let (stdout, stderr) = if error { (vec![], bytes) } else { (bytes, vec![]) };
            let touched_oracle = if touched { vec!["tests/a".to_owned()] } else { vec![] };
            Ran { exit, timed_out, touched_oracle, stdout, stderr, ..Ran::default() }
        },
    )
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let names = prop::sample::subsequence(vec!["cargo test", "make test", "true"], 0..=3);
    (names, prop::collection::vec((a_run(), a_run()), 3)).prop_map(|(names, runs)| {
        let named = names.into_iter().zip(runs);
        named.map(|(name, (base, result))| Pair { name: name.to_owned(), base, result }).collect()
    })
}

/// A directory's name: ordinary, too long to be part of a name, unseen, or no name at all.
fn a_directory() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("web".to_owned()),
        (100_usize..130).prop_map(|length| "d".repeat(length)),
        "[ .a\u{1}\u{85}\u{202e}\"\\\\\n\t/]{0,6}",
        ".{0,140}",
    ]
}

/// The files of a project, each a mark of some kind of project.
fn files() -> impl Strategy<Value = Vec<String>> {
    const MARKS: &[&str] =
        &["Cargo.toml", "go.mod", "package.json", "test.sh", "Makefile", "a_test.py"];
    let file = (a_directory(), prop::sample::select(MARKS));
    let path = file.prop_map(|(directory, mark)| format!("{directory}/{mark}"));
    prop::collection::vec(path, 1..6)
}

/// A draft with the checks that it only suggests.
fn with_all(draft: &str) -> String {
    let inside = |line: &str| {
        let keys = ["[[check]]", "name = ", "run = ", "directory = ", "expect = "];
        keys.iter().any(|key| line.starts_with(key))
    };
    let suggested = draft.split("# perhaps, from");
    let plain = suggested.enumerate().map(|(number, part)| match number {
        0 => part.to_owned(),
        _ => part
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if inside(rest) => format!("{rest}\n"),
                _ => format!("# {line}\n"),
            })
            .collect(),
    });
    plain.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_draft_is_a_contract(task in ".{0,40}", paths in files()) {
        let text = |path: &str| Some(match path.ends_with(".json") {
            true => r#"{"scripts":{"test":"jest","lint":"eslint"}}"#.to_owned(),
            false => "test:\nlint:\n".to_owned(),
        });
        let draft = propose(&task, &Listing { paths: &paths, read: &text });
        if draft.checks.iter().any(|check| check.tests) {
            for text in [draft.text.clone(), with_all(&draft.text)] {
                let contract = contract::read(&text, "draft");
                prop_assert!(contract.is_ok(), "{:?}\n{}", contract, text);
            }
        }
    }

    #[test]
    fn only_evidence_verifies(pairs in pairs(), flagged in any::<bool>()) {
        let commands = ["cargo test", "make test", "true"].map(str::to_owned);
        let contract = of_commands(&commands).unwrap();
        let flag = Flag { path: "a".into(), line: None, why: "b".into() };
        let flags = if flagged { vec![flag] } else { vec![] };
        let judgement = judge(&contract, &pairs, &flags);
        let clean = |ran: &Ran| ran.exit == Some(0) && !ran.timed_out && ran.signal.is_none();
        let all_ran = commands.iter().all(|name| {
            pairs.iter().any(|pair| pair.name == *name && clean(&pair.result))
        });
        if judgement.verdict == Verdict::Verified {
            prop_assert!(all_ran && !flagged);
            prop_assert!(judgement.checks.iter().all(|check| check.passed));
            prop_assert!(judgement.criteria.iter().all(|one| one.met));
            prop_assert!(judgement.reasons.is_empty());
        } else {
            prop_assert!(!judgement.reasons.is_empty());
        }
        for check in &judgement.checks {
            prop_assert_eq!(check.passed, check.reasons.is_empty());
            prop_assert!(!(check.passed && check.pre_existing));
            prop_assert!(!(check.base_passed && check.pre_existing));
        }
        let newly = judgement.checks.iter().any(|check| !check.passed && !check.pre_existing);
        prop_assert_eq!(judgement.verdict == Verdict::Failed, newly);
    }

    /// The same on both sides is never somebody's new failure, and never worse for a base that
    /// failed.
    #[test]
    fn a_run_that_changed_nothing_breaks_nothing(ran in a_run()) {
        let contract = of_commands(&["make test".to_owned()]).unwrap();
        let pair = Pair { name: "make test".into(), base: ran.clone(), result: ran };
        let judgement = judge(&contract, &[pair], &[]);
        prop_assert!(judgement.verdict != Verdict::Failed, "{:?}", judgement);
    }

    #[test]
    fn any_text_is_read(data in prop::collection::vec(any::<u8>(), 0..300)) {
        contract::fuzz_contract(&data);
        contract::fuzz_output(&data);
        contract::fuzz_altered(&data);
    }

    #[test]
    fn texts_like_contracts_are_read(
        keys in prop::collection::vec(
            "(task|oracle|rounds|check|name|run|expect|exit) = (\"[a-z*/.]{0,6}\"|[0-9]{1,3}|\\[\"[a-z/*.]{0,5}\"\\]|\\{ exit = [0-9]{1,3} \\})|\\[\\[(check|criterion)\\]\\]|\\[(limits|reserve)\\]",
            0..10,
        ),
    ) {
        contract::fuzz_contract(keys.join("\n").as_bytes());
    }

    #[test]
    fn sources_of_rust_are_looked_at_to_their_end(
        words in prop::collection::vec("mod|fn|use|#\\[test\\]|#\\[cfg\\(test\\)\\]|\\{|\\}|\\(|\\)|;|a|b|::|\\*|\"|'|/\\*|\\*/|//|\n|r#", 0..60),
    ) {
        let text = words.join(" ");
        contract::fuzz_altered(format!("src/lib.rs\0{text}\0{text} fn c() {{}}").as_bytes());
        contract::fuzz_altered(format!("src/lib.rs\0{text}\0").as_bytes());
    }
}
