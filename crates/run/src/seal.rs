//! The end of a run: the sandbox goes, what it left is read as data, and a receipt is signed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{ChangeCounts, Continued, Denial, IgnoredKey, Problem, Reached, VerificationView, exit};
use ledger::{Approval, Budget, Follows, Lease, Outcome, Predicate, Relation, Statement, kind};
use names::{Digest, RunId, Timestamp};
use policy::{Authority, Mode};
use sandbox::{Enforcement, Layout, Limit, Signals, Streams};
use workspace::{ChangeSet, Protected, read_changes};

use crate::approvals::serve::Service;
use crate::branch::new_commits;
use crate::carried::read as body;
use crate::checks;
use crate::checks::Fresh;
use crate::exec::limit_hit;
use crate::grounds::Grounds;
use crate::lease::after;
use crate::prepare::{Evidence, Standing};
use crate::problem::OrProblem as _;
use crate::reached::Connections;
use crate::records::{self, Changes, LIMIT, LimitReached, RunEnd};
use crate::settings::Settings;
use crate::state::Event;
use crate::store::{replace, write_atomically};
use crate::story::{self, NotAllowed};
use crate::verify::{Came, Round};

/// How the work of a run came to its end.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) exit: Option<u8>,
    pub(crate) limit: Option<Limit>,
    pub(crate) took: Duration,
    pub(crate) printed: u64,
    /// What Loop's own agent used, if it was at work.
    pub(crate) agent: Option<Agent>,
    /// What became of its contract, if it has one.
    pub(crate) contract: Contracted,
    /// What it is about, if that is not what it left.
    pub(crate) left: Option<ChangeSet>,
}

/// What became of a run's contract.
#[derive(Debug, Clone, Default)]
pub(crate) enum Contracted {
    /// It has none.
    #[default]
    None,
    /// Its checks were not run.
    Unchecked,
    /// Its checks were run.
    Checked(Box<Came>),
}

impl Ended {
    /// The same with what its checks came to; an interrupt or the time ends a run also then.
    pub(crate) fn after(self, round: Round) -> Self {
        match round {
            Round::Came(came) => Self { contract: Contracted::Checked(came), ..self },
            Round::Interrupted => {
                Self { outcome: Outcome::Stopped, exit: Some(exit::INTERRUPTED), ..self }
            }
            Round::OutOfTime => Self {
                outcome: Outcome::Stopped,
                exit: Some(exit::TIMEOUT),
                limit: Some(Limit::Wall),
                ..self
            },
        }
    }

    /// The same with what an earlier round of checks came to, which decides nothing.
    pub(crate) fn beside(self, came: Option<Box<Came>>) -> Self {
        match came {
            Some(came) => {
                let came = Came { outcome: self.outcome, ..*came };
                Self { contract: Contracted::Checked(Box::new(came)), ..self }
            }
            None => self,
        }
    }

    /// What the checks came to, if they were run.
    pub(crate) fn checked(&self) -> Option<&Came> {
        match &self.contract {
            Contracted::Checked(came) => Some(came),
            Contracted::None | Contracted::Unchecked => None,
        }
    }

    /// The same of a run that left `changes`: if checks were run, they decide.
    fn settled(self, changes: Digest) -> Self {
        match self.contract {
            Contracted::Checked(came) => {
                let came = came.about(changes);
                let (outcome, contract) = (came.outcome, Contracted::Checked(Box::new(came)));
                Self { outcome, contract, ..self }.with_exit()
            }
            Contracted::Unchecked => self.with_exit(),
            Contracted::None => self,
        }
    }

    /// Where there is a contract, the exit code tells its outcome.
    fn with_exit(self) -> Self {
        let exit = match self.outcome {
            Outcome::Verified => Some(0),
            Outcome::Unverified => Some(exit::UNVERIFIED),
            Outcome::Failed => Some(exit::NO),
            Outcome::Stopped => self.exit,
        };
        Self { exit, ..self }
    }
}

