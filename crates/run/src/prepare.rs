//! Before anything runs: the authority is frozen, the run has its directory, its ledger and its
//! key, and the plan of its sandbox is carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use api::{Continued, ExecRequest, IgnoredKey, Problem, RuleRef, exit};
use broker::{Approvals, Broker};
use contract::Contract;
use egress::Egress;
use ledger::{Base, Ledger, Pending, SigningKey, kind};
use names::{Digest, Host as Name, Port, RunId, Span, Timestamp, canonical};
use policy::{
    Access, Authority, FileAccess, Flags, Gate, Kind, Match, Mode, Need, Origin, Outcome,
    Publication, Rule, Target,
};
use sandbox::{Enforcement, Environment, Host, Layout, Sandbox};

use crate::approvals::serve::Service;
use crate::grounds::{Grounds, GroupedHelper, measured, stand};
use crate::lease::{Lending, Offer};
use crate::network::Network;
use crate::preset::{self, Kit};
use crate::problem::OrProblem as _;
use crate::project::{Project, git_config, over_https};
use crate::publish::Taken;
use crate::records::RunStart;
use crate::settings::Settings;
use crate::state::{Event, Life};
use crate::store::{RunDirectory, RunLock, Start, Store, write_new};
use crate::{authority, keys};

/// A run that has an authority, a directory and a ledger, and no sandbox yet.
pub(crate) struct Prepared {
    helper: GroupedHelper,
    evidence: Evidence,
    grounds: Grounds,
    carried: Option<CarriedOver>,
    recorded: Pending,
    taken: Taken,
}

/// An earlier run of a session, whose changes the next run begins with. Nobody else works on it
/// meanwhile.
pub(crate) struct CarriedOver {
    upper: PathBuf,
    continued: Continued,
    _lock: RunLock,
}

impl CarriedOver {
    /// The run, which is sealed with this receipt.
    pub(crate) fn new(run: RunDirectory, receipt: Digest, lock: RunLock) -> Self {
        let upper = Layout::of(run.path()).upper();
        Self { upper, continued: Continued { run: run.id, receipt }, _lock: lock }
    }
}

/// What a run is besides a command.
#[derive(Default)]
pub(crate) struct Besides<'a> {
    /// One of Loop's own agent.
    pub(crate) agent: Option<AgentRun>,
    /// What its result is measured by.
    pub(crate) contract: Option<&'a Contract>,
    /// The run whose checks it re-executes.
    pub(crate) verifies: Option<Continued>,
}

/// What a run of Loop's own agent stands in.
pub(crate) struct AgentRun {
    pub(crate) session: AgentSession,
    /// The changes that it begins with, if it has a place for them.
    pub(crate) carried: Option<CarriedOver>,
}

/// The session of Loop's own agent that a run writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentSession {
    /// One that begins with the run, and has its id.
    Own,
    /// An earlier run's.
    Of(RunId),
}

impl AgentSession {
    /// Its id, if a run of this id writes it.
    pub(crate) fn id(&self, run: &RunId) -> RunId {
        match self {
            Self::Own => run.clone(),
            Self::Of(id) => id.clone(),
        }
    }
}

/// What proves a run, from its start to its seal.
pub(crate) struct Evidence {
    pub(crate) started: Timestamp,
    pub(crate) authority: Arc<Authority>,
    pub(crate) ignored: Vec<IgnoredKey>,
    pub(crate) base: Base,
    /// The run whose changes it began with.
    pub(crate) continues: Option<Continued>,
    /// The run whose checks it re-executes.
    pub(crate) verifies: Option<Continued>,
    pub(crate) broker: Broker,
    pub(crate) key: SigningKey,
    /// What the run is lent; it ends with the run.
    pub(crate) lending: Lending,
    pub(crate) notes: Vec<String>,
    /// Where it stands, as far as this process moves it on.
    pub(crate) life: Life,
    /// Last, because a directory that goes again may not be written to any more: dropping the
    /// broker ends the threads of its ledger.
    pub(crate) run: NewRun,
}

/// A run with a sandbox.
pub(crate) struct Standing {
    /// The gate of its network, if anything outside can be reached.
    pub(crate) egress: Option<Egress>,
    pub(crate) evidence: Evidence,
    /// What further sandboxes of the run can be made on.
    pub(crate) grounds: Grounds,
    pub(crate) sandbox: Sandbox,
    pub(crate) enforcement: Enforcement,
    pub(crate) environment: Environment,
    pub(crate) uid: u32,
    /// Where asks are answered, if there can be any.
    pub(crate) service: Option<Service>,
}

