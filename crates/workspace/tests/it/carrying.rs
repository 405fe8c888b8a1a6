//! What one run left, as the beginning of another.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::UNIX_EPOCH;

use proptest::prelude::*;
use rustix::fs::XattrFlags;
use workspace::{ApplyError, CarryError, Selection, carry_over, plan};

use crate::overlay::Overlay;
use crate::permits::Person;
use crate::reading::read;
use crate::reading_any::{before, during};
use crate::tree::{Held, Tree, take_down};

/// `S_IFMT`: inode(7).
const FORMAT: u32 = 0o170_000;

fn text(overlay: &Overlay, name: &str) -> Option<String> {
    fs::read_to_string(overlay.base().join(name)).ok()
}

fn apply(earlier: &[&Overlay], overlay: &Overlay) -> Result<(), ApplyError> {
    let sets: Vec<_> = earlier.iter().map(|overlay| read(overlay)).collect();
    let set = read(overlay);
    Person::new().apply_after(&sets, overlay, &set, &Selection::all()).map(drop)
}

#[test]
fn a_copy_keeps_what_the_file_system_keeps() {
    let (first, next) = (Overlay::with(&[("gone", ""), ("dir/inner", "")]), Overlay::new());
    first.sh("rm gone; rm -r dir; mkdir dir; echo new > dir/new; ln dir/new dir/twin
        mkdir closed; echo secret > closed/file; chmod 000 closed/file; ln -s /etc/passwd link
        truncate -s 1G holes; printf x | dd of=holes bs=1 seek=500000000 conv=notrunc 2> /dev/null
        mkfifo pipe; touch -d @7 dir/new; chmod 4711 holes; touch -d @9 dir; chmod 050 closed");
    let upper = first.upper();
    fs::write(first.outside().join("theirs"), "theirs").unwrap();
    symlink(first.outside(), upper.join("out")).unwrap();
    let marked = fs::File::open(upper.join("dir")).unwrap();
    let mark = |name: &str, value: &[u8]| {
        rustix::fs::fsetxattr(&marked, name, value, XattrFlags::empty()).unwrap();
    };
    mark("user.note", b"mine");
    carry_over(&upper, &next.upper()).unwrap();

    let at = |name: &str| fs::symlink_metadata(next.upper().join(name)).unwrap();
    assert_eq!(at("dir/new").ino(), at("dir/twin").ino());
    assert_eq!(at("dir/new").modified().unwrap(), UNIX_EPOCH + std::time::Duration::from_secs(7));
    assert_eq!(at("dir").mtime(), 9);
    assert_eq!(at("closed").mode() & 0o7777, 0o050);
    assert_eq!(fs::symlink_metadata(upper.join("closed")).unwrap().mode() & 0o7777, 0o050);
    assert_eq!((at("holes").len(), at("holes").mode() & 0o7777), (1 << 30, 0o4711));
    assert!(at("holes").blocks() < 2_048, "{} blocks", at("holes").blocks());
    assert_eq!((at("gone").rdev(), at("gone").mode() & FORMAT), (0, 0o020_000));
    assert!(at("link").is_symlink() && at("out").is_symlink());
    let copied = fs::File::open(next.upper().join("dir")).unwrap();
    let mut value = [0_u8; 16];
    assert_eq!(rustix::fs::fgetxattr(&copied, "user.overlay.opaque", &mut value), Ok(1));
    assert_eq!(rustix::fs::fgetxattr(&copied, "user.note", &mut value), Ok(4));
    fs::set_permissions(upper.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(next.upper().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(at("closed/file").mode() & 0o7777, 0);
    // A change of the copy is none of the original.
    fs::write(next.upper().join("dir/new"), "other\n").unwrap();
    assert_eq!(fs::read_to_string(upper.join("dir/new")).unwrap(), "new\n");
}

#[test]
fn marks_of_other_overlays_are_refused() {
    for (mark, at) in [("user.overlay.redirect", "dir"), ("user.overlay.metacopy", "dir/file")] {
        let (first, next) = (Overlay::new(), Overlay::new());
        fs::create_dir(first.upper().join("dir")).unwrap();
        fs::write(first.upper().join("dir/file"), "").unwrap();
        let marked = fs::File::open(first.upper().join(at)).unwrap();
        rustix::fs::fsetxattr(&marked, mark, b"/etc", XattrFlags::empty()).unwrap();
        let refused = carry_over(&first.upper(), &next.upper());
        let Err(CarryError::Mark { path, mark: named }) = refused else { panic!("{refused:?}") };
        assert_eq!((path.as_str(), named.as_str()), (at, mark));
    }
}

#[test]
fn what_is_there_already_is_not_overwritten() {
    let (first, next) = (Overlay::new(), Overlay::new());
    fs::write(first.upper().join("a"), "carried").unwrap();
    symlink(first.outside().join("planted"), next.upper().join("a")).unwrap();
    assert!(matches!(carry_over(&first.upper(), &next.upper()), Err(CarryError::Copy { .. })));
    assert!(!first.outside().join("planted").exists());
}

#[test]
fn a_run_that_goes_on_holds_what_both_changed() {
    let first = Overlay::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    first.sh("echo 2 > a; rm b; echo 2 > new");
    let next = first.going_on();
    next.sh("test \"$(cat a new)\" = '2\n2'; test ! -e b; echo 3 > new; echo 3 > c");
    let paths: Vec<_> = read(&next).entries().iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, ["a", "b", "c", "new"]);
    assert_eq!(read(&first).entries().len(), 3);
    apply(&[&first], &next).unwrap();
    assert_eq!(text(&next, "new").as_deref(), Some("3\n"));
}

#[test]
fn the_later_after_the_earlier() {
    let first = Overlay::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("old", "moves\n")]);
    first.sh("echo 2 > a; rm b; mkdir d; echo 2 > d/new; mv old d/moved; echo 2 > same");
    let next = first.going_on();
    next.sh("echo 3 > a; echo back > b; echo 3 > d/new; echo 3 > d/more; chmod +x same");
    let alone = next.going_on();
    let (person, set) = (Person::new(), read(&next));
    let earlier = [read(&first)];
    apply(&[], &first).unwrap();
    // Without the earlier one's word, the project has moved on.
    let moved = person.apply(&next, &set, &Selection::all());
    assert!(matches!(moved, Err(ApplyError::Moved { .. })), "{moved:?}");
    person.apply_after(&earlier, &next, &set, &Selection::all()).unwrap();
    let held = |name: &str| text(&first, name);
    assert_eq!(held("a").as_deref(), Some("3\n"));
    assert_eq!(held("b").as_deref(), Some("back\n"));
    assert_eq!(held("d/new").as_deref(), Some("3\n"));
    assert_eq!(held("d/more").as_deref(), Some("3\n"));
    assert_eq!((held("d/moved").as_deref(), held("old")), (Some("moves\n"), None));
    assert_eq!(fs::metadata(first.base().join("same")).unwrap().mode() & 0o111, 0o111);
    assert!(read(&alone).is_empty());
    // Undone in the order in which they came, the base is what it was.
    assert!(matches!(person.undo(&first), Err(ApplyError::Edited { .. })));
    person.undo(&next).unwrap();
    assert_eq!(text(&first, "a").as_deref(), Some("2\n"));
    person.undo(&first).unwrap();
    assert_eq!(text(&first, "a").as_deref(), Some("1\n"));
    assert!(!first.base().join("d").exists());
}

