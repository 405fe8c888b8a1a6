//! The layers of one request, merged.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::bounds::Bounds;
use super::{Flags, Ignored};
use crate::action::{Action, Kind, MountPath};
use crate::authority::{
    AskLimits, Authority, ClassDefault, Environment, Grants, LayerDigest, Limits, Mode, Mount,
    Publication, SCHEMA, name_covers,
};
use crate::layers::Library;
use crate::lease::{LeaseGrant, Narrowed};
use crate::problem::{Problem, ProfileError};
use crate::raw::{Raw, RawLimits, Stated, is_id, value_fault};
use crate::rule::{Layer, NetworkGrant, Origin, Outcome, Rule, Target};

/// The layers besides the profile.
pub(super) struct Layers<'a> {
    pub(super) pinned: &'a Raw,
    pub(super) owner: Option<&'a Raw>,
    /// The project's, if it is trusted.
    pub(super) project: Option<Raw>,
    /// Where the terms of leases are.
    pub(super) library: &'a dyn Library,
}

/// What an authority says besides what files say.
pub(super) struct Run {
    pub(super) profile: String,
    pub(super) subject: String,
    pub(super) project: PathBuf,
}

/// The profiles that extend each other, as one. The chosen one comes first.
pub(super) fn inherit(profiles: &[Raw], errors: &mut Vec<ProfileError>) -> Option<Raw> {
    let mut from_root = profiles.iter().rev();
    let root = from_root.next()?.clone();
    let merged = from_root.fold(root, |base, raw| raw.clone().extending(&base));
    if profiles.len() > 1 {
        errors.extend(merged.contradictions());
    }
    Some(merged)
}

impl Layers<'_> {
    /// Merges everything. With errors the authority is of no use but to find more of them.
    pub(super) fn merge(
        &self,
        named: Option<&Raw>,
        profiles: &[Raw],
        flags: &Flags,
        run: Run,
        errors: &mut Vec<ProfileError>,
    ) -> (Authority, Vec<Ignored>) {
        let mut bounds = Bounds::new(self.owner);
        let project = self.project.as_ref().map(|raw| bounds.bound(raw));
        let given =
            Given { pinned: self.pinned, owner: self.owner, named, project: project.as_ref() };
        let mode = given.mode(flags, &mut bounds, errors);
        let mut rules = given.rules();
        rules.sort_by(|one, other| {
            place(one.layer, &one.origin).cmp(&place(other.layer, &other.origin))
        });
        let limits = given.limits(flags, &mut bounds, errors);
        let leases = given.leases(flags, self.library, errors);
        let mut authority = Authority {
            schema: SCHEMA,
            profile: run.profile,
            subject: run.subject,
            project: run.project,
            mode,
            mounts: Vec::new(),
            environment: given.environment(flags, &mut bounds, errors),
            limits,
            approvals: given.approvals(),
            network: given.network(&leases),
            leases,
            publish: published(flags),
            rules,
            defaults: given.defaults(errors),
            grants: given.grants(&mut bounds),
            layers: self.digests(profiles),
            compiled: Default::default(),
        };
        authority.mounts = given.mounts(&authority, &mut bounds, errors);
        let mut ignored = bounds.ignored;
        ignored.sort_by(|one, other| one.origin.cmp(&other.origin));
        (authority, ignored)
    }

    fn digests(&self, profiles: &[Raw]) -> Vec<LayerDigest> {
        let first = [Some(self.pinned), self.owner];
        let raws = first.into_iter().flatten().chain(profiles).chain(&self.project);
        raws.map(|raw| raw.digest.clone()).collect()
    }
}

fn place(layer: Layer, origin: &Origin) -> (Layer, &str, u32, &str) {
    (layer, &origin.source, origin.line, &origin.key)
}

/// What each layer gives; of the project, what is within bounds.
struct Given<'a> {
    pinned: &'a Raw,
    owner: Option<&'a Raw>,
    named: Option<&'a Raw>,
    project: Option<&'a Raw>,
}

