//! `loop receipt show` and `loop receipt verify`. Verification needs files and keys, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use api::{Engine, Problem, ReceiptView, exit};
use ledger::{Allow, CheckedReceipt, Outcome, Predicate, Report, Requirements, VerifyingKey};

use super::{Done, answer};
use crate::Open;
use crate::args::{OneRun, Verify};
use crate::console::{Cell, Console, Table, counted, duration, shown};

/// What lies beside a receipt in a run's directory.
const LEDGER: &str = "ledger.jsonl";
const CHANGES: &str = "changes.json";

pub(super) fn show(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    let view = engine.receipt(args.into())?;
    let bytes = read(&view.path, "receipt")?;
    let receipt = CheckedReceipt::parse(&bytes).map_err(|error| {
        let what = format!("{} is not a receipt: {error}", view.path.display());
        Problem::new(exit::NO, what)
    })?;
    let predicate = &receipt.statement().predicate;
    answer(&view, json, console, |view, console| show_receipt(view, predicate, console))?;
    Ok(0)
}

fn show_receipt(view: &ReceiptView, facts: &Predicate, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mut table = Table::default();
    for (name, value) in lines(view, facts) {
        table.row([Cell::painted(name, |text| paint.dim(text)), Cell::plain(value)]);
    }
    table.write(&mut console.out, 0)?;
    let file = crate::console::shown_command(&[view.path.as_path()]);
    writeln!(console.out, "nothing here is verified; that is `loop receipt verify {file}`")
}

fn lines(view: &ReceiptView, facts: &Predicate) -> Vec<(&'static str, String)> {
    let keys: Vec<_> = view.keys.iter().map(shown).collect();
    let keys = if keys.is_empty() { "nobody".to_owned() } else { keys.join(", ") };
    let exit = facts.exit.map(|code| format!(", exit {code}")).unwrap_or_default();
    let mut lines = vec![
        ("run", facts.run.as_str().to_owned()),
        ("subject", shown(&facts.subject)),
        ("project", shown(&facts.project)),
        ("from", facts.started.to_string()),
        ("to", format!("{}, took {}", facts.ended, duration(facts.budget.wall_ms))),
        ("outcome", format!("{}{exit}", facts.outcome)),
        ("profile", shown(&facts.profile)),
        ("authority", facts.authority.to_string()),
        ("base", base(facts)),
    ];
    for (kind, number) in &facts.denials {
        lines.push(("denied", format!("{} {}", counted(*number, "time"), shown(kind))));
    }
    if let Some(learned) = &facts.learned {
        let through = learned.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let through = counted(through, "action");
        lines.push(("learning", format!("its policy was not in force; {through} let through")));
    }
    for check in &facts.checks {
        let result = match (check.passed, check.pre_existing) {
            (true, _) => "passed",
            (false, true) => "failed, as on the base",
            (false, false) => "failed",
        };
        lines.push(("check", format!("{} {result}", shown(&check.name))));
    }
    if let Some(verification) = &facts.verification {
        let met = verification.criteria.iter().filter(|criterion| criterion.met).count();
        let all = verification.criteria.len();
        lines.push(("contract", format!("{}, {met} of {all} met", verification.contract)));
        lines.extend(verification.held.iter().map(|path| ("held", shown(path))));
        lines.extend(verification.flags.iter().map(|flag| ("flagged", shown(&flag.path))));
    }
    if let Some(follows) = &facts.follows {
        let relation = match follows.relation {
            ledger::Relation::Continues => "continues",
            ledger::Relation::Verifies => "verifies",
        };
        lines
            .push((relation, format!("run {}, whose receipt is {}", follows.run, follows.receipt)));
    }
    for omission in &facts.omissions {
        lines.push(("left out", shown(omission)));
    }
    let head = &facts.ledger;
    lines.push(("ledger", format!("{} up to {}", counted(head.count, "record"), head.hash)));
    lines.push(("signed by", keys));
    lines.push(("file", shown(&view.path)));
    lines
}

fn base(facts: &Predicate) -> String {
    let commit = facts.base.commit.as_ref().map(|commit| format!("commit {}", shown(commit)));
    let dirty = if facts.base.dirty == Some(true) { ", with uncommitted changes" } else { "" };
    commit.map_or_else(|| "no commit".to_owned(), |commit| commit + dirty)
}

