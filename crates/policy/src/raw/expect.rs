//! `[[expect]]`: the self-tests of a file.

use super::{File, Stated};
use crate::action::{
    self, Access, Action, Apply, Branch, Connect, Discard, Docker, Exec, FileAccess, GitPush, Http,
    Kind, Lease, MountPath, Open, Publish, RefChange, Resolve, Tool, Undo,
};
use crate::problem::Problem;
use crate::read::{At, Entry};
use crate::rule::{Origin, Outcome};
use names::{Digest, Host, Port, RefName, RunId, Timestamp};

/// One self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expectation {
    pub(crate) action: Action,
    pub(crate) verdict: Outcome,
    /// The id of a rule that must be among those that decide.
    pub(crate) rule: Option<String>,
    pub(crate) origin: Origin,
}

fn keys_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Exec => &["program", "args", "cwd"],
        Kind::Open | Kind::Mount => &["path", "access"],
        Kind::Connect => &["host", "port"],
        Kind::Resolve => &["host"],
        Kind::Http => &["host", "port", "method", "path"],
        Kind::GitPush => &["host", "repository", "ref", "change"],
        Kind::Docker => &["operation", "target"],
        Kind::Lease => &["lease", "host", "port"],
        Kind::Publish => &["port"],
        Kind::Tool => &["tool"],
        Kind::Apply | Kind::Branch => &["flagged"],
        Kind::Discard | Kind::Undo => &[],
    }
}

