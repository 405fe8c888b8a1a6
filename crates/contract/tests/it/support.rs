//! Contracts, runs and changes in a line each.

use contract::{Altered, Contract, Flag, Judgement, Oracle, Pair, Ran, flags, judge, of_commands};

pub(crate) fn of(commands: &[&str]) -> Contract {
    let commands: Vec<String> = commands.iter().map(ToString::to_string).collect();
    of_commands(&commands).unwrap()
}

pub(crate) fn read(text: &str) -> Contract {
    contract::read(text, "contract.toml").unwrap()
}

/// A run that ended with this exit code and output.
pub(crate) fn ran(exit: i32, stdout: &str) -> Ran {
    Ran { exit: Some(exit), stdout: stdout.as_bytes().to_vec(), ..Ran::default() }
}

pub(crate) fn pair(name: &str, base: Ran, result: Ran) -> Pair {
    Pair { name: name.to_owned(), base, result }
}

/// The judgement on the only check of a contract.
pub(crate) fn judged(contract: &Contract, base: Ran, result: Ran) -> Judgement {
    let name = &contract.checks[0].name;
    judge(contract, &[pair(name, base, result)], &[])
}

/// The oracle in a base with these files.
pub(crate) fn oracle(contract: &Contract, base: &[&str]) -> Oracle {
    Oracle::of(contract, &|path| base.contains(&path))
}

/// The flags of one change, under a contract of these checks.
pub(crate) fn flagged(checks: &[&str], path: &str, before: &str, after: &str) -> Vec<Flag> {
    flagged_in(&of(checks), path, before, after)
}

pub(crate) fn flagged_in(contract: &Contract, path: &str, before: &str, after: &str) -> Vec<Flag> {
    let side = |text: &str| (text != NONE).then(|| text.as_bytes().to_vec());
    let (before, after) = (side(before), side(after));
    let altered = Altered {
        path: path.as_bytes(),
        before: before.as_deref(),
        after: after.as_deref(),
        opaque: false,
    };
    flags(contract, &oracle(contract, &[]), &altered)
}

/// Stands for a file that is not there.
pub(crate) const NONE: &str = "\0";

/// Whether a change is held or flagged, in a base with this file.
pub(crate) fn is_caught(checks: &[&str], path: &str, before: &str, after: &str) -> bool {
    let contract = of(checks);
    let base = if before == NONE { vec![] } else { vec![path] };
    oracle(&contract, &base).holds(path.as_bytes())
        || !flagged_in(&contract, path, before, after).is_empty()
}
