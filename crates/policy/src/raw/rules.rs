//! `[[rule]]` and `[git]`.

use std::collections::HashMap;
use std::path::Path;

use names::{HostPattern, RefName};

use super::{File, Raw, is_id};
use crate::action::{Access, FileAccess, Kind, RefChange};
use crate::authority::Mount;
use crate::pattern::{ArgsPattern, PathPattern, PatternError, ProgramPattern, WordPattern};
use crate::problem::{Problem, ProfileError};
use crate::read::{At, Entry};
use crate::rule::{Match, NetworkGrant, Origin, Outcome, Rule, Target};

/// The keys that say something about actions of this kind.
fn keys_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Exec => &["program", "args", "cwd"],
        Kind::Open | Kind::Mount => &["path", "access"],
        Kind::Connect => &["host", "ports"],
        Kind::Resolve => &["host"],
        Kind::Http => &["host", "ports", "methods", "paths"],
        Kind::GitPush => &["host", "repository", "refs", "changes"],
        Kind::Docker => &["operation", "target"],
        Kind::Lease => &["lease", "host", "ports"],
        Kind::Publish => &["ports"],
        Kind::Tool => &["tool"],
        Kind::Apply | Kind::Branch => &["flagged"],
        Kind::Discard | Kind::Undo => &[],
    }
}

/// The key that a rule about this kind can't do without: a rule about everything of the kind is
/// written as a default.
fn needed(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Open | Kind::Mount => Some("path"),
        Kind::Connect | Kind::Resolve | Kind::Http => Some("host"),
        _ => None,
    }
}

