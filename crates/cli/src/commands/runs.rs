//! `loop runs` and `loop show`.

use std::io::{self, Write as _};

/// An action longer than this is shortened; `--json` has it whole.
const WHAT_WIDTH: usize = 200;
/// Columns that a list leaves for commands before it leaves out something else.
const COMMAND: usize = 16;
/// A command is never cut shorter in a list.
const LEAST_COMMAND: usize = 8;
/// Columns of a project's path in a list.
const PROJECT: usize = 24;
const NARROW_PROJECT: usize = 12;

use api::{
    AgentView, AnsweredAsk, Chain, ChangeCounts, Continued, Enforcement, Engine, Entered, Outcome,
    Reached, RunDetail, RunState, RunSummary, RunsRequest, exit,
};

use super::exec::{by_kind, denied, let_through};
use super::{Done, answer, verification};
use crate::args::{OneRun, Runs};
use crate::console::{
    Cell, Console, Paint, Table, age, counted, duration, shortened, shown, shown_command, since,
};
use crate::failure::shown_place;

pub(super) fn list(args: Runs, console: &mut Console, engine: &dyn Engine) -> Done {
    let limit = Some(args.limit).filter(|limit| *limit > 0);
    let runs = engine.runs(RunsRequest { dir: args.project.dir, all: args.all, limit })?;
    answer(&runs, args.json, console, |runs, console| show_list(runs, args.all, console))?;
    Ok(0)
}

fn show_list(runs: &[RunSummary], all: bool, console: &mut Console) -> io::Result<()> {
    if runs.is_empty() {
        let place = if all { "yet" } else { "of this project yet" };
        return writeln!(console.out, "no runs {place}; start one with `loop exec -- CMD`");
    }
    let wide = rows(runs, all, Room::Wide, console);
    let rows = match wide.width().saturating_add(COMMAND) <= console.columns {
        true => wide,
        false => rows(runs, all, Room::Narrow, console),
    };
    let room = console.columns.saturating_sub(rows.width()).max(LEAST_COMMAND);
    let paint = console.out.paint;
    let head = Cell::painted("COMMAND", |text| paint.dim(text));
    let commands = runs.iter().map(|run| shortened(&shown_command(&run.command), room));
    let commands = std::iter::once(head).chain(commands.map(Cell::plain));
    rows.beside(commands).write(&mut console.out, 0)
}

/// How much of each run a list has room for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Wide,
    /// Without how long it took, and Git's own files only where nothing else changed.
    Narrow,
}

/// All but the commands.
fn rows(runs: &[RunSummary], all: bool, room: Room, console: &Console) -> Table {
    let paint = console.out.paint;
    let mut table = Table::default();
    let mut heads = vec!["RUN", "AGE", "STATE", "OUTCOME"];
    heads.extend((room == Room::Wide).then_some("TOOK"));
    heads.push("CHANGES");
    heads.extend(all.then_some("PROJECT"));
    table.row(heads.iter().map(|head| Cell::painted(head, |text| paint.dim(text))));
    for run in runs {
        table.row(cells(run, all, room, console));
    }
    table
}

fn cells(run: &RunSummary, all: bool, room: Room, console: &Console) -> Vec<Cell> {
    let paint = console.out.paint;
    let mut cells = vec![
        Cell::plain(run.run.as_str()),
        Cell::plain(since(console.now, run.started)),
        Cell::painted(state(run.state), |text| paint_state(run.state, text, paint)),
        Cell::painted(&ended(run), |text| paint_outcome(run.outcome, text, paint)),
    ];
    let (changes, project) = match room {
        Room::Wide => {
            cells.push(Cell::plain(run.duration_ms.map(duration).unwrap_or_default()));
            (run.changes, PROJECT)
        }
        Room::Narrow if run.changes.total() > 0 => {
            (ChangeCounts { git: 0, ..run.changes }, NARROW_PROJECT)
        }
        Room::Narrow => (run.changes, NARROW_PROJECT),
    };
    cells.push(Cell::plain(signs(&changes)));
    cells.extend(all.then(|| Cell::plain(last_of(&shown(&run.project), project))));
    cells
}

/// The outcome, and the exit code where the outcome does not tell it: `failed 101`.
fn ended(run: &RunSummary) -> String {
    let told = [0, exit::NO, exit::UNVERIFIED];
    let code = run.exit_code.filter(|code| !told.contains(code));
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    run.outcome.map(|it| outcome(it).to_owned() + &code).unwrap_or_default()
}

