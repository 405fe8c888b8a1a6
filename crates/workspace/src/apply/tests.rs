//! Apply and undo on plain directories, killed at every place where they can be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::failpoint::{FATAL, passed};
use crate::protect::Protected;
use crate::read::read_changes;

/// Where the child of a test that kills finds its directories.
const PLACE: &str = "LOOP_TEST_PLACE";

struct World {
    temp: TempDir,
}

impl World {
    /// A base in which every kind of change can happen, and an upper directory in which it did.
    fn new() -> Self {
        let world = Self { temp: tempfile::tempdir().unwrap() };
        let (base, upper) = (world.base(), world.upper());
        fs::create_dir(world.store()).unwrap();
        write(&base, "edited", "before\n", 0o640);
        write(&base, "deleted", "gone\n", 0o600);
        write(&base, "program", "#!\n", 0o664);
        write(&base, "old/name", "moves\n", 0o755);
        write(&base, "tree/sub/leaf", "leaf\n", 0o644);
        write(&base, "tree/top", "top\n", 0o444);
        write(&base, "file-to-dir", "file\n", 0o644);
        write(&base, "dir-to-file/inner", "inner\n", 0o644);
        write(&base, "untouched", "stays\n", 0o644);
        symlink("edited", base.join("link")).unwrap();
        symlink("untouched", base.join("link-to-file")).unwrap();
        chmod(&base, "tree/sub", 0o555);
        write(&upper, "edited", "after\n", 0o600);
        whiteout(&upper, "deleted");
        write(&upper, "program", "#!\n", 0o775);
        whiteout(&upper, "old/name");
        write(&upper, "new/place/name", "moves\n", 0o755);
        whiteout(&upper, "tree");
        write(&upper, "file-to-dir/inner/deep", "deep\n", 0o600);
        write(&upper, "dir-to-file", "now a file\n", 0o755);
        symlink("new", upper.join("link")).unwrap();
        write(&upper, "link-to-file", "no link\n", 0o644);
        write(&upper, "added", "", 0o644);
        fs::create_dir(upper.join("empty")).unwrap();
        world
    }

    fn base(&self) -> PathBuf {
        self.temp.path().join("base")
    }

    fn upper(&self) -> PathBuf {
        self.temp.path().join("upper")
    }

    fn store(&self) -> PathBuf {
        self.temp.path().join("store")
    }

    fn state(&self) -> State {
        state(&self.store()).unwrap()
    }

    fn recover(&self) -> Recovered {
        recover(&self.store(), &self.base()).unwrap()
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.base(), &self.base(), &mut tree);
        tree
    }

    fn apply(&self) -> Result<Applied, ApplyError> {
        apply_in(self.temp.path())
    }

    fn undo(&self) -> Result<Undone, ApplyError> {
        undo_permitted(&self.base(), &self.store())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // So that an ordinary user can remove it.
        let _ = fs::set_permissions(self.base().join("tree/sub"), PermissionsExt::from_mode(0o755));
    }
}

fn apply_in(place: &Path) -> Result<Applied, ApplyError> {
    let (upper, base) = (place.join("upper"), place.join("base"));
    let set = read_changes(&upper, &base, &Protected::default()).unwrap();
    let plan = plan(&set, &Selection::all()).unwrap();
    apply_planned(&set, set.digest().unwrap(), plan, &upper, &base, &place.join("store"))
}

/// An apply of a run that began with no changes.
fn apply_planned(
    set: &ChangeSet,
    digest: Digest,
    plan: ApplyPlan,
    upper: &Path,
    base: &Path,
    store: &Path,
) -> Result<Applied, ApplyError> {
    let work = Work::open(store, base)?;
    work.expect(Event::Apply)?;
    super::apply_planned(work, set, digest, &Earlier::default(), plan, upper)
}

fn write(root: &Path, name: &str, text: &str, mode: u32) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    chmod(root, name, mode);
}

fn chmod(root: &Path, name: &str, mode: u32) {
    fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// Overlayfs makes these; since Linux 5.8 anybody may.
fn whiteout(root: &Path, name: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let kind = rustix::fs::FileType::CharacterDevice;
    let mode = rustix::fs::Mode::empty();
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
}

/// Paths with their exact modes and contents.
type Tree = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

fn walk(root: &Path, dir: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        let held = if found.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
        } else if found.is_dir() {
            walk(root, &path, tree);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        tree.insert(name, (found.mode(), held));
    }
}

