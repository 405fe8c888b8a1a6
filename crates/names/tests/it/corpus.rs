//! The corpus of the fuzz targets, replayed.

use std::path::Path;

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
    replay("host", names::fuzz_host);
}

#[test]
fn canonical() {
    replay("canonical", names::fuzz_canonical);
}

#[test]
fn gitref() {
    replay("gitref", names::fuzz_gitref);
}

#[test]
fn path() {
    replay("path", names::fuzz_path);
}
