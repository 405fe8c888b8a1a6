//! Apply with permits: what is approved, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::thread;

use lifecycle::State;
use workspace::{ApplyError, ChangeSet, SelectError, Selection, Why, apply, state};

use crate::overlay::Overlay;
use crate::permits::{Person, path};
use crate::reading::read;

fn text(overlay: &Overlay, name: &str) -> Option<String> {
    fs::read_to_string(overlay.base().join(name)).ok()
}

#[test]
fn only_what_the_permit_says() {
    let overlay = Overlay::with(&[("a", "1\n"), ("b", "1\n")]);
    overlay.sh("echo 2 > a; echo 2 > b; echo x > .envrc");
    let (set, person) = (read(&overlay), Person::new());
    let digest = set.digest().unwrap();
    let attempt = |permit, selection: &Selection| {
        apply(&permit, &set, &[], &overlay.upper(), &overlay.base(), &overlay.store(), selection)
    };
    let other = names::Digest::of(b"other");
    let refused = attempt(person.may_apply(other, 2, vec![]), &Selection::all());
    assert!(
        matches!(refused, Err(ApplyError::NotApproved { approved, found }) if approved == other && found == digest)
    );
    let refused = attempt(person.may_apply(digest, 3, vec![]), &Selection::all());
    assert!(matches!(refused, Err(ApplyError::NotSelected)));
    let more = Selection::all().with_flagged(vec![path(".envrc")]);
    let refused = attempt(person.may_apply(digest, 3, vec![]), &more);
    assert!(matches!(refused, Err(ApplyError::NotSelected)));
    assert_eq!(text(&overlay, "a").as_deref(), Some("1\n"));
    attempt(person.may_apply(digest, 3, vec![".envrc".to_owned()]), &more).unwrap();
    assert_eq!(text(&overlay, "a").as_deref(), Some("2\n"));
    assert_eq!(text(&overlay, ".envrc").as_deref(), Some("x\n"));
}

#[test]
fn a_change_set_altered_after_the_receipt_is_refused() {
    let overlay = Overlay::with(&[("a", "1\n")]);
    overlay.sh("echo 2 > a; echo 3 > c");
    let (set, person) = (read(&overlay), Person::new());
    let bytes = String::from_utf8(set.to_bytes().unwrap()).unwrap();
    let altered =
        ChangeSet::parse(bytes.replace("\"path\":\"c\"", "\"path\":\"d\"").as_bytes()).unwrap();
    let permit = person.may_apply(set.digest().unwrap(), 2, vec![]);
    let refused = apply(
        &permit,
        &altered,
        &[],
        &overlay.upper(),
        &overlay.base(),
        &overlay.store(),
        &Selection::all(),
    );
    assert!(matches!(refused, Err(ApplyError::NotApproved { .. })));
}

#[test]
fn a_part_can_be_applied() {
    let overlay = Overlay::with(&[("a", "1\n"), ("d/x", "1\n"), ("d/y", "1\n")]);
    overlay.sh("echo 2 > a; echo 2 > d/x; rm d/y; mkdir -p n/m; echo 1 > n/m/f; echo 1 > n/g");
    let (set, person) = (read(&overlay), Person::new());
    let some = Selection::only(vec![path("d"), path("n/m/f")]);
    let applied = person.apply(&overlay, &set, &some).unwrap();
    let paths: Vec<_> = applied.paths.iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["d/x", "d/y", "n", "n/m", "n/m/f"]);
    assert_eq!(text(&overlay, "a").as_deref(), Some("1\n"));
    assert_eq!(text(&overlay, "d/y"), None);
    assert_eq!(text(&overlay, "n/m/f").as_deref(), Some("1\n"));
    assert_eq!(text(&overlay, "n/g"), None);
    let again = person.apply(&overlay, &set, &Selection::all());
    assert!(matches!(again, Err(ApplyError::State(State::Applied))));
    person.undo(&overlay).unwrap();
    person.apply(&overlay, &set, &Selection::all()).unwrap();
    assert_eq!(text(&overlay, "n/g").as_deref(), Some("1\n"));
}

