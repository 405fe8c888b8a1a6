//! `loop diff`, `apply`, `discard` and `undo`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use api::{
    ApplyReport, ApplyRequest, ChangeKind, ChangeView, DiffReport, DiffRequest, DiscardReport,
    Engine, HeldChange, Mode, Outcome, Problem, RunRequest, RunsRequest, UndoReport, exit,
};
use names::{WorkspacePath, printable_lines};

use super::exec::{by_kind, git_line};
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
        let show = if args.stat { show_stat } else { show_diff };
        show(report, args.git, console)
    })?;
    Ok(0)
}

/// The texts, those of Git's own files only if they are wanted. On a terminal they are coloured and
/// made harmless; into a file they go as they are.
pub(crate) fn show_diff(report: &DiffReport, git: bool, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let hidden = report.entries.iter().filter(|entry| !git && entry.is_git_metadata());
    let hidden: HashSet<_> = hidden.map(|entry| &entry.path).collect();
    for file in report.files.iter().filter(|file| !hidden.contains(&file.path)) {
        if console.out.terminal {
            let text = printable_lines(file.text.as_bytes());
            text.lines().try_for_each(|line| writeln!(console.out, "{}", coloured(line, paint)))?;
        } else {
            console.out.write_all(file.text.as_bytes())?;
        }
    }
    console.out.flush()?;
    if report.entries.is_empty() {
        return writeln!(console.err, "{}", nothing(report));
    }
    show_flags(&report.entries, git, console)?;
    match git_note(report, git) {
        Some(note) => writeln!(console.err, "{note}"),
        None => Ok(()),
    }
}

/// Why there is nothing to show.
fn nothing(report: &DiffReport) -> String {
    let run = report.run.as_str();
    match report.mode {
        Mode::Direct => {
            format!("run {run} has no change set: what it changed is in the project already")
        }
        Mode::Overlay | Mode::ReadOnly => format!("run {run} changed nothing"),
    }
}

/// What became of Git's own files, and how to see them if they aren't shown.
fn git_note(report: &DiffReport, git: bool) -> Option<String> {
    let line = git_line(report.counts.git, report.counts.total() > 0)?;
    let way = format!("; see them with `loop diff {} --git`", report.run.as_str());
    Some(if git { line } else { line + &way })
}

/// Which entries are worth a line of their own: a directory only if nothing beneath it says as much.
struct Lines<'a> {
    git: bool,
    holds: HashSet<&'a [u8]>,
    waits: HashSet<&'a [u8]>,
}

impl<'a> Lines<'a> {
    /// For these entries, and Git's own files only if they are wanted.
    fn of(entries: impl Iterator<Item = &'a ChangeView>, git: bool) -> Self {
        let mut lines = Self { git, holds: HashSet::new(), waits: HashSet::new() };
        for entry in entries.filter(|entry| !entry.directory && (git || !entry.is_git_metadata())) {
            for path in [Some(&entry.path), entry.from.as_ref()].into_iter().flatten() {
                lines.holds.extend(above(path));
                lines.waits.extend(above(path).filter(|_| waits(entry)));
            }
        }
        lines
    }

    fn show(&self, entry: &ChangeView) -> bool {
        let said = if waits(entry) { &self.waits } else { &self.holds };
        let implied = entry.directory && said.contains(entry.path.as_bytes());
        !implied && (self.git || !entry.is_git_metadata())
    }
}

/// The directories that a path is in.
fn above(path: &WorkspacePath) -> impl Iterator<Item = &[u8]> {
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| bytes.get(..at))
}

/// Has it a flag that the person can approve?
fn waits(entry: &ChangeView) -> bool {
    entry.flags.iter().any(|flag| flag.approvable)
}

