//! Small tasks with a known answer (`crates/testkit/tasks`), and how often Loop is wrong about who does them.

use anyhow::{Context, Result};

use crate::ci;
use crate::program::{self, cargo};

/// `cargo xtask bench tasks [--smoke] [NAME]...`. A bar that is missed is an error.
pub(super) fn command(arguments: &[String]) -> Result<()> {
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--package", "e2e", "--bench", "tasks", "--"]);
    bench.args(arguments).env("LOOP_BIN", ci::release()?);
    program::run(&mut bench).context("Loop is wrong more often than it may be")
}
