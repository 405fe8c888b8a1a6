//! What every sandbox of a run stands on: the machine and the project as they were found when the
//! run began, what is shown inside, and the run's network.
//!
//! A run has one sandbox for its work, and may have more after it, each with directories, a control
//! group and a network gate of its own. What they may do is the same: the authority is the run's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use api::{Problem, exit};
use broker::Broker;
use egress::{Egress, Entrance};
use policy::{Authority, Limits};
use sandbox::limits::{Cgroup, CgroupError, Held};
use sandbox::{
    Differ, Enforcement, Environment, Helper, Host, Layout, Mediation, Plan, Sandbox, Subject,
};

use crate::network::{self, Network};
use crate::prepare::Evidence;
use crate::problem::OrProblem as _;
use crate::project::Project;
use crate::store::at;

/// What the sandboxes of one run share.
pub(crate) struct Grounds {
    pub(crate) host: Host,
    /// The person's name.
    pub(crate) user: String,
    pub(crate) git_config: String,
    pub(crate) home_files: Vec<(PathBuf, String)>,
    pub(crate) logins: Vec<PathBuf>,
    pub(crate) secret: Vec<PathBuf>,
    pub(crate) project: Project,
    /// Further files that are shown inside, and where.
    pub(crate) shown: Vec<(PathBuf, PathBuf)>,
    pub(crate) network: Option<Network>,
}

impl Grounds {
    /// Makes the directories of a sandbox.
    ///
    /// # Errors
    /// When one can't be made.
    pub(crate) fn make(&self, layout: &Layout, authority: &Authority) -> Result<(), Problem> {
        let subject = self.subject(authority, Held::Watchdog);
        let made = layout.prepare(authority, &self.host, &subject);
        made.map_err(at(&layout.upper())).or_problem()
    }

    /// The plan of a sandbox whose limits something holds already.
    ///
    /// # Errors
    /// A path that may not be shown.
    pub(crate) fn plan(
        &self,
        layout: &Layout,
        authority: &Authority,
        held: Held,
    ) -> Result<Plan, Problem> {
        let subject = self.subject(authority, held);
        sandbox::plan(authority, &self.host, layout, &subject).or_problem()
    }

    fn subject(&self, authority: &Authority, held: Held) -> Subject<'_> {
        let shown = self.network.iter().flat_map(Network::shown);
        Subject {
            user: &self.user,
            project: &self.project.root,
            git: &self.project.git,
            git_config: &self.git_config,
            home_files: &self.home_files,
            logins: &self.logins,
            secret: &self.secret,
            grouped: held != Held::Watchdog,
            network: self.network.as_ref().map(|_| Network::plan(authority)),
            shown_as: shown.chain(&self.shown).cloned().collect(),
        }
    }

    /// Serves what is listened to in a sandbox and what is published, if anything is.
    ///
    /// # Errors
    /// When no thread or descriptor is to be had.
    pub(crate) fn serve(
        &self,
        broker: &Broker,
        sandbox: &mut Sandbox,
        entrance: Option<Entrance>,
    ) -> Result<Option<Egress>, Problem> {
        let ways_out = self.network.as_ref().zip(sandbox.take_listeners());
        network::serve(broker, ways_out, entrance)
    }

    /// The environment of a command, from `variables` of the control plane.
    pub(crate) fn environment(
        &self,
        evidence: &Evidence,
        variables: &BTreeMap<OsString, OsString>,
    ) -> Environment {
        let profile = &evidence.authority.environment;
        let name = sandbox::user_inside(self.host.uid == 0, &self.user);
        let mut environment = sandbox::environment(profile, &self.host.home, name, variables);
        // Nobody is there to type a password, so git fails instead of waiting for one: git(1).
        if environment.value("GIT_TERMINAL_PROMPT").is_none() {
            environment.set("GIT_TERMINAL_PROMPT", "0");
        }
        evidence.lending.withheld().apply(&mut environment);
        if self.network.is_some() {
            Network::tell(&mut environment);
        }
        environment
    }
}

