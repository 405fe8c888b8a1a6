//! `loop diff`, `apply`, `discard` and `undo`.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use api::{
    ApplyReport, ApplyRequest, ChangeKind, ChangeView, DiffReport, DiffRequest, DiscardReport,
    Engine, HeldChange, Problem, RunRequest, RunsRequest, UndoReport, exit,
};
use names::{WorkspacePath, printable_lines};

use super::exec::by_kind;
use super::{Done, answer};
use crate::args::{Apply, Diff, OneRun};
use crate::console::{Cell, Console, Paint, Table, counted, shown, shown_command};

/// The shortest beginning of a run id that `loop apply` takes for a run and not for a path.
const SHORTEST_RUN: usize = 4;
/// More flagged paths than this aren't spelled out as a command.
const WAYS_SHOWN: usize = 3;

pub(super) fn diff(args: Diff, console: &mut Console, engine: &dyn Engine) -> Done {
    let run = RunRequest { run: args.run, dir: args.project.dir };
    let report = engine.diff(DiffRequest { run, texts: !args.stat })?;
    answer(&report, args.json, console, |report, console| {
        if args.stat { show_stat(report, console) } else { show_diff(report, console) }
    })?;
    Ok(0)
}

/// The texts. On a terminal they are coloured and made harmless; into a file they go as they are.
pub(crate) fn show_diff(report: &DiffReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    for file in &report.files {
        if console.out.terminal {
            let text = printable_lines(file.text.as_bytes());
            text.lines().try_for_each(|line| writeln!(console.out, "{}", coloured(line, paint)))?;
        } else {
            console.out.write_all(file.text.as_bytes())?;
        }
    }
    console.out.flush()?;
    if report.entries.is_empty() {
        return writeln!(console.err, "run {} changed nothing", report.run.as_str());
    }
    show_flags(&report.entries, console)
}

fn coloured(line: &str, paint: Paint) -> String {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', ..] => paint.bold(line),
        [b'@', b'@', ..] => paint.cyan(line),
        [b'+', ..] => paint.green(line),
        [b'-', ..] => paint.red(line),
        _ => line.to_owned(),
    }
}

/// The flagged entries, on standard error: a patch stays a patch.
fn show_flags(entries: &[ChangeView], console: &mut Console) -> io::Result<()> {
    let paint = console.err.paint;
    let flagged = entries.iter().filter(|entry| !entry.flags.is_empty());
    for entry in flagged {
        let path = shown(entry.path.as_path());
        writeln!(console.err, "{} {path}: {}", paint.yellow("flagged"), reasons(entry))?;
    }
    Ok(())
}

fn reasons(entry: &ChangeView) -> String {
    let reasons = entry.flags.iter().map(|it| format!("{}, {}", shown(&it.flag), shown(&it.why)));
    reasons.collect::<Vec<_>>().join("; ")
}

fn show_stat(report: &DiffReport, console: &mut Console) -> io::Result<()> {
    if report.entries.is_empty() {
        return writeln!(console.out, "run {} changed nothing", report.run.as_str());
    }
    entry_table(report.entries.iter(), console.out.paint).write(&mut console.out, 0)?;
    let total = counted(report.counts.total(), "change");
    writeln!(console.out, "{total} ({})", by_kind(&report.counts))?;
    writeln!(console.out, "{}", console.out.paint.dim(&report.change_set.to_string()))
}

fn entry_table<'a>(entries: impl Iterator<Item = &'a ChangeView>, paint: Paint) -> Table {
    let mut table = Table::default();
    for entry in entries {
        table.row([
            Cell::painted(letter(entry.kind), |text| paint_kind(entry.kind, text, paint)),
            Cell::plain(path_text(entry)),
            Cell::plain(lines_text(entry)),
            Cell::painted(&flag_names(entry), |text| paint.yellow(text)),
        ]);
    }
    table
}

fn letter(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Add => "A",
        ChangeKind::Edit => "M",
        ChangeKind::Delete => "D",
        ChangeKind::Mode => "m",
        ChangeKind::Rename => "R",
    }
}

fn paint_kind(kind: ChangeKind, text: &str, paint: Paint) -> String {
    match kind {
        ChangeKind::Add => paint.green(text),
        ChangeKind::Delete => paint.red(text),
        ChangeKind::Edit | ChangeKind::Mode | ChangeKind::Rename => paint.cyan(text),
    }
}

fn path_text(entry: &ChangeView) -> String {
    let path = shown(entry.path.as_path());
    match &entry.from {
        Some(from) => format!("{} -> {path}", shown(from.as_path())),
        None => path,
    }
}

/// `+3 -1` for a text with lines; otherwise what is there now.
fn lines_text(entry: &ChangeView) -> String {
    let lines = entry.lines.filter(|lines| lines.added > 0 || lines.removed > 0);
    match (lines, entry.kind) {
        (Some(lines), _) => format!("+{} -{}", lines.added, lines.removed),
        (None, ChangeKind::Mode) => {
            let text = |node: &Option<String>| node.as_deref().map(shown).unwrap_or_default();
            format!("{} -> {}", text(&entry.before), text(&entry.after))
        }
        (None, _) => entry.after.as_deref().map(shown).unwrap_or_default(),
    }
}

fn flag_names(entry: &ChangeView) -> String {
    entry.flags.iter().map(|flag| shown(&flag.flag)).collect::<Vec<_>>().join(", ")
}

pub(super) fn apply(args: &Apply, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = apply_request(args, engine)?;
    let report = engine.apply(request)?;
    answer(&report, args.json, console, show_apply)?;
    let nothing_but_held = report.applied.is_empty() && !report.held.is_empty();
    Ok(if nothing_but_held { exit::DENIED } else { 0 })
}

