//! `loop completions` and `loop docs man`, both from the table in [`crate::args`].

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use api::{Problem, exit};
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::Done;
use crate::Cli;
use crate::args::{Docs, Shell};
use crate::console::Console;

pub(super) fn completions(shell: Shell, console: &mut Console) -> Done {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    // The generator panics when its writer fails, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "loop", &mut script);
    console.out.write_all(&script)?;
    Ok(0)
}

pub(super) fn docs(docs: &Docs) -> Done {
    let Docs::Man { dir } = docs;
    write_pages(dir).map_err(|error| {
        let what = format!("the man pages can't be written to {}: {error}", dir.display());
        Problem::new(exit::UNSAFE, what)
    })?;
    Ok(0)
}

fn write_pages(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, page) in pages()? {
        fs::write(dir.join(name), page)?;
    }
    Ok(())
}

/// A page a command: `loop.1`, `loop-exec.1`, `loop-policy-show.1`.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut table = Cli::command().disable_help_subcommand(true);
    table.build();
    let mut pages = Vec::new();
    push_pages(&table, "loop", &mut pages)?;
    Ok(pages)
}

fn push_pages(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    let listed = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for sub in listed.filter(|sub| sub.get_name() != "help") {
        push_pages(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let names: Vec<_> = pages().unwrap().into_iter().map(|(name, _)| name).collect();
        for name in ["loop.1", "loop-exec.1", "loop-receipt-verify.1", "loop-policy-explain.1"] {
            assert!(names.contains(&name.to_owned()), "{name} is missing in {names:?}");
        }
    }
}
