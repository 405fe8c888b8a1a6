//! Any changed byte is found. Nothing in a ledger or a receipt is insignificant, but for the last
//! line end of a receipt, which may be missing.

use ledger::{
    Allow, Expect, Head, LedgerReport, LedgerRequirements, MAX_RECEIPT, Requirements, VerifyingKey,
    fuzz_heads, fuzz_ledger, fuzz_receipt, verify_ledger, verify_receipt,
};
use names::Digest;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::cases::story;
use crate::forge::lines;
use crate::vectors::{directory, judge, python};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(directory().join(name)).unwrap()
}

fn trusted() -> VerifyingKey {
    VerifyingKey::parse(&String::from_utf8(read("trusted.pub")).unwrap()).unwrap()
}

/// Every bit of every byte, without any head to compare with.
#[test]
fn a_flipped_bit_of_a_ledger_is_found_at_its_record() {
    let good = lines(&story());
    let bytes = good.concat();
    let mut start = 0;
    for (record, line) in good.iter().enumerate() {
        for at in start..start + line.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let verdict = verify_ledger(&flipped, Expect::default());
                let broken = verdict.broken.unwrap_or_else(|| panic!("byte {at} bit {bit} passes"));
                assert_eq!(broken.record(), record as u64, "byte {at} bit {bit}: {broken}");
            }
        }
        start += line.len();
    }
}

/// Signatures are slow to check, so a byte of the payload or signature has one bit flipped.
#[test]
fn a_flipped_bit_of_a_receipt_is_found() {
    let (bytes, ledger, changes) =
        (read("good.receipt.json"), read("intact.ledger"), read("changes.json"));
    let requirements = Requirements {
        keys: vec![trusted().into()],
        ledger: Some(&ledger),
        change_set: Some(&changes),
        ..Requirements::default()
    };
    assert!(verify_receipt(&bytes, &requirements).accepted());
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 7);
        let verdict = verify_receipt(&flipped, &requirements);
        assert!(!verdict.accepted(), "byte {at} passes");
        assert!(!(verdict.form.holds() && verdict.signature.holds()), "byte {at} is signed");
    }
}

/// What a receipt rests on: not a byte of its ledger or its change set may differ, and no line of
/// the ledger may be missing, twice, or in another place.
#[test]
fn nothing_that_a_receipt_rests_on_can_change() {
    let (receipt, ledger, changes) =
        (read("good.receipt.json"), read("intact.ledger"), read("changes.json"));
    // The signature is slow to check, and these bytes are no part of it.
    let accepted = |ledger: &[u8], changes: &[u8]| {
        let requirements = Requirements {
            ledger: Some(ledger),
            change_set: Some(changes),
            allow: [Allow::Unsigned].into(),
            ..Requirements::default()
        };
        verify_receipt(&receipt, &requirements).accepted()
    };
    assert!(accepted(&ledger, &changes));
    for at in 0..ledger.len() {
        let mut flipped = ledger.clone();
        flipped[at] ^= 1 << (at % 7);
        assert!(!accepted(&flipped, &changes), "byte {at} of the ledger");
    }
    for at in 0..changes.len() {
        let mut flipped = changes.clone();
        flipped[at] ^= 1 << (at % 7);
        assert!(!accepted(&ledger, &flipped), "byte {at} of the change set");
    }
    let lines: Vec<_> = ledger.split_inclusive(|byte| *byte == b'\n').collect();
    let covered = lines.len() - 2;
    for at in 0..lines.len() {
        let (mut dropped, mut twice) = (lines.clone(), lines.clone());
        dropped.remove(at);
        twice.insert(at, lines[at]);
        assert!(!accepted(&twice.concat(), &changes), "line {at} twice");
        // The receipt says nothing about what follows its head; the witness below does.
        let is_end = at == lines.len() - 1;
        assert_eq!(accepted(&dropped.concat(), &changes), is_end, "without line {at}");
        for to in (0..lines.len()).filter(|to| *to != at) {
            let mut moved = lines.clone();
            let line = moved.remove(at);
            moved.insert(to, line);
            assert!(!accepted(&moved.concat(), &changes), "line {at} at {to}");
        }
        if at < covered {
            assert!(!accepted(&lines[..at].concat(), &changes), "cut at line {at}");
        }
    }
}