/// The directory of a run that goes away again unless something happened in it.
pub(crate) struct NewRun {
    pub(crate) directory: RunDirectory,
    _lock: RunLock,
    kept: bool,
}

impl NewRun {
    fn create(settings: &Settings) -> Result<Self, Problem> {
        let directory = Store::new(settings.runs()).create(settings.clock).or_problem()?;
        let lock = directory.lock().or_problem()?;
        Ok(Self { directory, _lock: lock, kept: false })
    }

    /// A run that was begun by a process that is gone.
    pub(crate) fn resumed(directory: RunDirectory, lock: RunLock) -> Self {
        Self { directory, _lock: lock, kept: true }
    }

    fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing ran, so nothing is lost; what stays is a directory without meaning.
            let _ = sandbox::remove_tree(self.directory.path());
        }
    }
}

impl Prepared {
    /// Freezes the authority and begins the run's ledger.
    ///
    /// # Errors
    /// What is wrong with the request, the files or the machine. Nothing is left behind.
    pub(crate) fn new(
        settings: &Settings,
        project: Project,
        request: &ExecRequest,
    ) -> Result<Self, Problem> {
        Self::with(settings, project, request, Besides::default())
    }

    /// The same, for a run that is more than a command.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn with(
        settings: &Settings,
        project: Project,
        request: &ExecRequest,
        besides: Besides<'_>,
    ) -> Result<Self, Problem> {
        let Besides { agent, contract, verifies } = besides;
        let kit = request.agent.map(|agent| Kit::of(settings, agent)).transpose()?;
        let offer = kit.as_ref().map_or_else(|| Offer::kept(settings), |kit| kit.offer(settings));
        let flags = flags(request)?;
        let flags = kit.as_ref().map_or(flags.clone(), |kit| kit.flags(flags));
        let profile = request.profile.as_deref();
        let mut resolved = authority::resolve_offered(&offer, settings, &project, profile, flags)?;
        refuse_missing_gates(&resolved.authority)?;
        refuse_what_is_not_watched(&resolved.authority)?;
        refuse_to_learn(&resolved.authority, request)?;
        if let Some(contract) = contract {
            refuse_to_verify(&resolved.authority, request)?;
            narrow(&mut resolved.authority.limits, &contract.limits);
        }
        let taken = Taken::take(&resolved.authority)?;
        let run = NewRun::create(settings)?;
        let helper =
            GroupedHelper::start(run.directory.id.to_string(), &resolved.authority.limits)?;
        let host = Host::observe(&settings.homes.home, &|name| settings.variable(name))
            .map_err(|error| home_problem(settings, &error))?;
        let (key, created) = keys::signing_key(settings)?;
        let ledger = Ledger::create(&run.directory.ledger(), &run.directory.id, settings.clock)
            .or_problem()?;
        ledger.sign_heads(&run.directory.heads(), key.clone()).or_problem()?;
        let authority = Arc::new(resolved.authority);
        let (session, carried) = match agent {
            Some(AgentRun { session, carried }) => (Some(session), carried),
            None => (None, None),
        };
        let carried = carried.filter(|_| authority.mode == Mode::Overlay);
        let started = (settings.clock)();
        let lending = Lending::begin(&offer, &authority, started)?;
        let git_config = git_config_inside(settings, &authority);
        let home_files = kit.map(|kit| kit.home_files(authority.mode, &project.root, &lending));
        let ignored: Vec<_> = resolved.ignored.iter().map(ignored_key).collect();
        let evidence = Evidence {
            started,
            life: Life::default(),
            lending,
            ignored,
            base: Base { commit: project.commit.clone(), dirty: None },
            continues: carried.as_ref().map(|carried| carried.continued.clone()),
            verifies,
            broker: broker(settings, &run, &authority, ledger, request.learn),
            notes: key_note(settings, created),
            run,
            authority,
            key,
        };
        let agent = session.map(|session| session.id(&evidence.run.directory.id));
        evidence.write_start(settings, &project, request, agent.as_ref())?;
        evidence.write_contract(contract)?;
        let digest = contract.map(Contract::digest);
        let recorded = evidence.begin_ledger(&project, request, agent.as_ref(), digest)?;
        let grounds = Grounds {
            network: Network::prepare(&evidence, &project, &settings.environment)?,
            host,
            user: settings.user.clone(),
            git_config,
            home_files: home_files.unwrap_or_default(),
            logins: preset::logins(&settings.homes.home),
            secret: secret_directories(settings),
            project,
            shown: Vec::new(),
        };
        Ok(Self { helper, evidence, grounds, carried, recorded, taken })
    }

    /// The same, with a further file that is shown inside.
    pub(crate) fn showing(mut self, file: (PathBuf, PathBuf)) -> Self {
        self.grounds.shown.push(file);
        self
    }

    /// Carries the plan out. The start of the run is durable when this returns.
    ///
    /// # Errors
    /// What the machine lacks, by name. Nothing is left behind.
    pub(crate) fn confine(
        self,
        variables: &BTreeMap<OsString, OsString>,
    ) -> Result<Standing, Problem> {
        let Self { helper, mut evidence, grounds, carried, recorded, taken } = self;
        let layout = Layout::of(evidence.run.directory.path());
        grounds.make(&layout, &evidence.authority)?;
        if let Some(earlier) = &carried {
            workspace::carry_over(&earlier.upper, &layout.upper()).or_problem()?;
        }
        let (helper, held) = helper.grouped(&evidence.authority.limits)?;
        let plan = grounds.plan(&layout, &evidence.authority, held)?;
        let uid = plan.identity.inside_uid;
        let mut sandbox = stand(helper, plan, &evidence.broker)?;
        recorded.wait().or_problem()?;
        evidence.step(Event::Stand)?;
        let enforcement = measured(&sandbox, &evidence.authority.limits, held);
        evidence.broker.ledger().journal(kind::ENFORCEMENT, &enforcement).or_problem()?;
        evidence.run.keep();
        let service = evidence.serve_approvals(&grounds.user)?;
        let entrance = sandbox.take_door().map(|door| taken.open(door));
        let egress = grounds.serve(&evidence.broker, &mut sandbox, entrance)?;
        Ok(Standing {
            environment: grounds.environment(&evidence, variables),
            egress,
            evidence,
            grounds,
            sandbox,
            enforcement,
            uid,
            service,
        })
    }
}

