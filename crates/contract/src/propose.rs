//! A draft of a contract, from what the files of a project say. It is for a person to edit: what
//! has to be true is theirs to know, so criteria are asked for, not guessed.

use names::WorkspacePath;

use crate::oracle::Oracle;
use crate::read::name_flaw;
use crate::terms::{Check, Command, Contract};

/// The files of a project, as far as a draft looks at them.
pub struct Listing<'a> {
    /// Their paths, from the project's root on.
    pub paths: &'a [String],
    /// The text of one of them, if it is a short text.
    pub read: &'a dyn Fn(&str) -> Option<String>,
}

/// A draft.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// TOML that [`crate::read`] reads, if a check was found.
    pub text: String,
    /// The checks that were found.
    pub checks: Vec<Suggested>,
}

/// A check that a file suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    /// Its name.
    pub name: String,
    /// A line for the shell.
    pub command: String,
    /// The directory, from the project's root on; empty for the root.
    pub directory: String,
    /// The file that suggests it.
    pub because: String,
    /// Whether it runs tests; what does not is drafted as a comment.
    pub tests: bool,
}

/// The most checks of a draft.
const MOST: usize = 16;

/// Drafts a contract for a task.
#[must_use]
pub fn propose(task: &str, listing: &Listing<'_>) -> Draft {
    let mut checks: Vec<Suggested> = Vec::new();
    for directory in directories(listing) {
        let place = Place { listing, directory: &directory };
        for (name, command, because, tests) in place.suggestions() {
            let taken = checks.iter().any(|check| {
                // A project inside another is checked with it.
                check.command == command && is_below(&directory, &check.directory)
            });
            if !taken && checks.len() < MOST {
                let name = free_name(&name, &directory, &checks);
                let (directory, because) = (directory.clone(), place.path(because));
                checks.push(Suggested { name, command, directory, because, tests });
            }
        }
    }
    Draft { text: text(task, &checks), checks }
}

/// The directories that are looked into: the root, and those of two levels.
fn directories(listing: &Listing<'_>) -> Vec<String> {
    const DEEPEST: usize = 2;
    let mut all = vec![String::new()];
    for path in listing.paths {
        let Some((directory, _)) = path.rsplit_once('/') else { continue };
        let shallow = directory.split('/').count() <= DEEPEST;
        let named = WorkspacePath::from_bytes(directory.as_bytes()).is_ok();
        if shallow && named && !all.iter().any(|known| known == directory) {
            all.push(directory.to_owned());
        }
    }
    all.sort_by_key(|directory| (directory.matches('/').count(), directory.clone()));
    all
}

