//! The story of one case: for each arm a scratch host, the command, a look from outside, a verdict.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::case::{Case, Expect, Kind, Through};
use crate::host;
use crate::internet;
use crate::judge::{self, Observed};
use crate::launcher::{Launcher, Places};
use crate::needs;
use crate::process::{Ended, Job, Output, Running, sweep};
use crate::protocol::{Mark, marks};
use crate::report::{Arm, ArmReport, ArmResult, CaseReport};
use crate::scratch::{SYSTEM_PATH, Scratch};

/// What is going on, for whoever is watching.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A case begins.
    CaseStarted(&'a Case),
    /// One of its arms begins.
    ArmStarted(&'a Case, Arm),
    /// An arm has ended.
    ArmEnded(&'a Case, &'a ArmReport),
    /// A case has ended.
    CaseEnded(&'a CaseReport),
}

/// Tries cases through one launcher.
#[derive(Debug, Clone)]
pub struct Runner {
    launcher: Launcher,
    parent: PathBuf,
    arms: Vec<Arm>,
}

/// Tries one case with its scratch directories in the usual place.
pub fn run(case: &Case, launcher: &Launcher, progress: &mut dyn FnMut(Progress<'_>)) -> CaseReport {
    Runner::new(launcher.clone()).run(case, progress)
}

impl Runner {
    /// A runner that makes its scratch directories in the system's directory for such things.
    pub fn new(launcher: Launcher) -> Self {
        let arms = vec![Arm::Bare, Arm::Confined, Arm::Neighbour];
        Self { launcher, parent: std::env::temp_dir(), arms }
    }

    /// The same, with its scratch directories here.
    #[must_use]
    pub fn scratch_in(mut self, parent: impl Into<PathBuf>) -> Self {
        self.parent = parent.into();
        self
    }

    /// The same, with these arms alone. Without the bare arm, nothing shows that an attack is real.
    #[must_use]
    pub fn only(mut self, arms: &[Arm]) -> Self {
        self.arms.retain(|arm| arms.contains(arm));
        self
    }

    /// Tries one case. Whatever happens, nothing it started is left and there is a report.
    pub fn run(&self, case: &Case, progress: &mut dyn FnMut(Progress<'_>)) -> CaseReport {
        progress(Progress::CaseStarted(case));
        let mut arms: Vec<ArmReport> = Vec::new();
        for arm in arms_of(case).iter().copied().filter(|arm| self.arms.contains(arm)) {
            progress(Progress::ArmStarted(case, arm));
            let report = self.arm(case, arm, &arms);
            progress(Progress::ArmEnded(case, &report));
            arms.push(report);
        }
        let (outcome, reason) = judge::outcome(&arms);
        let report = CaseReport {
            id: case.id().to_owned(),
            title: case.title().to_owned(),
            kind: case.kind(),
            source: case.source().to_vec(),
            outcome,
            reason,
            arms,
        };
        progress(Progress::CaseEnded(&report));
        report
    }

    fn arm(&self, case: &Case, arm: Arm, before: &[ArmReport]) -> ArmReport {
        let start = Instant::now();
        let mut report = match needs::missing(case, &self.launcher, SYSTEM_PATH.as_ref()) {
            Some(reason) => ArmReport::without(arm, ArmResult::CannotRun { reason }),
            None => self.tried(case, arm, before),
        };
        report.duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        report
    }

    fn tried(&self, case: &Case, arm: Arm, before: &[ArmReport]) -> ArmReport {
        let broken = |error: io::Error| {
            ArmReport::without(arm, ArmResult::Failed { reason: format!("the runner: {error}") })
        };
        let mut scratch = match Scratch::make(&self.parent, case) {
            Ok(scratch) => scratch,
            Err(error) => return broken(error),
        };
        let trial = Trial { case, arm, launcher: &self.launcher };
        let mut report = trial.carry_out(&mut scratch, before).unwrap_or_else(broken);
        report.left_behind = sweep(scratch.root());
        match scratch.remove() {
            Ok(()) => report,
            Err(error) => broken(error),
        }
    }
}

fn arms_of(case: &Case) -> &'static [Arm] {
    match case.kind() {
        Kind::Attack => &[Arm::Bare, Arm::Confined, Arm::Neighbour],
        Kind::Work => &[Arm::Bare, Arm::Neighbour],
    }
}

impl ArmReport {
    fn without(arm: Arm, result: ArmResult) -> Self {
        Self {
            arm,
            result,
            attempted: Vec::new(),
            effects: Vec::new(),
            unproven: Vec::new(),
            ended: String::new(),
            output: None,
            left_behind: Vec::new(),
            duration_ms: 0,
        }
    }
}

/// One arm of one case.
struct Trial<'a> {
    case: &'a Case,
    arm: Arm,
    launcher: &'a Launcher,
}

/// The command of an arm, ended.
struct Commanded {
    ended: Ended,
    output: Output,
    beside: Vec<Mark>,
}

impl Trial<'_> {
    fn carry_out(&self, scratch: &mut Scratch, before: &[ArmReport]) -> io::Result<ArmReport> {
        scratch.state(self.own_facts(scratch.root()))?;
        let host = self.start_host(scratch)?;
        let report = self.with_host(scratch, before);
        if let Some(host) = host {
            host.end()?;
        }
        report
    }

    fn with_host(&self, scratch: &mut Scratch, before: &[ArmReport]) -> io::Result<ArmReport> {
        if let Some(result) = self.set_up(scratch)? {
            return Ok(ArmReport::without(self.arm, result));
        }
        let commanded = self.command(scratch)?;
        let observed = self.look(scratch, &commanded)?;
        Ok(self.report(&observed, &commanded, before))
    }

    fn own_facts(&self, root: &Path) -> Vec<(String, String)> {
        let program = self.launcher.program().map(|path| path.to_string_lossy().into_owned());
        [
            ("ARM", self.arm.name().to_owned()),
            ("LOOP", program.unwrap_or_default()),
            ("REPORT", root.join("report.json").to_string_lossy().into_owned()),
            ("OUTPUT", root.join("command.out").to_string_lossy().into_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    fn start_host(&self, scratch: &mut Scratch) -> io::Result<Option<Running>> {
        if !self.case.described.host {
            return Ok(None);
        }
        let (running, facts) = host::start(scratch)?;
        scratch.state(facts)?;
        Ok(Some(running))
    }

    /// Prepares project and host; a result ends the arm.
    fn set_up(&self, scratch: &mut Scratch) -> io::Result<Option<ArmResult>> {
        if let Some(script) = self.case.script("setup") {
            let words = host_words(scratch, &script);
            let (ended, said, tail) = scratch.on_host("setup", words)?;
            if let Some(result) = set_up_result(ended, &said, &tail) {
                return Ok(Some(result));
            }
            scratch.state(said.into_iter().filter_map(fact))?;
        }
        scratch.extend_environment(&self.case.described.environment);
        Ok(None)
    }

    fn command(&self, scratch: &Scratch) -> io::Result<Commanded> {
        let job = Job {
            words: self.words(scratch)?,
            directory: scratch.project(),
            environment: scratch.environment(),
            output: scratch.root().join("command"),
        };
        let running = job.start()?;
        let beside = self.start_beside(scratch, &running)?;
        let (ended, output) = running.wait(self.case.timeout())?;
        let beside = match beside {
            Some(beside) => {
                let (_, said) = beside.wait(self.case.timeout())?;
                marks(&said.text(), scratch.nonce())
            }
            None => Vec::new(),
        };
        Ok(Commanded { ended, output, beside })
    }

    /// Starts what the host does while the command runs; its first argument is the command's id.
    fn start_beside(&self, scratch: &Scratch, command: &Running) -> io::Result<Option<Running>> {
        let Some(script) = self.case.script("beside").filter(|_| self.arm != Arm::Neighbour) else {
            return Ok(None);
        };
        let mut words = host_words(scratch, &script);
        words.push(command.id().to_string().into());
        let job = Job {
            words,
            directory: scratch.outside(),
            environment: scratch.environment(),
            output: scratch.root().join("beside"),
        };
        job.start().map(Some)
    }

    fn words(&self, scratch: &Scratch) -> io::Result<Vec<OsString>> {
        let script = self.script();
        let profile = scratch.profile(self.arm)?;
        if self.case.described.through == Through::Host {
            return Ok(host_words(scratch, &script));
        }
        let mut words = self.wrapping(scratch);
        if self.arm != Arm::Bare {
            words.extend(self.launching(scratch, profile.as_deref()));
        }
        words.push(interpreter(&script).into());
        words.push(Path::new(".case").join(script).into());
        Ok(words)
    }

    /// The script of this arm. Every case was checked to have it.
    fn script(&self) -> String {
        let name = match (self.case.kind(), self.arm) {
            (Kind::Work, _) => "work",
            (Kind::Attack, Arm::Neighbour) => "neighbour",
            (Kind::Attack, _) => "attack",
        };
        self.case.script(name).unwrap_or_default()
    }

    fn wrapping(&self, scratch: &Scratch) -> Vec<OsString> {
        let described = &self.case.described;
        let mut words = if described.internet { internet::words(scratch) } else { Vec::new() };
        if self.arm != Arm::Neighbour || described.wrap.neighbour {
            words.extend(described.wrap.command.iter().map(|word| scratch.fill(word).into()));
        }
        words
    }

    fn launching(&self, scratch: &Scratch, profile: Option<&Path>) -> Vec<OsString> {
        let report = scratch.root().join("report.json");
        let places =
            Places { project: scratch.project(), home: scratch.home(), report: &report, profile };
        self.launcher.words(places)
    }

    /// The look from outside, after the person's next steps.
    fn look(&self, scratch: &mut Scratch, commanded: &Commanded) -> io::Result<Observed> {
        let text = commanded.output.text();
        let mut observed = Observed {
            ended: commanded.ended,
            marks: marks(&text, scratch.nonce()),
            trace_problem: None,
            said: String::from_utf8_lossy(&text).into_owned(),
            limit: limit_named(&scratch.root().join("report.json")),
        };
        observed.marks.extend(commanded.beside.iter().cloned());
        if self.case.described.host
            && let Err(error) = host::settle(scratch)
        {
            observed.trace_problem = Some(format!("the stand-in for the host is gone: {error}"));
        }
        if self.case.described.internet
            && let Err(error) = internet::settle(scratch)
        {
            observed.trace_problem = Some(format!("the internet around it is gone: {error}"));
        }
        let name = if self.is_legitimate() { "kept" } else { "trace" };
        if let Some(script) = self.case.script(name) {
            scratch.state([("WRITTEN".to_owned(), commanded.output.length().to_string())])?;
            let (ended, said, tail) = scratch.on_host("trace", host_words(scratch, &script))?;
            observed.marks.extend(said);
            if ended != Ended::Exit(0) {
                observed.trace_problem = Some(format!("{script} ended with {ended}: {tail}"));
            }
        }
        Ok(observed)
    }

    fn is_legitimate(&self) -> bool {
        self.case.kind() == Kind::Work || self.arm == Arm::Neighbour
    }

    fn report(&self, seen: &Observed, commanded: &Commanded, before: &[ArmReport]) -> ArmReport {
        let result = self.judge(seen, before);
        let output = (result != ArmResult::Passed).then(|| commanded.output.tail());
        let unproven = if self.arm == Arm::Bare { seen.without_effect() } else { Vec::new() };
        ArmReport {
            attempted: seen.attempted(),
            effects: seen.effects(),
            unproven,
            ended: seen.ended.to_string(),
            output,
            ..ArmReport::without(self.arm, result)
        }
    }

    fn judge(&self, seen: &Observed, before: &[ArmReport]) -> ArmResult {
        match (self.case.kind(), self.arm) {
            (Kind::Work, Arm::Bare) => judge::bare_work(seen),
            (Kind::Attack, Arm::Bare) => judge::bare_attack(seen),
            (Kind::Attack, Arm::Confined) => {
                let tried = before.iter().find(|report| report.arm == Arm::Bare);
                let tried = tried.map_or(&[][..], |report| &report.attempted);
                judge::confined_attack(seen, tried, self.expected())
            }
            (_, Arm::Neighbour | Arm::Confined) => judge::work(seen),
        }
    }

    fn expected(&self) -> Option<&Expect> {
        self.launcher.is_own().then_some(&self.case.described.expect)
    }
}

fn interpreter(script: &str) -> &'static str {
    if script.ends_with(".py") { "python3" } else { "bash" }
}

fn host_words(scratch: &Scratch, script: &str) -> Vec<OsString> {
    vec![interpreter(script).into(), scratch.case().join(script).into()]
}

fn set_up_result(ended: Ended, said: &[Mark], tail: &str) -> Option<ArmResult> {
    let cannot = said.iter().find_map(|mark| match mark {
        Mark::Cannot(reason) => Some(reason.clone()),
        _ => None,
    });
    match (cannot, ended) {
        (Some(reason), _) => Some(ArmResult::CannotRun { reason }),
        (None, Ended::Exit(0)) => None,
        (None, ended) => {
            Some(ArmResult::Failed { reason: format!("set-up ended with {ended}: {tail}") })
        }
    }
}

fn fact(mark: Mark) -> Option<(String, String)> {
    match mark {
        Mark::Fact { name, value } => Some((name, value)),
        _ => None,
    }
}

/// The limit that Loop's report names, if there is a report and it names one.
fn limit_named(report: &Path) -> Option<String> {
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).ok()?).ok()?;
    Some(report.pointer("/limit/limit")?.as_str()?.to_owned())
}