#[test]
fn what_somebody_else_changed_stays_refused() {
    let first = Overlay::with(&[("a", "1\n")]);
    first.sh("echo 2 > a");
    let next = first.going_on();
    next.sh("echo 3 > a");
    let (earlier, set) = ([read(&first)], read(&next));
    fs::write(next.base().join("a"), "mine\n").unwrap();
    let refused = Person::new().apply_after(&earlier, &next, &set, &Selection::all());
    assert!(matches!(refused, Err(ApplyError::Moved { .. })), "{refused:?}");
    assert_eq!(text(&next, "a").as_deref(), Some("mine\n"));
}

#[test]
fn what_the_later_took_back_is_not_left_in_silence() {
    let first = Overlay::with(&[("a", "1\n"), ("b", "1\n")]);
    first.sh("echo 2 > a; echo 2 > new; echo 2 > b");
    let next = first.going_on();
    next.sh("echo 1 > a; rm new; echo 3 > b");
    let (earlier, set, person) = ([read(&first)], read(&next), Person::new());
    apply(&[], &first).unwrap();
    let refused = person.apply_after(&earlier, &next, &set, &Selection::all());
    let Err(ApplyError::TakenBack { paths }) = refused else { panic!("{refused:?}") };
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "new"]);
    let only = Selection::only(vec![crate::permits::path("b")]);
    person.apply_after(&earlier, &next, &set, &only).unwrap();
    person.undo(&next).unwrap();
    // With the earlier one undone, all of it can be applied.
    person.undo(&first).unwrap();
    person.apply_after(&earlier, &next, &set, &Selection::all()).unwrap();
    assert_eq!((text(&next, "b").as_deref(), text(&next, "new")), (Some("3\n"), None));
}

