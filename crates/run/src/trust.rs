//! Which content of a project's `.loop/config.toml` and `.loop/contract.toml` the person has seen
//! and trusts.
//!
//! The record lies in the person's configuration directory, which no run can mount. It is bound to
//! the project's path and to the digest of the content: another content is another question.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use api::{Problem, TrustDecision, TrustReport, TrustRequest, TrustState, TrustedFile, exit};
use names::{Digest, canonical};
use policy::{Flags, Resolved, Trust};
use serde::{Deserialize, Serialize};

use crate::authority::{Layers, profile_problem};
use crate::configuration::{self, Reach};
use crate::contract;
use crate::problem::OrProblem as _;
use crate::project::Project;
use crate::settings::Settings;
use crate::store::{self, StoreError};

/// The version of the record's form.
const SCHEMA: u32 = 1;

/// The record: for each project, the content that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    schema: u32,
    /// Configurations; paths in the form of [`api::text`].
    projects: BTreeMap<String, Digest>,
    /// Contracts, likewise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    contracts: BTreeMap<String, Digest>,
}

impl Record {
    /// Reads the record; an absent one trusts nothing.
    ///
    /// # Errors
    /// When it can't be read, is malformed, or somebody else could have written it.
    pub(crate) fn load(settings: &Settings) -> Result<Self, Problem> {
        let path = settings.trust_file();
        let Some(text) = configuration::read(&path, Reach::EveryDirectory)? else {
            return Ok(Self {
                schema: SCHEMA,
                projects: BTreeMap::new(),
                contracts: BTreeMap::new(),
            });
        };
        let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
        let record: Self = canonical::parse(text.as_bytes())
            .map_err(|error| malformed(error.to_string()))
            .or_problem()?;
        if record.schema != SCHEMA {
            return Err(malformed(format!("schema {} is not known", record.schema))).or_problem();
        }
        Ok(record)
    }

    /// Whether this content of a file of the project is trusted.
    pub(crate) fn trusts(&self, file: TrustedFile, project: &Path, content: &Digest) -> bool {
        self.of(file, project) == Some(content)
    }

    fn of(&self, file: TrustedFile, project: &Path) -> Option<&Digest> {
        match file {
            TrustedFile::Configuration => self.projects.get(&key(project)),
            TrustedFile::Contract => self.contracts.get(&key(project)),
        }
    }

    fn all_of(&mut self, file: TrustedFile) -> &mut BTreeMap<String, Digest> {
        match file {
            TrustedFile::Configuration => &mut self.projects,
            TrustedFile::Contract => &mut self.contracts,
        }
    }
}

fn key(project: &Path) -> String {
    api::text::encode(project.as_os_str())
}

/// Trusts this content of a file of the project, and no other.
///
/// # Errors
/// When the record can't be read or written.
pub(crate) fn remember(
    settings: &Settings,
    file: TrustedFile,
    project: &Path,
    content: Digest,
) -> Result<(), Problem> {
    change(settings, |record| {
        record.all_of(file).insert(key(project), content);
    })
}

/// Forgets what was trusted. Who trusts the configuration no more trusts nothing of the project.
fn forget(settings: &Settings, project: &Path, file: TrustedFile) -> Result<(), Problem> {
    change(settings, |record| {
        record.contracts.remove(&key(project));
        if file == TrustedFile::Configuration {
            record.projects.remove(&key(project));
        }
    })
}

/// Reads, changes and replaces the record, while no other process does.
fn change(settings: &Settings, edit: impl FnOnce(&mut Record)) -> Result<(), Problem> {
    let directory = &settings.homes.config;
    store::private(directory).or_problem()?;
    let _held = store::hold(directory).or_problem()?;
    let mut record = Record::load(settings)?;
    edit(&mut record);
    let path = settings.trust_file();
    let bytes = canonical::to_vec(&record)
        .map_err(|error| StoreError::Malformed { path: path.clone(), problem: error.to_string() })
        .or_problem()?;
    store::write_atomically(&path, &bytes).or_problem()
}

