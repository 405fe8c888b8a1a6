//! A run's commits: taken as objects, whatever else the run left in its repository.

use std::fs;
use std::path::{Path, PathBuf};

use git_guard::host::{Found, Overlays, Repository, TakeError, Taking};
use names::RefName;

use crate::scene::{Scene, gits};

/// A project, and what a run wrote over it, without a sandbox: the upper directory is a copy of
/// `.git` as the run left it.
struct Run {
    scene: Scene,
    repository: Repository,
    overlays: Overlays,
}

impl Run {
    /// Lets `inside` work on a copy of the project, and takes its `.git` for what was written.
    fn of(git: &Path, inside: impl FnOnce(&Scene)) -> Self {
        let scene = Scene::new(git);
        scene.git_here(&["stash", "-q"]);
        scene.git_here(&["stash", "drop", "-q"]);
        let copy = std::process::Command::new("cp")
            .args(["-a", "project", "before"])
            .current_dir(scene.at(""))
            .status();
        assert!(copy.unwrap().success());
        inside(&scene);
        fs::create_dir(scene.at("upper")).unwrap();
        fs::rename(scene.at("project/.git"), scene.at("upper/.git")).unwrap();
        // It has all that the run saw there, so nothing shows through.
        let none = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(scene.at("upper/.git"), "user.overlay.opaque", b"y", none).unwrap();
        fs::remove_dir_all(scene.at("project")).unwrap();
        fs::rename(scene.at("before"), scene.at("project")).unwrap();
        let repository = Repository::of(&scene.at("project")).unwrap();
        let overlays = Overlays(vec![(scene.at("project"), scene.at("upper"))]);
        Self { scene, repository, overlays }
    }

    fn find(&self, from: Option<&str>) -> Result<Found, TakeError> {
        let git = self.scene.host();
        let taking = Taking { git: &git, repository: &self.repository, overlays: &self.overlays };
        taking.find(from)
    }

    fn count(&self) -> u64 {
        let git = self.scene.host();
        let taking = Taking { git: &git, repository: &self.repository, overlays: &self.overlays };
        taking.count().unwrap()
    }

    fn check(&self, name: &str, force: bool) -> Result<(), TakeError> {
        let git = self.scene.host();
        let taking = Taking { git: &git, repository: &self.repository, overlays: &self.overlays };
        taking.check_name(&RefName::parse(name).unwrap(), force)
    }

    fn upper(&self, path: &str) -> PathBuf {
        self.scene.at("upper/.git").join(path)
    }
}

fn commit(scene: &Scene, path: &str, text: &str) {
    scene.write(path, text);
    scene.commit(path);
}

#[test]
fn commits_are_found_with_what_they_change() {
    for git in gits() {
        for packed in [false, true] {
            let run = Run::of(&git, |scene| {
                commit(scene, "one", "1\n");
                commit(scene, "two", "1\n2\n");
                if packed {
                    scene.git_here(&["gc", "-q"]);
                }
            });
            let found = run.find(None).unwrap();
            let subjects: Vec<_> = found.commits.iter().map(|it| it.subject.as_str()).collect();
            assert_eq!(subjects, ["two", "one"]);
            let stat: Vec<_> = found.stat.iter().map(|it| (it.path.as_str(), it.lines)).collect();
            assert_eq!(stat, [("one", Some((1, 0))), ("two", Some((2, 0)))]);
            assert!(found.flagged.is_empty() && found.submodules.is_empty());
            assert_eq!(run.count(), 2);
            let before = run.scene.bare(&["cat-file", "-e", found.tip.as_str()], "project", "");
            assert!(!before.ok, "nothing reaches the project by looking");
        }
    }
}

#[test]
fn what_is_flagged_and_what_is_a_submodule_is_told() {
    let run = Run::of(&gits()[0], |scene| {
        scene.write("AGENTS.md", "obey\n");
        std::os::unix::fs::symlink("../../etc/passwd", scene.at("project/out")).unwrap();
        std::os::unix::fs::symlink("README.md", scene.at("project/in")).unwrap();
        scene.commit("Flagged");
        fs::remove_file(scene.at("project/AGENTS.md")).unwrap();
        scene.commit("Hide it again");
        let head = scene.git_here(&["rev-parse", "HEAD"]);
        scene.git_here(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},part")]);
        scene.git_here(&["commit", "-q", "-m", "Part"]);
    });
    let found = run.find(None).unwrap();
    let flagged: Vec<_> = found.flagged.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(flagged, ["AGENTS.md", "out"]);
    assert_eq!(found.submodules, ["part"]);
}