/// What Loop's own agent used.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    /// Calls of the model.
    pub(crate) steps: u64,
    pub(crate) tokens: u64,
    /// The model.
    pub(crate) provider: String,
    pub(crate) name: String,
}

/// A run whose evidence is complete.
pub(crate) struct Sealed {
    pub(crate) run: RunId,
    pub(crate) authority: Arc<Authority>,
    pub(crate) outcome: Outcome,
    pub(crate) exit: Option<u8>,
    pub(crate) verification: Option<VerificationView>,
    pub(crate) changes: ChangeCounts,
    pub(crate) denials: Vec<Denial>,
    /// Of a learning run: what was let through.
    pub(crate) learned: Option<Vec<Denial>>,
    pub(crate) ignored: Vec<IgnoredKey>,
    pub(crate) receipt: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<String>,
}

/// Ends the sandbox, reads the change set, closes the ledger and signs the receipt, in that order.
///
/// # Errors
/// When the evidence can't be kept; the run is then without a receipt, and its workspace is still
/// there.
pub(crate) fn seal(
    settings: &Settings,
    standing: Standing,
    ended: Ended,
) -> Result<Sealed, Problem> {
    // Whoever still waits for a person is told that there will be no answer.
    if let Some(approvals) = standing.evidence.broker.approvals() {
        approvals.stop();
    }
    standing.rest().seal(settings, ended)
}

/// A run whose sandbox is gone, and with it everything that it ran.
pub(crate) struct Rested {
    pub(crate) evidence: Evidence,
    pub(crate) grounds: Grounds,
    pub(crate) enforcement: Enforcement,
    service: Option<Service>,
}

impl Standing {
    /// Ends the sandbox. A person can still be asked.
    pub(crate) fn rest(self) -> Rested {
        let Self { egress, evidence, grounds, sandbox, enforcement, service, .. } = self;
        drop(sandbox);
        if let Some(egress) = egress {
            // Every connection has its end in the ledger then.
            egress.stop();
        }
        Rested { evidence, grounds, enforcement, service }
    }
}

impl Rested {
    /// What makes further sandboxes of the run.
    pub(crate) fn fresh<'a>(
        &'a self,
        settings: &'a Settings,
        streams: &'a Streams,
        signals: &'a Signals,
        deadline: Option<Instant>,
    ) -> Fresh<'a> {
        let Self { evidence, grounds, enforcement, .. } = self;
        let variables = &settings.environment;
        Fresh { evidence, grounds, enforcement, variables, streams, signals, deadline }
    }

    /// As [`seal`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn seal(self, settings: &Settings, ended: Ended) -> Result<Sealed, Problem> {
        let Self { evidence, enforcement, service, .. } = self;
        if let Some(approvals) = evidence.broker.approvals() {
            approvals.stop();
        }
        drop(service);
        seal_evidence(settings, evidence, &enforcement, ended)
    }
}

/// The same, when the sandbox is gone already.
///
/// # Errors
/// As [`seal`].
pub(crate) fn seal_evidence(
    settings: &Settings,
    evidence: Evidence,
    enforcement: &Enforcement,
    mut ended: Ended,
) -> Result<Sealed, Problem> {
    let changes = ended.left.take().map_or_else(|| read(&evidence), Ok)?;
    let kept = keep(&evidence, &changes)?;
    let ended = &ended.settled(kept.digest);
    record(&evidence, &kept, ended)?;
    let told_of = Told::read(&evidence)?;
    let predicate = predicate(settings, &evidence, enforcement, ended, &told_of)?;
    let receipt = sign(&evidence, &kept, predicate)?;
    let made = commits(settings, &evidence).into_iter().chain(half_done(&evidence));
    let made = made.chain(unsigned_heads(&evidence));
    let notes: Vec<_> = tidy_up(&evidence, changes.is_empty()).into_iter().chain(made).collect();
    Ok(Sealed {
        run: evidence.run.directory.id.clone(),
        directory: evidence.run.directory.path().to_owned(),
        changes: kept.counts,
        denials: told(told_of.denied, &evidence.authority),
        learned: told_of.learned.map(|learned| told(learned, &evidence.authority)),
        outcome: ended.outcome,
        exit: ended.exit,
        verification: ended.checked().map(|came| came.view.clone()),
        ignored: evidence.ignored,
        authority: evidence.authority,
        notes: evidence.notes.into_iter().chain(notes).collect(),
        receipt,
    })
}

