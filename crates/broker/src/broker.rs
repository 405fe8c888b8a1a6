//! Decide, ask where the authority says so, record, mint: the order is the guarantee.

use std::sync::Arc;

use ledger::{Ledger, LedgerError, Recorded};
use names::Digest;
use policy::{Action, Authority, Cause, Kind, Outcome, Verdict};
use serde::Serialize;

use crate::act::Act;
use crate::act::private::Strength;
use crate::approvals::{Approvals, Approved, Declined, Question};
use crate::ask::{Answerer, Context};
use crate::cut;
use crate::learn::Conduct;
use crate::permit::Permit;
use crate::refusal::Refusal;

/// Kind of the record of every refused action.
const DENIED: &str = ledger::kind::DENIED;

/// The only maker of permits, for one run under one authority. Clones share both.
#[derive(Debug, Clone)]
pub struct Broker {
    authority: Arc<Authority>,
    digest: Digest,
    pub(crate) ledger: Ledger,
    pub(crate) conduct: Conduct,
    approvals: Option<Approvals>,
}

impl Broker {
    /// A broker that decides by `authority` and records in `ledger`. Nobody is there to ask.
    #[must_use]
    pub fn new(authority: Arc<Authority>, ledger: Ledger) -> Self {
        let digest = authority.digest();
        Self { digest, authority, ledger, conduct: Conduct::Enforcing, approvals: None }
    }

    /// The same, where a person can be asked through `approvals`.
    #[must_use]
    pub fn with_approvals(self, approvals: Approvals) -> Self {
        Self { approvals: Some(approvals), ..self }
    }

    /// Decides about `act`, records the intent or the denial, and mints a permit if it is allowed.
    /// Where the verdict is ask, this blocks until a person has answered or none will.
    pub fn request<A: Act>(&self, act: A) -> Result<Permit<A>, Refusal> {
        self.request_with(act, Context::default())
    }

    /// The same; `context` is what a person is shown besides the action, if they are asked.
    pub fn request_with<A: Act>(&self, act: A, context: Context) -> Result<Permit<A>, Refusal> {
        self.request_while(act, context, &|| true)
    }

    /// The same; an ask is withdrawn within a second or so once it is no more `wanted`, for instance
    /// because whoever wanted it is gone.
    pub fn request_while<A: Act>(
        &self,
        act: A,
        context: Context,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Permit<A>, Refusal> {
        let action = act.action();
        let verdict = self.authority.decide(&action);
        if self.approvals.as_ref().is_some_and(Approvals::wants_stop) {
            return Err(self.declined(&action, verdict, Declined::Stopped));
        }
        if self.lets_through(&action, &verdict) {
            return self.learn(act, &action, &verdict);
        }
        let approved = match (verdict.outcome, &self.approvals) {
            (Outcome::Allow, _) => None,
            (Outcome::Ask, Some(approvals)) => {
                let question = self.question(&action, &verdict, context);
                match approvals.ask(question, wanted) {
                    Ok(approved) => Some(approved),
                    Err(declined) => return Err(self.declined(&action, verdict, declined)),
                }
            }
            (Outcome::Ask, None) => {
                let record = self.deny(&action, &verdict, Why::of("unanswered"))?;
                return Err(Refusal::Unanswered { verdict: Box::new(verdict), record });
            }
            (Outcome::Deny, _) => {
                let record = self.deny(&action, &verdict, Why::of("verdict"))?;
                return Err(Refusal::Denied { verdict: Box::new(verdict), record });
            }
        };
        let record = self.intend::<A>(&action, &verdict, approved)?;
        Ok(Permit::mint(act, record, self.ledger.clone()))
    }

    /// Records that an action was refused which no rule could have allowed, such as running a
    /// program that nobody could name, or a connection whose bytes are for another host.
    pub fn record_denial(&self, action: &Action, why: &str) -> Result<Recorded, LedgerError> {
        let verdict = Verdict {
            outcome: Outcome::Deny,
            decided_by: vec![],
            lost: vec![],
            reason: why.to_owned(),
            remedy: None,
        };
        self.deny(action, &verdict, Why::of("gate"))
    }

    /// Records the result of what `permit` was for, in the ledger of its intent. Without this the
    /// intent reads "outcome unknown" for ever.
    pub fn complete<A: Act>(
        &self,
        permit: Permit<A>,
        result: &impl Serialize,
    ) -> Result<(), LedgerError> {
        let (record, ledger) = permit.spend();
        write::<A>(&ledger, kinds(A::KIND).1, &Completed { intent: record.seq, result })?;
        Ok(())
    }

    /// The authority that decides.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The ledger that records.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where a person is asked, if one can be.
    #[must_use]
    pub fn approvals(&self) -> Option<&Approvals> {
        self.approvals.as_ref()
    }

    fn question<'a>(
        &self,
        action: &'a Action,
        verdict: &'a Verdict,
        context: Context,
    ) -> Question<'a> {
        let action_digest = action.digest();
        Question { action, action_digest, authority: self.digest, verdict, context }
    }

    /// Records that nobody approved, and says why.
    fn declined(&self, action: &Action, verdict: Verdict, declined: Declined) -> Refusal {
        let why = match &declined {
            Declined::Unrecorded(error) => return Refusal::Unrecorded(error.clone()),
            Declined::Timeout { asked } => Why { asked: Some(*asked), ..Why::of("timeout") },
            Declined::Withdrawn { asked } => Why { asked: Some(*asked), ..Why::of("withdrawn") },
            Declined::Capped(capped) => Why { cap: Some(capped.key), ..Why::of("rate-cap") },
            Declined::Person { by, reason, record } => Why {
                approval: Some(*record),
                by: Some(by),
                said: reason.as_deref(),
                ..Why::of("person")
            },
            Declined::Stopped => Why::of("stopped"),
            Declined::TooLarge { .. } => Why::of("too-large"),
        };
        let record = match self.deny(action, &verdict, why) {
            Ok(record) => record,
            Err(error) => return Refusal::Unrecorded(error),
        };
        let verdict = Box::new(verdict);
        match declined {
            Declined::Unrecorded(error) => Refusal::Unrecorded(error),
            Declined::Timeout { .. } => {
                Refusal::TimedOut { verdict, timeout: self.authority.approvals.timeout, record }
            }
            Declined::Capped(capped) => Refusal::Capped { verdict, capped, record },
            Declined::Person { by, reason, .. } => {
                Refusal::ByPerson { verdict, by, reason, record }
            }
            Declined::Stopped => Refusal::Stopped { verdict, record },
            Declined::Withdrawn { .. } => Refusal::Withdrawn { verdict, record },
            Declined::TooLarge { bytes } => Refusal::TooLarge { verdict, bytes, record },
        }
    }

    fn intend<A: Act>(
        &self,
        action: &Action,
        verdict: &Verdict,
        approved: Option<Approved>,
    ) -> Result<Recorded, LedgerError> {
        let approval = approved.map(|approved| approved.record);
        let decision = Decision { approval, ..self.decision(action, verdict) };
        write::<A>(&self.ledger, kinds(A::KIND).0, &decision)
    }

    /// A refused action whose arguments no record can hold is recorded without them.
    fn deny(
        &self,
        action: &Action,
        verdict: &Verdict,
        why: Why<'_>,
    ) -> Result<Recorded, LedgerError> {
        let Why { because, approval, asked, cap, by, said } = why;
        let because = Some(because);
        let decision = self.decision(action, verdict);
        let denial = Decision { because, approval, asked, cap, by, said, ..decision };
        match self.ledger.commit(DENIED, &denial) {
            Err(LedgerError::TooLarge { .. }) => {
                let action = &cut::short(action);
                self.ledger.commit(DENIED, &Decision { action, cut: Some(true), ..denial })
            }
            recorded => recorded,
        }
    }

    pub(crate) fn decision<'a>(&self, action: &'a Action, verdict: &'a Verdict) -> Decision<'a> {
        Decision {
            action,
            action_digest: action.digest(),
            authority: self.digest,
            outcome: verdict.outcome,
            decided_by: &verdict.decided_by,
            reason: &verdict.reason,
            because: None,
            approval: None,
            asked: None,
            cap: None,
            by: None,
            said: None,
            cut: None,
            learned: None,
        }
    }
}

