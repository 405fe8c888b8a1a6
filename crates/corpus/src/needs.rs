//! What a case can't do without, and whether it is here.

use std::ffi::OsStr;

use crate::case::Case;
use crate::launcher::Launcher;
use crate::process;

/// Why a case can't be tried here; `None` if nothing is missing.
pub(crate) fn missing(case: &Case, launcher: &Launcher, path: &OsStr) -> Option<String> {
    let internet: &[&str] = if case.described.internet { &["ip", "openssl"] } else { &[] };
    ["bash", "git", "python3", "setsid"]
        .into_iter()
        .chain(internet.iter().copied())
        .chain(case.needs().iter().map(String::as_str))
        .find_map(|need| lacking(need, launcher, path))
}

fn lacking(need: &str, launcher: &Launcher, path: &OsStr) -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    match need {
        "loop" => (!launcher.is_own()).then(|| "it uses Loop's own commands".to_owned()),
        "root" => (!root).then(|| "it takes root to set up".to_owned()),
        "x86_64" => (std::env::consts::ARCH != "x86_64").then(|| "it is about x86-64".to_owned()),
        program => process::find(program, path).is_none().then(|| format!("{program} is not here")),
    }
}
