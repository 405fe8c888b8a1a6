//! A person, a project and runs for tests: real files, made by the crates that make them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use api::{Homes, RunRequest};
use ledger::{Base, Budget, Ledger, Outcome, Predicate, Statement, kind};
use names::{Digest, Timestamp, canonical};
use policy::Flags;
use sandbox::Layout;
use tempfile::TempDir;
use workspace::{ChangeSet, Protected};

use crate::records::{Changes, ExecResult, RunEnd, RunStart, counts};
use crate::settings::Settings;
use crate::store::{RunDirectory, Start, Store};
use crate::{authority, keys};

/// A person with a home and a project.
pub(crate) struct World {
    _place: TempDir,
    pub settings: Settings,
    pub project: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let (home, project) = (root.join("home"), root.join("project"));
        for directory in [&home, &project] {
            fs::DirBuilder::new().mode(0o755).create(directory).unwrap();
        }
        let homes = Homes { state: home.join(".loop"), config: home.join(".config/loop"), home };
        let settings = Settings {
            homes,
            user: "ada".to_owned(),
            environment: BTreeMap::new(),
            directory: project.clone(),
            clock: names::system_clock,
        };
        Self { _place: place, settings, project }
    }

    /// Writes a file, with its directories, as nobody else's.
    pub(crate) fn write(&self, path: &Path, text: &str) {
        write(path, text);
    }

    /// Writes a file of the project.
    pub(crate) fn file(&self, path: &str, text: &str) {
        write(&self.project.join(path), text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap()
    }

    pub(crate) fn newest(&self) -> RunRequest {
        RunRequest::default()
    }

    /// A sealed run that left these files.
    pub(crate) fn run(&self, files: &[(&str, &str)]) -> RunDirectory {
        let begun = self.begin(files);
        begun.seal(&self.settings);
        begun.run
    }

    /// A run that was interrupted before it was sealed.
    pub(crate) fn interrupted(&self, files: &[(&str, &str)]) -> RunDirectory {
        self.begin(files).run
    }

    /// A run that was interrupted, under a profile, enforced or learning.
    pub(crate) fn interrupted_under(&self, profile: Option<&str>, learning: bool) -> RunDirectory {
        self.begin_under(profile, learning, &[]).run
    }

    fn begin(&self, files: &[(&str, &str)]) -> Begun {
        let begun = self.begin_under(None, false, files);
        begun.exec();
        begun
    }

    fn begin_under(&self, profile: Option<&str>, learning: bool, files: &[(&str, &str)]) -> Begun {
        let settings = &self.settings;
        let run = Store::new(settings.runs()).create(settings.clock).unwrap();
        let project = settings.project(None).unwrap();
        let resolved = authority::resolve(settings, &project, profile, Flags::default()).unwrap();
        let authority = resolved.authority;
        let start = Start {
            git: Vec::new(),
            schema: 1,
            run: run.id.clone(),
            started: (settings.clock)(),
            project: project.root.clone(),
            subject: settings.user.clone(),
            profile: authority.profile.clone(),
            command: vec!["make".into(), "all".into()],
            session: None,
            agent: None,
            verifies: None,
        };
        fs::write(run.start_file(), canonical::to_vec(&start).unwrap()).unwrap();
        fs::write(run.authority(), canonical::to_vec(&authority).unwrap()).unwrap();
        let ledger = Ledger::create(&run.ledger(), &run.id, settings.clock).unwrap();
        let started = RunStart {
            run: run.id.clone(),
            subject: start.subject.clone(),
            project: project.root.clone(),
            profile: start.profile.clone(),
            authority: authority.digest(),
            mode: authority.mode,
            base: Base::default(),
            command: start.command.clone(),
            session: None,
            equipped: None,
            agent: None,
            continues: None,
            verifies: None,
            contract: None,
            learning,
            ignored: Vec::new(),
        };
        ledger.commit(kind::RUN_START, &started).unwrap();
        ledger.commit(kind::ENFORCEMENT, &enforcement()).unwrap();
        let upper = Layout::of(run.path()).upper();
        fs::create_dir(&upper).unwrap();
        files.iter().for_each(|(path, text)| write(&upper.join(path), text));
        Begun { run, start, authority: started.authority, ledger }
    }
}

struct Begun {
    run: RunDirectory,
    start: Start,
    authority: Digest,
    ledger: Ledger,
}

impl Begun {
    /// A command that ran, and ended well.
    fn exec(&self) {
        let authority = crate::inspect::authority(&self.run).unwrap();
        let broker = broker::Broker::new(std::sync::Arc::new(authority), self.ledger.clone());
        let exec = policy::Exec::new("/usr/bin/make", vec!["all".to_owned()], &self.start.project);
        let permit = broker.request(exec).unwrap();
        let result = ExecResult {
            exit: Some(0),
            signal: None,
            limit: None,
            interrupted: false,
            printed: 3,
            took_ms: 7,
        };
        broker.complete(permit, &result).unwrap();
    }

    fn seal(&self, settings: &Settings) {
        let upper = Layout::of(self.run.path()).upper();
        let set = workspace::read_changes(&upper, &self.start.project, &Protected::default());
        let changes = self.record(&set.unwrap());
        let statement = Statement::new(changes.digest, changes.result, self.predicate());
        let (key, _) = keys::signing_key(settings).unwrap();
        let receipt = ledger::seal(&statement, &key).unwrap().to_bytes();
        fs::write(self.run.receipt(), receipt).unwrap();
    }

    fn record(&self, set: &ChangeSet) -> Changes {
        let bytes = set.to_bytes().unwrap();
        fs::write(self.run.changes(), &bytes).unwrap();
        let changes = Changes {
            digest: Digest::of(&bytes),
            result: set.result_digest(),
            counts: counts(set.counts()),
        };
        self.ledger.commit(kind::CHANGES, &changes).unwrap();
        let end = RunEnd {
            outcome: Outcome::Unverified,
            exit: Some(0),
            limit: None,
            reasons: Vec::new(),
        };
        self.ledger.commit(kind::RUN_END, &end).unwrap();
        changes
    }

    fn predicate(&self) -> Predicate {
        Predicate {
            run: self.run.id.clone(),
            subject: self.start.subject.clone(),
            project: self.start.project.display().to_string(),
            started: self.start.started,
            ended: Timestamp::from_millis(self.start.started.as_millis() + 7),
            profile: self.start.profile.clone(),
            authority: self.authority,
            base: Base::default(),
            enforcement: serde_json::to_value(enforcement()).unwrap(),
            leases: Vec::new(),
            approvals: Vec::new(),
            egress: Vec::new(),
            denials: BTreeMap::new(),
            learned: None,
            budget: Budget::default(),
            checks: Vec::new(),
            verification: None,
            follows: None,
            models: Vec::new(),
            ledger: self.ledger.head(),
            omissions: Vec::new(),
            exit: Some(0),
            outcome: Outcome::Unverified,
        }
    }
}

fn enforcement() -> sandbox::Enforcement {
    sandbox::Enforcement {
        backend: "local".to_owned(),
        kernel: "6.12".to_owned(),
        landlock_abi: 6,
        filter: "ab".to_owned(),
        mediated: vec![],
        limits: [("memory".to_owned(), "watchdog".to_owned())].into(),
        proofs: vec![sandbox::Proof {
            tried: "mount a file system".to_owned(),
            answer: "PERM".to_owned(),
        }],
    }
}

fn write(path: &Path, text: &str) {
    let parent = path.parent().unwrap();
    fs::DirBuilder::new().recursive(true).mode(0o755).create(parent).unwrap();
    fs::write(path, text).unwrap();
}
