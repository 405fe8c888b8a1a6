//! The corpus of the fuzz targets, replayed.

use std::path::Path;

use names::fuzz;

fn replay(target: &str, run: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(seeds).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus of {target} is empty");
}

#[test]
fn host() {
    replay("host", fuzz::fuzz_host);
}

#[test]
fn canonical() {
    replay("canonical", fuzz::fuzz_canonical);
}

#[test]
fn gitref() {
    replay("gitref", fuzz::fuzz_gitref);
}

#[test]
fn path() {
    replay("path", fuzz::fuzz_path);
}
