//! From files, trust and flags to an authority: what is read, and what is refused before a run.

use std::path::Path;

use api::{Finding, Problem, TrustedFile, exit};
use names::Digest;
use policy::{
    Authority, Flags, Layer, LeaseTerms, Library, Origin, ProfileErrors, Request, Resolved, Source,
    Trust,
};

use crate::configuration::{self, Reach};
use crate::lease::Offer;
use crate::project::Project;
use crate::settings::Settings;
use crate::trust;

/// The profile where none is named.
const DEFAULT: &str = "offline";

/// Resolves what a run of `project` may do. `profile` is a name or, with a `/` in it or `.toml` at
/// its end, the path of a file.
///
/// # Errors
/// Everything that is wrong with the files, at once, each with file, line and key; a file that
/// somebody else could have written; a mount that isn't there.
pub(crate) fn resolve(
    settings: &Settings,
    project: &Project,
    profile: Option<&str>,
    flags: Flags,
) -> Result<Resolved, Problem> {
    resolve_offered(&Offer::kept(settings), settings, project, profile, flags)
}

/// The same, where other leases can be asked for than those the person keeps.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn resolve_offered(
    offer: &Offer,
    settings: &Settings,
    project: &Project,
    profile: Option<&str>,
    flags: Flags,
) -> Result<Resolved, Problem> {
    let layers = Layers::read(settings, project, profile.or(flags.agent.as_deref()))?;
    let resolved = layers.offering(offer).resolve(settings, project, flags)?;
    check_mounts(&resolved.authority)?;
    Ok(resolved)
}

/// The same for looking at a profile, where its mounts need not be there.
///
/// # Errors
/// As [`resolve`], but for the mounts.
pub(crate) fn resolve_without_mounts(
    settings: &Settings,
    project: &Project,
    profile: Option<&str>,
    flags: Flags,
) -> Result<Resolved, Problem> {
    Layers::read(settings, project, profile)?.resolve(settings, project, flags)
}

/// The files of a request, read.
pub(crate) struct Layers {
    profile: Option<Source>,
    name: String,
    owner: Option<Source>,
    project: Option<(Source, Trust)>,
    library: Profiles,
}

impl Layers {
    /// Reads them.
    ///
    /// # Errors
    /// When one of them can't be read, or could have been written by somebody else.
    pub(crate) fn read(
        settings: &Settings,
        project: &Project,
        profile: Option<&str>,
    ) -> Result<Self, Problem> {
        let library = Profiles { settings: settings.clone(), offer: Offer::kept(settings) };
        let named = profile.unwrap_or(DEFAULT);
        let (profile, name) = match is_path(named) {
            true => profile_file(settings, Path::new(named))?,
            false => (None, named.to_owned()),
        };
        let owner = source(&settings.owner_file(), Layer::Owner, Reach::EveryDirectory)?;
        let project = project_layer(settings, project)?;
        Ok(Self { profile, name, owner, project, library })
    }

    /// The same, with the project's file treated as if it were trusted, or not.
    pub(crate) fn with_project(mut self, trust: Trust) -> Self {
        self.project = self.project.map(|(source, _)| (source, trust));
        self
    }

    /// The same, with what can be lent.
    fn offering(mut self, offer: &Offer) -> Self {
        self.library.offer = offer.clone();
        self
    }

    fn resolve(
        &self,
        settings: &Settings,
        project: &Project,
        flags: Flags,
    ) -> Result<Resolved, Problem> {
        policy::resolve(self.request(settings, project, flags))
            .map_err(|errors| profile_problem(&errors))
    }

    /// The profile's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The request to the policy.
    pub(crate) fn request<'a>(
        &'a self,
        settings: &Settings,
        project: &Project,
        flags: Flags,
    ) -> Request<'a> {
        Request {
            profile: self.profile.clone(),
            profile_name: self.name.clone(),
            owner: self.owner.clone(),
            project: self.project.clone(),
            flags,
            home: settings.homes.home.clone(),
            project_dir: project.root.clone(),
            subject: settings.user.clone(),
            library: &self.library,
        }
    }
}

/// Whether `--profile` names a file rather than a profile.
fn is_path(profile: &str) -> bool {
    profile.contains('/') || profile.ends_with(".toml")
}

