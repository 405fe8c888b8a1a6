//! The shipped program, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests; starting the program is what is tested"
)]

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], scratch: &Path, home: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loop"))
        .args(arguments)
        .env("TMPDIR", scratch)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("LOOP_HOME")
        .current_dir(scratch)
        .output()
        .unwrap()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn the_demonstration_holds_and_leaves_nothing() {
    let (scratch, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let output = run(&["demo"], scratch.path(), home.path());
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert!(out.contains("everything was held") && !out.contains("FAIL"), "{out}\n{err}");
    assert!(is_empty(home.path()), "the person's home was touched");
    assert!(is_empty(scratch.path()), "the scratch directory was left");
}

#[test]
fn help_needs_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let output = run(&["--version"], scratch.path(), Path::new(""));
    assert_eq!(output.status.code(), Some(0));
    let version = format!("loop {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), version);
}

#[test]
fn without_a_home_it_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let output = run(&["exec", "--", "true"], scratch.path(), Path::new(""));
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("HOME"));
}
