//! The text of a contract: every fault at once, each with its line and key.

mod table;

use std::collections::HashMap;

use names::{MicroUsd, Span, WorkspacePath, printable};
use toml::de::DeTable;

use crate::fault::Fault;
use crate::pattern::Pattern;
use crate::terms::{
    Check, Command, Contract, Criterion, Exit, Expect, Limits, NONZERO, ROUNDS, Reserve, Review,
};
use table::{At, Faults, Table};

/// Longest contract, in bytes.
const LONGEST: usize = 1 << 20;
/// Longest name of a criterion or a check, in characters.
const LONGEST_NAME: usize = 120;
/// The most criteria, and the most checks.
const MOST: usize = 256;
/// Steps and tokens: what JSON carries exactly and nobody reaches.
const COUNTED: (i64, i64) = (1, 1_000_000_000_000_000);
/// The most money, in millionths of a dollar: what JSON carries exactly.
const MONEY: u64 = 1_000_000_000_000_000;
/// The longest time, in milliseconds: a year.
const YEAR: u64 = 366 * 24 * 3_600_000;

const TOP: &[&str] = &[
    "task",
    "oracle",
    "may_change",
    "ignored",
    "rounds",
    "criterion",
    "check",
    "limits",
    "reserve",
    "review",
];
const CRITERION: &[&str] = &["id", "text", "checks"];
const CHECK: &[&str] = &["name", "run", "directory", "expect", "timeout"];
const EXPECT: &[&str] = &["exit", "stdout", "tests"];
const LIMITS: &[&str] = &["wall", "steps", "tokens", "money"];
const RESERVE: &[&str] = &["tokens", "wall"];
const REVIEW: &[&str] = &["model"];

/// Reads a contract; `source` names the file in faults.
///
/// # Errors
/// Everything that is wrong with it, in the order of lines; never none.
pub fn read(text: &str, source: &str) -> Result<Contract, Vec<Fault>> {
    let mut faults = Faults::of(text, source);
    if text.len() > LONGEST {
        faults.add(1, "", format!("the file is longer than {LONGEST} bytes"), "shorten it");
        return Err(faults.in_order());
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = error.span().map_or(1, |span| faults.line_of(&span));
        let what = printable(error.message().as_bytes());
        faults.add(line, "", what, "write it as TOML");
    }
    if !errors.is_empty() {
        return Err(faults.in_order());
    }
    let contract = Reader { faults: &mut faults }.contract(document.get_ref());
    match faults.is_empty() {
        true => Ok(contract),
        false => Err(faults.in_order()),
    }
}

/// Makes a contract of commands, as `--check` gives them: each is a criterion of its own.
///
/// # Errors
/// What is wrong with one of them, or that there is none.
pub fn of_commands(commands: &[String]) -> Result<Contract, Fault> {
    if commands.is_empty() {
        return Err(flag_fault("there is no command", "name one: --check 'cargo test'"));
    }
    let empty = Contract {
        task: None,
        oracle: Vec::new(),
        may_change: Vec::new(),
        ignored: Vec::new(),
        rounds: ROUNDS,
        criteria: Vec::new(),
        checks: Vec::new(),
        limits: Limits::default(),
        reserve: Reserve::default(),
        review: None,
    };
    empty.and_commands(commands)
}

impl Contract {
    /// The same with these commands, each a check and a criterion of its own.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn and_commands(mut self, commands: &[String]) -> Result<Self, Fault> {
        for command in commands {
            self.add_command(command)?;
        }
        Ok(self)
    }

    fn add_command(&mut self, command: &str) -> Result<(), Fault> {
        if command.trim().is_empty() {
            return Err(flag_fault("the command is empty", "write it: --check 'cargo test'"));
        }
        if command.contains('\0') {
            return Err(flag_fault("the command holds a NUL character", "write it without"));
        }
        if self.checks.len() >= MOST {
            let what = format!("there are more than {MOST} checks");
            return Err(flag_fault(&what, "put several commands into one script"));
        }
        let run = Command::Shell(command.to_owned());
        if self.checks.iter().any(|check| check.run == run && check.directory.is_none()) {
            let what = format!("the command {} is there twice", run.shown());
            return Err(flag_fault(&what, "name each command once"));
        }
        let name = self.free_name(&run);
        self.criteria.push(Criterion {
            id: name.clone(),
            text: format!("{} succeeds", run.shown()),
            checks: vec![name.clone()],
        });
        let expect = Expect { exit: Exit::Code(0), stdout: None, tests: None };
        self.checks.push(Check { name, run, directory: None, expect, timeout: None });
        Ok(())
    }

    /// The command itself where it can be a name, or else a number.
    fn free_name(&self, run: &Command) -> String {
        let taken = |name: &str| {
            self.check(name).is_some() || self.criteria.iter().any(|one| one.id == name)
        };
        let Command::Shell(line) = run else { return String::new() };
        let own = Some(line.trim().to_owned());
        let own = own.filter(|name| name_flaw(name).is_none() && !taken(name));
        let number = self.checks.len() + 1;
        let numbered = (number..).map(|number| format!("check {number}"));
        own.or_else(|| numbered.into_iter().find(|name| !taken(name))).unwrap_or_default()
    }
}

