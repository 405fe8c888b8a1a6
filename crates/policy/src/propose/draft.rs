//! Observations as rules and grants: which there are to be, and what each is for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use names::{Host, HostPattern, Port};

use super::risk::{self, Risk};
use super::{Addition, Ids, LeftOut, Observed, merge, render};
use crate::action::{Action, Docker, Exec, FileAccess, GitPush, Http, Kind, Lease, RefChange};
use crate::authority::Authority;
use crate::decide::url_path;
use crate::layers::Source;
use crate::pattern::{ArgsPattern, PathPattern, ProgramPattern, WordPattern, file_name};
use crate::raw::{Raw, Surroundings};
use crate::resolve::Request;
use crate::rule::{Layer, Match, Method, Target};

/// Why a name can't stand in a rule.
const NO_PATTERN: &str = "no pattern means this name alone";

/// One rule or grant that is to be proposed.
pub(super) struct Draft {
    pub(super) observed: Vec<Observed>,
    id: String,
    body: Body,
    note: Option<&'static str>,
    risks: Vec<Risk>,
}

/// What it says.
enum Body {
    /// An allow rule.
    Rule(Match),
    /// A destination.
    Grant(Target),
}

impl Draft {
    /// As TOML, with what a person needs to judge it.
    pub(super) fn section(&self) -> String {
        let times =
            if self.times() == 1 { "once".to_owned() } else { format!("{} times", self.times()) };
        let mut text = render::comment(&format!("{times}, as: {}", self.example()));
        for risk in &self.risks {
            text += &render::comment(&format!("risk: {risk}"));
        }
        text += &self.note.map(render::comment).unwrap_or_default();
        text + &self.bare()
    }

    fn bare(&self) -> String {
        match &self.body {
            Body::Rule(when) => {
                let mut section = render::Section::new("rule");
                section.text("id", &self.id);
                section.when(when);
                section.text("verdict", "allow");
                section.finish()
            }
            Body::Grant(target) => {
                let mut section = render::Section::new("network");
                section.target(target);
                section.finish()
            }
        }
    }

    pub(super) fn addition(&self) -> Addition {
        let allows = match &self.body {
            Body::Rule(when) => format!("{} {when}", when.kind()),
            Body::Grant(target) => format!("network {target}"),
        };
        Addition {
            id: self.id.clone(),
            allows: names::printable(allows.as_bytes()),
            times: self.times(),
            example: self.example(),
            risks: self.risks.clone(),
        }
    }

    pub(super) fn leave_out(&self, why: &str, left_out: &mut Vec<LeftOut>) {
        left_out.extend(self.observed.iter().map(|one| LeftOut::of(one, why)));
    }

    fn times(&self) -> u64 {
        self.observed.iter().fold(0, |sum: u64, one| sum.saturating_add(one.times))
    }

    fn example(&self) -> String {
        self.observed.first().map(|one| one.action.to_string()).unwrap_or_default()
    }
}

/// All of them, and what could not become one.
pub(super) struct Drafts<'a> {
    pub(super) drafts: Vec<Draft>,
    pub(super) left_out: Vec<LeftOut>,
    ids: Ids,
    around: Surroundings<'a>,
}

impl<'a> Drafts<'a> {
    pub(super) fn of(wanted: &[Observed], before: &Authority, request: &'a Request<'_>) -> Self {
        let around = Surroundings { home: &request.home, project: &request.project_dir };
        let ids = Ids::of(before);
        let mut drafts = Self { drafts: Vec::new(), left_out: Vec::new(), ids, around };
        let mut by_kind: BTreeMap<Class, Vec<&Observed>> = BTreeMap::new();
        for one in wanted {
            by_kind.entry(Class::of(one.action.kind())).or_default().push(one);
        }
        for (class, observed) in by_kind {
            match class {
                Class::Exec => drafts.exec(&observed),
                Class::Open => drafts.open(&observed),
                Class::Network => drafts.network(&observed),
                Class::GitPush => drafts.git_push(&observed),
                Class::Other => observed.into_iter().for_each(|one| drafts.other(one)),
                Class::Persons => drafts.leave_out(observed, "it is decided where it is commanded"),
            }
        }
        drafts
    }

