//! Carries the agent's proposals into its sandbox: each is decided and on record before it happens.
//!
//! What can't be decided or recorded is not carried out, and the agent is told why.

use std::path::PathBuf;

use agent::{CallId, Carried, Hands, Interrupt};
use broker::{Broker, Permit, Refusal};
use hands::proposal::{Outcome, Proposal};
use models::Cancel;
use policy::{Exec, Tool};
use sandbox::{HandsError, Limit, hands_action, tool_action};
use serde::Serialize;

use crate::records::ExecResult;

/// What carries out what is permitted: the program inside, or what stands for it in a test.
pub(super) trait Program {
    /// As [`sandbox::Hands::carry_out`].
    ///
    /// # Errors
    /// When there is no outcome.
    fn carry_out(
        &mut self,
        permit: &Permit<Tool>,
        id: u64,
        proposal: &Proposal,
        cancelled: &dyn Fn() -> bool,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Outcome, HandsError>;

    /// As [`sandbox::Hands::restart`].
    ///
    /// # Errors
    /// When it does not run.
    fn restart(&mut self, permit: &Permit<Exec>) -> Result<(), HandsError>;

    /// As [`sandbox::Hands::limit_reached`].
    fn limit_reached(&self) -> Option<Limit>;
}

impl Program for sandbox::Hands<'_> {
    fn carry_out(
        &mut self,
        permit: &Permit<Tool>,
        id: u64,
        proposal: &Proposal,
        cancelled: &dyn Fn() -> bool,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Outcome, HandsError> {
        Self::carry_out(self, permit, id, proposal, cancelled, shown)
    }

    fn restart(&mut self, permit: &Permit<Exec>) -> Result<(), HandsError> {
        Self::restart(self, permit)
    }

    fn limit_reached(&self) -> Option<Limit> {
        Self::limit_reached(self)
    }
}

/// The agent's hands: a program inside, behind the broker.
pub(super) struct Permitted<P> {
    program: P,
    broker: Broker,
    /// The project inside, where the program starts.
    directory: PathBuf,
    next: u64,
    is_down: bool,
    limit: Option<Limit>,
    /// Ends the run where it can't go on.
    interrupt: Interrupt,
}

/// The result in a `tool.result`.
#[derive(Debug, Serialize)]
struct ToolResult {
    /// Whether it was carried out.
    ok: bool,
    /// How a command ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    /// Bytes of text that the agent is shown of it.
    shown: u64,
    /// Why it never reached the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl<P: Program> Permitted<P> {
    /// Behind `broker`, a program that runs in `directory` of its sandbox.
    pub(super) fn new(
        program: P,
        broker: Broker,
        directory: PathBuf,
        interrupt: Interrupt,
    ) -> Self {
        Self { program, broker, directory, next: 0, is_down: false, limit: None, interrupt }
    }

    /// The limit that ended the run, if one did.
    pub(super) fn limit_reached(&self) -> Option<Limit> {
        self.limit.or_else(|| self.program.limit_reached())
    }

    /// Nobody knows what came of a proposal. A program that is gone is started again before the
    /// next; a sandbox that is gone is the end.
    fn lost(&mut self, error: &HandsError) -> Carried {
        match error {
            HandsError::Limit(limit) => {
                self.limit = Some(*limit);
                match limit {
                    Limit::Wall => self.interrupt.end_time(),
                    _ => self.interrupt.end_run(),
                }
            }
            HandsError::Lost(_) => self.interrupt.end_run(),
            _ => self.is_down = true,
        }
        Carried::Lost(error.to_string())
    }

    /// Starts the program again after it ended, for which a permit is needed as for any command.
    fn stand_up(&mut self) -> Result<(), String> {
        if !self.is_down {
            return Ok(());
        }
        let permit = self.broker.request(hands_action(self.directory.clone()));
        let permit = permit.map_err(|refusal| refusal.to_string())?;
        let started = self.program.restart(&permit).map_err(|error| error.to_string());
        // It goes on, so nothing of how it ends is known yet.
        let recorded = self.broker.complete(permit, &ExecResult::default());
        self.is_down = started.is_err();
        started.and(recorded.map_err(|error| error.to_string()))
    }

    fn carry(
        &mut self,
        permit: Permit<Tool>,
        proposal: &Proposal,
        progress: &mut dyn FnMut(String),
        cancel: &Cancel,
    ) -> Carried {
        self.next = self.next.saturating_add(1);
        let mut shown = |text: &str| progress(text.to_owned());
        let cancelled = || cancel.is_cancelled();
        match self.program.carry_out(&permit, self.next, proposal, &cancelled, &mut shown) {
            Ok(outcome) => self.done(permit, outcome),
            Err(error @ (HandsError::OtherPermit | HandsError::NotSent(_))) => {
                self.done_nothing(permit, &error)
            }
            // Without a result the intent reads "outcome unknown", which is what is known.
            Err(error) => self.lost(&error),
        }
    }

    fn done(&self, permit: Permit<Tool>, outcome: Outcome) -> Carried {
        let shown = outcome.text().len() as u64;
        let result = ToolResult { ok: outcome.ok, exit: outcome.exit, shown, failed: None };
        match self.broker.complete(permit, &result) {
            Ok(()) => Carried::Outcome(outcome),
            Err(error) => Carried::Lost(format!("it could not be recorded: {error}")),
        }
    }

