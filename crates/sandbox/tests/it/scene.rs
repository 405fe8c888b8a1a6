//! A real sandbox over a project of its own, with a broker that records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use broker::Broker;
use hands::proposal::{Outcome, Proposal};
use ledger::Ledger;
use names::RunId;
use policy::{Authority, Flags, NoLibrary, Request};
use sandbox::{
    Environment, Hands, HandsError, HandsRequest, Helper, Host, Layout, Sandbox, Subject,
    hands_action, hands_file, tool_action,
};
use tempfile::TempDir;

/// Everything of one run.
pub(crate) struct Scene {
    directory: TempDir,
    pub(crate) broker: Broker,
    environment: Environment,
    sandbox: Sandbox,
}

impl Scene {
    /// A sandbox of the profile `agent` in overlay mode.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["home", "project", "run"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("project/a.txt"), "one\ntwo\n").unwrap();
        let authority = Arc::new(authority(&root));
        let run = RunId::parse("261129-k7m2qd").unwrap();
        let ledger = Ledger::create(&root.join("ledger.jsonl"), &run, names::system_clock);
        let broker = Broker::new(Arc::clone(&authority), ledger.unwrap());
        let host = Host::observe(&root.join("home"), &|_| None).unwrap();
        let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let variables: BTreeMap<_, _> =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let environment =
            sandbox::environment(&authority.environment, &host.home, "ada", &variables);
        let sandbox = confine(&root, &authority, &host);
        Self { directory, broker, environment, sandbox }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    /// What the sandbox changed.
    pub(crate) fn upper(&self) -> PathBuf {
        self.directory.path().join("run/upper")
    }

    pub(crate) fn ledger(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("ledger.jsonl")).unwrap()
    }

    /// Starts the program, under limits if there are any.
    pub(crate) fn hands(&mut self, limit: impl FnOnce(&mut HandsRequest)) -> Working<'_> {
        let project = self.project();
        let mut request = HandsRequest::new(self.environment.clone(), &project, 0o022);
        limit(&mut request);
        let permit = self.broker.request(hands_action(&project)).unwrap();
        let hands = Hands::start(&mut self.sandbox, &permit, request).unwrap();
        Working { hands, broker: self.broker.clone(), project, next: 0, shown: String::new() }
    }
}

fn authority(root: &Path) -> Authority {
    let request = Request {
        profile: None,
        profile_name: "agent".to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: root.join("home"),
        project_dir: root.join("project"),
        subject: "ada".to_owned(),
        library: &NoLibrary,
    };
    policy::resolve(request).unwrap().authority
}

fn confine(root: &Path, authority: &Authority, host: &Host) -> Sandbox {
    let helper = Helper::start().unwrap();
    let layout = Layout::of(root.join("run"));
    let subject = Subject {
        user: "ada",
        project: &root.join("project"),
        git: &[],
        git_config: "",
        home_files: &[],
        logins: &[],
        secret: &[],
        grouped: false,
        network: None,
        shown_as: vec![hands_file().unwrap()],
    };
    let plan = sandbox::plan(authority, host, &layout, &subject).unwrap();
    layout.prepare(authority, host, &subject).unwrap();
    helper.confine(plan, None).unwrap()
}

/// The program at work.
pub(crate) struct Working<'a> {
    pub(crate) hands: Hands<'a>,
    pub(crate) broker: Broker,
    project: PathBuf,
    next: u64,
    /// What was shown while it worked.
    pub(crate) shown: String,
}

impl Working<'_> {
    pub(crate) fn carry(&mut self, proposal: &Proposal) -> Result<Outcome, HandsError> {
        self.carry_until(proposal, &|_| false)
    }

    /// Carries out a proposal; gives it up once what was shown is so.
    pub(crate) fn carry_until(
        &mut self,
        proposal: &Proposal,
        is_enough: &dyn Fn(&str) -> bool,
    ) -> Result<Outcome, HandsError> {
        self.next += 1;
        let permit = self.broker.request(tool_action(proposal)).unwrap();
        let shown = std::cell::RefCell::new(String::new());
        let outcome = self.hands.carry_out(
            &permit,
            self.next,
            proposal,
            &|| is_enough(&shown.borrow()),
            &mut |text| shown.borrow_mut().push_str(text),
        );
        self.shown = shown.into_inner();
        let ok = outcome.as_ref().map(|outcome| outcome.ok).ok();
        self.broker.complete(permit, &ok).unwrap();
        outcome
    }

    /// What a line of shell prints.
    #[track_caller]
    pub(crate) fn shell(&mut self, line: &str) -> String {
        self.carry(&bash(line)).unwrap().text()
    }

    pub(crate) fn restart(&mut self) -> Result<(), HandsError> {
        let permit = self.broker.request(hands_action(&self.project)).unwrap();
        self.hands.restart(&permit)
    }
}

pub(crate) fn bash(line: &str) -> Proposal {
    Proposal::Bash { command: line.to_owned(), timeout: None, background: false, terminal: false }
}
