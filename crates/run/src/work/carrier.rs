//! Carries proposals into the sandbox: each is decided and recorded before it is carried out.

use agent::{CallId, Carried, Interrupt};
use broker::{Broker, Context, Permit, Refusal};
use hands::proposal::{Outcome, Proposal};
use ledger::LedgerError;
use models::Cancel;
use names::Digest;
use policy::Exec;
use sandbox::{Hands, HandsError, Limit, tool_action};
use serde::Serialize;

use crate::problem::IntoProblem as _;
use crate::records::ExecResult;

/// The hands of one run, and who decides what they do.
pub(super) struct Carrier<'a> {
    hands: Hands<'a>,
    broker: &'a Broker,
    /// Of the program that runs.
    permit: Option<Permit<Exec>>,
    action: Exec,
    carried: u64,
    limit: Option<Limit>,
    interrupt: Interrupt,
}

/// What the ledger says came of a proposal.
#[derive(Serialize)]
struct ToolResult {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    /// Of the file that was read or written.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
}

impl<'a> Carrier<'a> {
    /// With hands that were started by this permit, for this action.
    pub(super) fn new(
        hands: Hands<'a>,
        broker: &'a Broker,
        permit: Permit<Exec>,
        action: Exec,
        interrupt: Interrupt,
    ) -> Self {
        let permit = Some(permit);
        Self { hands, broker, permit, action, carried: 0, limit: None, interrupt }
    }

    /// Nothing is carried any more. Says which limit ended the run, if one did.
    ///
    /// # Errors
    /// When the end could not be recorded.
    pub(super) fn finish(mut self) -> Result<Option<Limit>, LedgerError> {
        let limit = self.limit.or_else(|| self.hands.limit_reached());
        self.over(limit)?;
        Ok(limit)
    }

    /// Records that the program has ended.
    fn over(&mut self, limit: Option<Limit>) -> Result<(), LedgerError> {
        let Some(permit) = self.permit.take() else { return Ok(()) };
        let limit = limit.map(|limit| limit.key().to_owned());
        let result = ExecResult {
            exit: None,
            signal: None,
            limit,
            interrupted: false,
            printed: 0,
            took_ms: 0,
        };
        self.broker.complete(permit, &result)
    }

    fn refused(&self, refusal: Refusal) -> Carried {
        // Who wants no more of it has said so; what can't be recorded must not go on.
        if matches!(refusal, Refusal::Stopped { .. } | Refusal::Unrecorded(_)) {
            self.interrupt.end_run();
        }
        let problem = refusal.into_problem();
        Carried::Denied {
            reason: problem.what,
            rule: problem.rule.map(|rule| format!("{} ({}:{})", rule.id, rule.file, rule.line)),
            next: problem.next,
        }
    }

    /// Nobody knows what came of the proposal. The program is started again, if it can be.
    fn lost(&mut self, error: &HandsError) -> Carried {
        match error {
            HandsError::NotSent(_) | HandsError::OtherPermit => {}
            HandsError::Limit(limit) => {
                self.limit = Some(*limit);
                self.interrupt.end_run();
            }
            HandsError::Lost(_) => self.interrupt.end_run(),
            _ => self.start_again(),
        }
        Carried::Lost(error.to_string())
    }

    fn start_again(&mut self) {
        let begun = self.over(None).map_err(Refusal::Unrecorded);
        let permit = begun.and_then(|()| self.broker.request(self.action.clone()));
        let started = permit.is_ok_and(|permit| {
            let started = self.hands.restart(&permit);
            self.permit = Some(permit);
            started.is_ok()
        });
        if !started {
            self.interrupt.end_run();
        }
    }
}

impl agent::Hands for Carrier<'_> {
    fn carry_out(
        &mut self,
        _: &CallId,
        proposal: &Proposal,
        progress: &mut dyn FnMut(String),
        cancel: &Cancel,
    ) -> Carried {
        let wanted = || !cancel.is_cancelled();
        let action = tool_action(proposal);
        let permit = match self.broker.request_while(action, Context::default(), &wanted) {
            Ok(permit) => permit,
            Err(refusal) => return self.refused(refusal),
        };
        self.carried = self.carried.saturating_add(1);
        let cancelled = || cancel.is_cancelled();
        let shown = &mut |text: &str| progress(text.to_owned());
        let outcome = self.hands.carry_out(&permit, self.carried, proposal, &cancelled, shown);
        if self.broker.complete(permit, &result(&outcome)).is_err() {
            self.interrupt.end_run();
        }
        match outcome {
            Ok(outcome) => Carried::Outcome(outcome),
            Err(error) => self.lost(&error),
        }
    }
}

fn result(outcome: &Result<Outcome, HandsError>) -> ToolResult {
    match outcome {
        Ok(outcome) => {
            ToolResult { ok: outcome.ok, exit: outcome.exit, file: outcome.digest, lost: None }
        }
        Err(error) => {
            ToolResult { ok: false, exit: None, file: None, lost: Some(error.to_string()) }
        }
    }
}