/// `loop trust`: looks at a project's configuration or contract, trusts it, or takes trust back.
pub(crate) fn trust(settings: &Settings, request: &TrustRequest) -> Result<TrustReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let file = request.file;
    match &request.decision {
        TrustDecision::Look => {}
        TrustDecision::Trust { seen } => trust_seen(settings, &project, file, *seen)?,
        TrustDecision::Forget => {
            forget(settings, &project.root, file)?;
            return report_without_keys(settings, &project, file);
        }
    }
    report(settings, &project, file)
}

fn path(project: &Project, file: TrustedFile) -> PathBuf {
    match file {
        TrustedFile::Configuration => project.config_file(),
        TrustedFile::Contract => project.contract_file(),
    }
}

fn trust_seen(
    settings: &Settings,
    project: &Project,
    file: TrustedFile,
    seen: Digest,
) -> Result<(), Problem> {
    let path = path(project, file);
    let Some(text) = text(settings, project, file)? else {
        let what = format!("there is no {}", path.display());
        let next = match file {
            TrustedFile::Configuration => "`loop init` makes one",
            TrustedFile::Contract => "`loop contract propose` drafts one",
        };
        return Err(Problem::new(exit::NOT_FOUND, what).with_next(next));
    };
    let found = Digest::of(text.as_bytes());
    if found != seen {
        let what = format!("{} changed since it was looked at", path.display());
        return Err(Problem::new(exit::UNSAFE, what).with_next("look at it again: `loop trust`"));
    }
    // A file that doesn't load would be refused at every run from now on.
    match file {
        TrustedFile::Configuration => drop(resolve_as(settings, project, Trust::Trusted)?),
        TrustedFile::Contract => drop(contract::of_text(&text, &path)?),
    }
    remember(settings, file, &project.root, seen)
}

/// The text of the project's file.
fn text(
    settings: &Settings,
    project: &Project,
    file: TrustedFile,
) -> Result<Option<String>, Problem> {
    match file {
        TrustedFile::Contract => contract::own_text(settings, project),
        TrustedFile::Configuration if project.is_configured_by(&settings.owner_file()) => Ok(None),
        TrustedFile::Configuration => {
            configuration::read(&project.config_file(), Reach::ItsDirectory)
        }
    }
}

fn report(
    settings: &Settings,
    project: &Project,
    file: TrustedFile,
) -> Result<TrustReport, Problem> {
    let report = report_without_keys(settings, project, file)?;
    let asks = match file {
        TrustedFile::Configuration if report.digest.is_some() => asks(settings, project)?,
        _ => Vec::new(),
    };
    Ok(TrustReport { asks, ..report })
}

fn report_without_keys(
    settings: &Settings,
    project: &Project,
    file: TrustedFile,
) -> Result<TrustReport, Problem> {
    let content = text(settings, project, file)?;
    let digest = content.as_ref().map(|content| Digest::of(content.as_bytes()));
    let record = Record::load(settings)?;
    let state = match (digest, record.of(file, &project.root)) {
        (None, _) => TrustState::Absent,
        (Some(_), None) => TrustState::Untrusted,
        (Some(found), Some(trusted)) if found == *trusted => TrustState::Trusted,
        (Some(_), Some(_)) => TrustState::Changed,
    };
    let path = path(project, file);
    Ok(TrustReport { path, state, digest, content: content.unwrap_or_default(), asks: Vec::new() })
}

/// The keys that trust would make apply: those that are ignored without it.
fn asks(settings: &Settings, project: &Project) -> Result<Vec<String>, Problem> {
    let resolved = resolve_as(settings, project, Trust::Untrusted)?;
    Ok(resolved.ignored.into_iter().map(|ignored| ignored.origin.key).collect())
}

fn resolve_as(settings: &Settings, project: &Project, trust: Trust) -> Result<Resolved, Problem> {
    let layers = Layers::read(settings, project, None)?.with_project(trust);
    policy::resolve(layers.request(settings, project, Flags::default()))
        .map_err(|errors| profile_problem(&errors))
}

