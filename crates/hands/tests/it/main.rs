//! The program, spoken to as the control plane does, on the real file system without a sandbox.
//!
//! No harness: this file is also the program, which must start without threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod changing;
mod client;
mod corpus;
mod fetching;
mod looking;
mod running;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    if hands::is_hands_process() {
        hands::main();
    }
    let tests =
        [changing::TESTS, corpus::TESTS, fetching::TESTS, looking::TESTS, running::TESTS].concat();
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