fn read(evidence: &Evidence) -> Result<ChangeSet, Problem> {
    if !evidence.has_changes() {
        return Ok(ChangeSet::empty());
    }
    let upper = Layout::of(evidence.run.directory.path()).upper();
    read_changes(&upper, &evidence.authority.project, &Protected::default()).or_problem()
}

/// Writes the change set to the run's directory.
fn keep(evidence: &Evidence, changes: &ChangeSet) -> Result<Changes, Problem> {
    let bytes = changes.to_bytes().or_problem()?;
    // Its name becomes durable with that of the receipt.
    replace(&evidence.run.directory.changes(), &bytes).or_problem()?;
    Ok(Changes {
        digest: Digest::of(&bytes),
        result: changes.result_digest(),
        counts: records::counts(changes.counts()),
    })
}

fn record(evidence: &Evidence, changes: &Changes, ended: &Ended) -> Result<(), Problem> {
    if let Some(limit) = ended.limit {
        let hit = limit_hit(limit, &evidence.authority);
        evidence.step(Event::Limit)?;
        let ledger = evidence.broker.ledger();
        ledger
            .journal(LIMIT, &LimitReached { limit: hit.limit, allowed: hit.allowed })
            .or_problem()?;
    }
    evidence.step(Event::Seal)?;
    evidence.broker.ledger().journal(kind::CHANGES, changes).or_problem()?;
    let end = RunEnd {
        outcome: ended.outcome,
        exit: ended.exit.map(i32::from),
        limit: ended.limit.map(|limit| limit.key().to_owned()),
        reasons: ended.checked().map(|came| came.view.reasons.clone()).unwrap_or_default(),
    };
    evidence.step(Event::End)?;
    evidence.broker.ledger().commit(kind::RUN_END, &end).or_problem()?;
    Ok(())
}

fn sign(evidence: &Evidence, changes: &Changes, predicate: Predicate) -> Result<PathBuf, Problem> {
    evidence.step(Event::Sign)?;
    let statement = Statement::new(changes.digest, changes.result, predicate);
    let envelope = ledger::seal(&statement, &evidence.key).or_problem()?;
    let path = evidence.run.directory.receipt();
    write_atomically(&path, &envelope.to_bytes()).or_problem()?;
    Ok(path)
}

/// What was lent, which ended with the run if not before.
pub(crate) fn lent(authority: &Authority, started: Timestamp, ended: Timestamp) -> Vec<Lease> {
    let lent = authority.leases.iter().map(|grant| {
        let lasts = grant.lasts.map(|span| after(started, span));
        let ends = lasts.into_iter().chain(grant.until).fold(ended, Timestamp::min);
        let destination = grant.target.to_string();
        Lease { name: grant.name.clone(), destination, expires: ends }
    });
    lent.collect()
}

