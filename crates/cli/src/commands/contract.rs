//! `loop contract check` and `propose`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use api::{
    ContractCheckRequest, ContractDraft, ContractProposeRequest, ContractReport, Engine, Problem,
    exit,
};

use super::{Done, answer};
use crate::args::{ContractCheck, ContractPropose};
use crate::console::{Console, counted, shown};
use crate::failure::shown_finding;

pub(super) fn check(args: ContractCheck, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = ContractCheckRequest { file: args.file, dir: args.project.dir };
    let report = engine.contract_check(request)?;
    answer(&report, args.json, console, show_check)?;
    Ok(if report.findings.is_empty() { 0 } else { exit::USAGE })
}

fn show_check(report: &ContractReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let file = shown(&report.file);
    if !report.findings.is_empty() {
        let faults = counted(report.findings.len() as u64, "fault");
        writeln!(console.out, "{} {file}: {faults}", paint.red("bad"))?;
        return report
            .findings
            .iter()
            .try_for_each(|finding| write!(console.out, "{}", shown_finding(finding)));
    }
    let criteria = match report.criteria {
        1 => "1 criterion".to_owned(),
        count => format!("{count} criteria"),
    };
    let checks = counted(report.checks, "check");
    writeln!(console.out, "{} {file}: {criteria}, {checks}", paint.green("ok"))?;
    report.notes.iter().try_for_each(|note| writeln!(console.out, "  note: {}", shown(note)))
}

pub(super) fn propose(args: ContractPropose, console: &mut Console, engine: &dyn Engine) -> Done {
    let task = args.task.join(" ");
    let draft = engine.contract_propose(ContractProposeRequest { task, dir: args.project.dir })?;
    if let Some(file) = &args.output {
        write_new(file, &draft.text)?;
        if args.json {
            answer(&draft, true, console, show_draft)?;
        }
        writeln!(console.err, "wrote {}: {}", shown(file), summary(&draft))?;
        return Ok(0);
    }
    answer(&draft, args.json, console, show_draft)?;
    if !args.json {
        writeln!(console.err, "{}", summary(&draft))?;
    }
    Ok(0)
}

fn show_draft(draft: &ContractDraft, console: &mut Console) -> io::Result<()> {
    write!(console.out, "{}", names::printable_lines(draft.text.as_bytes()))
}

fn summary(draft: &ContractDraft) -> String {
    let found = match draft.checks.len() as u64 {
        0 => "no check was found; name one".to_owned(),
        count => format!("{} found; edit it before you use it", counted(count, "check")),
    };
    let partial = if draft.partial { "; not all files were looked at" } else { "" };
    format!("{found}{partial}")
}

/// Writes a new file. One that is there already is somebody's work.
fn write_new(path: &Path, text: &str) -> Result<(), Problem> {
    let write = || File::create_new(path)?.write_all(text.as_bytes());
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Problem::new(exit::NO, format!("{} is there already", path.display()))
                .with_next("name a file that does not exist")
        }
        _ => Problem::new(exit::UNSAFE, format!("{}: {error}", path.display())),
    })
}