fn apply_request(args: &Apply, engine: &dyn Engine) -> Result<ApplyRequest, Problem> {
    let mut words = args.arguments.as_slice();
    let mut run = RunRequest { run: None, dir: args.project.dir.clone() };
    if let [first, rest @ ..] = words {
        run.run = run_named(first, &run, engine)?;
        words = if run.run.is_some() { rest } else { words };
    }
    Ok(ApplyRequest {
        paths: words.iter().map(|path| workspace_path(path)).collect::<Result<_, _>>()?,
        flagged: args.flagged.iter().map(|path| workspace_path(path)).collect::<Result<_, _>>()?,
        run,
        dry_run: args.dry_run,
    })
}

/// The word, if it begins the id of a run.
fn run_named(
    word: &OsString,
    of: &RunRequest,
    engine: &dyn Engine,
) -> Result<Option<String>, Problem> {
    let Some(word) = word.to_str().filter(|word| could_be_run(word)) else { return Ok(None) };
    // Also a run of another project: applying it here is refused by the engine, with its reason.
    let runs = engine.runs(RunsRequest { dir: of.dir.clone(), all: true, limit: None })?;
    let is_run = runs.iter().any(|run| run.run.matches(word));
    Ok(is_run.then(|| word.to_owned()))
}

fn could_be_run(word: &str) -> bool {
    word.len() >= SHORTEST_RUN
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// A path of the project, as the change set has it: `./src/` is `src`.
fn workspace_path(word: &OsStr) -> Result<WorkspacePath, Problem> {
    let bytes = word.as_bytes();
    let bytes = bytes.strip_prefix(b"./").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    WorkspacePath::from_path(Path::new(OsStr::from_bytes(bytes))).map_err(|error| {
        Problem::new(exit::USAGE, error.to_string())
            .with_next("paths are relative to the project, as `loop diff --stat` shows them")
    })
}

/// What was applied, what was held and why, and how to apply that too.
pub(crate) fn show_apply(report: &ApplyReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let did = if report.dry_run { "would apply" } else { "applied" };
    let number = counted(report.applied.len() as u64, "change");
    writeln!(console.out, "{did} {number} of run {}", report.run.as_str())?;
    entry_table(report.applied.iter(), paint).write(&mut console.out, 2)?;
    if report.left_out > 0 {
        writeln!(console.out, "left out {}", counted(report.left_out, "change"))?;
    }
    if report.held.is_empty() {
        return Ok(());
    }
    writeln!(
        console.out,
        "{} {}",
        paint.yellow("held"),
        counted(report.held.len() as u64, "change")
    )?;
    for held in &report.held {
        show_held(held, console)?;
    }
    show_way_out(report, console)
}

fn show_held(held: &HeldChange, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let entry = &held.change;
    let kind = paint_kind(entry.kind, letter(entry.kind), paint);
    let never = if held.approvable { "" } else { " (never applied)" };
    writeln!(console.out, "  {kind}  {}: {}{never}", path_text(entry), reasons(entry))
}

/// The command that would apply what was held, as far as anything can.
fn show_way_out(report: &ApplyReport, console: &mut Console) -> io::Result<()> {
    let approvable = report.held.iter().filter(|held| held.approvable);
    let options: Vec<_> = approvable
        .map(|held| format!(" --flagged {}", shown_command(&[held.change.path.as_path()])))
        .collect();
    let Some(first) = options.first() else { return Ok(()) };
    let options =
        if options.len() <= WAYS_SHOWN { options.concat() } else { format!("{first} …") };
    let run = report.run.as_str();
    // A change set is applied once: what was applied has to be taken back to apply more of it.
    let undo = if report.dry_run || report.applied.is_empty() { "" } else { "`loop undo` and " };
    writeln!(console.out, "read it with `loop diff {run}`; then {undo}`loop apply {run}{options}`")
}

pub(super) fn discard(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    answer(&engine.discard(args.into())?, json, console, |report: &DiscardReport, console| {
        let dropped = counted(report.entries, "change");
        writeln!(console.out, "dropped {dropped} of run {}", report.run.as_str())
    })?;
    Ok(0)
}

pub(super) fn undo(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    answer(&engine.undo(args.into())?, json, console, show_undo)?;
    Ok(0)
}

fn show_undo(report: &UndoReport, console: &mut Console) -> io::Result<()> {
    let number = counted(report.restored.len() as u64, "path");
    writeln!(console.out, "took back run {}: {number} as before", report.run.as_str())?;
    for path in &report.restored {
        writeln!(console.out, "  {}", shown(path.as_path()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_as_the_change_set_has_it() {
        let path = |word: &str| workspace_path(OsStr::new(word)).map(|path| path.to_string());
        assert_eq!(path("./src/").unwrap(), "src");
        assert_eq!(path("a b").unwrap(), "a b");
        for bad in ["", "./", "../x", "/etc/passwd", "a//b", "."] {
            assert_eq!(path(bad).unwrap_err().code, exit::USAGE, "{bad}");
        }
    }

    #[test]
    fn few_words_look_like_a_run() {
        let (yes, no): (Vec<_>, Vec<_>) = ["k7m2", "261129-k7m2qd", "src", "./k7m2", "README.md"]
            .into_iter()
            .partition(|word| could_be_run(word));
        assert_eq!((yes, no), (vec!["k7m2", "261129-k7m2qd"], vec!["src", "./k7m2", "README.md"]));
    }
}
