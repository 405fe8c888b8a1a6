//! `loop-verify`: judges a receipt or a ledger with nothing but files. It links neither an async
//! runtime nor a sandbox, and it writes nothing but its answer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ledger::{Allow, Expect, Head, LedgerReport, LedgerRequirements, Requirements, TrustedKey};
use verifier::{Content, Directory, FileError, ReceiptFile};

const HELP: &str = "\
Judge the receipt of a run, or a ledger by itself, offline.

Usage: loop-verify RECEIPT [--key FILE]... [--trust FILE] [--ledger FILE]
                   [--changes FILE] [--heads FILE] [--witness FILE]
                   [--tree DIRECTORY] [--history FILE] [--allow WORDS] [--json]
       loop-verify --ledger FILE [--run RUN] [--head COUNT:HASH] [--heads FILE]
                   [--witness FILE] [--key FILE]... [--trust FILE] [--json]
       loop-verify --touched --changes FILE

  --key FILE         a public key to trust; may be repeated
  --trust FILE       keys to trust, and what each may sign for
  --ledger FILE      the run's ledger
  --changes FILE     the run's change set, changes.json
  --heads FILE       signed heads that the ledger must contain, heads.jsonl
  --witness FILE     the same, kept elsewhere: one of them must be of this run
  --tree DIRECTORY   where the touched paths must be as the run left them
  --history FILE     commits, one a line: the run started from one of them
  --allow WORDS      what may be missing, joined by commas:
                       unsigned    no key is given, so nobody vouches for the receipt
                       unverified  the outcome is unverified
                       no-ledger   no ledger is given
                       no-changes  no change set is given
                       learning    a learning run, whose policy was not in force
  --run RUN          the run that the ledger must be of
  --head COUNT:HASH  a head that the ledger must contain: 12:sha256:...
  --touched          print the paths that a change set touches, each ended by NUL
  --json             answer in JSON
  --help             this text

Exit codes: 0 everything required holds; 1 something does not; 2 it could not
be judged: wrong usage, or a file that can't be read.
";

fn main() -> ExitCode {
    let answer = Args::parse(std::env::args_os().skip(1)).and_then(Args::answer);
    ExitCode::from(match answer {
        // An answer that nobody can read is none.
        Ok((code, text)) => io::stdout().write_all(&text).map_or(2, |()| code),
        Err(problem) => complain(&problem),
    })
}

fn complain(problem: &str) -> u8 {
    let text = format!("loop-verify: {problem}\nsee loop-verify --help\n");
    // Nothing is left to tell about a standard error that is closed; the code says it all.
    drop(io::stderr().write_all(text.as_bytes()));
    2
}

/// An exit code and what goes to standard output.
type Answer = (u8, Vec<u8>);

#[derive(Default)]
struct Args {
    receipt: Option<PathBuf>,
    keys: Vec<PathBuf>,
    trust: Option<PathBuf>,
    ledger: Option<PathBuf>,
    changes: Option<PathBuf>,
    heads: Option<PathBuf>,
    witness: Option<PathBuf>,
    tree: Option<PathBuf>,
    history: Option<PathBuf>,
    allow: BTreeSet<Allow>,
    expect: Expect,
    touched: bool,
    json: bool,
    help: bool,
}