fn bytes(path: &str) -> WorkspacePath {
    WorkspacePath::from_bytes(path.as_bytes()).unwrap()
}

#[test]
fn apply_makes_the_changes_and_undo_takes_them_back_exactly() {
    let world = World::new();
    let before = world.tree();
    let applied = world.apply().unwrap();
    assert_eq!(applied.left, []);
    assert_eq!(world.state(), State::Applied);
    let after = world.tree();
    let held = |name: &str| {
        after.get(name.as_bytes()).map(|(mode, held)| (mode & 0o7777, held.as_slice()))
    };
    assert_eq!(held("edited"), Some((0o640, b"after\n".as_slice())));
    assert_eq!(held("program"), Some((0o775, b"#!\n".as_slice())));
    assert_eq!(held("new/place/name"), Some((0o755, b"moves\n".as_slice())));
    assert_eq!(held("file-to-dir/inner/deep"), Some((0o600, b"deep\n".as_slice())));
    assert_eq!(held("dir-to-file"), Some((0o755, b"now a file\n".as_slice())));
    assert_eq!(held("link"), Some((0o777, b"new".as_slice())));
    assert_eq!(held("link-to-file"), Some((0o644, b"no link\n".as_slice())));
    assert_eq!(held("empty"), Some((0o755, b"".as_slice())));
    assert_eq!(
        held("untouched"),
        before.get(b"untouched".as_slice()).map(|(m, h)| (m & 0o7777, h.as_slice()))
    );
    for gone in ["deleted", "old/name", "tree", "tree/top", "dir-to-file/inner"] {
        assert_eq!(held(gone), None, "{gone}");
    }
    assert!(matches!(world.apply(), Err(ApplyError::State(State::Applied))));
    assert_eq!(world.tree(), after);
    world.undo().unwrap();
    assert_eq!(world.tree(), before);
    assert_eq!(world.state(), State::Undone);
    assert!(matches!(world.undo(), Err(ApplyError::State(State::Undone))));
    world.apply().unwrap();
    assert_eq!(world.tree(), after);
}

/// The child's part of the tests that kill. Alone it has nothing to do.
#[test]
fn child_applies() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    apply_in(Path::new(&place)).unwrap();
    fs::write(Path::new(&place).join("passed"), passed().to_string()).unwrap();
}

/// See [`child_applies`].
#[test]
fn child_undoes() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    undo_permitted(&place.join("base"), &place.join("store")).unwrap();
    fs::write(place.join("passed"), passed().to_string()).unwrap();
}

/// See [`child_applies`].
#[test]
fn child_recovers() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    recover(&place.join("store"), &place.join("base")).unwrap();
    fs::write(place.join("passed"), passed().to_string()).unwrap();
}

