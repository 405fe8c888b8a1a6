//! Verified completion: the checks of a run's contract, re-executed on the base and on the base
//! plus the change set, and what that amounts to.
//!
//! Nothing that the run wrote is taken for evidence: a check runs in a sandbox of its own, on what
//! the change set says, with everything that it rests on from the base. What speaks against an
//! outcome can come from anywhere; what speaks for it, only from a check.

mod flagged;
mod review;
mod sieve;
mod told;

mod base;
mod export;
mod later;

use std::cell::{Cell, RefCell};
use std::path::Path;

use api::{CheckOn, CheckProgress, Problem, VerificationView};
use contract::{Check, Contract, Judgement, Oracle, Pair, Ran, Verdict, judge};
use ledger::{Outcome, Review, kind};
use names::Digest;
use sandbox::{Attendant, Layout, Limit};
use workspace::{ChangeSet, Contents, Protected, UpperContents};

use crate::checks::{Fresh, Tried};
use crate::prepare::Evidence;
use crate::problem::OrProblem as _;
use crate::records::{Checked, Checking};
use crate::state::{CHECKING, Event};
use crate::store::at;

pub(crate) use export::export;
pub(crate) use later::verify;
use review::Desk;
pub(crate) use review::Reviewer;
use sieve::Sieve;
pub(crate) use told::view;

/// What verifies the rounds of one run.
pub(crate) struct Verifier<'a> {
    contract: &'a Contract,
    fresh: Fresh<'a>,
    oracle: Oracle,
    /// Fresh sandboxes so far.
    sandboxes: Cell<usize>,
    opinion: Opinion<'a>,
    /// Tokens that are left for the round, if they are counted.
    left: Cell<Option<u64>>,
    /// How each check came out on the base alone, which no round changes.
    base: RefCell<Vec<(Ran, Checked)>>,
}

/// Who looks at what passed every check.
#[derive(Clone, Copy)]
pub(crate) enum Opinion<'a> {
    /// Nobody, or the model that the contract names.
    Of(Option<&'a Reviewer>),
    /// What was said of the same before.
    Kept(Option<&'a Review>),
}

/// What a reviewer is shown.
pub(crate) struct Seen<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) judgement: &'a Judgement,
}

/// What is checked.
pub(crate) struct Subject<'a> {
    pub(crate) changes: &'a ChangeSet,
    pub(crate) contents: &'a dyn Contents,
}

/// What a run has left so far, and where its contents are.
///
/// # Errors
/// When it can't be read.
pub(crate) fn left(evidence: &Evidence) -> Result<(ChangeSet, UpperContents), Problem> {
    let upper = Layout::of(evidence.run.directory.path()).upper();
    let changes =
        workspace::read_changes(&upper, &evidence.authority.project, &Protected::default());
    let contents = UpperContents::of(&upper).map_err(at(&upper)).or_problem()?;
    Ok((changes.or_problem()?, contents))
}

/// Whom to tell what goes on, and who may be asked meanwhile.
pub(crate) struct Witness<'s, 'a> {
    pub(crate) say: &'s mut dyn FnMut(&CheckProgress),
    pub(crate) attendant: Option<&'a mut dyn Attendant>,
}

/// What a round came to.
pub(crate) enum Round {
    Came(Box<Came>),
    /// A person ended it.
    Interrupted,
    /// The run's time was over.
    OutOfTime,
}

/// What the checks of a round came to.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) outcome: Outcome,
    /// As the ledger and the receipt have it.
    pub(crate) stated: ledger::Verified,
    pub(crate) view: VerificationView,
    /// What Loop's own agent is told.
    pub(crate) report: String,
    /// Tokens of the reviewing model.
    pub(crate) tokens: u64,
}

/// What was tried, or that the round is over.
enum Attempt<T> {
    Ran(T),
    Over(Round),
}

impl<'a> Verifier<'a> {
    /// Of a run whose sandboxes `fresh` makes.
    pub(crate) fn new(contract: &'a Contract, fresh: Fresh<'a>, opinion: Opinion<'a>) -> Self {
        let root = &fresh.grounds.project.root;
        let in_base = |path: &str| {
            let found = root.join(path).symlink_metadata();
            found.is_ok_and(|found| found.is_file() || found.is_symlink())
        };
        let oracle = Oracle::of(contract, &in_base);
        let left = Cell::new(fresh.evidence.authority.limits.tokens);
        let (sandboxes, base) = (Cell::new(0), RefCell::default());
        Self { contract, fresh, oracle, sandboxes, opinion, left, base }
    }

    /// Notes what of the run's tokens is left for checks, the reserve with it.
    pub(crate) fn note_left(&self, tokens: Option<u64>) {
        self.left.set(tokens);
    }