    fn leave_out<'o>(&mut self, observed: impl IntoIterator<Item = &'o Observed>, why: &str) {
        self.left_out.extend(observed.into_iter().map(|one| LeftOut::of(one, why)));
    }

    fn rule(
        &mut self,
        about: &str,
        when: Match,
        observed: Vec<Observed>,
        note: Option<&'static str>,
    ) {
        let id = self.ids.fresh(&render::word(when.kind(), about));
        let risks = risk::of_rule(&when, self.around);
        self.push(Draft { observed, id, body: Body::Rule(when), note, risks });
    }

    fn grant(&mut self, target: Target, observed: Vec<Observed>, note: Option<&'static str>) {
        let id = format!("network {}", target.host);
        let risks = risk::of_grant(&target);
        self.push(Draft { observed, id, body: Body::Grant(target), note, risks });
    }

    /// Keeps a draft that reads back as what it means.
    fn push(&mut self, draft: Draft) {
        match self.misread(&draft) {
            None => self.drafts.push(draft),
            Some(why) => draft.leave_out(&why, &mut self.left_out),
        }
    }

    fn misread(&self, draft: &Draft) -> Option<String> {
        let text = draft.bare();
        let source = Source { layer: Layer::Named, name: "the proposal".to_owned(), text };
        let (raw, errors) = Raw::read(&source, self.around);
        if let Some(error) = errors.first() {
            return Some(error.to_string());
        }
        let same = match &draft.body {
            Body::Rule(when) => raw.rules.iter().map(|rule| &rule.when).eq([when]),
            Body::Grant(target) => {
                raw.network.iter().flatten().map(|grant| &grant.target).eq([target])
            }
        };
        (!same).then(|| NO_PATTERN.to_owned())
    }

    fn exec(&mut self, observed: &[&Observed]) {
        let mut programs: BTreeMap<&Path, BTreeMap<&[String], Vec<&Observed>>> = BTreeMap::new();
        for one in observed {
            let Action::Exec(Exec { program, args, .. }) = &one.action else { continue };
            programs.entry(program).or_default().entry(args).or_default().push(one);
        }
        for (program, lists) in programs {
            match literal_path(program) {
                Some(path) => self.program(&path, &lists),
                None => self.leave_out(lists.into_values().flatten(), NO_PATTERN),
            }
        }
    }

    fn program(&mut self, path: &PathPattern, lists: &BTreeMap<&[String], Vec<&Observed>>) {
        let keys: Vec<&[String]> = lists.keys().copied().collect();
        let shown = path.to_string();
        let name = shown.rsplit('/').next().unwrap_or_default();
        for merged in merge::arguments(&keys) {
            let members = merged.members.iter().filter_map(|at| lists.get(*keys.get(*at)?));
            let members: Vec<&Observed> = members.flatten().copied().collect();
            match ArgsPattern::parse(merged.pattern.iter().map(String::as_str)) {
                Ok(args) => {
                    let program = ProgramPattern::Path(path.clone());
                    let when = Match::Exec { program, args: Some(args), cwd: None };
                    self.rule(name, when, owned(members), None);
                }
                Err(error) => self.leave_out(members, &error.to_string()),
            }
        }
    }

    fn open(&mut self, observed: &[&Observed]) {
        let mut accesses: BTreeMap<FileAccess, BTreeMap<String, Vec<&Observed>>> = BTreeMap::new();
        for one in observed {
            let Action::Open(open) = &one.action else { continue };
            match literal_path(&open.path) {
                Some(path) => {
                    let files = accesses.entry(open.access).or_default();
                    files.entry(path.to_string()).or_default().push(one);
                }
                None => self.leave_out([*one], NO_PATTERN),
            }
        }
        for (access, files) in accesses {
            for (path, members) in merged_paths(&files) {
                let Ok(path) = PathPattern::parse(&path) else { continue };
                let when = Match::Open { path, access: Some(access) };
                self.rule(access.word(), when, owned(members), None);
            }
        }
    }

    /// A destination is one grant: what was connected to as it is, what was asked of it narrowed to
    /// that.
    fn network(&mut self, observed: &[&Observed]) {
        let mut hosts: BTreeMap<&Host, Destination<'_>> = BTreeMap::new();
        for one in observed {
            match &one.action {
                Action::Resolve(resolve) => hosts.entry(&resolve.host).or_default().names.push(one),
                Action::Connect(connect) => {
                    let destination = hosts.entry(&connect.host).or_default();
                    destination.ports.entry(connect.port).or_default().push(one);
                }
                Action::Http(http) => {
                    let destination = hosts.entry(&http.host).or_default();
                    destination.requests.entry(http.port).or_default().push((http, one));
                }
                _ => {}
            }
        }
        for (host, destination) in hosts {
            self.destination(host, destination);
        }
    }

    fn destination(&mut self, host: &Host, destination: Destination<'_>) {
        const PORT_UNKNOWN: &str = "only its name was looked up; the port is the usual one";
        let Destination { mut names, mut ports, requests } = destination;
        for (port, requests) in requests {
            // The grant of a request gives the connection that the request needs, and the name.
            let connections = ports.remove(&port).unwrap_or_default();
            match self.requests(host, port, &requests) {
                Some(grant) => grant.observed.extend(
                    owned(connections).into_iter().chain(owned(std::mem::take(&mut names))),
                ),
                None if connections.is_empty() => {}
                None => drop(ports.insert(port, connections)),
            }
        }
        if ports.is_empty() && names.is_empty() {
            return;
        }
        let only_looked_up = ports.is_empty();
        let given: Vec<Port> =
            if only_looked_up { vec![Port::HTTPS] } else { ports.keys().copied().collect() };
        let observed = names.into_iter().chain(ports.into_values().flatten()).collect();
        let host = HostPattern::exact(host.clone());
        let target = Target { host, ports: Some(given), methods: None, paths: None };
        self.grant(target, owned(observed), only_looked_up.then_some(PORT_UNKNOWN));
    }

    /// A grant for each set of methods that were sent to the same paths; the last, if any.
    fn requests(
        &mut self,
        host: &Host,
        port: Port,
        requests: &[(&Http, &Observed)],
    ) -> Option<&mut Draft> {
        let before = self.drafts.len();
        let mut methods: BTreeMap<Method, BTreeMap<String, Vec<&Observed>>> = BTreeMap::new();
        for (http, one) in requests {
            let path = url_path(&http.path).and_then(|path| str::from_utf8(path).ok());
            let path = path.filter(|path| !path.contains('*'));
            let path = path.and_then(|path| PathPattern::parse(trimmed(path)).ok());
            match (Method::of_word(&http.method), path) {
                (_, None) => self.leave_out([*one], "no pattern means this path alone"),
                (None, _) => self.leave_out([*one], "no rule can name this method"),
                (Some(method), Some(path)) => {
                    let paths = methods.entry(method).or_default();
                    paths.entry(path.to_string()).or_default().push(one);
                }
            }
        }
        let mut grants: BTreeMap<Vec<PathPattern>, (Vec<Method>, Vec<&Observed>)> = BTreeMap::new();
        for (method, paths) in methods {
            let merged = merged_paths(&paths);
            let mut patterns: Vec<PathPattern> =
                merged.iter().filter_map(|(path, _)| PathPattern::parse(path).ok()).collect();
            patterns.sort();
            let (methods, members) = grants.entry(patterns).or_default();
            methods.push(method);
            members.extend(merged.into_iter().flat_map(|(_, members)| members));
        }
        for (paths, (methods, members)) in grants {
            let host = HostPattern::exact(host.clone());
            let (ports, methods, paths) = (Some(vec![port]), Some(methods), Some(paths));
            self.grant(Target { host, ports, methods, paths }, owned(members), None);
        }
        self.drafts.get_mut(before..)?.last_mut()
    }

    /// A rule for each repository and each set of changes that were made to the same references.
    /// References are never generalised.
    fn git_push(&mut self, observed: &[&Observed]) {
        type Changes<'o> = (BTreeSet<RefChange>, Vec<&'o Observed>);
        let mut pushes: BTreeMap<(&Host, &str), BTreeMap<&str, Changes<'_>>> = BTreeMap::new();
        for one in observed {
            let Action::GitPush(GitPush { host, repository, reference, change, .. }) = &one.action
            else {
                continue;
            };
            let references = pushes.entry((host, repository)).or_default();
            let (changes, members) = references.entry(reference.as_str()).or_default();
            changes.insert(*change);
            members.push(one);
        }
        for ((host, repository), references) in pushes {
            let mut rules: BTreeMap<BTreeSet<RefChange>, (Vec<&str>, Vec<&Observed>)> =
                BTreeMap::new();
            for (reference, (changes, members)) in references {
                let (references, all) = rules.entry(changes).or_default();
                references.push(reference);
                all.extend(members);
            }
            for (changes, (references, members)) in rules {
                self.push_rule(host, repository, &references, changes, members);
            }
        }
    }

    fn push_rule(
        &mut self,
        host: &Host,
        repository: &str,
        references: &[&str],
        changes: BTreeSet<RefChange>,
        members: Vec<&Observed>,
    ) {
        let refs: Option<Vec<WordPattern>> = references.iter().map(|name| word(name)).collect();
        let (Some(pattern), Some(mut refs)) = (word(repository), refs) else {
            return self.leave_out(members, NO_PATTERN);
        };
        refs.sort();
        let when = Match::GitPush {
            host: Some(HostPattern::exact(host.clone())),
            repository: Some(pattern),
            refs: Some(refs),
            changes: Some(changes.into_iter().collect()),
        };
        let about = repository.rsplit('/').next().unwrap_or_default();
        self.rule(about, when, owned(members), None);
    }

    fn other(&mut self, one: &Observed) {
        const ANY_TARGET: &str = "no pattern means no target, so any target is meant";
        let (about, when, note) = match &one.action {
            Action::Docker(Docker { operation, target }) if target.is_empty() => {
                let when = word(operation)
                    .map(|operation| Match::Docker { operation: Some(operation), target: None });
                (operation, when, Some(ANY_TARGET))
            }
            Action::Docker(Docker { operation, target }) => {
                let when = word(operation).zip(word(target)).map(|(operation, target)| {
                    Match::Docker { operation: Some(operation), target: Some(target) }
                });
                (operation, when, None)
            }
            Action::Lease(Lease { name, host, port }) => {
                let host = Some(HostPattern::exact(host.clone()));
                let ports = Some(vec![*port]);
                let when =
                    word(name).map(|pattern| Match::Lease { name: Some(pattern), host, ports });
                (name, when, None)
            }
            Action::Tool(tool) => {
                let when = word(&tool.name).map(|name| Match::Tool { name: Some(name) });
                (&tool.name, when, None)
            }
            _ => return,
        };
        match when {
            Some(when) => self.rule(about, when, vec![one.clone()], note),
            None => self.leave_out([one], NO_PATTERN),
        }
    }
}

