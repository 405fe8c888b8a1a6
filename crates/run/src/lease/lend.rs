//! The leases of one run: values read, placeholders made, watched until the run's end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use api::{Problem, RuleRef, exit};
use broker::{Leases, Loan};
use names::Timestamp;
use policy::{Authority, LeaseGrant};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use sandbox::Environment;
use serde::{Deserialize, Serialize};

use super::offer::Offer;
use super::source::SourceError;
use super::store::{self, Stored};
use crate::settings::Settings;

/// How often a run looks whether its leases were taken back. A second is what is promised.
const LOOK: Duration = Duration::from_millis(250);

/// What a run is lent. With it the leases end.
#[derive(Debug, Default)]
pub(crate) struct Lending {
    /// The leases, for the network gate.
    pub(crate) leases: Leases,
    withheld: Withheld,
    watch: Option<Watch>,
}

/// How the environment of a command differs for leases: variables that don't enter, and
/// placeholders that do. It holds no value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Withheld {
    variables: BTreeSet<String>,
    placeholders: BTreeMap<String, String>,
}

impl Lending {
    /// Reads what `authority` lends. From here on this process leaves no core dump.
    ///
    /// # Errors
    /// The lease and the source that gives no value; the run must not start.
    pub(crate) fn begin(
        offer: &Offer,
        authority: &Authority,
        started: Timestamp,
    ) -> Result<Self, Problem> {
        if authority.leases.is_empty() {
            return Ok(Self::default());
        }
        leave_no_dump()?;
        let settings = &offer.settings;
        let stored = authority.leases.iter().map(|grant| stored(offer, grant));
        let stored: Vec<_> = stored.collect::<Result<_, _>>()?;
        let loans = stored.iter().zip(&authority.leases).map(|(stored, grant)| {
            let value = stored.source.read(settings);
            let value = value.map_err(|error| no_value(stored, grant, &error))?;
            Ok(Loan { grant: grant.clone(), value, random: store::random()? })
        });
        let loans: Vec<Loan> = loans.collect::<Result<_, Problem>>()?;
        let variables = sources(settings, &stored, &loans);
        let leases = Leases::lend(loans, started, settings.clock);
        let placeholders = leases
            .iter()
            .filter_map(|lent| Some((lent.variable()?.to_owned(), lent.placeholder().to_owned())));
        let withheld = Withheld { variables, placeholders: placeholders.collect() };
        let watch = Some(Watch::start(offer.clone(), leases.clone()));
        Ok(Self { leases, withheld, watch })
    }

    /// What of the environment is withheld.
    pub(crate) fn withheld(&self) -> &Withheld {
        &self.withheld
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        drop(self.watch.take());
        self.leases.end();
    }
}

impl Withheld {
    /// Takes the variables out that a value came from, and puts the placeholders in, whoever set
    /// them.
    pub(crate) fn apply(&self, environment: &mut Environment) {
        for name in &self.variables {
            environment.remove(name);
        }
        for (name, placeholder) in &self.placeholders {
            environment.set(name, placeholder);
        }
    }
}

/// The lease that the grant was made of: another one of its name is another lease.
fn stored(offer: &Offer, grant: &LeaseGrant) -> Result<Stored, Problem> {
    let found = offer.find(&grant.name)?;
    found.filter(|stored| stored.terms.id == grant.id).ok_or_else(|| {
        let what = format!("the lease {} was revoked", grant.name);
        Problem::new(exit::UNSAFE, what).with_rule(rule(grant))
    })
}

fn no_value(stored: &Stored, grant: &LeaseGrant, error: &SourceError) -> Problem {
    let what = format!("the lease {} has no value from {}: {error}", stored.name, stored.source);
    Problem::new(exit::UNSAFE, what).with_next(error.next()).with_rule(rule(grant))
}

fn rule(grant: &LeaseGrant) -> RuleRef {
    let origin = &grant.origin;
    RuleRef { id: format!("lease {}", grant.name), file: origin.source.clone(), line: origin.line }
}

/// The variables that a value comes from, and any other that holds one.
fn sources(settings: &Settings, stored: &[Stored], loans: &[Loan]) -> BTreeSet<String> {
    let named = stored.iter().filter_map(|stored| stored.source.variable());
    let holds = |value: &OsStr| {
        let value = value.as_bytes();
        let mut secrets = loans.iter().map(|loan| loan.value.expose().as_bytes());
        secrets.any(|secret| value.windows(secret.len()).any(|window| window == secret))
    };
    let held = settings.environment.iter().filter(|(_, value)| holds(value));
    let held = held.filter_map(|(name, _)| name.to_str());
    named.chain(held).map(str::to_owned).collect()
}

/// No core dump of this process holds a value, and no other process of the person's can look into
/// its memory: prctl(2) `PR_SET_DUMPABLE`, core(5). A program that is started is dumpable again.
///
/// # Errors
/// When the kernel does not take it.
pub(crate) fn leave_no_dump() -> Result<(), Problem> {
    let unsafe_because = |error: rustix::io::Errno| {
        Problem::new(exit::UNSAFE, format!("core dumps can't be turned off: {error}"))
    };
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(unsafe_because)?;
    let hard = rustix::process::getrlimit(Resource::Core).maximum;
    let none = Rlimit { current: Some(0), maximum: hard };
    rustix::process::setrlimit(Resource::Core, none).map_err(unsafe_because)
}

/// Looks whether leases were taken back, until it is dropped.
#[derive(Debug)]
struct Watch {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn start(offer: Offer, leases: Leases) -> Self {
        let (stop, stopped) = sync_channel(0);
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look(&offer, &leases);
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say; it only must not outlive the run.
            let _ = thread.join();
        }
    }
}

