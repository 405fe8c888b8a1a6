//! The environment of a command: what the profile sets and passes, and the little that everybody
//! needs. Nothing else of the host's environment enters.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use confine::exact::Exact;

use crate::toolchains;

/// Variables that tell a program how to speak to the person, not who the person is.
const CARRIED: [&str; 14] = [
    "COLORTERM",
    "CLICOLOR",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "COLUMNS",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "EDITOR",
    "VISUAL",
];

/// Variables of a command, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Sets one variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes one variable out.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(OsStr::new(name));
    }

    /// The value of a variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn assignments(&self) -> Vec<Exact> {
        self.0
            .iter()
            .map(|(name, value)| {
                let mut assignment = name.clone();
                assignment.push("=");
                assignment.push(value);
                Exact::from(assignment)
            })
            .collect()
    }
}

/// Computes the environment under `profile` for a user whose name inside is `user`, from the
/// variables of the control plane.
#[must_use]
pub fn environment(
    profile: &policy::Environment,
    home: &Path,
    user: &str,
    host: &BTreeMap<OsString, OsString>,
) -> Environment {
    let mut result = Environment::default();
    for (name, value) in host {
        let enters = name.to_str().is_some_and(|name| is_carried(name) || profile.passes(name));
        if enters {
            result.set(name, value);
        }
    }
    result.set("HOME", home);
    result.set("USER", user);
    result.set("LOGNAME", user);
    result.set("TMPDIR", "/tmp");
    for (name, value) in &profile.set {
        result.set(name, value);
    }
    result
}

fn is_carried(name: &str) -> bool {
    CARRIED.contains(&name)
        || LOCALE.contains(&name)
        || toolchains::variables().any(|variable| variable == name)
}

/// Locale categories: locale(7).
const LOCALE: [&str; 13] = [
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_enters() {
        let host =
            ["LANG", "SSH_AUTH_SOCK", "LD_PRELOAD", "NODE_OPTIONS", "MINE", "MINE_TOO", "HOME"];
        let host = host.map(|name| (OsString::from(name), OsString::from("x"))).into();
        let profile = policy::Environment {
            pass: vec!["MINE*".into()],
            deny: vec!["MINE_TOO".into()],
            set: [("CI".to_owned(), "1".to_owned())].into(),
        };
        let environment = environment(&profile, Path::new("/home/ada"), "ada", &host);
        let names: Vec<_> = environment.0.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["CI", "HOME", "LANG", "LOGNAME", "MINE", "TMPDIR", "USER"]);
        assert!(environment.assignments().contains(&Exact::new("HOME=/home/ada")));
    }
}
