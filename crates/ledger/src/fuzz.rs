//! Entry points for fuzzing: any bytes in, no panic, and what is called intact is reproducible.

use crate::examine::{Requirements, verify_receipt};
use crate::heads::signed_heads;
use crate::read::records;
use crate::receipt::CheckedReceipt;
use crate::verify::{Expect, verify_ledger};

/// Verifies `bytes` as a ledger. An intact one has a record a line, and holds against its own head.
pub fn fuzz_ledger(bytes: &[u8]) {
    let verdict = verify_ledger(bytes, Expect::default());
    let lines = records(bytes).count() as u64;
    assert!(verdict.head.count <= lines, "more records than lines");
    if verdict.holds() {
        assert_eq!(verdict.head.count, lines, "a line is not a record");
        let expect = Expect { run: verdict.run, head: Some(verdict.head), heads: vec![] };
        assert!(verify_ledger(bytes, expect).holds(), "it does not hold against its own head");
    }
}

/// Verifies `bytes` as a receipt. Without a key none is accepted, and one that is read is
/// written back as the same bytes.
pub fn fuzz_receipt(bytes: &[u8]) {
    assert!(!verify_receipt(bytes, &Requirements::default()).accepted(), "accepted without a key");
    if let Ok(receipt) = CheckedReceipt::parse(bytes) {
        let written = receipt.envelope().to_bytes();
        assert_eq!(written.trim_ascii_end(), bytes.trim_ascii_end(), "two forms of one receipt");
    }
}

/// Reads `bytes` as signed heads. What is read is written back as the same bytes.
pub fn fuzz_heads(bytes: &[u8]) {
    if let Ok(heads) = signed_heads(bytes) {
        let written: Vec<u8> =
            heads.iter().flat_map(|head| head.to_line().unwrap_or_default()).collect();
        assert!(bytes.starts_with(&written), "two forms of one head");
    }
}
