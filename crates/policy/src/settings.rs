//! The table of settings: every key of every section, what it may hold, where it may stand.
//!
//! The reader checks files against this table and the documentation is generated from it, so a key
//! that isn't here can't be read, and one that is here can't be undocumented.

use std::fmt;

/// The files in which a section or a key may stand. The texts compiled in may use all but
/// [`Within::Named`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Any profile or configuration.
    Any,
    /// Profiles that are chosen by name.
    Named,
    /// What the person wrote: their configuration, and profiles that are chosen by name.
    Persons,
    /// The owner's configuration.
    Owner,
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any file",
            Self::Named => "named profiles",
            Self::Persons => "~/.loop/config.toml or a named profile",
            Self::Owner => "~/.loop/config.toml",
        })
    }
}

/// What the value of a key is, as TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A list of strings.
    Texts,
    /// A list of whole numbers.
    Wholes,
    /// A table of strings.
    Map,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Switch => "true or false",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Texts => "a list of strings",
            Self::Wholes => "a list of whole numbers",
            Self::Map => "a table of strings",
        })
    }
}

/// One section of a profile.
#[derive(Debug)]
pub struct Section {
    /// Its name: `limits`.
    pub name: &'static str,
    /// Whether it is written `[[name]]`, any number of times.
    pub many: bool,
    /// Where it may stand.
    pub within: Within,
    /// What it is for.
    pub meaning: &'static str,
    /// Its keys.
    pub settings: &'static [Setting],
}

