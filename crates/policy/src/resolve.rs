//! Several texts in, one authority out.
//!
//! The profile gives. The owner's configuration gives to every run, bounds what a project may add,
//! and its denials hold. A trusted project adds within those bounds, and no lease. Flags only make
//! stricter, but for `--lease`, which lends what the person set up themselves, `--publish`, which no
//! file can say, and `--agent`, which puts the built-in profile of an agent on top of the chosen one.
//! Single values that several layers state are as strict as the strictest. Nothing depends on the
//! order in which layers are read.

mod bounds;
mod checks;
mod merge;

use std::path::PathBuf;

use names::Span;
use serde::{Deserialize, Serialize};

use crate::authority::{Authority, Mode, Publication};
use crate::layers::{Chain, Library, Source};
use crate::problem::{ProfileError, ProfileErrors};
use crate::raw::{Raw, Surroundings};
use crate::read::Problems;
use crate::rule::{Layer, Origin};

pub use checks::Checked;
use merge::Layers;

/// Whether the person has trusted the content of a project's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It counts.
    Trusted,
    /// Nothing of it counts.
    Untrusted,
}

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--mode`.
    pub mode: Option<Mode>,
    /// `--env`, in order; the last value of a name counts.
    pub environment: Vec<(String, String)>,
    /// `--timeout`.
    pub wall: Option<Span>,
    /// `--lease`, the names of leases.
    pub leases: Vec<String>,
    /// `--agent`: the profile that is put on top of the one that was chosen.
    pub agent: Option<String>,
    /// The names of the leases that `--agent` brings along.
    pub agent_leases: Vec<String>,
    /// `--publish`.
    pub publish: Vec<Publication>,
}

/// Everything an authority is made from.
#[derive(Clone)]
pub struct Request<'a> {
    /// The profile's text, if it is given as a file; otherwise it is looked up by name.
    pub profile: Option<Source>,
    /// The profile's name; of a file, what to call it if it doesn't say.
    pub profile_name: String,
    /// The owner's configuration.
    pub owner: Option<Source>,
    /// The project's configuration.
    pub project: Option<(Source, Trust)>,
    /// The command line.
    pub flags: Flags,
    /// The home directory, absolute.
    pub home: PathBuf,
    /// The project directory, absolute.
    pub project_dir: PathBuf,
    /// Who the run is for.
    pub subject: String,
    /// Where other profiles are looked up.
    pub library: &'a dyn Library,
}

/// Something that a project's configuration says and that doesn't count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// The key, and where.
    pub origin: Origin,
    /// Why it doesn't count.
    pub why: String,
}

/// An authority, and what didn't go into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What the run may do.
    pub authority: Authority,
    /// What of the project's configuration doesn't count.
    pub ignored: Vec<Ignored>,
}

/// Resolves a request, and tries the self-tests of every text that counts.
pub fn resolve(request: Request<'_>) -> Result<Resolved, ProfileErrors> {
    let (resolved, checked) = resolve_untested(request)?;
    let failed = checked.iter().filter_map(Checked::failure).collect();
    ProfileErrors::of(failed).map_or(Ok(resolved), Err)
}

/// Tries the self-tests of every text that counts, and tells how each went.
pub fn check_expectations(request: Request<'_>) -> Result<Vec<Checked>, ProfileErrors> {
    resolve_untested(request).map(|(_, checked)| checked)
}

fn resolve_untested(request: Request<'_>) -> Result<(Resolved, Vec<Checked>), ProfileErrors> {
    let Request {
        profile,
        profile_name,
        owner,
        project,
        flags,
        home,
        project_dir,
        subject,
        library,
    } = request;
    let around = Surroundings { home: &home, project: &project_dir };
    let mut errors = Vec::new();
    let mut ignored = Vec::new();

    let mut read = |source: Source, layer| {
        let (raw, found) = Raw::read(&Source { layer, ..source }, around);
        errors.extend(found);
        raw
    };
    let pinned = read(Source::pinned(), Layer::Pinned);
    let owner = owner.map(|source| read(source, Layer::Owner));
    let project = match project {
        Some((source, Trust::Trusted)) => Some(read(source, Layer::Project)),
        Some((source, Trust::Untrusted)) => {
            ignored.extend(keys_of(&source));
            None
        }
        None => None,
    };
    let mut chain = Chain { library, around, errors: Vec::new() };
    let profiles = chain.read(profile, &profile_name, flags.agent.as_deref());
    errors.extend(chain.errors);

    let name = profiles.first().and_then(|raw| raw.name.as_ref());
    let name = name.map_or(profile_name, |name| name.value.clone());
    let layers = Layers { pinned: &pinned, owner: owner.as_ref(), project, library };
    let named = merge::inherit(&profiles, &mut errors);
    let run = merge::Run { profile: name, subject, project: project_dir.clone() };
    let (authority, own_ignored) =
        layers.merge(named.as_ref(), &profiles, &flags, run, &mut errors);
    ignored.extend(own_ignored);

    match ProfileErrors::of(errors) {
        Some(errors) => Err(errors),
        None => {
            let checked = checks::check(&layers, &profiles, &authority);
            Ok((Resolved { authority, ignored }, checked))
        }
    }
}

/// Every key of an untrusted file. It may be malformed, which is the file's own affair.
fn keys_of(source: &Source) -> Vec<Ignored> {
    let mut problems = Problems::new(&source.name);
    let document = crate::read::read(&source.text, Layer::Project, &mut problems);
    let why = "the project's configuration is not trusted";
    let ignored = |line, key: String| {
        let origin = Origin { source: source.name.clone(), line, key };
        Ignored { origin, why: why.to_owned() }
    };
    let mut keys = Vec::new();
    for entry in &document.entries {
        let section = entry.section.name;
        keys.extend(entry.rest().map(|(key, line)| ignored(line, format!("{section}.{key}"))));
    }
    let refused = |error: &ProfileError| ignored(error.origin.line, error.origin.key.clone());
    keys.extend(problems.errors.iter().map(refused));
    keys.sort_by_key(|ignored| ignored.origin.line);
    keys
}