fn is_below(directory: &str, above: &str) -> bool {
    above.is_empty()
        || directory
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A name that no other check has: with the directory, where a name can carry it, and a number.
fn free_name(name: &str, directory: &str, checks: &[Suggested]) -> String {
    let free = |name: &String| !checks.iter().any(|check| check.name == *name);
    let within = format!("{name} in {directory}");
    let longest = format!("{within} {MOST}");
    let carries = [&within, &longest].into_iter().all(|name| name_flaw(name).is_none());
    let own = if carries && !directory.is_empty() { within } else { name.to_owned() };
    let numbered = (2..).map(|number| format!("{own} {number}"));
    let mut names = [name.to_owned(), own.clone()].into_iter().chain(numbered);
    names.find(free).unwrap_or_default()
}

/// Name, command, the file that suggests it, and whether it runs tests.
type Suggestion = (String, String, &'static str, bool);

struct Place<'a> {
    listing: &'a Listing<'a>,
    directory: &'a str,
}

impl Place<'_> {
    fn path(&self, name: &str) -> String {
        if self.directory.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.directory)
        }
    }

    fn has(&self, name: &str) -> bool {
        let path = self.path(name);
        self.listing.paths.contains(&path)
    }

    fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn text(&self, name: &str) -> String {
        let text = if self.has(name) { (self.listing.read)(&self.path(name)) } else { None };
        text.unwrap_or_default()
    }

    /// Whether a file below here is as `is` says.
    fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        let start = self.path("");
        self.listing.paths.iter().filter_map(|path| path.strip_prefix(&start)).any(is)
    }

    fn suggestions(&self) -> Vec<Suggestion> {
        let mut all: Vec<Suggestion> = Vec::new();
        let mut add = |name: &str, command: &str, because, tests| {
            all.push((name.to_owned(), command.to_owned(), because, tests));
        };
        if self.has("Cargo.toml") {
            add("test", "cargo test", "Cargo.toml", true);
            add("lint", "cargo clippy --all-targets -- -D warnings", "Cargo.toml", false);
        }
        if self.has("go.mod") {
            add("test", "go test ./...", "go.mod", true);
            add("lint", "go vet ./...", "go.mod", false);
        }
        if self.has("package.json") {
            for (name, command, tests) in self.scripts() {
                add(&name, &command, "package.json", tests);
            }
        }
        if let Some((command, because)) = self.python() {
            add("test", &command, because, true);
        }
        for (file, command) in [
            ("mix.exs", "mix test"),
            ("deno.json", "deno test"),
            ("deno.jsonc", "deno test"),
            ("Package.swift", "swift test"),
            ("pom.xml", if self.has("mvnw") { "./mvnw test" } else { "mvn test" }),
            ("phpunit.xml", "vendor/bin/phpunit"),
            ("phpunit.xml.dist", "vendor/bin/phpunit"),
            (".rspec", "bundle exec rspec"),
            ("test.sh", "sh test.sh"),
            ("run_tests.sh", "sh run_tests.sh"),
        ] {
            if let Some(file) = self.first(&[file]) {
                add("test", command, file, true);
            }
        }
        if let Some(file) = self.first(&["build.gradle", "build.gradle.kts"]) {
            let command = if self.has("gradlew") { "./gradlew test" } else { "gradle test" };
            add("test", command, file, true);
        }
        let solution = |path: &str| !path.contains('/') && path.ends_with(".sln");
        if self.any(solution) {
            add("test", "dotnet test", "a solution", true);
        }
        if self.text("CMakeLists.txt").contains("enable_testing") {
            let command = "cmake -S . -B build && cmake --build build && ctest --test-dir build";
            add("test", command, "CMakeLists.txt", true);
        }
        for (command, because, tests) in self.goals() {
            add(if tests { "test" } else { "lint" }, &command, because, tests);
        }
        all
    }

    /// What `package.json` has scripts for, by the program that its lock file belongs to.
    fn scripts(&self) -> Vec<(String, String, bool)> {
        let Ok(package) = serde_json::from_str::<serde_json::Value>(&self.text("package.json"))
        else {
            return Vec::new();
        };
        let script = |name: &str| package.get("scripts")?.get(name)?.as_str();
        let manager = match self.first(&["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]) {
            Some("pnpm-lock.yaml") => "pnpm",
            Some("yarn.lock") => "yarn",
            Some(_) => "bun",
            None => "npm",
        };
        let mut found = Vec::new();
        if script("test").is_some_and(|script| !script.contains("no test specified")) {
            let command = if manager == "bun" { "bun run test" } else { "test" };
            let command =
                if manager == "bun" { command.to_owned() } else { format!("{manager} {command}") };
            found.push(("test".to_owned(), command, true));
        }
        for name in ["lint", "typecheck", "check"] {
            if script(name).is_some() {
                found.push((name.to_owned(), format!("{manager} run {name}"), false));
            }
        }
        found
    }

    fn python(&self) -> Option<(String, &'static str)> {
        let marks =
            ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "conftest.py"];
        let marked = self.first(&marks);
        let is_test = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.ends_with("_test.py") || name.starts_with("test_") && name.ends_with(".py")
        };
        let own_tests = |path: &str| path.matches('/').count() <= 1 && is_test(path);
        let because = match marked {
            Some(because) if self.any(is_test) => because,
            None if self.directory.is_empty() && self.any(own_tests) => "the names of tests",
            _ => return None,
        };
        let pytest =
            ["pyproject.toml", "tox.ini", "setup.cfg", "requirements.txt", "requirements-dev.txt"]
                .iter()
                .any(|name| self.text(name).contains("pytest"))
                || self.first(&["pytest.ini", "conftest.py"]).is_some()
                || self.any(|path| path.ends_with("conftest.py"));
        let runner = match self.first(&["uv.lock", "poetry.lock", "Pipfile.lock"]) {
            Some("uv.lock") => "uv run ",
            Some("poetry.lock") => "poetry run ",
            Some(_) => "pipenv run ",
            None => "",
        };
        // unittest looks for tests in packages only, from where it begins.
        let apart = ["tests", "test"].into_iter().find(|directory| {
            let beneath = format!("{directory}/");
            self.any(|path| path.starts_with(&beneath) && is_test(path))
                && !self.any(|path| path == format!("{beneath}__init__.py"))
        });
        let runs = match (pytest, apart) {
            (true, _) => "python3 -m pytest".to_owned(),
            (false, Some(apart)) => format!("python3 -m unittest discover -s {apart}"),
            (false, None) => "python3 -m unittest".to_owned(),
        };
        let command = match runner {
            "" => runs,
            runner => format!("{runner}{}", runs.replace("python3", "python")),
        };
        Some((command, because))
    }

    /// What a `Makefile` or a `justfile` can make of the usual names.
    fn goals(&self) -> Vec<(String, &'static str, bool)> {
        let mut found = Vec::new();
        for (file, program) in [
            ("Makefile", "make"),
            ("makefile", "make"),
            ("GNUmakefile", "make"),
            ("justfile", "just"),
            ("Justfile", "just"),
        ] {
            let Some(file) = self.first(&[file]) else { continue };
            let text = self.text(file);
            let makes = |goal: &str| {
                text.lines().any(|line| {
                    let rest = line.strip_prefix(goal);
                    rest.is_some_and(|rest| {
                        rest.trim_start().starts_with(':') && !rest.trim_start().starts_with(":=")
                    })
                })
            };
            for (goal, tests) in [("test", true), ("check", true), ("lint", false)] {
                if makes(goal) {
                    found.push((format!("{program} {goal}"), file, tests));
                }
            }
        }
        found
    }
}

