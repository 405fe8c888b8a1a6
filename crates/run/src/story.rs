//! What the ledger of one run tells, read once.
//!
//! The ledger's bytes may be anything: what does not read is a problem that names the file and the
//! record. Whether the chain holds is the verifier's to say; this tells what the records that hold
//! say.

use std::collections::{BTreeMap, HashMap};
use std::io;

use api::{
    AgentView, AnsweredAsk, AuditRecord, Chain, Denial, Enforcement, Problem, Reached,
    VerificationView,
};
use broker::Answerer;
use contract::Contract;
use ledger::{
    Approval, Broken, Expect, Head, Length, Record, SignedHead, kind, records, verify_ledger,
};
use names::{AskId, Digest, Timestamp, printable};
use policy::{Action, Authority, Cause};
use serde::Deserialize;
use serde_json::Value;

use crate::carried::read as body;
use crate::entered::Entries;
use crate::policy_commands::limit_texts;
use crate::problem::{OrProblem as _, rule_ref};
use crate::reached::Connections;
use crate::records::{Changes, Checked, ExecResult, LIMIT, LimitReached, RunEnd, RunStart};
use crate::state::{ASKED, CHECKING, Course};
use crate::store::{self, RunDirectory, StoreError};
use crate::verify;
use crate::work::journal::{self, TurnStart, Used};

/// The bytes of a ledger and how much of them holds.
pub(crate) struct Verified {
    bytes: Vec<u8>,
    /// What the verifier says.
    pub chain: Chain,
    /// How many records the receipt was signed over.
    signed: Option<u64>,
    /// The only fault is what a crash may have torn, or kept from being written.
    torn: bool,
}

impl Verified {
    /// Reads and verifies the ledger of a run. While the run goes on, a last line that is half
    /// written is no fault.
    ///
    /// # Errors
    /// When it can't be read. A broken one is no error here.
    pub(crate) fn read(run: &RunDirectory, going_on: bool) -> Result<Self, Problem> {
        Self::read_knowing(run, going_on, Vec::new())
    }

    /// The same, where further heads of it are known.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn read_knowing(
        run: &RunDirectory,
        going_on: bool,
        mut heads: Vec<Head>,
    ) -> Result<Self, Problem> {
        let mut notes = Vec::new();
        // Read before the ledger, which grows meanwhile, and has what was signed of it before.
        heads.extend(signed_heads(run, &mut notes));
        let path = run.ledger();
        let bytes = store::read(&path).map_err(store::at(&path)).or_problem()?;
        let head = known_head(run, &mut notes);
        let signed = head.as_ref().map(|head| head.count);
        let is_known = head.is_some();
        let whole = if going_on { whole_lines(&bytes) } else { &bytes };
        let verdict = verify_ledger(whole, Expect { run: Some(run.id.clone()), head, heads });
        notes.extend(verdict.notes.iter().map(ToString::to_string));
        if verdict.length == Length::Unknown && verdict.holds() && !going_on {
            notes.push("length unknown: nothing says how many records there are".to_owned());
        }
        let torn = match verdict.broken {
            Some(Broken::Torn { .. }) => true,
            // As a crash leaves it right at the beginning.
            Some(Broken::Empty) => !is_known,
            _ => false,
        };
        let chain = Chain {
            intact: verdict.holds(),
            count: verdict.head.count,
            head: (verdict.head.count > 0).then_some(verdict.head.hash),
            problem: verdict.broken.map(|broken| broken.to_string()),
            notes,
        };
        Ok(Self { bytes, chain, signed, torn })
    }

    /// What is wrong with it, but for what a crash may have torn.
    pub(crate) fn flaw(&self) -> Option<&str> {
        self.chain.problem.as_deref().filter(|_| !self.torn)
    }

    /// The records that hold.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let count = self.chain.count;
        records(&self.bytes).take_while(move |record| record.seq < count)
    }
}

/// The head that the receipt vouches for. A receipt that can't be read vouches for none.
fn known_head(run: &RunDirectory, notes: &mut Vec<String>) -> Option<Head> {
    let bytes = match store::read(&run.receipt()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            notes.push(format!("{}: {error}", run.receipt().display()));
            return None;
        }
    };
    match ledger::CheckedReceipt::parse(&bytes) {
        Ok(receipt) => Some(receipt.statement().predicate.ledger),
        Err(error) => {
            notes.push(format!("{} is not a receipt: {error}", run.receipt().display()));
            None
        }
    }
}

