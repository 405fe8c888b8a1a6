//! Change sets laid into upper directories, seen through real overlays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};

use proptest::prelude::*;
use workspace::{
    Change, ChangeSet, ContentFiles, Kind, Laid, LayError, Node, Protected, UpperContents,
    changed_among, lay, read_changes,
};

use crate::hostile::deep;
use crate::overlay::Overlay;
use crate::reading_any::{before, during, held};
use crate::tree::{Tree, take_down};

fn read(overlay: &Overlay) -> ChangeSet {
    read_changes(&overlay.upper(), &overlay.base(), &Protected::default()).unwrap()
}

/// Lays what a run left into another upper directory over the same base.
fn laid(
    from: &Overlay,
    changes: &ChangeSet,
    keep: impl Fn(&Change) -> bool,
) -> (Overlay, Result<Laid, LayError>) {
    let to = from.beside();
    let contents = UpperContents::of(&from.upper()).unwrap();
    let laid = lay(changes, &contents, &to.upper(), &to.base(), &keep);
    (to, laid)
}

fn singles<'a>(changes: impl IntoIterator<Item = &'a Change>) -> BTreeSet<String> {
    let apart = changes.into_iter().flat_map(Change::apart);
    apart.map(|change| format!("{} {:?} {:?}", change.path, change.before, change.after)).collect()
}

#[test]
fn everything_is_seen_as_the_run_left_it() {
    let run = Overlay::with(&[
        ("edited", "1\n"),
        ("gone", "1\n"),
        ("moved", "moves\n"),
        ("program", "#!/bin/sh\n"),
        ("d/file", "1\n"),
        ("becomes", "file\n"),
        ("was/dir", "1\n"),
        ("closed/x", "1\n"),
    ]);
    run.sh(
        "echo 2 > edited; rm gone; mv moved d/moved; chmod 755 program; rm -r was; echo f > was; \
         rm becomes; mkdir becomes; echo n > becomes/new; ln -s ../edited d/link; \
         mkdir -p new/deep; echo x > new/deep/x; chmod 700 new/deep; ln -s /nowhere dangling; \
         echo 2 > closed/x; chmod 000 closed/x; echo s > secret; chmod 400 secret",
    );
    let set = read(&run);
    let (to, done) = laid(&run, &set, |_| true);
    assert_eq!(done.unwrap(), Laid::default());
    assert_eq!(read(&to), set);
    assert_eq!(to.perform(&[]), run.perform(&[]));
    // Nothing of it is the run's own.
    let inode = |overlay: &Overlay| fs::metadata(overlay.upper().join("edited")).unwrap().ino();
    assert_ne!(inode(&to), inode(&run));
}

#[test]
fn a_directory_of_the_base_shows_through_with_its_mode() {
    let run = Overlay::with(&[("a/b/c", "1\n"), ("a/b/d", "1\n")]);
    fs::set_permissions(run.base().join("a/b"), fs::Permissions::from_mode(0o750)).unwrap();
    run.sh("echo 2 > a/b/c; chmod 700 a");
    let (to, done) = laid(&run, &read(&run), |_| true);
    done.unwrap();
    let mode = |name: &str| fs::metadata(to.upper().join(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode("a/b"), mode("a")), (0o750, 0o755));
    assert_eq!(to.perform(&[]).len(), 4);
}

#[test]
fn marks_links_times_and_owners_of_the_run_are_left_behind() {
    let run = Overlay::with(&[("d/old", "1\n")]);
    run.sh("rm -r d; mkdir d; echo 1 > d/a; ln d/a d/b; touch -d 2001-01-01 d/a");
    let (to, done) = laid(&run, &read(&run), |_| true);
    done.unwrap();
    let found = |name: &str| fs::metadata(to.upper().join(name)).unwrap();
    assert_ne!(found("d/a").ino(), found("d/b").ino());
    assert!(found("d/a").mtime() > 1_000_000_000);
    let opaque = rustix::fs::getxattr(to.upper().join("d"), c"user.overlay.opaque", &mut [0; 8]);
    assert!(opaque.is_err(), "a whiteout does for each name");
    assert_eq!(to.perform(&[]), run.perform(&[]));
}

#[test]
fn holes_stay_holes() {
    let run = Overlay::new();
    run.sh("truncate -s 64M sparse; printf x >> sparse");
    let (to, done) = laid(&run, &read(&run), |_| true);
    done.unwrap();
    let found = fs::metadata(to.upper().join("sparse")).unwrap();
    assert_eq!(found.len(), (64 << 20) + 1);
    assert!(found.blocks() * 512 < 1 << 20, "{} blocks", found.blocks());
}

