//! Attack cases of group B against the change set and apply.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lifecycle::State;
use rustix::fs::{CWD, Mode, OFlags, XattrFlags, mkdirat, openat};
use workspace::{
    Caps, ChangeError, ChangeSet, Protected, Selection, read_changes, read_changes_within, state,
};

use crate::overlay::Overlay;
use crate::permits::{Person, path};
use crate::reading::read;

/// B11: a path with `..`, an absolute one and a link are not taken for anything else.
#[test]
fn b11_paths_that_leave_are_no_change_set() {
    let overlay = Overlay::new();
    overlay.sh("mkdir d; echo x > d/f");
    let bytes = String::from_utf8(read(&overlay).to_bytes().unwrap()).unwrap();
    assert!(ChangeSet::parse(bytes.as_bytes()).is_ok());
    for evil in ["d/../f", "/etc/passwd", "..", "d//f", "./d/f", "d/%00"] {
        let evil = bytes.replace("\"path\":\"d/f\"", &format!("\"path\":\"{evil}\""));
        assert!(ChangeSet::parse(evil.as_bytes()).is_err(), "{evil}");
    }
}

/// A digest names a change set only if nobody can write the same one differently.
#[test]
fn a_change_set_in_other_words_is_none() {
    let overlay = Overlay::with(&[("a", "1\n"), ("b", "2\n")]);
    overlay.sh("mv a moved; echo 2 >> b; mkdir .git; touch .git/config");
    let bytes = String::from_utf8(read(&overlay).to_bytes().unwrap()).unwrap();
    assert!(ChangeSet::parse(bytes.as_bytes()).is_ok());
    for (word, other) in [
        (r#""kind":"edit""#, r#""kind":{"edit":null}"#),
        (r#"{"rename":{"from":"a"}}"#, r#"{"rename":{"from":"a","mode":"0644"}}"#),
        (r#"["git-metadata"]"#, r#"[{"git-metadata":null}]"#),
        (r#""type":"file"}"#, r#""type":"file","was":1}"#),
        (r#""schema":1"#, r#""schema": 1"#),
        (r#""schema":1"#, r#""schema":1,"signed":true"#),
    ] {
        assert!(bytes.contains(word), "{word} in {bytes}");
        let said = bytes.replace(word, other);
        assert!(ChangeSet::parse(said.as_bytes()).is_err(), "{other}");
    }
}

/// B1, B3, B11: a directory of the base becomes a link to a directory outside with the same files.
#[test]
fn b11_a_directory_swapped_for_a_link_before_apply() {
    let overlay = Overlay::with(&[("d/f", "1\n"), ("d/g", "1\n")]);
    overlay.sh("echo 2 > d/f; rm d/g; echo new > d/n");
    let (set, person) = (read(&overlay), Person::new());
    fs::rename(overlay.base().join("d"), overlay.outside().join("d")).unwrap();
    symlink(overlay.outside().join("d"), overlay.base().join("d")).unwrap();
    let refused = person.apply(&overlay, &set, &Selection::all());
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(overlay.outside().join("d/f")).unwrap(), "1\n");
    assert!(overlay.outside().join("d/g").exists() && !overlay.outside().join("d/n").exists());
    assert_eq!(state(&overlay.store()).unwrap(), State::Ready);
}

/// B2, B11: the same, again and again, while apply and undo are at work.
#[test]
fn b11_a_directory_swapped_for_a_link_during_apply() {
    let files: Vec<_> = (0..40).map(|n| (format!("d/f{n}"), "1\n")).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let overlay = Overlay::with(&files);
    overlay.sh("for n in $(seq 0 39); do echo 2 > d/f$n; done; echo x > d/new");
    let (set, person) = (read(&overlay), Person::new());
    let target = overlay.outside().join("d");
    fs::create_dir(&target).unwrap();
    for n in 0..40 {
        fs::write(target.join(format!("f{n}")), "1\n").unwrap();
    }
    let (dir, aside) = (overlay.base().join("d"), overlay.base().join("aside"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&dir, &aside).unwrap();
                symlink(&target, &dir).unwrap();
                thread::yield_now();
                fs::remove_file(&dir).unwrap();
                fs::rename(&aside, &dir).unwrap();
                thread::yield_now();
            }
        });
        for _ in 0..60 {
            // Whether they get through is a matter of luck, where they write is not.
            let _refused = person.apply(&overlay, &set, &Selection::all());
            let _refused = person.undo(&overlay);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(&target).unwrap().count(), 40);
    for n in 0..40 {
        assert_eq!(fs::read_to_string(target.join(format!("f{n}"))).unwrap(), "1\n");
    }
    workspace::recover(&overlay.store(), &overlay.base()).unwrap();
}

/// B1: what the run left becomes a link after it was read.
#[test]
fn b1_an_upper_swapped_for_links_after_reading() {
    let overlay = Overlay::with(&[("a", "1\n")]);
    overlay.sh("mkdir d; echo secret > d/f; echo secret > f");
    let (set, person) = (read(&overlay), Person::new());
    fs::write(overlay.outside().join("f"), "secret\n").unwrap();
    fs::remove_file(overlay.upper().join("f")).unwrap();
    symlink(overlay.outside().join("f"), overlay.upper().join("f")).unwrap();
    let refused = person.apply(&overlay, &set, &Selection::only(vec![path("f")]));
    assert!(refused.is_err());
    fs::remove_dir_all(overlay.upper().join("d")).unwrap();
    symlink(overlay.outside(), overlay.upper().join("d")).unwrap();
    let refused = person.apply(&overlay, &set, &Selection::only(vec![path("d")]));
    assert!(refused.is_err());
    assert_eq!(fs::read_dir(overlay.base()).unwrap().count(), 1);
    let read = read_changes(&overlay.upper(), &overlay.base(), &Protected::default()).unwrap();
    let links =
        read.entries().iter().filter(|entry| entry.flags.contains(&workspace::Flag::LeavesRoot));
    assert_eq!(links.count(), 2);
    assert!(
        read_changes(&overlay.upper().join("d"), &overlay.base(), &Protected::default()).is_err()
    );
}

/// B12: names are carried exactly.
#[test]
fn b12_names_of_any_bytes() {
    let overlay = Overlay::new();
    let names: [&[u8]; 7] = [
        b"new\nline",
        b"\x1b[31mred",
        b"\xff\xfe invalid",
        &[b'x'; 255],
        b"100%",
        b"%0A",
        "\u{202e}gpj.exe".as_bytes(),
    ];
    for name in names {
        let path = overlay.upper().join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, name).unwrap();
    }
    let person = Person::new();
    let set = ChangeSet::parse(&read(&overlay).to_bytes().unwrap()).unwrap();
    let approved = set.entries().iter().map(|entry| entry.path.clone()).collect();
    person.apply(&overlay, &set, &Selection::all().with_flagged(approved)).unwrap();
    for name in names {
        let path = overlay.base().join(std::ffi::OsStr::from_bytes(name));
        assert_eq!(fs::read(path).unwrap(), name);
    }
    assert_eq!(fs::read_dir(overlay.base()).unwrap().count(), names.len());
}

/// Makes directories within directories, and a file in the last.
pub(crate) fn deep(root: &Path, name: &str, levels: usize) {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&dir, name, Mode::from_raw_mode(0o755)).unwrap();
        dir = openat(&dir, name, flags, Mode::empty()).unwrap();
    }
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = openat(&dir, "bottom", create, Mode::from_raw_mode(0o644)).unwrap();
    fs::File::from(file).write_all(b"reached\n").unwrap();
}

