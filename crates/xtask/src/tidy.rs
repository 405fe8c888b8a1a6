//! The rules of the architecture that no compiler checks. Each check is a pure function from the checkout to what it
//! finds, and has a test in which it finds something.

mod code;
mod edges;
mod graph;
mod licence;
mod sources;
mod threats;

use anyhow::{Result, bail};

use crate::suite;
use crate::tally::Tally;
use graph::Graph;
use sources::Sources;

/// What a check looks at.
struct Checkout {
    graph: Graph,
    sources: Sources,
}

/// One rule: its name, and what breaks it.
struct Check {
    name: &'static str,
    find: fn(&Checkout) -> Vec<String>,
}

const CHECKS: &[Check] = &[
    Check { name: "dependencies point down only", find: |c| edges::upward(&c.graph) },
    Check {
        name: "no crate reaches what it must not contain",
        find: |c| edges::forbidden(&c.graph),
    },
    Check {
        name: "the product does not depend on test crates",
        find: |c| edges::product_on_tests(&c.graph),
    },
    Check {
        name: "licences of dependencies are permissive",
        find: |c| licence::unacceptable(&c.graph),
    },
    Check {
        name: "Cargo.lock names crates.io only",
        find: |c| sources::foreign_packages(&c.sources),
    },
    Check { name: "unsafe code in `sys` only", find: |c| sources::unsafe_outside_sys(&c.sources) },
    Check {
        name: "the agent has nothing of the outside itself",
        find: |c| sources::outside_in_agent(&c.sources),
    },
    Check {
        name: "every crate takes the lint table",
        find: |c| sources::without_lints(&c.sources),
    },
    Check {
        name: "every source file says what it is",
        find: |c| sources::without_docs(&c.sources),
    },
    Check {
        name: "no mod.rs, no file named for nothing",
        find: |c| sources::bad_names(&c.sources),
    },
    Check { name: "no ignored test", find: |c| sources::ignored_tests(&c.sources) },
    Check { name: "no path of somebody's machine", find: |c| sources::machine_paths(&c.sources) },
    Check {
        name: "processes, git among them, are started in one place each",
        find: |c| sources::stray_processes(&c.sources),
    },
    Check {
        name: "every gate has its four files",
        find: |c| sources::incomplete_gates(&c.sources),
    },
    Check {
        name: "SECURITY.md names modules and tests that exist",
        find: |c| threats::broken(&c.sources),
    },
    Check {
        name: "ARCHITECTURE.md has under 300 lines",
        find: |c| sources::long_architecture(&c.sources),
    },
];

/// `cargo xtask tidy`.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`tidy` takes no {unknown:?}");
    }
    suite::finish(&run()?)
}

/// Runs every check on this checkout.
pub(crate) fn run() -> Result<Tally> {
    let checkout = Checkout { graph: Graph::read()?, sources: Sources::read()? };
    let mut tally = Tally::default();
    for check in CHECKS {
        let findings = (check.find)(&checkout);
        if findings.is_empty() {
            tally.passed += 1;
        } else {
            println!("tidy: {}:", check.name);
            findings.iter().for_each(|finding| println!("  {finding}"));
            tally.failed.push(format!("tidy: {}", check.name));
        }
    }
    Ok(tally)
}