#[test]
fn a_rename_is_two_changes_to_whoever_chooses() {
    let run = Overlay::with(&[("tests/one", "moves\n"), ("src/two", "other\n")]);
    run.sh("mv tests/one src/one; mv src/two tests/two");
    let set = read(&run);
    assert_eq!(set.entries().iter().filter(|it| matches!(it.kind, Kind::Rename { .. })).count(), 2);
    let (to, done) = laid(&run, &set, |change| !change.path.as_bytes().starts_with(b"tests/"));
    assert_eq!(done.unwrap(), Laid::default());
    let paths: Vec<_> = to.perform(&[]).into_keys().collect();
    let paths: Vec<_> = paths.iter().map(|path| String::from_utf8_lossy(path)).collect();
    assert_eq!(paths, ["src", "src/one", "tests", "tests/one"]);
}

#[test]
fn what_is_left_out_is_stronger_than_what_replaced_it() {
    let files = [("tests/unit/a", "1\n"), ("tests/b", "1\n"), ("lib/x", "1\n"), ("lib/y", "1\n")];
    for replaced in ["rm -r tests", "rm -r tests; echo no > tests", "rm -r tests; ln -s lib tests"]
    {
        let run = Overlay::with(&files);
        run.sh(replaced).sh("rm -r lib; echo file > lib");
        let keep = |change: &Change| !change.path.as_bytes().starts_with(b"tests/unit");
        let (to, done) = laid(&run, &read(&run), keep);
        let held_back: Vec<_> = done.unwrap().held_back.iter().map(ToString::to_string).collect();
        assert_eq!(held_back, ["tests"], "{replaced}");
        let seen = to.perform(&[]);
        let paths: Vec<_> = seen.keys().map(|path| String::from_utf8_lossy(path)).collect();
        assert_eq!(paths, ["lib", "tests", "tests/unit", "tests/unit/a"], "{replaced}");
    }
}

#[test]
fn nothing_is_laid_below_a_file_that_stays() {
    let run = Overlay::with(&[("held", "file\n")]);
    run.sh("rm held; mkdir held; echo 1 > held/a; echo 1 > other");
    let (to, done) = laid(&run, &read(&run), |change| change.path.as_bytes() != b"held");
    let held_back: Vec<_> = done.unwrap().held_back.iter().map(ToString::to_string).collect();
    assert_eq!(held_back, ["held/a"]);
    assert_eq!(
        to.perform(&[]).into_keys().collect::<Vec<_>>(),
        [b"held".to_vec(), b"other".to_vec()]
    );
}

#[test]
fn a_directory_that_was_left_out_is_made_for_what_is_kept_in_it() {
    let run = Overlay::new();
    run.sh("mkdir -p a/b; echo 1 > a/b/c; echo 1 > a/d");
    let (to, done) = laid(&run, &read(&run), |change| change.path.as_bytes() == b"a/b/c");
    assert_eq!(done.unwrap(), Laid::default());
    let paths: Vec<_> = to.perform(&[]).into_keys().collect();
    assert_eq!(paths, [b"a".to_vec(), b"a/b".to_vec(), b"a/b/c".to_vec()]);
}

