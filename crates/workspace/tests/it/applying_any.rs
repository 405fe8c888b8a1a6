//! Any operations in an overlay: apply makes the base what the run saw, undo makes it what it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proptest::prelude::*;
use workspace::{ApplyError, Kind, Selection, plan};

use crate::overlay::Overlay;
use crate::permits::Person;
use crate::reading::read;
use crate::reading_any::{before, during, held};
use crate::tree::{Held, Tree, take_down};

/// Exact modes of everything but links.
fn modes(root: &Path) -> BTreeMap<Vec<u8>, u32> {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = take_down(root).into_keys();
    let mode = |name: &Vec<u8>| {
        let path = root.join(std::ffi::OsStr::from_bytes(name));
        fs::symlink_metadata(path).unwrap().mode()
    };
    tree.map(|name| (name.clone(), mode(&name))).collect()
}

fn without_set_id(held: Held) -> Held {
    match held {
        Held::File { executable, content, .. } => Held::File { executable, set_id: false, content },
        held => held,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn apply_then_undo(before in before(), during in during()) {
        let overlay = Overlay::over(&before);
        let seen = overlay.perform(&during);
        let (set, person) = (read(&overlay), Person::new());
        let approvable = set.entries().iter().filter(|entry| !entry.is_final());
        let selection = Selection::all().with_flagged(approvable.map(|e| e.path.clone()).collect());
        let plan = plan(&set, &selection).unwrap();
        let (tree, exact) = (take_down(&overlay.base()), modes(&overlay.base()));
        match person.apply(&overlay, &set, &selection) {
            Err(ApplyError::Nothing { .. }) if plan.paths.is_empty() => return Ok(()),
            applied => prop_assert_eq!(applied.unwrap().left, plan.left.clone()),
        }
        // What the plan says, put together by hand.
        let mut expected: Tree = tree.clone();
        for entry in set.entries().iter().filter(|entry| plan.paths.contains(&entry.path)) {
            if let Kind::Rename { from } = &entry.kind {
                expected.remove(from.as_bytes());
            }
            match entry.after.as_ref().map(held) {
                Some(held) => expected.insert(entry.path.as_bytes().to_vec(), without_set_id(held)),
                None => expected.remove(entry.path.as_bytes()),
            };
        }
        let applied = take_down(&overlay.base());
        prop_assert_eq!(&applied, &expected);
        // And, if nothing was left, what the run saw.
        if plan.left.is_empty() {
            let tame = |tree: Tree| tree.into_iter().map(|(path, held)| (path, without_set_id(held))).collect::<Tree>();
            prop_assert_eq!(tame(applied), tame(seen));
        }
        person.undo(&overlay).unwrap();
        prop_assert_eq!(take_down(&overlay.base()), tree);
        prop_assert_eq!(modes(&overlay.base()), exact);
        // Nothing temporary is left, and the way is free again.
        person.apply(&overlay, &set, &selection).unwrap();
        prop_assert_eq!(take_down(&overlay.base()), expected);
    }
}