const HEAD: &str = "\
# When this task is done. A draft: edit it, then use it with --contract FILE, or save it as
# .loop/contract.toml and trust it with `loop trust --contract`.
";

const CRITERIA: &str = "
# What has to be true when it is done? Each answer is a criterion; each criterion names the checks
# that show it. Without any, every check is a criterion of its own.
#
#   Which input shows the fault, or the new behaviour, and what should come out?
#   What has to go on working as before?
#   What must stay as it is: files, interfaces, messages?
#   How would somebody see that it is done who does not read the code?
#
# [[criterion]]
# id = \"answers\"
# text = \"…\"
# checks = [NAMES]
";

const ORACLE: &str = "
# Tests, CI and the settings of linters and runners come from the base, whatever the agent makes of
# them. More of that kind, and what of it the agent may change:
# oracle = [\"expected/**\"]
# may_change = [\"tests/new/**\"]
";

const NONE: &str = "
# No command was found that tests this project. Name one:
# [[check]]
# name = \"test\"
# run = \"./test.sh\"
# expect = { exit = 0 }
";

fn text(task: &str, checks: &[Suggested]) -> String {
    let mut text = HEAD.to_owned();
    if !task.trim().is_empty() {
        text.push_str(&format!("task = {}\n", quoted(task)));
    }
    text.push_str(ORACLE);
    let tests = checks.iter().filter(|check| check.tests).map(|check| quoted(&check.name));
    let names = tests.collect::<Vec<_>>().join(", ");
    text.push_str(&CRITERIA.replace("NAMES", if names.is_empty() { "\"test\"" } else { &names }));
    if !checks.iter().any(|check| check.tests) {
        text.push_str(NONE);
    }
    for check in checks {
        text.push('\n');
        text.push_str(&one(check));
    }
    text
}

fn one(check: &Suggested) -> String {
    let because = names::printable(check.because.as_bytes());
    let mut lines = vec!["[[check]]".to_owned(), format!("name = {}", quoted(&check.name))];
    lines.push(format!("run = {}", quoted(&check.command)));
    if !check.directory.is_empty() {
        lines.push(format!("directory = {}", quoted(&check.directory)));
    }
    lines.push("expect = { exit = 0 }".to_owned());
    let (mark, why) = if check.tests { ("", "from") } else { ("# ", "perhaps, from") };
    let head = format!("# {why} {because}\n");
    lines.into_iter().fold(head, |text, line| format!("{text}{mark}{line}\n"))
}

/// A text as TOML writes it, in one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || names::is_invisible(c) => {
                quoted.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What is not wrong with a contract, but may not be meant, in a project.
#[must_use]
pub fn notes(contract: &Contract, in_base: &dyn Fn(&str) -> bool) -> Vec<String> {
    let oracle = Oracle::of(contract, in_base);
    let of = |check| notes_of(check, &oracle, in_base).into_iter().chain(unnamed(contract, check));
    contract.checks.iter().flat_map(of).collect()
}

/// A check that shows no criterion guards: it may only not begin to fail.
fn unnamed(contract: &Contract, check: &Check) -> Option<String> {
    let names = contract.criteria.iter().any(|criterion| criterion.checks.contains(&check.name));
    let name = names::printable(check.name.as_bytes());
    (!names).then(|| {
        format!("no criterion names the check {name}: it may fail if it failed before the work")
    })
}

fn notes_of(check: &Check, oracle: &Oracle, in_base: &dyn Fn(&str) -> bool) -> Vec<String> {
    let name = names::printable(check.name.as_bytes());
    let mut named = crate::words::named_paths(check);
    named.retain(|path| in_base(path) && oracle.holds(path.as_bytes()));
    named.sort();
    named.dedup();
    let held = named.into_iter().map(|path| {
        let path = names::printable(path.as_bytes());
        format!(
            "the check {name} names {path}, so it comes from the base; if the task may change it, \
             say so: may_change = [\"{path}\"]"
        )
    });
    let hides = match &check.run {
        Command::Shell(line) if line.contains("|| true") || line.trim_end().ends_with("; true") => {
            Some(format!("the check {name} succeeds whatever happens: it ends in `true`"))
        }
        _ => None,
    };
    held.chain(hides).collect()
}