fn flag_fault(what: &str, next: &str) -> Fault {
    Fault {
        source: "--check".to_owned(),
        line: None,
        key: String::new(),
        what: what.to_owned(),
        next: next.to_owned(),
    }
}

/// What keeps a text from being a name.
pub(crate) fn name_flaw(name: &str) -> Option<&'static str> {
    let hidden = |c: char| c.is_control() || names::is_invisible(c);
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > LONGEST_NAME {
        Some("is longer than 120 characters")
    } else if name.chars().any(hidden) {
        Some("holds a character that can't be seen")
    } else if name.trim() != name {
        Some("begins or ends with a space")
    } else {
        None
    }
}

struct Reader<'f> {
    faults: &'f mut Faults,
}

impl Reader<'_> {
    fn contract(&mut self, document: &DeTable<'_>) -> Contract {
        let mut top = Table::new(document, 1, "", TOP, self.faults);
        let task = top.text("task", self.faults).map(|task| task.value);
        let rounds = top.whole("rounds", (1, 100), self.faults);
        let oracle = self.patterns(&mut top, "oracle");
        let may_change = self.patterns(&mut top, "may_change");
        let ignored = self.patterns(&mut top, "ignored");
        let limits = top.table("limits", LIMITS, self.faults);
        let reserve = top.table("reserve", RESERVE, self.faults);
        let review = top.table("review", REVIEW, self.faults);
        let criteria = top.tables("criterion", CRITERION, MOST, self.faults);
        let checks = top.tables("check", CHECK, MOST, self.faults);
        let none = checks.is_empty() && !top.states("check");
        let checks = self.checks(checks);
        if none {
            let what = "there is no check, so nothing could show that the task is done";
            let next = "add [[check]] with name, run and expect";
            self.faults.add(1, "check", what, next);
        }
        let criteria = match top.states("criterion") {
            true => self.criteria(criteria, &checks),
            false => checks.iter().map(|check| criterion_of(&check.value)).collect(),
        };
        Contract {
            task,
            oracle,
            may_change,
            ignored,
            rounds: rounds.and_then(|at| u32::try_from(at.value).ok()).unwrap_or(ROUNDS),
            criteria,
            checks: checks.into_iter().map(|check| check.value).collect(),
            limits: limits.map(|table| self.limits(table)).unwrap_or_default(),
            reserve: reserve.map(|table| self.reserve(table)).unwrap_or_default(),
            review: review.and_then(|table| self.review(table)),
        }
    }

    fn patterns(&mut self, table: &mut Table<'_>, key: &'static str) -> Vec<Pattern> {
        let texts = table.texts(key, self.faults).unwrap_or_default();
        let mut patterns = Vec::new();
        for At { line, value } in texts {
            match Pattern::parse(&value) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => {
                    let what = format!("{}: {error}", quoted(&value));
                    self.faults.add(line, key, what, error.fix());
                }
            }
        }
        patterns
    }

    fn checks(&mut self, tables: Vec<Table<'_>>) -> Vec<At<Check>> {
        let mut checks: Vec<At<Check>> = Vec::new();
        let mut lines: HashMap<String, u32> = HashMap::new();
        for mut table in tables {
            let Some(name) = self.name(&mut table, "name", "check.name", &mut lines) else {
                self.check(table, String::new());
                continue;
            };
            let line = table.line;
            if let Some(value) = self.check(table, name) {
                checks.push(At { line, value });
            }
        }
        checks
    }

    /// A name that no other table of this kind has.
    fn name(
        &mut self,
        table: &mut Table<'_>,
        key: &'static str,
        full: &str,
        lines: &mut HashMap<String, u32>,
    ) -> Option<String> {
        let At { line, value } = table.needed_text(key, self.faults)?;
        if let Some(flaw) = name_flaw(&value) {
            let what = format!("{} {flaw}", quoted(&value));
            self.faults.add(line, full, what, "give it a short name of its own");
            return None;
        }
        if let Some(other) = lines.get(&value) {
            let what = format!("{} is the name of the one in line {other}, too", quoted(&value));
            self.faults.add(line, full, what, "give each a name of its own");
            return None;
        }
        lines.insert(value.clone(), line);
        Some(value)
    }

    fn check(&mut self, mut table: Table<'_>, name: String) -> Option<Check> {
        let run = self.command(&mut table);
        let directory = table.text("directory", self.faults);
        let timeout = table.text("timeout", self.faults);
        let line = table.line;
        let expect = match table.states("expect") {
            true => table.table("expect", EXPECT, self.faults).and_then(|t| self.expect(t)),
            false => {
                let what = "the check does not say what to expect, so nothing could fail";
                self.faults.add(line, "check.expect", what, "write: expect = { exit = 0 }");
                None
            }
        };
        let directory = directory.and_then(|text| self.directory(&text));
        let timeout = timeout.and_then(|text| self.span(&text, "check.timeout"));
        Some(Check { name, run: run?, directory, expect: expect?, timeout })
    }

    fn command(&mut self, table: &mut Table<'_>) -> Option<Command> {
        let key = "check.run";
        let At { line, value: run } = table.command("run", self.faults)?;
        let (nul, empty) = match &run {
            Command::Shell(text) => (text.contains('\0'), text.trim().is_empty()),
            Command::Argv(argv) => (
                argv.iter().any(|argument| argument.contains('\0')),
                argv.first().is_none_or(String::is_empty),
            ),
        };
        if empty {
            let next = "write a line for the shell, or a list of program and arguments";
            self.faults.add(line, key, "the command is empty", next);
            return None;
        }
        if nul {
            self.faults.add(line, key, "the command holds a NUL character", "write it without");
            return None;
        }
        Some(run)
    }

    fn directory(&mut self, text: &At<String>) -> Option<WorkspacePath> {
        let key = "check.directory";
        WorkspacePath::from_bytes(text.value.as_bytes())
            .map_err(|error| {
                let what = format!("{} {}", quoted(&text.value), error.why());
                let next = "name a directory of the project, from its root on, or leave it out";
                self.faults.add(text.line, key, what, next);
            })
            .ok()
    }

    fn expect(&mut self, mut table: Table<'_>) -> Option<Expect> {
        let exit = self.exit(&mut table);
        let stdout = table.text("stdout", self.faults);
        let tests = table.whole("tests", COUNTED, self.faults);
        if let Some(text) = stdout.as_ref().filter(|text| text.value.is_empty()) {
            let what = "every output holds the empty text";
            self.faults.add(
                text.line,
                "check.expect.stdout",
                what,
                "write the text, or leave it out",
            );
        }
        if table.is_empty() {
            let what = "it expects nothing, so nothing could fail";
            self.faults.add(table.line, "check.expect", what, "write: expect = { exit = 0 }");
            return None;
        }
        Some(Expect {
            exit: exit?,
            stdout: stdout.map(|at| at.value),
            tests: tests.and_then(|at| u64::try_from(at.value).ok()),
        })
    }

    /// The exit code; 0 where other things are expected.
    fn exit(&mut self, table: &mut Table<'_>) -> Option<Exit> {
        if !table.states("exit") {
            return Some(Exit::Code(0));
        }
        let key = "check.expect.exit";
        let next = "write the exit code, as in 0, or \"nonzero\"";
        match table.number_or_word("exit", self.faults)? {
            At { value: Ok(code), line } => match u8::try_from(code) {
                Ok(code) => Some(Exit::Code(code)),
                Err(_) => {
                    self.faults.add(line, key, format!("{code} is no exit code"), next);
                    None
                }
            },
            At { value: Err(word), .. } if word == format!("`{NONZERO}`") => Some(Exit::Nonzero),
            At { value: Err(word), line } => {
                let what = format!("{word}, neither an exit code nor \"nonzero\"");
                self.faults.add(line, key, what, next);
                None
            }
        }
    }

    fn criteria(&mut self, tables: Vec<Table<'_>>, checks: &[At<Check>]) -> Vec<Criterion> {
        let mut criteria = Vec::new();
        let mut lines = HashMap::new();
        for mut table in tables {
            let id = self.name(&mut table, "id", "criterion.id", &mut lines);
            let text = table.needed_text("text", self.faults);
            let uses = self.uses(&mut table, checks);
            if let (Some(id), Some(text)) = (id, text) {
                criteria.push(Criterion { id, text: text.value, checks: uses });
            }
        }
        criteria
    }

    /// The checks that a criterion names.
    fn uses(&mut self, table: &mut Table<'_>, checks: &[At<Check>]) -> Vec<String> {
        let key = "criterion.checks";
        let next = "name the checks that show it: checks = [\"test\"]";
        let stated = table.states("checks");
        let Some(texts) = table.texts("checks", self.faults) else {
            if !stated {
                self.faults.add(table.line, key, "the criterion has no check", next);
            }
            return Vec::new();
        };
        if texts.is_empty() {
            self.faults.add(table.line, key, "the criterion has no check", next);
        }
        let mut uses: Vec<String> = Vec::new();
        for At { line, value } in texts {
            if uses.contains(&value) {
                let what = format!("the check {} is there twice", quoted(&value));
                self.faults.add(line, key, what, "name it once");
            } else if checks.iter().any(|check| check.value.name == value) {
                uses.push(value);
            } else if !self.faults.spoils_a_check() {
                let what = format!("there is no check {}", quoted(&value));
                let names = checks.iter().map(|check| check.value.name.as_str());
                let next = match names::nearest(&value, names) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => "name one of the [[check]] of this file".to_owned(),
                };
                self.faults.add(line, key, what, next);
            }
        }
        uses
    }

    fn limits(&mut self, mut table: Table<'_>) -> Limits {
        let wall = table.text("wall", self.faults);
        let money = table.text("money", self.faults);
        Limits {
            wall: wall.and_then(|text| self.span(&text, "limits.wall")),
            steps: self.counted(&mut table, "steps"),
            tokens: self.counted(&mut table, "tokens"),
            money: money.and_then(|text| self.money(&text)),
        }
    }

    fn reserve(&mut self, mut table: Table<'_>) -> Reserve {
        let wall = table.text("wall", self.faults);
        Reserve {
            tokens: self.counted(&mut table, "tokens"),
            wall: wall.and_then(|text| self.span(&text, "reserve.wall")),
        }
    }

    fn counted(&mut self, table: &mut Table<'_>, key: &'static str) -> Option<u64> {
        table.whole(key, COUNTED, self.faults).and_then(|at| u64::try_from(at.value).ok())
    }

    fn span(&mut self, text: &At<String>, key: &str) -> Option<Span> {
        let next = "write hours, minutes and seconds, as in 1h30m";
        match Span::parse(&text.value) {
            Ok(span) if (1..=YEAR).contains(&span.as_millis()) => Some(span),
            Ok(span) => {
                let what = format!("{span} is not between 1ms and 366 days");
                self.faults.add(text.line, key, what, next);
                None
            }
            Err(error) => {
                self.faults.add(text.line, key, error.to_string(), next);
                None
            }
        }
    }

    fn money(&mut self, text: &At<String>) -> Option<MicroUsd> {
        let (key, next) = ("limits.money", "write dollars, as in \"2.50\"");
        match MicroUsd::parse(&text.value) {
            Ok(money) if (1..=MONEY).contains(&money.0) => Some(money),
            Ok(money) => {
                self.faults.add(text.line, key, format!("{money} is out of range"), next);
                None
            }
            Err(error) => {
                self.faults.add(text.line, key, error.to_string(), next);
                None
            }
        }
    }

    fn review(&mut self, mut table: Table<'_>) -> Option<Review> {
        let At { line, value: model } = table.needed_text("model", self.faults)?;
        let parts = model.split_once(':');
        if parts.is_none_or(|(provider, name)| provider.is_empty() || name.is_empty()) {
            let what = format!("{} does not name a provider and a model", quoted(&model));
            let next = "write it as `loop models` shows it: provider:name";
            self.faults.add(line, "review.model", what, next);
            return None;
        }
        Some(Review { model })
    }
}

/// A check that stands for itself.
fn criterion_of(check: &Check) -> Criterion {
    Criterion {
        id: check.name.clone(),
        text: format!("{} does as expected", check.run.shown()),
        checks: vec![check.name.clone()],
    }
}

/// A text of the file, short and safe to show.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{}`", printable(shown.as_bytes()))
}