#[test]
fn what_is_guarded_stays_in_the_run() {
    let overlay =
        Overlay::with(&[(".git/config", "[core]\n"), ("src", "1\n"), ("CLAUDE.md", "1\n")]);
    overlay.sh("echo evil >> .git/config; mkdir .git/hooks; echo evil > .git/hooks/pre-commit
        mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/post-checkout
        mkdir .vscode; echo evil > .vscode/tasks.json; echo evil >> CLAUDE.md; echo 2 > src
        echo x > s; chmod 6755 s; mkfifo p; ln -s /etc/passwd l");
    let (set, person) = (read(&overlay), Person::new());
    let applied = person.apply(&overlay, &set, &Selection::all()).unwrap();
    let paths: Vec<_> = applied.paths.iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["src", "sub"]);
    assert_eq!(text(&overlay, ".git/config").as_deref(), Some("[core]\n"));
    assert_eq!(text(&overlay, "CLAUDE.md").as_deref(), Some("1\n"));
    for absent in [".git/hooks", "sub/.git", ".vscode", "s", "p", "l"] {
        assert!(fs::symlink_metadata(overlay.base().join(absent)).is_err(), "{absent}");
    }
    let never = applied.left.iter().filter(|left| matches!(left.why, Why::Never(_))).count();
    assert_eq!((never, applied.left.len()), (7, 12));
    person.undo(&overlay).unwrap();

    for never in [".git/config", "p", "sub/.git"] {
        let selection = Selection::only(vec![path(never)]).with_flagged(vec![path(never)]);
        let refused = person.apply(&overlay, &set, &selection);
        assert!(matches!(refused, Err(ApplyError::Select(SelectError::Never { .. }))), "{never}");
    }
    let refused = person.apply(&overlay, &set, &Selection::only(vec![path("l")]));
    assert!(matches!(refused, Err(ApplyError::Select(SelectError::NeedsApproval { .. }))));
    let approved =
        Selection::only(vec![path("l"), path("s")]).with_flagged(vec![path("l"), path("s")]);
    person.apply(&overlay, &set, &approved).unwrap();
    let mode = fs::symlink_metadata(overlay.base().join("s")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(fs::read_link(overlay.base().join("l")).unwrap().to_str(), Some("/etc/passwd"));
}

#[test]
fn concurrent_applies_have_one_winner() {
    let overlay = Overlay::with(&[("a", "1\n")]);
    overlay.sh("echo 2 > a; for n in $(seq 50); do echo $n > f$n; done");
    let set = read(&overlay);
    let results: Vec<_> = thread::scope(|scope| {
        let attempt = || Person::new().apply(&overlay, &set, &Selection::all());
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(attempt)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for lost in results.into_iter().filter_map(Result::err) {
        assert!(matches!(lost, ApplyError::Busy | ApplyError::State(State::Applied)), "{lost}");
    }
    assert_eq!(state(&overlay.store()).unwrap(), State::Applied);
}

#[test]
fn discarded_is_not_applied() {
    let overlay = Overlay::with(&[("a", "1\n")]);
    overlay.sh("echo 2 > a; mkdir d; ln -s a d/l; mkfifo d/p; chmod 0 d");
    symlink("/etc", overlay.upper().join("out")).unwrap();
    let (set, person) = (read(&overlay), Person::new());
    workspace::discard(&person.may_discard(), &overlay.upper(), &overlay.store()).unwrap();
    assert_eq!(fs::read_dir(overlay.upper()).unwrap().count(), 0);
    assert!(fs::metadata("/etc/passwd").is_ok());
    let refused = person.apply(&overlay, &set, &Selection::all());
    assert!(matches!(refused, Err(ApplyError::State(State::Discarded))));
    assert_eq!(text(&overlay, "a").as_deref(), Some("1\n"));
}

#[test]
fn many_files_and_back() {
    let overlay = Overlay::new();
    for n in 0..300 {
        fs::write(overlay.base().join(format!("f{n}")), format!("{n}\n")).unwrap();
    }
    overlay.sh(
        "for n in $(seq 0 99); do echo new > f$n; done; for n in $(seq 100 199); do rm f$n; done
        mkdir d; for n in $(seq 200 299); do mv f$n d/g$n; done",
    );
    let (set, person) = (read(&overlay), Person::new());
    assert_eq!(set.counts().renamed, 100);
    let before = crate::tree::take_down(&overlay.base());
    person.apply(&overlay, &set, &Selection::all()).unwrap();
    assert_eq!(fs::read_dir(overlay.base()).unwrap().count(), 101);
    person.undo(&overlay).unwrap();
    assert_eq!(crate::tree::take_down(&overlay.base()), before);
}