impl File<'_> {
    pub(super) fn rules(&mut self, entries: Vec<Entry>) -> Vec<Rule> {
        let rules: Vec<Rule> = entries.into_iter().filter_map(|entry| self.rule(entry)).collect();
        self.check_names(&rules);
        rules
    }

    fn rule(&mut self, mut entry: Entry) -> Option<Rule> {
        let line = entry.line;
        let id = self.rule_id(&mut entry);
        let words = Kind::ALL.map(Kind::word);
        let kind = entry.text("action");
        let kind = kind.and_then(|text| self.word(&text, "rule.action", &words, Kind::of_word));
        let verdict = entry
            .text("verdict")
            .and_then(|text| self.word(&text, "rule.verdict", Outcome::WORDS, Outcome::of_word));
        let reason = entry.text("reason").map(|reason| reason.value);
        let kind = kind?.value;
        let when = self.when(kind, &mut entry);
        self.refuse_rest(&entry, "rule", kind, keys_of(kind));
        let verdict = verdict?;
        if kind == Kind::Mount && verdict.value == Outcome::Ask {
            self.problems.add(verdict.origin.line, "rule.verdict", Problem::AskAboutMount);
        }
        if kind == Kind::Publish && verdict.value == Outcome::Allow {
            self.problems.add(verdict.origin.line, "rule.verdict", Problem::AllowPublish);
        }
        let origin = self.problems.origin(line, "rule");
        let verdict = verdict.value;
        Some(Rule { id: id?, layer: self.layer, origin, verdict, reason, when: when? })
    }

    /// A rule without a name is called after its line.
    fn rule_id(&mut self, entry: &mut Entry) -> Option<String> {
        let Some(text) = entry.text("id") else { return Some(format!("line-{}", entry.line)) };
        if is_id(&text.value) {
            return Some(text.value);
        }
        let problem = Problem::NotARuleName(names::printable(text.value.as_bytes()));
        self.problems.add(text.line, "rule.id", problem);
        None
    }

    /// Refuses keys that say nothing about the action, because they would do nothing.
    pub(super) fn refuse_rest(
        &mut self,
        entry: &Entry,
        section: &str,
        kind: Kind,
        keys: &[&'static str],
    ) {
        for (key, line) in entry.rest() {
            let problem = Problem::Meaningless { action: kind.to_string(), keys: keys.to_vec() };
            self.problems.add(line, format!("{section}.{key}"), problem);
        }
    }

    /// `None`, with a problem, if a part is missing or wrong: a rule without one of its parts would
    /// be another rule.
    fn when(&mut self, kind: Kind, entry: &mut Entry) -> Option<Match> {
        let before = self.problems.errors.len();
        if let Some(key) = needed(kind).filter(|key| !entry.mentions(key)) {
            let meaning = "a rule about everything of a kind is a key of [defaults]";
            let problem = Problem::Missing { section: format!("[[rule]] of {kind}"), meaning };
            self.problems.add(entry.line, format!("rule.{key}"), problem);
        }
        let refused = keys_of(kind).iter().any(|key| entry.mentions(key) && !entry.has(key));
        let when = match kind {
            Kind::Exec => Some(self.when_exec(entry)),
            Kind::Open | Kind::Mount => self.when_path(kind, entry),
            Kind::Connect => self.rule_target(kind, entry).map(Match::Connect),
            Kind::Resolve => self.rule_target(kind, entry).map(Match::Resolve),
            Kind::Http => self.rule_target(kind, entry).map(Match::Http),
            Kind::GitPush => Some(self.when_git_push(entry)),
            Kind::Docker => Some(Match::Docker {
                operation: self.word_pattern(entry, "operation"),
                target: self.word_pattern(entry, "target"),
            }),
            Kind::Lease => Some(self.when_lease(entry)),
            Kind::Publish => {
                self.refuse_empty(entry, &["ports"]);
                Some(Match::Publish { ports: self.ports(entry, "rule") })
            }
            Kind::Tool => Some(Match::Tool { name: self.word_pattern(entry, "tool") }),
            Kind::Apply => {
                Some(Match::Apply { flagged: entry.switch("flagged").map(|flagged| flagged.value) })
            }
            Kind::Discard => Some(Match::Discard),
            Kind::Undo => Some(Match::Undo),
            Kind::Branch => {
                let flagged = entry.switch("flagged").map(|flagged| flagged.value);
                Some(Match::Branch { flagged })
            }
        };
        when.filter(|_| !refused && self.problems.errors.len() == before)
    }

    fn when_exec(&mut self, entry: &mut Entry) -> Match {
        let home = self.around.home;
        let program = entry.text("program").and_then(|text| {
            self.parsed(&text, "rule.program", |text| ProgramPattern::parse_in_home(text, home))
        });
        let args = entry.texts("args").and_then(|list| self.args(&list));
        let cwd = entry.text("cwd").and_then(|text| self.path_pattern(&text, "rule.cwd"));
        Match::Exec { program: program.unwrap_or(ProgramPattern::Any), args, cwd }
    }

    fn args(&mut self, list: &At<Vec<At<String>>>) -> Option<ArgsPattern> {
        let args = ArgsPattern::parse(list.value.iter().map(|arg| arg.value.as_str()));
        args.map_err(|error| self.problems.add(list.line, "rule.args", error)).ok()
    }

    fn path_pattern(&mut self, text: &At<String>, key: &str) -> Option<PathPattern> {
        let home = self.around.home;
        self.parsed(text, key, |text| PathPattern::parse_in_home(text, home))
    }

    fn when_path(&mut self, kind: Kind, entry: &mut Entry) -> Option<Match> {
        let path = entry.text("path").and_then(|text| self.path_pattern(&text, "rule.path"));
        let access = entry.text("access");
        if kind == Kind::Mount {
            let read = |text| self.word(&text, "rule.access", Access::WORDS, Access::of_word);
            let access = access.and_then(read).map(|stated| stated.value);
            return Some(Match::Mount { path: path?, access });
        }
        let read = |text| self.word(&text, "rule.access", FileAccess::WORDS, FileAccess::of_word);
        let access = access.and_then(read).map(|stated| stated.value);
        Some(Match::Open { path: path?, access })
    }

    /// In a rule an empty list would match nothing.
    fn rule_target(&mut self, kind: Kind, entry: &mut Entry) -> Option<Target> {
        self.refuse_empty(entry, keys_of(kind));
        self.target(entry, "rule", keys_of(kind))
    }

    fn refuse_empty(&mut self, entry: &Entry, keys: &[&str]) {
        for key in keys {
            if let Some(line) = entry.empty_list(key) {
                self.problems.add(line, format!("rule.{key}"), Problem::MatchesNothing);
            }
        }
    }

    fn when_git_push(&mut self, entry: &mut Entry) -> Match {
        self.refuse_empty(entry, &["refs", "changes"]);
        let refs = entry.texts("refs");
        let refs = refs.map(|list| self.patterns(&list.value, "rule.refs", reference_pattern));
        let changes = entry.texts("changes").map(|list| self.changes(list.value));
        let repository = self.word_pattern(entry, "repository");
        Match::GitPush { host: self.rule_host(entry), repository, refs, changes }
    }

    fn rule_host(&mut self, entry: &mut Entry) -> Option<HostPattern> {
        entry.text("host").and_then(|text| self.host(&text, "rule"))
    }

    fn changes(&mut self, list: Vec<At<String>>) -> Vec<RefChange> {
        let read = |text| self.word(&text, "rule.changes", RefChange::WORDS, RefChange::of_word);
        let mut changes: Vec<_> =
            list.into_iter().filter_map(read).map(|stated| stated.value).collect();
        changes.sort();
        changes.dedup();
        changes
    }

    fn when_lease(&mut self, entry: &mut Entry) -> Match {
        self.refuse_empty(entry, &["ports"]);
        let name = self.word_pattern(entry, "lease");
        let host = self.rule_host(entry);
        Match::Lease { name, host, ports: self.ports(entry, "rule") }
    }

    fn word_pattern(&mut self, entry: &mut Entry, key: &str) -> Option<WordPattern> {
        let text = entry.text(key)?;
        self.parsed(&text, &format!("rule.{key}"), WordPattern::parse)
    }

    /// The allow rules that `[git] push` stands for.
    pub(super) fn push(&mut self, entry: Option<Entry>) -> Option<Vec<Rule>> {
        let list = entry?.texts("push")?.value;
        let mut rules = Vec::new();
        for text in list {
            let Some(pattern) = self.parsed(&text, "git.push", reference_pattern) else { continue };
            rules.push(Rule {
                id: format!("push {pattern}"),
                layer: self.layer,
                origin: self.problems.origin(text.line, "git.push"),
                verdict: Outcome::Allow,
                reason: None,
                when: Match::GitPush {
                    host: None,
                    repository: None,
                    refs: Some(vec![pattern]),
                    changes: Some(vec![RefChange::Create, RefChange::Update]),
                },
            });
        }
        Some(rules)
    }

    fn check_names(&mut self, rules: &[Rule]) {
        let mut seen: HashMap<&str, &Origin> = HashMap::new();
        for rule in rules {
            if let Some(other) = seen.insert(&rule.id, &rule.origin) {
                let problem = Problem::SameName { id: rule.id.clone(), other: other.clone() };
                self.problems.add(rule.origin.line, "rule.id", problem);
            }
        }
    }
}

