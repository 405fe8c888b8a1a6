//! Rules and grants as TOML that a person reads and pastes. What the run chose (arguments, paths,
//! names) can't leave its string, and shows nothing that a terminal would obey.

use std::fmt::Write as _;

use crate::action::Kind;
use crate::rule::{Match, Target};

/// A section, line by line.
pub(super) struct Section(String);

impl Section {
    pub(super) fn new(head: &str) -> Self {
        Self(format!("[[{head}]]\n"))
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.raw(key, &text(value));
    }

    fn maybe(&mut self, key: &str, value: Option<&impl ToString>) {
        if let Some(value) = value {
            self.text(key, &value.to_string());
        }
    }

    fn texts(&mut self, key: &str, values: impl IntoIterator<Item = String>) {
        let values: Vec<String> = values.into_iter().map(|value| text(&value)).collect();
        self.raw(key, &format!("[{}]", values.join(", ")));
    }

    fn raw(&mut self, key: &str, value: &str) {
        // Writing into a String can't fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }

    /// The keys of a grant, or of a rule about the network.
    pub(super) fn target(&mut self, target: &Target) {
        self.text("host", &target.host.to_string());
        if let Some(ports) = &target.ports {
            self.numbers("ports", ports.iter().map(|port| port.number()));
        }
        if let Some(methods) = &target.methods {
            self.texts("methods", methods.iter().map(ToString::to_string));
        }
        if let Some(paths) = &target.paths {
            self.texts("paths", paths.iter().map(ToString::to_string));
        }
    }

    fn numbers(&mut self, key: &str, values: impl Iterator<Item = u16>) {
        let values: Vec<String> = values.map(|value| value.to_string()).collect();
        self.raw(key, &format!("[{}]", values.join(", ")));
    }

    /// The keys that say what a rule is about.
    pub(super) fn when(&mut self, when: &Match) {
        self.text("action", when.kind().word());
        match when {
            Match::Exec { program, args, cwd } => {
                self.text("program", &program.to_string());
                if let Some(args) = args {
                    self.texts("args", Vec::<String>::from(args.clone()));
                }
                self.maybe("cwd", cwd.as_ref());
            }
            Match::Open { path, access } => {
                self.text("path", &path.to_string());
                self.maybe("access", access.as_ref());
            }
            Match::Mount { path, access } => {
                self.text("path", &path.to_string());
                self.maybe("access", access.as_ref());
            }
            Match::Connect(target) | Match::Resolve(target) | Match::Http(target) => {
                self.target(target);
            }
            Match::GitPush { host, repository, refs, changes } => {
                self.maybe("host", host.as_ref());
                self.maybe("repository", repository.as_ref());
                for (key, list) in [("refs", strings(refs)), ("changes", strings(changes))] {
                    list.into_iter().for_each(|list| self.texts(key, list));
                }
            }
            Match::Docker { operation, target } => {
                self.maybe("operation", operation.as_ref());
                self.maybe("target", target.as_ref());
            }
            Match::Lease { name, host, ports } => {
                self.maybe("lease", name.as_ref());
                self.maybe("host", host.as_ref());
                if let Some(ports) = ports {
                    self.numbers("ports", ports.iter().map(|port| port.number()));
                }
            }
            Match::Publish { ports } => {
                if let Some(ports) = ports {
                    self.numbers("ports", ports.iter().map(|port| port.number()));
                }
            }
            Match::Tool { name } => self.maybe("tool", name.as_ref()),
            Match::Apply { flagged } | Match::Branch { flagged } => {
                flagged.iter().for_each(|flagged| self.raw("flagged", &flagged.to_string()));
            }
            Match::Discard | Match::Undo => {}
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

fn strings(list: &Option<Vec<impl ToString>>) -> Option<Vec<String>> {
    list.as_ref().map(|list| list.iter().map(ToString::to_string).collect())
}

/// A basic string: <https://toml.io/en/v1.0.0#string>.
pub(super) fn text(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            _ if c.is_control() || names::is_invisible(c) => {
                // Writing into a String can't fail.
                let _ = write!(text, "\\U{:08X}", u32::from(c));
            }
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

/// A comment on a line of its own, cut where nobody reads on.
pub(super) fn comment(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut line: String = names::printable(text.as_bytes()).chars().take(LONGEST).collect();
    if text.chars().count() > LONGEST {
        line.push('\u{2026}');
    }
    format!("# {line}\n")
}

/// What a rule of this kind is called after.
pub(super) fn word(kind: Kind, about: &str) -> String {
    match kind {
        Kind::Exec => about.to_owned(),
        other => format!("{other}-{about}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_reads_back_and_shows_nothing_odd(value in any::<String>()) {
            let written = text(&value);
            prop_assert!(!written.chars().any(|c| c.is_control() || names::is_invisible(c)));
            let table: toml::Table = format!("value = {written}").parse().unwrap();
            prop_assert_eq!(table["value"].as_str(), Some(value.as_str()));
        }

        #[test]
        fn a_comment_is_one_line(value in any::<String>()) {
            let line = comment(&value);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(line.parse::<toml::Table>().is_ok());
        }
    }
}