impl Args {
    fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut args = Self::default();
        while let Some(word) = words.next() {
            args.take(word, &mut words)?;
        }
        Ok(args)
    }

    fn take(
        &mut self,
        word: OsString,
        rest: &mut dyn Iterator<Item = OsString>,
    ) -> Result<(), String> {
        let text = shown(&word);
        let mut value = || rest.next().ok_or_else(|| format!("{text} needs a value"));
        match word.to_str() {
            Some("--key") => self.keys.push(value()?.into()),
            Some("--trust") => once(&mut self.trust, &text, value()?.into())?,
            Some("--ledger") => once(&mut self.ledger, &text, value()?.into())?,
            Some("--changes") => once(&mut self.changes, &text, value()?.into())?,
            Some("--heads") => once(&mut self.heads, &text, value()?.into())?,
            Some("--witness") => once(&mut self.witness, &text, value()?.into())?,
            Some("--tree") => once(&mut self.tree, &text, value()?.into())?,
            Some("--history") => once(&mut self.history, &text, value()?.into())?,
            Some("--allow") => self.allow.extend(allowed(&utf8(value()?)?)?),
            Some("--run") => once(&mut self.expect.run, &text, run(&utf8(value()?)?)?)?,
            Some("--head") => once(&mut self.expect.head, &text, head(&utf8(value()?)?)?)?,
            Some("--touched") => self.touched = true,
            Some("--json") => self.json = true,
            Some("--help" | "-h") => self.help = true,
            Some(flag) if flag.starts_with('-') && flag.len() > 1 => {
                return Err(format!("unknown flag {text}"));
            }
            _ => once(&mut self.receipt, "RECEIPT", word.into())?,
        }
        Ok(())
    }

    fn answer(self) -> Result<Answer, String> {
        match (&self.receipt, &self.ledger) {
            _ if self.help => Ok((0, HELP.into())),
            _ if self.touched => self.on_changes(),
            (Some(receipt), _) => self.on_receipt(receipt),
            (None, Some(ledger)) => self.on_ledger(ledger),
            (None, None) => Err("a receipt or a ledger is needed".to_owned()),
        }
    }

    fn on_receipt(&self, receipt: &Path) -> Result<Answer, String> {
        if self.expect.run.is_some() || self.expect.head.is_some() {
            return Err("--run and --head are for a ledger by itself; a receipt names both".into());
        }
        let (ledger, changes) = (read(&self.ledger, "ledger")?, read(&self.changes, "change set")?);
        let (heads, witness) = (read(&self.heads, "heads")?, read(&self.witness, "witness")?);
        let history = read(&self.history, "history")?;
        let tree = self.tree.as_deref().map(open_tree).transpose()?;
        let requirements = Requirements {
            keys: self.trusted()?,
            ledger: ledger.as_deref(),
            change_set: changes.as_deref(),
            heads: heads.as_deref(),
            witness: witness.as_deref(),
            tree: tree.as_ref().map(|tree| tree as &dyn ledger::Tree),
            history: history.as_deref(),
            allow: self.allow.clone(),
            now: Some(names::system_clock()),
        };
        let report = ReceiptFile::read(receipt).map_err(told)?.judge(&requirements);
        let text = if self.json { json(&report)? } else { report.to_text() };
        Ok((ledger::exit_code(report.accepted), text.into()))
    }

    fn on_ledger(&self, path: &Path) -> Result<Answer, String> {
        let for_receipts =
            [&self.changes, &self.tree, &self.history].into_iter().any(Option::is_some);
        if for_receipts || !self.allow.is_empty() {
            return Err("--changes, --tree, --history and --allow are for a receipt".into());
        }
        let (heads, witness) = (read(&self.heads, "heads")?, read(&self.witness, "witness")?);
        let keys = self.trusted()?;
        if !keys.is_empty() && heads.is_none() && witness.is_none() {
            return Err("--key and --trust are for a receipt, --heads or --witness".into());
        }
        let requirements = LedgerRequirements {
            expect: self.expect.clone(),
            keys,
            heads: heads.as_deref(),
            witness: witness.as_deref(),
        };
        let bytes = verifier::read(path, "ledger").map_err(told)?;
        let report = LedgerReport::on(&bytes, &requirements);
        let text = if self.json { json(&report)? } else { report.to_text() };
        Ok((ledger::exit_code(report.accepted()), text.into()))
    }

    fn on_changes(&self) -> Result<Answer, String> {
        let changes = read(&self.changes, "change set")?;
        let changes = changes.ok_or("--touched needs --changes")?;
        let paths = ledger::touched_paths(&changes)
            .map_err(|error| format!("the change set can't be read: {error}"))?;
        let ended = paths.iter().flat_map(|path| path.as_bytes().iter().copied().chain([0]));
        Ok((0, ended.collect()))
    }

    fn trusted(&self) -> Result<Vec<TrustedKey>, String> {
        let trusted = self.trust.as_deref().map(verifier::read_trust_file).transpose();
        let keys: Result<_, _> = self.keys.iter().map(|path| verifier::read_key(path)).collect();
        Ok(verifier::together(trusted.map_err(told)?.unwrap_or_default(), keys.map_err(told)?))
    }
}

fn once<T>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is given twice")),
    }
}

fn utf8(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("\"{}\" is not UTF-8", shown(&word)))
}

fn allowed(words: &str) -> Result<Vec<Allow>, String> {
    words.split(',').map(str::parse).collect()
}

fn run(text: &str) -> Result<names::RunId, String> {
    names::RunId::parse(text).map_err(|error| error.to_string())
}

fn head(text: &str) -> Result<Head, String> {
    let form = || "a head looks like 12:sha256:HEX".to_owned();
    let (count, hash) = text.split_once(':').ok_or_else(form)?;
    let count = count.parse().map_err(|_| form())?;
    Ok(Head { count, hash: names::Digest::parse(hash).map_err(|error| error.to_string())? })
}

fn read(path: &Option<PathBuf>, what: &'static str) -> Result<Option<Content>, String> {
    path.as_deref().map(|path| verifier::read(path, what)).transpose().map_err(told)
}

fn open_tree(path: &Path) -> Result<Directory, String> {
    Directory::open(path).map_err(|error| format!("{}: {error}", shown(path.as_os_str())))
}

fn told(error: FileError) -> String {
    error.to_string()
}

fn json(report: &impl serde::Serialize) -> Result<String, String> {
    let text = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

fn shown(text: &std::ffi::OsStr) -> String {
    names::printable(text.as_encoded_bytes())
}
