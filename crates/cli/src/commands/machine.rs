//! `loop key`, `init`, `trust` and `doctor`.

use std::io::{self, Write as _};

use api::{
    Availability, Check, DoctorReport, Engine, InitReport, InitRequest, KeyView, Problem,
    TrustDecision, TrustReport, TrustRequest, TrustState, TrustedFile, exit,
};
use names::printable_lines;

use super::{Done, answer};
use crate::Failure;
use crate::args::{Doctor, Init, KeyCreate, KeyShow, Trust};
use crate::console::{Cell, Console, Table, shown};

pub(super) fn key(args: &KeyShow, console: &mut Console, engine: &dyn Engine) -> Done {
    answer(&engine.key_show()?, args.json, console, show_key)?;
    Ok(0)
}

pub(super) fn create_key(args: &KeyCreate, console: &mut Console, engine: &dyn Engine) -> Done {
    answer(&engine.key_create(&args.file)?, args.json, console, show_key)?;
    Ok(0)
}

/// The public key alone on standard output, so that it can go straight into a file.
fn show_key(key: &KeyView, console: &mut Console) -> io::Result<()> {
    let made = if key.created { "made just now, " } else { "" };
    writeln!(console.err, "key {} ({made}{})", shown(&key.id), shown(&key.path))?;
    writeln!(console.out, "{}", shown(&key.public))
}

pub(super) fn init(args: Init, console: &mut Console, engine: &dyn Engine) -> Done {
    let report = engine.init(InitRequest { dir: args.project.dir })?;
    answer(&report, args.json, console, show_init)?;
    Ok(0)
}

fn show_init(report: &InitReport, console: &mut Console) -> io::Result<()> {
    let made = if report.created { "made" } else { "kept" };
    let trusted = if report.trusted { "trusted" } else { "not trusted; see `loop trust`" };
    writeln!(console.out, "{made} {} ({trusted})", shown(&report.path))
}

pub(super) fn trust(args: &Trust, console: &mut Console, engine: &dyn Engine) -> Done {
    let file = match args.contract {
        true => TrustedFile::Contract,
        false => TrustedFile::Configuration,
    };
    let ask = |decision| engine.trust(TrustRequest { dir: args.dir.clone(), file, decision });
    if args.forget {
        let report = ask(TrustDecision::Forget)?;
        answer(&report, args.json, console, show_state)?;
        return Ok(0);
    }
    let seen = ask(TrustDecision::Look)?;
    let Some(digest) = seen.digest.filter(|_| seen.state != TrustState::Trusted) else {
        answer(&seen, args.json, console, show_state)?;
        return Ok(if seen.state == TrustState::Absent { exit::NOT_FOUND } else { 0 });
    };
    if !args.json {
        show_content(&seen, console)?;
    }
    if !args.yes && !agreed(&seen, args.json, console)? {
        return Ok(exit::DENIED);
    }
    let report = ask(TrustDecision::Trust { seen: digest })?;
    answer(&report, args.json, console, show_state)?;
    Ok(0)
}

fn show_state(report: &TrustReport, console: &mut Console) -> io::Result<()> {
    let state = match report.state {
        TrustState::Absent => "does not exist; `loop init` makes it",
        TrustState::Untrusted => "is not trusted",
        TrustState::Changed => "changed since it was trusted",
        TrustState::Trusted => "is trusted",
    };
    let state = match (report.state, report.path.ends_with("contract.toml")) {
        (TrustState::Absent, true) => "does not exist; `loop contract propose` drafts one",
        _ => state,
    };
    writeln!(console.out, "{} {state}", shown(&report.path))
}

fn show_content(report: &TrustReport, console: &mut Console) -> io::Result<()> {
    show_state(report, console)?;
    for line in printable_lines(report.content.as_bytes()).lines() {
        writeln!(console.out, "  | {line}")?;
    }
    if !report.asks.is_empty() {
        let keys: Vec<_> = report.asks.iter().map(shown).collect();
        writeln!(console.out, "once trusted, this applies: {}", keys.join(", "))?;
    }
    console.out.flush()
}

fn agreed(report: &TrustReport, json: bool, console: &mut Console) -> Result<bool, Failure> {
    if json || !console.answers {
        let what = format!("nobody is here to trust {}", report.path.display());
        let next = match report.path.ends_with("contract.toml") {
            true => "read it, then run `loop trust --contract --yes`",
            false => "read it, then run `loop trust --yes`",
        };
        return Err(Problem::new(exit::DENIED, what).with_next(next).into());
    }
    write!(console.err, "Trust this content? [y/N] ")?;
    console.err.flush()?;
    let mut line = String::new();
    console.input.read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

pub(super) fn doctor(args: &Doctor, console: &mut Console, engine: &dyn Engine) -> Done {
    let report = engine.doctor()?;
    answer(&report, args.json, console, show_doctor)?;
    Ok(if report.ready { 0 } else { exit::UNSAFE })
}

fn show_doctor(report: &DoctorReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mut table = Table::default();
    for check in &report.checks {
        let (mark, detail) = match &check.availability {
            Availability::Available(detail) => {
                (Cell::painted("ok", |text| paint.green(text)), detail)
            }
            Availability::Missing(reason) => (missing(check, console), reason),
        };
        table.row([mark, Cell::plain(shown(&check.name)), Cell::plain(shown(detail))]);
    }
    writeln!(console.out, "kernel {}", shown(&report.kernel))?;
    table.write(&mut console.out, 0)?;
    let absent = |check: &&Check| matches!(check.availability, Availability::Missing(_));
    for check in report.checks.iter().filter(absent) {
        show_what_to_do(check, console)?;
    }
    match report.ready {
        true => writeln!(console.out, "{}", paint.green("ready: `loop exec` works here")),
        false => writeln!(console.out, "{}", paint.red("not ready: `loop exec` is refused here")),
    }
}

fn missing(check: &Check, console: &Console) -> Cell {
    let paint = console.out.paint;
    match check.required {
        true => Cell::painted("missing", |text| paint.red(text)),
        false => Cell::painted("fallback", |text| paint.yellow(text)),
    }
}

fn show_what_to_do(check: &Check, console: &mut Console) -> io::Result<()> {
    let name = shown(&check.name);
    writeln!(console.out, "{name} is needed for {}", shown(&check.needed_for))?;
    match &check.what_to_do {
        Some(what) => writeln!(console.out, "  next  {}", shown(what)),
        None => Ok(()),
    }
}