/// How many changes these are. Directories count only where there is nothing else.
fn tally(entries: &[&ChangeView]) -> String {
    match (entries.iter().filter(|entry| !entry.directory).count(), entries.len()) {
        (0, 1) => "1 directory".to_owned(),
        (0, directories @ 2..) => format!("{directories} directories"),
        (changes, _) => counted(changes as u64, "change"),
    }
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
fn show_flags(entries: &[ChangeView], git: bool, console: &mut Console) -> io::Result<()> {
    let paint = console.err.paint;
    let lines = Lines::of(entries.iter(), git);
    let flagged = entries.iter().filter(|entry| !entry.flags.is_empty());
    for entry in flagged.filter(|entry| lines.show(entry)) {
        let path = shown(entry.path.as_path());
        writeln!(console.err, "{} {path}: {}", paint.yellow("flagged"), reasons(entry))?;
    }
    Ok(())
}

fn reasons(entry: &ChangeView) -> String {
    let reasons = entry.flags.iter().map(|it| format!("{}, {}", shown(&it.flag), shown(&it.why)));
    reasons.collect::<Vec<_>>().join("; ")
}

fn show_stat(report: &DiffReport, git: bool, console: &mut Console) -> io::Result<()> {
    if report.entries.is_empty() {
        return writeln!(console.out, "{}", nothing(report));
    }
    let lines = Lines::of(report.entries.iter(), git);
    let entries = report.entries.iter().filter(|entry| lines.show(entry));
    entry_table(entries, console.out.paint).write(&mut console.out, 0)?;
    if report.counts.total() > 0 {
        let total = counted(report.counts.total(), "change");
        writeln!(console.out, "{total} ({})", by_kind(&report.counts))?;
    }
    if let Some(note) = git_note(report, git) {
        writeln!(console.out, "{note}")?;
    }
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
    let held = report.held.iter().any(|held| !held.change.is_git_metadata());
    Ok(match (report.applied.is_empty(), held, report.held.is_empty()) {
        (true, true, _) => exit::DENIED,
        (true, false, false) => exit::NO,
        _ => 0,
    })
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
pub(super) fn run_named(
    word: &OsStr,
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
pub(super) fn workspace_path(word: &OsStr) -> Result<WorkspacePath, Problem> {
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
    let lines = Lines::of(report.applied.iter(), true);
    let applied: Vec<_> = report.applied.iter().filter(|entry| lines.show(entry)).collect();
    let (number, run) = (tally(&applied), report.run.as_str());
    let claimed = report.outcome.map(|outcome| claimed(outcome, paint)).unwrap_or_default();
    writeln!(console.out, "{did} {number} of run {run}{claimed}")?;
    entry_table(applied.into_iter(), paint).write(&mut console.out, 2)?;
    if report.left_out > 0 {
        writeln!(console.out, "left out {}", counted(report.left_out, "change"))?;
    }
    let lines = Lines::of(report.held.iter().map(|held| &held.change), false);
    let held: Vec<_> = report.held.iter().filter(|held| lines.show(&held.change)).collect();
    if !held.is_empty() {
        let number = tally(&held.iter().map(|held| &held.change).collect::<Vec<_>>());
        writeln!(console.out, "{} {number}", paint.yellow("held"))?;
        held.iter().try_for_each(|held| show_held(held, console))?;
    }
    let git = report.held.iter().map(|held| &held.change);
    let git = git.filter(|entry| entry.is_git_metadata() && !entry.directory).count() as u64;
    if let Some(line) = git_line(git, !(report.applied.is_empty() && held.is_empty())) {
        writeln!(console.out, "{line}")?;
    }
    show_way_out(report, &held, console)
}

/// What is claimed about the run, whatever of it is applied.
fn claimed(outcome: Outcome, paint: Paint) -> String {
    match outcome {
        Outcome::Verified => format!(", which is {}", paint.green("verified")),
        Outcome::Unverified => ", which is unverified".to_owned(),
        Outcome::Failed => format!(", which {}", paint.red("failed")),
        Outcome::Stopped => format!(", which was {}", paint.yellow("stopped")),
    }
}

fn show_held(held: &HeldChange, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let entry = &held.change;
    let kind = paint_kind(entry.kind, letter(entry.kind), paint);
    let never = if held.approvable { "" } else { " (never applied)" };
    writeln!(console.out, "  {kind}  {}: {}{never}", path_text(entry), reasons(entry))
}

/// The command that would apply what was held, as far as anything can.
fn show_way_out(
    report: &ApplyReport,
    held: &[&HeldChange],
    console: &mut Console,
) -> io::Result<()> {
    let approvable = held.iter().filter(|held| held.approvable);
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
        writeln!(console.out, "dropped {dropped} of run {}", report.run.as_str())?;
        match report.git {
            0 => Ok(()),
            number => writeln!(console.out, "Git's own files went too ({number})"),
        }
    })?;
    Ok(0)
}

pub(super) fn undo(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    answer(&engine.undo(args.into())?, json, console, show_undo)?;
    Ok(0)
}

fn show_undo(report: &UndoReport, console: &mut Console) -> io::Result<()> {
    // A directory is said by what is in it.
    let said: HashSet<_> = report.restored.iter().flat_map(above).collect();
    let paths: Vec<_> = report.restored.iter().filter(|it| !said.contains(it.as_bytes())).collect();
    let number = counted(paths.len() as u64, "path");
    writeln!(console.out, "took back run {}: {number} as before", report.run.as_str())?;
    for path in paths {
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
