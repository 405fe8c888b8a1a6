//! `loop git`: what it shows, and what it refuses.

use std::ffi::OsString;
use std::process::Stdio;

use git_guard::host::{HostError, Looking, Unfit};

use crate::scene::{Scene, gits};

fn prepare(scene: &Scene, directory: &str, words: &[&str]) -> Result<Looking, Unfit> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    Looking::prepare(&scene.host(), &scene.at(directory), &words)
}

/// What a command that looks shows where nobody sits at a terminal.
fn shown(scene: &Scene, directory: &str, words: &[&str]) -> String {
    let (code, text) = ended(scene, directory, words);
    assert_eq!(code, Some(0), "{words:?}: {text}");
    text
}

/// How it ends, and what it shows.
fn ended(scene: &Scene, directory: &str, words: &[&str]) -> (Option<i32>, String) {
    let looking = prepare(scene, directory, words).unwrap();
    let output = looking.command().stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn plain(scene: &Scene, directory: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new("git");
    command.env_clear().envs(&scene.variables).args(words).current_dir(scene.at(directory));
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn it_shows_what_plain_git_shows() {
    for git in gits() {
        let scene = Scene::new(&git);
        scene.write("deep/er/file", "x\n");
        scene.git_here(&["add", "deep"]);
        scene.write("new file", "x\n");
        scene.git_here(&["tag", "-a", "v1", "-m", "One"]);
        scene.git_here(&["pack-refs", "--all"]);
        scene.git_here(&["branch", "later"]);
        scene.git_here(&["worktree", "add", "-q", "../linked", "other"]);
        for directory in ["project", "project/deep", "linked"] {
            for words in [
                &["status", "--porcelain=v2", "--branch"][..],
                &["log", "--oneline", "--decorate", "--all", "--graph"],
                &["diff", "HEAD"],
                &["show", "HEAD"],
                &["branch", "-a", "--format=%(refname) %(objectname)"],
                &["branch", "--show-current"],
                &["tag", "-n"],
                &["for-each-ref"],
                &["rev-parse", "HEAD", "v1^{commit}", "other"],
                &["log", "-2", "--stat"],
                &["reflog"],
                &["ls-files", "-s"],
                &["grep", "two"],
                &["stash", "list"],
            ] {
                let (here, there) =
                    (ended(&scene, directory, words), plain(&scene, directory, words));
                assert_eq!(here, there, "{words:?} in {directory} with {}", git.display());
            }
        }
        let left = std::fs::read_dir(scene.at("scratch")).unwrap().count();
        assert_eq!(left, 0, "private directories go");
    }
}

#[test]
fn options_before_the_command_hold() {
    for git in gits() {
        let scene = Scene::new(&git);
        assert_eq!(
            shown(&scene, "home", &["-C", "..", "-C", "project", "log", "-1", "--format=%s"]),
            "Second\n"
        );
        let named =
            shown(&scene, "project", &["-c", "x.y=z", "--no-pager", "log", "-1", "--format=%s"]);
        assert_eq!(named, "Second\n");
        scene.git_here(&["clone", "-q", "--bare", ".", "../bare.git"]);
        assert_eq!(shown(&scene, "bare.git", &["log", "-1", "--format=%s"]), "Second\n");
    }
}

#[test]
fn the_persons_own_aliases_hold_if_they_look() {
    for git in gits() {
        let scene = Scene::new(&git);
        scene.git(&["config", "--global", "alias.last", "log -1 '--format=%s of %an'"], "home");
        scene.git(&["config", "--global", "alias.l", "last"], "home");
        assert_eq!(shown(&scene, "project", &["l"]), "Second of Ada\n");
        scene.git(&["config", "--global", "alias.sh", "!sh"], "home");
        assert!(matches!(prepare(&scene, "project", &["sh"]), Err(Unfit::Shell(_))));
        scene.git(&["config", "--global", "alias.ci", "commit -q"], "home");
        assert!(matches!(prepare(&scene, "project", &["ci"]), Err(Unfit::Changes(_))));
        scene.git_here(&["config", "alias.theirs", "log"]);
        assert!(matches!(prepare(&scene, "project", &["theirs"]), Err(Unfit::Changes(_))));
    }
}

#[test]
fn what_does_more_than_look_is_refused() {
    let git = gits().remove(0);
    let scene = Scene::new(&git);
    for words in [
        &["commit"][..],
        &["checkout", "main"],
        &["fetch"],
        &["push"],
        &["clone", "x"],
        &["stash"],
        &["stash", "pop"],
        &["notes", "add"],
        &["reflog", "expire"],
        &["config", "user.name"],
        &["submodule", "status"],
        &["gc"],
        &["nosuch"],
    ] {
        assert!(matches!(prepare(&scene, "project", words), Err(Unfit::Changes(_))), "{words:?}");
    }
    for words in [
        &["--git-dir=/x", "log"][..],
        &["--git-dir", "/x", "log"],
        &["--work-tree=/x", "status"],
        &["--exec-path=/x", "log"],
        &["--bare", "log"],
    ] {
        assert!(matches!(prepare(&scene, "project", words), Err(Unfit::Elsewhere(_))), "{words:?}");
    }
    assert!(matches!(prepare(&scene, "project", &[]), Err(Unfit::NoCommand)));
    assert!(matches!(
        prepare(&scene, "home", &["log"]),
        Err(Unfit::Host(HostError::NotARepository(_)))
    ));
    // What would write says that it would.
    let looking = prepare(&scene, "project", &["branch", "-D", "other"]).unwrap();
    assert!(!looking.command().output().unwrap().status.success());
    let looking = prepare(&scene, "project", &["tag", "new"]).unwrap();
    looking.command().output().unwrap();
    assert_eq!(plain(&scene, "project", &["tag"]).1, "");
    assert_eq!(plain(&scene, "project", &["branch", "--list", "other"]).1, "  other\n");
}

#[test]
fn refs_that_are_none_are_counted_and_not_followed() {
    let git = gits().remove(0);
    let scene = Scene::new(&git);
    scene.put("project/.git/refs/heads/broken", "nonsense\n");
    scene.put("project/.git/refs/heads/empty", "");
    std::os::unix::fs::symlink("/etc/passwd", scene.at("project/.git/refs/heads/link")).unwrap();
    let fifo = scene.at("project/.git/refs/heads/pipe");
    let made = std::process::Command::new("mkfifo").arg(fifo).status().unwrap();
    assert!(made.success());
    let looking = prepare(&scene, "project", &["for-each-ref"]).unwrap();
    assert_eq!(looking.ignored_refs(), 4);
    let output = looking.command().output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
}

#[test]
fn what_is_not_read_here_is_said() {
    for git in gits() {
        let scene = Scene::new(&git);
        if scene.bare(&["init", "-q", "--ref-format=reftable", "tables"], "", "").ok {
            let error = prepare(&scene, "tables", &["log"]).unwrap_err();
            assert!(matches!(error, Unfit::Host(HostError::Reftable(_))), "{error}");
        }
        scene.put("project/.git/objects/info/alternates", "ROOT/outside\n");
        let error = prepare(&scene, "project", &["log"]).unwrap_err();
        assert!(matches!(error, Unfit::Host(HostError::Borrows { .. })), "{error}");
        let mut mine = Scene::new(&git);
        mine.git_here(&["clone", "-q", "--shared", ".", "../shared"]);
        let objects = mine.text("ROOT/project/.git/objects");
        mine.variables.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), objects.into());
        assert_eq!(shown(&mine, "shared", &["log", "-1", "--format=%s"]), "Second\n");
    }
}
