//! `loop-verify`: judges a receipt or a ledger with nothing but files. It links neither an async
//! runtime nor a sandbox, and it writes nothing but its answer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ledger::{Allow, Expect, Head, LedgerReport, Report, Requirements, VerifyingKey};

const HELP: &str = "\
Judge the receipt of a run, or a ledger by itself, offline.

Usage: loop-verify RECEIPT [--key FILE]... [--ledger FILE] [--changes FILE]
                   [--allow WORDS] [--json]
       loop-verify --ledger FILE [--run RUN] [--head COUNT:HASH] [--json]

  --key FILE         a public key to trust; may be repeated
  --ledger FILE      the run's ledger
  --changes FILE     the run's change set, changes.json
  --allow WORDS      what may be missing, joined by commas:
                       unsigned    no key is given, so nobody vouches for the receipt
                       unverified  the outcome is unverified
                       no-ledger   no ledger is given
                       no-changes  no change set is given
                       learning    a learning run, whose policy was not in force
  --run RUN          the run that the ledger must be of
  --head COUNT:HASH  a head that the ledger must contain: 12:sha256:...
  --json             answer in JSON
  --help             this text

Exit codes: 0 everything required holds; 1 something does not; 2 it could not
be judged: wrong usage, or a file that can't be read.
";

fn main() -> ExitCode {
    let answer = Args::parse(std::env::args_os().skip(1)).and_then(Args::answer);
    ExitCode::from(match answer {
        // An answer that nobody can read is none.
        Ok((code, text)) => io::stdout().write_all(text.as_bytes()).map_or(2, |()| code),
        Err(problem) => complain(&problem),
    })
}

fn complain(problem: &str) -> u8 {
    let text = format!("loop-verify: {problem}\nsee loop-verify --help\n");
    // Nothing is left to tell about a standard error that is closed; the code says it all.
    drop(io::stderr().write_all(text.as_bytes()));
    2
}

#[derive(Default)]
struct Args {
    receipt: Option<PathBuf>,
    keys: Vec<PathBuf>,
    ledger: Option<PathBuf>,
    changes: Option<PathBuf>,
    allow: BTreeSet<Allow>,
    expect: Expect,
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
            Some("--ledger") => once(&mut self.ledger, &text, value()?.into())?,
            Some("--changes") => once(&mut self.changes, &text, value()?.into())?,
            Some("--allow") => self.allow.extend(allowed(&utf8(value()?)?)?),
            Some("--run") => once(&mut self.expect.run, &text, run(&utf8(value()?)?)?)?,
            Some("--head") => once(&mut self.expect.head, &text, head(&utf8(value()?)?)?)?,
            Some("--json") => self.json = true,
            Some("--help" | "-h") => self.help = true,
            Some(flag) if flag.starts_with('-') && flag.len() > 1 => {
                return Err(format!("unknown flag {text}"));
            }
            _ => once(&mut self.receipt, "RECEIPT", word.into())?,
        }
        Ok(())
    }

    fn answer(self) -> Result<(u8, String), String> {
        match (&self.receipt, &self.ledger) {
            _ if self.help => Ok((0, HELP.to_owned())),
            (Some(receipt), _) => self.on_receipt(receipt),
            (None, Some(ledger)) => self.on_ledger(ledger),
            (None, None) => Err("a receipt or a ledger is needed".to_owned()),
        }
    }

    fn on_receipt(&self, receipt: &Path) -> Result<(u8, String), String> {
        if self.expect.run.is_some() || self.expect.head.is_some() {
            return Err("--run and --head are for a ledger by itself; a receipt names both".into());
        }
        let keys: Result<_, _> = self.keys.iter().map(|path| key(path)).collect();
        let ledger = self.ledger.as_deref().map(read).transpose()?;
        let changes = self.changes.as_deref().map(read).transpose()?;
        let requirements = Requirements {
            keys: keys?,
            ledger: ledger.as_deref(),
            change_set: changes.as_deref(),
            allow: self.allow.clone(),
        };
        let report = Report::on(&read(receipt)?, &requirements);
        let text = if self.json { json(&report)? } else { report.to_text() };
        Ok((ledger::exit_code(report.accepted), text))
    }

    fn on_ledger(&self, path: &Path) -> Result<(u8, String), String> {
        if !self.keys.is_empty() || self.changes.is_some() || !self.allow.is_empty() {
            return Err("--key, --changes and --allow are for a receipt".into());
        }
        let verdict = ledger::verify_ledger(&read(path)?, self.expect.clone());
        let holds = verdict.holds();
        let report = LedgerReport::from(verdict);
        let text = if self.json { json(&report)? } else { report.to_text() };
        Ok((ledger::exit_code(holds), text))
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

fn key(path: &Path) -> Result<VerifyingKey, String> {
    let text = String::from_utf8(read(path)?).map_err(|_| ledger::KeyError::Encoding);
    let key = text.and_then(|text| VerifyingKey::parse(&text));
    key.map_err(|error| format!("{}: {error}", shown(path.as_os_str())))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", shown(path.as_os_str())))
}

fn json(report: &impl serde::Serialize) -> Result<String, String> {
    let text = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

fn shown(text: &std::ffi::OsStr) -> String {
    names::printable(text.as_encoded_bytes())
}
