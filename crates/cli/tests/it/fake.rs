//! An engine that only plays: fixed answers, with hostile text wherever text comes from outside.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use api::*;
use ledger::SigningKey;
use names::{AskId, Digest, RunId, Timestamp, WorkspacePath};
use serde_json::json;

/// An escape sequence, a right-to-left override and a line feed: none may reach a terminal.
pub(crate) const HOSTILE: &str = "a\x1b[31m\u{202e}b\nc";

/// What the engine was asked, and how it answers.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) asked: Rc<RefCell<Vec<String>>>,
    pub(crate) problem: Option<Problem>,
    pub(crate) trusted: bool,
    pub(crate) receipt: Option<PathBuf>,
    pub(crate) key: Option<String>,
    pub(crate) exec: Option<ExecReport>,
    /// What the agent is seen to do.
    pub(crate) told: Vec<event::Event>,
    pub(crate) task: Option<TaskReport>,
    /// What waits for a person.
    pub(crate) asks: Vec<AskView>,
    /// What is said to the person while a command runs.
    pub(crate) speak: Vec<fn(&dyn Person) -> String>,
    /// Plays the demonstration, once it is moved to its directories.
    pub(crate) demo: Option<Demo>,
    pub(crate) homes: Option<Homes>,
}

/// Whether the demonstration's sandbox holds anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demo {
    Holds,
    Leaks,
}

pub(crate) fn run_id() -> RunId {
    RunId::parse("261129-k7m2qd").unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::from_bytes(text.as_bytes()).unwrap()
}

pub(crate) fn rule(id: &str, file: &str, line: u32) -> RuleRef {
    RuleRef { id: id.into(), file: file.into(), line }
}

fn counts() -> ChangeCounts {
    ChangeCounts { added: 2, edited: 2, deleted: 1, renamed: 1, flagged: 1, git: 2 }
}

pub(crate) fn denials() -> Vec<Denial> {
    let denial = |what: &str, count| Denial {
        action: "connect".into(),
        what: what.into(),
        rule: Some(rule("default-connect", "built-in offline", 12)),
        reason: "the network is none".into(),
        next: Some("add a [[network]] entry to a profile".into()),
        count,
    };
    let mut denials: Vec<_> =
        (1..=4).map(|n| denial(&format!("connect h{n}.example:443"), n)).collect();
    denials.insert(0, denial(&format!("exec {HOSTILE}"), 1));
    denials
}

fn answered() -> Vec<AnsweredAsk> {
    let answer = |answer: &str, reason: Option<&str>| AnsweredAsk {
        id: AskId::parse("k7m2").unwrap(),
        action: "exec".into(),
        what: format!("/usr/bin/git push {HOSTILE}"),
        answer: answer.into(),
        by: format!("{HOSTILE} (terminal)"),
        reason: reason.map(Into::into),
        record: 4,
    };
    vec![answer("once", None), answer("run", None), answer("deny", Some(HOSTILE))]
}

fn ignored() -> Vec<IgnoredKey> {
    let key =
        |key: &str, line| IgnoredKey { key: key.into(), file: ".loop/config.toml".into(), line };
    vec![key("limits.memory", 3), key("mount", 7)]
}

fn enforcement() -> Enforcement {
    let limit = |limit: &str, allowed: &str, held_by: &str| EnforcedLimit {
        limit: limit.into(),
        allowed: allowed.into(),
        held_by: held_by.into(),
    };
    let test = |attempt: &str, held, detail: &str| SelfTest {
        attempt: attempt.into(),
        held,
        detail: detail.into(),
    };
    Enforcement {
        backend: "local".into(),
        kernel: "6.12.0".into(),
        landlock_abi: 6,
        syscall_filter: true,
        uid: 1000,
        limits: vec![limit("memory", "8GiB", "cgroup v2"), limit("processes", "4096", "watchdog")],
        self_test: vec![test("mount", true, "EPERM"), test("io_uring", false, "it opened")],
    }
}

/// A run that ended well.
pub(crate) fn ended_well() -> ExecReport {
    ExecReport {
        schema: 1,
        run: run_id(),
        session: None,
        exit_code: 0,
        signal: None,
        outcome: Outcome::Unverified,
        limit: None,
        duration_ms: 1234,
        mode: Mode::Overlay,
        changes: Some(ChangeCounts::default()),
        learned: None,
        denials: Vec::new(),
        verification: None,
        ignored_project_keys: Vec::new(),
        receipt: Some("/h/.loop/run/261129-k7m2qd/receipt.json".into()),
        directory: "/h/.loop/run/261129-k7m2qd".into(),
        enforcement: enforcement(),
        notes: Vec::new(),
    }
}