/// Writes as strongly as the act demands.
pub(crate) fn write<A: Act>(
    ledger: &Ledger,
    kind: &str,
    body: &impl Serialize,
) -> Result<Recorded, LedgerError> {
    match A::STRENGTH {
        Strength::Synced => ledger.commit(kind, body),
        Strength::Journaled => ledger.journal(kind, body),
    }
}

/// The kinds of record of an action: its intent and its result.
pub(crate) const fn kinds(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Exec => ("exec.intent", "exec.result"),
        Kind::Open => ("open.intent", "open.result"),
        Kind::Mount => ("mount.intent", "mount.result"),
        Kind::Connect => ("connect.intent", "connect.result"),
        Kind::Resolve => ("resolve.intent", "resolve.result"),
        Kind::Http => ("http.intent", "http.result"),
        Kind::GitPush => ("git-push.intent", "git-push.result"),
        Kind::Docker => ("docker.intent", "docker.result"),
        Kind::Lease => ("lease.intent", "lease.result"),
        Kind::Publish => ("publish.intent", "publish.result"),
        Kind::Tool => ("tool.intent", "tool.result"),
        Kind::Apply => ("apply.intent", "apply.result"),
        Kind::Discard => ("discard.intent", "discard.result"),
        Kind::Undo => ("undo.intent", "undo.result"),
        Kind::Branch => ("branch.intent", "branch.result"),
    }
}

/// Body of an intent or a denial.
#[derive(Clone, Serialize)]
pub(crate) struct Decision<'a> {
    action: &'a Action,
    action_digest: Digest,
    authority: Digest,
    outcome: Outcome,
    decided_by: &'a [Cause],
    reason: &'a str,
    /// What turned the action into a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'static str>,
    /// The record of the answer that allowed or denied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<u64>,
    /// The record of the ask that nobody answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u64>,
    /// The key that cut it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<&'static str>,
    /// Who denied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Answerer>,
    /// What they said.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
    /// The arguments are told, not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<bool>,
    /// The record by which a learning run lets it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) learned: Option<u64>,
}

/// What turned an action into a denial.
struct Why<'a> {
    because: &'static str,
    approval: Option<u64>,
    asked: Option<u64>,
    cap: Option<&'static str>,
    by: Option<&'a Answerer>,
    said: Option<&'a str>,
}

impl Why<'_> {
    fn of(because: &'static str) -> Self {
        Self { because, approval: None, asked: None, cap: None, by: None, said: None }
    }
}

/// Body of a result.
#[derive(Serialize)]
struct Completed<'a, T> {
    intent: u64,
    result: &'a T,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_after_the_kind() {
        for kind in Kind::ALL {
            let (intent, result) = kinds(kind);
            assert_eq!(intent, format!("{kind}{}", ledger::kind::INTENT));
            assert_eq!(result, format!("{kind}{}", ledger::kind::RESULT));
        }
    }
}