fn paint_outcome(outcome: Option<Outcome>, text: &str, paint: Paint) -> String {
    match outcome {
        Some(Outcome::Verified) => paint.green(text),
        Some(Outcome::Failed) => paint.red(text),
        Some(Outcome::Stopped) => paint.yellow(text),
        Some(Outcome::Unverified) | None => text.to_owned(),
    }
}

/// The last `width` characters of a path, after an ellipsis where there are more.
fn last_of(path: &str, width: usize) -> String {
    let over = path.chars().count().saturating_sub(width);
    match over {
        0 => path.to_owned(),
        _ => std::iter::once('…').chain(path.chars().skip(over + 1)).collect(),
    }
}

/// The changes by sign: `+1 ~2 -0`, `!` for the flagged, and Git's own files.
fn signs(changes: &ChangeCounts) -> String {
    let signs = [
        ('+', changes.added),
        ('~', changes.edited),
        ('-', changes.deleted),
        ('>', changes.renamed),
        ('!', changes.flagged),
    ];
    let present = signs.iter().filter(|(_, number)| *number > 0);
    let git = (changes.git > 0).then(|| format!("(git {})", changes.git));
    let words = present.map(|(sign, number)| format!("{sign}{number}")).chain(git);
    words.collect::<Vec<_>>().join(" ")
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Preparing => "preparing",
        RunState::Working => "working",
        RunState::Waiting => "waiting",
        RunState::Checking => "checking",
        RunState::Sealing => "sealing",
        RunState::Ready => "ready",
        RunState::Unchanged => "unchanged",
        RunState::Direct => "direct",
        RunState::Applied => "applied",
        RunState::Undone => "undone",
        RunState::Discarded => "discarded",
        RunState::Applying => "applying",
        RunState::Undoing => "undoing",
        RunState::Discarding => "discarding",
        RunState::Interrupted => "interrupted",
        RunState::HalfApplied => "half applied",
        RunState::HalfUndone => "half undone",
        RunState::HalfDiscarded => "half discarded",
        RunState::Broken => "broken",
    }
}

fn paint_state(state: RunState, text: &str, paint: Paint) -> String {
    match state {
        _ if state.is_live() => paint.yellow(text),
        RunState::Ready => paint.yellow(text),
        RunState::Applied => paint.green(text),
        RunState::Unchanged | RunState::Direct | RunState::Undone | RunState::Discarded => {
            paint.dim(text)
        }
        _ => paint.red(text),
    }
}

pub(super) fn show(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    answer(&engine.show(args.into())?, json, console, show_run)?;
    Ok(0)
}

fn show_run(run: &RunDetail, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mut table = Table::default();
    for (name, value) in facts(run, console) {
        table.row([Cell::painted(name, |text| paint.dim(text)), Cell::plain(value)]);
    }
    table.write(&mut console.out, 0)?;
    if let Some((view, outcome)) = run.verification.as_ref().zip(run.summary.outcome) {
        for line in verification::lines(view, outcome, console.columns, paint) {
            writeln!(console.out, "{line}")?;
        }
    }
    if let Some(why) = &run.unchecked {
        writeln!(console.out, "{}", paint.yellow(&shown(why)))?;
    }
    for answered in &run.approvals {
        writeln!(console.out, "{}", answer_line(answered, paint))?;
    }
    for reached in &run.reached {
        writeln!(console.out, "{} {}", paint.green("reached"), reached_line(reached))?;
    }
    for entered in &run.published {
        writeln!(console.out, "{} {}", paint.green("published"), entered_line(entered))?;
    }
    for denial in &run.denials {
        writeln!(console.out, "{}", denied(denial, paint))?;
        if let Some(next) = &denial.next {
            writeln!(console.out, "  next  {}", shown(next))?;
        }
    }
    for learned in run.learned.iter().flatten() {
        writeln!(console.out, "{}", let_through(learned, paint))?;
    }
    for key in &run.ignored_project_keys {
        let place = format!("{}:{}", shown(&key.file), key.line);
        writeln!(console.out, "{} {} ({place})", paint.yellow("not trusted"), shown(&key.key))?;
    }
    match &run.enforcement {
        Some(enforcement) => show_enforcement(enforcement, console),
        None => Ok(()),
    }
}