fn reached(root: &Path, name: &str, levels: usize) -> bool {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        match openat(&dir, name, flags, Mode::empty()) {
            Ok(below) => dir = below,
            Err(_) => return false,
        }
    }
    openat(&dir, "bottom", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// B12: 4,096 levels, which no path of `PATH_MAX` bytes reaches.
#[test]
fn b12_4096_levels() {
    const LEVELS: usize = 4_096;
    let overlay = Overlay::new();
    deep(&overlay.upper(), "d", LEVELS);
    let person = Person::new();
    let set = ChangeSet::parse(&read(&overlay).to_bytes().unwrap()).unwrap();
    assert_eq!(set.entries().len(), LEVELS + 1);
    person.apply(&overlay, &set, &Selection::all()).unwrap();
    assert!(reached(&overlay.base(), "d", LEVELS));
    person.undo(&overlay).unwrap();
    assert_eq!(fs::read_dir(overlay.base()).unwrap().count(), 0);
    workspace::discard(&person.may_discard(), &overlay.upper(), &overlay.store()).unwrap();
    assert_eq!(fs::read_dir(overlay.upper()).unwrap().count(), 0);
}

/// B12: deeper than the cap is refused as a whole, and says so in a short message.
#[test]
fn b12_deeper_than_the_cap() {
    let overlay = Overlay::new();
    deep(&overlay.upper(), &"n".repeat(200), 100);
    let caps = Caps { depth: 99, ..Caps::default() };
    let read = read_changes_within(&overlay.upper(), &overlay.base(), &Protected::default(), caps);
    let error = read.unwrap_err();
    assert!(matches!(error, ChangeError::Depth { max: 99, .. }));
    assert!(error.to_string().len() < 400);
}

/// An upper with marks that no run of ours can leave is not interpreted.
#[test]
fn marks_of_another_kind_are_refused() {
    let mark = |path: &Path, name: &str| {
        rustix::fs::setxattr(path, name, b"x", XattrFlags::empty()).unwrap();
    };
    let overlay = Overlay::with(&[("d/f", "1\n")]);
    fs::create_dir(overlay.upper().join("e")).unwrap();
    mark(&overlay.upper().join("e"), "user.overlay.redirect");
    let read = || read_changes(&overlay.upper(), &overlay.base(), &Protected::default());
    assert!(
        matches!(read(), Err(ChangeError::Mark { path, mark: "user.overlay.redirect" }) if path == "e")
    );
    fs::remove_dir(overlay.upper().join("e")).unwrap();
    fs::write(overlay.upper().join("m"), "").unwrap();
    mark(&overlay.upper().join("m"), "user.overlay.metacopy");
    assert!(matches!(read(), Err(ChangeError::Mark { path, .. }) if path == "m"));
    fs::remove_file(overlay.upper().join("m")).unwrap();
    // A whiteout as an attribute hides, as the kernel has it; on a file with bytes it does not.
    fs::create_dir(overlay.upper().join("d")).unwrap();
    fs::write(overlay.upper().join("d/f"), "").unwrap();
    mark(&overlay.upper().join("d/f"), "user.overlay.whiteout");
    assert!(read().unwrap().entries().iter().all(|entry| entry.kind == workspace::Kind::Delete));
    fs::write(overlay.upper().join("d/f"), "2\n").unwrap();
    assert!(read().unwrap().entries().iter().all(|entry| entry.kind == workspace::Kind::Edit));
}
