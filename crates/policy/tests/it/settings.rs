//! The table of settings and the code that reads them name the same keys.

use std::collections::BTreeSet;

use policy::Kind;
use policy::settings::{SECTIONS, Shape, section};

const READERS: &[&str] = &[
    include_str!("../../src/raw.rs"),
    include_str!("../../src/raw/approvals.rs"),
    include_str!("../../src/raw/expect.rs"),
    include_str!("../../src/raw/limits.rs"),
    include_str!("../../src/raw/network.rs"),
    include_str!("../../src/raw/rules.rs"),
];

/// The keys that the readers take, by how they take them: `.text("host")`.
fn taken() -> BTreeSet<String> {
    let takers =
        [".text(\"", ".texts(\"", ".switch(\"", ".whole(\"", ".wholes(\"", ".number(\"", ".map(\""];
    let mut keys = BTreeSet::new();
    for reader in READERS {
        for taker in takers {
            for rest in reader.split(taker).skip(1) {
                keys.insert(rest.split('"').next().unwrap().to_owned());
            }
        }
    }
    keys
}

#[test]
fn every_key_that_is_read_is_in_the_table() {
    let taken = taken();
    assert!(taken.len() > 20, "{taken:?}");
    for key in taken {
        assert!(SECTIONS.iter().any(|section| section.setting(&key).is_some()), "{key}");
    }
}

#[test]
fn every_key_of_the_table_is_read() {
    for section in SECTIONS.iter().filter(|section| section.name != "defaults") {
        for setting in section.settings {
            let quoted = format!("\"{}\"", setting.key);
            assert!(READERS.iter().any(|reader| reader.contains(&quoted)), "{}", setting.key);
        }
    }
}

#[test]
fn defaults_are_the_kinds_of_actions() {
    let keys: BTreeSet<_> =
        section("defaults").unwrap().settings.iter().map(|setting| setting.key).collect();
    assert_eq!(keys, Kind::ALL.map(Kind::word).into_iter().collect());
}

/// A value of another type than the setting's is refused, whatever the setting.
#[test]
fn every_key_has_one_type() {
    for section in SECTIONS {
        for setting in section.settings {
            let wrong = match setting.shape {
                Shape::Switch | Shape::Map => "\"x\"",
                Shape::Text | Shape::Whole | Shape::Number => "[\"x\"]",
                Shape::Texts | Shape::Wholes => "true",
            };
            let text = format!("{}\n{} = {wrong}\n", section.head(), setting.key);
            let refused = crate::support::errors(crate::support::with_profile(&text));
            let key = format!("{}.{}", section.name, setting.key);
            assert!(refused.errors().iter().any(|error| error.origin.key == key), "{text}");
        }
    }
}