impl Section {
    /// How a file writes its head: `[limits]`, `[[mount]]`.
    #[must_use]
    pub fn head(&self) -> String {
        if self.many { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }

    /// The setting of this key.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }
}

/// One key of a section.
#[derive(Debug)]
pub struct Setting {
    /// Its name: `memory`.
    pub key: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether the section is incomplete without it.
    pub required: bool,
    /// Where it may stand.
    pub within: Within,
    /// What holds where no file has it, in words.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn optional(
    key: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { key, shape, required: false, within: Within::Any, default, meaning }
}

const fn required(key: &'static str, shape: Shape, meaning: &'static str) -> Setting {
    Setting { key, shape, required: true, within: Within::Any, default: "", meaning }
}

const fn owners(key: &'static str, shape: Shape, meaning: &'static str) -> Setting {
    Setting { key, shape, required: false, within: Within::Owner, default: "none", meaning }
}

/// As [`owners`], where something holds without it.
const fn of_owner(
    key: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { key, shape, required: false, within: Within::Owner, default, meaning }
}

/// The section of this name.
#[must_use]
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// Every section, in the order in which documentation shows them.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "profile",
        many: false,
        within: Within::Named,
        meaning: "what the profile is called and what it builds on",
        settings: &[
            optional("name", Shape::Text, "the file's name", "the profile's name"),
            optional(
                "extends",
                Shape::Text,
                "nothing",
                "the profile it builds on: it inherits every section, its own values replace \
                 single values, its lists add to lists, and an empty list empties the list so far; \
                 inherited rules always stay",
            ),
        ],
    },
    Section {
        name: "workspace",
        many: false,
        within: Within::Any,
        meaning: "how the project directory is treated",
        settings: &[optional(
            "mode",
            Shape::Text,
            "overlay",
            "overlay: changes are kept apart until they are applied; read-only: nothing can be \
             changed; direct: changes land in the project, guarded files ask. Of several files the \
             strictest holds",
        )],
    },
    Section {
        name: "mount",
        many: true,
        within: Within::Any,
        meaning: "a path that the run sees besides the project and the system",
        settings: &[
            required("path", Shape::Text, "an absolute path, or one below `~/`; no wildcards"),
            optional(
                "access",
                Shape::Text,
                "read",
                "read; scratch: writable, what is written stays in the run; write: writable, and \
                 what is written is on this machine. Of several files the strictest holds",
            ),
        ],
    },
    Section {
        name: "limits",
        many: false,
        within: Within::Any,
        meaning: "what a run may use up; of several files the strictest limit holds",
        settings: &[
            optional("memory", Shape::Text, "8GiB in built-in profiles", "memory of all processes"),
            optional("cpus", Shape::Number, "no limit", "processors' worth of time: 2.0, 0.5"),
            optional("processes", Shape::Whole, "4096 in built-in profiles", "processes at a time"),
            optional(
                "disk",
                Shape::Text,
                "20GiB in built-in profiles",
                "what the run may write to disk, outside of write mounts",
            ),
            optional("wall", Shape::Text, "no limit", "time from start to end: 90s, 1h30m"),
            optional(
                "output",
                Shape::Text,
                "1GiB in built-in profiles",
                "standard output and error",
            ),
            optional("steps", Shape::Whole, "no limit", "calls of a model by Loop's own agent"),
            optional("tokens", Shape::Whole, "no limit", "tokens that Loop's own agent uses"),
            optional(
                "money",
                Shape::Text,
                "no limit",
                "dollars that Loop's own agent spends: 2.50",
            ),
        ],
    },
    Section {
        name: "approvals",
        many: false,
        within: Within::Any,
        meaning: "how a person is asked, where the verdict is ask",
        settings: &[
            of_owner(
                "timeout",
                Shape::Text,
                "10m",
                "how long an action waits for a person; then it is denied: 90s, 1h30m",
            ),
            of_owner(
                "max_waiting",
                Shape::Whole,
                "16",
                "actions of one run that wait for a person at a time; more are denied",
            ),
            of_owner(
                "max_per_minute",
                Shape::Whole,
                "30",
                "actions of one run about which a person is asked in a minute; more are denied",
            ),
        ],
    },
    Section {
        name: "environment",
        many: false,
        within: Within::Any,
        meaning: "environment variables of the run, besides the locale, terminal and time zone",
        settings: &[
            optional(
                "pass",
                Shape::Texts,
                "none",
                "names whose values are taken over from outside; `AB_*` is all that start so",
            ),
            optional("set", Shape::Map, "none", "names and their values"),
            optional(
                "deny",
                Shape::Texts,
                "what can load code into programs",
                "names that no file can pass; `AB_*` is all that start so",
            ),
        ],
    },
    Section {
        name: "sandbox",
        many: false,
        within: Within::Any,
        meaning: "further grants; a `false` in any file holds",
        settings: &[
            optional(
                "toolchains",
                Shape::Switch,
                "true",
                "toolchains in the home directory are visible, without their credentials",
            ),
            optional(
                "user_namespaces",
                Shape::Switch,
                "false",
                "programs may create user namespaces of their own",
            ),
        ],
    },
    Section {
        name: "network",
        many: true,
        within: Within::Any,
        meaning: "a destination that the run can reach; where the owner's configuration lists \
                  destinations, a project's stay inside that list",
        settings: &[
            required(
                "host",
                Shape::Text,
                "a name, `*.example.com` (one more label), `**.example.com` (one or more), or an \
                 address",
            ),
            optional("ports", Shape::Wholes, "[443]", "TCP ports"),
            optional(
                "methods",
                Shape::Texts,
                "any",
                "HTTP methods; needs inspection of the traffic",
            ),
            optional(
                "paths",
                Shape::Texts,
                "any",
                "patterns of URL paths: `/crates/**`; needs inspection of the traffic",
            ),
            optional("max_bytes", Shape::Text, "no limit", "bytes of one run, both ways together"),
            owners(
                "addresses",
                Shape::Texts,
                "addresses or ranges (`10.1.0.0/16`) that the name may have though they are not \
                 public",
            ),
            owners("dial", Shape::Text, "address and port to connect to instead of looking it up"),
            owners(
                "ca_file",
                Shape::Text,
                "certificates that vouch for this host besides the system's. TLS to it is opened, so that \
                 clients inside trust it without trusting them; it has to speak HTTP",
            ),
        ],
    },
    Section {
        name: "lease",
        many: true,
        within: Within::Persons,
        meaning: "a credential that is lent to the run, by the name that `loop lease add` gave it; \
                  the keys here narrow where it may go. Its destination can be reached, its value \
                  never enters the run",
        settings: &[
            required("name", Shape::Text, "its name"),
            optional("host", Shape::Text, "the lease's", "the host, which must be the lease's own"),
            optional("ports", Shape::Wholes, "the lease's", "TCP ports"),
            optional("methods", Shape::Texts, "the lease's", "HTTP methods"),
            optional(
                "path_prefix",
                Shape::Text,
                "the lease's",
                "what URL paths start with: `/v1` is `/v1` and all below it",
            ),
            optional(
                "env",
                Shape::Text,
                "the lease's",
                "the variable that holds the placeholder inside",
            ),
            optional("for", Shape::Text, "the whole run", "how long it lasts: 8h, 30m"),
        ],
    },
    Section {
        name: "git",
        many: false,
        within: Within::Any,
        meaning: "what may be pushed",
        settings: &[optional(
            "push",
            Shape::Texts,
            "none",
            "patterns of branches (`loop/**`) or references (`refs/tags/*`) that may be created \
             and moved forward; not forced, not deleted",
        )],
    },
    Section {
        name: "defaults",
        many: false,
        within: Within::Any,
        meaning: "what holds for actions that no rule matches: allow, ask or deny. A file can only \
                  make a default stricter",
        settings: &[
            optional("exec", Shape::Text, "allow", "starting a program that the run can see"),
            optional("open", Shape::Text, "allow", "opening a file that the run can see"),
            optional("mount", Shape::Text, "allow", "making a path visible; asked while loading"),
            optional("connect", Shape::Text, "deny", "opening a connection"),
            optional("resolve", Shape::Text, "deny", "looking up a name"),
            optional("http", Shape::Text, "deny", "sending an HTTP request"),
            optional("git-push", Shape::Text, "deny", "changing a reference of a remote"),
            optional("docker", Shape::Text, "deny", "an operation of the Docker API"),
            optional("lease", Shape::Text, "deny", "lending a credential"),
            optional("publish", Shape::Text, "deny", "connecting to a port of the sandbox"),
            optional("tool", Shape::Text, "deny", "a tool of Loop's own agent"),
            optional("apply", Shape::Text, "allow", "applying a change set, by the person"),
            optional("discard", Shape::Text, "allow", "discarding a change set, by the person"),
            optional("undo", Shape::Text, "allow", "undoing an apply, by the person"),
            optional("branch", Shape::Text, "allow", "taking a run's commits, by the person"),
        ],
    },
    Section {
        name: "rule",
        many: true,
        within: Within::Any,
        meaning: "allow, ask or deny for the actions that match every key given. Deny beats ask \
                  beats allow, wherever the rules stand",
        settings: &[
            optional("id", Shape::Text, "line-N", "a name for the rule: a-z, 0-9 and hyphens"),
            required("action", Shape::Text, "the kind of action, a key of [defaults]"),
            required("verdict", Shape::Text, "allow, ask or deny"),
            optional("reason", Shape::Text, "none", "why, for the person who meets it"),
            optional(
                "program",
                Shape::Text,
                "any",
                "exec: a file name in any directory (`git`), or a pattern of paths (`/usr/bin/git`, \
                 `~/bin/*`, `**/target/debug/*`). It means the file that is executed, after every \
                 link was followed; asking and denying rules also mean the links (`npm`, which \
                 leads to `npm-cli.js`) and the name that the program is started under, allowing \
                 rules never do. A script and its interpreter are two programs. A file name also \
                 means a file that the run itself made, so name the path of what is allowed",
            ),
            optional(
                "args",
                Shape::Texts,
                "any",
                "exec: the arguments, `*` for any one and `**` for any number; an empty list is no \
                 arguments",
            ),
            optional("cwd", Shape::Text, "any", "exec: a pattern of the working directory"),
            optional("path", Shape::Text, "any", "open, mount: a pattern of paths"),
            optional("access", Shape::Text, "any", "open: read or write; mount: also scratch"),
            optional(
                "host",
                Shape::Text,
                "any (git-push, lease)",
                "connect, resolve, http (required there), git-push, lease: as in [[network]]",
            ),
            optional("ports", Shape::Wholes, "any", "connect, http, lease, publish: TCP ports"),
            optional("methods", Shape::Texts, "any", "http: methods"),
            optional("paths", Shape::Texts, "any", "http: patterns of URL paths"),
            optional("repository", Shape::Text, "any", "git-push: a pattern, `ann/*`"),
            optional("refs", Shape::Texts, "any", "git-push: patterns as in [git] push"),
            optional(
                "changes",
                Shape::Texts,
                "any",
                "git-push: what happens to the reference: create, update, force, delete",
            ),
            optional("operation", Shape::Text, "any", "docker: a pattern, `container/create`"),
            optional("target", Shape::Text, "any", "docker: a pattern of the image or container"),
            optional("lease", Shape::Text, "any", "lease: a pattern of its name"),
            optional("tool", Shape::Text, "any", "tool: a pattern of its name"),
            optional(
                "flagged",
                Shape::Switch,
                "either",
                "apply, branch: whether flagged paths are among those taken",
            ),
        ],
    },
    Section {
        name: "expect",
        many: true,
        within: Within::Any,
        meaning: "a self-test: an action and the verdict it must get. A named profile's are tried \
                  on that profile alone, the others on what a run gets",
        settings: &[
            required("action", Shape::Text, "the kind of action, a key of [defaults]"),
            required("verdict", Shape::Text, "the verdict: allow, ask or deny"),
            optional(
                "rule",
                Shape::Text,
                "any",
                "the id of a rule that must be among the deciding",
            ),
            optional("program", Shape::Text, "", "exec: a path; a bare name is in /usr/bin"),
            optional("args", Shape::Texts, "[]", "exec: the arguments"),
            optional("cwd", Shape::Text, "the project", "exec: the working directory"),
            optional("path", Shape::Text, "", "open, mount: a path; http: the URL's path"),
            optional("access", Shape::Text, "read", "open, mount: as in a rule"),
            optional("host", Shape::Text, "", "connect, resolve, http, git-push, lease: the host"),
            optional(
                "port",
                Shape::Whole,
                "443",
                "connect, http, lease, publish (required there): the port",
            ),
            optional("method", Shape::Text, "GET", "http: the method"),
            optional("repository", Shape::Text, "", "git-push: the repository"),
            optional("ref", Shape::Text, "", "git-push: the reference, `refs/heads/main`"),
            optional("change", Shape::Text, "update", "git-push: as in a rule's changes"),
            optional("operation", Shape::Text, "", "docker: the operation"),
            optional("target", Shape::Text, "", "docker: the image or container"),
            optional("lease", Shape::Text, "", "lease: its name"),
            optional("tool", Shape::Text, "", "tool: its name"),
            optional("flagged", Shape::Switch, "false", "apply, branch: as in a rule"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, one) in SECTIONS.iter().enumerate() {
            assert!(SECTIONS[index + 1..].iter().all(|other| other.name != one.name));
            for (index, key) in one.settings.iter().enumerate() {
                assert!(
                    one.settings[index + 1..].iter().all(|other| other.key != key.key),
                    "{}.{}",
                    one.name,
                    key.key
                );
            }
        }
    }

    #[test]
    fn every_setting_is_explained() {
        for section in SECTIONS {
            for setting in section.settings {
                assert!(!setting.meaning.is_empty(), "{}.{}", section.name, setting.key);
            }
        }
    }
}