/// One destination on a line.
fn reached_line(reached: &Reached) -> String {
    let addresses: Vec<_> = reached.addresses.iter().map(shown).collect();
    let at =
        if addresses.is_empty() { String::new() } else { format!(" at {}", addresses.join(", ")) };
    let Reached { host, port, connections, failed, sent, received, took_ms, why, .. } = reached;
    let carried = carried(*connections, [*sent, *received], *took_ms, (*failed, why));
    format!("{}:{port}{at}  {carried}", shown(host))
}

/// One published port on a line.
fn entered_line(entered: &Entered) -> String {
    let at: Vec<_> = entered.outside.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let Entered { port, connections, failed, sent, received, took_ms, why, .. } = entered;
    let carried = carried(*connections, [*sent, *received], *took_ms, (*failed, why));
    format!("{port} at {}  {carried}", at.join(", "))
}

/// What connections came to.
fn carried(
    connections: u64,
    bytes: [u64; 2],
    took_ms: u64,
    (failed, why): (u64, &Option<String>),
) -> String {
    let [sent, received] = bytes.map(amount);
    let why = why.as_ref().map(|why| format!(": {}", shown(why))).unwrap_or_default();
    let failed = (failed > 0).then(|| format!(", {failed} failed{why}"));
    format!(
        "{}, {sent} sent, {received} received, {}{}",
        counted(connections, "connection"),
        duration(took_ms),
        failed.unwrap_or_default(),
    )
}

/// So many bytes, in the largest unit of which there is at least one.
fn amount(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] =
        [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
    let (unit, size) = UNITS.into_iter().find(|(_, size)| bytes >= *size).unwrap_or(("B", 1));
    let (whole, tenth) = (bytes / size, bytes % size * 10 / size);
    if unit == "B" { format!("{whole} B") } else { format!("{whole}.{tenth} {unit}") }
}

/// One answer on a line.
fn answer_line(answered: &AnsweredAsk, paint: Paint) -> String {
    let how = match answered.answer.as_str() {
        "once" => paint.green("approved once"),
        "run" => paint.green("approved for the run"),
        _ => paint.red("answered no"),
    };
    let what = shortened(&shown(&answered.what), WHAT_WIDTH);
    let reason = answered.reason.as_ref().map(|reason| format!(": {}", shown(reason)));
    let (action, by) = (shown(&answered.action), shown(&answered.by));
    format!("{how} {action} {what} by {by}{}", reason.unwrap_or_default())
}

fn facts(run: &RunDetail, console: &Console) -> Vec<(&'static str, String)> {
    let summary = &run.summary;
    let started = format!("{} ({})", summary.started, age(console.now, summary.started));
    let mut facts = vec![
        ("run", summary.run.as_str().to_owned()),
        ("command", shown_command(&summary.command)),
        ("project", shown(&summary.project)),
        ("profile", shown(&summary.profile)),
        ("subject", shown(&run.subject)),
        ("started", started),
        ("state", state(summary.state).to_owned() + &what_now(run)),
    ];
    if let Some(Continued { run, receipt }) = &run.continues {
        facts.push(("goes on from", format!("run {run}, whose receipt is {receipt}")));
    }
    if let Some(Continued { run, receipt }) = &run.verifies {
        facts.push(("verifies", format!("run {run}, whose receipt is {receipt}")));
    }
    if let Some(learned) = &run.learned {
        let through = learned.iter().fold(0_u64, |sum, one| sum.saturating_add(one.count));
        let through = counted(through, "action");
        facts.push(("learning", format!("its policy was not in force; {through} let through")));
    }
    let took = summary.duration_ms.map(|took| ("took", duration(took)));
    let code = summary.exit_code.map(|code| ("exit", code.to_string()));
    let outcome = summary.outcome.map(|it| ("outcome", outcome(it).to_owned()));
    let session = summary.session.as_ref().map(|name| ("session", shown(name)));
    facts.extend(run.agent.as_ref().map(|agent| ("agent", agent_line(agent))));
    facts.extend([session, took, code, outcome, limit(run)].into_iter().flatten());
    if summary.changes.total() > 0 {
        let flagged = format!(", {} flagged", summary.changes.flagged);
        let flagged = if summary.changes.flagged > 0 { flagged } else { String::new() };
        facts.push(("changes", by_kind(&summary.changes) + &flagged));
    }
    if summary.changes.git > 0 {
        let text =
            format!("{} of its own files changed; they stay in the run", summary.changes.git);
        facts.push(("git", text));
    }
    if let Some(commits) = run.commits {
        let (id, number) = (summary.run.as_str(), counted(commits, "new commit"));
        facts.push(("commits", format!("{number}; `loop branch {id} NAME` puts them on a branch")));
    }
    facts.push(("ledger", chain(&run.chain)));
    facts.push(("authority", run.authority.to_string()));
    facts.extend(run.change_set.as_ref().map(|digest| ("change set", digest.to_string())));
    facts.extend(run.receipt.as_ref().map(|path| ("receipt", shown(path))));
    facts.push(("directory", shown(&run.directory)));
    facts
}

