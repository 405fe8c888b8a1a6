//! The corpus of the fuzz target, replayed.

use std::path::Path;

#[test]
fn changes() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/changes");
    let mut good = 0;
    for entry in std::fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        workspace::fuzz_changes(&bytes);
        if path.file_name().unwrap().as_encoded_bytes().starts_with(b"good-") {
            workspace::ChangeSet::parse(&bytes).unwrap();
            good += 1;
        }
    }
    assert!(good > 1, "the corpus has nothing that goes deep");
}