    fn done_nothing(&self, permit: Permit<Tool>, error: &HandsError) -> Carried {
        let failed = Some(error.to_string());
        let result = ToolResult { ok: false, exit: None, shown: 0, failed };
        match self.broker.complete(permit, &result) {
            Ok(()) => Carried::Outcome(Outcome::failed(error.to_string())),
            Err(error) => Carried::Lost(format!("it could not be recorded: {error}")),
        }
    }
}

impl<P: Program> Hands for Permitted<P> {
    fn carry_out(
        &mut self,
        _: &CallId,
        proposal: &Proposal,
        progress: &mut dyn FnMut(String),
        cancel: &Cancel,
    ) -> Carried {
        if let Err(why) = self.stand_up() {
            return Carried::Lost(why);
        }
        let wanted = || !cancel.is_cancelled();
        let context = broker::Context::default();
        match self.broker.request_while(tool_action(proposal), context, &wanted) {
            Ok(permit) => self.carry(permit, proposal, progress, cancel),
            Err(refusal) => {
                // Who wants no more has said so; what can't be recorded must not go on.
                if matches!(refusal, Refusal::Stopped { .. } | Refusal::Unrecorded(_)) {
                    self.interrupt.end_run();
                }
                denied(&refusal)
            }
        }
    }
}

/// A refusal as the agent is told.
fn denied(refusal: &Refusal) -> Carried {
    let told = refusal.to_string();
    let reason = told.strip_prefix("denied: ").unwrap_or(&told).to_owned();
    let verdict = refusal.verdict();
    let rule =
        verdict.and_then(|verdict| verdict.decided_by.first()).map(|cause| cause.rule.clone());
    let next = verdict.and_then(|verdict| verdict.remedy.clone());
    Carried::Denied { reason, rule, next }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ledger::Ledger;
    use names::RunId;
    use policy::Flags;

    use super::*;
    use crate::authority;
    use crate::fixture::World;

    /// A program that answers what it is told to, once each.
    #[derive(Default)]
    struct Answers {
        outcomes: Vec<Result<Outcome, HandsError>>,
        restarted: u32,
    }

    impl Program for Answers {
        fn carry_out(
            &mut self,
            _: &Permit<Tool>,
            _: u64,
            _: &Proposal,
            _: &dyn Fn() -> bool,
            shown: &mut dyn FnMut(&str),
        ) -> Result<Outcome, HandsError> {
            shown("working\n");
            self.outcomes.remove(0)
        }

        fn restart(&mut self, _: &Permit<Exec>) -> Result<(), HandsError> {
            self.restarted += 1;
            Ok(())
        }

        fn limit_reached(&self) -> Option<Limit> {
            None
        }
    }

    /// What became of a line of shell, what was shown meanwhile, and the kinds of records.
    fn carried(
        profile: &str,
        outcomes: Vec<Result<Outcome, HandsError>>,
    ) -> (Vec<Carried>, String, Vec<String>) {
        let world = World::new();
        let project = world.settings.project(None).unwrap();
        let resolved =
            authority::resolve(&world.settings, &project, Some(profile), Flags::default()).unwrap();
        let path = world.settings.homes.home.join("ledger.jsonl");
        let run = RunId::from_parts((world.settings.clock)(), [0; 4]);
        let ledger = Ledger::create(&path, &run, world.settings.clock).unwrap();
        let broker = Broker::new(Arc::new(resolved.authority), ledger.clone());
        let interrupt = Interrupt::new();
        let times = outcomes.len();
        let program = Answers { outcomes, restarted: 0 };
        let mut hands = Permitted::new(program, broker, project.root, interrupt.clone());
        let bash = Proposal::Bash {
            command: "make".into(),
            timeout: None,
            background: false,
            terminal: false,
        };
        let mut shown = String::new();
        let call = CallId("1".into());
        let carried = (0..times).map(|_| {
            let mut progress = |text: String| shown.push_str(&text);
            hands.carry_out(&call, &bash, &mut progress, &Cancel::new())
        });
        let carried = carried.collect();
        ledger.sync().unwrap();
        let text = std::fs::read(path).unwrap();
        let kinds = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            line["kind"].as_str().unwrap().to_owned()
        });
        (carried, shown, kinds.skip(1).collect())
    }

    #[test]
    fn a_proposal_is_on_record_before_and_after() {
        let outcome = Outcome { exit: Some(0), ..Outcome::done("made") };
        let (carried, shown, kinds) = carried("agent", vec![Ok(outcome.clone())]);
        assert_eq!(carried, [Carried::Outcome(outcome)]);
        assert_eq!(shown, "working\n");
        assert_eq!(kinds, ["tool.intent", "tool.result"]);
    }

    #[test]
    fn a_tool_that_no_rule_allows_is_not_carried_out() {
        let (carried, shown, kinds) = carried("offline", vec![Ok(Outcome::done("made"))]);
        let [Carried::Denied { rule, next, .. }] = &carried[..] else { panic!("{carried:?}") };
        assert_eq!(rule.as_deref(), Some("default tool"));
        assert!(next.as_ref().unwrap().contains("bash"), "{next:?}");
        assert_eq!((shown.as_str(), kinds), ("", vec!["denied".to_owned()]));
    }

    #[test]
    fn a_program_that_ended_leaves_the_outcome_unknown_and_is_started_again() {
        let outcomes = vec![Err(HandsError::Gone), Ok(Outcome::done("made"))];
        let (carried, _, kinds) = carried("agent", outcomes);
        assert!(matches!(carried[..], [Carried::Lost(_), Carried::Outcome(_)]), "{carried:?}");
        let expected = ["tool.intent", "exec.intent", "exec.result", "tool.intent", "tool.result"];
        assert_eq!(kinds, expected);
    }
}
