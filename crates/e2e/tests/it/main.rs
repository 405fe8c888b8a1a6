//! The `loop` program as people meet it: started as a process, in a scratch home, on real projects.
//!
//! Nothing here knows the product's crates except the verifier, which is a second opinion on what the program wrote.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is a failed test, and clippy does not see that these are tests"
)]

mod agent;
mod approvals;
mod changes;
mod ci;
mod evidence;
mod exec;
mod faults;
mod gate;
mod git;
mod inputs;
mod isolation;
mod large;
mod learning;
mod network;
mod profiles;
mod projects;
mod publish;
mod sessions;
mod states;
mod tasks;
mod terminal;
mod told;
mod verified;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A test and its name.
type Test = (&'static str, fn());

/// Names functions as tests of the module. One that is forgotten is dead code, which does not compile.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[crate::Test] = &[$((concat!(module_path!(), "::", stringify!($name)), $name)),*];
    };
}
pub(crate) use tests;

const MODULES: &[&[Test]] = &[
    exec::TESTS,
    terminal::TESTS,
    isolation::TESTS,
    projects::TESTS,
    changes::TESTS,
    evidence::TESTS,
    ci::TESTS,
    sessions::TESTS,
    approvals::TESTS,
    agent::TESTS,
    agent::BROKEN,
    agent::CARRIED,
    agent::INTERRUPTED,
    agent::PERSON,
    profiles::TESTS,
    learning::TESTS,
    verified::TESTS,
    told::TESTS,
    inputs::TESTS,
    faults::TESTS,
    states::TESTS,
    gate::TESTS,
    git::TESTS,
    network::TESTS,
    network::pushes::TESTS,
    network::carried::TESTS,
    network::fetching::TESTS,
    network::agents::TESTS,
    publish::TESTS,
    tasks::TESTS,
    large::TESTS,
];

fn main() -> ExitCode {
    testkit::heed_signals();
    let mut arguments = Arguments::from_args();
    // A test watches everything below its own process, so there is one test in a process at a time.
    arguments.test_threads = Some(1);
    let tests = MODULES.concat().into_iter().map(|(name, test)| {
        Trial::test(name.trim_start_matches("it::"), move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