impl Evidence {
    fn write_start(
        &self,
        settings: &Settings,
        project: &Project,
        request: &ExecRequest,
        agent: Option<&RunId>,
    ) -> Result<(), Problem> {
        let start = Start {
            schema: 1,
            run: self.run.directory.id.clone(),
            started: self.started,
            project: project.root.clone(),
            subject: settings.user.clone(),
            profile: self.authority.profile.clone(),
            command: request.command.clone(),
            session: request.session.clone(),
            agent: agent.cloned(),
            verifies: self.verifies.as_ref().map(|other| other.run.clone()),
            git: project.git.clone(),
        };
        let authority = canonical::to_vec(&*self.authority).or_problem()?;
        write_new(&self.run.directory.authority(), &authority).or_problem()?;
        write_new(&self.run.directory.start_file(), &canonical::to_vec(&start).or_problem()?)
            .or_problem()
    }

    /// Moves the run on. Comes before what is done then, and before its record.
    ///
    /// # Errors
    /// When that can't happen where it stands; then nothing is done.
    pub(crate) fn step(&self, event: Event) -> Result<(), Problem> {
        self.life.step(event)
    }

    fn write_contract(&self, contract: Option<&Contract>) -> Result<(), Problem> {
        contract.map_or(Ok(()), |contract| {
            write_new(&self.run.directory.contract(), &contract.to_bytes()).or_problem()
        })
    }

    fn begin_ledger(
        &self,
        project: &Project,
        request: &ExecRequest,
        agent: Option<&RunId>,
        contract: Option<Digest>,
    ) -> Result<Pending, Problem> {
        let start = RunStart {
            run: self.run.directory.id.clone(),
            subject: self.authority.subject.clone(),
            project: project.root.clone(),
            profile: self.authority.profile.clone(),
            authority: self.authority.digest(),
            mode: self.authority.mode,
            base: self.base.clone(),
            command: request.command.clone(),
            session: request.session.clone(),
            equipped: request.agent,
            agent: agent.cloned(),
            continues: self.continues.clone(),
            verifies: self.verifies.clone(),
            contract,
            learning: request.learn,
            ignored: self.ignored.clone(),
        };
        self.step(Event::Start)?;
        self.broker.ledger().begin(kind::RUN_START, &start).or_problem()
    }

    fn serve_approvals(&self, user: &str) -> Result<Option<Service>, Problem> {
        let Some(approvals) = self.broker.approvals() else { return Ok(None) };
        let run = &self.run.directory;
        let service = Service::start(run, approvals.clone(), user);
        service.map(Some).map_err(crate::store::at(&run.approvals_socket())).or_problem()
    }

