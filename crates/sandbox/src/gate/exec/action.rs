//! Which action a call is, and on whose word it may go on.

use broker::{Broker, Permit};
use policy::{Action, Exec, Outcome};

use super::program::Program;

/// What a call to run a program is carried out on.
#[derive(Debug)]
pub(in crate::gate) enum Grant {
    /// A permit of its own.
    Permit(Permit<Exec>),
    /// It is the command that the person started, which has its permit.
    Ordered,
}

impl Grant {
    /// An order is used up by what it is for.
    pub(in crate::gate) fn by_order(_: Ordered) -> Self {
        Self::Ordered
    }
}

/// A command that was permitted and is about to be started by init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) struct Ordered {
    command: Exec,
    /// The record of its permit.
    pub(in crate::gate) intent: u64,
}

impl Ordered {
    pub(in crate::gate) fn by(permit: &Permit<Exec>) -> Self {
        Self { command: permit.act().clone(), intent: permit.record().seq }
    }

    /// The same file with the same arguments in the same place, by whatever name it is called.
    fn covers(&self, step: &Exec) -> bool {
        let ordered = &self.command;
        (&ordered.program, &ordered.args, &ordered.cwd) == (&step.program, &step.args, &step.cwd)
    }
}

/// The step that needs a word of its own, and which: the strictest, and of equals the first. `None` when the
/// person's order covers all that is not simply allowed.
pub(in crate::gate) fn to_decide<'a>(
    broker: &Broker,
    program: &'a Program,
    ordered: Option<&Ordered>,
) -> Option<(Outcome, &'a Exec)> {
    let outcome = |step: &Exec| broker.authority().decide(&Action::Exec(step.clone())).outcome;
    let covered = |step: &Exec| ordered.is_some_and(|ordered| ordered.covers(step));
    let others = program.steps.iter().filter(|step| !covered(step));
    let strictest = others.map(|step| (outcome(step), step)).fold(None, stricter);
    let has_order = program.steps.iter().any(covered);
    strictest.filter(|(outcome, _)| !has_order || *outcome != Outcome::Allow)
}

/// What runs along with the step that is decided about, and not on the person's order.
pub(in crate::gate) fn along<'a>(
    program: &'a Program,
    ordered: Option<&Ordered>,
    decided: &Exec,
) -> Vec<&'a Exec> {
    let covered = |step: &Exec| ordered.is_some_and(|ordered| ordered.covers(step));
    program.steps.iter().filter(|step| *step != decided && !covered(step)).collect()
}

fn stricter<'a>(
    best: Option<(Outcome, &'a Exec)>,
    next: (Outcome, &'a Exec),
) -> Option<(Outcome, &'a Exec)> {
    best.filter(|best| best.0 >= next.0).or(Some(next))
}
