//! `loop receipt show`, `verify` and `witness`. Verification needs files and keys, and nothing else.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;

use api::{Engine, Finding, Problem, ReceiptView, RunRequest, Trusted, WitnessRequest, exit};
use ledger::{
    Allow, CheckedReceipt, MAX_RECEIPT, Outcome, Predicate, ReceiptError, Report, Requirements,
    Tree, TrustedKey, VerifyingKey,
};
use verifier::{Content, Directory, Fault, Faults, FileError, ReceiptFile};

use super::{Done, answer};
use crate::Open;
use crate::args::{OneRun, Verify, Witness};
use crate::console::{Cell, Console, Table, counted, duration, shown};

/// What lies beside a receipt in a run's directory.
const LEDGER: &str = "ledger.jsonl";
const CHANGES: &str = "changes.json";
const HEADS: &str = "heads.jsonl";

pub(super) fn show(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    let view = engine.receipt(args.into())?;
    let receipt = match ReceiptFile::read(&view.path).map_err(unusable)? {
        ReceiptFile::Read(bytes) => CheckedReceipt::parse(&bytes),
        ReceiptFile::TooLarge(bytes) => Err(ReceiptError::TooLarge { bytes, limit: MAX_RECEIPT }),
    };
    let receipt = receipt.map_err(|error| {
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
    for (file, what, place) in [
        (&args.ledger, "ledger", &mut evidence.ledger),
        (&args.changes, "change set", &mut evidence.change_set),
        (&args.heads, "heads", &mut evidence.heads),
        (&args.witness, "witness", &mut evidence.witness),
        (&args.history, "history", &mut evidence.history),
    ] {
        if let Some(file) = file {
            *place = Some(read(file, what)?);
        }
    }
    evidence.tree = args.tree.as_deref().map(open_tree).transpose()?;
    evidence.allow = args.allow.iter().map(|allow| (*allow).into()).collect();
    evidence.keys = trusted(args)?;
    let asked = !args.keys.is_empty() || args.trust.is_some();
    if !asked && !evidence.allow.contains(&Allow::Unsigned) {
        evidence.keys = trusted_here(open()?.trusted()?)?;
    }
    let report = verify_receipt(&evidence);
    answer(&report, args.json, console, show_verdict)?;
    Ok(ledger::exit_code(report.accepted))
}

pub(super) fn witness(args: Witness, console: &mut Console, engine: &dyn Engine) -> Done {
    let Witness { run, to, key, project, json } = args;
    let request = WitnessRequest { run: RunRequest { run, dir: project.dir }, to, key };
    let view = engine.witness(request)?;
    answer(&view, json, console, |view, console| {
        let (records, file) = (counted(view.count, "record"), shown(&view.file));
        writeln!(console.out, "run {}: {records} up to {}", view.run, view.hash)?;
        let kept = if view.added { "kept in" } else { "already in" };
        writeln!(console.out, "{kept} {file}, signed by {}", shown(&view.key))
    })?;
    Ok(0)
}

/// Everything a receipt is measured by.
pub(crate) struct Evidence {
    receipt: ReceiptFile,
    ledger: Option<Content>,
    change_set: Option<Content>,
    heads: Option<Content>,
    witness: Option<Content>,
    tree: Option<Directory>,
    history: Option<Content>,
    keys: Vec<TrustedKey>,
    allow: BTreeSet<Allow>,
}

impl Evidence {
    /// A receipt, with the ledger, its signed heads and the change set that lie beside it, if they
    /// do.
    pub(crate) fn beside(receipt: &Path) -> Result<Self, Problem> {
        let beside = |name: &str, what| {
            let path = receipt.with_file_name(name);
            path.exists().then(|| read(&path, what)).transpose()
        };
        Ok(Self {
            receipt: ReceiptFile::read(receipt).map_err(unusable)?,
            ledger: beside(LEDGER, "ledger")?,
            change_set: beside(CHANGES, "change set")?,
            heads: beside(HEADS, "heads")?,
            witness: None,
            tree: None,
            history: None,
            keys: Vec::new(),
            allow: BTreeSet::new(),
        })
    }

    /// The same, with one more trusted key; `origin` is where its text is from.
    pub(crate) fn with_key(mut self, text: &str, origin: &Path) -> Result<Self, Problem> {
        self.keys.push(parse_key(text, origin)?.into());
        Ok(self)
    }

    /// The same, content with something missing.
    pub(crate) fn allowing(mut self, allow: Allow) -> Self {
        self.allow.insert(allow);
        self
    }
}

/// The keys that the command line names.
fn trusted(args: &Verify) -> Result<Vec<TrustedKey>, Problem> {
    let limited = args.trust.as_deref().map(verifier::read_trust_file).transpose();
    let keys: Result<_, _> = args.keys.iter().map(|file| verifier::read_key(file)).collect();
    Ok(verifier::together(limited.map_err(unusable)?.unwrap_or_default(), keys.map_err(unusable)?))
}

/// The keys that this machine trusts.
fn trusted_here(trusted: Trusted) -> Result<Vec<TrustedKey>, Problem> {
    let limited = trusted.file.map(|file| {
        verifier::read_trust(&file.text, &file.path.to_string_lossy())
            .map_err(|faults| unusable(FileError::NoTrust(faults)))
    });
    let keys = trusted.keys.iter().map(|key| parse_key(&key.public, &key.path));
    Ok(verifier::together(
        limited.transpose()?.unwrap_or_default(),
        keys.collect::<Result<_, _>>()?,
    ))
}

fn open_tree(path: &Path) -> Result<Directory, Problem> {
    Directory::open(path).map_err(|source| {
        unusable(FileError::Unreadable { what: "tree", path: path.to_owned(), source })
    })
}

fn parse_key(text: &str, origin: &Path) -> Result<VerifyingKey, Problem> {
    VerifyingKey::parse(text).map_err(|error| {
        unusable(FileError::NoKey { path: origin.to_owned(), problem: error.to_string() })
    })
}

fn read(file: &Path, what: &'static str) -> Result<Content, Problem> {
    verifier::read(file, what).map_err(unusable)
}

fn unusable(error: FileError) -> Problem {
    let what = error.to_string();
    match error {
        FileError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Problem::new(exit::NOT_FOUND, what)
        }
        FileError::Unreadable { .. } => Problem::new(exit::UNSAFE, what),
        FileError::NoTrust(faults) => no_trust(faults),
        FileError::NoKey { .. } => {
            let next = "a public key is a line of the form that `loop key show` prints";
            Problem::new(exit::UNSAFE, what).with_next(next)
        }
    }
}

/// Everything that is wrong with a trust file.
fn no_trust(faults: Faults) -> Problem {
    let what = match faults.0.len() {
        1 => "the trust file has a fault".to_owned(),
        number => format!("the trust file has {number} faults"),
    };
    let finding = |fault: Fault| Finding {
        file: fault.origin,
        line: Some(fault.line),
        key: None,
        what: fault.what,
        fix: Some(fault.next),
    };
    let findings = faults.0.into_iter().map(finding).collect();
    Problem { findings, ..Problem::new(exit::UNSAFE, what) }
}

/// Judges a receipt by its evidence.
pub(crate) fn verify_receipt(evidence: &Evidence) -> Report {
    let requirements = Requirements {
        keys: evidence.keys.clone(),
        ledger: evidence.ledger.as_deref(),
        change_set: evidence.change_set.as_deref(),
        heads: evidence.heads.as_deref(),
        witness: evidence.witness.as_deref(),
        tree: evidence.tree.as_ref().map(|tree| tree as &dyn Tree),
        history: evidence.history.as_deref(),
        allow: evidence.allow.clone(),
        now: Some(names::system_clock()),
    };
    evidence.receipt.judge(&requirements)
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
