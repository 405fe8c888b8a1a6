//! The fuzz targets' corpus, replayed; and what is said of a proposal in one line.

use std::path::Path;

use hands::proposal::{JobAct, Proposal};

crate::tests!(the_corpus_holds, words_are_one_inert_line, forms_in_json_are_fixed);

fn the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    type Target = (&'static str, fn(&[u8]));
    let targets: [Target; 2] = [("hands", hands::fuzz_conversation), ("tools", hands::fuzz_text)];
    for (name, target) in targets {
        let files: Vec<_> = std::fs::read_dir(corpus.join(name)).unwrap().flatten().collect();
        assert!(files.len() > 3, "{name}");
        for file in files {
            let bytes = std::fs::read(file.path()).unwrap();
            target(&bytes);
            // And cut at every place, and with every byte changed.
            for at in 0..bytes.len().min(300) {
                target(&bytes[..at]);
                let mut changed = bytes.clone();
                changed[at] ^= 0x15;
                target(&changed);
            }
        }
    }
}

fn words_are_one_inert_line() {
    let bash = |command: &str| Proposal::Bash {
        command: command.to_owned(),
        timeout: None,
        background: false,
        terminal: false,
    };
    assert_eq!(bash("a\n\x1b[2Jb").words(), "a\\n\\x1b[2Jb");
    let long = bash(&"ä".repeat(1000)).words();
    assert_eq!(long.chars().count(), 201);
    assert!(long.ends_with('…'));
    let stop = Proposal::Job { id: "j1".into(), act: JobAct::Stop };
    assert_eq!((stop.tool(), stop.words().as_str()), ("job", "stop j1"));
    assert_ne!(bash("a").digest(), bash("b").digest());
}

fn forms_in_json_are_fixed() {
    let read = Proposal::Read { path: "a".into(), offset: Some(1), limit: None, most: None };
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(json, r#"{"tool":"read","path":"a","offset":1,"limit":null}"#);
    let wait = r#"{"tool":"job","id":"j1","act":{"do":"wait","timeout":"10s"}}"#;
    let wait: Proposal = serde_json::from_str(wait).unwrap();
    assert_eq!(wait.words(), "wait for j1");
    assert!(serde_json::from_str::<Proposal>(r#"{"tool":"sudo"}"#).is_err());
    assert!(serde_json::from_str::<Proposal>(r#"{"tool":"fetch","url":"x","extra":1}"#).is_err());
}