impl<'a> Given<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Raw> {
        [Some(self.pinned), self.owner, self.named, self.project].into_iter().flatten()
    }

    /// All but the project, whose wishes are compared with theirs.
    fn bounding(&self) -> impl Iterator<Item = &'a Raw> {
        [Some(self.pinned), self.owner, self.named].into_iter().flatten()
    }

    /// Where no profile states a mode, the person chooses it.
    fn mode(&self, flags: &Flags, bounds: &mut Bounds<'_>, errors: &mut Vec<ProfileError>) -> Mode {
        let stated = self.bounding().filter_map(|raw| raw.mode.as_ref());
        let held = stated.min_by_key(|mode| mode.value);
        let mut mode = held.map_or(Mode::Overlay, |mode| mode.value);
        if let Some(wish) = self.project.and_then(|raw| raw.mode.as_ref()) {
            if wish.value > mode {
                bounds.ignore(&wish.origin, format!("the profile leaves no more than {mode}"));
            }
            mode = mode.min(wish.value);
        }
        let Some(flag) = flags.mode else { return mode };
        let Some(held) = held else { return flag };
        if flag > mode {
            let by = Some(held.origin.clone());
            errors.push(flag_widens("--mode", flag.to_string(), mode.to_string(), by));
        }
        mode.min(flag)
    }

    fn limits(
        &self,
        flags: &Flags,
        bounds: &mut Bounds<'_>,
        errors: &mut Vec<ProfileError>,
    ) -> Limits {
        let mut limits = Limits {
            memory: self.limit(bounds, |limits| &limits.memory),
            cpus: self.limit(bounds, |limits| &limits.cpus),
            processes: self.limit(bounds, |limits| &limits.processes),
            disk: self.limit(bounds, |limits| &limits.disk),
            wall: self.limit(bounds, |limits| &limits.wall),
            output: self.limit(bounds, |limits| &limits.output),
            steps: self.limit(bounds, |limits| &limits.steps),
            tokens: self.limit(bounds, |limits| &limits.tokens),
            money: self.limit(bounds, |limits| &limits.money),
        };
        let Some(flag) = flags.wall else { return limits };
        if let Some(wall) = limits.wall.filter(|wall| flag > *wall) {
            let stated = self.all().filter_map(|raw| raw.limits.wall.as_ref());
            let by = stated.min_by_key(|stated| stated.value).map(|stated| stated.origin.clone());
            errors.push(flag_widens("--timeout", flag.to_string(), wall.to_string(), by));
        }
        if flag.as_millis() == 0 {
            let (given, least) = (flag.to_string(), "1ms".to_owned());
            let problem = Problem::OutOfRange { given, least, most: "any time".to_owned() };
            errors.push(ProfileError { origin: Origin::flag("--timeout"), problem });
        }
        limits.wall = Some(limits.wall.map_or(flag, |wall| wall.min(flag)));
        limits
    }

    fn limit<T: Copy + Ord + ToString + 'a>(
        &self,
        bounds: &mut Bounds<'_>,
        of: fn(&RawLimits) -> &Option<Stated<T>>,
    ) -> Option<T> {
        let stated = self.bounding().filter_map(|raw| of(&raw.limits).as_ref());
        let held = stated.map(|stated| stated.value).min();
        let wish = self.project.and_then(|raw| of(&raw.limits).as_ref());
        match (held, wish) {
            (Some(held), Some(wish)) if wish.value > held => {
                let why = format!("the profile leaves no more than {}", held.to_string());
                bounds.ignore(&wish.origin, why);
                Some(held)
            }
            (held, None) => held,
            (_, Some(wish)) => Some(wish.value),
        }
    }

    /// The owner's, because no other file can have them.
    fn approvals(&self) -> AskLimits {
        let default = AskLimits::default();
        let Some(stated) = self.owner.map(|raw| &raw.approvals) else { return default };
        let number = |stated: &Option<Stated<u32>>| stated.as_ref().map(|stated| stated.value);
        AskLimits {
            timeout: stated.timeout.as_ref().map_or(default.timeout, |stated| stated.value),
            max_waiting: number(&stated.max_waiting).unwrap_or(default.max_waiting),
            max_per_minute: number(&stated.max_per_minute).unwrap_or(default.max_per_minute),
        }
    }

    fn rules(&self) -> Vec<Rule> {
        let pushes = |raw: &'a Raw| raw.push.iter().flatten();
        self.all().flat_map(|raw| raw.rules.iter().chain(pushes(raw))).cloned().collect()
    }

    /// What files list, and the destinations of leases.
    fn network(&self, leases: &[LeaseGrant]) -> Vec<NetworkGrant> {
        let mut grants: Vec<_> =
            self.all().flat_map(|raw| raw.network.iter().flatten()).cloned().collect();
        let lent: Vec<_> = leases.iter().map(|lease| lease.network(&grants)).collect();
        grants.extend(lent);
        grants.sort_by(|one, other| {
            place(one.layer, &one.origin).cmp(&place(other.layer, &other.origin))
        });
        grants
    }

    /// What the profile, the owner's configuration and the flags ask for. What each says of one
    /// name narrows it further.
    fn leases(
        &self,
        flags: &Flags,
        library: &dyn Library,
        errors: &mut Vec<ProfileError>,
    ) -> Vec<LeaseGrant> {
        let by = |flag: &'static str| {
            move |name: &String| Narrowed::whole(name, Layer::Flags, Origin::flag(flag))
        };
        let flagged = flags.agent_leases.iter().map(by("--agent"));
        let flagged = flagged.chain(flags.leases.iter().map(by("--lease")));
        let files = [self.named, self.owner].into_iter().flatten();
        let asked = files.flat_map(|raw| raw.leases.iter().flatten().cloned());
        let mut leases: BTreeMap<String, LeaseGrant> = BTreeMap::new();
        for wish in asked.chain(flagged) {
            let lease = match leases.get(&wish.name) {
                Some(held) => wish.narrowing(held).ok_or_else(|| widens(&held.name, &held.target)),
                None => lease(&wish, library),
            };
            match lease {
                Ok(lease) => {
                    leases.insert(wish.name, lease);
                }
                Err(problem) => errors.push(ProfileError { origin: wish.origin, problem }),
            }
        }
        let leases: Vec<_> = leases.into_values().collect();
        errors.extend(shared_variables(&leases));
        leases
    }

    fn defaults(&self, errors: &mut Vec<ProfileError>) -> BTreeMap<Kind, ClassDefault> {
        let mut defaults: BTreeMap<Kind, ClassDefault> = BTreeMap::new();
        for raw in self.all() {
            for (kind, stated) in &raw.defaults {
                let own = ClassDefault {
                    verdict: stated.value,
                    layer: raw.digest.layer,
                    origin: stated.origin.clone(),
                };
                let pinned = self.pinned.defaults.get(kind);
                if let Some(pinned) = pinned.filter(|pinned| stated.value < pinned.value) {
                    let (given, held) = (stated.value, pinned.value);
                    let by = pinned.origin.clone();
                    let problem = Problem::LooserDefault { given, held, by };
                    errors.push(ProfileError { origin: stated.origin.clone(), problem });
                }
                let held = defaults.entry(*kind).or_insert_with(|| own.clone());
                if own.verdict > held.verdict {
                    *held = own;
                }
            }
        }
        defaults
    }

    /// A `false` in any layer holds; otherwise a `true`; otherwise the default.
    fn grants(&self, bounds: &mut Bounds<'_>) -> Grants {
        let default = Grants::default();
        Grants {
            toolchains: self.grant(bounds, default.toolchains, |raw| &raw.toolchains),
            user_namespaces: self
                .grant(bounds, default.user_namespaces, |raw| &raw.user_namespaces),
        }
    }

    fn grant(
        &self,
        bounds: &mut Bounds<'_>,
        default: bool,
        of: fn(&Raw) -> &Option<Stated<bool>>,
    ) -> bool {
        let stated = |raw: &'a Raw| of(raw).as_ref().map(|stated| stated.value);
        let refused = self.bounding().any(|raw| stated(raw) == Some(false));
        match self.project.and_then(|raw| of(raw).as_ref()) {
            Some(wish) if wish.value && refused => {
                bounds.ignore(&wish.origin, "another layer says false".to_owned());
            }
            _ => {}
        }
        let mut values = self.all().filter_map(stated);
        let any = self.all().filter_map(stated).next().is_some();
        if any { values.all(|value| value) } else { default }
    }

    fn environment(
        &self,
        flags: &Flags,
        bounds: &mut Bounds<'_>,
        errors: &mut Vec<ProfileError>,
    ) -> Environment {
        let deny: Vec<&Stated<String>> = self.all().flat_map(|raw| &raw.deny).collect();
        let mut pass = Vec::new();
        for raw in self.all() {
            for name in raw.pass.iter().flatten() {
                let by = deny.iter().find(|denied| name_covers(&denied.value, &name.value));
                match by {
                    None => pass.push(name.value.clone()),
                    Some(by) if raw.digest.layer == Layer::Project => {
                        bounds.ignore(&name.origin, format!("it is never passed, {}", by.origin));
                    }
                    // What another layer of the person's own denies simply isn't passed.
                    Some(by)
                        if !self.pinned.deny.contains(by)
                            && by.origin.source != name.origin.source => {}
                    Some(by) => {
                        let (name_text, by) = (name.value.clone(), by.origin.clone());
                        let problem = Problem::PassDenied { name: name_text, by };
                        errors.push(ProfileError { origin: name.origin.clone(), problem });
                    }
                }
            }
        }
        let deny = deny.into_iter().map(|name| name.value.clone()).collect();
        Environment { pass: sorted(pass), set: self.set(flags, errors), deny: sorted(deny) }
    }

    /// The value nearest to the run counts: a flag's, the project's, the profile's, the owner's.
    fn set(&self, flags: &Flags, errors: &mut Vec<ProfileError>) -> BTreeMap<String, String> {
        let mut set = BTreeMap::new();
        for raw in [self.owner, self.named, self.project].into_iter().flatten() {
            set.extend(raw.set.iter().map(|(name, value)| (name.clone(), value.value.clone())));
        }
        for (name, value) in &flags.environment {
            if let Some(problem) = value_fault(name, value) {
                errors.push(ProfileError { origin: Origin::flag("--env"), problem });
            }
            set.insert(name.clone(), value.clone());
        }
        set
    }

    /// Of a path that several layers mount, the strictest access holds.
    fn mounts(
        &self,
        authority: &Authority,
        bounds: &mut Bounds<'_>,
        errors: &mut Vec<ProfileError>,
    ) -> Vec<Mount> {
        let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
        for raw in self.all() {
            for mount in raw.mounts.iter().flatten() {
                match denial(authority, mount) {
                    Some((reason, _, _)) if raw.digest.layer == Layer::Project => {
                        bounds.ignore(&mount.origin, reason);
                        continue;
                    }
                    Some((reason, by, pinned)) => {
                        let shown = crate::action::shown(&mount.path);
                        let problem = Problem::MountDenied { mount: shown, reason, by, pinned };
                        errors.push(ProfileError { origin: mount.origin.clone(), problem });
                    }
                    None => {}
                }
                let held = mounts.entry(mount.path.clone()).or_insert_with(|| mount.clone());
                if mount.access < held.access {
                    *held = mount.clone();
                }
            }
        }
        mounts.into_values().collect()
    }
}

