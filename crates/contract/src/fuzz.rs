//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use crate::{
    Altered, Contract, Entry, Flag, Listing, Oracle, Pair, Ran, Verdict, flags, judge, notes,
    of_commands, propose, read, report_to_agent,
};

/// Whatever a text is taken for, it is a contract that comes back from its JSON, or every fault has
/// a place, words and a way out.
pub fn fuzz_contract(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    match read(text, "fuzz.toml") {
        Ok(contract) => hold(&contract),
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                let shown = format!("{fault} {}", fault.next);
                assert!(!shown.chars().any(char::is_control), "{shown:?}");
                assert!(!fault.next.is_empty() && fault.line.is_some_and(|line| line > 0));
            }
        }
    }
    if let Ok(contract) = of_commands(&[text.to_owned()]) {
        hold(&contract);
    }
    if let Ok(contract) = Contract::from_bytes(data) {
        assert_eq!(contract.to_bytes(), data);
    }
    let paths: Vec<String> = text.lines().map(str::to_owned).collect();
    let draft = propose(text, &Listing { paths: &paths, read: &|_| Some(text.to_owned()) });
    if draft.checks.iter().any(|check| check.tests) {
        assert!(read(&draft.text, "draft").is_ok(), "{}", draft.text);
    }
}

fn hold(contract: &Contract) {
    let bytes = contract.to_bytes();
    assert_eq!(Contract::from_bytes(&bytes).ok().as_ref(), Some(contract));
    let oracle = Oracle::of(contract, &|_| true);
    assert!(oracle.holds(b".git/hooks/pre-commit"));
    let _ = notes(contract, &|_| true);
    // Nothing was run, so nothing was shown.
    assert_ne!(judge(contract, &[], &[]).verdict, Verdict::Verified);
}

/// Whatever is printed: who exits with another code, or raises a flag, or was not run, is not
/// verified; and what the agent is told is harmless.
pub fn fuzz_output(data: &[u8]) {
    let commands = ["cargo test", "make test"];
    for command in commands {
        let Ok(contract) = of_commands(&[command.to_owned()]) else { continue };
        let name = command.to_owned();
        let ran = |exit| Ran { exit: Some(exit), stdout: data.to_vec(), ..Ran::default() };
        let pairs =
            |base, result| [Pair { name: name.clone(), base: ran(base), result: ran(result) }];
        let good = judge(&contract, &pairs(0, 0), &[]);
        for bad in [judge(&contract, &pairs(0, 1), &[]), judge(&contract, &pairs(1, 1), &[])] {
            assert_ne!(bad.verdict, Verdict::Verified);
        }
        let flag = Flag { path: "a".to_owned(), line: None, why: "b".to_owned() };
        assert_ne!(judge(&contract, &pairs(0, 0), &[flag]).verdict, Verdict::Verified);
        if let Some(tests) = good.checks.iter().find_map(|check| check.tests)
            && tests.failed > 0
        {
            assert_ne!(good.verdict, Verdict::Verified);
        }
        let report = report_to_agent(&contract, &good, &pairs(0, 0));
        assert!(!report.contains('\u{1b}'));
    }
}

/// Whatever a file is called and holds, looking at it ends, and says nothing that a terminal would
/// obey; a file that did not change raises nothing.
pub fn fuzz_altered(data: &[u8]) {
    let Ok(contract) = of_commands(&["cargo test".to_owned(), "make check".to_owned()]) else {
        return;
    };
    let oracle = Oracle::of(&contract, &|_| false);
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let (Some(path), before, after) = (parts.next(), parts.next(), parts.next()) else { return };
    let held = oracle.held(&[Entry { path, leaves_directory: false }]);
    assert_eq!(held.first().copied(), Some(oracle.holds(path)));
    for altered in [
        Altered { path, before, after, opaque: false },
        Altered { path, before, after: None, opaque: true },
        Altered { path, before: None, after, opaque: false },
    ] {
        for flag in flags(&contract, &oracle, &altered) {
            assert!(!flag.to_string().chars().any(char::is_control), "{flag}");
            assert!(!oracle.holds(path));
        }
    }
    let same = Altered { path, before: after, after, opaque: false };
    assert!(flags(&contract, &oracle, &same).is_empty());
}