/// A run with something of everything.
pub(crate) fn ended_badly() -> ExecReport {
    ExecReport {
        exit_code: 137,
        signal: Some(9),
        outcome: Outcome::Stopped,
        limit: Some(LimitHit {
            limit: "processes".into(),
            allowed: "128".into(),
            origin: Some(rule("limits.processes", "demo.toml", 5)),
        }),
        changes: Some(counts()),
        denials: denials(),
        ignored_project_keys: ignored(),
        notes: vec![format!("no cgroup is writable: {HOSTILE}")],
        ..ended_well()
    }
}

fn summary() -> RunSummary {
    RunSummary {
        run: run_id(),
        started: at("2026-11-29T22:00:00.000Z"),
        duration_ms: Some(61_000),
        project: "/h/project".into(),
        profile: "offline".into(),
        command: ["sh", "-c", HOSTILE].map(OsString::from).into(),
        state: RunState::Ready,
        exit_code: Some(0),
        outcome: Some(Outcome::Unverified),
        changes: counts(),
        session: None,
    }
}

fn entries() -> Vec<ChangeView> {
    let plain = |at: &str, kind| ChangeView {
        path: path(at),
        kind,
        from: None,
        before: None,
        after: Some("file 644".into()),
        directory: false,
        flags: Vec::new(),
        lines: Some(LineStat { added: 3, removed: 1 }),
    };
    let directory = |at: &str| ChangeView {
        after: Some("directory".into()),
        directory: true,
        lines: None,
        ..plain(at, ChangeKind::Add)
    };
    let flag = |flag: &str, why: &str, approvable| ChangeFlag {
        flag: flag.into(),
        why: why.into(),
        approvable,
    };
    let settings = vec![flag("protected", "agents read their settings here", true)];
    let git = vec![flag("git-metadata", "it belongs to a repository's metadata", false)];
    vec![
        ChangeView { flags: settings.clone(), ..directory(".claude") },
        ChangeView { flags: settings, ..plain(".claude/settings.json", ChangeKind::Add) },
        ChangeView { flags: git.clone(), ..plain(".git/config", ChangeKind::Edit) },
        ChangeView { flags: git.clone(), ..directory(".git/hooks") },
        ChangeView { flags: git, lines: None, ..plain(".git/hooks/pre-commit", ChangeKind::Add) },
        directory("docs"),
        plain("docs/new.md", ChangeKind::Add),
        directory("empty"),
        plain("src/lib.rs", ChangeKind::Edit),
        ChangeView { from: Some(path("old")), ..plain(HOSTILE, ChangeKind::Rename) },
        ChangeView {
            before: Some("file 644".into()),
            after: Some("file 755".into()),
            lines: None,
            ..plain("tool.sh", ChangeKind::Mode)
        },
        ChangeView { after: None, lines: None, ..plain("gone", ChangeKind::Delete) },
    ]
}

fn files() -> Vec<FileDiff> {
    let text = format!(
        "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,2 +1,2 @@\n same\n-old\n+{}\n",
        "new\x1b[2J"
    );
    vec![
        FileDiff { path: path(".git/config"), text: "+hooksPath = /tmp\n".into() },
        FileDiff { path: path("src/lib.rs"), text },
        FileDiff { path: path("logo.png"), text: "binary file logo.png: 10 B -> 12 B\n".into() },
    ]
}

impl Fake {
    fn answer<T>(&self, asked: impl std::fmt::Debug, answer: T) -> Result<T, Problem> {
        self.asked.borrow_mut().push(format!("{asked:?}"));
        match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => Ok(answer),
        }
    }
}

impl Engine for Fake {
    fn exec(&self, request: ExecRequest, person: &dyn Person) -> Result<ExecReport, Problem> {
        for speak in &self.speak {
            self.asked.borrow_mut().push(speak(person));
        }
        if let Some(demo) = self.demo {
            return Ok(demo.exec(&request));
        }
        self.answer(request, self.exec.clone().unwrap_or_else(ended_well))
    }

    fn work(
        &self,
        request: TaskRequest,
        person: &dyn Person,
        watch: &mut dyn FnMut(&event::Event),
    ) -> Result<TaskReport, Problem> {
        for event in &self.told {
            watch(event);
        }
        for speak in &self.speak {
            self.asked.borrow_mut().push(speak(person));
        }
        if let (Some(demo), Some(homes)) = (self.demo, &self.homes) {
            return Ok(demo.work(homes, &request));
        }
        self.answer(request, self.task.clone().unwrap_or_else(crate::working::done))
    }

