//! Planning, without a kernel; and the tools of Loop's own agent, in real sandboxes.
//!
//! No harness: this file is also the confining program and the one that carries tools out, which
//! must start without threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod planning;
mod scene;
mod tools;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    if confine::is_confine_process() {
        confine::main();
    }
    if hands::is_hands_process() {
        hands::main();
    }
    let tests = [planning::TESTS, tools::TESTS].concat();
    let trials =
        tests.into_iter().map(|(name, test)| Trial::test(name, move || passed(test))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

type Test = (&'static str, fn());

/// A test fails by panicking.
#[allow(clippy::unnecessary_wraps, reason = "the form of a trial")]
fn passed(test: fn()) -> Result<(), Failed> {
    test();
    Ok(())
}

/// The names of tests, with the tests.
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        pub(crate) const TESTS: &[crate::Test] = &[$((stringify!($test), $test)),+];
    };
}

pub(crate) use tests;
