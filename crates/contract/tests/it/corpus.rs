//! The corpus of the fuzz targets, replayed.

use std::path::Path;

fn replay(name: &str, target: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut count = 0;
    for entry in std::fs::read_dir(seeds).unwrap() {
        target(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}

#[test]
fn contract() {
    replay("contract", contract::fuzz_contract);
}

#[test]
fn output() {
    replay("output", contract::fuzz_output);
}

#[test]
fn altered() {
    replay("altered", contract::fuzz_altered);
}

#[test]
fn hostile_texts() {
    let deep = format!("x = {}1{}", "[".repeat(5000), "]".repeat(5000));
    let wide = format!("oracle = [{}]", "\"**/*a*b*c*d*e/**\",".repeat(2000));
    let long = "#".repeat((1 << 20) + 1);
    let quotes = "'\"`$(\\".repeat(5000);
    for text in [&deep, &wide, &quotes, "\u{202e}=1", "\0", "[[check]]\nname = nan"] {
        contract::fuzz_contract(text.as_bytes());
        contract::fuzz_output(text.as_bytes());
        contract::fuzz_altered(format!("src/a.rs\0\0{text}").as_bytes());
        contract::fuzz_altered(format!("a.py\0{text}\0{text}x").as_bytes());
    }
    contract::fuzz_contract(long.as_bytes());
    contract::fuzz_contract(b"\xff\xfe");
    let mods = "mod a {".repeat(5_000);
    contract::fuzz_altered(format!("src/a.rs\0{mods}\0x").as_bytes());
}
