//! Contracts: which one a run is held to, what is wrong with one, and a draft of a new one.
//!
//! A file that is named is obeyed as a profile is; the project's own `.loop/contract.toml` counts
//! only if its content is trusted, as its configuration does.

mod draft;

use std::path::{Path, PathBuf};

use api::{ContractCheckRequest, ContractReport, Finding, Problem, exit};
use contract::{Contract, Fault};
use names::Digest;

use crate::configuration::{self, Reach};
use crate::project::Project;
use crate::settings::Settings;
use crate::trust;

pub(crate) use draft::propose;

/// The contract of a run: of `file`, or else of the project if it is trusted, and of the commands
/// that were given besides. `None` if there is neither.
///
/// # Errors
/// A file that is not there, or that somebody else could have written; everything that is wrong
/// with it.
pub fn of_request(
    settings: &Settings,
    project: &Project,
    file: Option<&Path>,
    commands: &[String],
) -> Result<Option<Contract>, Problem> {
    let contract = match file {
        Some(file) => Some(of_file(&settings.absolute(file))?),
        None => of_project(settings, project)?,
    };
    match (contract, commands) {
        (contract, []) => Ok(contract),
        (Some(contract), commands) => contract.and_commands(commands).map(Some).map_err(of_flag),
        (None, commands) => contract::of_commands(commands).map(Some).map_err(of_flag),
    }
}

/// The project's contract that counts for nothing because nobody trusts its content.
///
/// # Errors
/// When it can't be read.
pub fn untrusted(settings: &Settings, project: &Project) -> Result<Option<PathBuf>, Problem> {
    let untrusted = match own_text(settings, project)? {
        Some(text) => !trusts(settings, project, &text)?,
        None => false,
    };
    Ok(untrusted.then(|| project.contract_file()))
}

fn of_file(path: &Path) -> Result<Contract, Problem> {
    let Some(text) = configuration::read(path, Reach::EveryDirectory)? else {
        let what = format!("there is no contract {}", path.display());
        let next = "check the path, or draft one with `loop contract propose`";
        return Err(Problem::new(exit::NOT_FOUND, what).with_next(next));
    };
    of_text(&text, path)
}

fn of_project(settings: &Settings, project: &Project) -> Result<Option<Contract>, Problem> {
    match own_text(settings, project)? {
        Some(text) if trusts(settings, project, &text)? => {
            of_text(&text, &project.contract_file()).map(Some)
        }
        _ => Ok(None),
    }
}

fn trusts(settings: &Settings, project: &Project, text: &str) -> Result<bool, Problem> {
    let digest = Digest::of(text.as_bytes());
    Ok(trust::Record::load(settings)?.trusts_contract(&project.root, &digest))
}

/// The text of the project's contract.
///
/// # Errors
/// When it can't be read, or could have been written by somebody else.
pub(crate) fn own_text(settings: &Settings, project: &Project) -> Result<Option<String>, Problem> {
    if project.is_configured_by(&settings.owner_file()) {
        return Ok(None);
    }
    configuration::read(&project.contract_file(), Reach::ItsDirectory)
}

/// Reads a contract.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn of_text(text: &str, path: &Path) -> Result<Contract, Problem> {
    contract::read(text, &path.display().to_string()).map_err(|faults| {
        let count = faults.len();
        let many = if count == 1 { "a fault".to_owned() } else { format!("{count} faults") };
        let problem = Problem::new(exit::UNSAFE, format!("the contract has {many}"));
        let findings = faults.into_iter().map(finding).collect();
        Problem { findings, ..problem }
            .with_next("`loop contract check FILE` says so without a run")
    })
}

fn of_flag(fault: Fault) -> Problem {
    Problem::new(exit::USAGE, fault.to_string()).with_next(fault.next)
}

fn finding(fault: Fault) -> Finding {
    Finding {
        file: fault.source,
        line: fault.line,
        key: Some(fault.key).filter(|key| !key.is_empty()),
        what: fault.what,
        fix: Some(fault.next),
    }
}

/// `loop contract check`: everything that is wrong with a contract, and what it amounts to here.
///
/// # Errors
/// When the file can't be read.
pub(crate) fn check(
    settings: &Settings,
    request: &ContractCheckRequest,
) -> Result<ContractReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let file = match &request.file {
        Some(file) => settings.absolute(file),
        None => project.contract_file(),
    };
    let Some(text) = configuration::read(&file, Reach::ItsDirectory)? else {
        let what = format!("there is no contract {}", file.display());
        let next = "name one, or draft one with `loop contract propose`";
        return Err(Problem::new(exit::NOT_FOUND, what).with_next(next));
    };
    let report = ContractReport {
        file: file.clone(),
        digest: None,
        findings: Vec::new(),
        criteria: 0,
        checks: 0,
        notes: Vec::new(),
    };
    match contract::read(&text, &file.display().to_string()) {
        Ok(contract) => Ok(ContractReport {
            digest: Some(contract.digest()),
            criteria: contract.criteria.len() as u64,
            checks: contract.checks.len() as u64,
            notes: contract::notes(&contract, &|path| in_base(&project, path)),
            ..report
        }),
        Err(faults) => {
            Ok(ContractReport { findings: faults.into_iter().map(finding).collect(), ..report })
        }
    }
}

/// Whether the project has a file, or a link, of that path.
pub(crate) fn in_base(project: &Project, path: &str) -> bool {
    let found = project.root.join(path).symlink_metadata();
    found.is_ok_and(|found| !found.is_dir())
}
