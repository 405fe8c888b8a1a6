//! A real overlay. A child process mounts it in its own user and mount namespaces, works in it
//! and ends; what stays is the upper directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::tree::{Op, Tree, perform, take_down};

const OPS: &str = "LOOP_TEST_OPS";

/// A base, and an upper directory over it.
pub(crate) struct Overlay {
    temp: TempDir,
    base: PathBuf,
}

impl Overlay {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["base", "upper", "work", "merged", "store", "outside"] {
            fs::create_dir(temp.path().join(dir)).unwrap();
        }
        Self { base: temp.path().join("base"), temp }
    }

    /// Another one over the same base, which begins with what is in this one.
    pub(crate) fn going_on(&self) -> Self {
        let next = self.beside();
        workspace::carry_over(&self.upper(), &next.upper()).unwrap();
        next
    }

    /// Another one over the same base, in which nothing happened yet.
    pub(crate) fn beside(&self) -> Self {
        let mut next = Self::new();
        next.base = self.base();
        next
    }

    /// With a base that operations made.
    pub(crate) fn over(ops: &[Op]) -> Self {
        let overlay = Self::new();
        perform(&overlay.base(), ops);
        overlay
    }

    /// With a base of text files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let overlay = Self::new();
        for (name, text) in files {
            let path = overlay.base().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        overlay
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.base.clone()
    }

    pub(crate) fn upper(&self) -> PathBuf {
        self.temp.path().join("upper")
    }

    /// The run's directory.
    pub(crate) fn store(&self) -> PathBuf {
        self.temp.path().join("store")
    }

    /// A directory beside the base, which nothing may touch.
    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    /// Runs a shell script in the mounted overlay.
    pub(crate) fn sh(&self, script: &str) -> &Self {
        let output = self.inside(&["sh", "-euc", script]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}: {text}");
        self
    }

    /// Performs operations in the mounted overlay, and says what a walk sees there afterwards.
    pub(crate) fn perform(&self, ops: &[Op]) -> Tree {
        let exe = std::env::current_exe().unwrap();
        let (given, seen) = (self.temp.path().join("ops"), self.temp.path().join("seen"));
        fs::write(&given, serde_json::to_vec(ops).unwrap()).unwrap();
        let exe = exe.to_str().unwrap();
        let output = self.inside(&[exe, "overlay::child", "--exact", "--nocapture"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        let tree: Vec<_> = serde_json::from_slice(&fs::read(seen).unwrap()).unwrap();
        tree.into_iter().collect()
    }

    #[expect(clippy::disallowed_methods, reason = "mounting needs a namespace, and so a process")]
    fn inside(&self, command: &[&str]) -> Output {
        let place = self.temp.path().to_str().unwrap();
        let base = self.base.to_str().unwrap();
        let mount = r#"cd "$1"; base=$2; shift 2
            mount -t overlay overlay \
                -o "userxattr,lowerdir=$base,upperdir=upper,workdir=work" merged
            cd merged; exec "$@""#;
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-euc", mount, "sh", place, base])
            .args(command)
            .env(OPS, self.temp.path())
            .output();
        output.expect("unshare of util-linux is needed")
    }
}

impl Drop for Overlay {
    /// Opens what the run closed, so that an ordinary user can remove it.
    #[expect(clippy::disallowed_methods, reason = "chmod of coreutils opens before it descends")]
    fn drop(&mut self) {
        let _left_behind =
            Command::new("chmod").args(["-R", "u+rwX"]).arg(self.temp.path()).output();
    }
}

/// The child's part of [`Overlay::perform`]. Alone it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(OPS) else { return };
    let place = Path::new(&place);
    let merged = place.join("merged");
    let ops: Vec<Op> = serde_json::from_slice(&fs::read(place.join("ops")).unwrap()).unwrap();
    perform(&merged, &ops);
    let tree: Vec<_> = take_down(&merged).into_iter().collect();
    fs::write(place.join("seen"), serde_json::to_vec(&tree).unwrap()).unwrap();
}
