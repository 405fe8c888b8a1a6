//! The corpus of the fuzz target, replayed.

use std::path::Path;

#[test]
fn profile() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/profile");
    let mut count = 0;
    for entry in std::fs::read_dir(seeds).unwrap() {
        policy::fuzz_profile(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}

#[test]
fn hostile_texts() {
    let deep = format!("x = {}1{}", "[".repeat(5000), "]".repeat(5000));
    let dotted = format!("{} = 1", vec!["a"; 5000].join("."));
    let wide = format!(
        "[[rule]]\naction = \"exec\"\nargs = [{}]\nverdict = \"deny\"",
        "\"*\",".repeat(5000)
    );
    let long = "#".repeat((1 << 20) + 1);
    for text in [&deep, &dotted, &wide, &long, "\u{202e}=1", "\0", "[limits]\ncpus = nan"] {
        policy::fuzz_profile(text.as_bytes());
    }
    policy::fuzz_profile(b"\xff\xfe");
}
