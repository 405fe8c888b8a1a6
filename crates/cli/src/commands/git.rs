//! `loop branch` and `loop git`.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use api::{BranchReport, BranchRequest, Engine, FileStat, GitRequest, Problem, RunRequest, exit};
use names::printable;

use super::change::workspace_path;
use super::{Done, answer};
use crate::args::{Branch, Git};
use crate::console::{Cell, Console, Paint, Table, counted, shown};

/// More commits than this are counted and not listed.
const COMMITS_SHOWN: usize = 20;
/// More files than this are counted and not listed.
const FILES_SHOWN: usize = 30;
/// How much of a commit's name is shown.
const ID_WIDTH: usize = 10;

pub(super) fn branch(args: Branch, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    let report = engine.branch(request(args)?)?;
    answer(&report, json, console, show_branch)?;
    Ok(0)
}

fn request(args: Branch) -> Result<BranchRequest, Problem> {
    let (run, name) = match args.arguments.as_slice() {
        [name] => (None, name),
        [run, name] => (Some(run.clone()), name),
        _ => {
            let what = "the branch needs a name";
            return Err(Problem::new(exit::USAGE, what).with_next("loop branch [RUN] NAME"));
        }
    };
    let flagged = args.flagged.iter().map(|path| workspace_path(OsStr::new(path)));
    Ok(BranchRequest {
        run: RunRequest { run, dir: args.project.dir },
        name: name.clone(),
        from: args.from,
        flagged: flagged.collect::<Result<_, _>>()?,
        force: args.force,
        dry_run: args.dry_run,
    })
}

fn show_branch(report: &BranchReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let did = if report.dry_run { "would put" } else { "put" };
    let moved = report.before.as_ref().map(|before| format!(", which was at {}", short(before)));
    let moved = moved.unwrap_or_default();
    let number = counted(report.commits.len() as u64, "commit");
    let (run, name) = (report.run.as_str(), shown(&report.branch));
    writeln!(console.out, "{did} {number} of run {run} on {}{moved}", paint.bold(&name))?;
    let mut table = Table::default();
    for commit in report.commits.iter().take(COMMITS_SHOWN) {
        table.row([
            Cell::painted(short(&commit.id), |text| paint.yellow(text)),
            Cell::plain(printable(commit.subject.as_bytes())),
        ]);
    }
    table.write(&mut console.out, 2)?;
    more(report.commits.len(), COMMITS_SHOWN, "commit", console)?;
    show_files(&report.files, paint, console)?;
    for flagged in &report.flagged {
        let (path, why) = (printable(flagged.path.as_bytes()), shown(&flagged.why));
        writeln!(console.out, "{} {path}: {why}", paint.yellow("flagged"))?;
    }
    for path in &report.submodules {
        let path = printable(path.as_bytes());
        writeln!(
            console.out,
            "{} {path}: its own commits are not taken",
            paint.yellow("submodule")
        )?;
    }
    if report.dry_run {
        return Ok(());
    }
    match &report.against {
        Some(against) if *against != report.branch => {
            writeln!(console.out, "next: git log {}..{name}", shown(against))
        }
        _ => writeln!(console.out, "next: git log {name}"),
    }
}

fn short(id: &str) -> &str {
    id.get(..ID_WIDTH).unwrap_or(id)
}

fn show_files(files: &[FileStat], paint: Paint, console: &mut Console) -> io::Result<()> {
    let mut table = Table::default();
    for file in files.iter().take(FILES_SHOWN) {
        let lines = match file.lines {
            Some(lines) => format!("+{} -{}", lines.added, lines.removed),
            None => "binary".to_owned(),
        };
        table.row([
            Cell::plain(printable(file.path.as_bytes())),
            Cell::painted(&lines, |text| paint.dim(text)),
        ]);
    }
    table.write(&mut console.out, 2)?;
    more(files.len(), FILES_SHOWN, "file", console)
}

fn more(number: usize, most: usize, what: &str, console: &mut Console) -> io::Result<()> {
    match number.saturating_sub(most) {
        0 => Ok(()),
        rest => writeln!(console.out, "  and {} more", counted(rest as u64, what)),
    }
}

pub(super) fn git(args: Git, console: &mut Console, engine: &dyn Engine) -> Done {
    let report = engine.git(GitRequest { words: args.words })?;
    if report.ignored_refs > 0 {
        let number = counted(report.ignored_refs, "file");
        writeln!(console.err, "loop: {number} among the refs can't be read as refs")?;
    }
    Ok(report.code)
}