    /// What is said of what passed, and the tokens that it took.
    fn review(&self, seen: &Seen<'_>) -> Attempt<(Option<Review>, u64)> {
        let reviewer = match self.opinion {
            Opinion::Of(Some(reviewer)) => reviewer,
            Opinion::Of(None) => return Attempt::Ran((None, 0)),
            Opinion::Kept(review) => return Attempt::Ran((review.cloned(), 0)),
        };
        let Fresh { evidence, grounds, streams, signals, deadline, .. } = &self.fresh;
        let upper = Layout::of(evidence.run.directory.path()).upper();
        let (left, deadline) = (self.left.get(), *deadline);
        let desk = Desk { streams, signals, left, deadline, ledger: evidence.broker.ledger() };
        let places = (upper.as_path(), grounds.project.root.as_path());
        match reviewer.look(self.contract, seen, places, &desk) {
            Attempt::Ran((review, tokens)) => Attempt::Ran((Some(review), tokens)),
            Attempt::Over(round) => Attempt::Over(round),
        }
    }

    /// Runs every check on `subject`, and records what came of it.
    ///
    /// # Errors
    /// When a check could not be confined, or not be recorded.
    pub(crate) fn round(
        &self,
        number: u32,
        subject: &Subject<'_>,
        witness: &mut Witness<'_, '_>,
    ) -> Result<Round, Problem> {
        self.begin(number)?;
        let sieve = Sieve::of(self.contract, &self.oracle, subject.changes);
        let mut pairs = Vec::new();
        for (at, check) in self.contract.checks.iter().enumerate() {
            match self.pair(number, (at, check), subject, &sieve, witness)? {
                Attempt::Ran(pair) => pairs.push(pair),
                Attempt::Over(round) => return self.over(round),
            }
        }
        self.judged(number, subject, &sieve, &pairs)
    }

    /// What the checks amount to, on record.
    fn judged(
        &self,
        number: u32,
        subject: &Subject<'_>,
        sieve: &Sieve,
        pairs: &[Pair],
    ) -> Result<Round, Problem> {
        let root = &self.fresh.grounds.project.root;
        let flags = flagged::flags(self.contract, &self.oracle, subject, sieve, root);
        let judgement = judge(self.contract, pairs, &flags);
        let checked = self.record(number, &judgement, pairs)?;
        let passed = judgement.verdict == Verdict::Verified;
        let reviewed = match passed {
            true => self.review(&Seen { subject, judgement: &judgement }),
            false => Attempt::Ran((None, 0)),
        };
        let (review, tokens) = match reviewed {
            Attempt::Ran(reviewed) => reviewed,
            Attempt::Over(round) => return self.over(round),
        };
        let objection = review.as_ref().and_then(objection);
        let outcome = match objection {
            Some(_) => Outcome::Unverified,
            None => outcome(judgement.verdict),
        };
        let reasons: Vec<_> = judgement.reasons.iter().cloned().chain(objection).collect();
        let changes = subject.changes.digest().or_problem()?;
        let round = told::Round { number, changes, sieve: sieve.told(), flags: &flags, review };
        let stated = told::stated(self.contract, &judgement, pairs, round);
        self.fresh.evidence.step(Event::Judge)?;
        let ledger = self.fresh.evidence.broker.ledger();
        ledger.commit(kind::VERIFICATION, &stated).or_problem()?;
        let view = told::view(Some(self.contract), &stated, &checked, &reasons);
        let view = told::with_last_printed(view, pairs);
        let report = contract::report_to_agent(self.contract, &judgement, pairs);
        Ok(Round::Came(Box::new(Came { outcome, stated, view, report, tokens })))
    }

    /// From now on the run's state is that it is checked.
    fn begin(&self, round: u32) -> Result<(), Problem> {
        let evidence = self.fresh.evidence;
        evidence.step(Event::Check)?;
        evidence.broker.ledger().commit(CHECKING, &Checking { round }).or_problem().map(drop)
    }

    /// One check, on the base alone and on the base plus the changes.
    fn pair(
        &self,
        round: u32,
        (at, check): (usize, &Check),
        subject: &Subject<'_>,
        sieve: &Sieve,
        witness: &mut Witness<'_, '_>,
    ) -> Result<Attempt<Pair>, Problem> {
        let known = self.base.borrow().get(at).map(|(ran, _)| ran.clone());
        let base = match known {
            Some(ran) => ran,
            None => {
                let nothing = |_: &Path| Ok(());
                match self.try_check(round, check, CheckOn::Base, &nothing, witness)? {
                    Attempt::Ran(ran) => ran,
                    Attempt::Over(round) => return Ok(Attempt::Over(round)),
                }
            }
        };
        let root = &self.fresh.grounds.project.root;
        let lay = |upper: &Path| {
            let keep = |change: &_| sieve.keeps(change);
            let laid = workspace::lay(subject.changes, subject.contents, upper, root, &keep);
            laid.map(|laid| sieve.hold_back(&laid.held_back)).or_problem()
        };
        Ok(match self.try_check(round, check, CheckOn::Result, &lay, witness)? {
            Attempt::Ran(result) => Attempt::Ran(Pair { name: check.name.clone(), base, result }),
            Attempt::Over(round) => Attempt::Over(round),
        })
    }

