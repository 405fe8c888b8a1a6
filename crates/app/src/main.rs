//! The `loop` binary: plugs everything together and decides nothing.

use std::process::ExitCode;

use api::{Engine, Problem};
use run::Host;

fn main() -> ExitCode {
    // Before anything else is touched: the confining program starts from the same file.
    if confine::is_confine_process() {
        confine::main();
    }
    // And so does the one that carries out the tools of the agent, inside.
    if hands::is_hands_process() {
        hands::main();
    }
    cli::main(&open)
}

fn open() -> Result<Box<dyn Engine>, Problem> {
    Ok(Box::new(Host::from_process()?))
}
