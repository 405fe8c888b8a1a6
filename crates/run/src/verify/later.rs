//! `loop verify`: the checks of a run, re-executed later or elsewhere, as a run of its own.
//!
//! What was exported is believed only as far as the receipt's digests reach. The new run is
//! measured by the same contract and the same change set, and nothing of it can be applied.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::{
    Continued, ExecReport, ExecRequest, Mode, Person, Problem, RunRequest, VerifyReport,
    VerifyRequest, exit,
};
use contract::Contract;
use ledger::{
    Allow, Base, CheckedReceipt, Flaw, Outcome, Predicate, Relation, Verdict, Verification,
};
use names::{Digest, Span};
use sandbox::{Attendant, Layout, Signals};
use workspace::{ChangeSet, ContentFiles, Contents, UpperContents};

use super::{Came, Opinion, Round, Subject, Verifier, Witness, base};
use crate::evidence::Evidence;
use crate::exec::{attending, enforcement_view, is_still_wanted, own_streams, report};
use crate::inspect::{find, no_receipt};
use crate::keys;
use crate::prepare::{Besides, Prepared, Standing};
use crate::problem::{OrProblem as _, unsafe_because};
use crate::project::Project;
use crate::records;
use crate::seal::{Contracted, Ended};
use crate::settings::Settings;
use crate::state::{Position, State};
use crate::store::{self, CONTRACT, RECEIPT, RunDirectory, Store, StoreError};

/// The directory of the contents of an exported run.
pub(crate) const CONTENTS: &str = "files";

/// Re-executes the checks of a run.
///
/// # Errors
/// When there is nothing to re-execute, when it does not hold together, or when it can't be done.
pub(crate) fn verify(
    settings: &Settings,
    request: &VerifyRequest,
    person: &dyn Person,
) -> Result<VerifyReport, Problem> {
    let signals = Signals::take().map_err(unsafe_because)?;
    let project = settings.project(request.dir.as_deref())?;
    let place = Place::find(settings, request)?;
    let claim = Claim::read(settings, &place)?;
    let contents = place.contents()?;
    base::refuse_another(&claim.changes, &project.root)
        .map_err(|problem| place.not_the_base(problem, &project, &claim.predicate.base))?;
    let streams = own_streams()?;
    is_still_wanted(&signals)?;
    let standing = claim.stand(settings, project, request)?;
    let (began, view) = (Instant::now(), enforcement_view(&standing));
    let wall = standing.evidence.authority.limits.wall.map(Span::as_duration);
    let mut asking = attending(&standing, settings, person)?;
    let attendant = asking.as_mut().map(|it| it as &mut dyn Attendant);
    let rested = standing.rest();
    let fresh = rested.fresh(settings, &streams, &signals, wall.map(|wall| began + wall));
    // What a model objected to stays objected to.
    let opinion = Opinion::Kept(claim.verification.review.as_ref());
    let verifier = Verifier::new(&claim.contract, fresh, opinion);
    let round = claim.round(verifier, &*contents, person, attendant);
    drop(asking);
    let ended = claim.ended(began.elapsed());
    let (ended, problem) = match round {
        Ok(round) => (ended.after(round), Ok(())),
        Err(problem) => (ended, Err(problem)),
    };
    let sealed = rested.seal(settings, ended.clone())?;
    problem?;
    let differences = ended.checked().map(|came| claim.differences(came));
    Ok(claim.told(differences, report(&ended, None, sealed, view)))
}

/// That the project is not at the commit that the run began with.
fn another_commit(base: &Base, now: Option<&str>) -> Option<String> {
    let then = base.commit.as_deref()?;
    let now = now.unwrap_or("no commit");
    (then != now).then(|| format!("the run began with commit {then}, and here is {now}"))
}

/// The run whose checks a run re-executed, and that run's, as far as they are here; otherwise the
/// run itself.
pub(crate) fn original(settings: &Settings, mut run: RunDirectory) -> RunDirectory {
    // One that verifies another names the first of them. Ids of one day are in no order, so only
    // the number says that somebody has made a circle.
    const MOST: usize = 16;
    for _ in 0..MOST {
        match verified_by(settings, &run) {
            Some(other) => run = other,
            None => break,
        }
    }
    run
}

/// The run whose checks `run` re-executed, if it is here.
fn verified_by(settings: &Settings, run: &RunDirectory) -> Option<RunDirectory> {
    let receipt = CheckedReceipt::parse(&store::read(&run.receipt()).ok()?).ok()?;
    let follows = receipt.statement().predicate.follows.clone()?;
    let other = Store::new(settings.runs()).named(&follows.run);
    (follows.relation == Relation::Verifies && other.receipt().exists()).then_some(other)
}

/// Whether the project holds what the run changed. Where that can't be told, it doesn't.
fn is_applied_to(run: &RunDirectory, project: &Project) -> bool {
    let is_here = run.start().is_ok_and(|start| start.project == project.root);
    let position = || Position::read(run, run.is_busy());
    is_here && position().is_ok_and(|position| position.state == State::Applied)
}

