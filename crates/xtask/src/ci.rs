//! Everything that has to hold before a change lands, stage by stage, stopping at the first failure.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::fuzz::{self, Chance};
use crate::ordinary::Shared;
use crate::program::{self, cargo, checkout, program, target_directory};
use crate::suite::{self, Part, Place, Suite};
use crate::tally::Tally;
use crate::{bench, needs, tidy};

/// Crates whose tests do not depend on who runs them; they are not run a second time as an ordinary user.
const SAME_FOR_EVERY_USER: &[&str] = &["names", "policy", "api", "broker", "xtask"];

/// Cases whose setting only root can make: an ordinary user's report says that they could not run.
const SET_UP_BY_ROOT: &[&str] = &["A6-other-owner"];

/// Seconds for each fuzz target: enough to replay its corpus and look a little further.
const FUZZ_SECONDS: u32 = 5;

/// One step, with what it is for as its name.
struct Stage {
    name: &'static str,
    run: fn() -> Result<Tally>,
    /// Only root can do it, because it becomes somebody else.
    needs_root: bool,
}

const STAGES: &[Stage] = &[
    Stage { name: "format", run: format, needs_root: false },
    Stage { name: "lints", run: lints, needs_root: false },
    Stage { name: "tidy", run: tidy::run, needs_root: false },
    Stage { name: "tests", run: tests, needs_root: false },
    Stage {
        name: "tests of the agent, without a network",
        run: tests_unconnected,
        needs_root: false,
    },
    Stage { name: "documentation examples", run: || suite::doc_tests(&[]), needs_root: false },
    Stage { name: "tests as an ordinary user", run: tests_as_ordinary_user, needs_root: true },
    Stage { name: "attacks", run: attacks, needs_root: false },
    Stage { name: "attacks as an ordinary user", run: attacks_as_ordinary_user, needs_root: true },
    Stage { name: "fuzz smoke", run: fuzz_smoke, needs_root: false },
    Stage { name: "bench smoke", run: bench::smoke, needs_root: false },
];

/// Whoever looks for what nobody has seen yet uses `cargo xtask fuzz`.
fn fuzz_smoke() -> Result<Tally> {
    fuzz::run(FUZZ_SECONDS, Chance::Fixed, None)
}

/// `cargo xtask ci [STAGE]`: every stage, or those whose name contains that.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let name = match arguments {
        [] => "",
        [name] if !name.starts_with('-') => name.as_str(),
        _ => bail!("`ci` takes nothing but the name of a stage"),
    };
    needs::ensure()?;
    let began = Instant::now();
    let mut total = Tally::default();
    for stage in STAGES.iter().filter(|stage| stage.name.contains(name)) {
        if stage.needs_root && !program::is_root() {
            println!("== {}: not run, you are an ordinary user already", stage.name);
            continue;
        }
        total.add(stage.carry_out());
        if !total.holds() {
            break;
        }
    }
    println!("== all in {}", minutes(began.elapsed()));
    suite::finish(&total)
}

impl Stage {
    /// An error is a failure that bears the stage's name.
    fn carry_out(&self) -> Tally {
        println!("== {}", self.name);
        let began = Instant::now();
        let result = (self.run)().unwrap_or_else(|error| {
            println!("{error:#}");
            Tally { passed: 0, failed: vec![self.name.to_owned()] }
        });
        println!("== {}: {result} in {}", self.name, minutes(began.elapsed()));
        result
    }
}

fn minutes(time: Duration) -> String {
    format!("{}:{:02} min", time.as_secs() / 60, time.as_secs() % 60)
}

fn format() -> Result<Tally> {
    program::run(cargo().args(["fmt", "--all", "--check"]))?;
    program::run(cargo().current_dir(checkout().join("fuzz")).args(["fmt", "--check"]))?;
    Ok(Tally::one())
}