fn profile_file(settings: &Settings, path: &Path) -> Result<(Option<Source>, String), Problem> {
    let path = settings.absolute(path);
    let Some(source) = source(&path, Layer::Named, Reach::EveryDirectory)? else {
        let what = format!("there is no profile {}", path.display());
        return Err(Problem::new(exit::NOT_FOUND, what).with_next("check the path"));
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((Some(source), name))
}

/// The project's file, with what its content is trusted to say.
fn project_layer(
    settings: &Settings,
    project: &Project,
) -> Result<Option<(Source, Trust)>, Problem> {
    if project.is_configured_by(&settings.owner_file()) {
        return Ok(None);
    }
    let Some(source) = source(&project.config_file(), Layer::Project, Reach::ItsDirectory)? else {
        return Ok(None);
    };
    let digest = Digest::of(source.text.as_bytes());
    let trusted =
        trust::Record::load(settings)?.trusts(TrustedFile::Configuration, &project.root, &digest);
    Ok(Some((source, if trusted { Trust::Trusted } else { Trust::Untrusted })))
}

fn source(path: &Path, layer: Layer, reach: Reach) -> Result<Option<Source>, Problem> {
    let text = configuration::read(path, reach)?;
    Ok(text.map(|text| Source { layer, name: path.display().to_string(), text }))
}

/// The owner's profiles, `NAME.toml` in a directory, and the terms of their leases.
struct Profiles {
    settings: Settings,
    offer: Offer,
}

impl Library for Profiles {
    fn find(&self, name: &str) -> Result<Option<Source>, String> {
        let path = self.settings.profiles().join(format!("{name}.toml"));
        source(&path, Layer::Named, Reach::EveryDirectory).map_err(|problem| in_a_line(&problem))
    }

    fn lease(&self, name: &str) -> Result<Option<LeaseTerms>, String> {
        self.offer.terms(name).map_err(|problem| in_a_line(&problem))
    }
}

fn in_a_line(problem: &Problem) -> String {
    let each = problem.findings.iter();
    let findings: Vec<_> =
        each.map(|finding| format!("{}: {}", finding.file, finding.what)).collect();
    if findings.is_empty() { problem.what.clone() } else { findings.join("; ") }
}

/// A mount that isn't there makes a smaller view than the profile says, so it is an error.
fn check_mounts(authority: &Authority) -> Result<(), Problem> {
    let findings = missing_mounts(authority);
    if findings.is_empty() {
        return Ok(());
    }
    let what = format!("profile {} has a mount that can't be given", authority.profile);
    Err(Problem { findings, ..Problem::new(exit::UNSAFE, what) })
}

/// The mounts that can't be given on this machine.
pub(crate) fn missing_mounts(authority: &Authority) -> Vec<Finding> {
    let missing = authority.mounts.iter().filter_map(|mount| {
        let error = mount.path.metadata().err()?;
        let what = format!("{} can't be mounted: {error}", mount.path.display());
        let fix = format!("make it, or remove this mount from {}", mount.origin.source);
        Some(finding(&mount.origin, what, Some(fix)))
    });
    missing.collect()
}

/// What is wrong with profiles, for a client.
pub(crate) fn profile_problem(errors: &ProfileErrors) -> Problem {
    let count = errors.errors().len();
    let faults = if count == 1 { "a fault".to_owned() } else { format!("{count} faults") };
    let what = format!("the profile has {faults}");
    Problem { findings: findings(errors), ..Problem::new(exit::UNSAFE, what) }
}

/// Each fault of profiles.
pub(crate) fn findings(errors: &ProfileErrors) -> Vec<Finding> {
    let each = errors.errors().iter();
    each.map(|error| finding(&error.origin, error.problem.to_string(), Some(error.fix()))).collect()
}

fn finding(origin: &Origin, what: String, fix: Option<String>) -> Finding {
    Finding {
        file: origin.source.clone(),
        line: (origin.line > 0).then_some(origin.line),
        key: (!origin.key.is_empty()).then(|| origin.key.clone()),
        what,
        fix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn resolved(world: &World, profile: Option<&str>) -> Result<Resolved, Problem> {
        let project = world.settings.project(None).unwrap();
        resolve(&world.settings, &project, profile, Flags::default())
    }

    fn finding(world: &World, profile: Option<&str>) -> Finding {
        let problem = resolved(world, profile).unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE, "{problem:?}");
        problem.findings.into_iter().next().unwrap()
    }

    #[test]
    fn every_built_in_profile_resolves_on_an_empty_home() {
        let world = World::new();
        assert_eq!(resolved(&world, None).unwrap().authority.profile, "offline");
        for name in policy::built_in_names() {
            assert_eq!(resolved(&world, Some(name)).unwrap().authority.profile, name);
        }
    }

    #[test]
    fn a_named_profile_comes_from_the_library_and_a_path_from_its_file() {
        let world = World::new();
        let profile =
            "[profile]\nname = \"mine\"\nextends = \"offline\"\n[limits]\nprocesses = 7\n";
        world.write(&world.settings.profiles().join("mine.toml"), profile);
        world.file("here.toml", profile);
        for name in ["mine", "here.toml", "./here.toml"] {
            let authority = resolved(&world, Some(name)).unwrap().authority;
            assert_eq!((authority.profile.as_str(), authority.limits.processes), ("mine", Some(7)));
        }
        assert_eq!(resolved(&world, Some("no.toml")).unwrap_err().code, exit::NOT_FOUND);
        assert!(finding(&world, Some("ofline")).fix.unwrap().contains("offline"));
        assert!(finding(&world, Some("..")).what.contains("not a profile's name"));
    }

    #[test]
    fn every_fault_is_told_with_file_line_and_key() {
        let world = World::new();
        let owner = world.settings.owner_file();
        world.write(&owner, "[limits]\nmemroy = \"1GiB\"\ncpus = \"two\"\n[nonsense]\n");
        let problem = resolved(&world, None).unwrap_err();
        let told: Vec<_> = problem
            .findings
            .iter()
            .map(|finding| (finding.line.unwrap(), finding.key.clone().unwrap()))
            .collect();
        let expected = [(2, "limits.memroy"), (3, "limits.cpus"), (4, "nonsense")]
            .map(|(l, k)| (l, k.to_owned()));
        assert_eq!(told, expected);
        assert!(problem.findings.iter().all(|f| f.file == owner.display().to_string()));
        assert_eq!(problem.what, "the profile has 3 faults");
    }

    #[test]
    fn a_mount_that_is_not_there_names_its_key() {
        let world = World::new();
        let absent = world.project.join("absent");
        let text = format!("[[mount]]\npath = \"{}\"\n", absent.display());
        world.write(&world.settings.owner_file(), &text);
        let found = finding(&world, None);
        assert_eq!(found.file, world.settings.owner_file().display().to_string());
        assert_eq!(found.line, Some(2));
        assert!(found.key.unwrap().starts_with("mount"));
        fs::create_dir(absent).unwrap();
        assert_eq!(resolved(&world, None).unwrap().authority.mounts.len(), 1);
    }

    #[test]
    fn a_file_that_others_could_write_is_refused_and_not_left_out() {
        let world = World::new();
        let profile = world.settings.profiles().join("mine.toml");
        for (file, name) in [(world.settings.owner_file(), None), (profile.clone(), Some("mine"))] {
            world.write(&file, "");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
            assert!(finding(&world, name).what.contains("everybody may write"), "{name:?}");
            fs::remove_file(file).unwrap();
        }
        let project = world.project.join(".loop/config.toml");
        world.file(".loop/config.toml", "");
        fs::set_permissions(project.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(finding(&world, None).what.contains("everybody may replace"));
    }

    #[test]
    fn an_untrusted_project_changes_nothing() {
        let world = World::new();
        world.file(
            ".loop/config.toml",
            "[limits]\nprocesses = 3\n\n[[mount]]\npath = \"/nowhere\"\n",
        );
        let resolved = resolved(&world, None).unwrap();
        assert_eq!(resolved.authority.limits.processes, Some(4096));
        let keys: Vec<_> = resolved.ignored.iter().map(|i| i.origin.key.as_str()).collect();
        assert_eq!(keys, ["limits.processes", "mount.path"]);
    }

    #[test]
    fn the_home_as_project_is_not_configured_twice() {
        let world = World::new();
        world.write(&world.settings.owner_file(), "[limits]\nprocesses = 9\n");
        let home = world.settings.project(Some(&world.settings.homes.home)).unwrap();
        let resolved = resolve(&world.settings, &home, None, Flags::default()).unwrap();
        assert_eq!(resolved.authority.limits.processes, Some(9));
        assert!(resolved.ignored.is_empty());
    }
}
