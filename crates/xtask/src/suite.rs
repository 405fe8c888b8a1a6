//! The tests of the workspace: built once by cargo, then each test run in a process of its own.
//!
//! A process a test, because some tests fork, unshare or change the umask; our own runner, because the same built tests
//! also run as an ordinary user who has neither cargo nor a readable checkout (see `ordinary`), and because a fresh
//! machine then needs nothing but Rust. A test that is ignored counts as failed: nothing is skipped in silence.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::needs;
use crate::ordinary::{Ordinary, Shared};
use crate::peers;
use crate::program::{self, cargo, checkout, program};
use crate::tally::Tally;
use crate::unconnected;

/// After this long a test is ended and counted as failed: a bound for hangs, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(600);

/// What `cargo xtask test` was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    packages: Vec<String>,
    name: Option<String>,
    ordinary_user: bool,
    unconnected: bool,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "-p" | "--package" => {
                    wanted.packages.push(rest.next().context("-p needs a crate")?.clone());
                }
                "--ordinary-user" => wanted.ordinary_user = true,
                "--no-network" => wanted.unconnected = true,
                flag if flag.starts_with('-') => bail!("`test` takes no {flag:?}"),
                name if wanted.name.is_none() => wanted.name = Some(name.to_owned()),
                second => bail!("`test` takes one NAME; {second:?} is a second"),
            }
        }
        Ok(wanted)
    }
}

/// `cargo xtask test`.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let wanted = Wanted::parse(arguments)?;
    needs::ensure()?;
    let suite = Suite::build(&wanted.packages)?.containing(wanted.name.as_deref());
    let tally = match (wanted.ordinary_user, wanted.unconnected) {
        (true, true) => bail!("an ordinary user has a network; take one of the two flags"),
        (true, false) => suite.run_as_ordinary_user()?,
        (false, true) => suite.run(Place::Unconnected)?,
        (false, false) => {
            let mut tally = suite.run(Place::Here)?;
            if wanted.name.is_none() {
                tally.add(doc_tests(&wanted.packages)?);
            }
            tally
        }
    };
    finish(&tally)
}

/// Prints the summary; a failure is an error, so that the exit code says so too.
pub(crate) fn finish(tally: &Tally) -> Result<()> {
    for name in &tally.failed {
        println!("FAILED {name}");
    }
    println!("{tally}");
    if !tally.holds() {
        bail!("{} failed", tally.failed.len());
    }
    if tally.passed == 0 {
        bail!("nothing ran");
    }
    Ok(())
}

/// `inside SHARED test`: the tests that root left in the shared directory, as the ordinary user.
pub(crate) fn run_inside(shared: &Path) -> Result<()> {
    let suite: Suite = serde_json::from_slice(&std::fs::read(shared.join(SUITE))?)?;
    let ordinary = Ordinary::enter(shared)?;
    let tally = suite.run(Place::Ordinary(&ordinary))?;
    std::fs::write(shared.join(REPORT), serde_json::to_vec(&(tally.passed, tally.failed))?)?;
    Ok(())
}

const SUITE: &str = "suite.json";
const REPORT: &str = "report.json";

/// Test programs, ready to run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Suite {
    programs: Vec<TestProgram>,
    part: Part,
    name: Option<String>,
}

/// Where tests run.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// As the present user, on this machine as it is.
    Here,
    /// As an ordinary user, in a private view of it.
    Ordinary(&'a Ordinary),
    /// As the present user, without a network.
    Unconnected,
}

/// Which of the tests that were built.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Part {
    All,
    /// Those of the agent, which works where there is no network: its model may be on this machine.
    Agent,
    /// All but those.
    Rest,
    /// All but the tasks with known answers: how an answer is judged is the same for every user.
    OrdinaryUsers,
}

impl Part {
    fn has(self, test: &Test<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Agent => test.is_the_agents(),
            Self::Rest => !test.is_the_agents(),
            Self::OrdinaryUsers => !test.is_a_task(),
        }
    }
}

/// One test program that cargo built.
#[derive(Serialize, Deserialize)]
struct TestProgram {
    package: String,
    /// `policy` for the crate's own tests, `it` for its integration tests.
    target: String,
    path: PathBuf,
    /// The crate's directory: where cargo would start it.
    directory: PathBuf,
}

/// One test of one program.
struct Test<'a> {
    program: &'a TestProgram,
    name: String,
}

impl Test<'_> {
    /// Whether it is about the agent, from its model to its hands.
    fn is_the_agents(&self) -> bool {
        match self.program.package.as_str() {
            "models" | "agent" | "hands" => true,
            "e2e" => self.name.starts_with("agent::"),
            _ => false,
        }
    }

    /// Whether it tries tasks with known answers.
    fn is_a_task(&self) -> bool {
        self.program.package == "e2e" && self.name.starts_with("tasks::")
    }

    fn full_name(&self) -> String {
        format!("{}::{} {}", self.program.package, self.program.target, self.name)
    }
}