/// Where a run's evidence lies.
enum Place {
    /// In its own directory.
    Run(RunDirectory),
    /// In one that it was exported to.
    Exported(PathBuf),
}

impl Place {
    fn find(settings: &Settings, request: &VerifyRequest) -> Result<Self, Problem> {
        let Some(what) = &request.what else {
            let newest = |dir: Option<PathBuf>| find(settings, &RunRequest { run: None, dir });
            let here = newest(request.dir.clone());
            // The base may lie elsewhere than what was run.
            let found = here.or_else(|problem| newest(None).map_err(|_| problem))?;
            return Ok(Self::Run(original(settings, found)));
        };
        let directory = settings.absolute(what);
        if directory.join(RECEIPT).is_file() {
            return Ok(Self::Exported(directory));
        }
        if what.components().count() > 1 {
            let text = format!("{} holds no {RECEIPT}", directory.display());
            return Err(Problem::new(exit::NOT_FOUND, text)
                .with_next("name a run, or a directory that `loop receipt export` wrote"));
        }
        let run = Some(what.to_string_lossy().into_owned());
        let run = find(settings, &RunRequest { run, dir: request.dir.clone() })?;
        match run.receipt().exists() {
            true => Ok(Self::Run(original(settings, run))),
            false => Err(no_receipt(&run)),
        }
    }

    /// The same with how to get at the base, and that the run's changes are in the project, if they
    /// are.
    fn not_the_base(&self, problem: Problem, project: &Project, base: &Base) -> Problem {
        let mut next = problem.next.clone().unwrap_or_default();
        if let Some(commit) = &base.commit {
            next.push_str(&format!("; `git worktree add ../base {commit}` makes one"));
        }
        match self {
            Self::Run(run) if is_applied_to(run, project) => {
                let what = format!("run {} is applied: {}", run.id, problem.what);
                Problem { what, ..problem }.with_next(format!("`loop undo {}`, or {next}", run.id))
            }
            _ => problem.with_next(next),
        }
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Run(run) => run.path(),
            Self::Exported(directory) => directory,
        }
    }

    /// The bytes of the changed files, which whoever reads them compares.
    fn contents(&self) -> Result<Box<dyn Contents>, Problem> {
        let (path, opened): (_, io::Result<Box<dyn Contents>>) = match self {
            Self::Run(run) => {
                let upper = Layout::of(run.path()).upper();
                match upper.exists() {
                    true => (upper.clone(), UpperContents::of(&upper).map(|it| Box::new(it) as _)),
                    // A run that changed nothing has none, and one that was discarded neither.
                    false => (upper, ContentFiles::of(run.path()).map(|it| Box::new(it) as _)),
                }
            }
            Self::Exported(directory) => {
                let files = directory.join(CONTENTS);
                (files.clone(), ContentFiles::of(&files).map(|it| Box::new(it) as _))
            }
        };
        opened.map_err(store::at(&path)).or_problem()
    }
}

/// What the receipt of a run claims, and what its digests vouch for.
struct Claim {
    /// The digest of the receipt's file.
    receipt: Digest,
    predicate: Predicate,
    verification: Verification,
    contract: Contract,
    changes: ChangeSet,
    bytes: Digest,
    /// The keys that signed it, and are trusted here.
    trusted: Vec<String>,
}

impl Claim {
    fn read(settings: &Settings, place: &Place) -> Result<Self, Problem> {
        let evidence = Evidence::read(place.directory())?;
        let Evidence { path, receipt, changes, .. } = &evidence;
        let keys = keys::trusted_by_verifier(settings)?;
        let known: Vec<_> = keys.iter().map(|trusted| trusted.key.id().to_string()).collect();
        let verdict = evidence.judge(keys, [Allow::Unverified].into(), Some((settings.clock)()));
        let aspects = [&verdict.form, &verdict.chain, &verdict.subjects, &verdict.outcome];
        aspects.into_iter().chain(&verdict.heads).try_for_each(|verdict| holds(path, verdict))?;
        if let Verdict::Fails(flaw @ Flaw::BadSignature { .. }) = &verdict.signature {
            return Err(contradicted(path, flaw));
        }
        let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
        let parsed = CheckedReceipt::parse(receipt).map_err(|error| malformed(error.to_string()));
        let parsed = parsed.or_problem()?;
        let signed = parsed.envelope().signatures.iter().map(|it| it.keyid.to_string());
        let trusted = signed.filter(|id| verdict.signature.holds() && known.contains(id)).collect();
        let predicate = parsed.statement().predicate.clone();
        let Some(verification) = predicate.verification.clone() else {
            let what =
                format!("run {} was not checked, so nothing can be checked again", predicate.run);
            return Err(Problem::new(exit::NO, what).with_next(
                "run it again with a contract: loop exec --check CMD, or --contract FILE",
            ));
        };
        Ok(Self {
            receipt: Digest::of(receipt),
            contract: contract(place, &verification)?,
            bytes: Digest::of(changes),
            changes: ChangeSet::parse(changes).or_problem()?,
            predicate,
            verification,
            trusted,
        })
    }