/// What is wrong with a run, or what to do about what a crash left.
fn what_now(run: &RunDetail) -> String {
    if let Some(flaw) = &run.flaw {
        return format!(": {}", shown(flaw));
    }
    let id = run.summary.run.as_str();
    match run.summary.state {
        RunState::Waiting => "; `loop approvals` shows for what".to_owned(),
        RunState::HalfApplied => format!(
            ": the project may hold a part of it; `loop apply {id}` takes that back and applies it \
             again"
        ),
        RunState::HalfUndone => format!(
            ": the project may hold a part of it; `loop undo {id}` goes back and undoes it again"
        ),
        RunState::HalfDiscarded => format!("; `loop discard {id}` finishes it"),
        _ => String::new(),
    }
}

/// `anthropic:claude, 2 turns, 7 steps, 1200 tokens, $0.02; session 261129-k7m2qd`.
fn agent_line(agent: &AgentView) -> String {
    let model = Some(shown(&agent.model)).filter(|model| !model.is_empty());
    let cost = Some(agent.cost_micro_usd).filter(|cost| cost.0 > 0).map(|cost| cost.to_string());
    let counts = [(agent.turns.into(), "turn"), (agent.steps, "step"), (agent.tokens, "token")];
    let counts = counts.map(|(number, noun)| counted(number, noun));
    let parts: Vec<_> = model.into_iter().chain(counts).chain(cost).collect();
    format!("{}; session {}", parts.join(", "), shown(&agent.session))
}

fn limit(run: &RunDetail) -> Option<(&'static str, String)> {
    let hit = run.limit.as_ref()?;
    let origin = hit.origin.as_ref().map(|rule| format!(" ({})", shown_place(rule)));
    let text = format!("{} {}", shown(&hit.limit), shown(&hit.allowed));
    Some(("ended by", text + &origin.unwrap_or_default()))
}

/// The name of an outcome, as in the receipt.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Verified => "verified",
        Outcome::Unverified => "unverified",
        Outcome::Failed => "failed",
        Outcome::Stopped => "stopped",
    }
}

/// What holds of a ledger, in a line.
pub(super) fn chain(chain: &Chain) -> String {
    match &chain.problem {
        Some(problem) => format!("broken after {} records: {}", chain.count, shown(problem)),
        None => format!("intact, {} records", chain.count),
    }
}

fn show_enforcement(enforcement: &Enforcement, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let filter = if enforcement.syscall_filter { "system calls filtered" } else { "no filter" };
    writeln!(
        console.out,
        "{} {} backend, kernel {}, Landlock {}, {filter}, uid {} inside",
        paint.bold("enforced"),
        shown(&enforcement.backend),
        shown(&enforcement.kernel),
        enforcement.landlock_abi,
        enforcement.uid,
    )?;
    let mut table = Table::default();
    for limit in &enforcement.limits {
        let held_by = format!("held by {}", shown(&limit.held_by));
        let allowed = shown(&limit.allowed);
        table.row([Cell::plain(shown(&limit.limit)), Cell::plain(allowed), Cell::plain(held_by)]);
    }
    for test in &enforcement.self_test {
        let mark = match test.held {
            true => Cell::painted("held", |text| paint.green(text)),
            false => Cell::painted("not held", |text| paint.red(text)),
        };
        table.row([Cell::plain(shown(&test.attempt)), mark, Cell::plain(shown(&test.detail))]);
    }
    table.write(&mut console.out, 2)
}
