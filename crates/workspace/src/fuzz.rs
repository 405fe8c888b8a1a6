//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use crate::change::{ChangeSet, Kind};

/// A change set that is read is written back as the same bytes, and holds no path twice.
pub fn fuzz_changes(data: &[u8]) {
    let Ok(set) = ChangeSet::parse(data) else { return };
    assert!(set.to_bytes().is_ok_and(|bytes| bytes == data), "two forms of one change set");
    assert!(set.entries().is_sorted_by(|a, b| a.path < b.path));
    for entry in set.entries() {
        assert_eq!(entry.before.is_none(), entry.kind == Kind::Add, "{}", entry.path);
        assert_eq!(entry.after.is_none(), entry.kind == Kind::Delete, "{}", entry.path);
    }
    let counts = set.counts();
    let named = counts.added + counts.edited + counts.deleted + counts.modes + counts.renamed;
    assert_eq!(named + counts.directories + counts.git, set.entries().len() as u64);
    assert!(counts.flagged <= named, "something waits for a word that is no change");
    let _ = set.result_digest();
}