fn lints() -> Result<Tally> {
    program::run(cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    Ok(Tally::one())
}

fn tests() -> Result<Tally> {
    Suite::build(&[])?.of(Part::Rest).run(Place::Here)
}

fn tests_unconnected() -> Result<Tally> {
    Suite::build(&[])?.of(Part::Agent).run(Place::Unconnected)
}

fn tests_as_ordinary_user() -> Result<Tally> {
    let tests = Suite::build(&[])?.without(SAME_FOR_EVERY_USER).of(Part::OrdinaryUsers);
    tests.run_as_ordinary_user()
}

fn attacks() -> Result<Tally> {
    let loop_program = release()?;
    let home = tempfile::tempdir()?;
    let mut attack = program(loop_program);
    attack
        .args(["attack", "--json"])
        .current_dir(home.path())
        .env("LOOP_HOME", home.path().join("loop"))
        .env("XDG_CONFIG_HOME", home.path().join("config"));
    let output = attack.output().context("cannot start loop")?;
    let excused = if program::is_root() { &[] } else { SET_UP_BY_ROOT };
    judge(&output.stdout, &String::from_utf8_lossy(&output.stderr), excused)
}

fn attacks_as_ordinary_user() -> Result<Tally> {
    let shared = Shared::new()?;
    let report = shared.path().join("attacks.json");
    std::fs::write(&report, "")?;
    let script = format!("exec '{}' attack --json > '{}'", release()?.display(), report.display());
    std::fs::set_permissions(&report, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
    std::fs::set_permissions(shared.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let line = ["run", "/bin/sh", "-c", &script];
    let ended = shared.run_inside(&line.map(std::ffi::OsStr::new));
    let tally = judge(&std::fs::read(&report)?, "", SET_UP_BY_ROOT);
    if tally.as_ref().is_ok_and(Tally::holds) {
        ended?;
    }
    tally
}

/// The product as it is shipped.
pub(crate) fn release() -> Result<PathBuf> {
    program::run(cargo().args(["build", "--locked", "--release", "--package", "app"]))?;
    Ok(target_directory().join("release/loop"))
}

/// What `loop attack --json` prints, as far as it is judged here.
#[derive(Deserialize)]
struct Attacks {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    title: String,
    outcome: Outcome,
    reason: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Pass,
    Fail,
    /// Something is missing here. That is no pass.
    Cannot,
}

/// Counts cases. One that could not run is a failure like any other, because a machine for CI has
/// what the corpus needs; unless it is excused, and then it is neither passed nor failed.
fn judge(report: &[u8], messages: &str, excused: &[&str]) -> Result<Tally> {
    let attacks: Attacks = serde_json::from_slice(report)
        .with_context(|| format!("`loop attack` gave no report\n{messages}"))?;
    let mut tally = Tally::default();
    for case in attacks.cases {
        if case.outcome == Outcome::Pass {
            tally.passed += 1;
            continue;
        }
        let word = if case.outcome == Outcome::Fail { "failed" } else { "could not run" };
        let reason = case.reason.as_deref().unwrap_or("no reason given");
        println!("{} {word}: {}\n  {reason}", case.id, case.title);
        if case.outcome == Outcome::Cannot && excused.contains(&case.id.as_str()) {
            continue;
        }
        tally.failed.push(format!("attack {} {word}", case.id));
    }
    if tally == Tally::default() {
        bail!("the corpus is empty");
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_could_not_run_is_no_pass() {
        let report = br#"{"cases": [
            {"id": "B1", "title": "links", "outcome": "pass", "reason": null},
            {"id": "D2", "title": "i386", "outcome": "cannot", "reason": "no 32-bit calls here"},
            {"id": "D6", "title": "bombs", "outcome": "fail", "reason": "confined: still running"}]}"#;
        let tally = judge(report, "", &[]).unwrap();
        assert_eq!(tally.passed, 1);
        assert_eq!(tally.failed, ["attack D2 could not run", "attack D6 failed"]);
        let excused = judge(report, "", &["D2", "D6"]).unwrap();
        assert_eq!((excused.passed, excused.failed), (1, vec!["attack D6 failed".to_owned()]));
    }

    #[test]
    fn no_report_and_no_cases_are_failures() {
        assert!(judge(b"", "loop: cannot", &[]).is_err());
        assert!(judge(br#"{"cases": []}"#, "", &[]).is_err());
    }

    #[test]
    fn times_are_minutes() {
        assert_eq!(minutes(Duration::from_secs(125)), "2:05 min");
    }
}
