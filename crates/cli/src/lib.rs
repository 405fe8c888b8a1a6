//! The command line: arguments in, text out.
//!
//! It knows [`api`] only, and decides nothing; besides, `ledger` to verify a receipt offline and
//! `corpus` to try the attack cases. It must never print but through its [`Console`], nor show text
//! that came from outside without making it harmless.

mod args;
mod ask;
mod commands;
mod console;
mod demo;
mod failure;
mod person;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use api::{Engine, Problem, exit};
use clap::{CommandFactory as _, FromArgMatches as _};
use rustix::event::{PollFd, PollFlags, Timespec};

pub use args::Cli;
pub use console::{Console, Paint, Stream, wants_colour};
pub use failure::Failure;

/// Makes the engine, for the commands that need one.
pub type Open<'a> = &'a dyn Fn() -> Result<Box<dyn Engine>, Problem>;

/// Runs the command line of this process on its own streams.
pub fn main(open: Open) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let (out, err, input) = (io::stdout(), io::stderr(), io::stdin());
    let (out_terminal, err_terminal) = (out.is_terminal(), err.is_terminal());
    let typed = input.is_terminal();
    let (mut out, mut err) = (BufWriter::new(out), err);
    let mut console = Console {
        out: Stream::new(&mut out, out_terminal, wants_colour(out_terminal, &variable)),
        err: Stream::new(&mut err, err_terminal, wants_colour(err_terminal, &variable)),
        input: &mut input.lock(),
        typed,
        comes: &comes,
        answers: typed && err_terminal,
        prompts: variable("TERM").is_some_and(|term| !term.is_empty() && term != "dumb"),
        columns: columns(&variable),
        now: names::system_clock(),
    };
    ExitCode::from(run(std::env::args_os(), &mut console, open))
}

/// Whether there is something to read on standard input within so long: bytes, or their end. What
/// can't be waited for is read.
fn comes(within: Duration) -> bool {
    let input = io::stdin();
    let mut input = [PollFd::new(&input, PollFlags::IN)];
    let Ok(within) = Timespec::try_from(within) else { return true };
    loop {
        match rustix::event::poll(&mut input, Some(&within)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.unwrap_or(1) > 0,
        }
    }
}

/// The width of the terminal, or 100 where there is none.
fn columns(variable: &dyn Fn(&str) -> Option<String>) -> usize {
    let told = || variable("COLUMNS").and_then(|text| text.parse().ok());
    let out = || rustix::termios::tcgetwinsize(io::stdout());
    let size = out().or_else(|_| rustix::termios::tcgetwinsize(io::stderr())).ok();
    size.map(|size| size.ws_col.into())
        .filter(|columns| *columns >= 40)
        .or_else(told)
        .unwrap_or(100)
}

/// Runs one command line; `arguments` begins with the program's name. Returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, console: &mut Console, open: Open) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match parse(&arguments, console.columns) {
        Ok(cli) => cli,
        Err(error) => {
            let shown = failure::show_usage(&error, console);
            return failure::settle(shown.map(|()| usage_code(&error, &arguments)), console);
        }
    };
    let json = cli.command.json();
    let result = commands::dispatch(cli.command, console, open);
    let result = result.and_then(|code| console.out.flush().map(|()| code).map_err(Failure::from));
    match result {
        Err(Failure::Problem(problem)) => {
            failure::settle(failure::show_problem(&problem, json, console), console)
        }
        other => failure::settle(other, console),
    }
}

fn parse(arguments: &[OsString], columns: usize) -> Result<Cli, clap::Error> {
    let table = Cli::command().term_width(columns.min(100));
    Cli::from_arg_matches(&table.try_get_matches_from(json_first(arguments))?)
}

/// The words of an action go on to the end of the line, so the `--json` after those of `policy
/// explain` would be one of them. After a `--` it is.
fn json_first(arguments: &[OsString]) -> Vec<OsString> {
    let mut words = arguments.to_vec();
    let explains = matches!(arguments, [_, policy, explain, .., json]
        if policy == "policy" && explain == "explain" && json == "--json");
    if explains && !words.iter().any(|word| word == "--") {
        words.splice(3..3, ["--json".into()]);
        words.pop();
    }
    words
}

/// 0 for help. A command line of `exec` that is wrong gives no code that the command could have given.
fn usage_code(error: &clap::Error, arguments: &[OsString]) -> u8 {
    match arguments.get(1) {
        _ if !error.use_stderr() => 0,
        Some(command) if command == "exec" => exit::UNSAFE,
        _ => exit::USAGE,
    }
}