/// Carries a plan out.
///
/// # Errors
/// What the machine lacks, by name.
pub(crate) fn stand(helper: Helper, plan: Plan, broker: &Broker) -> Result<Sandbox, Problem> {
    let mediation = Mediation { broker: broker.clone(), differ: Arc::new(LineDiffer) };
    helper.confine(plan, Some(mediation)).or_problem()
}

/// What a sandbox measured about itself, with what holds its limits.
pub(crate) fn measured(sandbox: &Sandbox, limits: &Limits, held: Held) -> Enforcement {
    Enforcement { limits: held_limits(limits, held), ..sandbox.enforcement().clone() }
}

/// Shows a guarded file as `loop diff` would.
#[derive(Debug)]
struct LineDiffer;

impl Differ for LineDiffer {
    fn unified(&self, path: &Path, before: &[u8], after: &[u8]) -> Option<String> {
        let path = names::printable(path.as_os_str().as_encoded_bytes());
        let body = workspace::unified_text(before, after)?;
        Some(format!("--- {path}\n+++ {path}\n{body}"))
    }
}

/// The confining program, and the control group that it is put under while the rest is prepared:
/// moving a process can take the kernel milliseconds, cgroups(7).
pub(crate) struct GroupedHelper {
    // First, so that the process is gone when its group is to go.
    helper: Helper,
    group: Grouping,
}

/// A group in the making. One that nobody takes goes away again.
struct Grouping(Option<JoinHandle<Result<Cgroup, CgroupError>>>);

impl Grouping {
    fn take(&mut self) -> Option<Result<Cgroup, CgroupError>> {
        self.0.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Grouping {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl GroupedHelper {
    /// Starts the program, under a group of this name. The thread that calls this must outlive the
    /// sandbox.
    ///
    /// # Errors
    /// When the program can't be started.
    pub(crate) fn start(name: String, limits: &Limits) -> Result<Self, Problem> {
        let helper = Helper::start().or_problem()?;
        let (limits, pid) = (limits.clone(), helper.pid());
        let group = std::thread::spawn(move || {
            let cgroup = Cgroup::create(&name, &limits)?;
            pid.map_or(Ok(()), |pid| cgroup.enter(pid))?;
            Ok(cgroup)
        });
        Ok(Self { helper, group: Grouping(Some(group)) })
    }

    /// With the group, where one could be made. Without one, init watches memory and processes;
    /// nobody could hold a share of the processors.
    ///
    /// # Errors
    /// A limit that nobody can hold.
    pub(crate) fn grouped(mut self, limits: &Limits) -> Result<(Helper, Held), Problem> {
        match self.group.take() {
            Some(Ok(cgroup)) => {
                let held = cgroup.held();
                Ok((self.helper.under(Some(cgroup)), held))
            }
            Some(Err(error)) if limits.cpus.is_some() => Err(cpus_problem(&error)),
            _ => Ok((self.helper, Held::Watchdog)),
        }
    }
}

fn cpus_problem(error: &CgroupError) -> Problem {
    let what = format!("limits.cpus can't be enforced: {error}");
    Problem::new(exit::UNSAFE, what)
        .with_next("remove limits.cpus, or run where control groups can be made: see `loop doctor`")
}

fn held_limits(limits: &Limits, held: Held) -> BTreeMap<String, String> {
    let all = [
        ("memory", limits.memory.is_some(), held.name()),
        ("processes", limits.processes.is_some(), held.name()),
        ("cpus", limits.cpus.is_some(), held.name()),
        ("disk", limits.disk.is_some(), "measured"),
        ("output", limits.output.is_some(), "counted"),
        ("wall", limits.wall.is_some(), "timer"),
    ];
    all.into_iter()
        .filter(|(_, is_set, _)| *is_set)
        .map(|(name, _, by)| (name.to_owned(), by.to_owned()))
        .collect()
}