/// The heads that were signed while the run went on. Whose signature they bear is not looked at:
/// one that the ledger does not contain is a reason to look closer, whoever wrote it.
pub(crate) fn signed_heads(run: &RunDirectory, notes: &mut Vec<String>) -> Vec<Head> {
    let bytes = match store::read(&run.heads()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            notes.push(format!("{}: {error}", run.heads().display()));
            return Vec::new();
        }
    };
    match ledger::signed_heads(&bytes) {
        Ok(heads) => heads.iter().filter(|it| *it.run() == run.id).map(SignedHead::head).collect(),
        Err(error) => {
            notes.push(format!("{}: {error}", run.heads().display()));
            Vec::new()
        }
    }
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
    bytes.get(..end).unwrap_or_default()
}

/// What the records of one run say.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// How far it came.
    pub course: Course,
    /// `run.start`.
    pub start: Option<RunStart>,
    /// What the sandbox measured about itself.
    pub enforcement: Option<sandbox::Enforcement>,
    /// What a person was asked, until it was answered.
    asked: BTreeMap<AskId, Action>,
    /// What they answered, in order.
    pub answered: Vec<AnsweredAsk>,
    /// What was refused, in order.
    pub denied: Vec<NotAllowed>,
    /// What a learning run let through, in order.
    pub let_through: Vec<NotAllowed>,
    /// What it was connected to.
    pub connections: Connections,
    /// Who came in.
    pub entries: Entries,
    /// How many commands ended.
    pub commands: u64,
    /// The last command's end.
    pub last: Option<ExecResult>,
    /// The limit that ended it.
    pub limit: Option<LimitReached>,
    /// Its change set.
    pub changes: Option<Changes>,
    /// The last `verification`, and the executions of checks before it.
    pub verified: Option<(ledger::Verified, Vec<Checked>)>,
    /// Executions of checks.
    checked: Vec<Checked>,
    /// Whether a round of checks began.
    pub checking: bool,
    /// What Loop's own agent did, but for the session's name.
    pub agent: Option<AgentView>,
    /// `run.end`, and when.
    pub end: Option<(Timestamp, RunEnd)>,
    /// The time of the last record.
    pub until: Option<Timestamp>,
}

/// What is read of a `denied` or a `learned` record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub(crate) struct NotAllowed {
    pub(crate) action: Action,
    decided_by: Vec<Cause>,
    reason: String,
}

#[derive(Deserialize)]
struct Asked {
    ask: AskId,
    action: Action,
}

#[derive(Deserialize)]
struct Answered {
    ask: AskId,
    kind: String,
    answer: String,
    by: Answerer,
    reason: Option<String>,
}

/// What is read of an answer that allows something.
#[derive(Deserialize)]
struct Approving {
    action_digest: Digest,
    answer: String,
    by: Answerer,
}

/// What a ledger says was reached, for the receipt; `None` is a record that this program can't read.
pub(crate) fn reached(ledger: &[u8]) -> Option<Vec<Reached>> {
    let mut connections = Connections::default();
    let read = records(whole_lines(ledger)).try_for_each(|record| connections.add(&record));
    read.ok().map(|()| connections.reached())
}

/// The answers of a ledger that allow something, for the receipt; `None` is one that this program
/// can't read.
pub(crate) fn approvals(ledger: &[u8]) -> impl Iterator<Item = Option<Approval>> {
    let answers = records(whole_lines(ledger)).filter(|record| record.kind == kind::ANSWERED);
    let read = answers.map(|record| (record.seq, body::<Approving>(&record).ok()));
    read.filter(|(_, answer)| {
        answer.as_ref().is_none_or(|it| matches!(it.answer.as_str(), "once" | "run"))
    })
    .map(|(record, answer)| {
        let Approving { action_digest, answer, by } = answer?;
        Some(Approval { record, action: action_digest, scope: answer, by: by.to_string() })
    })
}

#[derive(Deserialize)]
struct Completed<T> {
    result: T,
}

/// How a program's running is told: whole of a command, and of what a command started only that it
/// did.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExecEnd {
    Command(ExecResult),
    Mediated {
        #[expect(dead_code, reason = "tells the two apart")]
        started: bool,
    },
}

impl Story {
    /// Reads the records that hold.
    ///
    /// # Errors
    /// When a record does not say what its kind has to say.
    pub(crate) fn read(run: &RunDirectory, ledger: &Verified) -> Result<Self, Problem> {
        let mut story = Self::default();
        for record in ledger.records() {
            story.signed_over(record.seq, ledger);
            story
                .add(&record)
                .map_err(|problem| {
                    let path = run.ledger();
                    let problem = format!("record {} ({}): {problem}", record.seq, record.kind);
                    StoreError::Malformed { path, problem }
                })
                .or_problem()?;
        }
        story.signed_over(ledger.chain.count, ledger);
        Ok(story)
    }

