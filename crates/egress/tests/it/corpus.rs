//! The corpus of the fuzz targets, replayed, and a great many bytes around it.

use std::path::Path;

use crate::random::Random;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("http", egress::fuzz_http),
    ("hello", egress::fuzz_hello),
    ("dns", egress::fuzz_dns),
    ("socks", egress::fuzz_socks),
    ("first", egress::fuzz_first),
];

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|_| panic!("no {directory:?}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus {name} is empty");
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn the_corpus_holds() {
    for (name, target) in TARGETS {
        for seed in seeds(name) {
            target(&seed);
        }
    }
}

/// 100,000 of changed heads, hellos, queries and requests: no panic, no hang.
#[test]
fn whatever_is_changed_in_the_corpus_holds() {
    const EACH: usize = 20_000;
    let mut random = Random::new(1);
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        for _ in 0..EACH {
            let mut bytes = random.one_of(&seeds).clone();
            random.change(&mut bytes);
            target(&bytes);
        }
    }
}