impl Raw {
    /// Two things of one layer that say different things about the same pattern.
    pub(crate) fn contradictions(&self) -> Vec<ProfileError> {
        let mut found = self.contradicting_rules();
        found.extend(self.contradicting_mounts());
        found
    }

    fn contradicting_rules(&self) -> Vec<ProfileError> {
        let mut found = Vec::new();
        let granted: HashMap<Match, &Origin> = self
            .network
            .iter()
            .flatten()
            .flat_map(|grant| said_by(grant).into_iter().map(|when| (when, &grant.origin)))
            .collect();
        let mut seen: HashMap<Match, (Outcome, &Origin)> = HashMap::new();
        for rule in self.rules.iter().chain(self.push.iter().flatten()) {
            // To ask about what is granted makes sense: it can be reached, and a person is asked.
            if let Some(other) = granted.get(&rule.when)
                && rule.verdict == Outcome::Deny
            {
                let allow = Outcome::Allow;
                found.push(contradiction(&rule.origin, &rule.verdict, other, &allow));
            }
            match seen.get(&rule.when) {
                Some((verdict, other)) if *verdict != rule.verdict => {
                    found.push(contradiction(&rule.origin, &rule.verdict, other, verdict));
                }
                Some(_) => {}
                None => {
                    seen.insert(rule.when.clone(), (rule.verdict, &rule.origin));
                }
            }
        }
        found
    }

    fn contradicting_mounts(&self) -> Vec<ProfileError> {
        let mut found = Vec::new();
        let mut seen: HashMap<&Path, &Mount> = HashMap::new();
        for mount in self.mounts.iter().flatten() {
            match seen.insert(&mount.path, mount) {
                Some(other) if other.access != mount.access => {
                    let (own, others) = (&mount.access, &other.access);
                    found.push(contradiction(&mount.origin, own, &other.origin, others));
                }
                _ => {}
            }
        }
        found
    }
}

fn contradiction(
    at: &Origin,
    own: &dyn ToString,
    other: &Origin,
    others: &dyn ToString,
) -> ProfileError {
    let (own, others) = (own.to_string(), others.to_string());
    let problem = Problem::Contradiction { own, other: other.clone(), others };
    ProfileError { origin: at.clone(), problem }
}

/// The rules that would say the same as a grant.
fn said_by(grant: &NetworkGrant) -> Vec<Match> {
    let target = &grant.target;
    let connect = Target { methods: None, paths: None, ..target.clone() };
    let resolve = Target { ports: None, ..connect.clone() };
    vec![
        // A rule without ports is about every port, this grant's too.
        Match::Connect(resolve.clone()),
        Match::Connect(connect),
        Match::Resolve(resolve),
        Match::Http(target.clone()),
    ]
}

/// A pattern of references; one that doesn't start with `refs/` is of branches.
fn reference_pattern(text: &str) -> Result<WordPattern, Problem> {
    let full = match text {
        "HEAD" | "**" => text.to_owned(),
        _ if text.starts_with("refs/") => text.to_owned(),
        "" => return Err(PatternError::Empty.into()),
        _ => format!("refs/heads/{text}"),
    };
    let pattern = WordPattern::parse(&full)?;
    // With a name in the place of each wildcard it must be a name that Git takes.
    RefName::parse(&full.replace("**", "x").replace('*', "x"))?;
    Ok(pattern)
}