/// What the command line publishes, each once.
fn published(flags: &Flags) -> Vec<Publication> {
    let mut publish = flags.publish.clone();
    publish.sort();
    publish.dedup();
    publish
}

/// One lease, within its terms.
fn lease(wish: &Narrowed, library: &dyn Library) -> Result<LeaseGrant, Problem> {
    let name = &wish.name;
    if !is_id(name) {
        return Err(Problem::NotALeaseName(names::printable(name.as_bytes())));
    }
    let found = library.lease(name);
    let terms = found.map_err(|why| {
        let why = names::printable(why.as_bytes());
        Problem::LeaseUnreadable { name: name.clone(), why }
    })?;
    let terms = terms.ok_or_else(|| Problem::UnknownLease(name.clone()))?;
    let lease = wish.within(&terms).ok_or_else(|| widens(name, &terms.target))?;
    lease.refuse_clear_text()?;
    Ok(lease)
}

fn widens(name: &str, terms: &Target) -> Problem {
    Problem::LeaseWidens { name: name.to_owned(), terms: terms.to_string() }
}

/// Two leases can't have one variable: only one placeholder fits.
fn shared_variables(leases: &[LeaseGrant]) -> Vec<ProfileError> {
    let mut taken: BTreeMap<&str, &LeaseGrant> = BTreeMap::new();
    let mut found = Vec::new();
    for lease in leases {
        let Some(variable) = &lease.variable else { continue };
        if let Some(other) = taken.insert(variable, lease) {
            let (variable, other) = (variable.clone(), other.name.clone());
            let problem = Problem::SharedVariable { variable, other };
            found.push(ProfileError { origin: lease.origin.clone(), problem });
        }
    }
    found
}

/// Why a mount is denied, by what, and whether that is compiled in.
fn denial(authority: &Authority, mount: &Mount) -> Option<(String, String, bool)> {
    let action = MountPath { path: mount.path.clone(), access: mount.access };
    let verdict = authority.decide(&Action::Mount(action));
    if verdict.outcome == Outcome::Allow {
        return None;
    }
    let pinned = verdict.decided_by.iter().any(|cause| cause.layer == Layer::Pinned);
    let by = verdict.decided_by.first().map(ToString::to_string).unwrap_or_default();
    Some((verdict.reason, by, pinned))
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

fn flag_widens(flag: &str, given: String, held: String, by: Option<Origin>) -> ProfileError {
    let problem = Problem::FlagWidens { given, held, by };
    ProfileError { origin: Origin::flag(flag), problem }
}
