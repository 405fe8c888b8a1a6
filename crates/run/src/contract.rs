//! Contracts: which one a run is held to, what is wrong with one, and a draft of a new one.
//!
//! A file that is named is obeyed as a profile is; the project's own `.loop/contract.toml` counts
//! only if its content is trusted, as its configuration does.

mod draft;

use std::path::{Path, PathBuf};

use api::{ContractCheckRequest, ContractReport, Finding, Problem, TrustedFile, exit};
use contract::{Contract, Fault};
use names::Digest;

use crate::configuration::{self, Reach};
use crate::project::Project;
use crate::settings::Settings;
use crate::trust;

pub(crate) use draft::propose;

/// The contract that a run is held to.
#[derive(Debug)]
pub struct Found {
    /// What it says.
    pub contract: Contract,
    /// The project's own file, if it is from there: then nobody has named it.
    pub own: Option<PathBuf>,
}

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
) -> Result<Option<Found>, Problem> {
    let read = match file {
        Some(file) => Some(of_file(&settings.absolute(file))?),
        None => of_project(settings, project)?,
    };
    let own = (file.is_none() && read.is_some()).then(|| project.contract_file());
    let contract = match (read, commands) {
        (contract, []) => contract,
        (Some(contract), commands) => Some(contract.and_commands(commands).map_err(of_flag)?),
        (None, commands) => Some(contract::of_commands(commands).map_err(of_flag)?),
    };
    Ok(contract.map(|contract| Found { contract, own }))
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

/// The same, told to the person, if no other `file` was named.
pub(crate) fn not_counted(
    settings: &Settings,
    project: &Project,
    file: Option<&Path>,
) -> Result<Option<String>, Problem> {
    let untrusted = if file.is_none() { untrusted(settings, project)? } else { None };
    Ok(untrusted.map(|file| {
        let file = file.display();
        format!("{file} is not trusted, so it does not count; see `loop trust --contract`")
    }))
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
    Ok(trust::Record::load(settings)?.trusts(TrustedFile::Contract, &project.root, &digest))
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
        Problem { findings, ..problem }.with_next(format!(
            "`loop contract check {}` reads it and runs nothing",
            path.display()
        ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use api::{ContractProposeRequest, TrustDecision, TrustRequest, TrustState, TrustedFile};

    const CHECK: &str = "[[check]]\nname = \"test\"\nrun = \"true\"\nexpect = { exit = 0 }\n";

    fn wanted(
        world: &World,
        file: Option<&str>,
        commands: &[&str],
    ) -> Result<Option<Contract>, Problem> {
        found(world, file, commands).map(|found| found.map(|found| found.contract))
    }

    fn found(
        world: &World,
        file: Option<&str>,
        commands: &[&str],
    ) -> Result<Option<Found>, Problem> {
        let project = world.settings.project(None).unwrap();
        let commands: Vec<String> = commands.iter().map(ToString::to_string).collect();
        of_request(&world.settings, &project, file.map(Path::new), &commands)
    }

    fn trust(world: &World, file: TrustedFile, decision: TrustDecision) -> api::TrustReport {
        trust::trust(&world.settings, &TrustRequest { dir: None, file, decision }).unwrap()
    }

    fn trust_contract(world: &World) {
        let seen = trust(world, TrustedFile::Contract, TrustDecision::Look).digest.unwrap();
        trust(world, TrustedFile::Contract, TrustDecision::Trust { seen });
    }

    fn checks(contract: Option<Contract>) -> Vec<String> {
        contract.unwrap().checks.into_iter().map(|check| check.name).collect()
    }

    #[test]
    fn a_file_that_is_named_and_commands_make_one_contract() {
        let world = World::new();
        world.file("c.toml", CHECK);
        assert_eq!(wanted(&world, None, &[]).unwrap(), None);
        assert_eq!(checks(wanted(&world, Some("c.toml"), &["make"]).unwrap()), ["test", "make"]);
        assert_eq!(checks(wanted(&world, None, &["make"]).unwrap()), ["make"]);
        assert_eq!(wanted(&world, Some("none.toml"), &[]).unwrap_err().code, exit::NOT_FOUND);
        assert_eq!(wanted(&world, None, &[""]).unwrap_err().code, exit::USAGE);
        world.file("c.toml", "[[check]]\nname = \"a\"\nrn = \"x\"\n");
        let problem = wanted(&world, Some("c.toml"), &[]).unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE);
        let keys: Vec<_> = problem.findings.iter().filter_map(|one| one.key.clone()).collect();
        assert_eq!(keys, ["check.run", "check.expect", "check.rn"]);
    }

    #[test]
    fn the_projects_own_counts_once_its_content_is_trusted() {
        let world = World::new();
        let project = world.settings.project(None).unwrap();
        let file = ".loop/contract.toml";
        assert_eq!(untrusted(&world.settings, &project).unwrap(), None);
        world.file(file, CHECK);
        assert_eq!(wanted(&world, None, &[]).unwrap(), None);
        assert_eq!(untrusted(&world.settings, &project).unwrap(), Some(world.project.join(file)));
        trust_contract(&world);
        assert_eq!(checks(wanted(&world, None, &[]).unwrap()), ["test"]);
        assert_eq!(untrusted(&world.settings, &project).unwrap(), None);
        // Which one it is has to be told only where nobody has named it.
        let own = |file| found(&world, file, &["make"]).unwrap().unwrap().own;
        assert_eq!((own(None), own(Some(file))), (Some(world.project.join(file)), None));
        // Changed content asks again.
        world.file(file, &CHECK.replace("true", "false"));
        assert_eq!(wanted(&world, None, &[]).unwrap(), None);
        let look = || trust(&world, TrustedFile::Contract, TrustDecision::Look).state;
        assert_eq!(look(), TrustState::Changed);
        world.file(file, CHECK);
        assert_eq!(look(), TrustState::Trusted);
        // The configuration's trust is another; who takes it back takes both.
        trust(&world, TrustedFile::Configuration, TrustDecision::Forget);
        assert_eq!(look(), TrustState::Untrusted);
    }

    #[test]
    fn the_trust_of_one_file_is_not_that_of_the_other() {
        let world = World::new();
        world.file(".loop/config.toml", "");
        world.file(".loop/contract.toml", CHECK);
        trust_contract(&world);
        let look = |file| trust(&world, file, TrustDecision::Look).state;
        assert_eq!(look(TrustedFile::Configuration), TrustState::Untrusted);
        let seen = trust(&world, TrustedFile::Configuration, TrustDecision::Look).digest.unwrap();
        trust(&world, TrustedFile::Configuration, TrustDecision::Trust { seen });
        trust(&world, TrustedFile::Contract, TrustDecision::Forget);
        assert_eq!(look(TrustedFile::Configuration), TrustState::Trusted);
        assert_eq!(look(TrustedFile::Contract), TrustState::Untrusted);
    }

    #[test]
    fn a_contract_that_does_not_load_is_never_trusted() {
        let world = World::new();
        world.file(".loop/contract.toml", "rounds = 3\n");
        let file = TrustedFile::Contract;
        let seen = trust(&world, file, TrustDecision::Look).digest.unwrap();
        let decision = TrustDecision::Trust { seen };
        let request = TrustRequest { dir: None, file, decision };
        assert_eq!(trust::trust(&world.settings, &request).unwrap_err().findings.len(), 1);
    }

    #[test]
    fn a_check_tells_faults_and_notes_as_its_answer() {
        let world = World::new();
        let told = |file: Option<&str>| {
            let request = ContractCheckRequest { file: file.map(PathBuf::from), dir: None };
            check(&world.settings, &request)
        };
        assert_eq!(told(None).unwrap_err().code, exit::NOT_FOUND);
        world.file(".loop/contract.toml", CHECK);
        let good = told(None).unwrap();
        assert_eq!((good.criteria, good.checks, good.findings.len()), (1, 1, 0));
        assert!(good.digest.is_some() && good.notes.is_empty());
        world.file("solve.py", "");
        world.file("c.toml", &CHECK.replace("true", "python3 solve.py"));
        assert_eq!(told(Some("c.toml")).unwrap().notes.len(), 1);
        world.file("c.toml", "x = 1\n");
        let bad = told(Some("c.toml")).unwrap();
        assert_eq!((bad.digest, bad.findings.len()), (None, 2));
    }

    #[test]
    fn a_draft_is_made_of_the_projects_files_and_obeys_none() {
        let world = World::new();
        world.file("Cargo.toml", "[package]\n");
        world.file("node_modules/x/package.json", r#"{"scripts":{"test":"x"}}"#);
        std::os::unix::fs::symlink("/etc/passwd", world.project.join("package.json")).unwrap();
        let request = ContractProposeRequest { task: "do it".to_owned(), dir: None };
        let draft = propose(&world.settings, &request).unwrap();
        let commands: Vec<_> = draft.checks.iter().map(|check| check.command.as_str()).collect();
        assert_eq!(commands, ["cargo test", "cargo clippy --all-targets -- -D warnings"]);
        assert!(!draft.partial);
        world.file("draft.toml", &draft.text);
        assert_eq!(checks(wanted(&world, Some("draft.toml"), &[]).unwrap()), ["test"]);
        assert!(!world.project.join(".loop").exists());
    }
}