    fn sessions(&self, request: SessionsRequest) -> Result<Vec<SessionView>, Problem> {
        let views = crate::working::sessions();
        self.answer(&request, if request.all { views } else { views.into_iter().take(1).collect() })
    }

    fn models(&self) -> Result<Vec<ModelView>, Problem> {
        self.answer("models", crate::working::models())
    }

    fn login(&self, request: LoginRequest) -> Result<LoginView, Problem> {
        let kept = if request.keyring { "keyring" } else { "/h/.config/loop/logins/anthropic" };
        let view = LoginView {
            provider: request.provider.clone(),
            variable: "ANTHROPIC_API_KEY".into(),
            kept: kept.into(),
        };
        self.answer(request.key.expose().clone(), view)
    }

    fn logout(&self, provider: &str) -> Result<LoginView, Problem> {
        let view = LoginView {
            provider: provider.into(),
            variable: "ANTHROPIC_API_KEY".into(),
            kept: "keyring".into(),
        };
        self.answer(provider, view)
    }

    fn stop(&self, request: StopRequest) -> Result<StopReport, Problem> {
        let report = StopReport {
            session: request.session.clone(),
            run: run_id(),
            commands: 2,
            mode: Mode::Overlay,
            changes: counts(),
            denials: denials(),
            receipt: "/h/.loop/run/261129-k7m2qd/receipt.json".into(),
            outcome: Outcome::Unverified,
        };
        self.answer(request, report)
    }

    fn approvals(&self, request: ApprovalsRequest) -> Result<Vec<AskView>, Problem> {
        self.answer(request, self.asks.clone())
    }

    fn answer(&self, request: AnswerRequest) -> Result<AnswerReport, Problem> {
        let AnswerRequest { run, id, choice, .. } = request.clone();
        self.answer(request, AnswerReport { run, id, choice, record: 7 })
    }

    fn runs(&self, request: RunsRequest) -> Result<Vec<RunSummary>, Problem> {
        let running = RunSummary {
            run: RunId::parse("261128-0000zz").unwrap(),
            started: at("2026-11-28T20:00:00.000Z"),
            duration_ms: None,
            state: RunState::Working,
            exit_code: None,
            outcome: None,
            changes: ChangeCounts::default(),
            command: [OsStr::from_bytes(b"caf\xff").to_owned()].into(),
            session: Some("dev".into()),
            ..summary()
        };
        self.answer(request, vec![summary(), running])
    }

    fn show(&self, request: RunRequest) -> Result<RunDetail, Problem> {
        let broken = request.run.as_deref() == Some("broken");
        let state = if broken { RunState::Broken } else { RunState::Ready };
        let flaw = "record 7 (undo.intent): a run that is ready can't take the step \"undo\"";
        let detail = RunDetail {
            summary: RunSummary { state, ..summary() },
            flaw: broken.then(|| flaw.to_owned()),
            subject: "ada".into(),
            authority: digest("authority"),
            change_set: Some(digest("changes")),
            commits: Some(2),
            continues: Some(api::Continued {
                run: RunId::parse("261128-a2b3cd").unwrap(),
                receipt: digest("earlier"),
            }),
            verifies: None,
            verification: (request.run.as_deref() == Some("verified")).then(crate::verified::view),
            unchecked: (request.run.as_deref() == Some("unchecked"))
                .then(|| format!("its checks were not run, because {HOSTILE}")),
            limit: ended_badly().limit,
            agent: (request.run.as_deref() == Some("agent")).then(|| AgentView {
                session: "261129-k7m2qd".into(),
                model: format!("anthropic:{HOSTILE}"),
                turns: 1,
                steps: 7,
                tokens: 31_000,
                cost_micro_usd: names::MicroUsd(120_000),
            }),
            learned: (request.run.as_deref() == Some("learn")).then(denials),
            approvals: answered(),
            published: vec![api::Entered {
                port: names::Port::HTTPS,
                outside: vec![names::Port::try_from(8443).unwrap()],
                connections: 2,
                failed: 1,
                sent: 1_200,
                received: 300,
                took_ms: 5,
                why: Some("nothing listened there".into()),
            }],
            reached: vec![api::Reached {
                host: "registry.example.com".into(),
                port: 443,
                addresses: vec!["192.0.2.7".into()],
                connections: 3,
                failed: 1,
                sent: 1_250,
                received: 3_400_000,
                took_ms: 820,
                why: Some("the destination broke off".into()),
            }],
            denials: denials(),
            ignored_project_keys: ignored(),
            enforcement: Some(enforcement()),
            chain: chain(None),
            directory: "/h/.loop/run/261129-k7m2qd".into(),
            receipt: None,
        };
        self.answer(request, detail)
    }