impl Suite {
    /// Builds the tests of these crates, of every crate if none is named, and the programs that they start.
    pub(crate) fn build(packages: &[String]) -> Result<Self> {
        if packages.is_empty() || packages.iter().any(|package| package == "e2e") {
            program::run(
                cargo().args(["build", "--locked", "-p", "app", "-p", "ledger", "--bins"]),
            )?;
        }
        let driven = |package: &String| package == "testkit" || package == "e2e";
        if packages.is_empty() || packages.iter().any(driven) {
            peers::ensure()?;
        }
        let mut build = cargo();
        build.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
        scope(&mut build, packages);
        let messages = program::read(&mut build)?;
        let programs =
            String::from_utf8_lossy(&messages).lines().filter_map(test_program).collect();
        Ok(Self { programs, part: Part::All, name: None })
    }

    /// Only the tests whose name contains this.
    pub(crate) fn containing(mut self, name: Option<&str>) -> Self {
        self.name = name.map(str::to_owned);
        self
    }

    /// Only a part of them.
    pub(crate) fn of(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Without the crates of that list.
    pub(crate) fn without(mut self, packages: &[&str]) -> Self {
        self.programs.retain(|program| !packages.contains(&program.package.as_str()));
        self
    }

    /// Runs the tests there.
    pub(crate) fn run(&self, place: Place<'_>) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut tests = Vec::new();
        for program in &self.programs {
            let ignored = program.list(place, &["--ignored"])?;
            tally
                .failed
                .extend(ignored.iter().map(|name| format!("{} {name}: ignored", program.package)));
            let names =
                program.list(place, &[])?.into_iter().filter(|name| !ignored.contains(name));
            tests.extend(names.map(|name| Test { program, name }));
        }
        tests.retain(|test| self.part.has(test));
        if let Some(wanted) = &self.name {
            tests.retain(|test| test.full_name().contains(wanted.as_str()));
        }
        tally.add(run_all(&tests, place)?);
        Ok(tally)
    }

    /// As root: runs every test once more as an ordinary user, in a private mount namespace.
    pub(crate) fn run_as_ordinary_user(&self) -> Result<Tally> {
        let shared = Shared::new()?;
        std::fs::write(shared.path().join(SUITE), serde_json::to_vec(self)?)?;
        shared.run_inside(&["test".as_ref()])?;
        let (passed, failed) = serde_json::from_slice(&std::fs::read(shared.path().join(REPORT))?)?;
        Ok(Tally { passed, failed })
    }
}

fn scope(command: &mut Command, packages: &[String]) {
    if packages.is_empty() {
        command.arg("--workspace");
    }
    for package in packages {
        command.args(["-p", package]);
    }
}

/// The test program that a line of cargo's output announces, if it announces one.
fn test_program(line: &str) -> Option<TestProgram> {
    #[derive(Deserialize)]
    struct Artifact {
        manifest_path: PathBuf,
        target: Target,
        profile: Profile,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    let directory = artifact.manifest_path.parent()?.to_owned();
    Some(TestProgram {
        package: directory.file_name()?.to_str()?.to_owned(),
        target: artifact.target.name,
        path: artifact.executable.filter(|_| artifact.profile.test)?,
        directory,
    })
}

impl TestProgram {
    /// The command as cargo would start it: same directory, same variables.
    fn command(&self, place: Place<'_>) -> Command {
        let mut command = match place {
            Place::Here => program(&self.path),
            Place::Ordinary(ordinary) => ordinary.command(&self.path),
            Place::Unconnected => unconnected::command(&self.path),
        };
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("CARGO_PKG_NAME", &self.package)
            .env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"))
            .env("INSTA_WORKSPACE_ROOT", checkout())
            .env("INSTA_UPDATE", "no")
            .env("RUST_BACKTRACE", "1");
        command
    }

    fn list(&self, place: Place<'_>, more: &[&str]) -> Result<Vec<String>> {
        let listing =
            program::read(self.command(place).args(["--list", "--format", "terse"]).args(more))?;
        let listing = String::from_utf8_lossy(&listing);
        Ok(listing
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }
}

/// Runs tests side by side, as many as there are processors.
fn run_all(tests: &[Test<'_>], place: Place<'_>) -> Result<Tally> {
    let next = Mutex::new(tests.iter());
    let total = Mutex::new(Tally::default());
    let work = || -> Result<()> {
        loop {
            let Some(test) = next.lock().ok().and_then(|mut rest| rest.next()) else {
                return Ok(());
            };
            let result = run_one(test, place)?;
            if let Ok(mut total) = total.lock() {
                total.add(result);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> Result<()> {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in running {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a worker of the test runner panicked"))??;
        }
        Ok(())
    })?;
    total.into_inner().context("a worker of the test runner panicked")
}

/// Runs one test in a process of its own; what it printed is shown if it fails.
fn run_one(test: &Test<'_>, place: Place<'_>) -> Result<Tally> {
    let mut output = tempfile::tempfile()?;
    let mut command = test.program.command(place);
    command
        .args(["--exact", &test.name, "--nocapture"])
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .process_group(0);
    let began = Instant::now();
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", program::show(&command)))?;
    let ended = wait(&mut child, PATIENCE)?;
    if ended.is_some_and(|status| status.success()) {
        return Ok(Tally::one());
    }
    let how = ended.map_or_else(
        || format!("still running after {} s", PATIENCE.as_secs()),
        |status| status.to_string(),
    );
    print_failure(test, &how, began.elapsed(), &mut output)?;
    Ok(Tally { passed: 0, failed: vec![test.full_name()] })
}

fn print_failure(test: &Test<'_>, how: &str, took: Duration, output: &mut File) -> Result<()> {
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    println!(
        "--- FAILED {} ({how}, {:.1} s)\n{}\n---",
        test.full_name(),
        took.as_secs_f64(),
        text.trim_end()
    );
    Ok(())
}

/// Waits for a child; ends its process group and returns nothing when its time is up.
fn wait(child: &mut Child, patience: Duration) -> Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > patience {
            let group = rustix::process::Pid::from_child(child);
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The examples in the documentation, which only cargo can run.
pub(crate) fn doc_tests(packages: &[String]) -> Result<Tally> {
    let libraries: Vec<String> =
        packages.iter().filter(|package| has_library(package)).cloned().collect();
    if libraries.is_empty() && !packages.is_empty() {
        return Ok(Tally::default());
    }
    let mut command = cargo();
    command.args(["test", "--locked", "--doc", "--no-fail-fast"]);
    scope(&mut command, &libraries);
    let output = command.output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut tally = doc_results(&text);
    if !output.status.success() && tally.holds() {
        tally.failed.push("documentation examples do not build".to_owned());
    }
    if !tally.holds() {
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(tally)
}

fn has_library(package: &str) -> bool {
    checkout().join("crates").join(package).join("src/lib.rs").is_file()
}

/// Counts the lines `test NAME ... ok`. An ignored example counts as failed.
fn doc_results(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        let Some((name, result)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        else {
            continue;
        };
        match result {
            "ok" => tally.passed += 1,
            _ => tally.failed.push(format!("{name}: {result}")),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments_name_crates_and_one_test() {
        let wanted = Wanted::parse(&words("-p policy -p ledger deny")).unwrap();
        assert_eq!(wanted.packages, ["policy", "ledger"]);
        assert_eq!(wanted.name.as_deref(), Some("deny"));
        assert!(Wanted::parse(&words("--fast")).is_err());
        assert!(Wanted::parse(&words("a b")).is_err());
    }

    #[test]
    fn only_test_programs_are_taken_from_cargos_messages() {
        let line = |test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/x/crates/policy/Cargo.toml","target":{{"name":"it"}},
                "profile":{{"test":{test}}},"executable":"/x/target/debug/deps/it-1"}}"#
            )
        };
        let found = test_program(&line(true)).unwrap();
        assert_eq!((found.package.as_str(), found.target.as_str()), ("policy", "it"));
        assert!(test_program(&line(false)).is_none());
        assert!(test_program("not json").is_none());
    }

    #[test]
    fn every_test_is_in_one_part() {
        let program = |package: &str| TestProgram {
            package: package.to_owned(),
            target: "it".to_owned(),
            path: PathBuf::new(),
            directory: PathBuf::new(),
        };
        for (package, name, agents) in [
            ("hands", "running::x", true),
            ("e2e", "agent::broken::x", true),
            ("e2e", "network::agents::x", false),
            ("run", "agent::x", false),
            ("testkit", "tasks::x", false),
        ] {
            let test = Test { program: &program(package), name: name.to_owned() };
            assert_eq!(
                [Part::All, Part::Agent, Part::Rest].map(|part| part.has(&test)),
                [true, agents, !agents]
            );
            assert!(Part::OrdinaryUsers.has(&test));
        }
        let judged = Test { program: &program("e2e"), name: "tasks::x".to_owned() };
        assert!(Part::Rest.has(&judged) && !Part::OrdinaryUsers.has(&judged));
    }

    #[test]
    fn an_ignored_example_is_a_failure() {
        let tally = doc_results(
            "test src/lib.rs - a (line 1) ... ok\ntest b ... ignored\ntest result: ok. 1 passed\n",
        );
        assert_eq!(tally.to_string(), "1 passed, 1 failed");
    }

    #[test]
    fn a_test_that_hangs_is_ended() {
        let mut child = program("sleep").arg("1000").process_group(0).spawn().unwrap();
        assert!(wait(&mut child, Duration::from_millis(50)).unwrap().is_none());
    }
}
