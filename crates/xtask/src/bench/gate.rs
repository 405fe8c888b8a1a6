//! Rows about the syscall gate: what it adds to each call that it is asked about, and to a build.
//!
//! Both sides run inside; they differ in the rules, or in the mode, and in nothing else. A small
//! program makes the calls and times them itself, so that starting a sandbox does not count.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::processes::{self, Place, Turns};
use super::{Bar, Effort, Outcome, Row};
use crate::program::{self, program};

/// Makes the calls.
const PROBE: &str = include_str!("gate.c");
/// Programs that are run.
const EXECS: usize = 5_000;
/// Files that are opened.
const OPENS: usize = 50_000;
/// Turns of each side.
const ROUNDS: usize = 10;

/// Rules about programs, of which none is about what is run here.
const RULES: &str = "[profile]\nname = \"ruled\"\nextends = \"offline\"\n\n\
    [[rule]]\nid = \"ask-before-push\"\naction = \"exec\"\nprogram = \"git\"\n\
    args = [\"push\", \"**\"]\nverdict = \"ask\"\n\n\
    [[rule]]\nid = \"no-publish\"\naction = \"exec\"\nprogram = \"npm\"\nverdict = \"deny\"\n";

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    let gated = Gated::new(place)?;
    let direct = ["--mode", "direct"];
    Ok(vec![
        Row {
            what: "exec of a small program, with rules on programs over none".into(),
            bar: Bar::AtMost(60.0),
            unit: "µs",
            result: gated.more(&gated.ruled(), "exec", EXECS, effort)?,
        },
        gated.build(effort)?,
        Row {
            what: "opening a project's file for writing, direct mode over overlay".into(),
            bar: Bar::AtMost(40.0),
            unit: "µs",
            result: gated.more(&direct, "write", OPENS, effort)?,
        },
        Row {
            what: "opening a project's file for reading, direct mode over overlay".into(),
            bar: Bar::AtMost(0.0),
            unit: "µs",
            result: gated.more(&direct, "read", OPENS, effort)?,
        },
    ])
}

/// A project that holds the program that makes the calls, and a profile with rules.
struct Gated<'a> {
    place: &'a Place,
    project: PathBuf,
    profile: String,
}

impl<'a> Gated<'a> {
    fn new(place: &'a Place) -> Result<Self> {
        let project = place.repository("gate")?;
        compile(&project)?;
        fs::write(project.join("file"), "text\n")?;
        let profile = place.path().join("ruled.toml");
        fs::write(&profile, RULES)?;
        let profile = profile.to_str().context("the path of the profile is not UTF-8")?.to_owned();
        Ok(Self { place, project, profile })
    }

    /// The flags that put the rules in force.
    fn ruled(&self) -> [&str; 2] {
        ["--profile", &self.profile]
    }

    /// What one call costs more with these flags than without, in microseconds.
    fn more(&self, flags: &[&str], call: &str, times: usize, effort: Effort) -> Result<Outcome> {
        let times = effort.times(times).to_string();
        let on = if call == "exec" { "./probe" } else { "./file" };
        let line = ["./probe", call, &times, on];
        let mut with = self.place.inside(&self.project, flags, &line)?;
        let mut without = self.place.inside(&self.project, &[], &line)?;
        let turns = Turns { first: &mut with, second: &mut without };
        let (with, without) = turns.medians(each, effort.rounds(ROUNDS))?;
        let from = format!("{with:.2} µs − {without:.2} µs");
        Ok(Outcome::Measured { figure: with - without, from })
    }

    fn build(&self, effort: Effort) -> Result<Row> {
        let project = self.place.repository("gate-build")?;
        let line = processes::buildable(&project)?;
        let mut with = self.place.inside(&project, &self.ruled(), &line)?;
        let mut without = self.place.inside(&project, &[], &line)?;
        let turns = Turns { first: &mut with, second: &mut without };
        let result = processes::ratio(turns.times(effort.rounds(ROUNDS))?);
        let what = "make with gcc, with rules on programs against none".into();
        Ok(Row { what, bar: Bar::AtMost(1.05), unit: "×", result })
    }
}

/// Without shared libraries, so that a run of it is little more than the call.
fn compile(project: &Path) -> Result<()> {
    let source = project.join("probe.c");
    fs::write(&source, PROBE)?;
    let mut gcc = program("gcc");
    gcc.args(["-O2", "-static", "-o"]).arg(project.join("probe")).arg(&source);
    program::run(&mut gcc)
}

/// What the program says that each call took, in microseconds.
fn each(command: &mut Command) -> Result<f64> {
    let output = processes::succeed(command.stdout(Stdio::piped()))?;
    let output = String::from_utf8_lossy(&output.stdout);
    let number = output.trim();
    number.parse().with_context(|| format!("{number:?} is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_and_anything_else_is_an_error() {
        assert!((each(program("echo").arg("12.5")).unwrap() - 12.5).abs() < 1e-9);
        assert!(each(program("echo").arg("soon")).is_err());
        assert!(each(&mut program("false")).is_err());
    }

    #[test]
    fn the_program_makes_every_call() {
        let directory = tempfile::tempdir().unwrap();
        compile(directory.path()).unwrap();
        for call in ["exec", "write", "read"] {
            let on = if call == "exec" { "./probe" } else { "./probe.c" };
            let mut probe = program(directory.path().join("probe"));
            let took = each(probe.args([call, "3", on]).current_dir(directory.path())).unwrap();
            assert!(took > 0.0, "{call}: {took}");
        }
    }
}