pub(super) fn verify(args: &Verify, console: &mut Console, open: Open) -> Done {
    let mut evidence = Evidence::beside(&args.receipt)?;
    if let Some(file) = &args.ledger {
        evidence.ledger = Some(read(file, "ledger")?);
    }
    if let Some(file) = &args.changes {
        evidence.change_set = Some(read(file, "change set")?);
    }
    evidence.allow = args.allow.iter().map(|allow| (*allow).into()).collect();
    evidence.keys = args.keys.iter().map(|file| read_key(file)).collect::<Result<_, _>>()?;
    if evidence.keys.is_empty() && !evidence.allow.contains(&Allow::Unsigned) {
        for key in open()?.trusted_keys()? {
            evidence = evidence.with_key(&key.public, &key.path)?;
        }
    }
    let report = verify_receipt(&evidence);
    answer(&report, args.json, console, show_verdict)?;
    Ok(ledger::exit_code(report.accepted))
}

/// Everything a receipt is measured by.
pub(crate) struct Evidence {
    receipt: Vec<u8>,
    ledger: Option<Vec<u8>>,
    change_set: Option<Vec<u8>>,
    keys: Vec<VerifyingKey>,
    allow: BTreeSet<Allow>,
}

impl Evidence {
    /// A receipt, with the ledger and the change set that lie beside it, if they do.
    pub(crate) fn beside(receipt: &Path) -> Result<Self, Problem> {
        let beside = |name: &str, what| {
            let path = receipt.with_file_name(name);
            path.exists().then(|| read(&path, what)).transpose()
        };
        Ok(Self {
            receipt: read(receipt, "receipt")?,
            ledger: beside(LEDGER, "ledger")?,
            change_set: beside(CHANGES, "change set")?,
            keys: Vec::new(),
            allow: BTreeSet::new(),
        })
    }

    /// The same, with one more trusted key; `origin` is where its text is from.
    pub(crate) fn with_key(mut self, text: &str, origin: &Path) -> Result<Self, Problem> {
        self.keys.push(parse_key(text, origin)?);
        Ok(self)
    }

    /// The same, content with something missing.
    pub(crate) fn allowing(mut self, allow: Allow) -> Self {
        self.allow.insert(allow);
        self
    }
}

fn read_key(file: &Path) -> Result<VerifyingKey, Problem> {
    let bytes = read(file, "key")?;
    parse_key(&String::from_utf8_lossy(&bytes), file)
}

fn parse_key(text: &str, origin: &Path) -> Result<VerifyingKey, Problem> {
    VerifyingKey::parse(text).map_err(|error| {
        let next = "a public key is a line of the form that `loop key show` prints";
        Problem::new(exit::UNSAFE, format!("{}: {error}", origin.display())).with_next(next)
    })
}

fn read(file: &Path, what: &str) -> Result<Vec<u8>, Problem> {
    fs::read(file).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound => exit::NOT_FOUND,
            _ => exit::UNSAFE,
        };
        Problem::new(code, format!("the {what} {} can't be read: {error}", file.display()))
    })
}

/// Judges a receipt by its evidence.
pub(crate) fn verify_receipt(evidence: &Evidence) -> Report {
    let requirements = Requirements {
        keys: evidence.keys.clone(),
        ledger: evidence.ledger.as_deref(),
        change_set: evidence.change_set.as_deref(),
        allow: evidence.allow.clone(),
    };
    Report::on(&evidence.receipt, &requirements)
}

/// The verdicts, as `loop-verify` says them, in colour.
pub(crate) fn show_verdict(report: &Report, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    for line in report.to_text().lines() {
        let painted = match line {
            "accepted" => paint.green(line),
            _ if line.starts_with("not accepted") => paint.red(line),
            _ if line.contains("  fails: ") => line.replacen("fails:", &paint.red("fails:"), 1),
            _ => line.replacen("  holds", &format!("  {}", paint.green("holds")), 1),
        };
        writeln!(console.out, "{painted}")?;
    }
    let only_outcome = matches!(report.verdict.unmet.as_slice(), ["outcome"]);
    if only_outcome && report.outcome == Some(Outcome::Unverified) {
        writeln!(console.out, "no checks verify it; --allow unverified accepts that")?;
    }
    Ok(())
}