    /// Whether the workspace has an upper directory.
    pub(crate) fn has_changes(&self) -> bool {
        self.authority.mode == Mode::Overlay
    }
}

/// A broker that enforces, or that lets through and records. Nobody is asked.
pub(crate) fn deciding(authority: Arc<Authority>, ledger: Ledger, learning: bool) -> Broker {
    let broker = Broker::new(authority, ledger);
    if learning { broker.learning() } else { broker }
}

/// A person can be asked only where something may have to be.
fn broker(
    settings: &Settings,
    run: &NewRun,
    authority: &Arc<Authority>,
    ledger: Ledger,
    learning: bool,
) -> Broker {
    let broker = deciding(Arc::clone(authority), ledger.clone(), learning);
    if !authority.may_ask() {
        return broker;
    }
    let run = run.directory.id.clone();
    broker.with_approvals(Approvals::new(run, authority.approvals, ledger, settings.clock))
}

fn flags(request: &ExecRequest) -> Result<Flags, Problem> {
    let wall = request.timeout.as_deref().map(Span::parse).transpose().or_problem()?;
    let mode = request.mode.map(mode);
    let (environment, leases) = (request.environment.clone(), request.leases.clone());
    let publish = publications(&request.publish)?;
    Ok(Flags { mode, environment, wall, leases, publish, ..Flags::default() })
}

/// What is to be published. One port of this machine leads to one port inside.
pub(crate) fn publications(asked: &[api::Publication]) -> Result<Vec<Publication>, Problem> {
    let mut taken = BTreeMap::new();
    for &api::Publication { outside, port } in asked {
        let other = *taken.entry(outside).or_insert(port);
        if other != port {
            let what = format!("--publish: port {outside} can't lead to both {other} and {port}");
            return Err(Problem::new(exit::USAGE, what));
        }
    }
    Ok(taken.into_iter().map(|(outside, port)| Publication { outside, port }).collect())
}

/// The mode that was asked for.
pub(crate) fn mode(mode: api::Mode) -> Mode {
    match mode {
        api::Mode::Overlay => Mode::Overlay,
        api::Mode::ReadOnly => Mode::ReadOnly,
        api::Mode::Direct => Mode::Direct,
    }
}

/// A gate that an authority needs and that does not exist, and what to do without.
fn missing(gate: Gate) -> Option<(&'static str, &'static str)> {
    match gate {
        Gate::Docker => Some(("Docker gate", "remove the grant")),
        Gate::SyscallGate | Gate::Egress | Gate::Git | Gate::Lease => None,
    }
}

/// What `authority` needs and nobody can enforce.
pub(crate) fn unmet(authority: &Authority) -> Vec<Need> {
    let needs = authority.needs().into_iter();
    needs.filter(|need| missing(need.gate).is_some()).collect()
}

/// A gate that does not exist can't enforce, so nothing that needs it may run.
fn refuse_missing_gates(authority: &Authority) -> Result<(), Problem> {
    let Some((need, (gate, next))) =
        unmet(authority).into_iter().find_map(|need| missing(need.gate).map(|it| (need, it)))
    else {
        return Ok(());
    };
    let what = format!("{} needs the {gate}, which this version does not have", need.origin.key);
    Err(Problem::new(exit::UNSAFE, what).with_next(next).with_rule(RuleRef {
        id: need.origin.key,
        file: need.origin.source,
        line: need.origin.line,
    }))
}

/// The syscall gate watches who writes and not who reads: what a command must not read is kept out
/// of its view. A rule that could not be held must not look as if it were.
fn refuse_what_is_not_watched(authority: &Authority) -> Result<(), Problem> {
    let default = authority.defaults.get(&Kind::Open);
    let default = default.filter(|default| default.verdict != Outcome::Allow);
    if let Some(default) = default {
        let next = "leave it at \"allow\", and write rules with access = \"write\"";
        return Err(not_watched("the default of `open`", next, "defaults.open", &default.origin));
    }
    let reads = |rule: &&Rule| matches!(&rule.when, Match::Open { access, .. } if *access != Some(FileAccess::Write));
    let mut rules = authority.rules.iter().filter(|rule| rule.verdict != Outcome::Allow);
    let Some(rule) = rules.find(reads) else { return Ok(()) };
    let next = "say access = \"write\"; what must not be read, a profile leaves out of the view";
    Err(not_watched("a rule on reading", next, &rule.id, &rule.origin))
}

fn not_watched(what: &str, next: &str, id: &str, origin: &Origin) -> Problem {
    let rule = RuleRef { id: id.to_owned(), file: origin.source.clone(), line: origin.line };
    let what = format!("{what} can't be held: reading is not watched");
    Problem::new(exit::UNSAFE, what).with_next(next).with_rule(rule)
}

