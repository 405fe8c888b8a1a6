//! The corpus of the fuzz target, replayed.

use std::path::Path;

#[test]
fn the_corpus_holds() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sse");
    let entries = std::fs::read_dir(&directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let seed = std::fs::read(path).unwrap();
        models::fuzz_sse(&seed);
        // Cut anywhere, and with any one byte changed.
        for at in 0..seed.len() {
            models::fuzz_sse(&seed[..at]);
            let mut changed = seed.clone();
            changed[at] ^= 1 << (at % 8);
            models::fuzz_sse(&changed);
        }
    }
}
