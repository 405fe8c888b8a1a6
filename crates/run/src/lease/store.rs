//! What is kept of a lease: `leases/NAME.json` in the person's configuration directory, which no
//! run can mount. A reference to the value, never the value.

use std::fs;
use std::io;
use std::path::PathBuf;

use api::{LeaseView, Problem, exit};
use names::{Timestamp, canonical};
use policy::LeaseTerms;
use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::configuration::{self, Reach};
use crate::problem::OrProblem as _;
use crate::settings::Settings;
use crate::store::{self, StoreError};

/// The version of the file's form.
pub(super) const SCHEMA: u32 = 1;

/// One lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stored {
    pub(super) schema: u32,
    pub(super) name: String,
    pub(super) terms: LeaseTerms,
    pub(crate) source: Source,
    pub(super) added: Timestamp,
}

impl Stored {
    pub(super) fn view(&self, now: Timestamp) -> LeaseView {
        LeaseView {
            name: self.name.clone(),
            destination: self.terms.target.to_string(),
            header: self.terms.carrier.to_string(),
            env: self.terms.variable.clone(),
            from: self.source.to_string(),
            added: self.added,
            until: self.terms.until,
            expired: self.terms.until.is_some_and(|until| now >= until),
        }
    }
}

/// The name, if it can be one: it stands in a path.
pub(super) fn name(text: &str) -> Result<String, Problem> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-') {
        return Ok(text.to_owned());
    }
    let what = format!("`{}` is not a lease's name", names::printable(text.as_bytes()));
    Err(Problem::new(exit::USAGE, what).with_next("use a-z, 0-9 and hyphens, at most 64"))
}

/// What tells one lease from the next of its name.
pub(super) fn fresh_id() -> Result<String, Problem> {
    let random = random()?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn random() -> Result<[u8; 16], Problem> {
    let mut random = [0; 16];
    // Up to 256 bytes come whole, once the kernel has them: getrandom(2).
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| store::at("getrandom".as_ref())(error.into()))
        .or_problem()?;
    Ok(random)
}

fn directory(settings: &Settings) -> PathBuf {
    settings.homes.config.join("leases")
}

fn file(settings: &Settings, name: &str) -> PathBuf {
    directory(settings).join(format!("{name}.json"))
}

/// Keeps a lease under its name, which must be free.
pub(super) fn add(settings: &Settings, stored: &Stored) -> Result<(), Problem> {
    let directory = directory(settings);
    store::private(&directory).or_problem()?;
    let _held = store::hold(&directory).or_problem()?;
    if find(settings, &stored.name)?.is_some() {
        let what = format!("there is a lease {} already", stored.name);
        let next = format!("loop lease revoke {}", stored.name);
        return Err(Problem::new(exit::UNSAFE, what).with_next(next));
    }
    let path = file(settings, &stored.name);
    let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
    let bytes =
        canonical::to_vec(stored).map_err(|error| malformed(error.to_string())).or_problem()?;
    store::write_atomically(&path, &bytes).or_problem()
}

/// Forgets a lease.
pub(super) fn remove(settings: &Settings, text: &str) -> Result<Stored, Problem> {
    let name = name(text)?;
    let stored = find(settings, &name)?.ok_or_else(|| absent(&name))?;
    let path = file(settings, &name);
    fs::remove_file(&path).map_err(store::at(&path)).or_problem()?;
    Ok(stored)
}

fn absent(name: &str) -> Problem {
    Problem::new(exit::NOT_FOUND, format!("there is no lease {name}"))
        .with_next("`loop lease list` lists them")
}

/// The lease of this name.
pub(super) fn find(settings: &Settings, name: &str) -> Result<Option<Stored>, Problem> {
    let path = file(settings, name);
    let Some(text) = configuration::read(&path, Reach::EveryDirectory)? else { return Ok(None) };
    let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
    let stored: Stored = canonical::parse(text.as_bytes())
        .map_err(|error| malformed(error.to_string()))
        .or_problem()?;
    if stored.schema != SCHEMA || stored.name != name {
        let problem = format!("it is lease {} of schema {}", stored.name, stored.schema);
        return Err(malformed(problem)).or_problem();
    }
    Ok(Some(stored))
}

/// The terms of the lease of this name that the person keeps.
pub(crate) fn terms(settings: &Settings, name: &str) -> Result<Option<LeaseTerms>, Problem> {
    Ok(find(settings, name)?.map(|stored| stored.terms))
}

/// Every lease, by name.
pub(super) fn all(settings: &Settings) -> Result<Vec<Stored>, Problem> {
    let directory = directory(settings);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(store::at(&directory)(error)).or_problem(),
    };
    let names = entries.flatten().filter_map(|entry| {
        let file = entry.file_name().into_string().ok()?;
        file.strip_suffix(".json").map(str::to_owned)
    });
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.iter().filter_map(|name| find(settings, name).transpose()).collect()
}
