//! Running programs: execve(2), execveat(2).

mod action;
mod effect;
mod program;
mod wire;

use std::sync::{Mutex, PoisonError};

use broker::Permit;
use policy::{Exec, Outcome};
use rustix::io::Errno;
use serde::Serialize;
use sys::notify::Notification;

use super::answer::Denied;
use super::serve::Gate;
use super::who::started_by;
use action::{Grant, Ordered, along, to_decide};
use effect::Ran;
use program::Program;
use wire::ExecCall;

/// The command that init starts next.
#[derive(Debug, Default)]
pub(in crate::gate) struct Orders(Mutex<Option<Ordered>>);

impl Orders {
    pub(in crate::gate) fn expect(&self, permit: &Permit<Exec>) {
        *self.slot() = Some(Ordered::by(permit));
    }

    /// Init has answered to the order of this record: whatever comes now is not what was ordered.
    pub(in crate::gate) fn answered(&self, intent: u64) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|ordered| ordered.intent == intent) {
            *slot = None;
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Ordered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the ledger says of a program that was let run.
#[derive(Serialize)]
struct ExecStarted {
    started: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'static str>,
}

/// Carries a call out.
///
/// # Errors
/// Why it is not, for its caller.
pub(in crate::gate) fn serve(gate: &Gate, call: &Notification) -> Result<(), Denied> {
    let asked = ExecCall::read(call)?;
    let found = Program::of(gate.view(call.thread)?, call.thread, &asked);
    gate.still_waiting(call)?;
    let program = match found {
        Ok(program) => program,
        Err(unfit) => return Err(unfit.denied(&asked)),
    };
    let grant = decide(gate, call, &program)?;
    gate.still_waiting(call)?;
    let ran = effect::run(&gate.listener, call, &grant, &program);
    record(gate, grant, *ran.as_ref().unwrap_or(&Ran::Not));
    ran.map(drop)
}

fn decide(gate: &Gate, call: &Notification, program: &Program) -> Result<Grant, Denied> {
    let mut slot = gate.orders.slot();
    let Some((outcome, step)) = to_decide(&gate.broker, program, slot.as_ref()) else {
        return slot.take().map(Grant::by_order).ok_or(Errno::PERM.into());
    };
    for other in along(program, slot.as_ref(), step) {
        gate.broker.learn_along(&other.clone().into()).map_err(|_| Errno::PERM)?;
    }
    drop(slot);
    let is_ask = outcome == Outcome::Ask;
    let started_by = if is_ask { started_by(call.thread) } else { Vec::new() };
    let context = broker::Context { started_by, ..broker::Context::default() };
    gate.request(call, step.clone(), context).map(Grant::Permit)
}

fn record(gate: &Gate, grant: Grant, ran: Ran) {
    let Grant::Permit(permit) = grant else { return };
    let because = match ran {
        Ran::AsPermitted => None,
        Ran::Not => Some("the kernel did not run it"),
        Ran::Otherwise => Some("what was about to run was not what was permitted: killed"),
    };
    let result = ExecStarted { started: ran == Ran::AsPermitted, because };
    // A ledger that takes no more refuses the next request.
    let _ = gate.broker.complete(permit, &result);
}
