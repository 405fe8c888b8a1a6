//! The rounds of a run with a contract: what the agent left is checked, and where that isn't enough
//! the agent is told and goes on.

use api::event::Event;
use api::{CheckProgress, Problem};
use contract::Contract;
use ledger::Outcome;
use sandbox::Attendant;

use super::drive::Next;
use crate::checks::Fresh;
use crate::records;
use crate::seal::{Contracted, Ended};
use crate::unchecked;
use crate::verify::{self, Came, Opinion, Round, Subject, Verifier, Witness};

/// Those of one run.
pub(super) struct Rounds<'a> {
    verifier: Verifier<'a>,
    fresh: Fresh<'a>,
    most: u32,
    done: u32,
    checked: Checked,
}

/// What checks have come to.
#[derive(Default)]
pub(super) struct Checked {
    /// Whether there is a contract.
    is_wanted: bool,
    /// What the last round came to that came to anything.
    came: Option<Box<Came>>,
    /// How the last round ended otherwise.
    stopped: Option<Round>,
    /// Why the last round could not be.
    problem: Option<Problem>,
}

impl<'a> Rounds<'a> {
    /// Under this contract, in sandboxes that `fresh` makes.
    pub(super) fn new(contract: &'a Contract, fresh: Fresh<'a>, opinion: Opinion<'a>) -> Self {
        let verifier = Verifier::new(contract, fresh.clone(), opinion);
        let checked = Checked { is_wanted: true, ..Checked::default() };
        Self { verifier, fresh, most: contract.rounds, done: 0, checked }
    }

    /// Checks what there is now, with at most so many tokens `left`, and says what the agent does
    /// next.
    pub(super) fn next(
        &mut self,
        left: Option<u64>,
        watch: &mut dyn FnMut(&Event),
        attendant: Option<&mut dyn Attendant>,
    ) -> Next {
        self.done = self.done.saturating_add(1);
        self.verifier.note_left(left);
        let came = match self.round(watch, attendant) {
            Ok(Round::Came(came)) => came,
            Ok(stopped) => {
                self.checked.stopped = Some(stopped);
                return Next::Over;
            }
            Err(problem) => {
                self.checked.problem = Some(problem);
                return Next::Over;
            }
        };
        let (verification, outcome) = (came.view.clone(), records::outcome(came.outcome));
        watch(&Event::VerificationCompleted { verification, outcome });
        // What the agent can do nothing about, it is not told: a flag is a person's to lift.
        let unmet = came.stated.verification.criteria.iter().any(|criterion| !criterion.met);
        let next = match unmet && self.done < self.most {
            true => self.again(&came),
            false => Next::Over,
        };
        self.checked.came = Some(came);
        next
    }

    /// The agent goes on, and is told what it left open.
    fn again(&mut self, came: &Came) -> Next {
        match self.fresh.evidence.step(crate::state::Event::Turn) {
            Ok(()) => Next::Again(came.report.clone()),
            Err(problem) => {
                self.checked.problem = Some(problem);
                Next::Over
            }
        }
    }

    fn round(
        &self,
        watch: &mut dyn FnMut(&Event),
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Round, Problem> {
        let (changes, contents) = verify::left(self.fresh.evidence)?;
        let subject = Subject { changes: &changes, contents: &contents };
        let mut say = |check: &CheckProgress| watch(&Event::CheckStarted { check: check.clone() });
        let mut witness = Witness { say: &mut say, attendant };
        self.verifier.round(self.done, &subject, &mut witness)
    }

    /// What they came to.
    pub(super) fn came(self) -> Checked {
        self.checked
    }
}

impl Checked {
    /// The end of a run with that; and what could not be done, which is told once it is sealed.
    /// Checks decide only about work that ended well, and only if they came after it.
    pub(super) fn end(self, ended: Ended, notes: &mut Vec<String>) -> (Ended, Result<(), Problem>) {
        if !self.is_wanted {
            return (ended, Ok(()));
        }
        let ended_well = ended.outcome == Outcome::Unverified;
        if !ended_well && self.came.is_none() {
            notes.push(unchecked::NOT_DONE.to_owned());
        }
        let unchecked = Ended { contract: Contracted::Unchecked, ..ended };
        let ended = match (self.stopped, self.came) {
            (Some(stopped), came) if ended_well => unchecked.after(stopped).beside(came),
            (_, Some(came)) if ended_well => unchecked.after(Round::Came(came)),
            (_, came) => unchecked.beside(came),
        };
        (ended, self.problem.map_or(Ok(()), Err))
    }
}
