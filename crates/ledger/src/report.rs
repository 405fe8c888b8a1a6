//! What the verifier says, for people and for programs. `loop-verify` and `loop receipt verify`
//! print the same.

use serde::Serialize;

use crate::examine::{ReceiptVerdict, Requirements, Verdict, Vouched};
use crate::flaw::Flaw;
use crate::line::Head;
use crate::receipt::CheckedReceipt;
use crate::trust::TrustedKey;
use crate::verify::{Broken, Expect, LedgerVerdict, Length, Note, run_of, verify_ledger};

/// Exit code of a verifier that could look at everything.
#[must_use]
pub fn exit_code(accepted: bool) -> u8 {
    u8::from(!accepted)
}

/// The verdicts on a receipt, and what it is about.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The run, if the receipt can be read.
    pub run: Option<names::RunId>,
    /// How the run ended, by the receipt.
    pub outcome: Option<crate::Outcome>,
    /// Was it a learning run, whose policy was not in force, by the receipt?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub learning: bool,
    /// Does everything hold that was required?
    pub accepted: bool,
    /// The verdicts, an aspect each.
    pub verdict: ReceiptVerdict,
}

impl Report {
    /// Verifies the content of a receipt file.
    #[must_use]
    pub fn on(receipt: &[u8], requirements: &Requirements<'_>) -> Self {
        let parsed = match CheckedReceipt::parse(receipt) {
            Ok(parsed) => parsed,
            Err(error) => return Self::unreadable(error.into()),
        };
        let verdict = parsed.verify(requirements);
        let predicate = &parsed.statement().predicate;
        Self {
            run: Some(predicate.run.clone()),
            outcome: Some(predicate.outcome),
            learning: predicate.learned.is_some(),
            accepted: verdict.accepted(),
            verdict,
        }
    }

    /// The verdict on a file that is no receipt, for this reason.
    #[must_use]
    pub fn unreadable(why: Flaw) -> Self {
        let verdict = ReceiptVerdict::unreadable(why);
        Self { run: None, outcome: None, learning: false, accepted: false, verdict }
    }

    /// A line for each verdict and one for the whole, safe on a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if let Some((run, outcome)) = self.run.as_ref().zip(self.outcome) {
            let learning = if self.learning { ", a learning run" } else { "" };
            text += &format!("receipt of run {run}, outcome {outcome}{learning}\n");
        }
        for (aspect, verdict) in self.verdict.aspects() {
            text += &aspect_line(aspect, verdict);
        }
        if let Some(after) = self.verdict.after.filter(|after| *after > 0) {
            text += &format!("note: {after} more in the ledger than the receipt covers\n");
        }
        text += &notes(&self.verdict.notes);
        match self.verdict.unmet.as_slice() {
            [] => text + "accepted\n",
            unmet => text + &format!("not accepted: {}\n", unmet.join(", ")),
        }
    }
}

fn aspect_line(aspect: &str, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => format!("{aspect:<14}holds\n"),
        Verdict::Fails(flaw) => format!("{aspect:<14}fails: {flaw}\n"),
        Verdict::NotChecked(why) => format!("{aspect:<14}not checked: {why}\n"),
    }
}

fn notes(notes: &[Note]) -> String {
    notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Is a ledger intact?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing is wrong.
    Intact,
    /// Something is.
    Broken,
}

/// What a ledger by itself is measured by.
#[derive(Debug, Clone, Default)]
pub struct LedgerRequirements<'a> {
    /// What is known about it.
    pub expect: Expect,
    /// Whose signed heads count.
    pub keys: Vec<TrustedKey>,
    /// Signed heads that lay beside it.
    pub heads: Option<&'a [u8]>,
    /// Signed heads that were kept elsewhere: one of them must be of this run.
    pub witness: Option<&'a [u8]>,
}

/// The verdict on a ledger by itself.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// The run that it names.
    pub run: Option<names::RunId>,
    /// The whole.
    pub ledger: Standing,
    /// Head of the intact records.
    pub head: Head,
    /// Whether the end is known.
    pub length: Length,
    /// What is wrong.
    pub broken: Option<Broken>,
    /// What is odd.
    pub notes: Vec<Note>,
    /// Are the signed heads right? There only if some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<Verdict>,
    /// Does the witness vouch for a head? There only if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Verdict>,
}

impl From<LedgerVerdict> for LedgerReport {
    fn from(verdict: LedgerVerdict) -> Self {
        let ledger = if verdict.holds() { Standing::Intact } else { Standing::Broken };
        let LedgerVerdict { run, head, length, broken, notes } = verdict;
        Self { run, ledger, head, length, broken, notes, heads: None, witness: None }
    }
}

impl LedgerReport {
    /// Judges the bytes of a ledger.
    #[must_use]
    pub fn on(bytes: &[u8], requirements: &LedgerRequirements<'_>) -> Self {
        let LedgerRequirements { expect, keys, heads, witness } = requirements;
        let asked = heads.is_some() || witness.is_some();
        let run = asked.then(|| run_of(bytes, expect.run.clone())).flatten();
        let Some(run) = run else { return verify_ledger(bytes, expect.clone()).into() };
        let heads = Vouched::of(&run, *heads, keys);
        let witness = Vouched::of(&run, *witness, keys);
        let known = heads.heads.into_iter().chain(witness.heads);
        let heads_too =
            Expect { heads: expect.heads.iter().copied().chain(known).collect(), ..expect.clone() };
        let judged = Self::from(verify_ledger(bytes, heads_too));
        Self { heads: heads.verdict, witness: witness.verdict, ..judged }
    }

    /// Is it intact, and is every signed head that was given right?
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.broken.is_none()
            && [&self.heads, &self.witness].into_iter().flatten().all(Verdict::holds)
    }

    /// A few lines, safe on a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Head { count, hash } = self.head;
        let mut text = match &self.broken {
            None => format!("intact: {count} records, head {hash}\n"),
            Some(broken) => format!("broken: {broken}\n{count} records hold\n"),
        };
        if let Some(run) = &self.run {
            text += &format!("run {run}\n");
        }
        if self.broken.is_none() {
            text += &match self.length {
                Length::Known { after } => format!("the known head is {after} records back\n"),
                Length::Unknown => "length unknown: records may be missing at the end\n".to_owned(),
            };
        }
        for (aspect, verdict) in [("heads", &self.heads), ("witness", &self.witness)] {
            text += &verdict.iter().map(|one| aspect_line(aspect, one)).collect::<String>();
        }
        text + &notes(&self.notes)
    }
}
