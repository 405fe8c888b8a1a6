//! Which contract a run has: a file that was named, the project's own, commands on the line.

use std::path::Path;

use api::{Finding, Problem, exit};
use contract::{Contract, Fault};
use names::Digest;

use crate::configuration::{self, Reach};
use crate::project::Project;
use crate::settings::Settings;
use crate::trust;

/// The contract in `file`, with a criterion more for each of `commands`; none if there is neither.
///
/// # Errors
/// Everything that is wrong with it, each fault with its place and what to do.
pub(crate) fn asked(
    settings: &Settings,
    file: Option<&Path>,
    commands: &[String],
) -> Result<Option<Contract>, Problem> {
    let Some(path) = file else { return of_commands(commands) };
    let path = settings.absolute(path);
    let Some(text) = configuration::read(&path, Reach::ItsDirectory)? else {
        let what = format!("there is no contract {}", path.display());
        return Err(Problem::new(exit::NOT_FOUND, what).with_next("check the path"));
    };
    with_commands(read(&text, &path)?, commands).map(Some)
}

/// The same, where the project's own contract counts if no file is named. One that is there and
/// not trusted is told instead.
///
/// # Errors
/// As [`asked`].
pub(crate) fn projects(
    settings: &Settings,
    project: &Project,
    file: Option<&Path>,
    commands: &[String],
) -> Result<(Option<Contract>, Option<String>), Problem> {
    if file.is_some() {
        return asked(settings, file, commands).map(|contract| (contract, None));
    }
    let path = project.contract_file();
    let Some(text) = configuration::read(&path, Reach::ItsDirectory)? else {
        return of_commands(commands).map(|contract| (contract, None));
    };
    if !trust::trusts_contract(settings, project, &Digest::of(text.as_bytes()))? {
        let note = format!(
            "{} is not trusted, so nothing of it was checked; see `loop trust`",
            path.display()
        );
        return of_commands(commands).map(|contract| (contract, Some(note)));
    }
    with_commands(read(&text, &path)?, commands).map(|contract| (Some(contract), None))
}

fn read(text: &str, path: &Path) -> Result<Contract, Problem> {
    contract::read(text, &path.display().to_string()).map_err(|faults| problem(&faults))
}

fn of_commands(commands: &[String]) -> Result<Option<Contract>, Problem> {
    if commands.is_empty() {
        return Ok(None);
    }
    contract::of_commands(commands).map(Some).map_err(|fault| problem(&[fault]))
}

fn with_commands(contract: Contract, commands: &[String]) -> Result<Contract, Problem> {
    contract.and_commands(commands).map_err(|fault| problem(&[fault]))
}

/// What is wrong with a contract.
fn problem(faults: &[Fault]) -> Problem {
    let number = match faults.len() {
        1 => "a fault".to_owned(),
        several => format!("{several} faults"),
    };
    let findings = faults.iter().map(|fault| Finding {
        file: fault.source.clone(),
        line: fault.line,
        key: Some(fault.key.clone()).filter(|key| !key.is_empty()),
        what: fault.what.clone(),
        fix: Some(fault.next.clone()).filter(|next| !next.is_empty()),
    });
    let findings = findings.collect();
    Problem { findings, ..Problem::new(exit::UNSAFE, format!("the contract has {number}")) }
}
