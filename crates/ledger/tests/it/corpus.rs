//! The corpus of the fuzz targets, replayed.

use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let seeds = std::fs::read_dir(seeds).unwrap().map(|seed| seed.unwrap().path());
    let count = seeds.inspect(|seed| run(&std::fs::read(seed).unwrap())).count();
    assert!(count > 0, "the corpus of {target} is empty");
}

#[test]
fn ledger() {
    replay("ledger", ledger::fuzz_ledger);
}

#[test]
fn receipt() {
    replay("receipt", ledger::fuzz_receipt);
}

#[test]
fn heads() {
    replay("heads", ledger::fuzz_heads);
}