#[test]
fn what_the_later_closed_is_looked_into_all_the_same() {
    let first = Overlay::with(&[("b/c", "")]);
    first.sh("echo new > b/new; echo kept > b/kept");
    let next = first.going_on();
    next.sh("rm b/new; chmod 000 b/kept; chmod 000 b; echo more > more");
    let (earlier, set, person) = ([read(&first)], read(&next), Person::new());
    apply(&[], &first).unwrap();
    // It took one file back, and left the other: whoever may not open them reads that, too.
    let refused = person.apply_after(&earlier, &next, &set, &Selection::all());
    let Err(ApplyError::TakenBack { paths }) = refused else { panic!("{refused:?}") };
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b/new"]);
}

fn without_set_id(tree: Tree) -> Tree {
    let tame = |held| match held {
        Held::File { executable, content, .. } => Held::File { executable, set_id: false, content },
        held => held,
    };
    tree.into_iter().map(|(path, held)| (path, tame(held))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_is_seen_as_the_original_is(before in before(), during in during()) {
        let first = Overlay::over(&before);
        let seen = first.perform(&during);
        let next = first.going_on();
        prop_assert_eq!(read(&next), read(&first));
        prop_assert_eq!(next.perform(&[]), seen);
        prop_assert_eq!(read(&next), read(&first));
    }

    /// After the earlier one was applied, the later one makes the base what its run saw, or says
    /// why it does not.
    #[test]
    fn both_applied_are_what_the_later_saw(before in before(), one in during(), two in during()) {
        let first = Overlay::over(&before);
        first.perform(&one);
        let next = first.going_on();
        let seen = next.perform(&two);
        let (earlier, set, person) = ([read(&first)], read(&next), Person::new());
        let whole = |set: &workspace::ChangeSet| {
            let approvable = set.entries().iter().filter(|entry| !entry.is_final());
            let flagged = approvable.map(|entry| entry.path.clone()).collect();
            let selection = Selection::all().with_flagged(flagged);
            let left = plan(set, &selection).unwrap();
            (selection, left.left.is_empty() && !left.paths.is_empty())
        };
        let ((all, first_whole), (rest, next_whole)) = (whole(&earlier[0]), whole(&set));
        prop_assume!(first_whole && next_whole);
        person.apply(&first, &earlier[0], &all).unwrap();
        let applied = take_down(&first.base());
        match person.apply_after(&earlier, &next, &set, &rest) {
            Ok(_) => {
                prop_assert_eq!(without_set_id(take_down(&first.base())), without_set_id(seen));
                person.undo(&next).unwrap();
                prop_assert_eq!(take_down(&first.base()), applied);
            }
            Err(ApplyError::TakenBack { .. } | ApplyError::Moved { .. }) => {
                prop_assert_eq!(take_down(&first.base()), applied);
                person.undo(&first).unwrap();
                person.apply_after(&earlier, &next, &set, &rest).unwrap();
                prop_assert_eq!(without_set_id(take_down(&first.base())), without_set_id(seen));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
