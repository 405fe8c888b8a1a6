//! One entry point for developers: `cargo xtask COMMAND`.
//!
//! It builds, tests, measures and checks the product. It is never part of the product, and nothing of the product
//! depends on it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's command talks to a terminal"
)]

mod bench;
mod ci;
mod fuzz;
mod needs;
mod ordinary;
mod peers;
mod program;
mod suite;
mod tally;
mod tidy;
mod unconnected;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{}", help());
        return Ok(());
    };
    match command.as_str() {
        ordinary::INSIDE => inside(rest),
        "test" => suite::command(rest),
        "ci" => ci::command(rest),
        "tidy" => tidy::command(rest),
        "bench" => bench::command(rest),
        "fuzz" => fuzz::command(rest),
        "needs" => needs::command(rest),
        "peers" => peers::command(rest),
        "help" | "--help" | "-h" => {
            print!("{}", help());
            Ok(())
        }
        other => bail!("no command {other:?}; `cargo xtask help` lists them"),
    }
}

fn help() -> String {
    let sections = bench::sections();
    format!(
        "\
usage: cargo xtask COMMAND

  test [-p CRATE]... [NAME]    install what the tests need (as root), then run every test whose name contains NAME
       --ordinary-user         as root: the same tests as an ordinary user, in a private view of this machine
       --no-network            the same tests, each in an empty network namespace
  ci [STAGE]                   everything that has to hold before a change lands; stops at the first failure
  tidy                         the rules of the architecture that no compiler checks
  bench [--smoke] [SECTION]... the numbers we promise, measured; --smoke runs each row a little and judges nothing;
                               sections: {sections}
  bench tasks [--smoke] [NAME] tasks with a known answer: how often an honest model is not believed, or a lying one is
  fuzz [--seconds N] [NAME]    run the fuzz targets, N seconds each
  needs                        what the tests need from this machine, and why
  peers                        install the clients of models that tests drive: Claude Code, Codex, opencode
"
    )
}

/// What this program does once it is in a private view of the machine. Not for people.
fn inside(arguments: &[String]) -> Result<()> {
    match arguments {
        [shared, job] if job == "test" => suite::run_inside(Path::new(shared)),
        [shared, job, line @ ..] if job == "run" => ordinary::command(Path::new(shared), line),
        _ => bail!("`inside` is how `--ordinary-user` starts itself"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn help_names_every_section() {
        assert!(super::help().contains(&super::bench::sections()));
    }
}