    /// The receipt is no record; it tells between which two it was signed.
    fn signed_over(&mut self, records: u64, ledger: &Verified) {
        if ledger.signed == Some(records) {
            self.course.sign();
        }
    }

    fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        self.until = Some(record.time);
        self.course.add(record)?;
        match record.kind {
            kind::RUN_START => self.start = Some(body(record)?),
            kind::ENFORCEMENT => self.enforcement = Some(body(record)?),
            kind::DENIED => self.denied.push(body(record)?),
            kind::LEARNED => self.let_through.push(body(record)?),
            ASKED => {
                let Asked { ask, action } = body(record)?;
                self.asked.insert(ask, action);
            }
            kind::ANSWERED => self.answer(record)?,
            "connect.intent" | "connect.result" => self.connections.add(record)?,
            "publish.intent" | "publish.result" => self.entries.add(record)?,
            kind::CHANGES => self.changes = Some(body(record)?),
            CHECKING => self.checking = true,
            kind::CHECK => self.checked.push(body(record)?),
            kind::VERIFICATION => self.verified = Some((body(record)?, self.checked.clone())),
            kind::RUN_END => self.end = Some((record.time, body(record)?)),
            LIMIT => self.limit = Some(body(record)?),
            journal::TURN_START => self.begin_turn(body(record)?),
            journal::MODEL => self.call_model(&body(record)?),
            "exec.result" => {
                if let ExecEnd::Command(result) = body::<Completed<ExecEnd>>(record)?.result {
                    self.commands = self.commands.saturating_add(1);
                    self.last = Some(result);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_turn(&mut self, begun: TurnStart) {
        let agent = self.agent.get_or_insert_default();
        agent.model = begun.model;
        agent.turns = agent.turns.saturating_add(1);
    }

    fn call_model(&mut self, used: &Used) {
        let agent = self.agent.get_or_insert_default();
        agent.steps = agent.steps.saturating_add(1);
        agent.tokens = agent.tokens.saturating_add(used.tokens);
        agent.cost_micro_usd.0 = agent.cost_micro_usd.0.saturating_add(used.cost_micro_usd.0);
    }

    fn answer(&mut self, record: &Record<'_>) -> Result<(), String> {
        let Answered { ask, kind, answer, by, reason } = body(record)?;
        let action = self.asked.remove(&ask).map(|action| action.to_string());
        let what = action.as_deref().map(|text| text.strip_prefix(&kind).unwrap_or(text));
        self.answered.push(AnsweredAsk {
            id: ask,
            what: what.unwrap_or_default().trim_start().to_owned(),
            action: kind,
            answer,
            by: by.to_string(),
            reason,
            record: record.seq,
        });
        Ok(())
    }

    /// What the run's last checks came to.
    ///
    /// # Errors
    /// When its contract can't be read.
    pub(crate) fn verification(
        &self,
        run: &RunDirectory,
    ) -> Result<Option<VerificationView>, Problem> {
        let Some((stated, checked)) = &self.verified else { return Ok(None) };
        let contract = contract(run)?.filter(|it| it.digest() == stated.verification.contract);
        let end = self.end.as_ref().map(|(_, end)| end.reasons.as_slice()).unwrap_or_default();
        Ok(Some(verify::view(contract.as_ref(), stated, checked, end)))
    }

    /// What was refused, each once with its number.
    pub(crate) fn denials(&self, authority: &Authority) -> Vec<Denial> {
        denials(&self.denied, authority)
    }

    /// Of a learning run: what was let through, each once with its number.
    pub(crate) fn learned(&self, authority: &Authority) -> Option<Vec<Denial>> {
        let learning = self.start.as_ref().is_some_and(|start| start.learning);
        learning.then(|| denials(&self.let_through, authority))
    }
}

/// What was not allowed, for a client, each once with its number.
pub(crate) fn denials(records: &[NotAllowed], authority: &Authority) -> Vec<Denial> {
    counted(records).into_iter().map(|(record, count)| record.view(authority, count)).collect()
}

/// Each record once, with its number, in the order of their first.
pub(crate) fn counted(records: &[NotAllowed]) -> Vec<(&NotAllowed, u64)> {
    let mut counts: HashMap<&NotAllowed, u64> = HashMap::new();
    let mut first = Vec::new();
    for record in records {
        let count = counts.entry(record).or_default();
        if *count == 0 {
            first.push(record);
        }
        *count = count.saturating_add(1);
    }
    first.into_iter().map(|record| (record, counts.get(record).copied().unwrap_or(0))).collect()
}

/// What a ledger says was not allowed, in its records of one kind after the record `since`, in
/// order; `None` is one that this program can't read. Nothing is verified: this is for whoever
/// keeps the ledger.
pub(crate) fn not_allowed<'a>(
    ledger: &'a [u8],
    kind: &'static str,
    since: u64,
) -> impl Iterator<Item = Option<NotAllowed>> + use<'a> {
    records(whole_lines(ledger))
        .filter(move |record| record.seq > since && record.kind == kind)
        .map(|record| body(&record).ok())
}

impl NotAllowed {
    /// The kind of the action.
    pub(crate) fn kind(&self) -> String {
        self.action.kind().to_string()
    }

