//! The attack and work cases, and the runner that tries them through any launcher.
//!
//! A **case** is a folder of `cases/`: a `case.toml` and a few scripts, compiled in. It is tried in
//! up to three **arms**, each with a fresh scratch project and a fresh stand-in for the host:
//!
//! * *bare*: the script without a launcher. An attack must have its forbidden effect, so that the
//!   case is known to be real; work must succeed.
//! * *confined*: the attack through the launcher. Its effect must be absent, as seen from outside
//!   after the launcher has ended and a person has done what they would do next.
//! * *neighbour*: the legitimate variant through the launcher. It must succeed.
//!
//! An arm that cannot run says why and never counts as passed. A script that ends early proves
//! nothing: what the bare arm tried, the confined arm must have tried too.
//!
//! This crate must never print, never let a case reach anything but its scratch directory and the
//! processes it started, and never leave one of those behind. `cases/README.md` describes the files
//! of a case.

mod case;
mod host;
mod internet;
mod judge;
mod launcher;
mod needs;
mod process;
mod protocol;
mod report;
mod runner;
mod scratch;

pub use case::{Case, Corpus, CorpusError, Kind};
pub use launcher::{Launcher, LauncherError};
pub use report::{Arm, ArmReport, ArmResult, CaseReport, Effect, Outcome, Summary};
pub use runner::{Progress, Runner, run};