    fn audit(&self, request: RunRequest) -> Result<AuditReport, Problem> {
        let record = |seq, kind: &str, body, outcome_unknown| AuditRecord {
            seq,
            time: at("2026-11-29T22:00:00.000Z"),
            kind: kind.into(),
            body,
            hash: digest(kind),
            outcome_unknown,
        };
        let broken = Some("record 4: its hash is not that of its content".into());
        let report = AuditReport {
            run: run_id(),
            ledger: "/h/.loop/run/261129-k7m2qd/ledger.jsonl".into(),
            chain: chain(broken.filter(|_| request.run.as_deref() == Some("broken"))),
            records: vec![
                record(0, "genesis", json!({"schema": 1, "run": "261129-k7m2qd"}), false),
                record(
                    1,
                    "exec.intent",
                    json!({
                        "action": {"action": "exec", "program": "/bin/sh", "args": ["-c", HOSTILE]},
                        "action_digest": digest("action").to_string(),
                        "decided_by": [{"rule": "exec-default"}], "outcome": "allow",
                    }),
                    false,
                ),
                record(
                    2,
                    "denied",
                    json!({
                        "action": {"action": "connect", "host": HOSTILE, "port": 443},
                        "decided_by": [
                            {"rule": "no-net", "origin": {"source": "p.toml", "line": 3, "key": "rule"}},
                            {"rule": "default"},
                        ],
                        "outcome": "ask", "reason": HOSTILE, "because": "unanswered",
                    }),
                    false,
                ),
                record(
                    2,
                    "exec.result",
                    json!({"intent": 1, "result": {"exit": 0, "commit": "0".repeat(40)}}),
                    false,
                ),
                record(
                    2,
                    "tool.intent",
                    json!({
                        "action": {"action": "tool", "name": "bash", "words": HOSTILE, "proposal": digest("p")},
                        "decided_by": [{"rule": "tool-bash"}], "outcome": "allow",
                    }),
                    false,
                ),
                record(
                    2,
                    "model",
                    json!({"purpose": "answer", "tokens": 31_000, "cost_micro_usd": 120_000, "estimated": false}),
                    false,
                ),
                record(
                    3,
                    "apply.intent",
                    json!({"paths": 12, "flagged": ["a", "b c"], "none": null, "set": digest("x")}),
                    true,
                ),
                record(
                    4,
                    "approval.asked",
                    json!({
                        "ask": "k7m2", "action": {"action": "exec", "program": "/usr/bin/git", "args": ["push", HOSTILE]},
                        "action_digest": digest("action"), "binding": digest("binding"),
                        "decided_by": [{"rule": "ask-push", "origin": {"source": "p.toml", "line": 3, "key": "rule"}}],
                        "reason": HOSTILE, "expires": "2026-11-29T22:10:00.000Z",
                    }),
                    false,
                ),
                record(
                    5,
                    "approval.answered",
                    json!({
                        "ask": "k7m2", "kind": "exec", "action_digest": digest("action"), "binding": digest("binding"),
                        "answer": "deny", "by": {"user": HOSTILE, "via": "terminal"}, "reason": HOSTILE,
                    }),
                    false,
                ),
                record(
                    6,
                    "denied",
                    json!({
                        "action": {"action": "exec", "program": "/usr/bin/git", "args": ["push", HOSTILE]},
                        "decided_by": [{"rule": "ask-push"}], "outcome": "ask", "reason": "seen by others",
                        "because": "person", "approval": 5, "said": HOSTILE,
                    }),
                    false,
                ),
                record(
                    7,
                    "exec.intent",
                    json!({
                        "action": {"action": "exec", "program": "/usr/bin/git", "args": ["push"]},
                        "decided_by": [{"rule": "ask-push"}], "outcome": "ask", "reason": "seen by others", "approval": 5,
                    }),
                    false,
                ),
                record(
                    8,
                    "approval.refused",
                    json!({
                        "ask": "k7m2", "because": "answered", "by": {"user": "ann", "via": "command"},
                        "binding": digest("binding"),
                    }),
                    false,
                ),
                record(
                    9,
                    "approval.capped",
                    json!({"key": "approvals.max_waiting", "limit": 16}),
                    false,
                ),
            ],
        };
        self.answer(request, report)
    }