/// What is let through must not reach the project, and ends with the run that says so.
fn refuse_to_learn(authority: &Authority, request: &ExecRequest) -> Result<(), Problem> {
    let (why, next) = match (request.learn, authority.mode, &request.session) {
        (true, Mode::Direct, _) => ("changes land in the project", "use --mode overlay"),
        (true, _, Some(_)) => ("a sandbox is kept for other commands", "leave --session out"),
        _ => return Ok(()),
    };
    Err(Problem::new(exit::UNSAFE, format!("a run can't learn where {why}")).with_next(next))
}

/// Checks need a base that the work left alone, and an end of it.
fn refuse_to_verify(authority: &Authority, request: &ExecRequest) -> Result<(), Problem> {
    let (why, next) = match (authority.mode, &request.session, request.learn) {
        (_, Some(_), _) => ("a sandbox is kept for other commands", "leave --session out"),
        (_, _, true) => ("its policy is not in force", "leave --learn out"),
        (Mode::Direct, ..) => ("changes land in the project at once", "use --mode overlay"),
        (Mode::ReadOnly, ..) => ("nothing can be changed", "use --mode overlay"),
        (Mode::Overlay, ..) => return refuse_what_stays(authority),
    };
    let what = format!("a run can't be verified where {why}");
    Err(Problem::new(exit::UNSAFE, what).with_next(format!("{next}, or run without checks")))
}

/// What the work wrote through to the machine, its checks would find there.
fn refuse_what_stays(authority: &Authority) -> Result<(), Problem> {
    let through = authority.mounts.iter().find(|mount| mount.access == Access::Write);
    let Some(mount) = through else { return Ok(()) };
    let path = mount.path.display();
    let what = format!("a run can't be verified where it writes to {path} itself");
    let next = "give it access = \"scratch\", or run without checks";
    Err(Problem::new(exit::UNSAFE, what).with_next(next).with_rule(RuleRef {
        id: "mount.access".to_owned(),
        file: mount.origin.source.clone(),
        line: mount.origin.line,
    }))
}

/// A contract gives nothing; it may take.
fn narrow(limits: &mut policy::Limits, by: &contract::Limits) {
    fn less<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
        one.into_iter().chain(other).min()
    }
    limits.wall = less(limits.wall, by.wall);
    limits.steps = less(limits.steps, by.steps);
    limits.tokens = less(limits.tokens, by.tokens);
    limits.money = less(limits.money, by.money);
}

fn home_problem(settings: &Settings, error: &std::io::Error) -> Problem {
    let home = settings.homes.home.display();
    Problem::new(exit::UNSAFE, format!("the home directory {home}: {error}"))
        .with_next("set HOME to a directory that exists")
}

fn ignored_key(ignored: &policy::Ignored) -> IgnoredKey {
    IgnoredKey {
        key: ignored.origin.key.clone(),
        file: ignored.origin.source.clone(),
        line: ignored.origin.line,
    }
}

fn key_note(settings: &Settings, created: bool) -> Vec<String> {
    let note = || format!("a signing key was made: {}", settings.key_file().display());
    created.then(note).into_iter().collect()
}

/// The person's name and e-mail for Git. Where the user inside has another number than the one that
/// Git's index remembers, Git is told not to read every file again for it: git-config(1).
fn git_config_inside(settings: &Settings, authority: &Authority) -> String {
    const OTHER_NUMBERS: &str = "[core]\n\tcheckStat = minimal\n";
    let config =
        git_config(&settings.homes.home, &|name| settings.variable(name)?.into_string().ok());
    let is_root = rustix::process::geteuid().is_root();
    config + &over_https(https_hosts(authority)) + if is_root { OTHER_NUMBERS } else { "" }
}

/// The hosts that the run can reach over https by their own name.
fn https_hosts(authority: &Authority) -> BTreeSet<&Name> {
    let grants = authority.network.iter().map(|grant| &grant.target);
    let targets = grants.chain(authority.leases.iter().map(|lease| &lease.target));
    let https =
        |target: &&Target| target.ports.as_ref().is_none_or(|ports| ports.contains(&Port::HTTPS));
    targets.filter(https).filter_map(|target| target.host.as_host()).collect()
}

/// Loop's own directories, resolved, whether they exist yet or not.
fn secret_directories(settings: &Settings) -> Vec<PathBuf> {
    [&settings.homes.config, &settings.homes.state]
        .into_iter()
        .map(|path| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        .collect()
}