    /// A run that re-executes, in whose sandbox nothing runs.
    fn stand(
        &self,
        settings: &Settings,
        project: Project,
        request: &VerifyRequest,
    ) -> Result<Standing, Problem> {
        let other = another_commit(&self.predicate.base, project.commit.as_deref());
        let verifies = Continued { run: self.predicate.run.clone(), receipt: self.receipt };
        let besides =
            Besides { contract: Some(&self.contract), verifies: Some(verifies), agent: None };
        let prepared = Prepared::with(settings, project, &self.as_request(request), besides);
        let prepared = prepared.map_err(|problem| match &problem.next {
            Some(_) => problem,
            None => problem.with_next("name another profile with --profile"),
        })?;
        let mut standing = prepared.confine(&settings.environment)?;
        standing.evidence.notes.extend(other);
        Ok(standing)
    }

    /// What came of it; no differences are known of what was not checked.
    fn told(self, differences: Option<Vec<String>>, run: ExecReport) -> VerifyReport {
        let is_checked = differences.is_some();
        let differences = differences.unwrap_or_default();
        let reproduced = is_checked && differences.is_empty();
        let exit_code = if is_checked && !reproduced { exit::NO } else { run.exit_code };
        VerifyReport {
            schema: 1,
            of: self.predicate.run,
            claimed: records::outcome(self.predicate.outcome),
            trusted: self.trusted,
            reproduced,
            differences,
            run: ExecReport { exit_code, ..run },
        }
    }

    /// The run that re-executes, as a command.
    fn as_request(&self, request: &VerifyRequest) -> ExecRequest {
        let command = ["loop", "verify", self.predicate.run.as_str()];
        ExecRequest {
            profile: Some(
                request.profile.clone().unwrap_or_else(|| self.predicate.profile.clone()),
            ),
            mode: Some(Mode::Overlay),
            dir: request.dir.clone(),
            timeout: request.timeout.clone(),
            command: command.map(Into::into).into(),
            ..ExecRequest::default()
        }
    }

    fn round(
        &self,
        verifier: Verifier<'_>,
        contents: &dyn Contents,
        person: &dyn Person,
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Round, Problem> {
        let mut say = |check: &api::CheckProgress| {
            // Whoever has closed their standard error is not told.
            let _ = io::stderr().write_all(person.checking(check).as_bytes());
        };
        let subject = Subject { changes: &self.changes, contents };
        let mut witness = Witness { say: &mut say, attendant };
        verifier.round(1, &subject, &mut witness)
    }

    /// The end of the run, if nothing is checked.
    fn ended(&self, took: Duration) -> Ended {
        Ended {
            outcome: Outcome::Unverified,
            exit: None,
            limit: None,
            took,
            printed: 0,
            agent: None,
            contract: Contracted::Unchecked,
            left: Some(self.changes.clone()),
        }
    }

    /// What came out otherwise than the receipt says.
    fn differences(&self, came: &Came) -> Vec<String> {
        let word = |passed: bool| if passed { "passed" } else { "failed" };
        let checks = self.predicate.checks.iter().filter_map(|then| {
            let now = came.stated.checks.iter().find(|now| now.name == then.name)?;
            let (name, was) = (&then.name, word(then.passed));
            (now.passed != then.passed)
                .then(|| format!("check {name} {}; by the receipt it {was}", word(now.passed)))
        });
        let (was, is) = (self.predicate.outcome, came.clone().about(self.bytes).outcome);
        let outcome =
            (was != is).then(|| format!("the outcome is {is}; by the receipt it is {was}"));
        checks.chain(outcome).collect()
    }
}

/// An outcome that is not `verified` is one that can be reproduced, too.
fn holds(receipt: &Path, verdict: &Verdict) -> Result<(), Problem> {
    match verdict {
        Verdict::Holds | Verdict::Fails(Flaw::Outcome { .. }) | Verdict::NotChecked(_) => Ok(()),
        Verdict::Fails(flaw) => Err(contradicted(receipt, flaw)),
    }
}

fn contradicted(receipt: &Path, flaw: &Flaw) -> Problem {
    let receipt = receipt.display();
    Problem::new(exit::UNSAFE, format!("the receipt {receipt} does not hold: {flaw}"))
        .with_next(format!("see `loop receipt verify {receipt}`"))
}

/// The contract that the receipt names.
fn contract(place: &Place, verification: &Verification) -> Result<Contract, Problem> {
    let path = place.directory().join(CONTRACT);
    let malformed = |problem: String| StoreError::Malformed { path: path.clone(), problem };
    let bytes = store::read(&path).map_err(store::at(&path)).or_problem()?;
    if Digest::of(&bytes) != verification.contract {
        return Err(malformed("it is not the contract that the receipt names".to_owned()))
            .or_problem();
    }
    Contract::from_bytes(&bytes).map_err(|error| malformed(error.to_string())).or_problem()
}