    fn diff(&self, request: DiffRequest) -> Result<DiffReport, Problem> {
        let mut report = DiffReport {
            run: run_id(),
            mode: Mode::Overlay,
            change_set: digest("changes"),
            counts: counts(),
            entries: entries(),
            files: if request.texts { files() } else { Vec::new() },
        };
        if request.run.run.as_deref() == Some("direct") {
            report.mode = Mode::Direct;
            report.counts = ChangeCounts::default();
            report.entries.clear();
            report.files.clear();
        }
        self.answer(request, report)
    }

    fn apply(&self, request: ApplyRequest) -> Result<ApplyReport, Problem> {
        if self.demo.is_some() {
            let sum = request.run.dir.clone().unwrap().join("sum.sh");
            std::fs::write(sum, "echo $(($1 + $2))\n").unwrap();
        }
        let held = |change: &ChangeView| HeldChange {
            approvable: change.flags.iter().all(|flag| flag.approvable),
            change: change.clone(),
        };
        let (flagged, plain): (Vec<_>, Vec<_>) =
            entries().into_iter().partition(|entry| !entry.flags.is_empty());
        let report = ApplyReport {
            run: run_id(),
            change_set: digest("changes"),
            applied: if request.paths.is_empty() { plain } else { Vec::new() },
            held: flagged.iter().map(held).collect(),
            left_out: request.paths.len() as u64,
            outcome: Some(if request.dry_run { Outcome::Failed } else { Outcome::Unverified }),
            dry_run: request.dry_run,
        };
        self.answer(request, report)
    }

    fn discard(&self, request: RunRequest) -> Result<DiscardReport, Problem> {
        self.answer(request, DiscardReport { run: run_id(), entries: 1, git: 2 })
    }

    fn undo(&self, request: RunRequest) -> Result<UndoReport, Problem> {
        let restored = vec![path("src"), path("src/lib.rs"), path(HOSTILE)];
        self.answer(request, UndoReport { run: run_id(), restored })
    }

    fn branch(&self, request: BranchRequest) -> Result<BranchReport, Problem> {
        let commit = |id: &str, subject: &str| api::CommitView {
            id: id.repeat(40),
            subject: subject.into(),
        };
        let file = |path: &str, lines: Option<(u64, u64)>| api::FileStat {
            path: path.into(),
            lines: lines.map(|(added, removed)| api::LineStat { added, removed }),
        };
        let report = BranchReport {
            run: run_id(),
            branch: request.name.clone(),
            commit: "a".repeat(40),
            before: request.force.then(|| "c".repeat(40)),
            against: Some("main".into()),
            commits: vec![commit("a", HOSTILE), commit("b", "Begin")],
            files: vec![file("src/lib.rs", Some((3, 1))), file("logo.png", None)],
            flagged: vec![api::FlaggedPath {
                path: "AGENTS.md".into(),
                why: "instructions that agents obey".into(),
            }],
            submodules: vec!["vendor/part".into()],
            dry_run: request.dry_run,
        };
        self.answer(request.run, report)
    }

    fn git(&self, request: GitRequest) -> Result<GitReport, Problem> {
        let code = u8::try_from(request.words.len()).unwrap();
        Ok(GitReport { code, ignored_refs: 1 })
    }

    fn receipt(&self, request: RunRequest) -> Result<ReceiptView, Problem> {
        let path = self.receipt.clone().unwrap_or_else(|| "/nowhere/receipt.json".into());
        let view = ReceiptView {
            run: run_id(),
            ledger: path.with_file_name("ledger.jsonl"),
            change_set: path.with_file_name("changes.json"),
            path,
            keys: vec!["ed25519:0011223344556677".into()],
            statement: json!({}),
        };
        self.answer(request, view)
    }

    fn receipt_export(&self, request: ExportRequest) -> Result<ExportReport, Problem> {
        let directory = request.to.clone();
        self.answer(request, ExportReport { run: run_id(), directory, files: 3, bytes: 4_200 })
    }

    fn verify(&self, request: VerifyRequest, person: &dyn Person) -> Result<VerifyReport, Problem> {
        for speak in &self.speak {
            self.asked.borrow_mut().push(speak(person));
        }
        let elsewhere = request.dir.is_some();
        self.answer(request, crate::verified::again(!elsewhere))
    }