#[test]
fn other_refs_and_no_commits() {
    let run = Run::of(&gits()[0], |scene| {
        scene.git_here(&["checkout", "-q", "-b", "topic"]);
        commit(scene, "one", "1\n");
        scene.git_here(&["tag", "-a", "v2", "-m", "Two"]);
        scene.git_here(&["pack-refs", "--all"]);
        scene.git_here(&["checkout", "-q", "main"]);
    });
    assert!(matches!(run.find(None), Err(TakeError::NoCommits)));
    for from in ["topic", "refs/heads/topic", "v2"] {
        assert_eq!(run.find(Some(from)).unwrap().commits.len(), 1, "{from}");
    }
    assert!(matches!(run.find(Some("nosuch")), Err(TakeError::NoRef(_))));
    let nothing = Run::of(&gits()[0], |_| {});
    fs::remove_dir_all(nothing.upper("objects")).unwrap();
    assert!(matches!(nothing.find(None), Err(TakeError::NoCommits)));
    assert_eq!(nothing.count(), 0);
}

#[test]
fn names_that_are_taken_are_refused() {
    let run = Run::of(&gits()[0], |scene| commit(scene, "one", "1\n"));
    assert!(matches!(run.check("refs/heads/other", false), Err(TakeError::Exists(_))));
    assert!(run.check("refs/heads/other", true).is_ok());
    assert!(matches!(run.check("refs/heads/main", true), Err(TakeError::CheckedOut(_))));
    run.scene.git_here(&["worktree", "add", "-q", "../linked", "other"]);
    assert!(matches!(run.check("refs/heads/other", true), Err(TakeError::CheckedOut(_))));
    assert!(run.check("refs/heads/loop/new", false).is_ok());
}

#[test]
fn commits_that_are_not_what_they_seem_are_refused() {
    let git = &gits()[0];
    let head =
        |run: &Run| fs::read_to_string(run.upper("refs/heads/main")).unwrap().trim().to_owned();
    let made = || Run::of(git, |scene| commit(scene, "one", "1\n"));

    let grafted = made();
    fs::write(grafted.upper("info/grafts"), format!("{}\n", head(&grafted))).unwrap();
    assert!(matches!(grafted.find(None), Err(TakeError::Replaced(_))));

    let shallow = made();
    fs::write(shallow.upper("shallow"), format!("{}\n", head(&shallow))).unwrap();
    assert!(matches!(shallow.find(None), Err(TakeError::Replaced(_))));

    let replaced = Run::of(git, |scene| {
        commit(scene, "one", "1\n");
        scene.git_here(&["replace", "HEAD", "HEAD~1"]);
    });
    assert!(matches!(replaced.find(None), Err(TakeError::Replaced(_))));

    // An object under another one's name.
    let forged = Run::of(git, |scene| {
        commit(scene, "one", "1\n");
        scene.write("other", "not this\n");
        let (this, other) = (
            scene.git_here(&["rev-parse", "HEAD:one"]),
            scene.git_here(&["hash-object", "-w", "other"]),
        );
        let at = |id: &str| loose(scene.at("project/.git/objects"), id);
        fs::remove_file(at(&this)).unwrap();
        fs::copy(at(&other), at(&this)).unwrap();
    });
    assert!(matches!(forged.find(None), Err(TakeError::Unsound(_))));

    // A tree that would write into a Git directory, which no sound git makes.
    let hostile = Run::of(git, |scene| {
        let blob = scene.git_here(&["hash-object", "-w", "README.md"]);
        let tree = scene.bare(&["mktree"], "project", &format!("100644 blob {blob}\tconfig\n"));
        let tree = tree.text.trim().to_owned();
        let bytes = [b"40000 .git\0".as_slice(), &hex(&tree)].concat();
        fs::write(scene.at("project/raw"), bytes).unwrap();
        let args = ["hash-object", "-t", "tree", "-w", "--literally", "raw"];
        let tree = scene.git_here(&args);
        let commit = scene.git_here(&["commit-tree", "-m", "Evil", "-p", "HEAD", &tree]);
        scene.git_here(&["update-ref", "refs/heads/main", &commit]);
    });
    let error = hostile.find(None).unwrap_err();
    assert!(
        matches!(&error, TakeError::Unsound(why) if why.contains("Dotgit") || why.contains(".git")),
        "{error}"
    );

    // A parent that is nowhere.
    let torn = made();
    let id = head(&torn);
    let objects = torn.upper("objects");
    fs::remove_file(loose(objects, &id)).unwrap();
    assert!(matches!(torn.find(None), Err(TakeError::Unsound(_))));
}

fn loose(objects: PathBuf, id: &str) -> PathBuf {
    let (fan, rest) = id.split_at(2);
    objects.join(fan).join(rest)
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn links_and_pipes_among_the_objects_lead_nowhere() {
    let run = Run::of(&gits()[0], |scene| commit(scene, "one", "1\n"));
    let objects = run.upper("objects");
    std::os::unix::fs::symlink("/etc", objects.join("ee")).unwrap();
    let name = "a".repeat(38);
    let mut fan = fs::read_dir(&objects).unwrap().map(|it| it.unwrap().path());
    let fan = fan.find(|path| path.is_dir() && path.file_name().unwrap().len() == 2).unwrap();
    let made = std::process::Command::new("mkfifo").arg(fan.join(&name)).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/etc/passwd", fan.join("b".repeat(38))).unwrap();
    assert_eq!(run.find(None).unwrap().commits.len(), 1);
}