/// Runs a child that dies at a place; none if it ended before. Returns how many it passed.
#[expect(clippy::disallowed_methods, reason = "who is killed must be a process")]
fn child(world: &World, name: &str, die_at: u64) -> Option<u64> {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&format!("apply::tests::{name}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(PLACE, world.temp.path())
        .env(FATAL, die_at.to_string())
        .output()
        .unwrap();
    if output.status.success() {
        let passed = fs::read_to_string(world.temp.path().join("passed")).unwrap();
        return Some(passed.parse().unwrap());
    }
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(output.status.signal(), Some(9), "{}", String::from_utf8_lossy(&output.stderr));
    None
}

#[test]
fn killed_at_every_place_of_apply() {
    let reference = World::new();
    let before = reference.tree();
    let places = child(&reference, "child_applies", 0).unwrap();
    let after = reference.tree();
    assert!(places > 40, "{places}");
    let mut interrupted = 0;
    for place in 1..=places {
        let world = World::new();
        assert_eq!(child(&world, "child_applies", place), None, "{place}");
        let recovered = world.recover();
        assert_eq!(recovered.kept, [], "{place}");
        interrupted += u64::from(recovered.interrupted.is_some());
        match world.state() {
            State::Ready => {
                assert_eq!(world.tree(), before, "{place}");
                world.apply().unwrap();
            }
            State::Applied => {}
            state => panic!("{state:?} at {place}"),
        }
        assert_eq!(world.tree(), after, "{place}");
        world.undo().unwrap();
        assert_eq!(world.tree(), before, "{place}");
    }
    assert!(interrupted > 20, "{interrupted}");
}

#[test]
fn killed_at_every_place_of_undo() {
    let reference = World::new();
    let before = reference.tree();
    reference.apply().unwrap();
    let after = reference.tree();
    let places = child(&reference, "child_undoes", 0).unwrap();
    assert!(places > 40, "{places}");
    for place in 1..=places {
        let world = World::new();
        world.apply().unwrap();
        assert_eq!(child(&world, "child_undoes", place), None, "{place}");
        assert_eq!(world.recover().kept, [], "{place}");
        match world.state() {
            State::Applied => {
                assert_eq!(world.tree(), after, "{place}");
                world.undo().unwrap();
            }
            State::Undone => {}
            state => panic!("{state:?} at {place}"),
        }
        assert_eq!(world.tree(), before, "{place}");
    }
}

#[test]
fn killed_while_recovering() {
    let reference = World::new();
    let before = reference.tree();
    let places = child(&reference, "child_applies", 0).unwrap();
    // Late in the swap there is most to take back.
    let late = places - 6;
    let world = World::new();
    child(&world, "child_applies", late);
    let mut place = 1;
    while child(&world, "child_recovers", place).is_none() {
        place += 1;
    }
    assert!(place > 20, "{place}");
    assert_eq!(world.tree(), before);
    assert_eq!(world.state(), State::Ready);
}

#[test]
fn what_somebody_edits_after_a_crash_stays() {
    let places = child(&World::new(), "child_applies", 0).unwrap();
    for place in [places - 4, places - 12, places - 20] {
        let world = World::new();
        let before = world.tree();
        child(&world, "child_applies", place);
        write(&world.base(), "untouched", "mine\n", 0o644);
        fs::remove_file(world.base().join("edited")).unwrap();
        write(&world.base(), "edited", "mine\n", 0o644);
        let recovered = world.recover();
        assert_eq!(recovered.kept, [bytes("edited")]);
        assert_eq!(world.state(), State::Ready);
        let mut tree = world.tree();
        for mine in ["untouched", "edited"] {
            let (mode, held) = tree.remove(mine.as_bytes()).unwrap();
            assert_eq!((mode & 0o777, held.as_slice()), (0o644, b"mine\n".as_slice()));
        }
        let mut before = before;
        before.retain(|path, _| path != b"untouched" && path != b"edited");
        assert_eq!(tree, before);
    }
}

#[test]
fn a_base_that_moved_is_left_alone() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 9] = [
        ("edited", |base| write(base, "edited", "mine\n", 0o640)),
        ("deleted", |base| fs::remove_file(base.join("deleted")).unwrap()),
        ("program", |base| chmod(base, "program", 0o775)),
        ("old/name", |base| fs::rename(base.join("old"), base.join("older")).unwrap()),
        ("tree/mine", |base| write(base, "tree/mine", "", 0o644)),
        ("file-to-dir", |base| {
            fs::remove_file(base.join("file-to-dir")).unwrap();
            symlink("/etc", base.join("file-to-dir")).unwrap();
        }),
        ("link", |base| {
            fs::remove_file(base.join("link")).unwrap();
            symlink("edite", base.join("link")).unwrap();
        }),
        ("added", |base| write(base, "added", "", 0o644)),
        ("empty", |base| fs::create_dir(base.join("empty")).unwrap()),
    ];
    for (path, edit) in edits {
        let world = World::new();
        let set = read_changes(&world.upper(), &world.base(), &Protected::default()).unwrap();
        edit(&world.base());
        let before = world.tree();
        let plan = plan(&set, &Selection::all()).unwrap();
        let refused = apply_planned(
            &set,
            set.digest().unwrap(),
            plan,
            &world.upper(),
            &world.base(),
            &world.store(),
        );
        match refused {
            Err(ApplyError::Moved { paths }) => assert_eq!(paths, [bytes(path)]),
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(world.tree(), before);
        assert_eq!(world.state(), State::Ready);
    }
}