    fn contract_check(&self, request: ContractCheckRequest) -> Result<ContractReport, Problem> {
        let bad = request.file.as_ref().is_some_and(|file| file.ends_with("bad.toml"));
        let report = ContractReport {
            file: request.file.clone().unwrap_or_else(|| "/h/project/.loop/contract.toml".into()),
            digest: (!bad).then(|| digest("contract")),
            findings: if bad { findings() } else { Vec::new() },
            criteria: 1,
            checks: 2,
            notes: vec![format!("the check test names {HOSTILE}")],
        };
        self.answer(request, report)
    }

    fn contract_propose(&self, request: ContractProposeRequest) -> Result<ContractDraft, Problem> {
        let check = DraftedCheck {
            name: "test".into(),
            command: "cargo test".into(),
            directory: String::new(),
            because: "Cargo.toml".into(),
        };
        let none = request.task.is_empty();
        let draft = ContractDraft {
            text: format!("# A draft {HOSTILE}\n[[check]]\nname = \"test\"\n"),
            checks: if none { vec![] } else { vec![check] },
            partial: none,
        };
        self.answer(request, draft)
    }

    fn policy_check(&self, request: PolicyCheckRequest) -> Result<ProfileReport, Problem> {
        let bad = request.file.ends_with("bad.toml");
        let report = ProfileReport {
            file: request.file.clone(),
            name: (!bad).then(|| "mine".into()),
            findings: if bad { findings() } else { Vec::new() },
            rules: 1,
            expectations: 3,
        };
        self.answer(request, report)
    }

    fn policy_show(&self, request: PolicyShowRequest) -> Result<AuthorityView, Problem> {
        let origin = |id: &str| rule(id, "built-in offline", 4);
        let view = AuthorityView {
            profile: "develop".into(),
            digest: digest("authority"),
            subject: "ada".into(),
            project: "/h/project".into(),
            mode: Mode::Overlay,
            mounts: vec![MountView {
                path: "/h/.cargo/registry".into(),
                access: "read".into(),
                origin: origin("mount"),
            }],
            environment: EnvironmentView {
                pass: vec!["LANG".into(), "TERM".into()],
                set: BTreeMap::from([("CI".into(), HOSTILE.into())]),
            },
            limits: BTreeMap::from([("memory".into(), "8GiB".into())]),
            approvals: BTreeMap::from([("timeout".into(), "10m".into())]),
            network: vec![NetworkView {
                host: "static.crates.io".into(),
                ports: vec![443],
                methods: vec!["GET".into(), "HEAD".into()],
                origin: origin("network"),
            }],
            leases: vec![LentView {
                lease: "anthropic api.anthropic.com:443 in x-api-key".into(),
                origin: rule("lease", "~/.loop/config.toml", 9),
            }],
            rules: vec![RuleView {
                rule: origin("ask-before-publish"),
                action: "exec".into(),
                matches: "cargo publish **".into(),
                verdict: Decision::Ask,
                reason: Some("publishing can't be undone".into()),
            }],
            grants: vec!["toolchains".into()],
            unmet: vec![NeedView { gate: "egress".into(), origin: origin("network") }],
            layers: vec![LayerView {
                layer: "named".into(),
                source: "built-in develop".into(),
                digest: digest("layer"),
            }],
            ignored_project_keys: ignored(),
        };
        self.answer(request, view)
    }

    fn policy_explain(&self, request: ExplainRequest) -> Result<Explanation, Problem> {
        let explanation = Explanation {
            action: request.action.join(" "),
            profile: "offline".into(),
            decision: Decision::Deny,
            decided_by: vec![rule("no-push", "~/.loop/config.toml", 12)],
            called: vec!["/usr/local/bin/git".into()],
            lost: vec![LostRule {
                rule: rule("push-feature", ".loop/config.toml", 3),
                says: Decision::Allow,
                why: "deny beats allow".into(),
            }],
            reason: HOSTILE.into(),
            remedy: Some("remove the rule no-push".into()),
        };
        self.answer(request, explanation)
    }

    fn policy_test(&self, request: PolicyTestRequest) -> Result<PolicyTestReport, Problem> {
        let result = |action: &str, decided| ExpectationResult {
            action: action.into(),
            expected: Decision::Deny,
            decided,
            decided_by: vec![rule("open", "p.toml", 2)],
            origin: rule("expect", "p.toml", 9),
        };
        let mut results = vec![result("connect example.com:443", Decision::Deny)];
        if request.profile.as_deref() == Some("bad") {
            results.push(result(HOSTILE, Decision::Allow));
        }
        self.answer(request, PolicyTestReport { profile: "p".into(), results })
    }