/// Whether the project's configuration is there, and trusted as it is.
pub(crate) fn is_trusted(settings: &Settings, project: &Project) -> Result<bool, Problem> {
    let report = report_without_keys(settings, project, TrustedFile::Configuration)?;
    Ok(report.state == TrustState::Trusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn ask(world: &World, decision: TrustDecision) -> Result<TrustReport, Problem> {
        let file = TrustedFile::Configuration;
        trust(&world.settings, &TrustRequest { dir: None, file, decision })
    }

    fn look(world: &World) -> TrustReport {
        ask(world, TrustDecision::Look).unwrap()
    }

    #[test]
    fn trust_is_bound_to_the_content_and_can_be_taken_back() {
        let world = World::new();
        assert_eq!(look(&world).state, TrustState::Absent);
        world.file(".loop/config.toml", "[limits]\nprocesses = 3\n");
        let seen = look(&world);
        assert_eq!(seen.state, TrustState::Untrusted);
        assert_eq!(seen.asks, ["limits.processes"]);
        let trusted = ask(&world, TrustDecision::Trust { seen: seen.digest.unwrap() }).unwrap();
        assert_eq!(trusted.state, TrustState::Trusted);

        world.file(".loop/config.toml", "[limits]\nprocesses = 4\n");
        assert_eq!(look(&world).state, TrustState::Changed);
        let stale = ask(&world, TrustDecision::Trust { seen: seen.digest.unwrap() }).unwrap_err();
        assert_eq!(stale.code, exit::UNSAFE);
        assert_eq!(look(&world).state, TrustState::Changed);

        world.file(".loop/config.toml", "[limits]\nprocesses = 3\n");
        assert_eq!(look(&world).state, TrustState::Trusted);
        let forgotten = ask(&world, TrustDecision::Forget).unwrap();
        assert_eq!(forgotten.state, TrustState::Untrusted);
    }

    #[test]
    fn a_file_that_does_not_load_is_never_trusted_and_can_be_forgotten() {
        let world = World::new();
        world.file(".loop/config.toml", "[limits]\nnonsense = 3\n");
        let seen = look(&world).digest.unwrap();
        let problem = ask(&world, TrustDecision::Trust { seen }).unwrap_err();
        assert_eq!(problem.findings[0].key.as_deref(), Some("limits.nonsense"));
        assert_eq!(look(&world).state, TrustState::Untrusted);
        assert!(ask(&world, TrustDecision::Forget).is_ok());
    }

    #[test]
    fn one_projects_trust_is_no_others() {
        let world = World::new();
        world.file(".loop/config.toml", "");
        let digest = look(&world).digest.unwrap();
        ask(&world, TrustDecision::Trust { seen: digest }).unwrap();
        let other = world.project.with_file_name("other");
        world.write(&other.join(".loop/config.toml"), "");
        let (file, decision) = (TrustedFile::Configuration, TrustDecision::Look);
        let request = TrustRequest { dir: Some(other), file, decision };
        assert_eq!(trust(&world.settings, &request).unwrap().state, TrustState::Untrusted);
    }

    #[test]
    fn the_record_is_private_and_a_bad_one_is_named() {
        let world = World::new();
        world.file(".loop/config.toml", "");
        let digest = look(&world).digest.unwrap();
        ask(&world, TrustDecision::Trust { seen: digest }).unwrap();
        let path = world.settings.trust_file();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        for bad in
            ["", "{", "[]", r#"{"projects":{},"schema":2}"#, r#"{"projects":{"a":"b"},"schema":1}"#]
        {
            fs::write(&path, bad).unwrap();
            let problem = ask(&world, TrustDecision::Look).unwrap_err();
            assert_eq!(problem.code, exit::UNSAFE, "{bad}");
            assert!(problem.what.contains("trust.json"), "{bad}: {}", problem.what);
        }
    }
}