#[test]
fn undo_refuses_to_lose_edits() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 5] = [
        ("edited", |base| write(base, "edited", "mine\n", 0o640)),
        ("new/mine", |base| write(base, "new/mine", "", 0o644)),
        ("deleted", |base| write(base, "deleted", "back\n", 0o644)),
        ("program", |base| chmod(base, "program", 0o644)),
        ("added", |base| fs::remove_file(base.join("added")).unwrap()),
    ];
    for (path, edit) in edits {
        let world = World::new();
        world.apply().unwrap();
        edit(&world.base());
        let before = world.tree();
        match world.undo() {
            Err(ApplyError::Edited { paths }) => assert_eq!(paths, [bytes(path)]),
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(world.tree(), before);
        assert_eq!(world.state(), State::Applied);
    }
    let world = World::new();
    world.apply().unwrap();
    write(&world.base(), "untouched", "mine\n", 0o644);
    world.undo().unwrap();
}

#[test]
fn an_upper_altered_after_reading_is_refused() {
    for alter in ["edited", "new/place/name"] {
        let world = World::new();
        let before = world.tree();
        let set = read_changes(&world.upper(), &world.base(), &Protected::default()).unwrap();
        write(&world.upper(), alter, "after?\n", 0o755);
        let plan = plan(&set, &Selection::all()).unwrap();
        let refused = apply_planned(
            &set,
            set.digest().unwrap(),
            plan,
            &world.upper(),
            &world.base(),
            &world.store(),
        );
        assert!(matches!(refused, Err(ApplyError::Altered { path }) if path == alter));
        assert_eq!(world.tree(), before);
        assert_eq!(world.state(), State::Ready);
    }
    let world = World::new();
    let before = world.tree();
    let set = read_changes(&world.upper(), &world.base(), &Protected::default()).unwrap();
    fs::remove_file(world.upper().join("edited")).unwrap();
    symlink("/etc/passwd", world.upper().join("edited")).unwrap();
    let plan = plan(&set, &Selection::all()).unwrap();
    let refused = apply_planned(
        &set,
        set.digest().unwrap(),
        plan,
        &world.upper(),
        &world.base(),
        &world.store(),
    );
    assert!(matches!(refused, Err(ApplyError::Content { path, .. }) if path == "edited"));
    assert_eq!(world.tree(), before);
}

#[test]
fn one_at_a_time() {
    let world = World::new();
    let other = Work::open(&world.store(), &world.base()).unwrap();
    assert!(matches!(world.apply(), Err(ApplyError::Busy)));
    drop(other);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Work::open(elsewhere.path(), &world.base()).unwrap();
    assert!(matches!(world.apply(), Err(ApplyError::Busy)));
    drop(other);
    world.apply().unwrap();
}

#[test]
fn discarded_is_gone() {
    let world = World::new();
    let set = read_changes(&world.upper(), &world.base(), &Protected::default()).unwrap();
    world.apply().unwrap();
    assert!(matches!(
        discard_permitted(&world.upper(), &world.store()),
        Err(ApplyError::State(State::Applied))
    ));
    world.undo().unwrap();
    chmod(&world.upper(), "new/place", 0o000);
    discard_permitted(&world.upper(), &world.store()).unwrap();
    assert_eq!(fs::read_dir(world.upper()).unwrap().count(), 0);
    assert_eq!(world.state(), State::Discarded);
    let plan = plan(&set, &Selection::all()).unwrap();
    let refused = apply_planned(
        &set,
        set.digest().unwrap(),
        plan,
        &world.upper(),
        &world.base(),
        &world.store(),
    );
    assert!(matches!(refused, Err(ApplyError::State(State::Discarded))));
    discard_permitted(&world.upper(), &world.store()).unwrap();
}

#[test]
fn a_torn_store_is_an_error() {
    let world = World::new();
    world.apply().unwrap();
    fs::write(world.store().join("apply/journal.json"), "{").unwrap();
    assert!(matches!(world.undo(), Err(ApplyError::Store { .. })));
    fs::write(world.store().join("apply/state.json"), "").unwrap();
    assert!(matches!(state(&world.store()), Err(ApplyError::Store { .. })));
}