/// Whoever cut a ledger can't make a witness say that it was never longer: whatever byte of it
/// changes, and whatever line goes, it vouches for the whole or for nothing.
#[test]
fn no_byte_of_a_witness_lets_a_shorter_ledger_pass() {
    let (ledger, heads) = (read("intact.ledger"), read("good.heads"));
    let lines: Vec<_> = ledger.split_inclusive(|byte| *byte == b'\n').collect();
    let shorter = lines[..lines.len() - 1].concat();
    let last = heads[..heads.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let accepted = |ledger: &[u8], witness: &[u8]| {
        let requirements = LedgerRequirements {
            keys: vec![trusted().into()],
            witness: Some(witness),
            ..LedgerRequirements::default()
        };
        LedgerReport::on(ledger, &requirements).accepted()
    };
    assert!(accepted(&ledger, &heads[last..]) && !accepted(&shorter, &heads[last..]));
    for at in last..heads.len() {
        let mut flipped = heads[last..].to_vec();
        flipped[at - last] ^= 1 << (at % 7);
        assert!(!accepted(&shorter, &flipped), "byte {at}");
        assert!(!accepted(&ledger, &flipped), "byte {at} is signed");
    }
}

/// A receipt that nobody has to read is refused by its size.
#[test]
fn a_huge_receipt_is_refused_unread() {
    let place = tempfile::tempdir().unwrap();
    let mut huge = read("good.receipt.json");
    huge.resize(usize::try_from(MAX_RECEIPT).unwrap() + 1, b' ');
    std::fs::write(place.path().join("huge"), &huge).unwrap();
    let case = json!({"name": "huge", "receipt": "huge", "ledger": null, "changes": null,
        "keys": [], "allow": []});
    let cases = serde_json::to_vec(&json!([case])).unwrap();
    std::fs::write(place.path().join("cases.json"), cases).unwrap();
    let ours = judge(place.path(), &case);
    assert_eq!(ours["form"], "too-large");
    assert_eq!(python(place.path())["huge"], ours);
}

fn ledger_and_head() -> (Vec<u8>, Head) {
    let bytes = lines(&story()).concat();
    let head = verify_ledger(&bytes, Expect::default()).head;
    (bytes, head)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is replaced, put in or taken out, the known head tells.
    #[test]
    fn any_other_bytes_are_found(at: Index, drop: Index, put in prop::collection::vec(any::<u8>(), 0..40)) {
        let (good, head) = ledger_and_head();
        let at = at.index(good.len());
        let end = at + drop.index((good.len() - at).min(400) + 1);
        let mut bytes = good.clone();
        bytes.splice(at..end, put);
        prop_assume!(bytes != good);
        let verdict = verify_ledger(&bytes, Expect { head: Some(head), ..Expect::default() });
        // More records may follow a known head, but these bytes are no records.
        prop_assert!(!verdict.holds(), "{:?}", verdict);
    }

    /// Whatever order, number and omission of lines: intact only as a beginning of the chain.
    #[test]
    fn any_other_lines_are_found(order in prop::collection::vec(0usize..10, 0..14)) {
        let good = lines(&story());
        let bytes: Vec<u8> = order.iter().flat_map(|at| good[*at].clone()).collect();
        let verdict = verify_ledger(&bytes, Expect::default());
        let prefix = !order.is_empty() && order.iter().enumerate().all(|(at, one)| at == *one);
        prop_assert_eq!(verdict.holds(), prefix, "{:?} {:?}", order, verdict.broken);
        let right = order.iter().enumerate().take_while(|(at, one)| at == *one).count();
        prop_assert_eq!(verdict.head.count, right as u64);
    }

    #[test]
    fn any_bytes_can_be_verified(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz_ledger(&bytes);
        fuzz_receipt(&bytes);
        fuzz_heads(&bytes);
    }

    #[test]
    fn damaged_files_can_be_verified(at: Index, put in prop::collection::vec(any::<u8>(), 0..9)) {
        for (name, fuzz) in [
            ("intact.ledger", fuzz_ledger as fn(&[u8])),
            ("good.receipt.json", fuzz_receipt),
            ("good.heads", fuzz_heads),
        ] {
            let mut bytes = read(name);
            let at = at.index(bytes.len());
            let end = (at + put.len()).min(bytes.len());
            bytes.splice(at..end, put.iter().copied());
            fuzz(&bytes);
        }
    }
}

/// Lines in any order and bytes changed at random: both verifiers say the same.
#[test]
fn python_agrees_on_damage() {
    let place = tempfile::tempdir().unwrap();
    let good = lines(&story());
    let cases: Vec<Value> = (0..600)
        .map(|seed| {
            let name = format!("{seed}.ledger");
            std::fs::write(place.path().join(&name), damaged(&good, seed)).unwrap();
            json!({"name": name, "ledger": name})
        })
        .collect();
    let text = serde_json::to_vec(&cases).unwrap();
    std::fs::write(place.path().join("cases.json"), text).unwrap();
    let said = python(place.path());
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let ours = judge(place.path(), case);
        assert_eq!(said[name], ours, "{}", String::from_utf8_lossy(&damaged(&good, seed(name))));
    }
}

fn seed(name: &str) -> u64 {
    name.split('.').next().unwrap().parse().unwrap()
}

/// Numbers that are the same in every run.
fn draw(seed: u64, what: &str, below: usize) -> usize {
    let digest = Digest::of_parts("draw", &[&seed.to_le_bytes(), what.as_bytes()]);
    usize::from(u16::from_le_bytes([digest.bytes()[0], digest.bytes()[1]])) % below
}

fn damaged(good: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut lines = good.to_vec();
    let (a, b) = (draw(seed, "a", lines.len()), draw(seed, "b", lines.len()));
    match draw(seed, "how", 5) {
        0 => lines.swap(a, b),
        1 => lines.insert(a, good[b].clone()),
        2 => drop(lines.remove(a)),
        3 => {
            let at = draw(seed, "at", lines[a].len());
            lines[a][at] ^= 1 << draw(seed, "bit", 8);
        }
        _ => {
            let (at, len) = (draw(seed, "at", lines[a].len()), draw(seed, "len", 9));
            let end = (at + len).min(lines[a].len());
            let text = br#"{}[]",:0."#;
            lines[a].splice(at..end, [text[draw(seed, "text", text.len())]]);
        }
    }
    lines.concat()
}
