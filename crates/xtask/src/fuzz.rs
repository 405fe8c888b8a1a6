//! The fuzz targets of `fuzz/`, built with coverage by the stable toolchain and run for a bounded time.
//!
//! What `cargo fuzz` does, without having to be installed. No address sanitizer: the code under test has no `unsafe`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::program::{self, cargo, checkout, program};
use crate::suite;
use crate::tally::Tally;

/// Coverage as libFuzzer wants it; the flags of `cargo fuzz`.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// `cargo xtask fuzz`.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let mut seconds = 10;
    let mut name = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => seconds = rest.next().context("--seconds needs a number")?.parse()?,
            flag if flag.starts_with('-') => bail!("`fuzz` takes no {flag:?}"),
            wanted => name = Some(wanted.to_owned()),
        }
    }
    suite::finish(&run(seconds, Chance::Fresh, name.as_deref())?)
}

/// What a fuzzer tries.
#[derive(Clone, Copy)]
pub(crate) enum Chance {
    /// Something else each time.
    Fresh,
    /// The same for the same code, so that a change is not refused for what it did not touch.
    Fixed,
}

/// Runs every target, or the named one, for that many seconds each.
pub(crate) fn run(seconds: u32, chance: Chance, name: Option<&str>) -> Result<Tally> {
    let directory = checkout().join("fuzz");
    let targets = build(&directory)?;
    let wanted = targets.iter().filter(|target| name.is_none_or(|name| target.name == name));
    let mut tally = Tally::default();
    for target in wanted {
        match run_target(&directory, target, seconds, chance) {
            Ok(()) => tally.passed += 1,
            Err(error) => {
                println!("{error:#}");
                tally.failed.push(format!("fuzz {}", target.name));
            }
        }
    }
    if tally.passed == 0 && tally.holds() {
        bail!("no fuzz target {}", name.unwrap_or("at all"));
    }
    Ok(tally)
}

struct Target {
    name: String,
    path: PathBuf,
}

fn build(directory: &Path) -> Result<Vec<Target>> {
    let mut build = cargo();
    build
        .current_dir(directory)
        .args([
            "build",
            "--locked",
            "--release",
            "--bins",
            "--message-format=json-render-diagnostics",
        ])
        // With a target named, the flags are not used for build scripts and macros.
        .args(["--target", &program::host()?])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", FLAGS);
    let messages = program::read(&mut build)?;
    Ok(String::from_utf8_lossy(&messages).lines().filter_map(target).collect())
}

/// The fuzz target that a line of cargo's output announces, if it announces one.
fn target(line: &str) -> Option<Target> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Named,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    Some(Target { name: artifact.target.name, path: artifact.executable? })
}

/// What the fuzzer finds new stays in a scratch directory; the committed corpus is only read.
fn run_target(directory: &Path, target: &Target, seconds: u32, chance: Chance) -> Result<()> {
    let found = tempfile::tempdir()?;
    let artifacts = directory.join("artifacts").join(&target.name);
    std::fs::create_dir_all(&artifacts)?;
    let mut fuzz = program(&target.path);
    fuzz.current_dir(directory)
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-verbosity=0", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(found.path());
    if let Chance::Fixed = chance {
        fuzz.arg("-seed=1");
    }
    let corpus = directory.join("corpus").join(&target.name);
    if corpus.is_dir() {
        fuzz.arg(corpus);
    }
    let output =
        fuzz.output().with_context(|| format!("cannot start {}", target.path.display()))?;
    if !output.status.success() {
        bail!("fuzz target {} failed:\n{}", target.name, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
