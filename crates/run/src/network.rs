//! The network of a run: what is listened to inside, the gate that carries it out, and what makes
//! clients inside trust it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use api::Problem;
use broker::Broker;
use egress::{Config, Egress, Entrance, Interceptor, Telling, Trust};
use git_guard::GitGate;
use names::ObjectId;
use policy::{Authority, Gate, Mode};
use rustix::process::{Resource, Rlimit};
use sandbox::{Environment, Listeners};

use crate::prepare::Evidence;
use crate::problem::{OrProblem as _, unsafe_because};
use crate::project::Project;
use crate::pushes::Pushes;
use crate::store::{RunDirectory, at, write_new};

/// Addresses that stand for names inside: RFC 2544.
const SYNTHETIC: (std::net::Ipv4Addr, u8) = (std::net::Ipv4Addr::new(198, 18, 0, 0), 15);

/// The network of a run, for each of its sandboxes.
pub(crate) struct Network {
    interceptor: Interceptor,
    /// Where pushes are looked at.
    store: git_guard::Store,
    shown: Vec<(PathBuf, PathBuf)>,
}

impl Network {
    /// Makes the run's certificate authority and the files that sandboxed clients read, if the
    /// authority lets anything out.
    ///
    /// # Errors
    /// No trusted certificates on this machine; a file that can't be written.
    pub(crate) fn prepare(
        evidence: &Evidence,
        project: &Project,
        person: &BTreeMap<OsString, OsString>,
    ) -> Result<Option<Self>, Problem> {
        if !is_wanted(&evidence.authority) {
            return Ok(None);
        }
        let system = egress::system_bundle().map_err(|error| {
            unsafe_because(format!("the certificates that this machine trusts: {error}"))
                .with_next("install the package ca-certificates")
        })?;
        let leases = evidence.lending.leases.clone();
        let interceptor =
            Interceptor::new(evidence.started, &system, leases).map_err(unsafe_because)?;
        let shown = write_trust(&evidence.run.directory, &interceptor.trust())?;
        let store = store(evidence, project, person)?;
        Ok(Some(Self { interceptor, store, shown }))
    }

    /// Files of the run that stand in the place of the system's.
    pub(crate) fn shown(&self) -> &[(PathBuf, PathBuf)] {
        &self.shown
    }

    /// What init listens to.
    pub(crate) fn plan(authority: &Authority) -> sandbox::Network {
        let ports = egress::transparent_ports(authority);
        let ports = ports.into_iter().map(names::Port::number).collect();
        sandbox::Network { synthetic: SYNTHETIC, ports }
    }

    /// Tells clients inside where the certificates are.
    pub(crate) fn tell(environment: &mut Environment) {
        for Telling { name, value, .. } in Trust::variables() {
            environment.set(name, value);
        }
    }
}

/// Serves what is listened to inside and what is published, until the gate that this returns is
/// stopped.
///
/// # Errors
/// When no thread or descriptor is to be had.
pub(crate) fn serve(
    broker: &Broker,
    ways_out: Option<(&Network, Listeners)>,
    entrance: Option<Entrance>,
) -> Result<Option<Egress>, Problem> {
    if ways_out.is_none() && entrance.is_none() {
        return Ok(None);
    }
    allow_many_connections();
    let mut config = Config::new(broker.clone(), egress::Listeners::default());
    if let Some((network, listeners)) = ways_out {
        config.listeners = egress::Listeners {
            transparent: listeners.transparent,
            names_udp: Some(listeners.names_udp),
            names_tcp: Some(listeners.names_tcp),
            proxy: vec![listeners.proxy],
        };
        config.intercept = Some(Arc::new(network.interceptor.clone()));
        config.git = Some(Arc::new(Pushes(GitGate::new(broker.clone(), network.store.clone()))));
    }
    config.entrance = entrance;
    let gate = Egress::start(config);
    gate.map(Some).map_err(|error| unsafe_because(format!("network gate: {error}")))
}

/// Where pushes are looked at. In direct mode the sandbox can write the project's objects, and could
/// make them tell what isn't so; then they are not looked into.
fn store(
    evidence: &Evidence,
    project: &Project,
    person: &BTreeMap<OsString, OsString>,
) -> Result<git_guard::Store, Problem> {
    let scratch = evidence.run.directory.pushes();
    std::fs::create_dir(&scratch).map_err(at(&scratch)).or_problem()?;
    let objects = project.objects.clone().filter(|_| evidence.authority.mode != Mode::Direct);
    let base = project.commit.as_ref().and_then(|commit| ObjectId::parse(commit).ok());
    Ok(git_guard::Store::new(&scratch, person, objects, base))
}

/// Whether the authority lets anything out.
pub(crate) fn is_wanted(authority: &Authority) -> bool {
    authority.needs().iter().any(|need| matches!(need.gate, Gate::Egress | Gate::Lease))
}

/// A connection takes two descriptors here. What can't be had is refused later, connection by
/// connection.
fn allow_many_connections() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn write_trust(run: &RunDirectory, trust: &Trust) -> Result<Vec<(PathBuf, PathBuf)>, Problem> {
    let directory = run.trust();
    std::fs::create_dir(&directory).map_err(at(&directory)).or_problem()?;
    let (bundle, store) = (directory.join("certificates.pem"), directory.join("certificates.jks"));
    write_new(&bundle, trust.bundle.as_bytes()).or_problem()?;
    write_new(&store, &trust.java_store).or_problem()?;
    let system = egress::SYSTEM_BUNDLES.iter().filter_map(|place| {
        // Each file once, where it is: a place may be a link to another.
        std::fs::canonicalize(place).ok().filter(|file| file.is_file())
    });
    let mut places: Vec<PathBuf> = system.collect();
    places.sort();
    places.dedup();
    places.push(PathBuf::from(egress::BUNDLE));
    let bundles = places.into_iter().map(|place| (bundle.clone(), place));
    Ok(bundles.chain([(store, PathBuf::from(egress::JAVA_STORE))]).collect())
}