    /// One check in one place. What can't be laid there is what the check is told to have failed
    /// by: the work may still have been going on, or the project changed meanwhile.
    fn try_check(
        &self,
        round: u32,
        check: &Check,
        on: CheckOn,
        lay: &dyn Fn(&Path) -> Result<(), Problem>,
        witness: &mut Witness<'_, '_>,
    ) -> Result<Attempt<Ran>, Problem> {
        let (name, command) = (check.name.clone(), check.run.shown());
        (witness.say)(&CheckProgress { round, name, command, on });
        let number = self.sandboxes.get().saturating_add(1);
        self.sandboxes.set(number);
        let not_laid = RefCell::new(None);
        let lay = |upper: &Path| {
            lay(upper).inspect_err(|problem| {
                not_laid.replace(Some(problem.what.clone()));
            })
        };
        let guarded = |path: &[u8], existed| self.oracle.touched(path, existed);
        let attendant = witness.attendant.as_mut().map(|it| &mut **it as &mut dyn Attendant);
        let tried = self.fresh.run(number, &lay, check, &guarded, attendant);
        match (tried, not_laid.into_inner()) {
            (Ok(tried), _) => Ok(self.ended(tried)),
            (Err(_), Some(why)) => {
                Ok(Attempt::Ran(Ran { not_started: Some(why), ..Ran::default() }))
            }
            (Err(problem), None) => Err(problem),
        }
    }

    /// Whether the round goes on after a check: not if a person ended it, or the run's time.
    fn ended(&self, tried: Tried) -> Attempt<Ran> {
        let now = std::time::Instant::now();
        let over = self.fresh.deadline.is_some_and(|deadline| now >= deadline);
        match tried.limit {
            _ if tried.interrupted => Attempt::Over(Round::Interrupted),
            Some(Limit::Wall) if over => Attempt::Over(Round::OutOfTime),
            _ => Attempt::Ran(tried.ran),
        }
    }

    /// Nothing begins any more.
    fn over(&self, round: Round) -> Result<Round, Problem> {
        let why = match &round {
            Round::Came(_) => return Ok(round),
            Round::Interrupted => Event::Cancel,
            Round::OutOfTime => Event::Limit,
        };
        self.fresh.evidence.step(why).map(|()| round)
    }

    /// Journals each execution of the round; the answer holds those of earlier rounds that count.
    fn record(
        &self,
        round: u32,
        judgement: &Judgement,
        pairs: &[Pair],
    ) -> Result<Vec<Checked>, Problem> {
        let ledger = self.fresh.evidence.broker.ledger();
        let mut base = self.base.borrow_mut();
        if base.is_empty() {
            for (pair, verdict) in pairs.iter().zip(&judgement.checks) {
                let checked = told::on_base(round, pair, verdict);
                ledger.journal(kind::CHECK, &checked).or_problem()?;
                base.push((pair.base.clone(), checked));
            }
        }
        let mut all: Vec<Checked> = base.iter().map(|(_, checked)| checked.clone()).collect();
        for (pair, verdict) in pairs.iter().zip(&judgement.checks) {
            let checked = told::on_result(round, pair, verdict);
            ledger.journal(kind::CHECK, &checked).or_problem()?;
            all.push(checked);
        }
        Ok(all)
    }
}

/// That a reviewer objects, and why.
fn objection(review: &Review) -> Option<String> {
    let Review { provider, name, veto, reason } = review;
    veto.then(|| format!("{provider}:{name} objects: {reason}"))
}

fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Verified => Outcome::Verified,
        Verdict::Unverified => Outcome::Unverified,
        Verdict::Failed => Outcome::Failed,
    }
}

impl Came {
    /// The same about a run that left `changes`: what was checked must be what it left.
    pub(crate) fn about(mut self, changes: Digest) -> Self {
        if self.stated.verification.changes != changes {
            let why = "what it left is not what was checked";
            self.view.reasons.push(why.to_owned());
            if self.outcome == Outcome::Verified {
                self.outcome = Outcome::Unverified;
            }
        }
        self
    }
}