#[test]
fn what_is_never_applied_is_never_laid() {
    let run = Overlay::with(&[("a", "1\n")]);
    run.sh("mkdir .git; echo x > .git/config; mkfifo pipe; rm a; mkfifo a; echo 1 > b");
    let (to, done) = laid(&run, &read(&run), |_| true);
    done.unwrap();
    let names: Vec<_> =
        fs::read_dir(to.upper()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn bytes_that_are_not_the_ones_named_are_refused() {
    type Swap = fn(&std::path::Path);
    let swaps: [Swap; 5] = [
        |file| fs::write(file, "3\n").unwrap(),
        |file| fs::write(file, "longer\n").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            symlink("/etc/passwd", file).unwrap();
        },
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    for swap in swaps {
        let run = Overlay::with(&[("d/a", "1\n")]);
        run.sh("echo 2 > d/a");
        let set = read(&run);
        swap(&run.upper().join("d/a"));
        let (_, done) = laid(&run, &set, |_| true);
        assert!(matches!(done, Err(LayError::Content { .. })), "{done:?}");
    }
    let run = Overlay::with(&[("d/a", "1\n")]);
    run.sh("echo 2 > d/a");
    let set = read(&run);
    fs::rename(run.upper().join("d"), run.outside().join("d")).unwrap();
    symlink(run.outside().join("d"), run.upper().join("d")).unwrap();
    let (_, done) = laid(&run, &set, |_| true);
    assert!(matches!(done, Err(LayError::Content { .. })), "{done:?}");
}

#[test]
fn a_base_that_has_moved_on_is_refused() {
    type Move = fn(&std::path::Path);
    let moves: [Move; 6] = [
        |base| fs::write(base.join("edited"), "other length\n").unwrap(),
        |base| fs::remove_file(base.join("gone")).unwrap(),
        |base| fs::write(base.join("new"), "").unwrap(),
        |base| {
            fs::remove_file(base.join("link")).unwrap();
            symlink("elsewhere", base.join("link")).unwrap();
        },
        |base| fs::remove_dir_all(base.join("d")).unwrap(),
        |base| {
            fs::remove_dir_all(base.join("d")).unwrap();
            symlink(base.parent().unwrap().join("outside"), base.join("d")).unwrap();
        },
    ];
    for moved in moves {
        let run = Overlay::with(&[("edited", "1\n"), ("gone", "1\n"), ("d/x", "1\n")]);
        symlink("somewhere", run.base().join("link")).unwrap();
        run.sh("echo 2 > edited; rm gone; echo 1 > new; rm link; echo 1 > d/new");
        let set = read(&run);
        moved(&run.base());
        let (_, done) = laid(&run, &set, |_| true);
        assert!(matches!(done, Err(LayError::Base { .. })), "{done:?}");
        assert_eq!(fs::read_dir(run.outside()).unwrap().count(), 0);
    }
}

#[test]
fn a_change_set_that_contradicts_itself_is_refused() {
    let run = Overlay::with(&[("a/b", "1\n"), ("c", "1\n")]);
    run.sh("rm -r a; mkdir n; echo 1 > n/x; rm c");
    let text = String::from_utf8(read(&run).to_bytes().unwrap()).unwrap();
    // Below what is no directory: added where the base has a file, and where the run left nothing.
    for (from, to) in [("\"n/x\"", "\"c/x\""), ("\"n/x\"", "\"a/x\"")] {
        let mut value: serde_json::Value = serde_json::from_str(&text.replace(from, to)).unwrap();
        let entries = value["entries"].as_array_mut().unwrap();
        entries.sort_by_key(|entry| entry["path"].as_str().unwrap().to_owned());
        let bytes = names::canonical::to_vec(&value).unwrap();
        let set = ChangeSet::parse(&bytes).unwrap();
        let (_, done) = laid(&run, &set, |_| true);
        assert!(matches!(done, Err(LayError::Contradiction { .. })), "{to}: {done:?}");
    }
}

#[test]
fn only_an_empty_directory_is_filled() {
    let run = Overlay::new();
    run.sh("echo 1 > a");
    let contents = UpperContents::of(&run.upper()).unwrap();
    let done = lay(&read(&run), &contents, &run.upper(), &run.base(), &|_| true);
    assert!(matches!(done, Err(LayError::NotEmpty)), "{done:?}");
}

#[test]
fn exported_contents_do_as_well() {
    let run = Overlay::with(&[("a", "1\n")]);
    run.sh("echo 2 > a; mkdir d; echo 3 > d/b; : > empty");
    let (set, files) = (read(&run), run.outside());
    for text in ["2\n", "3\n", ""] {
        fs::write(files.join(names::Digest::of(text.as_bytes()).hex()), text).unwrap();
    }
    let lay_it = || {
        let (to, contents) = (run.beside(), ContentFiles::of(&files).unwrap());
        let done = lay(&set, &contents, &to.upper(), &to.base(), &|_| true);
        (to, done)
    };
    let (to, done) = lay_it();
    done.unwrap();
    assert_eq!(read(&to), set);
    let file = files.join(names::Digest::of(b"3\n").hex());
    fs::File::options().write(true).open(file).unwrap().write_at(b"4", 0).unwrap();
    assert!(matches!(lay_it().1, Err(LayError::Content { .. })));
}

#[test]
fn very_deep_trees() {
    let run = Overlay::new();
    // No path of `PATH_MAX` bytes reaches the last.
    deep(&run.upper(), "dddddddd", 1_500);
    let set = read(&run);
    assert_eq!(set.entries().len(), 1501);
    let (to, done) = laid(&run, &set, |_| true);
    done.unwrap();
    assert_eq!(read(&to), set);
}

#[test]
fn only_what_is_sought_is_compared() {
    let run = Overlay::with(&[
        ("tests/a", "1\n"),
        ("tests/b", "1\n"),
        ("tests/c", "1\n"),
        ("d/e", "1\n"),
    ]);
    run.sh("echo 2 > tests/a; touch tests/b; rm tests/c; echo 1 > tests/d; rm -r d; mkdir d; \
         mkdir -p target/tests; echo 1 > target/x; echo 1 > target/tests/y; chmod 000 target/x");
    let among = |sought: &dyn Fn(&[u8]) -> bool| {
        let touched = changed_among(&run.upper(), &run.base(), sought).unwrap();
        touched.iter().map(|it| format!("{} {}", it.path, it.existed)).collect::<Vec<_>>()
    };
    let tests = |path: &[u8]| path.split(|byte| *byte == b'/').any(|name| name == b"tests");
    assert_eq!(
        among(&tests),
        [
            "target/tests false",
            "target/tests/y false",
            "tests/a true",
            "tests/c true",
            "tests/d false"
        ]
    );
    assert_eq!(among(&|path| path == b"d/e"), ["d/e true"]);
    assert_eq!(among(&|_| false), [""; 0]);
    let all: Vec<_> = read(&run).entries().iter().map(|entry| entry.path.to_string()).collect();
    let same: Vec<_> = changed_among(&run.upper(), &run.base(), &|_| true).unwrap();
    assert_eq!(same.iter().map(|it| it.path.to_string()).collect::<Vec<_>>(), all);
}

/// The definition, without the order that makes it fast: which single changes are laid, and which
/// are held back although they were to be kept.
fn expected(parts: &[Change], kept: &dyn Fn(&Change) -> bool) -> (Vec<Change>, Vec<Vec<u8>>) {
    let is_dir = |node: &Option<Node>| matches!(node, Some(Node::Dir { .. }));
    let below = |a: &Change, b: &Change| a.path != b.path && a.path.starts_with(&b.path);
    let left: Vec<_> = parts.iter().filter(|part| !kept(part)).collect();
    let file_stays = |part: &Change| {
        let stays = |it: &&&Change| it.before.is_some() && !is_dir(&it.before) && below(part, it);
        left.iter().any(|it| stays(&it))
    };
    let something_stays = |part: &Change| {
        !is_dir(&part.after) && left.iter().any(|it| it.before.is_some() && below(it, part))
    };
    let (held, mut laid): (Vec<Change>, Vec<Change>) = parts
        .iter()
        .filter(|part| kept(part))
        .cloned()
        .partition(|part| file_stays(part) || something_stays(part));
    let made = left.iter().filter(|it| it.before.is_none() && is_dir(&it.after));
    let made = made.filter(|it| laid.iter().any(|part| part.after.is_some() && below(part, it)));
    let made: Vec<Change> = made.map(|it| (**it).clone()).collect();
    laid.extend(made);
    let mut held: Vec<_> = held.iter().map(|part| part.path.as_bytes().to_vec()).collect();
    held.sort();
    (laid, held)
}

/// The base with these changes.
fn changed(base: Tree, laid: &[Change]) -> Tree {
    let mut tree = base;
    for change in laid {
        let path = change.path.as_bytes().to_vec();
        match &change.after {
            Some(node) => tree.insert(path, held(node)),
            None => tree.remove(&path),
        };
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn all_of_it_is_the_same_change_set(before in before(), during in during()) {
        let run = Overlay::over(&before);
        let seen = run.perform(&during);
        let set = read(&run);
        let (to, done) = laid(&run, &set, |_| true);
        prop_assert_eq!(done.unwrap().held_back, vec![]);
        if set.entries().iter().any(Change::is_final) {
            let kept = set.entries().iter().filter(|entry| !entry.is_final());
            prop_assert_eq!(singles(read(&to).entries()), singles(kept));
        } else {
            prop_assert_eq!(read(&to), set);
            prop_assert_eq!(to.perform(&[]), seen);
        }
    }

    #[test]
    fn a_part_of_it_is_exactly_what_is_kept(
        before in before(),
        during in during(),
        chosen in prop::collection::vec(any::<bool>(), 64),
    ) {
        let run = Overlay::over(&before);
        run.perform(&during);
        let set = read(&run);
        let parts: Vec<Change> =
            set.entries().iter().flat_map(Change::apart).map(|it| it.into_owned()).collect();
        let choice: BTreeMap<_, _> =
            parts.iter().map(|it| it.path.as_bytes().to_vec()).zip(chosen.into_iter().cycle()).collect();
        let kept = |change: &Change| !change.is_final() && choice[change.path.as_bytes()];
        let (expected, held) = expected(&parts, &kept);
        let (to, done) = laid(&run, &set, |change| choice[change.path.as_bytes()]);
        let done: Vec<_> = done.unwrap().held_back.iter().map(|it| it.as_bytes().to_vec()).collect();
        prop_assert_eq!(done, held);
        prop_assert_eq!(singles(read(&to).entries()), singles(&expected));
        prop_assert_eq!(to.perform(&[]), changed(take_down(&to.base()), &expected));
    }
}