/// A lease that can't be read any more is taken for revoked.
fn look(offer: &Offer, leases: &Leases) {
    for lent in leases.iter() {
        if !stored(offer, lent.grant()).is_ok_and(|stored| stored.name == lent.name()) {
            leases.revoke(lent.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use crate::lease;
    use api::LeaseAddRequest;
    use policy::Flags;
    use std::time::Instant;

    const CANARY: &str = "canary-4b7c-value";

    fn world() -> World {
        let mut world = World::new();
        for name in ["KEY", "COPY"] {
            world.settings.environment.insert(name.into(), CANARY.into());
        }
        world.settings.environment.insert("URL".into(), format!("https://{CANARY}@x").into());
        world.settings.environment.insert("LANG".into(), "C".into());
        let request = LeaseAddRequest {
            name: "one".to_owned(),
            host: "one.example.com".to_owned(),
            header: "x-api-key".to_owned(),
            env: Some("ONE_KEY".to_owned()),
            from: "env:KEY".to_owned(),
            ..LeaseAddRequest::default()
        };
        lease::add(&world.settings, &request).unwrap();
        world
    }

    fn authority(world: &World) -> Authority {
        let project = world.settings.project(None).unwrap();
        let flags = Flags { leases: vec!["one".to_owned()], ..Flags::default() };
        crate::authority::resolve(&world.settings, &project, None, flags).unwrap().authority
    }

    fn lending(world: &World) -> Result<Lending, Problem> {
        Lending::begin(&Offer::kept(&world.settings), &authority(world), (world.settings.clock)())
    }

    #[test]
    fn inside_is_a_placeholder_and_no_variable_that_holds_the_value() {
        let world = world();
        let lending = lending(&world).unwrap();
        let mut environment = Environment::default();
        for (name, value) in &world.settings.environment {
            environment.set(name, value);
        }
        environment.set("ONE_KEY", CANARY);
        lending.withheld().apply(&mut environment);
        assert_eq!(environment.value("LANG").unwrap(), "C");
        for gone in ["KEY", "COPY", "URL"] {
            assert_eq!(environment.value(gone), None, "{gone}");
        }
        let placed = environment.value("ONE_KEY").unwrap().to_str().unwrap().to_owned();
        assert_eq!(lending.leases.find(&placed).unwrap().name(), "one");
        let shown = format!("{lending:?} {environment:?} {:?}", authority(&world));
        assert!(!shown.contains(CANARY), "{shown}");
        assert!(!serde_json::to_string(lending.withheld()).unwrap().contains(CANARY));
    }

    #[test]
    fn without_leases_nothing_differs() {
        let world = world();
        let project = world.settings.project(None).unwrap();
        let plain =
            crate::authority::resolve(&world.settings, &project, None, Flags::default()).unwrap();
        let lending = Lending::begin(
            &Offer::kept(&world.settings),
            &plain.authority,
            Timestamp::from_millis(0),
        )
        .unwrap();
        assert!(lending.leases.is_empty());
        assert_eq!(lending.withheld(), &Withheld::default());
    }

    #[test]
    fn a_source_without_a_value_is_named() {
        let mut world = world();
        let authority = authority(&world);
        world.settings.environment.remove(OsStr::new("KEY"));
        let problem =
            Lending::begin(&Offer::kept(&world.settings), &authority, (world.settings.clock)())
                .unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE);
        assert_eq!(
            problem.what,
            "the lease one has no value from env:KEY: the variable is not set"
        );
        assert!(!format!("{problem:?}").contains(CANARY));
    }

    #[test]
    fn a_revoked_lease_ends_in_a_run_that_has_it() {
        let world = world();
        let lending = lending(&world).unwrap();
        assert!(lending.leases.live("one").is_ok());
        lease::revoke(&world.settings, &api::LeaseRevokeRequest { name: "one".to_owned() })
            .unwrap();
        let bound = Instant::now() + Duration::from_secs(60);
        while lending.leases.live("one").is_ok() {
            assert!(Instant::now() < bound, "it is still lent");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_lease_of_the_same_name_is_another_one() {
        let world = world();
        let before = authority(&world);
        lease::revoke(&world.settings, &api::LeaseRevokeRequest { name: "one".to_owned() })
            .unwrap();
        let other = LeaseAddRequest {
            name: "one".to_owned(),
            host: "other.example.com".to_owned(),
            header: "x-api-key".to_owned(),
            from: "env:KEY".to_owned(),
            ..LeaseAddRequest::default()
        };
        lease::add(&world.settings, &other).unwrap();
        let now = (world.settings.clock)();
        assert!(
            Lending::begin(&Offer::kept(&world.settings), &before, now)
                .unwrap_err()
                .what
                .contains("revoked")
        );
    }

    #[test]
    fn they_end_with_the_run() {
        let world = world();
        let lending = lending(&world).unwrap();
        let leases = lending.leases.clone();
        drop(lending);
        assert!(leases.live("one").is_err());
    }

    #[test]
    fn a_receipt_says_what_was_lent_and_until_when() {
        let world = world();
        let authority = authority(&world);
        let (started, ended) = (Timestamp::from_millis(0), Timestamp::from_millis(5_000));
        let lent = crate::seal::lent(&authority, started, ended);
        assert_eq!(lent.len(), 1);
        assert_eq!((lent[0].name.as_str(), lent[0].expires), ("one", ended));
        assert_eq!(lent[0].destination, "one.example.com:443");
    }

    #[test]
    fn a_process_that_holds_a_value_leaves_no_dump() {
        let world = world();
        let _lending = lending(&world).unwrap();
        let dumpable = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(dumpable, DumpableBehavior::NotDumpable);
        assert_eq!(rustix::process::getrlimit(Resource::Core).current, Some(0));
    }
}