/// What was seen of one host.
#[derive(Default)]
struct Destination<'o> {
    names: Vec<&'o Observed>,
    ports: BTreeMap<Port, Vec<&'o Observed>>,
    requests: BTreeMap<Port, Vec<(&'o Http, &'o Observed)>>,
}

/// Actions that are looked at together, in the order in which they are proposed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Exec,
    Open,
    Network,
    GitPush,
    Other,
    /// Commands of the person, and what is decided while a profile is loaded.
    Persons,
}

impl Class {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Exec => Self::Exec,
            Kind::Open => Self::Open,
            Kind::Connect | Kind::Resolve | Kind::Http => Self::Network,
            Kind::GitPush => Self::GitPush,
            Kind::Docker | Kind::Lease | Kind::Tool => Self::Other,
            Kind::Mount
            | Kind::Publish
            | Kind::Apply
            | Kind::Discard
            | Kind::Undo
            | Kind::Branch => Self::Persons,
        }
    }
}

fn owned(observed: Vec<&Observed>) -> Vec<Observed> {
    observed.into_iter().cloned().collect()
}

/// Files by what is proposed for them.
fn merged_paths<'o>(
    files: &BTreeMap<String, Vec<&'o Observed>>,
) -> Vec<(String, Vec<&'o Observed>)> {
    let keys: Vec<&str> = files.keys().map(String::as_str).collect();
    let members = |at: Vec<usize>| {
        let each = at.into_iter().filter_map(|at| files.get(*keys.get(at)?));
        each.flatten().copied().collect()
    };
    merge::paths(&keys).into_iter().map(|(path, at)| (path, members(at))).collect()
}

/// A path, if a pattern of it means it alone.
fn literal_path(path: &Path) -> Option<PathPattern> {
    let text = path.to_str().filter(|text| !text.contains('*'))?;
    let named = !file_name(text.as_bytes()).is_empty();
    PathPattern::parse(text).ok().filter(|_| named)
}

/// A URL's path as patterns write it, without the slash at its end.
fn trimmed(path: &str) -> &str {
    if path.len() > 1 { path.strip_suffix('/').unwrap_or(path) } else { path }
}

/// A word, if a pattern of it means it alone.
fn word(text: &str) -> Option<WordPattern> {
    WordPattern::parse(text).ok().filter(|_| !text.contains('*'))
}
