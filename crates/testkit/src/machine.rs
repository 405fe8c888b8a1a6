//! The machine that the test runs on.

use std::path::PathBuf;
use std::time::Duration;

use crate::launch::within;

/// Whether this test runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where a program is, in the search path of this process.
pub fn program(name: &str) -> Option<PathBuf> {
    let search_path = std::env::var_os("PATH")?;
    std::env::split_paths(&search_path)
        .map(|directory| directory.join(name))
        .find(|candidate| rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok())
}

/// Fails the test where a program is missing: a test that can't run is not a test that passed.
#[track_caller]
pub fn need(name: &str) {
    assert!(
        program(name).is_some(),
        "this test needs {name}: `cargo xtask needs` says where it comes from"
    );
}

/// A launcher after which a program is root in a user and a mount namespace of its own.
pub fn as_root_inside() -> Vec<&'static str> {
    vec!["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--"]
}

/// A launcher after which a directory is an empty disk of that size (as `mount` writes it: `64k`, `1m`).
pub fn on_small_disk(directory: &std::path::Path, size: &str) -> Vec<String> {
    let script =
        format!("mount -t tmpfs -o size={size} small '{}' && exec \"$@\"", directory.display());
    let words = [
        "unshare",
        "--user",
        "--map-current-user",
        "--keep-caps",
        "--mount",
        "--propagation",
        "private",
        "--",
        "sh",
        "-c",
        &script,
        "sh",
    ];
    words.map(str::to_owned).to_vec()
}

/// Waits until something holds; fails the test after a minute.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let held = within(Duration::from_secs(60), || holds().then_some(()));
    assert!(held.is_some(), "waited a minute in vain until {what}");
}
