//! Rows about whole processes: starting a sandbox, a warm one, and work inside against work outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Bar, Effort, Outcome, Row};
use crate::ci;
use crate::program::{self, program};

/// Files of the repository in which `git status` is timed.
const FILES: usize = 50_000;
/// Source files of the project that is built.
const UNITS: usize = 40;
/// Repetitions inside one process of a full measurement, so that starting the sandbox, which has a row of its own, does not count.
const REPEAT: usize = 20;

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    Ok(vec![
        cold(place, effort)?,
        codex(place, effort)?,
        warm(place, effort)?,
        status(place, effort)?,
        build(place, effort)?,
    ])
}

/// A scratch home and the program under test.
pub(super) struct Place {
    scratch: tempfile::TempDir,
    loop_program: PathBuf,
}

impl Place {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { scratch: tempfile::tempdir()?, loop_program: ci::release()? })
    }

    /// The program under test, as it is shipped.
    pub(super) fn loop_program(&self) -> &Path {
        &self.loop_program
    }

    /// Where everything is.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// A new git repository.
    pub(super) fn repository(&self, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.path().join(name);
        fs::create_dir(&directory)?;
        program::run(program("git").args(["init", "--quiet"]).current_dir(&directory))?;
        Ok(directory)
    }

    /// A command outside, in that directory, with the scratch places for Loop's files.
    pub(super) fn outside(&self, directory: &Path, line: &[&str]) -> Result<Command> {
        let (name, arguments) = line.split_first().context("an empty command")?;
        let mut command = program(name);
        command
            .args(arguments)
            .current_dir(directory)
            .env("LOOP_HOME", self.scratch.path().join("loop"))
            .env("XDG_CONFIG_HOME", self.scratch.path().join("config"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(command)
    }

    /// The program under test, with these words.
    pub(super) fn product(&self, directory: &Path, words: &[&str]) -> Result<Command> {
        let program = self.loop_program.to_str().context("the path of the program is not UTF-8")?;
        self.outside(directory, &[&[program], words].concat())
    }

    /// The same command inside, with flags of `loop exec` before it.
    pub(super) fn inside(
        &self,
        directory: &Path,
        flags: &[&str],
        line: &[&str],
    ) -> Result<Command> {
        let program = self.loop_program.to_str().context("the path of the program is not UTF-8")?;
        self.outside(directory, &[&[program, "exec", "--quiet"], flags, &["--"], line].concat())
    }
}

/// The time from start to end of a process, which must succeed, in milliseconds.
pub(super) fn time(command: &mut Command) -> Result<f64> {
    let began = Instant::now();
    succeed(command)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// Runs a process, which must succeed.
pub(super) fn succeed(command: &mut Command) -> Result<Output> {
    let output =
        command.output().with_context(|| format!("cannot start `{}`", program::show(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed: {}\n{}",
            program::show(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output)
}

/// Two commands that take turns. The first turn of each warms caches and is dropped.
pub(super) struct Turns<'a> {
    pub(super) first: &'a mut Command,
    pub(super) second: &'a mut Command,
}

impl Turns<'_> {
    /// The median time of each, in milliseconds.
    pub(super) fn times(self, rounds: usize) -> Result<(f64, f64)> {
        self.medians(time, rounds)
    }

    /// The median of what is measured of each.
    pub(super) fn medians(
        self,
        measure: impl Fn(&mut Command) -> Result<f64>,
        rounds: usize,
    ) -> Result<(f64, f64)> {
        let mut figures = (Vec::new(), Vec::new());
        for _ in 0..=rounds {
            figures.0.push(measure(self.first)?);
            figures.1.push(measure(self.second)?);
        }
        Ok((median(figures.0), median(figures.1)))
    }
}

fn take_turns(first: &mut Command, second: &mut Command, rounds: usize) -> Result<(f64, f64)> {
    Turns { first, second }.times(rounds)
}

fn median(figures: Vec<f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().skip(1).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn ratio((ours, theirs): (f64, f64)) -> Outcome {
    Outcome::Measured { figure: ours / theirs, from: format!("{ours:.2} ms / {theirs:.2} ms") }
}

fn cold(place: &Place, effort: Effort) -> Result<Row> {
    let project = place.repository("cold")?;
    let mut ours = place.inside(&project, &[], &["true"])?;
    let mut peer =
        place.outside(&project, &["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"])?;
    let result = ratio(take_turns(&mut ours, &mut peer, effort.rounds(100))?);
    Ok(Row {
        what: "`loop exec -- true` against bwrap".into(),
        bar: Bar::AtMost(1.5),
        unit: "×",
        result,
    })
}

fn codex(place: &Place, effort: Effort) -> Result<Row> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let result = match program::find("codex", &search_path) {
        None => Outcome::NotMeasured("no codex on this machine".into()),
        Some(_) => {
            let project = place.repository("codex")?;
            let mut ours = place.inside(&project, &[], &["true"])?;
            let mut peer = place.outside(&project, &["codex", "sandbox", "linux", "true"])?;
            ratio(take_turns(&mut ours, &mut peer, effort.rounds(20))?)
        }
    };
    Ok(Row {
        what: "`loop exec -- true` against codex sandbox".into(),
        bar: Bar::AtMost(0.25),
        unit: "×",
        result,
    })
}

fn warm(place: &Place, effort: Effort) -> Result<Row> {
    let project = place.repository("warm")?;
    let mut ours = place.inside(&project, &["--session", "bench"], &["true"])?;
    let mut plain = place.outside(&project, &["true"])?;
    let turns = take_turns(&mut ours, &mut plain, effort.rounds(100));
    let program = place.loop_program.to_str().context("the path of the program is not UTF-8")?;
    time(&mut place.outside(&project, &[program, "stop", "bench"])?)?;
    let (inside, outside) = turns?;
    let result = Outcome::Measured {
        figure: inside - outside,
        from: format!("{inside:.2} ms − {outside:.2} ms"),
    };
    Ok(Row {
        what: "next command in a warm sandbox, over a plain exec".into(),
        bar: Bar::AtMost(3.0),
        unit: "ms",
        result,
    })
}

fn status(place: &Place, effort: Effort) -> Result<Row> {
    let project = place.repository("status")?;
    for file in 0..FILES {
        let directory = project.join(format!("d{}", file / 250));
        if file % 250 == 0 {
            fs::create_dir(&directory)?;
        }
        fs::write(directory.join(format!("f{file}")), format!("{file}\n"))?;
    }
    program::run(program("git").args(["add", "."]).current_dir(&project))?;
    let repeat = effort.rounds(REPEAT);
    let script = format!("for i in $(seq {repeat}); do git status --short > /dev/null; done");
    let line = ["sh", "-c", &script];
    let mut inside = place.inside(&project, &[], &line)?;
    let mut outside = place.outside(&project, &line)?;
    let result = ratio(take_turns(&mut inside, &mut outside, effort.rounds(10))?);
    Ok(Row {
        what: format!("git status on {FILES} files, inside against outside"),
        bar: Bar::AtMost(1.03),
        unit: "×",
        result,
    })
}

fn build(place: &Place, effort: Effort) -> Result<Row> {
    let project = place.repository("build")?;
    let line = buildable(&project)?;
    let mut inside = place.inside(&project, &[], &line)?;
    let mut outside = place.outside(&project, &line)?;
    let result = ratio(take_turns(&mut inside, &mut outside, effort.rounds(10))?);
    Ok(Row {
        what: format!("make with gcc on {UNITS} files, inside against outside"),
        bar: Bar::AtMost(1.03),
        unit: "×",
        result,
    })
}

/// Makes a project that can be built; returns the command that builds it anew.
pub(super) fn buildable(project: &Path) -> Result<[&'static str; 3]> {
    let units: Vec<String> = (0..UNITS).map(|unit| format!("u{unit}.o")).collect();
    for unit in 0..UNITS {
        let source = format!(
            "#include <stdio.h>\n#include <stdlib.h>\nint f{unit}(int x) {{ return printf(\"%d\", x + {unit}); }}\n"
        );
        fs::write(project.join(format!("u{unit}.c")), source)?;
    }
    fs::write(
        project.join("Makefile"),
        format!("all: {0}\nclean:\n\trm -f {0}\n", units.join(" ")),
    )?;
    Ok(["sh", "-c", "make -s clean && make -s -j2 all && make -s clean"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_turn_does_not_count() {
        assert!((median(vec![900.0, 3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_command_that_fails_is_not_a_measurement() {
        assert!(time(&mut program("false")).is_err());
    }
}