impl File<'_> {
    pub(super) fn expectations(&mut self, entries: Vec<Entry>) -> Vec<Expectation> {
        entries.into_iter().filter_map(|entry| self.expectation(entry)).collect()
    }

    fn expectation(&mut self, mut entry: Entry) -> Option<Expectation> {
        let origin = self.problems.origin(entry.line, "expect");
        let words = Kind::ALL.map(Kind::word);
        let kind = entry.text("action");
        let kind = kind.and_then(|text| self.word(&text, "expect.action", &words, Kind::of_word));
        let verdict = entry
            .text("verdict")
            .and_then(|text| self.word(&text, "expect.verdict", Outcome::WORDS, Outcome::of_word));
        let rule = entry.text("rule").map(|rule| rule.value);
        let kind = kind?.value;
        let action = self.expected_action(kind, &mut entry);
        self.refuse_rest(&entry, "expect", kind, keys_of(kind));
        Some(Expectation { action: action?, verdict: verdict?.value, rule, origin })
    }

    fn expected_action(&mut self, kind: Kind, entry: &mut Entry) -> Option<Action> {
        let refused = keys_of(kind).iter().any(|key| entry.mentions(key) && !entry.has(key));
        let action = match kind {
            Kind::Exec => self.expected_exec(entry).map(Action::Exec),
            Kind::Open => {
                let access = self.choice(entry, "access", FileAccess::WORDS, FileAccess::of_word);
                let path = self.expected_path(entry);
                path.zip(access.unwrap_or(Some(FileAccess::Read)))
                    .map(|(path, access)| Action::Open(Open { path, access, content: None }))
            }
            Kind::Mount => {
                let access = self.choice(entry, "access", Access::WORDS, Access::of_word);
                let path = self.expected_path(entry);
                path.zip(access.unwrap_or(Some(Access::Read)))
                    .map(|(path, access)| Action::Mount(MountPath { path, access }))
            }
            Kind::Connect => {
                self.destination(entry).map(|(host, port)| Action::Connect(Connect { host, port }))
            }
            Kind::Resolve => {
                self.expected_host(entry).map(|host| Action::Resolve(Resolve { host }))
            }
            Kind::Http => self.expected_http(entry).map(Action::Http),
            Kind::GitPush => self.expected_push(entry).map(Action::GitPush),
            Kind::Docker => {
                let target = entry.text("target").map(|target| target.value).unwrap_or_default();
                self.named(entry, "operation")
                    .map(|operation| Action::Docker(Docker { operation, target }))
            }
            Kind::Lease => {
                let name = self.named(entry, "lease");
                let destination = self.destination(entry);
                name.zip(destination)
                    .map(|(name, (host, port))| Action::Lease(Lease { name, host, port }))
            }
            Kind::Publish => {
                self.expected_port(entry).map(|port| Action::Publish(Publish { port }))
            }
            Kind::Tool => self.named(entry, "tool").map(|name| Action::Tool(Tool::named(name))),
            Kind::Apply => Some(Action::Apply(some_apply(
                entry.switch("flagged").is_some_and(|flagged| flagged.value),
            ))),
            Kind::Discard => Some(Action::Discard(Discard { run: some_run() })),
            Kind::Undo => Some(Action::Undo(Undo { run: some_run() })),
            Kind::Branch => {
                let flagged = entry.switch("flagged").is_some_and(|flagged| flagged.value);
                some_branch(flagged).map(Action::Branch)
            }
        };
        action.filter(|_| !refused)
    }

    fn expected_exec(&mut self, entry: &mut Entry) -> Option<Exec> {
        let place = self.around.place();
        let program = self.needed(entry, "program");
        let args = entry.texts("args").map(|args| args.value).unwrap_or_default();
        let cwd = entry.text("cwd").map(|cwd| action::absolute(&cwd.value, &place));
        Some(Exec::new(
            action::program_path(&program?.value, &place),
            args.into_iter().map(|arg| arg.value).collect(),
            cwd.unwrap_or(place.cwd),
        ))
    }

    fn expected_path(&mut self, entry: &mut Entry) -> Option<std::path::PathBuf> {
        let text = self.needed(entry, "path")?;
        Some(action::absolute(&text.value, &self.around.place()))
    }

    fn expected_http(&mut self, entry: &mut Entry) -> Option<Http> {
        let method = entry.text("method").map_or_else(|| "GET".to_owned(), |text| text.value);
        let path = entry.text("path").map_or_else(|| "/".to_owned(), |text| text.value);
        let (host, port) = self.destination(entry)?;
        Some(Http { host, port, method, path, query: None })
    }

    fn expected_push(&mut self, entry: &mut Entry) -> Option<GitPush> {
        let host = self.expected_host(entry);
        let repository = self.named(entry, "repository");
        let change = self.choice(entry, "change", RefChange::WORDS, RefChange::of_word);
        let reference = self.needed(entry, "ref");
        let reference = reference.and_then(|text| self.parsed(&text, "expect.ref", RefName::parse));
        Some(GitPush {
            host: host?,
            repository: repository?,
            reference: reference?,
            change: change.unwrap_or(Some(RefChange::Update))?,
            moves: None,
        })
    }

    fn destination(&mut self, entry: &mut Entry) -> Option<(Host, Port)> {
        let host = self.expected_host(entry);
        let port = match entry.whole("port") {
            Some(number) => self.port(&number, "expect.port"),
            None => Some(Port::HTTPS),
        };
        host.zip(port)
    }

    fn expected_port(&mut self, entry: &mut Entry) -> Option<Port> {
        self.must_have(entry, "port");
        let number = entry.whole("port")?;
        self.port(&number, "expect.port")
    }

    fn expected_host(&mut self, entry: &mut Entry) -> Option<Host> {
        let text = self.needed(entry, "host")?;
        self.parsed(&text, "expect.host", action::read_host)
    }

    fn named(&mut self, entry: &mut Entry, key: &str) -> Option<String> {
        self.needed(entry, key).map(|text| text.value)
    }

    /// A key without which there is no action.
    fn needed(&mut self, entry: &mut Entry, key: &str) -> Option<At<String>> {
        self.must_have(entry, key);
        entry.text(key)
    }

    fn must_have(&mut self, entry: &Entry, key: &str) {
        if !entry.mentions(key) {
            let meaning = "it is part of the action";
            let problem = Problem::Missing { section: "[[expect]]".to_owned(), meaning };
            self.problems.add(entry.line, format!("expect.{key}"), problem);
        }
    }

    /// The outer `None` is an absent key, the inner one a wrong word.
    fn choice<T>(
        &mut self,
        entry: &mut Entry,
        key: &str,
        words: &[&'static str],
        of_word: fn(&str) -> Option<T>,
    ) -> Option<Option<T>> {
        let text = entry.text(key)?;
        let word: Option<Stated<T>> = self.word(&text, &format!("expect.{key}"), words, of_word);
        Some(word.map(|stated| stated.value))
    }
}

/// A change set that nobody made; no rule looks at more than whether entries are flagged.
fn some_apply(flagged: bool) -> Apply {
    let flagged: Vec<String> = flagged.then(|| "flagged".to_owned()).into_iter().collect();
    Apply { run: some_run(), change_set: Digest::of(b""), paths: 1, flagged }
}

fn some_branch(flagged: bool) -> Option<Branch> {
    let flagged = flagged.then(|| "flagged".to_owned()).into_iter().collect();
    let reference = RefName::parse("refs/heads/some").ok()?;
    Some(Branch { run: some_run(), reference, commit: String::new(), commits: 1, flagged })
}

fn some_run() -> RunId {
    RunId::from_parts(Timestamp::from_millis(0), [0; 4])
}