    fn policy_propose(&self, request: RunRequest) -> Result<ProposalReport, Problem> {
        let create = request.run.as_deref() == Some("builtin");
        let report = ProposalReport {
            run: run_id(),
            learning: true,
            profile: "mine".into(),
            place: ProposalPlace { file: "/h/.loop/profiles/mine.toml".into(), create },
            text: "# 2 times, as: exec /usr/bin/git status\n[[rule]]\nid = \"learned-git\"\n\
                   action = \"exec\"\nprogram = \"/usr/bin/git\"\nargs = [\"status\"]\n\
                   verdict = \"allow\"\n"
                .into(),
            additions: vec![ProposedRule {
                id: "learned-git".into(),
                allows: "exec /usr/bin/git status".into(),
                times: 2,
                example: "exec /usr/bin/git status".into(),
                risks: vec![RiskView { class: "sends-data".into(), why: "git speaks".into() }],
            }],
            gained: vec![format!("rule: allow exec /usr/bin/git {HOSTILE}")],
            obstacles: vec![
                ObstacleView {
                    rule: rule("no-push", "~/.loop/config.toml", 12),
                    layer: "owner".into(),
                    says: Decision::Deny,
                    times: 3,
                    example: format!("exec git push {HOSTILE}"),
                    reason: HOSTILE.into(),
                    lifting: None,
                },
                ObstacleView {
                    rule: rule("ask-publish", "mine.toml", 4),
                    layer: "named".into(),
                    says: Decision::Ask,
                    times: 1,
                    example: "exec /usr/bin/cargo publish".into(),
                    reason: "publishing can't be undone".into(),
                    lifting: Some(vec!["rule: no ask for exec cargo publish **".into()]),
                },
            ],
            left_out: vec![Unproposed {
                action: format!("exec {HOSTILE}"),
                times: 1,
                why: "no pattern means this name alone".into(),
            }],
            allowed: 1,
            notes: vec![],
        };
        let nothing = ProposalReport {
            text: String::new(),
            additions: vec![],
            gained: vec![],
            obstacles: vec![],
            left_out: vec![],
            allowed: 0,
            ..report.clone()
        };
        let none = request.run.as_deref() == Some("none");
        self.answer(request, if none { nothing } else { report })
    }

    fn key_show(&self) -> Result<KeyView, Problem> {
        let view = KeyView {
            id: "ed25519:0011223344556677".into(),
            public: self.key.clone().unwrap_or_else(|| "loop-ed25519 AAAA ada".into()),
            path: "/h/.config/loop/key.pub".into(),
            created: true,
        };
        self.answer("key_show", view)
    }

    fn key_create(&self, file: &Path) -> Result<KeyView, Problem> {
        let view = KeyView {
            id: "ed25519:8899aabbccddeeff".into(),
            public: "loop-ed25519 BBBB".into(),
            path: file.with_extension("pub"),
            created: true,
        };
        self.answer(file, view)
    }

    fn trusted(&self) -> Result<Trusted, Problem> {
        let key = |public: &String| TrustedKey {
            id: "ed25519:0011223344556677".into(),
            public: public.clone(),
            path: "/h/.config/loop/key.pub".into(),
        };
        let keys = self.key.iter().map(key).collect();
        self.answer("trusted", Trusted { keys, file: None })
    }

    fn witness(&self, request: WitnessRequest) -> Result<WitnessView, Problem> {
        let view = WitnessView {
            run: run_id(),
            count: 12,
            hash: Digest::of(b"head"),
            key: "ed25519:0011223344556677".into(),
            file: HOSTILE.into(),
            added: request.key.is_none(),
        };
        self.answer(request, view)
    }

    fn init(&self, request: InitRequest) -> Result<InitReport, Problem> {
        let path = "/h/project/.loop/config.toml".into();
        self.answer(request, InitReport { path, created: true, trusted: true })
    }

    fn trust(&self, request: TrustRequest) -> Result<TrustReport, Problem> {
        let state = match request.decision {
            TrustDecision::Look if self.trusted => TrustState::Trusted,
            TrustDecision::Look => TrustState::Changed,
            TrustDecision::Trust { .. } => TrustState::Trusted,
            TrustDecision::Forget => TrustState::Untrusted,
        };
        let report = TrustReport {
            path: "/h/project/.loop/config.toml".into(),
            state,
            digest: Some(digest("config")),
            content: format!("[limits]\nmemory = \"64GiB\" # {HOSTILE}\n"),
            asks: vec!["limits.memory".into()],
        };
        self.answer(request, report)
    }