fn predicate(
    settings: &Settings,
    evidence: &Evidence,
    enforcement: &Enforcement,
    ended: &Ended,
    told_of: &Told,
) -> Result<Predicate, Problem> {
    let now = (settings.clock)();
    let unread = told_of.approvals.iter().any(Option::is_none);
    let unreached = told_of.reached.is_none();
    let checked = ended.checked();
    Ok(Predicate {
        run: evidence.run.directory.id.clone(),
        subject: evidence.authority.subject.clone(),
        project: evidence.authority.project.display().to_string(),
        started: evidence.started,
        ended: now,
        profile: evidence.authority.profile.clone(),
        authority: evidence.authority.digest(),
        base: evidence.base.clone(),
        enforcement: serde_json::to_value(enforcement)
            .map_err(|error| Problem::new(api::exit::UNSAFE, error.to_string()))?,
        leases: lent(&evidence.authority, evidence.started, now),
        approvals: told_of.approvals.iter().flatten().cloned().collect(),
        egress: told_of.reached.iter().flatten().map(in_receipt).collect(),
        denials: by_kind(&told_of.denied),
        learned: told_of.learned.as_deref().map(by_kind),
        budget: Budget {
            wall_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
            output: Some(ended.printed),
            steps: ended.agent.as_ref().map(|agent| agent.steps),
            tokens: tokens(ended),
            ..Budget::default()
        },
        checks: checked.map(|came| came.stated.checks.clone()).unwrap_or_default(),
        verification: checked.map(|came| came.stated.verification.clone()),
        follows: follows(evidence),
        models: models(ended),
        ledger: evidence.broker.ledger().head(),
        omissions: [
            unread.then(|| "an approval that can't be read".to_owned()),
            unreached.then(|| "connections that can't be read".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        exit: ended.exit.map(i32::from),
        outcome: ended.outcome,
    })
}

/// The run whose receipt this one's rests on.
fn follows(evidence: &Evidence) -> Option<Follows> {
    let continues = evidence.continues.clone().map(|other| (Relation::Continues, other));
    let verifies = evidence.verifies.clone().map(|other| (Relation::Verifies, other));
    let (relation, Continued { run, receipt }) = continues.or(verifies)?;
    Some(Follows { relation, run, receipt })
}

/// Tokens of the agent and of the reviewing model.
fn tokens(ended: &Ended) -> Option<u64> {
    let review = ended.checked().map(|came| came.tokens).filter(|tokens| *tokens > 0);
    let agent = ended.agent.as_ref().map(|agent| agent.tokens);
    match (agent, review) {
        (Some(agent), Some(review)) => Some(agent.saturating_add(review)),
        (agent, review) => agent.or(review),
    }
}

/// The agent's model and the reviewing one.
fn models(ended: &Ended) -> Vec<ledger::Model> {
    let agent = ended.agent.as_ref().map(|agent| (&agent.provider, &agent.name));
    let review = ended.checked().and_then(|came| came.stated.verification.review.as_ref());
    let review = review.map(|review| (&review.provider, &review.name));
    let review = review.filter(|model| Some(*model) != agent);
    let all = agent.into_iter().chain(review);
    all.map(|(provider, name)| ledger::Model { provider: provider.clone(), name: name.clone() })
        .collect()
}

/// What the run's ledger holds of refusals, answers and connections; `None` is what this program
/// can't read.
struct Told {
    denied: Vec<Option<NotAllowed>>,
    /// What a learning run let through.
    learned: Option<Vec<Option<NotAllowed>>>,
    approvals: Vec<Option<Approval>>,
    reached: Option<Vec<Reached>>,
}

impl Told {
    fn read(evidence: &Evidence) -> Result<Self, Problem> {
        let path = evidence.run.directory.ledger();
        let bytes = crate::store::read(&path).map_err(crate::store::at(&path)).or_problem()?;
        Ok(Self::by(&bytes, evidence.broker.is_learning()))
    }

    /// Goes through the ledger once.
    fn by(ledger: &[u8], is_learning: bool) -> Self {
        let (mut denied, mut learned, mut approvals) = (Vec::new(), Vec::new(), Vec::new());
        let (mut connections, mut all_read) = (Connections::default(), true);
        for record in ledger::records(ledger) {
            match record.kind {
                kind::DENIED => denied.push(body(&record).ok()),
                kind::LEARNED => learned.push(body(&record).ok()),
                kind::ANSWERED => {
                    approvals.extend(story::approval(&record).transpose().map(Result::ok));
                }
                _ => all_read &= connections.add(&record).is_ok(),
            }
        }
        Self {
            denied,
            learned: is_learning.then_some(learned),
            approvals,
            reached: all_read.then(|| connections.reached()),
        }
    }
}

fn in_receipt(reached: &Reached) -> ledger::Egress {
    ledger::Egress {
        host: reached.host.clone(),
        port: reached.port,
        connections: reached.connections,
        sent: reached.sent,
        received: reached.received,
    }
}

/// How often each kind of action was not allowed. One that can't be read is counted all the same.
fn by_kind(records: &[Option<NotAllowed>]) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for record in records {
        let kind = record.as_ref().map(NotAllowed::kind).unwrap_or_default();
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

fn told(records: Vec<Option<NotAllowed>>, authority: &Authority) -> Vec<Denial> {
    let readable: Vec<_> = records.into_iter().flatten().collect();
    story::denials(&readable, authority)
}

/// That no head of the ledger is signed any more, and why, if so.
fn unsigned_heads(evidence: &Evidence) -> Option<String> {
    let fault = evidence.broker.ledger().signing_fault()?;
    let path = evidence.run.directory.heads();
    Some(format!("{} could not be written: {fault}", path.display()))
}

/// What the run committed, in words, if it did.
fn commits(settings: &Settings, evidence: &Evidence) -> Option<String> {
    let run = &evidence.run.directory;
    let number = new_commits(settings, run, &run.start().ok()?)?;
    let (what, them) = if number == 1 { ("commit", "it") } else { ("commits", "them") };
    Some(format!("it made {number} {what}; `loop branch NAME` puts {them} on a branch"))
}

/// A rebase that a run in direct mode left to be continued: a step of it may be a command.
fn half_done(evidence: &Evidence) -> Option<String> {
    let list = evidence.authority.project.join(".git/rebase-merge/git-rebase-todo");
    let left = evidence.authority.mode == Mode::Direct && list.symlink_metadata().is_ok();
    left.then(|| {
        "a rebase is half done; read .git/rebase-merge/git-rebase-todo before you continue it, \
         because its `exec` lines are commands"
            .to_owned()
    })
}

/// Removes what nobody needs any more. What can't be removed is in the way of nothing.
fn tidy_up(evidence: &Evidence, unchanged: bool) -> Vec<String> {
    let layout = Layout::of(evidence.run.directory.path());
    let upper = unchanged.then(|| layout.upper());
    let is_empty = |path: &PathBuf| path.read_dir().is_ok_and(|mut it| it.next().is_none());
    let git: Vec<_> = layout.git_uppers().filter(is_empty).collect();
    [layout.scratch(), layout.work()]
        .into_iter()
        .chain(upper)
        .chain(git)
        .chain(checks::left_behind(&evidence.run.directory))
        .filter_map(|path| {
            let error = sandbox::remove_tree(&path).err()?;
            Some(format!("{} could not be removed: {error}", path.display()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use crate::{inspect, rescue};
    use broker::Broker;
    use ledger::Ledger;

    #[test]
    fn a_learning_run_says_so_in_its_receipt_and_is_not_taken_for_an_enforced_one() {
        use ledger::{Allow, Requirements, verify_receipt};
        let world = World::new();
        world.file("mine.toml", "[profile]\nname = \"mine\"\n[defaults]\nexec = \"ask\"\n");
        let run = world.interrupted_under(Some("mine.toml"), true);
        let authority = Arc::new(inspect::authority(&run).unwrap());
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        let broker = Broker::new(authority, ledger).learning();
        for program in ["/usr/bin/make", "/usr/bin/cc", "/usr/bin/cc"] {
            let permit = broker.request(policy::Exec::new(program, vec![], "/")).unwrap();
            broker.complete(permit, &serde_json::json!({"exit": 0, "printed": 0, "took_ms": 0, "interrupted": false})).unwrap();
        }
        drop(broker);
        rescue::seal_interrupted(&world.settings, &run).unwrap();

        let told = inspect::show(&world.settings, &world.newest()).unwrap();
        let learned = told.learned.unwrap();
        let counts: Vec<_> = learned.iter().map(|one| (one.what.as_str(), one.count)).collect();
        assert_eq!(counts, [("/usr/bin/make", 1), ("/usr/bin/cc", 2)]);
        let receipt = inspect::receipt(&world.settings, &world.newest()).unwrap();
        assert_eq!(receipt.statement["predicate"]["learned"], serde_json::json!({"exec": 3}));
        assert!(told.denials.is_empty());

        let bytes = |path: PathBuf| std::fs::read(path).unwrap();
        let (ledger, changes) = (bytes(run.ledger()), bytes(run.changes()));
        let verdict = |allow: &[Allow]| {
            let requirements = Requirements {
                keys: vec![],
                ledger: Some(&ledger),
                change_set: Some(&changes),
                allow: allow.iter().copied().chain([Allow::Unsigned]).collect(),
                ..Requirements::default()
            };
            verify_receipt(&bytes(run.receipt()), &requirements)
        };
        assert!(verdict(&[]).unmet.contains(&"policy"));
        assert!(!verdict(&[Allow::Learning]).unmet.contains(&"policy"));
        assert!(verdict(&[Allow::Learning]).completeness.holds());
    }

    #[test]
    fn what_cannot_be_read_is_counted_and_not_left_out() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ledger.jsonl");
        let run = RunId::parse("261129-k7m2qd").unwrap();
        let ledger = Ledger::create(&path, &run, names::system_clock).unwrap();
        let by = serde_json::json!({"user": "ada", "via": "terminal"});
        let digest = Digest::of(b"action");
        let answers = ["once", "run", "deny"]
            .map(|answer| serde_json::json!({"action_digest": digest, "answer": answer, "by": by}));
        for answer in &answers {
            ledger.journal(kind::ANSWERED, answer).unwrap();
        }
        ledger.sync().unwrap();
        let before = Told::by(&std::fs::read(&path).unwrap(), true);
        assert!(before.reached.is_some());
        for kind in [kind::DENIED, kind::LEARNED, kind::ANSWERED, "connect.intent"] {
            ledger.journal(kind, &serde_json::json!({})).unwrap();
        }
        ledger.finish().unwrap();

        let bytes = std::fs::read(&path).unwrap();
        let told = Told::by(&bytes, true);
        assert_eq!((told.denied, told.learned), (vec![None], Some(vec![None])));
        let records: Vec<_> =
            told.approvals.iter().map(|it| it.as_ref().map(|it| it.record)).collect();
        assert_eq!(records, [Some(1), Some(2), None]);
        assert!(told.reached.is_none());
        assert!(Told::by(&bytes, false).learned.is_none());
    }

    #[test]
    fn what_was_refused_is_in_the_receipt_and_told() {
        let world = World::new();
        let rule = "[[rule]]\nid = \"no-rm\"\naction = \"exec\"\nprogram = \"/usr/bin/rm\"\n\
                    verdict = \"deny\"\n";
        world.write(&world.settings.owner_file(), rule);
        let run = world.interrupted(&[]);
        let authority = Arc::new(inspect::authority(&run).unwrap());
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        let broker = Broker::new(Arc::clone(&authority), ledger);
        let before = broker.ledger().head().count - 1;
        for name in ["a", "b", "a"] {
            let args = vec![name.to_owned()];
            let rm = policy::Exec::new("/usr/bin/rm", args, "/");
            assert!(broker.request(rm).is_err());
        }
        let last = broker.ledger().head().count - 1;
        drop(broker);

        let bytes = std::fs::read(run.ledger()).unwrap();
        let denied: Vec<_> = story::not_allowed(&bytes, kind::DENIED, before).collect();
        assert_eq!(by_kind(&denied), [("exec".to_owned(), 3)].into());
        let told = told(denied, &authority);
        let numbers: Vec<_> = told.iter().map(|it| (it.what.as_str(), it.count)).collect();
        assert_eq!(numbers, [("/usr/bin/rm a", 2), ("/usr/bin/rm b", 1)]);
        assert_eq!(told[0].rule.as_ref().unwrap().id, "no-rm");
        assert_eq!(story::not_allowed(&bytes, kind::DENIED, last).count(), 0);

        rescue::seal_interrupted(&world.settings, &run).unwrap();
        let receipt = inspect::receipt(&world.settings, &world.newest()).unwrap();
        assert_eq!(receipt.statement["predicate"]["denials"], serde_json::json!({"exec": 3}));
    }
}