    fn view(&self, authority: &Authority, count: u64) -> Denial {
        let kind = self.kind();
        let text = self.action.to_string();
        let what = text.strip_prefix(&kind).map_or(text.as_str(), str::trim_start).to_owned();
        Denial {
            action: kind,
            what,
            rule: self.decided_by.first().map(rule_ref),
            reason: self.reason.clone(),
            next: authority.decide(&self.action).remedy,
            count,
        }
    }
}

/// The contract of a run, if it has one.
///
/// # Errors
/// When its file can't be read, or holds none.
pub(crate) fn contract(run: &RunDirectory) -> Result<Option<Contract>, Problem> {
    let path = run.contract();
    let bytes = match store::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(store::at(&path)(error)).or_problem(),
    };
    let contract = Contract::from_bytes(&bytes).map(Some);
    contract
        .map_err(|error| StoreError::Malformed { path, problem: error.to_string() })
        .or_problem()
}

/// The measurements of a sandbox, for a client; `uid` is the user inside.
pub(crate) fn enforcement(
    measured: &sandbox::Enforcement,
    authority: &Authority,
    uid: u32,
) -> Enforcement {
    let allowed = limit_texts(&authority.limits);
    let limit = |(limit, held_by): (&String, &String)| api::EnforcedLimit {
        limit: limit.clone(),
        allowed: allowed.get(limit).cloned().unwrap_or_default(),
        held_by: held_by.clone(),
    };
    let attempt = |proof: &sandbox::Proof| api::SelfTest {
        attempt: proof.tried.clone(),
        // A sandbox in which one of them works is refused, so it has no record.
        held: true,
        detail: proof.answer.clone(),
    };
    Enforcement {
        backend: measured.backend.clone(),
        kernel: measured.kernel.clone(),
        landlock_abi: measured.landlock_abi,
        syscall_filter: !measured.filter.is_empty(),
        uid,
        limits: measured.limits.iter().map(limit).collect(),
        self_test: measured.proofs.iter().map(attempt).collect(),
    }
}

/// The records as a trace. An intent without a result is marked, unless its result may still come.
///
/// # Errors
/// When a body is no JSON that can be shown.
pub(crate) fn trace(
    run: &RunDirectory,
    ledger: &Verified,
    going_on: bool,
) -> Result<Vec<AuditRecord>, Problem> {
    let mut trace: Vec<AuditRecord> = Vec::new();
    for record in ledger.records() {
        let body: Value = body(&record)
            .map_err(|problem| StoreError::Malformed {
                path: run.ledger(),
                problem: format!(
                    "record {} ({}): {problem}",
                    record.seq,
                    printable(record.kind.as_bytes())
                ),
            })
            .or_problem()?;
        if record.kind.ends_with(kind::RESULT) {
            settle(&mut trace, &body);
        }
        trace.push(AuditRecord {
            seq: record.seq,
            time: record.time,
            kind: record.kind.to_owned(),
            body,
            hash: record.hash,
            outcome_unknown: record.kind.ends_with(kind::INTENT) && !going_on,
        });
    }
    Ok(trace)
}

/// Takes the mark off the intent that a result belongs to.
fn settle(trace: &mut [AuditRecord], result: &Value) {
    let intent = result.get("intent").and_then(Value::as_u64);
    let place = intent.and_then(|seq| usize::try_from(seq).ok());
    if let Some(intent) = place.and_then(|place| trace.get_mut(place)) {
        intent.outcome_unknown = false;
    }
}