    fn doctor(&self) -> Result<DoctorReport, Problem> {
        let check = |name: &str, availability, required| Check {
            name: name.into(),
            availability,
            needed_for: "every run".into(),
            required,
            what_to_do: Some("sysctl kernel.unprivileged_userns_clone=1".into()),
        };
        let missing = |reason: &str| Availability::Missing(reason.into());
        let checks = vec![
            check("Landlock", Availability::Available("interface 6".into()), true),
            check("cgroup", missing("no cgroup is writable"), false),
            check("user namespaces", missing("clone: EPERM"), true),
        ];
        self.answer("doctor", DoctorReport { kernel: "6.12.0".into(), checks, ready: false })
    }

    fn lease_add(&self, request: LeaseAddRequest) -> Result<LeaseView, Problem> {
        let view = lease(&request.name, &request.from);
        self.answer(request, view)
    }

    fn lease_list(&self) -> Result<Vec<LeaseView>, Problem> {
        let ended = LeaseView {
            until: Some(at("2026-11-29T22:00:00.000Z")),
            expired: true,
            env: None,
            ..lease("github", "command:gh auth token")
        };
        self.answer("leases", vec![lease("anthropic", &format!("command:{HOSTILE}")), ended])
    }

    fn lease_revoke(&self, request: LeaseRevokeRequest) -> Result<LeaseView, Problem> {
        let view = lease(&request.name, "env:KEY");
        self.answer(request, view)
    }

    fn at(&self, homes: Homes) -> Result<Box<dyn Engine>, Problem> {
        let key = Some(demo_key().verifying().to_text());
        let moved = Fake { demo: self.demo, homes: Some(homes.clone()), key, ..Fake::default() };
        self.answer(homes, Box::new(moved))
    }
}

fn lease(name: &str, from: &str) -> LeaseView {
    LeaseView {
        name: name.into(),
        destination: "api.anthropic.com:443 /v1/**".into(),
        header: "x-api-key".into(),
        env: Some("ANTHROPIC_API_KEY".into()),
        from: from.into(),
        added: at("2026-11-29T21:00:00.000Z"),
        until: None,
        expired: false,
    }
}

fn demo_key() -> SigningKey {
    SigningKey::generate([9; 32])
}

impl Demo {
    /// What the agent of the demonstration leaves outside.
    fn work(self, homes: &Homes, request: &TaskRequest) -> TaskReport {
        let script = request.model.as_ref().unwrap().strip_prefix("scripted:").unwrap();
        assert!(std::fs::read_to_string(script).unwrap().contains("[[turn]]"));
        if self == Self::Leaks {
            let project = request.dir.clone().unwrap();
            let port: u16 = request.environment[1].1.parse().unwrap();
            std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            std::fs::write(project.join(".git/hooks/pre-commit"), "").unwrap();
            std::fs::write(homes.home.join(".bashrc"), "leaked").unwrap();
        }
        let run = homes.state.join("agent");
        std::fs::create_dir_all(&run).unwrap();
        let receipt = Some(crate::receipt::write(&run, &demo_key()));
        TaskReport { run: ExecReport { receipt, ..ended_well() }, ..crate::working::done() }
    }

    /// What its test and its bomb come to.
    fn exec(self, request: &ExecRequest) -> ExecReport {
        let bomb = request.command.last().unwrap().to_string_lossy().contains("bomb");
        let limit = LimitHit { limit: "processes".into(), allowed: "128".into(), origin: None };
        let limit = Some(limit).filter(|_| bomb && self == Self::Holds);
        let exit_code = u8::from(self == Self::Leaks);
        ExecReport { limit, exit_code, ..ended_well() }
    }
}

fn chain(problem: Option<String>) -> Chain {
    Chain {
        intact: problem.is_none(),
        count: 4,
        head: Some(digest("head")),
        problem,
        notes: vec!["record 2: the clock was set back".into()],
    }
}

pub(crate) fn findings() -> Vec<Finding> {
    let finding = |line, key: Option<&str>, what: &str, fix: Option<&str>| Finding {
        file: "bad.toml".into(),
        line,
        key: key.map(Into::into),
        what: what.into(),
        fix: fix.map(Into::into),
    };
    vec![
        finding(Some(3), Some("limits.memry"), "no such key", Some("did you mean memory?")),
        finding(None, None, HOSTILE, None),
    ]
}
